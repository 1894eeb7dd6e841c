"""How far a model is from what the paper's theorems assume, as numbers a person can read."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from attrs import frozen
from scipy.special import ndtr

from distpriv.distances.gaussian import variance_ratio, whitening
from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Pair
from distpriv.modelling.model import QueryDistribution, QueryModel, require_model
from distpriv.modelling.other_rows import OtherRows, other_rows

__all__ = ["Diagnostics", "PairDiagnostics", "StatisticDiagnostics", "diagnose"]


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
