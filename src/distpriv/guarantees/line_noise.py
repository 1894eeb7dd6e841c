r"""δ of Gaussian scenarios under Laplace noise along one line, and Gaussian noise beside it.

`docs/proofs/certified_laplace.md` has the proof. The release is :math:`μ_θ + W + a w`: the noise T along w and what is
Gaussian along it are in a, and W is Gaussian and independent of a. Written by the first scenario's own W, the second
has the density of the first with f_j(a + b) in the place of f_i(a), times :math:`e^{-κ}`, where b is linear and κ
quadratic in W. Rounding (b, κ) at random to a lattice, by a normal density around it, changes H_ε by no more than an
error that is counted, so that

.. math:: H_ε ≤ \sum_{k, n} p(k, n) \sum_l τ (g_i(l) - e^{ε - κ_n} g_j(l + k))_+,

p the law of (b, κ) on the lattice, one Fourier series, and g the densities of a, τ the step along the line.
"""

import math
import sys
from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray
from scipy.fft import fft2, next_fast_len

from distpriv.framework.arrays import Floats, array_field, completed
from distpriv.framework.scenarios import Pair
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import GaussianNoise, Noise
from distpriv.noise.lengths import laplace_log_density

__all__ = ["COARSE", "FINE", "ROUGH", "Fineness", "LineNoise", "LinePair", "LineSum"]

NORMAL_REACH = 7.04
"""A standard normal number is beyond that, on one side, with a probability of no more than 1e-12."""


@frozen(kw_only=True)
class Fineness:
    """How fine lattices are, and what they leave out."""

    per_spread: float
    """Bell curves that go into the deviation of κ."""
    per_own: float
    """Steps that go into the least deviation along the line."""
    most: int
    """About how many steps the line has, unless that leaves too few for its deviation."""
    per_move: float
    """Steps of b that go into it."""
    least_mass: float
    """Frequencies at which a transform is below this are left out."""
    outside: float = 1e-12
    """The probability of noise that is left outside of the lattice."""
    is_bound: bool = True
    """Whether sums are bounds: otherwise nothing is taken off the deviations, and they are only close."""
    bell: float = 1.1
    """The standard deviation of the normal density by which numbers are rounded to a lattice, in steps of it."""
    least_spread: float = 1e-7
    """κ that varies less is given a lattice as if it varied so much."""
    most_points: int = 2**22
    """How many points the lattice of (b, κ) has at most, unless that leaves fewer than 256 for κ."""
    most_rows: int = 2048
    """About how many steps of b a lattice has at most."""
    most_steps: int = 200_000
    """Noise that takes more steps of what is Gaussian along the line is too wide for a lattice."""
    most_uneven: float = 1e-3
    """Lattices that are less even than that are of no use."""
    largest_condition: float = 1e9
    """Matrices of correlations that are worse conditioned leave κ unknown."""


FINE = Fineness(per_spread=25, per_own=40, most=6000, per_move=200, least_mass=1e-17)
"""Within a per cent of δ."""

COARSE = Fineness(per_spread=12, per_own=12, most=1500, per_move=100, least_mass=1e-16)
"""A bound that is good enough where δ is far below what is asked for."""

ROUGH = Fineness(per_spread=8, per_own=8, most=600, per_move=80, least_mass=1e-8, outside=1e-7, is_bound=False)
"""An estimate, for searches."""


@frozen(kw_only=True, eq=False, slots=False)
class LineNoise:
    """Laplace noise of a scale along an axis, and Gaussian noise beside it."""

    axis: Floats
    scale: float
    gaussian: GaussianNoise

    @classmethod
    def of(cls, noise: Noise) -> Self | None:
        """Return noise as such; None where more than one axis has Laplace noise, or none has."""
        line = noise.line
        return None if line is None else cls(axis=line[0], scale=line[1], gaussian=noise.gaussian)

    def sums(self, model: QueryModel, pair: Pair, epsilon: float, fineness: Fineness) -> "LineSum | None":
        """Return the lattices of a pair for this noise and narrower noise; None where there are none."""
        first, second = (model.distributions[name].covariance + self.gaussian.covariance for name in pair)
        reduced = LinePair.of(model.mean_shift(pair), first, second, self.axis, fineness.largest_condition)
        return None if reduced is None else LineSum.of(reduced, self.scale, epsilon, fineness)

    def delta(self, model: QueryModel, pair: Pair, epsilon: float, fineness: Fineness = FINE) -> float:
        """Return a bound on H_ε of a pair, or an estimate; 1 where there is none."""
        if self._carries(model, pair, epsilon):
            return 0.0
        sums = self.sums(model, pair, epsilon, fineness)
        return 1.0 if sums is None else sums.delta(self.scale)

    def delta_estimates(self, model: QueryModel, pairs: Sequence[Pair], epsilon: float) -> Floats:
        """Return about what δ is, for some pairs."""
        return np.array([self.delta(model, pair, epsilon, ROUGH) for pair in pairs])

    def _carries(self, model: QueryModel, pair: Pair, epsilon: float) -> bool:
        """Tell whether the scenarios differ by a shift along the line that Laplace noise hides at ε, and nothing else.

        Then the ratio of their densities is at most e^ε everywhere. A part of the shift off the line is none if it is
        rounding, 10⁻¹⁴ of what it was computed from, and below 10⁻¹⁰ deviations of the statistics.
        """
        first, second = (model.distributions[name].covariance for name in pair)
        if not np.array_equal(first, second):
            return False
        shift = model.mean_shift(pair)
        along = float(self.axis @ shift)
        off = np.abs(shift - along * self.axis)
        parallel = bool((off <= 1e-14 * (np.abs(shift) + np.abs(along * self.axis))).all())
        hidden = bool((off <= 1e-10 * np.sqrt(np.diag(first + self.gaussian.covariance))).all())
        return parallel and hidden and abs(along) <= self.scale * epsilon * (1 + 1e-12)


@frozen(kw_only=True)
class LinePair:
    """κ = `base` + Σ (`squares`_k g_k² + `slopes`_k g_k) and b = `shift` + Σ `moves`_k g_k, the g_k standard normal."""

    first: float = field()
    """s_i, the deviation of the Gaussian part of a in the first scenario."""
    second: float = field()
    shift: float = field()
    moves: Floats = array_field()
    squares: Floats = array_field()
    slopes: Floats = array_field()
    error: float = field()
    """How far κ may be off by rounding: 64 units in the last place, times the condition."""

    @classmethod
    def of(
        cls,
        shift: Floats,
        first: Floats,
        second: Floats,
        axis: Floats,
        largest_condition: float = FINE.largest_condition,
    ) -> Self | None:
        """Return the pair; None where rounding would leave too little of it.

        The covariances A_i and A_j are those of the scenarios with the Gaussian part of the noise, the axis is w.
        """
        units = np.sqrt(np.diag(first))
        if not (units > 0).all():
            return None
        correlations = [matrix / np.outer(units, units) for matrix in (first, second)]
        values = [np.linalg.eigvalsh(matrix) for matrix in correlations]
        condition = max(float(of[-1] / of[0]) if of[0] > 0 else math.inf for of in values)
        if condition > largest_condition:
            return None
        factor = np.linalg.cholesky(correlations[0])
        w, d = np.linalg.solve(factor, np.column_stack([axis, shift]) / units[:, np.newaxis]).T
        half = np.linalg.solve(factor, correlations[1])
        precision = np.linalg.inv(np.linalg.solve(factor, half.T))
        along = precision @ w
        own = 1 / float(w @ along)
        across = precision - own * np.outer(along, along)
        beside = completed(np.asarray(w / np.linalg.norm(w))[:, np.newaxis])[:, 1:]
        ratios, turned = np.linalg.eigh(beside.T @ across @ beside)
        beside = beside @ turned
        return cls(
            first=1 / float(np.linalg.norm(w)),
            second=math.sqrt(own),
            shift=own * float(along @ d),
            moves=own * (beside.T @ along),
            squares=(ratios - 1) / 2,
            slopes=beside.T @ across @ d,
            error=64 * sys.float_info.epsilon * condition,
        )

    @property
    def base(self) -> float:
        """The constant in κ, by E e^{−κ} = 1: what both scenarios have in common weighs the same in both."""
        return float(self.log_moments(np.array([-1.0]))[0])

    @property
    def spread(self) -> float:
        """The standard deviation of κ."""
        return math.sqrt(float((2 * self.squares**2 + self.slopes**2).sum()))

    @property
    def moved(self) -> float:
        """The standard deviation of b."""
        return float(np.linalg.norm(self.moves))

    def log_moments(self, powers: Floats) -> Floats:
        """Return log E e^{s(κ − base)} for every s; infinite where there is none."""
        left = 1 - 2 * np.outer(powers, self.squares)
        possible = (left > 0).all(axis=1)
        left = np.where(left > 0, left, 1.0)
        logs = (np.outer(powers, self.slopes) ** 2 / left - np.log(left)).sum(axis=1) / 2
        return np.asarray(np.where(possible, logs, math.inf))

    def quantile_bound(self, outside: float, sign: float) -> float:
        """Return what ±(κ − base) is above with no more than this probability, by Chernoff's bound."""
        largest = float((sign * self.squares).max(initial=0.0))
        end = min(1 / (2 * largest) if largest > 0 else math.inf, 1e3 / max(self.spread, 1e-300))
        powers = end * np.append(np.geomspace(1e-4, 0.9, 80), 1 - np.geomspace(1e-6, 0.1, 30))
        return float(((self.log_moments(sign * powers) - math.log(outside)) / powers).min())


@frozen(kw_only=True)
class RatioLattice:
    """Masses of (b, κ): b a row for each step from `lowest` steps on, κ a column from `start` on."""

    masses: Floats = array_field()
    lowest: int
    """The first row's number of steps of b from the pair's shift."""
    start: float = field()
    step: float = field()
    outside: float = field()
    """How much mass is missing at most."""
    uneven: float = field()
    """By which share masses may be off, both ways."""

    @classmethod
    def of(cls, pair: LinePair, step: float, fineness: Fineness) -> Self:
        """Return the lattice of a pair, with this step of b; the mass left outside is 10⁻¹² at each of its ends."""
        bell, end = fineness.bell, 1e-12
        low, high = -pair.quantile_bound(end, -1.0), pair.quantile_bound(end, 1.0)
        high = max(high, low + fineness.least_spread)
        width = max(pair.spread, fineness.least_spread) / fineness.per_spread
        rows = next_fast_len(math.ceil(2 * (NORMAL_REACH * math.hypot(pair.moved, bell * step) / step + 1)))
        beyond = 8 * bell  # steps that the rounding of κ reaches, to either side
        columns = next_fast_len(math.ceil((high - low) / width * bell + 2 * beyond))
        columns = min(columns, max(fineness.most_points // rows, 256))
        width = (high - low) / (columns - 2 * beyond)
        start = low - beyond * width
        masses, left_out = _masses(pair, (rows, columns), (step, width), start, fineness)
        # The error of a Fourier series, as a share of its length, for every doubling of its size and turn of a phase.
        turns = math.log2(rows * columns) + columns
        rounding = 16 * sys.float_info.epsilon * turns * math.sqrt(rows * columns) * float(np.linalg.norm(masses))
        return cls(
            masses=np.maximum(masses, 0.0),
            lowest=-(rows // 2),
            start=start + pair.base + (bell * width) ** 2 / 2,
            step=width,
            outside=4 * end + rounding + left_out,
            uneven=2 * unevenness(bell**2),
        )


def _masses(
    pair: LinePair, shape: tuple[int, int], steps: tuple[float, float], start: float, fineness: Fineness
) -> tuple[Floats, float]:
    """Return the masses, b counted from the middle row, and a bound on what frequencies that are left out could add."""
    (rows, columns), (step, width) = shape, steps
    log_least = math.log(fineness.least_mass)
    farthest = math.sqrt(-2 * log_least)
    bells = (fineness.bell * step) ** 2, (fineness.bell * width) ** 2
    v = 2 * math.pi * np.arange(math.ceil(farthest / (fineness.bell * 2 * math.pi) * columns) + 1) / (columns * width)
    # |E e^{i(ub + vκ)}| = e^{height − (A u² + 2 B u v + C v²)/2}, with the rounding: largest at u = −B v / A.
    sizes = 1 + 4 * np.outer(v**2, pair.squares**2)
    a = (pair.moves**2 / sizes).sum(axis=1) + bells[0]
    b = (pair.moves * pair.slopes / sizes).sum(axis=1)
    c = (pair.slopes**2 / sizes).sum(axis=1) + bells[1]
    height = -np.log(sizes).sum(axis=1) / 4
    large = height - v**2 * (c - b**2 / a) / 2 > log_least
    numbers, v, a, b, c, height = np.flatnonzero(large), v[large], a[large], b[large], c[large], height[large]
    reach = farthest / np.sqrt(a) + np.abs(b * v / a)
    most = math.ceil(float(reach.max(initial=0.0)) * rows * step / (2 * math.pi)) + 1
    places = np.arange(-most, most + 1)
    u = 2 * math.pi * places / (rows * step)
    sized = height[:, np.newaxis] - (np.multiply.outer(a, u**2) + 2 * np.multiply.outer(b * v, u)) / 2
    sized -= (c * v**2 / 2)[:, np.newaxis]
    which, where = np.nonzero(sized > log_least)
    factors = 1 - 2j * np.outer(v, pair.squares)
    uu, vv = u[where], v[which]
    exponent = (-np.log(factors).sum(axis=1) / 2)[which] - 1j * start * vv
    exponent -= uu**2 * ((pair.moves**2 / factors).sum(axis=1) / 2)[which]
    exponent -= uu * (v * (pair.moves * pair.slopes / factors).sum(axis=1))[which]
    exponent -= (v**2 * (pair.slopes**2 / factors).sum(axis=1) / 2)[which]
    exponent -= bells[0] * uu**2 / 2 + bells[1] * vv**2 / 2
    series = _folded(np.exp(exponent), places[where], numbers[which], shape)
    masses = np.roll(fft2(series).real / (rows * columns), rows // 2, axis=0)
    return masses, fineness.least_mass * (2 * (sized.size - len(which)) + 4 * rows * columns)


def _folded(
    values: NDArray[np.complex128], rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]
) -> NDArray[np.complex128]:
    """Return the Fourier coefficients of a real law, those that a lattice cannot tell apart added up."""
    series = np.zeros(shape, dtype=np.complex128)
    np.add.at(series, (rows % shape[0], columns % shape[1]), values)
    again = columns > 0
    np.add.at(series, (-rows[again] % shape[0], -columns[again] % shape[1]), values[again].conj())
    return series


def unevenness(variance_in_steps: float) -> float:
    """Return a bound on how far Σ_k N(k; m, variance) is from 1, for every m (Poisson's summation formula).

    >>> round(unevenness(0.25), 4)
    0.0144
    """
    largest = math.exp(-2 * math.pi**2 * variance_in_steps)
    return 2 * largest / (1 - largest**3) + sys.float_info.epsilon if largest < 0.1 else 1.0


@frozen(kw_only=True, slots=False, eq=False)
class LineSum:
    """The lattices of a pair at one ε, for Laplace noise of a scale or less."""

    shift: float
    ratios: RatioLattice
    epsilon: float
    """Less what lattices cost."""
    factor: float
    """By which sums are multiplied, for the same reason."""
    outside: float
    """What is outside of lattices at most."""
    step: float
    parts: int
    """Steps of b that go into a step along the line."""
    count: int
    """How many steps there are to either side of the middle."""
    deviations: tuple[float, float]

    @classmethod
    def of(cls, pair: LinePair, scale: float, epsilon: float, fineness: Fineness = FINE) -> Self | None:
        """Return the lattices; None where the noise is too wide for them."""
        own = min(pair.first, pair.second)
        reach = _reach(scale, max(pair.first, pair.second), fineness.outside)
        reach += abs(pair.shift) + NORMAL_REACH * pair.moved
        # The rounding must leave something of the least deviation: 2.5 steps at least.
        step = min(max(own / fineness.per_own, 2 * reach / fineness.most), own / 2.5)
        count = math.ceil(reach / step) + 1
        parts = math.ceil(step * fineness.per_move / own)
        if pair.moved > 0:
            parts = max(1, min(parts, math.floor(step * fineness.most_rows / (2 * NORMAL_REACH * pair.moved))))
        part = step / parts
        if count > fineness.most_steps or 2 * NORMAL_REACH * pair.moved > fineness.most_rows * part:
            return None
        ratios = RatioLattice.of(pair, part, fineness)
        cost, factor, outside, deviations = 0.0, 1.0, 0.0, (pair.first, pair.second)
        if fineness.is_bound:
            bell, blur = (fineness.bell * step) ** 2, (fineness.bell * part) ** 2
            one, moved = pair.first**2 - bell, pair.second**2 - blur
            other = moved - bell
            uneven = [
                ratios.uneven,
                unevenness(fineness.bell**2 * moved / pair.second**2),
                max(unevenness(fineness.bell**2 * one / pair.first**2), unevenness(fineness.bell**2 * other / moved)),
            ]
            if max(uneven) > fineness.most_uneven:
                return None
            cost = sum(math.log1p(share) - math.log1p(-share) for share in uneven) + pair.error
            factor = math.prod(1 / (1 - share) for share in uneven)
            outside = ratios.outside + fineness.outside + 1e-12
            deviations = (math.sqrt(one), math.sqrt(other))
        return cls(
            shift=pair.shift,
            ratios=ratios,
            epsilon=epsilon - cost,
            factor=factor,
            outside=outside,
            step=step,
            parts=parts,
            count=count,
            deviations=deviations,
        )

    @cached_property
    def _points(self) -> tuple[Floats, Floats]:
        """The points of the first density, and of the second, in parts of steps."""
        least, most = self.ratios.lowest, self.ratios.lowest + len(self.ratios.masses) - 1
        places = np.arange(-self.count * self.parts + least, self.count * self.parts + most + 1.0)
        return self.step * np.arange(-self.count, self.count + 1.0), self.shift + self.step / self.parts * places

    @cached_property
    def _tails(self) -> tuple[Floats, Floats]:
        """For every b and every κ, how likely b is with no smaller a κ, and what e^{ε − κ} is over that."""
        masses = self.ratios.masses
        kappas = self.ratios.start + self.ratios.step * np.arange(masses.shape[1])
        weighed = masses * np.exp(np.minimum(self.epsilon - kappas, 600.0))  # cut off where that makes δ larger
        none = np.zeros((len(masses), 1))
        first, second = (np.append(np.cumsum(of[:, ::-1], axis=1)[:, ::-1], none, axis=1) for of in (masses, weighed))
        return first, second

    def delta(self, scale: float) -> float:
        """Return δ of Laplace noise of this scale, or a bound."""
        own, moved = (
            laplace_log_density(points, scale, deviation) + math.log(self.step)
            for points, deviation in zip(self._points, self.deviations, strict=True)
        )
        stands_for = np.ones(2 * self.count + 1)
        stands_for[[0, -1]] = -1 / math.expm1(-self.step / scale)  # and all points beyond
        rows, together = len(self.ratios.masses), max(1, 2**22 // len(stands_for))  # numbers computed at once
        blocks = (slice(start, min(start + together, rows)) for start in range(0, rows, together))
        gained = sum(self._gained(stands_for, own, moved, block) for block in blocks)
        return min(1.0, float(self.factor * (max(gained, 0.0) + self.outside)))

    def _gained(self, stands_for: Floats, own: Floats, moved: Floats, rows: slice) -> float:
        """Return what the best attack gets where b is in some rows: for each l the κ from a threshold on."""
        windows = np.lib.stride_tricks.sliding_window_view(moved, 2 * self.count * self.parts + 1)
        others = windows[:, :: self.parts][rows]
        first, second = self._tails
        with np.errstate(invalid="ignore"):
            least = (self.epsilon - self.ratios.start + others - own) / self.ratios.step
        least = np.where(np.isneginf(own), math.inf, least)
        taken = np.clip(np.ceil(least), 0, first.shape[1] - 1).astype(np.int64)
        at = np.arange(len(first))[rows, np.newaxis]
        won, lost = stands_for * first[at, taken], stands_for * second[at, taken]
        return float(np.exp(own) @ won.sum(axis=0) - (np.exp(others) * lost).sum())


def _reach(scale: float, deviation: float, outside: float) -> float:
    """Return how far points must go so that the last ones stand for all beyond, but for this probability.

    Beyond 9 deviations and deviation²/scale the density is exponential to the last digit: there one point stands for
    all. For all smaller scales, points to 13.5 deviations reach as far as that, or as the noise itself.
    """
    exponential = deviation * max(9 + deviation / scale, 13.5)
    return min(-scale * math.log(outside) + NORMAL_REACH * deviation, exponential)
