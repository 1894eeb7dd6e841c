"""How far a model is from what the paper's theorems assume, as numbers a person can read."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from attrs import evolve, frozen
from scipy.special import ndtr

from distpriv.distances.gaussian import variance_ratio, whitening
from distpriv.errors import InvalidModel
from distpriv.framework.arrays import Floats, Rows, array_field
from distpriv.framework.scenarios import Pair
from distpriv.modelling.coupling import row_features
from distpriv.modelling.from_rows import exact_distribution
from distpriv.modelling.model import QueryDistribution, QueryModel, require_model
from distpriv.modelling.row_laws import StratumRows
from distpriv.modelling.sampled_strata import sampled_strata
from distpriv.modelling.simulator import RowSimulator
from distpriv.modelling.tilting import effective_rows
from distpriv.modelling.transport import along_their_main_axis

__all__ = [
    "Diagnostics",
    "OtherRows",
    "PairDiagnostics",
    "ScenarioApart",
    "StatisticDiagnostics",
    "diagnose",
    "other_rows",
]

SURE = 2.3263478740408408
"""The quantile of a normal law at 99 %: how far an end of a range is from its middle."""

DIFFERENT = 0.01
"""A chance so small says that the two tables are no samples of one population."""

MOST_CELLS, ROWS_EACH = 64, 20
"""Of how many cells relative entropy is taken at most, and how many rows each is to have on average."""


@frozen(kw_only=True)
class ScenarioApart:
    """How far other rows are from the reference in one scenario."""

    scenario: str
    shifts: Floats = array_field()
    """By how much the mean of each statistic differs, over the largest protected shift of it; infinite if it has none.
    """
    deviations: Floats = array_field()
    """By how much it differs in standard deviations of the statistic, as the reference has them."""
    distance: float
    """The length of the difference in standard deviations, all statistics together: what an attacker sees."""
    p_value: float
    """How likely so large a difference is where both tables are samples of one population."""
    entropy: float
    """The relative entropy of a record to one of the reference, over cells of the statistics: an estimate."""
    entropy_range: tuple[float, float]
    """Between what it is, each end at about 99 % confidence."""


@frozen(kw_only=True)
class OtherRows:
    """How far a second public table is from the reference.

    >>> import distpriv as dp
    >>> adult, query = dp.datasets.adult(), dp.Query(age=dp.mean("age"))
    >>> model = dp.model(adult.slice(0, 4000), query, dp.Share("income = '>50K'", values=(0.45, 0.55)), records=100)
    >>> found = dp.diagnose(model, adult.slice(4000, 4000)).other
    >>> found.names, found.differs, len(found.scenarios)
    (('age',), False, 2)
    """

    names: tuple[str, ...]
    """The statistics."""
    scenarios: tuple[ScenarioApart, ...]
    radius: float | None = None
    """How far the law of a record may be from the one modelled, as a relative entropy; None where it is that one."""

    @property
    def outside(self) -> bool:
        """Whether these rows are outside of what a model with ``robust`` covers, at about 99 % confidence.

        False where there is no ball. Cells of the statistics tell less than whole rows, so that not being found outside
        is no proof of being inside.
        """
        return self.radius is not None and max(each.entropy_range[0] for each in self.scenarios) > self.radius

    @property
    def differs(self) -> bool:
        """Whether the two are no samples of one population, at 99 % confidence over all scenarios."""
        return min(each.p_value for each in self.scenarios) * len(self.scenarios) < DIFFERENT

    @property
    def worst(self) -> ScenarioApart:
        """The scenario in which they are farthest apart."""
        return max(self.scenarios, key=lambda each: each.distance)

    def __str__(self) -> str:
        worst = self.worst
        place = int(np.argmax(np.nan_to_num(worst.deviations)))
        low, high = worst.entropy_range
        verdict = "the two are no samples of one population" if self.differs else "so they may be of one population"
        return (
            f"the other rows differ most in {worst.scenario!r}: {self.names[place]} by {worst.deviations[place]:.2g} "
            f"standard deviations and {worst.shifts[place]:.2g} of its protected shift, all statistics together by "
            f"{worst.distance:.2g}; by chance that is {worst.p_value:.2g} likely, {verdict}\n"
            f"a record of them has a relative entropy of {worst.entropy:.2g} to one of the reference, between "
            f"{low:.2g} and {high:.2g}{self._ball()}"
        )

    def _ball(self) -> str:
        """Say how that compares with the ball around the reference."""
        if self.radius is None:
            return ""
        if self.outside:
            return f": outside of the {self.radius:g} that the model allows for, so that nothing is promised of them"
        return f", where the model allows for {self.radius:g}: they are not found to be outside of it"


def other_rows(model: QueryModel, other: Any) -> OtherRows:
    """Hold a second public table against the reference of a model, in every scenario that draws from it.

    Raises:
        InvalidModel: the model has no rows, no statistics that are means of rows, or no scenario of the reference.
    """
    simulator, query = model.simulator, model.query
    if simulator is None or query is None or not query.has_exact_moments:
        raise InvalidModel(
            "other rows are held against a reference by means, counts and totals: make a model of these with "
            "distpriv.model(…)."
        )
    own = {name: scenario for name, scenario in model.scenarios.items() if scenario.table is None}
    if not own:
        raise InvalidModel(
            "every scenario has a table of its own, and none is a reference to hold other rows against: make a model "
            "of one reference."
        )
    of_reference = evolve(simulator, scenarios=own, tables={name: simulator.tables[name] for name in own})
    theirs = of_reference.over(other)
    theirs = evolve(theirs, drawing=evolve(theirs.drawing, reference="sample", replacement=True))
    moments = {name: exact_distribution(theirs, name) for name in own}
    errors = _errors(theirs, {name: law.covariance for name, law in moments.items()})
    known = {name: np.zeros((model.dimension,) * 2) for name in own}
    for stratum in model.strata:
        for name in set(stratum.drawn) & set(own):
            known[name] += stratum.drawn[name] ** 2 * stratum.error
    protected = np.max([np.abs(model.mean_shift(pair)) for pair in model.protected_pairs], axis=0)
    return OtherRows(
        names=model.names,
        radius=model.provenance.drawing.robust,
        scenarios=tuple(
            _apart(
                model,
                name,
                moments[name].mean,
                errors[name] + known[name],
                protected,
                _entropy(of_reference, theirs, name),
            )
            for name in own
        ),
    )


def _errors(rows: RowSimulator, covariances: dict[str, Floats]) -> dict[str, Floats]:
    """Return the covariance of the error of every scenario's mean, which a table has as a sample."""
    found = {name: np.zeros_like(covariance) for name, covariance in covariances.items()}
    for stratum in sampled_strata(rows, covariances, exact=True):
        for name, size in stratum.drawn.items():
            found[name] = found[name] + size**2 * stratum.error
    return found


def _apart(
    model: QueryModel, name: str, mean: Floats, error: Floats, protected: Floats, entropy: tuple[float, float, float]
) -> ScenarioApart:
    from scipy.stats import chi2

    law = model.distributions[name]
    moved = mean - law.mean
    length, _ = _length(moved, law.covariance)
    surprise, rank = _length(moved, error)
    return ScenarioApart(
        scenario=name,
        shifts=_over(moved, protected),
        deviations=_over(moved, np.sqrt(np.maximum(np.diag(law.covariance), 0.0))),
        distance=length,
        p_value=float(chi2.sf(surprise**2, rank)) if rank else 1.0,
        entropy=entropy[0],
        entropy_range=entropy[1:],
    )


def _over(moved: Floats, unit: Floats) -> Floats:
    """Return how many units something moved; infinitely many where a unit is nothing, and none where nothing moved."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(moved == 0, 0.0, np.abs(moved) / unit)


def _length(vector: Floats, covariance: Floats) -> tuple[float, int]:
    """Return how long a vector is in standard deviations, and in how many directions there is any.

    A difference where nothing varies is infinitely long.
    """
    spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    units = np.where(spread > 0, spread, np.maximum(np.abs(vector), 1.0))
    values, vectors = np.linalg.eigh(covariance / np.outer(units, units))
    kept = values > 1e-10 * max(float(values.max(initial=0.0)), 1e-300)
    along = vectors.T @ (vector / units)
    if (np.abs(along[~kept]) > 1e-6).any():
        return math.inf, max(1, int(kept.sum()))
    return float(np.sqrt((along[kept] ** 2 / values[kept]).sum())), int(kept.sum())


def _entropy(reference: RowSimulator, other: RowSimulator, name: str) -> tuple[float, float, float]:
    """Return the relative entropy of a record over cells of the statistics, and between what it is."""
    from scipy.stats import chi2

    scenario, sample = reference.scenarios[name], reference.drawing.reference == "sample"
    found = variance = floor = 0.0
    for (_, size), ours, theirs in zip(scenario.strata, reference.strata(name), other.strata(name), strict=True):
        rows = [
            StratumRows(values=row_features(of.query, of.pool(name), scenario.records)[s.rows], weights=s.weights)
            for of, s in ((reference, ours), (other, theirs))
        ]
        counts = [effective_rows(each.shares) for each in rows]
        which, cells = _cells(rows[0].values, rows[1].values, min(counts))
        p, q = (
            (count * np.bincount(cell, weights=each.shares, minlength=cells) + 0.5) / (count + cells / 2)
            for count, cell, each in zip(counts, which, rows, strict=True)
        )
        logs, share = np.log(q / p), size / scenario.records
        open_ = 1 / counts[1] + sample / counts[0]
        own = float(q @ logs)
        found += share * (own - (cells - 1) / 2 * open_)
        variance += share**2 * (
            max(0.0, float(q @ logs**2) - own**2) / counts[1]
            + sample * max(0.0, float((q**2 / p).sum()) - 1) / counts[0]
        )
        floor += share * float(chi2.ppf(0.99, max(cells - 1, 1))) / 2 * open_
    found = max(0.0, found)
    width = SURE * math.sqrt(variance)
    return found, max(0.0, found - width - floor), found + width + floor


def _cells(ours: Floats, theirs: Floats, rows: float) -> tuple[tuple[Rows, Rows], int]:
    """Return in which cell of what rows add to the statistics each row of two tables is, and how many cells there are.

    Cells are made of rows of both, without looking at which are which, so that none is made to tell them apart.
    """
    every = np.concatenate([ours, theirs])
    most = int(np.clip(rows / ROWS_EACH, 2, MOST_CELLS))
    each = int(most ** (1 / every.shape[1]) + 1e-9)
    if each < 2:
        every, each = along_their_main_axis(every)[:, np.newaxis], most
    codes = np.zeros(len(every), dtype=np.int64)
    for column in every.T:
        levels = np.unique(column)
        if len(levels) > each:
            levels = np.unique(np.quantile(column, np.linspace(0, 1, each + 1)[1:]))
        codes = codes * (len(levels) + 1) + np.searchsorted(levels, column)
    names, where = np.unique(codes, return_inverse=True)
    place = where.ravel()
    return (place[: len(ours)], place[len(ours) :]), len(names)


@frozen(kw_only=True)
class PairDiagnostics:
    """One protected pair, one order of it.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(
    ...     means={"a": [0, 0], "b": [1, 0]}, covariances=[[4, 0], [0, 1]], pairs=[("a", "b")]
    ... )
    >>> found = dp.diagnose(model).pairs[0]
    >>> found.pair, found.distance, found.variance_ratio
    (('a', 'b'), 0.5, 1.0)
    """

    pair: Pair
    """The names of its scenarios."""
    distance: float
    """How far apart the means are, in standard deviations of the average covariance: what an attacker sees."""
    variance_ratio: float
    """The largest ratio of the two variances in any direction: 1 if the covariances are equal."""
    angle: float
    """Degrees between this mean shift and the direction common to all, in units of standard deviations."""
    off_direction: float
    """How much of the shift lies off that direction, in standard deviations."""


@frozen(kw_only=True)
class StatisticDiagnostics:
    """One statistic, in the scenario where it is farthest from normal.

    >>> import distpriv as dp
    >>> model = dp.empirical_model(samples={"a": [0, 0, 0, 9], "b": [0, 0, 9, 9]}, pairs=[("a", "b")])
    >>> found = dp.diagnose(model).statistics[0]
    >>> found.name, found.scenario, round(found.skewness, 3), round(found.distance, 3)
    ('statistic_1', 'a', 1.155, 0.468)
    """

    name: str
    """The statistic's name."""
    scenario: str
    """The scenario's name."""
    skewness: float
    """The third standardised moment; 0 for a normal law."""
    excess_kurtosis: float
    """The fourth standardised moment less 3; 0 for a normal law."""
    distance: float
    """The largest difference between its distribution function and the fitted normal one, lattice allowed for."""
    noise: float
    """What that difference would be for a truly normal law with so many draws, 19 times out of 20 at most."""


@frozen(kw_only=True)
class Diagnostics:
    """Covariance mismatch, non-parallelism of the shifts, and departure from normality.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(
    ...     means={"a": [0, 0], "b": [1, 0], "c": [0, 1]},
    ...     covariances={"a": [[1, 0], [0, 1]], "b": [[2, 0], [0, 2]], "c": [[1, 0], [0, 1]]},
    ...     pairs=[("a", "b"), ("a", "c")],
    ... )
    >>> found = dp.diagnose(model)
    >>> round(found.variance_ratio, 6), round(found.angle, 6), round(found.off_direction, 3)
    (2.0, 90.0, 0.866)
    """

    pairs: tuple[PairDiagnostics, ...]
    """Every protected pair."""
    statistics: tuple[StatisticDiagnostics, ...]
    """Empty when the laws were given by their moments alone."""
    other: OtherRows | None = None
    """How far a second public table is from the reference, where one is given."""

    @property
    def variance_ratio(self) -> float:
        """The worst covariance mismatch of all pairs."""
        return max(pair.variance_ratio for pair in self.pairs)

    @property
    def angle(self) -> float:
        """The worst angle between a shift and the common direction, in degrees."""
        return max(pair.angle for pair in self.pairs)

    @property
    def off_direction(self) -> float:
        """The largest part of a shift off the common direction, in standard deviations."""
        return max(pair.off_direction for pair in self.pairs)

    def __str__(self) -> str:
        lines = [
            f"covariances differ by a factor of up to {self.variance_ratio:.3g} in some direction",
            f"mean shifts are up to {self.angle:.3g}° off one direction ({self.off_direction:.2g} standard deviations)",
        ]
        other = [] if self.other is None else [str(self.other)]
        if not self.statistics:
            return "\n".join([*lines, "normality was not examined: the laws were given by their moments", *other])
        worst = max(self.statistics, key=lambda statistic: statistic.distance)
        return "\n".join(
            [
                *lines,
                f"{worst.name} is farthest from normal: its distribution function is off by up to "
                f"{worst.distance:.3f} (sampling noise {worst.noise:.3f})",
                *other,
            ]
        )


def diagnose(model: QueryModel, other: Any = None, *, draws: int = 2000, seed: int = 0) -> Diagnostics:
    """Measure how far a model is from shared covariances, parallel shifts and normality, and from other rows.

    Args:
        model: the model.
        other: a second public table, any kind of source, to hold against the reference; nothing is said of one without.
        draws: how many datasets to draw per scenario where the model has rows and no sampled values yet.
        seed: the same seed gives the same numbers.

    Returns:
        Numbers for every pair and every statistic; printed, they are three lines.

    >>> import numpy as np
    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0, 0], "b": [1, 0]}, covariances={"a": np.eye(2), "b": [[1, 0], [0, 4]]},
    ...                        pairs=[("a", "b")])
    >>> print(dp.diagnose(model))
    covariances differ by a factor of up to 4 in some direction
    mean shifts are up to 0° off one direction (0 standard deviations)
    normality was not examined: the laws were given by their moments
    """
    require_model(model)
    average = np.mean([d.covariance for d in model.distributions.values()], axis=0)
    whiten = whitening(average)
    shifts = np.array([whiten @ model.mean_shift(pair) for pair in model.protected_pairs])
    direction = np.linalg.svd(shifts, full_matrices=False)[2][0] if shifts.size else np.zeros(0)
    along = shifts @ direction
    across = np.linalg.norm(shifts - np.outer(along, direction), axis=1)
    across = np.where(across < 1e-9 * np.abs(shifts).max(initial=0.0), 0.0, across)
    pairs = tuple(
        PairDiagnostics(
            pair=pair,
            distance=float(np.linalg.norm(shift)),
            variance_ratio=variance_ratio(*(model.distributions[name].covariance for name in pair)),
            angle=float(np.degrees(np.arctan2(off, abs(on)))),
            off_direction=float(off),
        )
        for pair, shift, on, off in zip(model.protected_pairs, shifts, along, across, strict=True)
    )
    return Diagnostics(
        pairs=pairs,
        statistics=tuple(_normality(model, draws, seed)),
        other=None if other is None else other_rows(model, other),
    )


def _normality(model: QueryModel, draws: int, seed: int) -> Iterable[StatisticDiagnostics]:
    laws = {name: _points(model, name, d, draws, seed) for name, d in model.distributions.items()}
    sampled = {name: law for name, law in laws.items() if law is not None}
    if not sampled:
        return
    for k, statistic in enumerate(model.names):
        measured = [
            _against_normal(statistic, name, points[:, k], weights, float(model.steps[k]))
            for name, (points, weights) in sampled.items()
        ]
        yield max(measured, key=lambda diagnostics: diagnostics.distance)


def _points(
    model: QueryModel, name: str, distribution: QueryDistribution, draws: int, seed: int
) -> tuple[Floats, Floats] | None:
    points = distribution.points
    if points is None and model.simulator is not None:
        points = model.samples(name, draws, seed)
    if points is None:
        return None
    weights = distribution.weights if distribution.weights is not None else np.full(len(points), 1 / len(points))
    return points, weights


def _against_normal(name: str, scenario: str, values: Floats, weights: Floats, step: float) -> StatisticDiagnostics:
    mean = weights @ values
    spread = np.sqrt(weights @ (values - mean) ** 2)
    noise = 0.886 / np.sqrt(len(values))  # Lilliefors: both parameters are fitted
    if spread <= 1e-12 * max(1.0, float(np.abs(values).max())):
        return StatisticDiagnostics(
            name=name, scenario=scenario, skewness=0.0, excess_kurtosis=0.0, distance=0.0, noise=float(noise)
        )
    standard = (values - mean) / spread
    places, where = np.unique(standard, return_inverse=True)
    below = np.cumsum(np.bincount(where, weights=weights))
    gaps = np.abs(below - ndtr(places + step / spread / 2))
    if step == 0:
        gaps = np.maximum(gaps, np.abs(below - np.bincount(where, weights=weights) - ndtr(places)))
    return StatisticDiagnostics(
        name=name,
        scenario=scenario,
        skewness=float(weights @ standard**3),
        excess_kurtosis=float(weights @ standard**4 - 3),
        distance=float(gaps.max()),
        noise=float(noise),
    )
