r"""The joint law of b and κ of a pair of scenarios, on a lattice that leaves no more hidden than they do.

Both are sums over independent normal numbers, so that :math:`E e^{i(ub + vκ)}` is known in closed form. A point of a
lattice drawn from a bell curve around (b, κ) tells an attacker at least as much as a release does, at a price that is
counted, and its probabilities are one Fourier series (`docs/proofs/line_noise.md`, 2 and 3).
"""

import math
import sys
from typing import Self

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray
from scipy.fft import fft2, next_fast_len

from distpriv.distances.line_laws import NORMAL_REACH
from distpriv.framework.arrays import Floats, array_field
from distpriv.guarantees.line_pairs import LinePair

__all__ = ["OUTSIDE", "STIFF", "RatioLattice", "unevenness"]

STIFF = 1.1
"""How wide the bell curves are that points of a lattice are drawn from, in steps of it."""

OUTSIDE = 1e-12
"""The probability of what is left outside of a lattice, at each of its ends."""

FARTHEST = 8.0
"""Bell curves of a lattice reach so many of their deviations."""

LEAST_SPREAD = 1e-7
"""κ that varies less is given a lattice as if it varied so much."""

MOST_POINTS, FEWEST = 2**22, 256
"""How many points a lattice has at most, unless that leaves fewer for κ: the steps become larger beyond that."""

ROUNDING = 16 * np.finfo(float).eps
"""The error of a Fourier series, as a share of its length, for every doubling of its size and every turn of a phase."""


def unevenness(variance_in_steps: float) -> float:
    """Return a bound on how far Σ_k N(k; m, variance) is from 1, for every m.

    >>> round(unevenness(0.25), 4)
    0.0144
    """
    largest = math.exp(-2 * math.pi**2 * variance_in_steps)
    return 2 * largest / (1 - largest**3) + sys.float_info.epsilon if largest < 0.1 else 1.0


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
    def of(cls, pair: LinePair, *, step: float, per_spread: float, least_mass: float) -> Self:
        """Return the lattice of a pair.

        Args:
            pair: the pair.
            step: the step of b.
            per_spread: how many bell curves of κ go into its deviation.
            least_mass: frequencies at which the transform is below this are left out.
        """
        low, high = pair.quantile_bounds(OUTSIDE)
        high = max(high, low + LEAST_SPREAD)
        bell = max(pair.spread, LEAST_SPREAD) / per_spread
        rows = next_fast_len(math.ceil(2 * (NORMAL_REACH * math.hypot(pair.moved, STIFF * step) / step + 1)))
        margin = 2 * FARTHEST * STIFF
        columns = next_fast_len(math.ceil((high - low) / bell * STIFF + margin))
        columns = min(columns, max(MOST_POINTS // rows, FEWEST))
        width = (high - low) / (columns - margin)
        start = low - FARTHEST * STIFF * width
        found, left_out = _masses(pair, (rows, columns), (step, width), start, least_mass)
        turns = math.log2(rows * columns) + columns
        rounding = ROUNDING * turns * math.sqrt(rows * columns) * float(np.linalg.norm(found))
        return cls(
            masses=np.maximum(found, 0.0),
            lowest=-(rows // 2),
            start=start + pair.base + (STIFF * width) ** 2 / 2,
            step=width,
            outside=4 * OUTSIDE + rounding + left_out,
            uneven=2 * unevenness(STIFF**2),
        )


def _masses(
    pair: LinePair, shape: tuple[int, int], steps: tuple[float, float], start: float, least_mass: float
) -> tuple[Floats, float]:
    """Return the masses, b counted from the middle row, and a bound on what frequencies that are left out could add."""
    (rows, columns), (step, width) = shape, steps
    log_least = math.log(least_mass)
    farthest = math.sqrt(-2 * log_least)
    v = 2 * math.pi * np.arange(math.ceil(farthest / (STIFF * 2 * math.pi) * columns) + 1) / (columns * width)
    # |E e^{i(ub + vκ)}| = e^{height − (A u² + 2 B u v + C v²)/2}, with the bell curves: largest at u = −B v / A.
    sizes = 1 + 4 * np.outer(v**2, pair.squares**2)
    a = (pair.moves**2 / sizes).sum(axis=1) + (STIFF * step) ** 2
    b = (pair.moves * pair.slopes / sizes).sum(axis=1)
    c = (pair.slopes**2 / sizes).sum(axis=1) + (STIFF * width) ** 2
    height = -np.log(sizes).sum(axis=1) / 4
    kept = height - v**2 * (c - b**2 / a) / 2 > log_least
    numbers, v, a, b, c, height = np.flatnonzero(kept), v[kept], a[kept], b[kept], c[kept], height[kept]
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
    exponent -= (STIFF * step * uu) ** 2 / 2 + (STIFF * width * vv) ** 2 / 2
    series = _folded(np.exp(exponent), places[where], numbers[which], shape)
    found = np.roll(fft2(series).real / (rows * columns), rows // 2, axis=0)
    return found, least_mass * (2 * (sized.size - len(which)) + 4 * rows * columns)


def _folded(
    values: NDArray[np.complex128], rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]
) -> NDArray[np.complex128]:
    """Return the Fourier coefficients of a real law, those that a lattice cannot tell apart added up."""
    series = np.zeros(shape, dtype=np.complex128)
    np.add.at(series, (rows % shape[0], columns % shape[1]), values)
    again = columns > 0
    np.add.at(series, (-rows[again] % shape[0], -columns[again] % shape[1]), values[again].conj())
    return series
