r"""Sums over rows with Gaussian noise, exponentially tilted, and their saddlepoint densities (Daniels 1954, eq. 2.6).

With K(s) the logarithm of the moment generating function of F + Z, the density at x is

.. math:: q(x) = (2π)^{-m/2} |K''(ŝ)|^{-1/2} e^{K(ŝ) - ŝ^\top x} \, (1 + c_2(ŝ) + …), \qquad K'(ŝ) = x .

With a level λ for the number of rows of a stratum and a tilt s for their sum, each row is a coin, or with replacement
a Poisson number:

.. math:: κ(λ, s) = \sum_j \log(1 - f + f e^{λ + s^\top x_j}), \qquad κ(λ, s) = \frac k N \sum_j e^{λ + s^\top x_j}.

K is the least of κ(λ, s) − kλ over the levels of all strata, found along with the tilt, and without replacement the
density has a factor for the number of rows: :math:`\prod_s \sqrt{N f (1-f) / κ_{λλ}}`. The proof is in
`docs/proofs/delta_by_draws.md`. `law.cumulants` has the second-order term c₂.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from distpriv.framework.arrays import Floats
from distpriv.law.draws import RowKinds

__all__ = ["Pull", "Saddlepoints", "TiltedLaw", "TiltedStratum", "symmetric"]

Bools = NDArray[np.bool_]


@frozen(kw_only=True)
class SearchSettings:
    """How saddlepoints are searched for."""

    most_steps: int = 30
    """Newton steps after which there is no saddlepoint: the point is beyond what the rows can add up to."""
    full: float = 2.0
    """By how much a full Newton step may change the logarithm of a row's weight."""
    close: float = 1e-3
    """Newton steps, in standard deviations, that are left out; their effect to the second order is counted."""
    nowhere: float = -700.0
    """Logarithm of a density that is none; lines through the bulk still pass points far below e^-100, and need them."""
    leading: int = 4
    """So many saddlepoints along a line lead to the next."""
    many: int = 16
    """Statistics from which on the matrix of a Newton step is dear, and steps with a common matrix come first."""
    steps_nearer: int = 20
    """How many of these."""
    largest_odds: float = 500.0
    """Log-odds beyond which a coin is certain."""
    least_number: float = 1e-200
    """Where a tilt is so strong that it is certain which rows are drawn, their number varies by so little."""
    at_once: int = 4_000_000
    """Numbers in the largest array: 32 MB."""


SETTINGS = SearchSettings()


@frozen(kw_only=True, eq=False)
class Pull:
    """What a stratum adds at some tilts, one a row: derivatives of κ, and κ(λ, s) − kλ."""

    value: Floats
    level: Floats
    """λ."""
    surplus: Floats
    """∂κ/∂λ − k: the expected number is off by so much."""
    mean: Floats
    """∂κ/∂s."""
    number: Floats
    """∂²κ/∂λ²."""
    mixed: Floats
    """∂²κ/∂λ∂s."""
    square: Floats
    """∂²κ/∂s², its upper triangle."""

    @property
    def profile(self) -> Floats:
        """The second derivative in s of the least κ(λ, s) − kλ over λ; its upper triangle."""
        rows, columns = np.triu_indices(self.mixed.shape[1])
        scaled = self.mixed / self.number[:, np.newaxis]
        return np.asarray(self.square - scaled[:, rows] * self.mixed[:, columns])

    @property
    def slope(self) -> Floats:
        """The first derivative of that, to first order in the surplus."""
        return np.asarray(self.mean - self.mixed * (self.surplus / self.number)[:, np.newaxis])

    def next_level(self, step: Floats) -> Floats:
        """Return by how much λ changes with a step of the tilt."""
        return np.asarray(-(self.surplus + (self.mixed * step).sum(axis=1)) / self.number)


@frozen(kw_only=True, eq=False, slots=False)
class TiltedStratum(RowKinds):
    """Some of the rows of a stratum, drawn at random; rows are measured from their mean."""

    @cached_property
    def share(self) -> float:
        """Which part of the rows is drawn, or 0 with replacement."""
        return 0.0 if self.replacement else float(self.drawn / self.counts.sum())

    @cached_property
    def products(self) -> Floats:
        """How many rows have each of the values, times 1, every coordinate and every product of two."""
        rows, columns = np.triu_indices(self.values.shape[1])
        squares = self.values[:, rows] * self.values[:, columns]
        return np.column_stack([np.ones(len(self.values)), self.values, squares]) * self.counts[:, np.newaxis]

    @property
    def radius(self) -> float:
        """How far the farthest row is from the mean."""
        return float(np.sqrt((self.values**2).sum(axis=1).max()))

    @property
    def variance(self) -> float:
        """Of the number of rows that coins would choose, untilted."""
        return self.drawn * (1 - self.share)

    @property
    def number_term(self) -> float:
        """The second-order term c₂ of the number of rows that coins would choose, untilted."""
        odd, even = 1 - 2 * self.share, 1 - 6 * self.share * (1 - self.share)
        return (even / 8 - 5 * odd**2 / 24) / self.variance

    def mean_at(self, tilts: Floats) -> Floats:
        """Return the mean of the sum at tilts, one a row, with replacement."""
        chances = self._poisson(self.values @ tilts.T)[1]
        return np.asarray(chances.T @ self.products[:, 1 : 1 + tilts.shape[1]])

    def pull(self, tilts: Floats, levels: Floats | None) -> Pull:
        """Return what the stratum adds at these tilts; without levels, or with replacement, λ follows from the tilt."""
        exponents = self.values @ tilts.T
        if not self.share:
            levels, chances = self._poisson(exponents)
            weights, value = chances, -self.drawn * levels
        else:
            levels = self._poisson(exponents)[0] if levels is None else levels
            exponents += levels
            chances, logs = _coins(exponents, self.share)
            weights, value = chances * (1 - chances), self.counts @ logs - self.drawn * levels
        size = 1 + tilts.shape[1]
        second = self.products.T @ weights
        first = second[:size] if weights is chances else self.products[:, :size].T @ chances
        return Pull(
            value=value,
            level=levels,
            surplus=first[0] - self.drawn,
            mean=first[1:].T,
            number=np.maximum(second[0], SETTINGS.least_number),
            mixed=second[1:size].T,
            square=second[size:].T,
        )

    def _poisson(self, exponents: Floats) -> tuple[Floats, Floats]:
        """Return λ and the expected number of each row, with replacement."""
        highest = exponents.max(axis=0)
        chances = np.exp(exponents - highest)
        total = self.counts @ chances
        levels = -(highest + np.log(total / self.counts.sum()))
        return levels, chances * (self.drawn / total)

    def cumulants_at(self, tilts: Floats, levels: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the second to fourth cumulants of the number of each value, at tilts, one a row."""
        exponents = tilts @ self.values.T + levels[:, np.newaxis]
        if not self.share:
            mean = np.exp(exponents + np.log(self.drawn / self.counts.sum())) * self.counts
            return mean, mean, mean
        chances = _coins(exponents, self.share)[0]
        second = chances * (1 - chances) * self.counts
        return second, second * (1 - 2 * chances), second * (1 - 6 * chances * (1 - chances))


def _coins(exponents: Floats, share: float) -> tuple[Floats, Floats]:
    """Return tilted chances, and log(1 − f + f e^η); the exponents are written over, as there are many."""
    odds, largest = exponents, SETTINGS.largest_odds
    odds += np.log(share) - np.log1p(-share)
    surely = None if odds.size == 0 or odds.max() <= largest else np.maximum(odds - largest, 0.0)
    powers = np.exp(odds if surely is None else np.minimum(odds, largest), out=odds)
    logs = np.log1p(powers)
    logs += np.log1p(-share) if surely is None else surely + np.log1p(-share)
    powers /= 1 + powers
    return powers, logs


def symmetric(upper: Floats) -> Floats:
    """Return symmetric matrices from their upper triangles, one a row.

    >>> symmetric(np.array([[1.0, 2.0, 3.0]])).tolist()
    [[[1.0, 2.0], [2.0, 3.0]]]
    """
    size = math.isqrt(2 * upper.shape[1])
    place = np.zeros((size, size), dtype=np.intp)
    place[np.triu_indices(size)] = np.arange(upper.shape[1])
    return upper[:, np.maximum(place, place.T)]


@frozen(kw_only=True, eq=False)
class Saddlepoints:
    """Where K' is a point, for many points; what is found of q there."""

    tilts: Floats
    levels: tuple[Floats, ...]
    log_densities: Floats
    """log q; −∞ where there is no saddlepoint."""

    @property
    def known(self) -> Bools:
        """Which points have a saddlepoint."""
        return np.isfinite(self.log_densities)


@frozen(kw_only=True, eq=False)
class Step:
    """A Newton step at many points."""

    sizes: Floats
    """The logarithm of the determinant of 2πK''."""
    levels: Sequence[Floats]
    squares: Floats
    """Of the length of the step, in standard deviations."""
    heights: Floats
    """K(s) − sᵀx, which is least at the saddlepoint."""
    numbers: Floats
    """The logarithm of the variances of the numbers of rows, over what they are without a tilt; all strata together."""
    moves: Floats
    """Of the tilts."""
    rises: Sequence[Floats]
    """Of the levels."""

    def log_densities(self, which: Bools) -> Floats:
        """Return log q at some of the points, with what the step would still change."""
        return np.asarray(self.heights[which] - (self.sizes[which] + self.numbers[which] + self.squares[which]) / 2)


@frozen(kw_only=True, eq=False, slots=False)
class TiltedLaw:
    """The distribution of a sum over rows of several strata, with Gaussian noise, under tilts."""

    strata: tuple[TiltedStratum, ...]
    mean: Floats
    """What is added for certain."""
    noise: Floats
    """The covariance of what is Gaussian."""

    @classmethod
    def of(cls, strata: Sequence[TiltedStratum], mean: Floats, noise: Floats) -> Self:
        """Return the law of these strata with Gaussian noise of a covariance; what does not vary is in the mean."""
        return cls(strata=tuple(stratum for stratum in strata if stratum.variance > 0), mean=mean, noise=noise)

    @cached_property
    def radius(self) -> float:
        """How far the farthest row is from the mean of its stratum."""
        return max((stratum.radius for stratum in self.strata), default=0.0)

    @cached_property
    def covariance(self) -> Floats:
        """K'' without a tilt."""
        at = np.zeros((1, len(self.mean)))
        return np.asarray(self.covariances(at, [np.zeros(1) for _ in self.strata])[0])

    def log_moments(self, tilts: Floats) -> Floats:
        """Return K(θ) for each tilt, one a row."""
        gaussian = tilts @ self.mean + np.einsum("ki,ij,kj->k", tilts, self.noise, tilts) / 2
        return np.asarray(gaussian + sum(stratum.log_moments(tilts) for stratum in self.strata))

    def draw(self, tilt: Floats, draws: int, rng: np.random.Generator) -> Floats:
        """Draw from the distribution tilted by θ, one draw a row."""
        variances, axes = np.linalg.eigh(self.noise)
        normal = rng.standard_normal((draws, len(variances))) * np.sqrt(np.maximum(variances, 0.0))
        gaussian = self.mean + self.noise @ tilt + normal @ axes.T
        return np.asarray(gaussian + sum(stratum.draw(tilt, draws, rng) for stratum in self.strata))

    def normal_tilts(self, points: Floats) -> Floats:
        """Return where saddlepoints would be if the distribution were normal."""
        return np.asarray((points - self.mean) @ np.linalg.inv(self.covariance))

    def covariances(self, tilts: Floats, levels: Sequence[Floats]) -> Floats:
        """Return K'' at tilts, one a row."""
        pulls = [of.pull(tilts, level) for of, level in zip(self.strata, levels, strict=True)]
        return self._covariances(pulls, len(tilts))

    def _covariances(self, pulls: Sequence[Pull], points: int) -> Floats:
        upper = np.tile(self.noise[np.triu_indices(len(self.noise))], (points, 1))
        for pull in pulls:
            upper += pull.profile
        return symmetric(upper)

    def saddlepoints(self, points: Floats, tilts: Floats, levels: Sequence[Floats] | None = None) -> Saddlepoints:
        """Return the saddlepoint of every point, sought from these tilts, and levels, by damped Newton steps."""
        chunk = max(1, SETTINGS.at_once // (len(self.mean) + 1) ** 2)
        parts = [
            self._saddlepoints(
                points[start : start + chunk],
                tilts[start : start + chunk],
                None if levels is None else [level[start : start + chunk] for level in levels],
            )
            for start in range(0, len(points), chunk)
        ]
        if len(parts) == 1:
            return parts[0]
        return Saddlepoints(
            tilts=np.concatenate([part.tilts for part in parts]) if parts else tilts,
            levels=tuple(np.concatenate(level) for level in zip(*(part.levels for part in parts), strict=True)),
            log_densities=np.concatenate([part.log_densities for part in parts]) if parts else np.zeros(0),
        )

    def _saddlepoints(self, points: Floats, tilts: Floats, levels: Sequence[Floats] | None) -> Saddlepoints:
        known = levels is not None
        tilts, levels = tilts.copy(), [np.zeros(len(points)) for _ in self.strata] if levels is None else list(levels)
        logs = np.full(len(points), -np.inf)
        if len(self.mean) >= SETTINGS.many and not any(stratum.share for stratum in self.strata):
            tilts = self._approached(points, tilts)
        left = np.arange(len(points))
        for round_ in range(SETTINGS.most_steps):
            given = [level[left] for level in levels] if round_ or known else None
            step = self._step(points[left], tilts[left], given)
            for level, reached in zip(levels, step.levels, strict=True):
                level[left] = reached
            done = step.squares < SETTINGS.close**2
            logs[left[done]] = step.log_densities(done)
            further = ~done & (step.heights > SETTINGS.nowhere)
            left = left[further]
            if not len(left):
                break
            tilts[left] += step.moves[further]
            for level, move in zip(levels, step.rises, strict=True):
                level[left] += move[further]
        return Saddlepoints(tilts=tilts, levels=tuple(levels), log_densities=logs)

    def _approached(self, points: Floats, tilts: Floats) -> Floats:
        """Return tilts nearer to the saddlepoints, by steps with the untilted K'', one matrix for all points.

        The length of a step is what the last one tells of the curvature (Barzilai & Borwein 1988, eq. 5).
        """
        inverse, best = np.linalg.inv(self.covariance), tilts.copy()
        nearest, left, at = np.full(len(points), np.inf), np.arange(len(points)), tilts
        before: tuple[Floats, Floats] | None = None
        for _ in range(SETTINGS.steps_nearer):
            missing = points[left] - self.mean - at @ self.noise
            for stratum in self.strata:
                missing -= stratum.mean_at(at)
            moves = missing @ inverse
            squares = (moves * missing).sum(axis=1)
            nearer = squares < nearest[left]
            best[left[nearer]], nearest[left[nearer]] = at[nearer], squares[nearer]
            lengths = np.ones(len(left))
            if before is not None:
                last, gained = before[0], before[1] - missing
                curved = (last * gained).sum(axis=1)
                lengths = np.clip((last @ self.covariance * last).sum(axis=1) / np.maximum(curved, 1e-300), 0.1, 2.0)
            further = squares > (SETTINGS.close / 2) ** 2
            if not further.any():
                break
            step = (moves * lengths[:, np.newaxis])[further]
            left, at, before = left[further], at[further] + step, (step, missing[further])
        return best

    def saddlepoints_along(self, lines: Sequence[Floats], tilts: Sequence[Floats]) -> list[Saddlepoints]:
        """Return the saddlepoints of points that move along lines by even steps, each sought from where others lead.

        As long as no others lead there they are sought from the given tilts.
        """
        done: dict[int, Saddlepoints] = {}
        for place in sorted(range(len(lines)), key=lambda place: abs(2 * place - len(lines) + 1)):
            near = sorted(done, key=lambda other: abs(other - place))[: SETTINGS.leading]
            if len(near) < SETTINGS.leading:
                done[place] = self.saddlepoints(lines[place], tilts[place])
                continue
            weights = _leading_to(place, near)
            known = np.logical_and.reduce([done[other].known for other in near])
            led = sum(weight * done[other].tilts for weight, other in zip(weights, near, strict=True))
            levels = [
                np.where(known, sum(weight * level for weight, level in zip(weights, several, strict=True)), 0.0)
                for several in zip(*(done[other].levels for other in near), strict=True)
            ]
            done[place] = self.saddlepoints(lines[place], np.where(known[:, np.newaxis], led, tilts[place]), levels)
        return [done[place] for place in range(len(lines))]

    def _step(self, points: Floats, tilts: Floats, levels: Sequence[Floats] | None) -> "Step":
        """Return a Newton step, short enough that the rows' weights do not change beyond what they tell of it."""
        pulls = [
            stratum.pull(tilts, None if levels is None else levels[which]) for which, stratum in enumerate(self.strata)
        ]
        covariances = self._covariances(pulls, len(points))
        missing = points - sum((pull.slope for pull in pulls), self.mean + tilts @ self.noise)
        moves, sizes = _solved(covariances, missing)
        rises = [pull.next_level(moves) for pull in pulls]
        squares = sum((pull.surplus**2 / pull.number for pull in pulls), (moves * missing).sum(axis=1))
        heights = (tilts * (self.mean + tilts @ self.noise / 2 - points)).sum(axis=1)
        heights = sum((pull.value for pull in pulls), heights)
        far = self.radius * np.linalg.norm(moves, axis=1) + np.max(np.abs([*rises, np.zeros(len(points))]), axis=0)
        over = np.maximum(far, SETTINGS.full)
        damping = SETTINGS.full * np.log1p(over) / (math.log1p(SETTINGS.full) * over)
        numbers = np.zeros(len(points))
        for stratum, pull in zip(self.strata, pulls, strict=True):
            numbers += np.log(pull.number / stratum.variance)
        return Step(
            sizes=sizes + points.shape[1] * math.log(2 * math.pi),
            levels=[pull.level for pull in pulls],
            squares=squares,
            heights=heights,
            numbers=numbers,
            moves=moves * damping[:, np.newaxis],
            rises=[rise * damping for rise in rises],
        )


def _solved(matrices: Floats, vectors: Floats) -> tuple[Floats, Floats]:
    """Return the solutions of systems with positive matrices, and the logarithms of their determinants."""
    if vectors.shape[1] < SETTINGS.many:
        solutions = np.linalg.solve(matrices, vectors[:, :, np.newaxis])[:, :, 0]
        return np.asarray(solutions, dtype=np.float64), np.asarray(np.linalg.slogdet(matrices)[1], dtype=np.float64)
    moves, sizes = np.empty(vectors.shape), np.empty(len(vectors))
    for place, (matrix, vector) in enumerate(zip(matrices, vectors, strict=True)):
        factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        moves[place] = cho_solve(factor, vector, check_finite=False)
        sizes[place] = 2 * np.log(np.diag(factor[0])).sum()
    return moves, sizes


def _leading_to(place: int, near: Sequence[int]) -> list[float]:
    """Return how much each of several places counts in what a polynomial through them is at another.

    >>> _leading_to(3, [2, 1, 0])
    [3.0, -3.0, 1.0]
    """
    return [math.prod((place - other) / (one - other) for other in near if other != one) for one in near]
