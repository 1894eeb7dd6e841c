r"""What an error costs: a weight for each statistic, so that the error of noise Z is :math:`\sqrt{E Σ_k q_k Z_k^2}`."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import did_you_mean, items, real
from distpriv.modelling.gains import members
from distpriv.modelling.model import QueryModel, require_model
from distpriv.modelling.public_knowledge import Prior, PublicKnowledge, weighted_rms

__all__ = ["OBJECTIVES", "Objective", "Weights", "utility_weights", "weighted_rms"]

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
