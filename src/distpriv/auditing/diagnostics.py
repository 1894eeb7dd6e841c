r"""How far a model is from what the paper's theorems assume, and from the rows of a second public table.

In each scenario the rows of a second table are drawn as the reference's are, and their statistics are compared: means
in units of the protected shift, and of what datasets vary by; a χ² test of whether both tables can be samples of one
population; and the relative entropy of a record, over cells of what rows add to the statistics, so that it is never
more than that of whole rows. What so few rows leave open is allowed for to the first order.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from attrs import evolve, frozen
from scipy.special import chdtrc, chdtri, ndtr, ndtri

from distpriv.distances.gaussian import variance_ratio, whitening
from distpriv.errors import InvalidModel
from distpriv.framework.arrays import Floats, Rows, array_field
from distpriv.framework.scenarios import Pair
from distpriv.modelling.from_rows import exact_distribution
from distpriv.modelling.model import QueryModel, error_of_means, require_model
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
]

CONFIDENCE = 0.99
"""Of the verdict that two tables are no samples of one population, and of each end of a range of entropies."""


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
    """The third standardised moment; 0 for a normal distribution."""
    excess_kurtosis: float
    """The fourth standardised moment less 3; 0 for a normal distribution."""
    distance: float
    """The largest difference between its distribution function and the fitted normal one, lattice allowed for."""
    noise: float
    """What that difference would be for a truly normal law with so many draws, 19 times out of 20 at most."""


@frozen(kw_only=True)
class ScenarioApart:
    """How far other rows are from the reference in one scenario."""

    scenario: str
    shifts: Floats = array_field()
    """By how much the mean of each statistic differs, over the largest protected shift of it; infinite if that is 0."""
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
        return self.radius is not None and max(apart.entropy_range[0] for apart in self.scenarios) > self.radius

    @property
    def differs(self) -> bool:
        """Whether the two are no samples of one population, at 99 % confidence over all scenarios."""
        return min(apart.p_value for apart in self.scenarios) * len(self.scenarios) < 1 - CONFIDENCE

    @property
    def worst(self) -> ScenarioApart:
        """The scenario in which they are farthest apart."""
        return max(self.scenarios, key=lambda apart: apart.distance)

    def __str__(self) -> str:
        worst = self.worst
        most = int(np.argmax(np.nan_to_num(worst.deviations)))
        low, high = worst.entropy_range
        ball = ""
        if self.radius is not None:
            verdict = "outside" if self.outside else "not found to be outside"
            ball = f", {verdict} of the {self.radius:g} that the model allows for"
        population = "another population" if self.differs else "may be the same population"
        return (
            f"the other rows differ most in {worst.scenario!r}: {self.names[most]} by {worst.deviations[most]:.2g} "
            f"standard deviations and {worst.shifts[most]:.2g} of its protected shift, all statistics by "
            f"{worst.distance:.2g}: {population} "
            f"(p = {worst.p_value:.2g})\n"
            f"relative entropy of a record: {worst.entropy:.2g} (99 % range {low:.2g} to {high:.2g}){ball}"
        )


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
        normality = "normality was not examined: the laws were given by their moments"
        if self.statistics:
            worst = max(self.statistics, key=lambda statistic: statistic.distance)
            normality = (
                f"{worst.name} is farthest from normal: its distribution function is off by up to "
                f"{worst.distance:.3f} (sampling noise {worst.noise:.3f})"
            )
        return "\n".join(
            [
                f"covariances differ by a factor of up to {self.variance_ratio:.3g} in some direction",
                f"mean shifts are up to {self.angle:.3g}° off one direction "
                f"({self.off_direction:.2g} standard deviations)",
                normality,
                *([] if self.other is None else [str(self.other)]),
            ]
        )


def diagnose(model: QueryModel, other: Any = None, *, draws: int = 2000, seed: int = 0) -> Diagnostics:
    """Measure how far a model is from shared covariances, parallel shifts and normality, and from other rows.

    Args:
        model: the model.
        other: a second public table, any kind of source, to compare with the reference; nothing is said of one without.
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
    whiten = whitening(np.mean([law.covariance for law in model.distributions.values()], axis=0))
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
        other=None if other is None else _other_rows(model, other),
    )


def _normality(model: QueryModel, draws: int, seed: int) -> Iterator[StatisticDiagnostics]:
    """Yield every statistic in the scenario where it is farthest from normal, of laws that have points or rows."""
    sampled = {}
    for name, law in model.distributions.items():
        points = model.samples(name, draws, seed) if law.points is None and model.simulator is not None else law.points
        if points is not None:
            sampled[name] = points, np.full(len(points), 1 / len(points)) if law.weights is None else law.weights
    for k, statistic in enumerate(model.names if sampled else ()):
        compared = [
            _against_normal(statistic, name, points[:, k], weights, float(model.steps[k]))
            for name, (points, weights) in sampled.items()
        ]
        yield max(compared, key=lambda diagnostics: diagnostics.distance)


def _against_normal(name: str, scenario: str, values: Floats, weights: Floats, step: float) -> StatisticDiagnostics:
    mean = weights @ values
    spread = np.sqrt(weights @ (values - mean) ** 2)
    skewness = kurtosis = distance = 0.0
    if spread > 1e-12 * max(1.0, float(np.abs(values).max())):
        standard = (values - mean) / spread
        points, which = np.unique(standard, return_inverse=True)
        chances = np.bincount(which, weights=weights)
        below = np.cumsum(chances)
        gaps = np.abs(below - ndtr(points + step / spread / 2))
        if step == 0:
            gaps = np.maximum(gaps, np.abs(below - chances - ndtr(points)))
        skewness, kurtosis = float(weights @ standard**3), float(weights @ standard**4 - 3)
        distance = float(gaps.max())
    return StatisticDiagnostics(
        name=name,
        scenario=scenario,
        skewness=skewness,
        excess_kurtosis=kurtosis,
        distance=distance,
        noise=float(0.886 / np.sqrt(len(values))),  # Lilliefors 1967: both parameters are fitted
    )


def _other_rows(model: QueryModel, other: Any) -> OtherRows:
    """Compare a second public table with the reference of a model, in every scenario that draws from it."""
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
    reference = evolve(simulator, scenarios=own, tables={name: simulator.tables[name] for name in own})
    theirs = reference.over(other)
    theirs = evolve(theirs, drawing=evolve(theirs.drawing, reference="sample", replacement=True))
    laws = {name: exact_distribution(theirs, name) for name in own}
    strata = (*model.strata, *sampled_strata(theirs, {name: law.covariance for name, law in laws.items()}, exact=True))
    protected = np.max([np.abs(model.mean_shift(pair)) for pair in model.protected_pairs], axis=0)
    apart = []
    for name in own:
        covariance = model.distributions[name].covariance
        moved = laws[name].mean - model.distributions[name].mean
        surprise, rank = _length(moved, error_of_means(strata, name, model.dimension))
        entropy, low, high = _entropy(reference, theirs, name)
        apart.append(
            ScenarioApart(
                scenario=name,
                shifts=_over(moved, protected),
                deviations=_over(moved, np.sqrt(np.maximum(np.diag(covariance), 0.0))),
                distance=_length(moved, covariance)[0],
                p_value=float(chdtrc(rank, surprise**2)) if rank else 1.0,
                entropy=entropy,
                entropy_range=(low, high),
            )
        )
    return OtherRows(names=model.names, radius=model.provenance.drawing.robust, scenarios=tuple(apart))


def _over(moved: Floats, unit: Floats) -> Floats:
    """Return how many units something moved; infinitely many where a unit is nothing, and none where nothing moved."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(moved == 0, 0.0, np.abs(moved) / unit)


def _length(vector: Floats, covariance: Floats, rounding: float = 1e-6) -> tuple[float, int]:
    """Return how long a vector is in standard deviations, and in how many directions there is any.

    A difference where nothing varies is infinitely long.
    """
    whiten, deviations = whitening(covariance), np.sqrt(np.diag(covariance))
    standard = whiten @ vector
    outside = np.abs(vector - covariance @ whiten.T @ standard)
    if (outside > rounding * np.where(deviations > 0, deviations, np.maximum(np.abs(vector), 1.0))).any():
        return math.inf, max(1, len(whiten))
    return float(np.linalg.norm(standard)), len(whiten)


def _entropy(reference: RowSimulator, other: RowSimulator, name: str) -> tuple[float, float, float]:
    """Return the relative entropy of a record over cells of the statistics, and between what it is."""
    scenario, sample = reference.scenarios[name], reference.drawing.reference == "sample"
    estimate = variance = floor = 0.0
    for side, size in scenario.strata:
        rows = [simulator.rows_of(name, side) for simulator in (reference, other)]
        counts = [effective_rows(own.shares) for own in rows]
        which, cells = _cells(rows[0].values, rows[1].values, min(counts))
        p, q = (
            (count * np.bincount(cell, weights=own.shares, minlength=cells) + 0.5) / (count + cells / 2)
            for count, cell, own in zip(counts, which, rows, strict=True)
        )
        logs, share = np.log(q / p), size / scenario.records
        unknown = 1 / counts[1] + sample / counts[0]
        own_entropy = float(q @ logs)
        estimate += share * (own_entropy - (cells - 1) / 2 * unknown)
        variance += share**2 * max(0.0, float(q @ logs**2) - own_entropy**2) / counts[1]
        variance += share**2 * sample * max(0.0, float((q**2 / p).sum()) - 1) / counts[0]
        floor += share * float(chdtri(max(cells - 1, 1), 1 - CONFIDENCE)) / 2 * unknown
    estimate = max(0.0, estimate)
    width = float(ndtri(CONFIDENCE)) * math.sqrt(variance) + floor
    return estimate, max(0.0, estimate - width), estimate + width


def _cells(
    ours: Floats, theirs: Floats, rows: float, *, most: int = 64, rows_in_cell: int = 20
) -> tuple[tuple[Rows, Rows], int]:
    """Return in which cell of what rows add to the statistics each row of two tables is, and how many cells there are.

    Cells are made of rows of both, without looking at which are which, so that none is made to tell them apart: at most
    so many, with so many rows on average.
    """
    both = np.concatenate([ours, theirs])
    most = int(np.clip(rows / rows_in_cell, 2, most))
    levels_of_one = int(most ** (1 / both.shape[1]) + 1e-9)
    if levels_of_one < 2:
        both, levels_of_one = along_their_main_axis(both)[:, np.newaxis], most
    levels = []
    for column in both.T:
        different = np.unique(column)
        if len(different) > levels_of_one:
            different = np.unique(np.quantile(column, np.linspace(0, 1, levels_of_one + 1)[1:]))
        levels.append(np.searchsorted(different, column))
    cells, cell = np.unique(np.column_stack(levels), axis=0, return_inverse=True)
    first, second = np.split(cell.ravel(), [len(ours)])
    return (first, second), len(cells)
