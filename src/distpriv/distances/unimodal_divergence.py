r"""The hockey-stick divergence of noise with a unimodal step density from itself, shifted: a proven upper bound.

Let q be symmetric, non-increasing in |z| and constant between given edges, and :math:`p = q * N(0, s^2)`. Then p is
symmetric and unimodal too, so :math:`H_ε(p \| p(· - x))` does not decrease in x ≥ 0: a bound at one shift is a bound at
every smaller one, and

.. math:: H = \int_{-x/2}^∞ (p(y) - e^ε p(y + x))^+ dy .

Without blur the integrand is a step function, integrated as it is. With blur, cells where the difference is positive
at the middle are integrated in closed form, and what that may miss inside a cell is bounded by the slope there, from
the first derivatives and a global bound on the next.
"""

import math
from typing import Final

import numpy as np
from scipy.special import ndtr

from distpriv.framework.arrays import Floats

__all__ = ["unimodal_delta_upper_bound"]

CELL: Final = 1 / 64
"""The width of the cells of integration, in standard deviations of the blur."""

MOST_CELLS: Final = 500_000
"""Noise that is so many cells wide hardly gains by blur, and its bound without blur is taken."""

REACH: Final = 9.0
"""How far beyond the last edge integration goes, in standard deviations; Φ(−9) is 1e-19."""

ROUNDING: Final = 1e-12
"""The tails of blurred noise are computed to this relative accuracy; the tests compare them with many digits."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_NARROW: Final = 0.25
"""Below this half-width a blurred uniform law is computed by quadrature: its closed form cancels."""

_ORDER: Final = 7
"""How many derivatives of p are computed."""


def unimodal_delta_upper_bound(
    edges: Floats, masses: Floats, *, shift: float, deviation: float, epsilon: float
) -> float:
    r"""Return an upper bound on :math:`H_ε` of q * N(0, s²) from itself moved by x, for every x up to the shift.

    Args:
        edges: increasing from 0; |Z| has a constant density between neighbours.
        masses: how likely |Z| is between them; the densities do not increase.
        shift: the largest shift.
        deviation: s; 0 for no blur.
        epsilon: ε ≥ 0.

    >>> uniform = np.array([0.0, 5.0]), np.array([1.0])
    >>> round(unimodal_delta_upper_bound(*uniform, shift=1.0, deviation=0.0, epsilon=0.5), 9)
    0.1
    >>> 0.099 < unimodal_delta_upper_bound(*uniform, shift=1.0, deviation=1.0, epsilon=0.0) < 0.1001
    True
    """
    edges, masses = np.asarray(edges, dtype=np.float64), np.asarray(masses, dtype=np.float64)
    if shift == 0:
        return 0.0
    epsilon = min(epsilon, 700.0)  # beyond, e^ε is no floating-point number, and the bound only falls in ε
    # Blur is data processing, so the bound without it is always one.
    most = min(1.0, _step_bound(edges, masses, shift, epsilon))
    if deviation > 0 and (float(edges[-1]) + shift) / deviation < MOST_CELLS * CELL:
        most = min(most, _blurred_bound(edges / deviation, masses, shift / deviation, epsilon))
    return float(most)


def _step_bound(edges: Floats, masses: Floats, shift: float, epsilon: float) -> float:
    """The integral of the step function; where edges meet but for rounding, slivers cost what they can at most."""
    density = np.append(masses / np.diff(edges) / 2, 0.0)

    def at(y: Floats) -> Floats:
        return np.asarray(density[np.searchsorted(edges[1:], np.abs(y), side="right")])

    breaks = np.concatenate([edges, -edges, edges - shift, -edges - shift, [-shift / 2]])
    breaks = np.unique(np.maximum(breaks, -shift / 2))
    middles = (breaks[:-1] + breaks[1:]) / 2
    here, there = at(middles), at(middles + shift)
    excess = np.maximum(here - math.exp(epsilon) * there, 0.0)
    slivers = 2.0**-50 * (float(edges[-1]) + shift) * float(here.sum())
    return float(excess @ np.diff(breaks)) * (1 + 1e-12) + slivers + 1e-14


def _blurred_bound(edges: Floats, masses: Floats, shift: float, epsilon: float) -> float:
    """The bound for blur of deviation 1."""
    halves, weights, dropped = _uniforms(edges, masses)
    end = float(edges[-1]) + REACH
    grid = np.linspace(-shift / 2, end, math.ceil((end + shift / 2) / CELL) + 1)
    width, middles = float(grid[1] - grid[0]), (grid[:-1] + grid[1:]) / 2
    factor = math.exp(epsilon)
    parts = _derivatives(middles, halves, weights) - factor * _derivatives(middles + shift, halves, weights)
    last = (1 + factor) * float(weights @ np.minimum(_largest_bell(_ORDER) / halves, _largest_bell(_ORDER + 1)))
    slack = (1e-13 + 1e-15 / float(halves.min())) * (1 + factor)  # rounding of the differences above
    half = width / 2
    slope = sum(np.abs(part) * half**k / math.factorial(k) for k, part in enumerate(parts[1:]))
    slope = slope + last * half**_ORDER / math.factorial(_ORDER) + slack
    # Inside a cell the sign can differ from that in the middle only where slope · |y − middle| exceeds |g|.
    missed = np.maximum(0.0, slope * half - np.maximum(np.abs(parts[0]) - slack, 0.0)) ** 2 / slope
    inside = np.concatenate([[0], (parts[0] > 0).astype(np.int8), [0]])
    ends = grid[np.flatnonzero(np.diff(inside))]
    here, there = _tails(ends, halves, weights), factor * _tails(ends + shift, halves, weights)
    signs = np.where(np.arange(len(ends)) % 2 == 0, 1.0, -1.0)
    rounding = ROUNDING * float((here + there).sum())
    beyond = float(_tails(grid[-1:], halves, weights)[0])
    return float(signs @ (here - there)) + float(missed.sum()) + rounding + beyond + dropped


def _uniforms(edges: Floats, masses: Floats) -> tuple[Floats, Floats, float]:
    """Write the law as a mixture of uniform laws on [−t, t]; what is too rare to matter counts in full."""
    densities = np.append(masses / np.diff(edges), 0.0)
    halves = edges[1:]
    weights = np.maximum(halves * -np.diff(densities), 0.0)
    kept = weights > 1e-15
    return halves[kept], weights[kept], float(weights[~kept].sum()) + 1e-15 * len(masses)


def _derivatives(y: Floats, halves: Floats, weights: Floats) -> Floats:
    """Return p and its first derivatives, one a row: they are differences of derivatives of φ."""
    found = np.zeros((_ORDER + 1, len(y)))
    scaled = weights / (2 * halves)
    for chunk in np.array_split(np.arange(len(y)), len(y) // 256 + 1):
        part, away = y[chunk], np.abs(y[chunk])
        # Ends of uniform laws beyond 9 deviations from all these places matter to no digit.
        near = (halves > away.min() - REACH) & (halves < away.max() + REACH)
        right, left = (part[:, np.newaxis] + sign * halves[near] for sign in (1, -1))
        found[0, chunk] = (ndtr(right) - ndtr(left)) @ scaled[near] + scaled[halves >= away.max() + REACH].sum()
        found[1:, chunk] = _bells(right, scaled[near]) - _bells(left, scaled[near])
    return found


def _bells(x: Floats, scaled: Floats) -> Floats:
    """The weighted sums of φ and its derivatives, by their recursion φ^{(k+1)} = −x φ^{(k)} − k φ^{(k−1)}."""
    before, bell = np.zeros_like(x), np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    found = []
    for k in range(_ORDER):
        found.append(bell @ scaled)
        before, bell = bell, -x * bell - k * before
    return np.array(found)


def _largest_bell(order: int) -> float:
    """A bound on the derivative of φ of this order, by Cramér's inequality for Hermite functions."""
    return 1.0866 * math.sqrt(math.factorial(order) / (2 * math.pi))


def _tails(y: Floats, halves: Floats, weights: Floats) -> Floats:
    r"""Pr[Y > y] for Y ~ p; (J(y − t) − J(y + t))/2t with J(x) = φ(x) − xΦ(−x) for a uniform law on [−t, t]."""
    narrow = halves < _NARROW
    points = y[:, np.newaxis, np.newaxis] - np.multiply.outer(halves[narrow], _NODES)
    found = (ndtr(-points) @ (_WEIGHTS / 2)) @ weights[narrow]
    wide, column = halves[~narrow], y[:, np.newaxis]
    return np.asarray(found + (_loss(column - wide) - _loss(column + wide)) @ (weights[~narrow] / (2 * wide)))


def _loss(x: Floats) -> Floats:
    return np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi) - x * ndtr(-x)
