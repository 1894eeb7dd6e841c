r"""δ under noise with a Laplace part along one line: draws across the line, integration along it.

Y = F + G + T w, T of a Laplace distribution with scale b. Given the line :math:`\{y + t w\}` on which F + G lies,

.. math:: δ_{i \to j}(ε) = E_{line \sim P_i} \frac{1}{\int g_i} \int \bigl(p_i - e^ε p_j\bigr)_+ dt, \qquad
   p = g * \mathrm{Lap}(b),

with g the saddlepoint density of F + G along the line. Lines are drawn exactly, as points of F + G, under tilts θ with
θᵀw = 0: their weights are the same all along the line (`delta_by_draws`).
"""

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats
from distpriv.framework.target import odds
from distpriv.guarantees.delta_by_draws import (
    TINY,
    AtPoints,
    DrawnDelta,
    DrawSettings,
    Mean,
    Ratios,
    effective_number,
    estimated,
    mean_and_error,
    surpassing,
)
from distpriv.law.cumulants import log_densities
from distpriv.law.saddlepoint import TiltedLaw

__all__ = ["LaplacePart", "LineSettings", "delta_by_lines"]


@frozen(kw_only=True)
class LineSettings:
    """How densities are integrated along lines."""

    nodes: int = 11
    """Chebyshev nodes along an interval of twelve standard deviations, on which log-densities are interpolated."""
    half_width: float = 6.0
    """Standard deviations, of F + G given the line, to either side of the means."""
    half_widths: tuple[float, ...] = (6.0, 9.0, 13.0, 18.0)
    """The same, in turn, until little enough is outside: rows far out along the line reach farther."""
    outside: float = 1e-3
    """How little, as a share of the δ that matters."""
    exponents: tuple[float, float, int] = (0.05, 50.0, 60)
    """The first, the last and the number of the exponents in Chernoff's bound on that, times a standard deviation."""
    per_deviation: float = 20.0
    """Points of the trapezoid rule in a standard deviation."""
    per_scale: float = 4.0
    """Points of the trapezoid rule in the Laplace scale."""
    fewest_points: int = 64
    most_points: int = 2000
    """Points along a line."""
    largest_margin: float = 50.0
    """The logarithm of a ratio that is as good as infinite along a line."""


LINES = LineSettings()

DRAWS = DrawSettings(
    draws=1000,
    fewer_draws=250,
    reverse_draws=1000,
    pilot_draws=120,
    rounds=4,
    rounds_there=4,
    recentred=8,
    remembered=4,
    shares=(0.25, 0.25, 0.5),
    large=math.inf,
    enough_draws=10.0,
    levels=21,
)
"""A line takes as long as dozens of points, and is worth as many."""


@frozen(kw_only=True, eq=False)
class LaplacePart:
    """Noise T w with T of a Laplace distribution of scale b."""

    axis: Floats
    scale: float


def delta_by_lines(
    first: TiltedLaw, second: TiltedLaw, laplace: LaplacePart, epsilon: float, *, matters: float = 0.0
) -> DrawnDelta:
    """Estimate H_ε of two sums over rows with Gaussian noise, to which the same Laplace noise is added.

    A δ far below what `matters` need not be known well.
    """
    lines = _AlongLines(first=first, second=second, laplace=laplace, matters=matters)
    several = len(laplace.axis) > 1
    return estimated(lines, epsilon, matters, DRAWS if several else evolve(DRAWS, rounds=0))


@frozen(kw_only=True, eq=False)
class _AlongLines(AtPoints):
    """The same along the lines through points, one a row, where the second order is computed everywhere."""

    laplace: LaplacePart
    matters: float

    @cached_property
    def _windows(self) -> tuple["_Window", "_Window"]:
        return (
            _Window.of(self.first, self.laplace.axis, self.matters),
            _Window.of(self.second, self.laplace.axis, self.matters),
        )

    @property
    def outside(self) -> float:
        return self._windows[0].outside

    def first_tilts(self, rng: np.random.Generator) -> Floats:
        return _across(AtPoints.first_tilts(self, rng), self.laplace.axis)

    def roughly(self, points: Floats) -> Ratios:
        return self._along(points, second_order=False)

    def deciding(
        self,
        points: Floats,
        weights: Floats,
        epsilon: float,
        untilted: NDArray[np.bool_],  # noqa: ARG002
        settings: DrawSettings,
    ) -> tuple[Ratios, float]:
        ratios = self._along(points, second_order=True)
        return ratios, ratios.level(weights, epsilon, settings)

    def reverse(self, points: Floats, level: float) -> Ratios:  # noqa: ARG002
        return evolve(self, first=self.second, second=self.first)._along(points, second_order=True)

    def _along(self, points: Floats, *, second_order: bool) -> "_RatiosAlongLines":
        axis, of = self.laplace.axis, LINES
        low, high = np.full(len(points), np.inf), np.full(len(points), -np.inf)
        narrowest = math.inf
        for law, window in zip((self.first, self.second), self._windows, strict=True):
            centre = (law.mean - points) @ window.along
            low = np.minimum(low, centre - window.half_width * window.deviation)
            high = np.maximum(high, centre + window.half_width * window.deviation)
            narrowest = min(narrowest, window.deviation)
        longest = float((high - low).max())
        count = min(3 * of.nodes, math.ceil(of.nodes * longest / (2 * of.half_width * narrowest)))
        fine = min(narrowest / of.per_deviation, self.laplace.scale / of.per_scale)
        size = int(np.clip(math.ceil(longest / fine), of.fewest_points, of.most_points))
        nodes = np.cos(np.pi * (np.arange(count)[::-1] + 0.5) / count)
        places = (low + high)[:, np.newaxis] / 2 + (high - low)[:, np.newaxis] / 2 * nodes
        lines = [points + place[:, np.newaxis] * axis for place in places.T]
        laws = (self.first, self.second)
        at = [law.saddlepoints_along(lines, [law.normal_tilts(line) for line in lines]) for law in laws]
        grid = np.linspace(-1.0, 1.0, size)
        matrix = np.polynomial.chebyshev.chebvander(grid, count - 1) @ np.linalg.inv(
            np.polynomial.chebyshev.chebvander(nodes, count - 1)
        )
        logs = [np.array([saddle.log_densities for saddle in saddles]).T for saddles in at]
        unknown = np.any([~np.isfinite(log).all(axis=1) for log in logs], axis=0)
        margins = np.zeros((len(points), size))
        if second_order:
            corrected = [
                [log_densities(law, saddle, np.arange(len(points))) for saddle in saddles]
                for law, saddles in zip(laws, at, strict=True)
            ]
            logs, terms = ([np.array([node[k] for node in nodes_]).T for nodes_ in corrected] for k in (0, 1))
            spread = np.abs(terms[0] - terms[1]) / 2 + terms[0] ** 2 + terms[1] ** 2
            linear = np.array([np.interp(grid, nodes, row) for row in np.eye(count)])
            margins = spread @ linear
        logs = [np.where(np.isfinite(log), log, 0.0) for log in logs]
        one, other = (log @ matrix.T for log in logs)
        highest = np.maximum(one.max(axis=1), other.max(axis=1))[:, np.newaxis]
        step = (high - low) / (size - 1)
        masses = [np.exp(log - highest) for log in (one, other)]
        return _RatiosAlongLines(
            masses=(masses[0], masses[1]),
            margins=margins,
            decay=np.exp(-step / self.laplace.scale),
            unknown=unknown,
            tilts=tuple(
                _across(np.array([saddle.tilts for saddle in saddles]).transpose(1, 0, 2), axis) for saddles in at
            ),
            nodes=(nodes + 1) / 2 * (size - 1),
        )


@frozen(kw_only=True, eq=False)
class _Window:
    """Which part of every line is integrated: where the place of F + G along it is near that of the mean."""

    along: Floats
    """ℓ with ℓᵀw = 1: the place along a line is ℓᵀ(F + G), whose variance is that given the line."""
    deviation: float
    half_width: float
    """In standard deviations."""
    outside: float
    """A bound on the probability that F + G is not there."""

    @classmethod
    def of(cls, law: TiltedLaw, axis: Floats, matters: float) -> "_Window":
        """Return the first window outside of which there is little enough, or the widest."""
        towards = np.linalg.solve(law.covariance, axis)
        deviation = 1 / math.sqrt(float(axis @ towards))
        along = np.asarray(towards * deviation**2)
        exponents = np.geomspace(*LINES.exponents) / deviation
        logs = [law.log_moments(np.outer(s, along)) - s * float(along @ law.mean) for s in (exponents, -exponents)]
        half_width, outside = LINES.half_width, 1.0
        for half_width in LINES.half_widths:
            ends = [float((log - exponents * half_width * deviation).min()) for log in logs]
            outside = min(1.0, sum(math.exp(min(0.0, end)) for end in ends))
            if outside <= LINES.outside * matters:
                break
        return cls(along=along, deviation=deviation, half_width=half_width, outside=outside)


def _across(tilts: Floats, axis: Floats) -> Floats:
    """Return tilts without their part along the line."""
    return np.asarray(tilts - (tilts @ axis / (axis @ axis))[..., np.newaxis] * axis)


@frozen(kw_only=True, eq=False, slots=False)
class _RatiosAlongLines:
    """Densities of two scenarios on grids along lines, one line a row."""

    masses: tuple[Floats, Floats]
    """Of both scenarios before the Laplace noise, up to a factor that a line's have in common."""
    margins: Floats
    """By how much the logarithm of their ratio may err."""
    decay: Floats
    """e^{-h/b}, h the step of a line's grid."""
    unknown: NDArray[np.bool_]
    """Lines on which some density is not known: they count in full."""
    tilts: tuple[Floats, ...]
    """Of both scenarios, saddlepoints at the nodes of every line, less their part along it."""
    nodes: Floats
    """The nodes' places on the grid."""

    def _noisy(self, masses: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the density with Laplace noise on the grid, and the masses beyond its left and right ends."""
        decay = self.decay[:, np.newaxis]
        right, left = masses.copy(), masses.copy()
        for k in range(1, masses.shape[1]):
            right[:, k] += right[:, k - 1] * decay[:, 0]
            left[:, -1 - k] += left[:, -k] * decay[:, 0]
        inside = (right + left - masses) * ((1 - decay) / (1 + decay))
        beyond = self.decay / (1 + self.decay)
        return inside, left[:, 0] * beyond, right[:, -1] * beyond

    @cached_property
    def _noisy_masses(self) -> tuple[tuple[Floats, Floats, Floats], ...]:
        return tuple(self._noisy(masses) for masses in self.masses)

    def _both(self, raised: float | None = None) -> list[tuple[Floats, Floats]]:
        first, second = self._noisy_masses
        if raised is not None:
            first = self._noisy(self.masses[0] * np.exp(np.minimum(self.margins + raised, LINES.largest_margin)))
        return list(zip(first, second, strict=True))

    def _share(self, gained: Callable[[Floats, Floats], Floats], raised: float | None = None) -> Floats:
        """Return the integral of a function of both densities, over the mass of the first."""
        total = np.zeros(len(self.decay))
        for first, second in self._both(raised):
            total += gained(first, second).reshape(len(total), -1).sum(axis=1)
        return np.asarray(total / self.masses[0].sum(axis=1))

    def level(self, weights: Floats, epsilon: float, settings: DrawSettings) -> float:
        levels = epsilon * np.linspace(1.0, 0.0, settings.levels)
        enough = (of for of in levels if effective_number(weights * self.terms(of)) >= settings.enough_draws)
        return float(next(enough, 0.0))

    def terms(self, level: float, raised: float | None = None) -> Floats:
        factor = odds(level)
        lost = self._share(lambda first, second: np.maximum(0.0, first - factor * second), raised)
        return np.where(self.unknown, 1.0, np.minimum(lost, 1.0))

    def moments(self, weights: Floats, epsilon: float, power: float, raised: float) -> tuple[float, float, float]:
        def surpassed(first: Floats, second: Floats) -> Floats:
            logs = np.log(np.maximum(first, TINY)) - np.log(np.maximum(second, TINY))
            return first * surpassing(logs, epsilon, power)

        terms = weights * np.where(self.unknown, 1.0, np.minimum(self._share(surpassed, raised), 1.0))
        return *mean_and_error(terms), effective_number(terms)

    def tilts_at(self, which: NDArray[np.int64], level: float) -> tuple[Floats, Floats]:
        first, second = self._both()[0]
        gained = np.maximum(0.0, first - odds(level) * second)
        node = np.abs(self.nodes - gained.argmax(axis=1)[:, np.newaxis]).argmin(axis=1)[which]
        one, other = self.tilts
        return one[which, node], other[which, node]

    def loss(self, weights: Floats, level: float, mean: Mean, raised: float | None = None) -> tuple[float, float]:
        return mean(weights * self.terms(level, raised))

    def total_variation(
        self,
        weights: Floats,
        untilted: NDArray[np.bool_],  # noqa: ARG002 - the second order is known along all lines
        mean: Mean,
    ) -> tuple[float, float]:
        return mean(weights * self.terms(0.0, raised=0.0))

    def event(self, weights: Floats, level: float) -> tuple[float, float]:
        factor = odds(level)
        event = self._share(lambda one, other: np.where(one > factor * other, one, 0.0))
        return mean_and_error(weights * np.where(self.unknown, 0.0, event))

    def image(self, weights: Floats, level: float) -> tuple[float, float]:
        factor = odds(level)
        image = self._share(lambda other, one: np.where(one > factor * other, one, 0.0))
        return mean_and_error(weights * np.where(self.unknown, 0.0, image))
