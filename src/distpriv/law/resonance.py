r"""Where the law of the statistics is not smooth: peaks of its characteristic function away from 0.

Rows near a lattice, however jittered, make the statistics cluster, and where a cluster lies may be the secret. Then
:math:`|\varphi_F(t)|` has a peak at some t far from 0, and noise of covariance S leaves of it a ripple of relative
height :math:`|\varphi_F(t)|\, e^{-t^\top C t / 2}` with :math:`C = Σ (Σ + S)^{-1} S`
(`docs/proofs/delta_by_draws.md`). The transform of one row has a lobe for every unit of volume, in units of the rows'
own deviations, so that uniform draws find the lobes and an ascent their tops.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final, Self

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from distpriv.distances.gaussian import whitening
from distpriv.framework.arrays import Floats, correlations
from distpriv.modelling.row_laws import RowLaws

__all__ = [
    "Peak",
    "SomeRows",
    "Spectrum",
    "distinct_peaks",
    "peak_at",
    "repeats_on_lattice_only",
    "spectrum",
    "unknown_covariance",
]


@frozen(kw_only=True)
class Settings:
    """How peaks are searched for."""

    least: float = 1e-4
    """A ripple of this height is looked for; a lower one changes δ by less than its own last digits."""
    main_lobe: float = 25.0
    """tᵀΣt up to which the transform of a normal density is not negligible: the shape, not the ripple."""
    basin: float = 0.8
    """From how far, in deviations of a row, the ascent finds the top of a lobe."""
    missed: float = 1e-4
    """The probability that no draw falls into the basin of a peak, unless that takes more than `most_draws`."""
    most_draws: int = 60_000
    """How many draws a search can afford."""
    ranking_rows: int = 96
    """Rows of each stratum by which draws are ranked."""
    climbing_rows: int = 1024
    """Rows of each stratum by which the best draws climb."""
    climbers: int = 300
    """How many of the draws climb."""
    steps: int = 24
    """Steps of an ascent."""
    longest_step: float = 2.0
    """The longest step, in deviations of the statistics, unless the share of the basin below is longer."""
    share_of_basin: float = 0.25
    arrived: float = 1e-3
    """A step as short as this, in deviations of the statistics, is the last."""
    nothing: float = 1e-8
    """Below that a mean of cosines is rounding."""
    seed: int = 17


SETTINGS: Final = Settings()

Singles = NDArray[np.float32]


@frozen(kw_only=True, eq=False)
class Peak:
    """A frequency at which the statistics repeat, and how sharply they do in every scenario."""

    frequency: Floats
    """t: the combination tᵀF lies near multiples of 2π, shifted by some offset."""
    heights: Mapping[str, float]
    """|φ_F(t)| by scenario: 1 where tᵀF lies on them exactly."""

    def ripple(self, left: Floats, scenario: str) -> float:
        """Return the height of the ripple that noise leaves, with C the covariance of what is unknown of F."""
        return self.heights[scenario] * math.exp(-float(self.frequency @ left @ self.frequency) / 2)


@frozen(kw_only=True, eq=False)
class Spectrum:
    """All peaks that were found, and how likely one was missed."""

    peaks: tuple[Peak, ...]
    missed: float
    """The chance that the search passed by a peak, if there is one more."""


def spectrum(rows: RowLaws, covariances: Mapping[str, Floats], floor: Floats) -> Spectrum:
    """Search for peaks that noise of a covariance of `floor`, or more, may leave standing."""
    frequencies: list[Floats] = []
    missed = 0.0
    for name in extreme_scenarios(rows):
        peaks, chance = PeakSearch.of(rows, name, covariances[name], floor).peaks()
        frequencies += peaks
        missed = max(missed, chance)
    every = [peak_at(rows, t) for t in frequencies]
    return Spectrum(peaks=distinct_peaks(every, np.mean(list(covariances.values()), axis=0)), missed=missed)


def extreme_scenarios(rows: RowLaws) -> list[str]:
    """Return the scenarios with the most and the fewest rows of some stratum, among those that draw from the same.

    The logarithm of a ripple is a sum over strata of rows times what one row has: what stands anywhere stands at an
    end, where most rows are of the stratum in which it is highest.
    """
    groups: dict[tuple[int, ...], list[str]] = {}
    for name, sizes in rows.drawn.items():
        groups.setdefault(tuple(sorted(sizes)), []).append(name)
    ends = (
        end(names, key=lambda name: rows.drawn[name][stratum])
        for strata, names in groups.items()
        for stratum in strata
        for end in (min, max)
    )
    return list(dict.fromkeys(ends))


@frozen(kw_only=True, eq=False)
class SomeRows:
    """Rows that stand for all rows of a stratum, each for its share of them."""

    values: Floats
    shares: Floats

    @classmethod
    def of(cls, values: Floats, count: int, rng: np.random.Generator, weights: Floats | None = None) -> Self:
        r"""Return a sample of the rows, half of them drawn evenly and half by how much they vary.

        One row in a thousand may carry all that varies, and even draws would see none of these. A row is drawn with a
        chance of :math:`\frac12 (1/N + |x|^2/\sum |x|^2)`, and its share is one over that: sums over all rows keep
        their means, and no row stands for more than two rows of an even draw. Rows that are due more than once are
        all there, each for itself. With weights, 1/N is the weight of a row, and what it varies by counts as often.
        """
        even = np.full(len(values), 1 / len(values)) if weights is None else weights
        if len(values) <= count:
            return cls(values=values, shares=even)
        squares = np.einsum("ij,ij->i", values, values) * (even / even.max())
        due = (even + squares / max(float(squares.sum()), 1e-300)) / 2
        expected = _drawn_at_most_once(due, count)
        order = rng.permutation(len(values))
        turns = np.floor(np.cumsum(expected[order]) + rng.random())
        drawn = np.sort(order[np.diff(turns, prepend=0.0) > 0])
        shares = even[drawn] / expected[drawn]
        return cls(values=values[drawn], shares=shares / shares.sum())

    def transform(self, places: Floats) -> tuple[Singles, Singles, Singles, Singles]:
        """Return the cosines and sines of uᵀx for all places u and rows x, and their means over the stratum."""
        cosines, sines = _waves(places, self.values)
        shares = self.shares.astype(np.float32)
        return cosines, sines, cosines @ shares, sines @ shares


def _drawn_at_most_once(due: Floats, count: int) -> Floats:
    """Return how often rows are drawn, in proportion to what is due and none more than once."""
    certain = np.zeros(len(due), dtype=bool)
    while True:
        left = max(count - int(certain.sum()), 0)
        expected = np.where(certain, 1.0, due * left / max(float(due[~certain].sum()), 1e-300))
        more = (expected >= 1) & ~certain
        if not more.any():
            return expected
        certain |= more


@frozen(kw_only=True, eq=False)
class PeakSearch:
    """The search in coordinates in which the covariance of the statistics is the identity."""

    axes: Floats
    """From these coordinates to frequencies: t = axes · u."""
    strata: tuple[SomeRows, ...]
    """Rows of each stratum by which draws climb, in these coordinates, about their mean."""
    ranking: tuple[SomeRows, ...]
    """Fewer of them, by which draws are ranked."""
    weights: Floats
    """How many independent rows of each stratum a dataset is worth."""
    left: Floats
    """C: the covariance of what is not known of the statistics once noise is added."""
    rng: np.random.Generator

    @classmethod
    def of(cls, rows: RowLaws, name: str, covariance: Floats, floor: Floats) -> "PeakSearch":
        """Return the search in one scenario, for noise of no less than a covariance of `floor`."""
        axes = whitening(covariance).T
        rng = np.random.default_rng(SETTINGS.seed)
        strata, ranking, weights = [], [], []
        for stratum, size in sorted(rows.drawn[name].items()):
            weight = size if rows.replacement else size * (1 - size / rows.rows_of(stratum))
            if weight > 0:
                own = rows.strata[stratum]
                values = own.about_mean @ axes
                strata.append(SomeRows.of(values, SETTINGS.climbing_rows, rng, own.weights))
                ranking.append(SomeRows.of(values, SETTINGS.ranking_rows, rng, own.weights))
                weights.append(weight)
        noise = axes.T @ floor @ axes
        left = noise @ np.linalg.inv(np.eye(len(noise)) + noise)
        return cls(
            axes=axes,
            strata=tuple(strata),
            ranking=tuple(ranking),
            weights=np.array(weights),
            left=(left + left.T) / 2,
            rng=rng,
        )

    def peaks(self) -> tuple[list[Floats], float]:
        """Return the frequencies of peaks, and the chance that one was missed."""
        size = self.axes.shape[1]
        if size == 0 or not self.strata:
            return [], 0.0
        values, vectors = np.linalg.eigh(self.left)
        radii = np.sqrt(2 * math.log(1 / SETTINGS.least) / np.maximum(values, 1e-12))
        lobes = radii * self.row_deviations(vectors) / SETTINGS.basin
        draws, missed = draws_for(float(np.log(np.maximum(lobes, 1.0)).sum()), size)
        directions = self.rng.normal(size=(draws, size))
        lengths = self.rng.random(draws) ** (1 / size)
        places = directions / np.linalg.norm(directions, axis=1, keepdims=True) * lengths[:, np.newaxis]
        return self.tops((places * radii) @ vectors.T), missed

    def tops(self, starts: Floats) -> list[Floats]:
        """Return the frequencies of peaks that are climbed to from the best of some places.

        The best places have the highest tops ahead of them, if lobes are normal densities: most of a wide lobe is low.
        """
        starts = starts[(starts**2).sum(axis=1) > SETTINGS.main_lobe]
        heights, gradient = self._slopes(starts, self.ranking)
        moves = gradient @ self._newton
        ahead = heights + (gradient * moves).sum(axis=1) / 2
        ahead[((starts + moves) ** 2).sum(axis=1) <= SETTINGS.main_lobe] = -np.inf
        best = starts[np.argsort(-ahead)[: SETTINGS.climbers]]
        tops, reached = self._climbed(best)
        high = tops[((tops**2).sum(axis=1) > SETTINGS.main_lobe) & (reached > math.log(SETTINGS.least / 4))]
        return list(high @ self.axes.T)

    def row_deviations(self, directions: Floats) -> Floats:
        """Return how far rows vary along directions, one a column, in the stratum in which they vary most.

        Where few rows carry all that varies it is they that count: their mean square, weighted by itself, is
        E x⁴/E x², three times the variance for a normal law.
        """
        squares = np.zeros(directions.shape[1])
        for rows in self.strata:
            along = np.square(rows.values @ directions)
            variances = rows.shares @ along
            carried = rows.shares @ np.square(along) / (3 * np.maximum(variances, 1e-300))
            squares = np.maximum(squares, np.maximum(variances, carried))
        return np.asarray(np.sqrt(squares))

    @property
    def _newton(self) -> Floats:
        """Newton's step for the lobe of a normal density, from its gradient."""
        return np.asarray(np.linalg.inv(np.eye(len(self.left)) + self.left))

    def _slopes(self, places: Floats, strata: tuple[SomeRows, ...]) -> tuple[Floats, Floats]:
        """Return the logarithm of the ripple at places, and its gradient: (ℑφ · E[x cos] − ℜφ · E[x sin]) / |φ|²."""
        heights, gradient = -((places @ self.left) * places).sum(axis=1) / 2, -places @ self.left
        for rows, weight in zip(strata, self.weights, strict=True):
            cosines, sines, *means = rows.transform(places)
            real, imaginary = (mean[:, np.newaxis].astype(np.float64) for mean in means)
            square = np.maximum(real**2 + imaginary**2, SETTINGS.nothing**2)
            some = (rows.values * rows.shares[:, np.newaxis]).astype(np.float32)
            heights += weight * np.log(square[:, 0]) / 2
            gradient += weight * (imaginary * (cosines @ some) - real * (sines @ some)) / square
        return np.asarray(heights), np.asarray(gradient)

    def _climbed(self, places: Floats) -> tuple[Floats, Floats]:
        """Return where an ascent by Newton's step for a normal density ends, and how high.

        A basin may be many deviations wide: steps are so long that all of them together cross it.
        """
        places, step = places.copy(), self._newton
        basin = SETTINGS.basin / np.maximum(self.row_deviations(np.eye(places.shape[1])).min(), 1e-300)
        longest = max(SETTINGS.longest_step, SETTINGS.share_of_basin * basin)
        heights, gradient = self._slopes(places, self.strata)
        scale = np.ones(len(places))
        for _ in range(SETTINGS.steps):
            moves = gradient @ step
            lengths = np.linalg.norm(moves, axis=1)
            moves *= (np.minimum(1.0, longest / np.maximum(lengths, 1e-300)) * scale)[:, np.newaxis]
            climbing = np.flatnonzero(lengths * scale > SETTINGS.arrived)
            if not len(climbing):
                break
            tried = places[climbing] + moves[climbing]
            reached, there = self._slopes(tried, self.strata)
            better = reached > heights[climbing]
            ahead = climbing[better]
            places[ahead], heights[ahead], gradient[ahead] = tried[better], reached[better], there[better]
            scale[climbing] = np.where(better, np.minimum(1.0, 2 * scale[climbing]), scale[climbing] / 3)
        return places, heights


def _waves(places: Floats, rows: Floats) -> tuple[Singles, Singles]:
    """Return the cosines and sines of tᵀx for all places t and rows x, in single precision: a search needs no more."""
    turns = places @ (rows.T / (2 * math.pi))
    turns -= np.rint(turns)
    angles = turns.astype(np.float32) * np.float32(2 * math.pi)
    return np.cos(angles), np.sin(angles)


def unknown_covariance(covariance: Floats, noise: Floats) -> Floats:
    """Return C = Σ (Σ + S)⁻¹ S, the covariance of what is not known of F once F + Z is seen."""
    units, together = correlations(covariance + noise)
    scale = np.outer(units, units)
    left = (covariance / scale) @ np.linalg.pinv(together, rcond=1e-12, hermitian=True) @ (noise / scale) * scale
    return np.asarray((left + left.T) / 2)


def distinct_peaks(peaks: Sequence[Peak], covariance: Floats) -> tuple[Peak, ...]:
    """Return peaks that are no other's mirror image and on no other's lobe, the highest first."""
    distinct: list[Peak] = []
    for peak in sorted(peaks, key=lambda peak: -max(peak.heights.values())):
        t = peak.frequency
        others = [other.frequency for other in distinct]
        distances = (min((t - s) @ covariance @ (t - s), (t + s) @ covariance @ (t + s)) for s in others)
        if all(distance > 1.0 for distance in distances):
            distinct.append(peak)
    return tuple(distinct)


def peak_at(rows: RowLaws, frequency: Floats) -> Peak:
    """Return the peak at a frequency, with all rows."""
    heights = {name: abs(mean) for name, mean in rows.phases(frequency).items()}
    return Peak(frequency=frequency, heights=heights)


def draws_for(log_lobes: float, size: int) -> tuple[int, float]:
    """Return how many points to draw among lobes, given the logarithm of their number, and the chance to miss one."""
    draws = int(
        min(SETTINGS.most_draws, math.ceil(math.log(1 / SETTINGS.missed) * math.exp(min(log_lobes, 40.0)))) + 8 * size
    )
    return draws, math.exp(-draws * math.exp(-log_lobes))


def repeats_on_lattice_only(rows: RowLaws, steps: Floats, least_in_common: float = 70.0) -> bool:
    r"""Tell whether it is proved that the statistics repeat by their steps, and by nothing else.

    Of rows each of which counts in one cell of a table, with :math:`θ_c` the frequency of cell c and :math:`π_{sc}` its
    share of stratum s, :math:`|φ_F| = \prod_s |\sum_c π_{sc} e^{iθ_c}|^{k_s}`. If any two strata are expected to have
    70 records in the same cells, each cell by the stratum with fewer, its only local maxima that are high enough to
    matter are those at which all :math:`θ_c` are equal up to multiples of 2π (`docs/proofs/delta_by_draws.md`): these
    are the lattice's, which are counted without a search.

    >>> counts = np.eye(3)[[0, 0, 1, 2]]
    >>> rows = RowLaws(strata=(counts, counts[1:]), drawn={"a": {0: 200, 1: 100}}, replacement=True)
    >>> repeats_on_lattice_only(rows, np.ones(3)), repeats_on_lattice_only(rows, 2 * np.ones(3))
    (True, False)
    """
    if not (steps > 0).all():
        return False
    shares = [_shares_of_cells(stratum.values[stratum.kinds[0]] / steps, stratum.kinds[1]) for stratum in rows.strata]
    known = [share for share in shares if share is not None]
    if len(known) < len(shares):
        return False
    return all(
        float(np.minimum(one, other).sum()) >= least_in_common
        for sizes in rows.drawn.values()
        for one, other in combinations([_records(rows, s, size) * known[s] for s, size in sizes.items() if size], 2)
        if one.any() and other.any()
    )


def _shares_of_cells(values: Floats, counts: Floats) -> Floats | None:
    """Return the share of every cell, and of records in none; None where a row counts in several, or in part."""
    inside = np.abs(values) > 1e-9
    if (np.abs(values[inside] - 1) > 1e-9).any() or (inside.sum(axis=1) > 1).any():
        return None
    cells = np.column_stack([inside, ~inside.any(axis=1)])
    return np.asarray(counts @ cells / max(float(counts.sum()), 1e-300))


def _records(rows: RowLaws, stratum: int, size: int) -> float:
    """Return how many independent rows of a stratum a dataset is worth."""
    return size if rows.replacement else size * (1 - size / rows.rows_of(stratum))
