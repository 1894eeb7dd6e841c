r"""What an error costs, and what a release removes of the public uncertainty.

Each statistic has a weight, so that the error of noise Z is :math:`\sqrt{E Σ_k q_k Z_k^2}`. With C the covariance of
public knowledge and E that of the estimates' errors the gain of statistic k is :math:`1 - E_{kk}/C_{kk}`. A table
counts as one statistic, :math:`1 - Σ E_{kk}/Σ C_{kk}` over its cells, and so do the numbers of a histogram or of
several quantiles; the headline is the mean over statistics.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from attrs import frozen

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import did_you_mean, items, real
from distpriv.modelling.model import QueryModel, require_model
from distpriv.modelling.public_knowledge import Prior, PublicKnowledge, weighted_rms

if TYPE_CHECKING:
    from distpriv.framework.queries import Query

__all__ = ["OBJECTIVES", "Gains", "Objective", "Weights", "gain", "members", "utility_weights", "weighted_rms"]

Weights = Mapping[str, float] | Sequence[float] | Literal["relative", "units"]
"""In public standard deviations, in the units of the statistics, multiples of the former by name, or q in order."""

Objective = Literal["estimate", "noise"]
"""Whether noise is judged by the error of the estimates that are left, or by its own."""

OBJECTIVES: tuple[Objective, ...] = ("estimate", "noise")


def utility_weights(model: QueryModel, weights: Weights = "relative", *, prior: Prior = None) -> Floats:
    r"""Return q, one positive weight for each statistic; the overall squared error is :math:`Σ_k q_k E Z_k^2`.

    ``"relative"`` counts errors in public standard deviations, :math:`q_k = 1/C_{kk}` with C the covariance of
    `PublicKnowledge`: printing the public mean then has a squared error of 1 for each statistic. A statistic of several
    numbers counts as one. So does a table, whose cells of one kind have one weight, since they are in one unit:
    :math:`q_k = 1/Σ_{l ∈ T} C_{ll}`, half of it where a table of means has counts and totals. ``"units"`` is
    :math:`q_k = 1`, as in Chen & Ohrimenko (2023): errors add up in the units of the statistics.

    Weights by name are multiples of the relative ones, and numbers in order are q itself.

    >>> from distpriv.modelling.given import gaussian_model
    >>> model = gaussian_model(means={"a": [10, 1], "b": [30, 3]}, covariances=[[25, 0], [0, 1]], pairs=[("a", "b")])
    >>> utility_weights(model), utility_weights(model, "units")
    (array([0.008, 0.5  ]), array([1., 1.]))
    >>> utility_weights(model, {"statistic_2": 4}), utility_weights(model, [1, 4])
    (array([0.008, 2.   ]), array([1., 4.]))
    """
    require_model(model)
    if isinstance(weights, str) and weights == "units":
        return np.ones(model.dimension)
    if isinstance(weights, str) and weights == "relative":
        return _relative(model, prior)
    cure = "an error counts in proportion to the root of its weight"
    if isinstance(weights, Mapping):
        for name in weights:
            if name not in model.names:
                raise InvalidInput(f"there is no statistic {name!r} to weigh: {did_you_mean(str(name), model.names)}")
        factors = {
            name: real(f"the weight of {name!r}", w, InvalidInput, above=0, cure=cure) for name, w in weights.items()
        }
        return _relative(model, prior) * [factors.get(name, 1.0) for name in model.names]
    given = [] if weights is None or isinstance(weights, str) else list(items(weights))
    if len(given) != model.dimension:
        raise InvalidInput(
            f"weights are 'relative', 'units', or {model.dimension} numbers, one for each statistic, got {weights!r}: "
            f"write {{{model.names[0]!r}: 2}} to count the squared error of one twice."
        )
    pairs = zip(model.names, given, strict=True)
    return np.array([real(f"the weight of {name!r}", w, InvalidInput, above=0, cure=cure) for name, w in pairs])


def _relative(model: QueryModel, prior: Prior) -> Floats:
    public = PublicKnowledge.of(model, prior)
    with np.errstate(over="ignore", invalid="ignore"):  # numbers too large for their squares are refused with noise
        variances, squares = np.diag(public.covariance), public.mean**2
    # Nothing is left to learn of a known statistic, so that its weight only has to be finite, and free of units.
    variances = np.where(variances <= 1e-18 * squares, np.where(squares > 0, squares, 1.0), variances)
    variances = np.where(np.isfinite(variances), variances, 1.0)
    units = variances.copy()
    place = {name: number for number, name in enumerate(model.names)}
    for groups in members(model.query, model.names).values():
        for group in groups:
            own = [place[name] for name in group]
            units[own] = variances[own].sum() * len(groups)
    return np.asarray(1 / units)


Errors = Mapping[str, float]


def gain(estimate_error: float, public_error: float) -> float:
    """Return the share of the public variance that is removed; 0 where nothing was uncertain.

    >>> gain(1.0, 2.0), gain(2.0, 2.0), gain(0.0, 0.0)
    (0.75, 0.0, 0.0)
    """
    return min(1.0, max(0.0, 1.0 - (estimate_error / public_error) ** 2)) if public_error > 0 else 0.0


def members(query: "Query | None", names: Sequence[str]) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return the numbers of every statistic by its name; those of a table in groups of one unit.

    >>> import distpriv as dp
    >>> by_sex = dp.table("count", by="sex", levels={"sex": ["F", "M"]}, empty=[])
    >>> query = dp.Query(age=dp.mean("age"), people=by_sex)
    >>> members(query, query.names)
    {'age': (('age',),), 'people': (('people[F]', 'people[M]'),)}
    """
    if query is None:
        return {name: ((name,),) for name in names}
    tables = {key: tuple(map(tuple, table.parts(key).values())) for key, table in query.tables}
    cells = {name for groups in tables.values() for group in groups for name in group}
    plain = {key: tuple((name,) for name in statistic.names(key)) for key, statistic in query.statistics}
    return {key: groups for key, groups in plain.items() if groups[0][0] not in cells} | tables


@frozen(kw_only=True)
class Gains:
    """The gain of every statistic, and their mean.

    >>> gains = Gains.of(None, {"age": 1.0, "revenue": 5.0}, {"age": 2.0, "revenue": 5.0})
    >>> gains.by_statistic, gains.mean, gains.least
    ({'age': 0.75, 'revenue': 0.0}, 0.375, 'revenue')
    """

    by_statistic: Mapping[str, float]

    @classmethod
    def of(cls, query: "Query | None", estimate_errors: Errors, public_errors: Errors) -> "Gains":
        """Return the gains for these errors, by the names of the numbers."""

        def of_group(group: Sequence[str]) -> float:
            after, before = (
                sum(errors[name] ** 2 for name in group) ** 0.5 for errors in (estimate_errors, public_errors)
            )
            return gain(after, before)

        by_name = members(query, tuple(estimate_errors))
        return cls(
            by_statistic={key: sum(map(of_group, groups)) / len(groups) for key, groups in by_name.items() if groups}
        )

    @property
    def mean(self) -> float:
        """The mean over statistics."""
        return sum(self.by_statistic.values()) / max(len(self.by_statistic), 1)

    @property
    def least(self) -> str | None:
        """The statistic of which least is learned; none where there is only one."""
        return min(self.by_statistic, key=lambda key: self.by_statistic[key]) if len(self.by_statistic) > 1 else None
