r"""The exact δ of a pair of scenarios under noise along one line, as a sum over lattices that is never below it.

.. math:: H_ε ≤ \sum_{k, n} p(k, n) \sum_l τ (g_i(l) - e^{ε - κ_n} g_j(l + k))_+,

p the law of b and κ on its lattice, g the densities of the noise with what is Gaussian along the line, less the little
that a bell curve of the lattice takes (`docs/proofs/line_noise.md`, 4).
"""

import math
from functools import cached_property
from typing import Self

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from distpriv.distances.line_laws import NORMAL_REACH, LineLaw, even_densities
from distpriv.framework.arrays import Floats
from distpriv.guarantees.line_pairs import LinePair
from distpriv.guarantees.ratio_lattice import OUTSIDE, STIFF, RatioLattice, unevenness

__all__ = ["COARSE", "FINE", "ROUGH", "Fineness", "LineSum", "line_delta"]

LARGEST = 600.0
"""Exponents beyond that are cut off, where that makes δ larger."""

MOST_STEPS = 200_000
"""Noise that takes more steps of what is Gaussian along the line is too wide for a lattice."""


@frozen(kw_only=True)
class Fineness:
    """How fine lattices are."""

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
    outside: float = OUTSIDE
    """The probability of noise that is left outside of the lattice."""
    bound: bool = True
    """Whether sums are bounds: otherwise nothing is taken off the deviations, and they are only close."""


FINE = Fineness(per_spread=25, per_own=40, most=6000, per_move=200, least_mass=1e-17)
"""Within a per cent of δ."""

COARSE = Fineness(per_spread=12, per_own=12, most=1500, per_move=100, least_mass=1e-16)
"""A bound that is good enough where δ is far below what is asked for."""

ROUGH = Fineness(per_spread=8, per_own=8, most=600, per_move=80, least_mass=1e-8, outside=1e-7, bound=False)
"""An estimate, for searches."""

MOST_ROWS = 2048
"""About how many steps of b a lattice has at most."""

TOGETHER = 2**22
"""How many terms of a sum are computed at once."""

MOST_UNEVEN = 1e-3
"""Lattices that are less even than that are of no use."""

FEWEST = 2.5
"""Steps that go into the least deviation at least: the bell curve of a lattice must leave something of it."""


@frozen(kw_only=True, slots=False, eq=False)
class LineSum:
    """The lattices of a pair at one ε, for all laws of noise that reach no farther than a given one."""

    pair: LinePair
    ratios: RatioLattice
    epsilon: float
    """Less what lattices cost."""
    factor: float
    """By which sums are multiplied, for the same reason."""
    outside: float
    """What is outside of lattices at most."""
    step: float = field()
    parts: int
    count: int
    """How many steps there are to either side of the middle."""
    deviations: tuple[float, float]

    @classmethod
    def of(cls, pair: LinePair, law: LineLaw, epsilon: float, fineness: Fineness) -> Self | None:
        """Return the lattices; None where the noise is too wide for them."""
        own = min(pair.first, pair.second)
        reach = law.half(max(pair.first, pair.second), fineness.outside)
        reach += abs(pair.shift) + NORMAL_REACH * pair.moved
        step = min(max(own / fineness.per_own, 2 * reach / fineness.most), own / FEWEST)
        count = math.ceil(reach / step) + 1
        if count > MOST_STEPS:
            return None
        parts = math.ceil(step * fineness.per_move / own)
        if pair.moved > 0:
            parts = max(1, min(parts, math.floor(step * MOST_ROWS / (2 * NORMAL_REACH * pair.moved))))
        part = step / parts
        if 2 * NORMAL_REACH * pair.moved > MOST_ROWS * part:
            return None
        bell, blur = (STIFF * step) ** 2, (STIFF * part) ** 2
        ratios = RatioLattice.of(pair, step=part, per_spread=fineness.per_spread, least_mass=fineness.least_mass)
        cost, factor, outside, deviations = 0.0, 1.0, 0.0, (pair.first, pair.second)
        if fineness.bound:
            one, moved = pair.first**2 - bell, pair.second**2 - blur
            other = moved - bell
            uneven = [
                ratios.uneven,
                unevenness(STIFF**2 * moved / pair.second**2),
                max(unevenness(STIFF**2 * one / pair.first**2), unevenness(STIFF**2 * other / moved)),
            ]
            if max(uneven) > MOST_UNEVEN:
                return None
            cost = sum(math.log1p(share) - math.log1p(-share) for share in uneven) + pair.error
            factor = math.prod(1 / (1 - share) for share in uneven)
            outside = ratios.outside + fineness.outside + OUTSIDE
            deviations = (math.sqrt(one), math.sqrt(other))
        return cls(
            pair=pair,
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
    def points(self) -> Floats:
        """Where the first law is looked at."""
        return np.asarray(self.step * np.arange(-self.count, self.count + 1.0))

    @cached_property
    def moved_points(self) -> Floats:
        """Where the second law is looked at, in parts of steps."""
        least, most = self.ratios.lowest, self.ratios.lowest + len(self.ratios.masses) - 1
        places = np.arange(-self.count * self.parts + least, self.count * self.parts + most + 1.0)
        return np.asarray(self.pair.shift + self.step / self.parts * places)

    @cached_property
    def _tails(self) -> tuple[Floats, Floats]:
        """For every b and every κ, how likely b is with no smaller a κ, and what e^{ε − κ} is over that."""
        masses = self.ratios.masses
        kappas = self.ratios.start + self.ratios.step * np.arange(masses.shape[1])
        weighed = masses * np.exp(np.minimum(self.epsilon - kappas, LARGEST))
        none = np.zeros((len(masses), 1))
        first, second = (np.append(np.cumsum(of[:, ::-1], axis=1)[:, ::-1], none, axis=1) for of in (masses, weighed))
        return first, second

    def densities(self, law: LineLaw) -> tuple[Floats, Floats]:
        """Return the logarithms of both laws' probabilities of a step."""
        size = math.log(self.step)
        one, other = self.deviations
        return law.log_density(self.points, one) + size, law.log_density(self.moved_points, other) + size

    def attack(self, beyond: float, logs: tuple[Floats, Floats], rows: slice = slice(None)) -> tuple[Floats, Floats]:
        """Return how much of the first law's points, and of the second's, the best attack on noise takes, for every b.

        One row for each step of b, and one column for each point of the first law.

        Args:
            beyond: how many points the last ones stand for.
            logs: the logarithms of both laws' probabilities of a step.
            rows: which steps of b to look at.
        """
        stands_for = np.ones(2 * self.count + 1)
        stands_for[[0, -1]] = beyond
        first, second = self._tails
        own, moved = logs
        with np.errstate(invalid="ignore"):
            least = (self.epsilon - self.ratios.start + self._windows(moved)[rows] - own) / self.ratios.step
        least = np.where(np.isneginf(own), math.inf, least)
        taken = np.clip(np.ceil(least), 0, first.shape[1] - 1).astype(np.int64)
        at = np.arange(len(first))[rows, np.newaxis]
        return stands_for * first[at, taken], stands_for * second[at, taken]

    def delta(self, law: LineLaw) -> float:
        """Return δ of noise of this law, or a bound."""
        return self._delta(law.beyond(self.step), self.densities(law))

    def mixed_delta(self, widths: Floats, shares: Floats) -> float:
        """Return the same for noise that is even up to each width with some probability."""
        return self._delta(1.0, self._mixed(widths, shares))

    def _mixed(self, widths: Floats, shares: Floats) -> tuple[Floats, Floats]:
        one, other = self._evens(widths)
        with np.errstate(divide="ignore"):  # the logarithm of 0 is −∞
            return np.log(self.step * (shares @ one)), np.log(self.step * (shares @ other))

    def _delta(self, beyond: float, logs: tuple[Floats, Floats]) -> float:
        rows = len(self.ratios.masses)
        each = max(1, TOGETHER // len(self.points))
        found = sum(self._gained(beyond, logs, slice(at, min(at + each, rows))) for at in range(0, rows, each))
        return min(1.0, float(self.factor * (max(found, 0.0) + self.outside)))

    def _gained(self, beyond: float, logs: tuple[Floats, Floats], rows: slice) -> float:
        """Return what the best attack gets where b is in some rows."""
        won, lost = self.attack(beyond, logs, rows)
        return float(np.exp(logs[0]) @ won.sum(axis=0) - (np.exp(self._windows(logs[1])[rows]) * lost).sum())

    def _windows(self, moved: Floats) -> Floats:
        """Return what there is for the second law at every point of the first, a row for each step of b."""
        return np.lib.stride_tricks.sliding_window_view(moved, 2 * self.count * self.parts + 1)[:, :: self.parts]

    def cuts(self, widths: Floats, shares: Floats, bins: NDArray[np.int64]) -> Floats:
        """Return what the best attack on a mixture gets of noise that is even up to each width.

        One row for each bin of points, by the numbers of the points that bins begin with. δ of a mixture of such noise
        is no less than the mixture of their sums, but for what is outside.
        """
        won, lost = self.attack(1.0, self._mixed(widths, shares))
        one, other = self._evens(widths)
        bin_of = np.repeat(np.arange(len(bins)), np.diff(np.append(bins, won.shape[1])))
        size = other.shape[1]
        places = np.add.outer(np.arange(len(lost)), self.parts * np.arange(won.shape[1])) + size * bin_of
        of_second = np.bincount(places.ravel(), lost.ravel(), minlength=size * len(bins)).reshape(len(bins), size)
        of_first = np.add.reduceat(one * won.sum(axis=0), bins, axis=1).T
        return np.asarray(self.factor * self.step * (of_first - of_second @ other.T))

    def _evens(self, widths: Floats) -> tuple[Floats, Floats]:
        """Return both densities of noise that is even up to each width, computed once for the same widths."""
        key = widths.tobytes()
        if key not in self._computed:
            one, other = self.deviations
            found = even_densities(widths, self.points, one), even_densities(widths, self.moved_points, other)
            self._computed.clear()
            self._computed[key] = found
        return self._computed[key]

    @cached_property
    def _computed(self) -> dict[bytes, tuple[Floats, Floats]]:
        return {}


def line_delta(pair: LinePair, law: LineLaw, epsilon: float, fineness: Fineness = FINE) -> float | None:
    """Return a bound on δ of a pair under noise along the line, about as small as δ is; None if there is none.

    >>> from distpriv.distances.line_laws import LaplaceLine
    >>> pair = LinePair.of(np.ones(1), np.eye(1), np.eye(1), np.ones(1))
    >>> round(line_delta(pair, LaplaceLine(scale=1.0), 0.5), 3)
    0.09
    """
    sums = LineSum.of(pair, law, epsilon, fineness)
    return None if sums is None else sums.delta(law)
