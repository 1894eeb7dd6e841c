"""What a mechanism knows of the data: the law of the released statistics in every scenario, and nothing else."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from attrs import field, frozen

from distpriv.errors import InvalidModel
from distpriv.framework.arrays import Floats, array_field, frozen_array
from distpriv.framework.domains import did_you_mean, items, one_of, whole
from distpriv.framework.queries import Query
from distpriv.framework.secrets import Pair, ShareScenario, TableScenario, checked_pairs
from distpriv.modelling.coupling import Pairing
from distpriv.modelling.differences import Measure
from distpriv.modelling.lattice import floor_of
from distpriv.progress import Progress

__all__ = [
    "Provenance",
    "QueryDistribution",
    "QueryModel",
    "Simulator",
    "empirical_model",
    "gaussian_model",
    "require_model",
]

INDEFINITE = 1e-9
"""A negative eigenvalue below this share of the largest is rounding; a larger one is a mistake."""


@frozen(kw_only=True)
class QueryDistribution:
    """f_θ, the law of F(Data) in one scenario: its mean and covariance, and its points where it is known by them."""

    mean: Floats = array_field()
    covariance: Floats = array_field()
    points: Floats | None = array_field(optional=True)
    weights: Floats | None = array_field(optional=True)
    """The probability of each point; all the same when there are points and no weights."""
    lattice: Floats | None = array_field(optional=True)
    """A basis, as columns, of the lattice the statistics live on together; that of the model's steps if not known."""

    def draw(self, rng: np.random.Generator, draws: int) -> Floats:
        """Draw from the points, or from the Gaussian with these moments when there are none."""
        if self.points is not None:
            chance = None if self.weights is None else self.weights / self.weights.sum()
            return np.asarray(self.points[rng.choice(len(self.points), size=draws, p=chance)])
        values, vectors = np.linalg.eigh(self.covariance)
        normal = rng.normal(size=(draws, len(self.mean))) * np.sqrt(np.maximum(values, 0.0))
        return np.asarray(self.mean + normal @ vectors.T)


@frozen(kw_only=True)
class Provenance:
    """How a model was made."""

    method: str
    """``"exact moments"``, ``"sampling"``, ``"given moments"`` or ``"given points"``."""
    records: int | None = None
    replacement: bool = False
    draws: int | None = None
    seed: int | None = None
    sources: tuple[str, ...] = ()
    missing: str = "refuse"


class Simulator(Protocol):
    """A closure over the reference rows: datasets can be drawn through it, rows cannot be seen."""

    def samples(self, scenario: str, draws: int, seed: int) -> Floats:
        """Draw from f_θ."""

    def coupled_samples(self, pair: Pair, draws: int, seed: int, pairing: Pairing) -> tuple[Floats, Floats]:
        """Draw from a coupling of two scenarios' laws."""

    def measured_differences(
        self,
        pairs: Sequence[Pair],
        draws: int,
        seed: int,
        pairing: Pairing,
        measure: Measure,
        progress: Progress | None = None,
    ) -> list[Floats]:
        """Draw differences of coupled statistics and measure them, for each number of rows that the pairs differ in."""

    def difference_groups(self, pairs: Sequence[Pair]) -> list[tuple[Pair, ...]]:
        """Group pairs, one order of each, whose differences come from one set of draws."""

    def best_pairing(self, pair: Pair) -> Pairing:
        """Return the pairing that brings coupled statistics closest."""


@frozen(kw_only=True, repr=False)
class QueryModel:
    """The released statistics' law in every scenario, the protected pairs, and the statistics' lattice.

    Made by `distpriv.model`, `distpriv.gaussian_model` or `distpriv.empirical_model`.
    """

    names: tuple[str, ...]
    distributions: Mapping[str, QueryDistribution]
    protected_pairs: tuple[Pair, ...]
    steps: Floats = array_field()
    """The spacing of each statistic's values; 0 for one that is continuous."""
    provenance: Provenance
    record_sensitivities: Floats = array_field()
    """How much one record can move each statistic at most; infinite where nothing bounds it."""
    query: Query | None = None
    scenarios: Mapping[str, ShareScenario | TableScenario] = field(factory=dict)
    simulator: Simulator | None = field(default=None, eq=False)

    @property
    def dimension(self) -> int:
        """How many numbers are released: m."""
        return len(self.names)

    @property
    def floor(self) -> Floats:
        """The least standard deviation h of noise along each statistic against which its lattice is fine."""
        return floor_of(self.steps, [d.covariance for d in self.distributions.values()])

    def mean_shift(self, pair: Pair) -> Floats:
        """Return d_ij = μ_i − μ_j."""
        pair = self._pair(pair)
        return np.asarray(self._distribution(pair[0]).mean - self._distribution(pair[1]).mean)

    def samples(self, scenario: str, draws: int, seed: int = 0) -> Floats:
        """Draw released statistics before noise: from reference rows if the model has them, else from f_θ itself.

        Args:
            scenario: the name of a scenario.
            draws: how many datasets to draw.
            seed: the same seed gives the same numbers.

        Returns:
            An array of shape (draws, m).
        """
        distribution = self._distribution(scenario)
        draws, seed = _draws(draws), _seed(seed)
        if self.simulator is not None:
            return self.simulator.samples(scenario, draws, seed)
        sequence = np.random.SeedSequence(seed, spawn_key=(zlib.crc32(scenario.encode()),))
        return distribution.draw(np.random.Generator(np.random.PCG64(sequence)), draws)

    def coupled_samples(
        self, pair: Pair, draws: int, seed: int = 0, *, pairing: Pairing = "independent"
    ) -> tuple[Floats, Floats]:
        """Draw both scenarios' statistics from datasets that share all rows but those that must differ.

        Args:
            pair: the names of two scenarios of one Share.
            draws: how many pairs of datasets to draw.
            seed: the same seed gives the same numbers.
            pairing: whether swapped rows are drawn independently or paired by optimal transport.

        Returns:
            Two arrays of shape (draws, m); row k of one belongs to row k of the other.
        """
        pair = self._pair(pair)
        draws, seed = _draws(draws), _seed(seed)
        one_of("pairing", pairing, ("independent", "transport"), InvalidModel)
        return self.rows().coupled_samples(pair, draws, seed, pairing)

    def coupled_differences(self, pair: Pair, draws: int, seed: int = 0, *, pairing: Pairing = "independent") -> Floats:
        """Draw F(D_i) − F(D_j) of coupled datasets, as `coupled_samples` has them but without their common rows.

        For means only the swapped rows are drawn, so the law is the same, the numbers of a seed are others.

        Args:
            pair: the names of two scenarios of one Share.
            draws: how many pairs of datasets to draw.
            seed: the same seed gives the same numbers.
            pairing: whether swapped rows are drawn independently or paired by optimal transport.

        Returns:
            An array of shape (draws, m).
        """
        pair = self._pair(pair)
        draws, seed = _draws(draws), _seed(seed)
        one_of("pairing", pairing, ("independent", "transport"), InvalidModel)
        return self.rows().measured_differences([pair], draws, seed, pairing, as_they_are)[0]

    def rows(self) -> Simulator:
        """Return the closure over the reference rows, or say that there are none."""
        if self.simulator is None:
            raise InvalidModel("coupled samples need rows, and this model has none: make it with distpriv.model(…).")
        return self.simulator

    def _pair(self, pair: Pair) -> Pair:
        names = items(pair)
        if len(names) != 2:
            raise InvalidModel(f"a pair is two names of scenarios, got {pair!r}: write ('boom', 'bust').")
        for name in names:
            self._distribution(name)
        return names[0], names[1]

    def _distribution(self, scenario: str) -> QueryDistribution:
        if not isinstance(scenario, str) or scenario not in self.distributions:
            raise InvalidModel(f"there is no scenario {scenario!r}: {did_you_mean(str(scenario), self.distributions)}")
        return self.distributions[scenario]

    def __repr__(self) -> str:
        return (
            f"<QueryModel of {self.dimension} statistics in {len(self.distributions)} scenarios with "
            f"{len(self.protected_pairs)} protected pairs, by {self.provenance.method}>"
        )


def as_they_are(differences: Floats) -> Floats:
    """Keep all of the differences."""
    return differences


def require_model(model: object) -> None:
    """Refuse what is no model.

    >>> require_model("adult.csv")
    Traceback (most recent call last):
    distpriv.errors.InvalidModel: a model is needed, got 'adult.csv': make one with distpriv.model(…).
    """
    if not isinstance(model, QueryModel):
        raise InvalidModel(f"a model is needed, got {model!r}: make one with distpriv.model(…).")


def gaussian_model(
    *,
    means: Mapping[str, Any],
    covariances: Mapping[str, Any] | Any,
    pairs: Iterable[Pair],
    steps: Sequence[float] | None = None,
    names: Sequence[str] | None = None,
) -> QueryModel:
    """Return the model of statistics whose moments are known already.

    Args:
        means: the mean vector of each scenario.
        covariances: the covariance matrix of each scenario, or one for all.
        pairs: the pairs of scenarios to protect.
        steps: the spacing of each statistic's values; continuous when not given.
        names: the statistics' names; ``statistic_1 …`` when not given.

    >>> model = gaussian_model(
    ...     means={"a": [100, 101], "b": [99, 102]}, covariances=[[22, -6], [-6, 13]], pairs=[("a", "b")]
    ... )
    >>> model.mean_shift(("a", "b"))
    array([ 1., -1.])
    """
    vectors = {name: _vector(mean, f"the mean of scenario {name!r}") for name, mean in _named(means).items()}
    given = covariances if isinstance(covariances, Mapping) else dict.fromkeys(vectors, covariances)
    if set(given) != set(vectors):
        odd = sorted(set(given) ^ set(vectors))[0]
        raise InvalidModel(f"scenario {odd!r} has a mean or a covariance but not both: give one of each per scenario.")
    size = len(next(iter(vectors.values())))
    distributions = {}
    for name, mean in vectors.items():
        if len(mean) != size:
            raise InvalidModel(
                f"the mean of scenario {name!r} has {len(mean)} numbers and another has {size}: align them."
            )
        distributions[name] = QueryDistribution(mean=mean, covariance=_covariance(given[name], name, size))
    return _given_model(distributions, pairs, steps, names, "given moments")


def empirical_model(
    *,
    samples: Mapping[str, Any],
    pairs: Iterable[Pair],
    weights: Mapping[str, Any] | None = None,
    steps: Sequence[float] | None = None,
    names: Sequence[str] | None = None,
) -> QueryModel:
    """Return the model of statistics whose laws are given by points, each scenario's law exactly as given.

    Args:
        samples: the points of each scenario: one row a point, or a flat list for a single statistic.
        pairs: the pairs of scenarios to protect.
        weights: the probability of each point; the same for all when not given.
        steps: the spacing of each statistic's values; continuous when not given.
        names: the statistics' names; ``statistic_1 …`` when not given.

    >>> model = empirical_model(
    ...     samples={"a": [1, 2, 3, 100], "b": [1, 2, 3, 100]},
    ...     weights={"a": [0.6, 0.2, 0.0, 0.2], "b": [0.4, 0.3, 0.2, 0.1]},
    ...     pairs=[("a", "b")],
    ... )
    >>> model.distributions["a"].mean
    array([21.])
    """
    if weights is not None and not isinstance(weights, Mapping):
        raise InvalidModel(f"weights must be given by scenario, got {weights!r}: write {{'boom': [0.5, 0.5]}}.")
    given = {} if weights is None else dict(weights)
    odd = sorted(set(given) - set(_named(samples)))
    if odd:
        raise InvalidModel(f"weights names an unknown scenario {odd[0]!r}: {did_you_mean(odd[0], samples)}")
    distributions = {
        name: empirical_distribution(points, given.get(name), f"scenario {name!r}") for name, points in samples.items()
    }
    sizes = {len(distribution.mean) for distribution in distributions.values()}
    if len(sizes) > 1:
        raise InvalidModel(f"the scenarios' points have {sorted(sizes)} statistics: give every point the same ones.")
    return _given_model(distributions, pairs, steps, names, "given points")


def empirical_distribution(points: Any, weights: Any, where: str, *, sampled: bool = False) -> QueryDistribution:
    """Return the law with probability `weights` on `points`; sampled points estimate a covariance (divisor B − 1)."""
    array = _numbers(points, f"the points of {where}")
    array = array[:, np.newaxis] if array.ndim == 1 else array
    if array.ndim != 2 or not array.size:
        raise InvalidModel(f"the points of {where} must be rows of numbers, at least one: got shape {array.shape}.")
    chance = np.full(len(array), 1 / len(array)) if weights is None else _numbers(weights, f"the weights of {where}")
    if chance.shape != (len(array),) or (chance < 0).any() or abs(chance.sum() - 1) > 1e-9:
        raise InvalidModel(
            f"the weights of {where} must be {len(array)} probabilities that sum to 1, got {chance.size} that sum to "
            f"{chance.sum():g}: divide them by their sum."
        )
    mean = chance @ array
    centred = array - mean
    with np.errstate(over="ignore", invalid="ignore"):
        covariance = (centred.T * chance) @ centred * (len(array) / max(len(array) - 1, 1) if sampled else 1.0)
    if not np.isfinite(covariance).all():
        raise InvalidModel(
            f"the points of {where} are so large that their squares are infinite: divide them by a constant."
        )
    return QueryDistribution(
        mean=mean, covariance=covariance, points=array, weights=None if weights is None else chance
    )


def _draws(value: object) -> int:
    return whole("draws", value, InvalidModel, at_least=1, cure="1000 is little and 100000 is much")


def _seed(value: object) -> int:
    return whole("seed", value, InvalidModel, at_least=0, cure="any whole number will do")


def _given_model(
    distributions: Mapping[str, QueryDistribution],
    pairs: Iterable[Pair],
    steps: Sequence[float] | None,
    names: Sequence[str] | None,
    method: str,
) -> QueryModel:
    size = len(next(iter(distributions.values())).mean)
    spacings = np.zeros(size) if steps is None else _numbers(steps, "steps")
    labels = tuple(f"statistic_{k + 1}" for k in range(size)) if names is None else items(names)
    if spacings.shape != (size,) or (spacings < 0).any():
        raise InvalidModel(f"steps must be {size} numbers, none of them negative, got {steps!r}: 0 means continuous.")
    if len(labels) != size or len(set(labels)) != size:
        raise InvalidModel(f"names must be {size} different names, got {names!r}.")
    return QueryModel(
        names=labels,
        distributions=dict(distributions),
        protected_pairs=checked_pairs(pairs, distributions),
        steps=spacings,
        provenance=Provenance(method=method),
        record_sensitivities=np.full(size, np.inf),
    )


def _named(values: Any) -> Mapping[str, Any]:
    if not isinstance(values, Mapping) or len(values) < 2:
        raise InvalidModel("a model needs at least two scenarios by name: write {'boom': …, 'bust': …}.")
    return values


def _numbers(values: Any, where: str) -> Floats:
    try:
        array = frozen_array(values)
    except (TypeError, ValueError, OverflowError) as failure:
        raise InvalidModel(f"{where} must be numbers in a regular shape, got {values!r}.") from failure
    if not np.isfinite(array).all():
        raise InvalidModel(f"{where} must be finite numbers: take out NaN and infinity.")
    return array


def _vector(values: Any, where: str) -> Floats:
    array = _numbers(values, where)
    if array.ndim != 1 or not array.size:
        raise InvalidModel(f"{where} must be a list of numbers, at least one: got shape {array.shape}.")
    return array


def _covariance(values: Any, scenario: str, size: int) -> Floats:
    """Return a covariance matrix, or say why it is none."""
    where = f"the covariance of scenario {scenario!r}"
    matrix = _numbers(values, where)
    if matrix.shape != (size, size):
        raise InvalidModel(
            f"{where} must be {size} × {size}, as its mean has {size} numbers: got shape {matrix.shape}."
        )
    spread = np.sqrt(np.maximum(np.diag(matrix), 0))
    scale = np.outer(spread, spread)
    if (np.abs(matrix - matrix.T) > INDEFINITE * np.maximum(scale, np.abs(matrix).max())).any():
        raise InvalidModel(f"{where} is not symmetric: average it with its transpose if that is rounding.")
    units = np.where(spread > 0, spread, 1.0)
    correlation = (matrix + matrix.T) / 2 / np.outer(units, units)
    least = float(np.linalg.eigvalsh(correlation)[0])
    if least < -INDEFINITE * size:
        raise InvalidModel(
            f"{where} is indefinite (least eigenvalue {least:.3g} in units of the standard deviations), so it is no "
            "covariance: check its entries."
        )
    if least >= 0:
        return np.asarray((matrix + matrix.T) / 2)
    values, vectors = np.linalg.eigh(correlation)
    mended = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return np.asarray((mended + mended.T) / 2 * np.outer(units, units))
