r"""Max-divergence and its δ-approximate form: how much likelier one law makes an event than another.

.. math:: D_∞^δ(P \| Q) = \sup \{ \ln \frac{P(S) - δ}{Q(S)} : P(S) \ge δ \}

It is the least λ with P(S) ≤ e^λ Q(S) + δ for every event S, that is with hockey-stick divergence
:math:`H_λ = \max_S P(S) - e^λ Q(S) ≤ δ`; Theorem 4.6 asks for it. It may be negative for δ > 0: D∞^δ(P‖P) = ln(1 - δ).
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from distpriv.distances.transport.point_sets import forgiven_mass, whole_masses
from distpriv.errors import InvalidInput
from distpriv.framework.domains import as_written

__all__ = ["approximate_max_divergence", "max_divergence"]


def max_divergence(p: ArrayLike, q: ArrayLike) -> float:
    """The largest ln(p/q) over the atoms of two discrete laws, and inf where q is 0 and p is not.

    Args:
        p: The probability of every atom under the first law; it means the decimal it is written as.
        q: The probabilities of the same atoms, in the same order, under the second.

    >>> import math
    >>> import distpriv as dp
    >>> round(dp.distances.max_divergence([0.9, 0.1], [0.3, 0.7]) / math.log(3), 12)
    1.0
    """
    return approximate_max_divergence(p, q, 0.0)


def approximate_max_divergence(p: ArrayLike, q: ArrayLike, delta: float) -> float:
    r"""The supremum of ln((p(S) - δ)/q(S)) over the events S of two discrete laws with p(S) ≥ δ.

    The first atoms in the order of p/q are enough, for some number of them. Let t be the supremum of (p(S) - δ)/q(S).
    If it is infinite, the atoms with q = 0 have more mass than δ, and they come first. Otherwise p(S) - t q(S) ≤ δ for
    every S, with equality and q(S) > 0 for some S, events being finitely many and the whole space worth 1 - δ > 0.
    That S holds no atom with p < tq, since without it the left side would exceed δ. So it lies inside {p ≥ tq}, which
    keeps the left side at δ or above, hence at δ, and has q > 0: it attains t, and it is what comes first.

    Whole numbers decide everything; only the quotient and its logarithm are rounded, by a few units in the last place.

    Args:
        p: The probability of every atom under the first law; it means the decimal it is written as.
        q: The probabilities of the same atoms, in the same order, under the second.
        delta: The mass 0 ≤ δ < 1 that is forgiven; it means the decimal it is written as.

    >>> import math
    >>> import distpriv as dp
    >>> dp.distances.approximate_max_divergence([0.5, 0.5, 0.0], [0.0, 0.5, 0.5], 0.5)
    0.0
    >>> dp.distances.approximate_max_divergence([0.5, 0.5], [0.5, 0.5], 0.5) == math.log(0.5)
    True
    """
    forgiven = as_written(forgiven_mass(delta))
    count = np.size(p)
    if count == 0 or np.ndim(p) != 1 or np.shape(p) != np.shape(q):
        raise InvalidInput(
            f"p and q must hold one probability for each of the same atoms, at least one, but have shapes "
            f"{np.shape(p)} and {np.shape(q)}; list every atom in both, with 0 where it cannot occur."
        )
    first, second, total = whole_masses(("p", p, count), ("q", q, count))
    return _log(_largest_ratio(first.tolist(), second.tolist(), forgiven * total))


def _largest_ratio(first: list[int], second: list[int], forgiven: Fraction) -> Fraction | None:
    """The largest (p(S) - δ)/q(S) over prefixes in the order of p/q; None if it is infinite."""
    free = sum(a for a, b in zip(first, second, strict=True) if not b)
    if free > forgiven:
        return None
    # Ratios of numbers below 2^k differ by more than 4^-k or not at all, so these whole keys order them exactly.
    bits = 2 * max(*first, *second).bit_length()
    atoms = sorted(((a << bits) // b, a, b) for a, b in zip(first, second, strict=True) if a and b)
    best, mass, other = Fraction(-1), free - forgiven, 0
    for _, a, b in reversed(atoms):
        mass, other = mass + a, other + b
        best = max(best, mass / other)
    return best


def _log(ratio: Fraction | None) -> float:
    if ratio is None:
        return math.inf
    if abs(ratio - 1) < Fraction(1, 4):
        return math.log1p(ratio - 1)
    if abs(ratio.numerator.bit_length() - ratio.denominator.bit_length()) < 1000:
        return math.log(ratio)
    return math.log(ratio.numerator) - math.log(ratio.denominator)
