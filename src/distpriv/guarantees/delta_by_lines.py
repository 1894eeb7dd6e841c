r"""δ under noise with a Laplace part along one line: draws across the line, integration along it.

Y = F + G + T w, T of a Laplace distribution with scale b. Given the line :math:`\{y + t w\}` on which F + G lies,

.. math:: δ_{i \to j}(ε) = E_{line \sim P_i} \frac{1}{\int g_i} \int \bigl(p_i - e^ε p_j\bigr)_+ dt, \qquad
   p = g * \mathrm{Lap}(b),

with g the saddlepoint density of F + G along the line. Lines are drawn exactly, as points of F + G, under tilts θ with
θᵀw = 0: their weights are the same all along the line (`delta_by_draws`).
"""

import math

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats
from distpriv.guarantees.delta_by_draws import (
    DrawnDelta,
    NoisySum,
    controlled,
    effective_number,
    first_tilts,
    mean_and_error,
)
from distpriv.law.cumulants import second_order_terms
from distpriv.law.draws import TiltedMixture
from distpriv.law.saddlepoint import Saddlepoints

__all__ = ["LaplacePart", "LineSettings", "delta_by_lines"]


@frozen(kw_only=True)
class LineSettings:
    """How δ is estimated by lines."""

    lines: int = 1000
    """Lines along which densities are integrated."""
    fewer_lines: int = 250
    """The same where δ is far below what matters, or only compared with other estimates."""
    pilot_lines: int = 120
    """Lines in each round that chooses tilts."""
    rounds: int = 4
    """Cross-entropy rounds."""
    recentred: int = 8
    """Tilts added in each round."""
    shares: tuple[float, float, float] = (0.25, 0.25, 0.5)
    """Of the lines: untilted, under the first tilts, and recentred."""
    nodes: int = 11
    """Chebyshev nodes along an interval of twelve standard deviations, on which log-densities are interpolated."""
    half_width: float = 6.0
    """Standard deviations, of F + G given the line, to either side of the means."""
    per_deviation: float = 20.0
    """Points of the trapezoid rule in a standard deviation."""
    per_scale: float = 4.0
    """Points of the trapezoid rule in the Laplace scale."""
    most_points: int = 2000
    """Points along a line at most."""
    enough_lines: float = 10.0
    """A level ε' ≤ ε is low enough if its terms have this effective number of lines."""
    deviations: float = 2.5
    """Standard errors in the upper confidence bound: 0.6 % on a normal distribution."""
    far_below: float = 0.1
    """The share of the δ that matters below which fewer lines are enough."""
    influential: int = 24
    """Kinds of rows towards which the first tilts pull."""
    folds: int = 5
    """Into how many parts lines fall for the regression on controls, which is of all others for each; 1 for none."""
    seed: int = 20
    """Of all draws, so that whoever verifies a certificate finds the same δ."""


DEFAULT = LineSettings()


@frozen(kw_only=True, eq=False)
class LaplacePart:
    """Noise T w with T of a Laplace distribution of scale b."""

    axis: Floats
    scale: float


def delta_by_lines(
    first: NoisySum,
    second: NoisySum,
    laplace: LaplacePart,
    epsilon: float,
    *,
    matters: float = 0.0,
    roughly: bool = False,
    settings: LineSettings = DEFAULT,
) -> DrawnDelta:
    """Estimate H_ε of two sums over rows with Gaussian noise, to which the same Laplace noise is added.

    Args:
        first: the scenario that is drawn from, without the Laplace part.
        second: the other.
        laplace: the Laplace part.
        epsilon: ε.
        matters: a δ far below this need not be known well.
        roughly: whether few lines are enough, as for a search.
        settings: how many lines, and how they are chosen.
    """
    rng = np.random.default_rng(settings.seed)
    sums = _Lines(first=first, second=second, laplace=laplace, settings=settings)
    mixture, others, far_below = _recentred(sums, epsilon, matters, rng)
    lines = settings.fewer_lines if roughly or far_below else settings.lines
    mixture = mixture.of_whole_draws(lines)
    points = mixture.draw(lines, rng)
    weights, mean = mixture.weights(points), controlled(mixture, points, settings.folds, settings.seed)
    along = sums.along(points, second_order=True)
    level, terms = along.enough(weights, epsilon, settings.enough_lines)
    delta, error = mean(terms)
    off, off_error = 0.0, 0.0
    if not roughly:
        chance, chance_error = mean_and_error(weights * along.event(level, of_first=True))
        reverse = _Lines(first=second, second=first, laplace=laplace, settings=settings)
        other = others.of_whole_draws(lines)
        there = other.draw(lines, rng)
        image, image_error = mean_and_error(
            other.weights(there) * reverse.along(there, second_order=True).event(level, of_first=False)
        )
        if chance > 0 and image > 0:
            off = math.log(image / chance)
            off_error = math.hypot(chance_error / chance, image_error / image)
    shift = max(0.0, abs(off) - settings.deviations * off_error)
    bounded = weights * along.lost(level, raised=shift)
    upper, upper_error = mean(bounded)
    apart, apart_error = mean(weights * along.lost(0.0, raised=0.0))
    largest = float(terms.max(initial=0.0))
    return DrawnDelta(
        epsilon=level,
        delta=delta,
        standard_error=error,
        largest_share=largest / max(float(terms.sum()), 1e-300),
        normalisation=off,
        normalisation_error=off_error,
        upper_bound=min(1.0, upper + settings.deviations * upper_error + settings.deviations**2 * largest / lines),
        total_variation=min(1.0, apart + settings.deviations * apart_error),
        draws=lines,
    )


@frozen(kw_only=True, eq=False)
class _Lines:
    """Two scenarios, to be integrated along lines."""

    first: NoisySum
    second: NoisySum
    laplace: LaplacePart
    settings: LineSettings

    def along(self, points: Floats, *, second_order: bool) -> "_Along":
        """Return the densities of both scenarios along the lines through points, one a row."""
        axis, of = self.laplace.axis, self.settings
        low, high = np.full(len(points), np.inf), np.full(len(points), -np.inf)
        narrowest = math.inf
        for each in (self.first, self.second):
            towards = np.linalg.solve(each.density.covariance, axis)
            width = 1 / math.sqrt(float(axis @ towards))
            centre = (each.density.mean - points) @ towards * width**2
            low, high = (
                np.minimum(low, centre - of.half_width * width),
                np.maximum(high, centre + of.half_width * width),
            )
            narrowest = min(narrowest, width)
        longest = float((high - low).max())
        count = min(3 * of.nodes, math.ceil(of.nodes * longest / (2 * of.half_width * narrowest)))
        fine = min(narrowest / of.per_deviation, self.laplace.scale / of.per_scale)
        size = int(np.clip(math.ceil(longest / fine), 64, of.most_points))
        nodes = np.cos(np.pi * (np.arange(count)[::-1] + 0.5) / count)
        places = (low + high)[:, np.newaxis] / 2 + (high - low)[:, np.newaxis] / 2 * nodes
        lines = [points + place[:, np.newaxis] * axis for place in places.T]
        at = [self._at(each, lines) for each in (self.first, self.second)]
        grid = np.linspace(-1.0, 1.0, size)
        matrix = np.polynomial.chebyshev.chebvander(grid, count - 1) @ np.linalg.inv(
            np.polynomial.chebyshev.chebvander(nodes, count - 1)
        )
        logs = [np.array([np.where(each.found, each.log_densities, -np.inf) for each in saddles]).T for saddles in at]
        unknown = np.any([~np.isfinite(each).all(axis=1) for each in logs], axis=0)
        logs = [np.where(np.isfinite(each), each, 0.0) for each in logs]
        margins = np.zeros((len(points), size))
        if second_order:
            which = np.arange(len(points))
            terms = [
                np.clip(np.array([second_order_terms(each.density, saddle, which) for saddle in saddles]).T, -0.9, None)
                for each, saddles in zip((self.first, self.second), at, strict=True)
            ]
            logs = [log + np.log1p(term) for log, term in zip(logs, terms, strict=True)]
            spread = np.abs(terms[0] - terms[1]) / 2 + terms[0] ** 2 + terms[1] ** 2
            margins = spread @ _linear(nodes, grid).T
        one, other = (log @ matrix.T for log in logs)
        highest = np.maximum(one.max(axis=1), other.max(axis=1))[:, np.newaxis]
        step = (high - low) / (size - 1)
        masses = [np.exp(log - highest) for log in (one, other)]
        return _Along(
            masses=(masses[0], masses[1]),
            margins=margins,
            decay=np.exp(-step / self.laplace.scale),
            unknown=unknown,
            tilts=np.array([each.tilts for each in at[0]]).transpose(1, 0, 2),
            other_tilts=np.array([each.tilts for each in at[1]]).transpose(1, 0, 2),
            nodes=(nodes + 1) / 2 * (size - 1),
        )

    def _at(self, each: NoisySum, lines: list[Floats]) -> list[Saddlepoints]:
        inverse = np.linalg.inv(each.density.covariance)
        return each.density.saddlepoints_along(lines, [(line - each.density.mean) @ inverse for line in lines])


def _linear(nodes: Floats, grid: Floats) -> Floats:
    """Return the matrix of linear interpolation from nodes to a grid."""
    return np.array([np.interp(grid, nodes, row) for row in np.eye(len(nodes))]).T


@frozen(kw_only=True, eq=False)
class _Along:
    """Densities of two scenarios on grids along lines, one line a row."""

    masses: tuple[Floats, Floats]
    """Of both scenarios before the Laplace noise, up to a factor that a line's have in common."""
    margins: Floats
    """By how much the logarithm of their ratio may err."""
    decay: Floats
    """e^{-h/b}, h the step of a line's grid."""
    unknown: NDArray[np.bool_]
    """Lines on which some density is not known: they count in full."""
    tilts: Floats
    other_tilts: Floats
    """Saddlepoints at the nodes of every line."""
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

    def _both(self, raised: float) -> list[tuple[Floats, Floats]]:
        one, other = self.masses
        first = self._noisy(one * np.exp(np.minimum(self.margins + raised, 50.0)) if raised >= 0 else one)
        return list(zip(first, self._noisy(other), strict=True))

    def lost(self, level: float, raised: float = -1.0) -> Floats:
        """Return ∫(p_i − e^ε p_j)₊ over the mass of the first; with a margin and a raised first if that is not < 0."""
        found = np.zeros(len(self.decay))
        for first, second in self._both(raised):
            gained = np.maximum(0.0, first - math.exp(min(level, 600.0)) * second)
            found += gained.reshape(len(found), -1).sum(axis=1)
        return np.where(self.unknown, 1.0, np.minimum(found / self.masses[0].sum(axis=1), 1.0))

    def enough(self, weights: Floats, epsilon: float, enough: float) -> tuple[float, Floats]:
        """Return ε, or a smaller level that enough of the lines are above, and the weighted terms there."""
        for share in np.linspace(1.0, 0.0, LEVELS):
            terms = weights * self.lost(epsilon * share)
            if effective_number(terms) >= enough:
                return float(epsilon * share), terms
        return 0.0, terms

    def event(self, level: float, *, of_first: bool) -> Floats:
        """Return the mass of A over that of the first scenario: its own share of A, or that of the second.

        A is where the first is e^ε times as likely as the second, or the second as the first, on lines with a density.
        """
        found = np.zeros(len(self.decay))
        for first, second in self._both(-1.0):
            one, other = (first, second) if of_first else (second, first)
            there = np.where(one > math.exp(min(level, 600.0)) * other, one, 0.0)
            found += there.reshape(len(found), -1).sum(axis=1)
        return np.where(self.unknown, 0.0, found / self.masses[0].sum(axis=1))

    def deciding(self, level: float) -> NDArray[np.intp]:
        """Return for every line the node nearest to where most of its term is."""
        first, second = self._both(-1.0)[0]
        gained = np.maximum(0.0, first - math.exp(min(level, 600.0)) * second)
        return np.asarray(np.abs(self.nodes - gained.argmax(axis=1)[:, np.newaxis]).argmin(axis=1))


LEVELS = 21
"""How many levels from ε down to 0 are tried."""


def _recentred(
    sums: _Lines, epsilon: float, matters: float, rng: np.random.Generator
) -> tuple[TiltedMixture, TiltedMixture, bool]:
    """Return mixtures that draw lines where δ is decided, of the first and of the second distribution, and a verdict.

    The verdict is whether δ is far below what matters.
    """
    of, axis = sums.settings, sums.laplace.axis
    plain, wide, found = of.shares
    base = _across(first_tilts(sums.first, sums.second, of.influential, rng), axis)
    even = np.full(len(base) - 1, 1 / max(len(base) - 1, 1))
    tilts, shares = base, np.array([plain, *((wide + found) * even)])
    shares = shares / shares.sum()
    chosen, others, far_below = list[Floats](), list[Floats](), False
    for _ in range(of.rounds if len(axis) > 1 else 0):
        mixture = TiltedMixture(of=sums.first.sums, tilts=tilts, shares=shares)
        points = mixture.draw(of.pilot_lines, rng)
        along = sums.along(points, second_order=False)
        level, terms = along.enough(mixture.weights(points), epsilon, of.enough_lines)
        if not terms.any():
            break
        picked = rng.choice(len(terms), size=of.recentred, p=terms / terms.sum())
        node = along.deciding(level)[picked]
        chosen.append(_across(along.tilts[picked, node], axis))
        others.append(_across(along.other_tilts[picked, node], axis))
        ages = np.repeat(0.5 ** np.arange(len(chosen))[::-1], of.recentred)
        tilts = np.concatenate([base, *chosen])
        shares = np.concatenate([[plain], wide * even, found * ages / ages.sum()])
        shares = shares / shares.sum()
        mean, error = mean_and_error(terms)
        far_below = mean + of.deviations * error < of.far_below * matters
        if far_below and len(chosen) > 1:
            break
    there = TiltedMixture(of=sums.second.sums, tilts=np.concatenate([base, *others]), shares=shares)
    return TiltedMixture(of=sums.first.sums, tilts=tilts, shares=shares), there, far_below


def _across(tilts: Floats, axis: Floats) -> Floats:
    """Return tilts without their part along the line."""
    return np.asarray(tilts - np.outer(tilts @ axis / (axis @ axis), axis))
