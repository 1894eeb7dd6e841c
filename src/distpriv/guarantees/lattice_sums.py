r"""Sums over a lattice, :math:`\sum_{k ≠ 0} e^{-2π² k^\top G k}` over whole numbers k, bounded from above.

In a short basis :math:`k^\top G k = \sum_i d_i (k_i + \sum_{j>i} μ_{ij} k_j)^2`. Summed over k₁ first, then over k₂ and
so on, each sum is largest where its numbers are not shifted, by Poisson's formula. So for every a > 0

.. math:: \sum_k e^{-a k^\top G k} ≤ \prod_i ϑ(a d_i), \qquad ϑ(a) = \sum_{j ∈ ℤ} e^{-a j^2} .

That is one bound. Where it is not small, the short vectors are counted one by one, and only the others bounded:
those with :math:`k^\top G k > R` have :math:`e^{-a k^\top G k} < e^{-(1-s) a R} e^{-s a k^\top G k}` for any s below 1.
"""

import math

import numpy as np

from distpriv.framework.arrays import Floats

__all__ = ["lattice_sum"]

RATE = 2 * math.pi**2

NEGLIGIBLE = 1e-12
"""A sum that is bounded by this need not be known better."""

MOST_VECTORS = 20_000
"""How many vectors, or beginnings of vectors, are looked at."""

LOVASZ = 0.99
"""How short a basis is made: 1 is the shortest that swapping neighbours gives."""

SHARES = np.linspace(0.05, 0.95, 19)
"""The s that are tried in the bound of what was not counted."""

LEAST_PIVOT = 1e-6
"""A form with a smaller pivot is taken for singular: nothing useful bounds its sum."""

MOST_SWAPS = 3000
"""How many steps are taken towards a shorter basis."""


def lattice_sum(form: Floats) -> float:
    """Return a bound on the sum over all whole numbers but 0, no more than a little above it where it is small.

    Args:
        form: G, symmetric.

    >>> lattice_sum(np.eye(3)), 6 * math.exp(-2 * math.pi**2)  # the six shortest vectors
    (1.60...e-08, 1.60...e-08)
    >>> lattice_sum(np.zeros((1, 1)))
    inf
    """
    if not len(form):
        return 0.0
    short = _reduced((form + form.T) / 2)
    pivots, shifts = _pivots(short)
    if pivots.min() <= LEAST_PIVOT:
        return math.inf
    everything = math.expm1(_log_product(RATE * pivots))
    if everything <= NEGLIGIBLE:
        return everything
    counted, reach = _counted(pivots, shifts)
    beyond = min((1 - s) * -RATE * reach + _log_product(s * RATE * pivots) for s in SHARES)
    return min(everything, counted + math.exp(min(beyond, 700.0))) if math.isfinite(beyond) else everything


def _log_product(rates: Floats) -> float:
    """Return the logarithm of the product of ϑ(a) over rates a; with few terms where they fall fast."""
    terms = 2 + int(6.5 / math.sqrt(rates.min()))
    if terms > 10_000:
        return math.inf
    squares = np.arange(1, terms + 1, dtype=np.float64) ** 2
    each = 2 * np.exp(-np.outer(rates, squares)).sum(axis=1)
    return float(np.log1p(each * (1 + 1e-12)).sum())


def _counted(pivots: Floats, shifts: Floats) -> tuple[float, float]:
    """Return the sum over all vectors up to some kᵀGk, without 0, and that number; the largest of a few it can do."""
    least = float(pivots.min())
    best = 0.0, 0.0
    for reach in (1.01 * least, 1.5 * least, 2 * least, 3 * least, 5 * least, 8 * least):
        norms = _norms(pivots, shifts, reach)
        if norms is None:
            break
        best = float(np.exp(-RATE * norms).sum()) * (1 + 1e-9), reach
        if RATE * reach > 60:
            break
    return best


def _norms(pivots: Floats, shifts: Floats, reach: float) -> Floats | None:
    """Return kᵀGk of all vectors but 0 with kᵀGk ≤ reach, by Fincke and Pohst; None if there are too many."""
    size = len(pivots)
    vectors = np.zeros((1, size))
    norms = np.zeros(1)
    looked = 0
    for i in reversed(range(size)):
        centres = vectors @ shifts[i]
        widths = np.sqrt(np.maximum(reach - norms, 0.0) / pivots[i])
        low, high = np.ceil(-centres - widths), np.floor(-centres + widths)
        counts = np.maximum(0, high - low + 1).astype(np.int64)
        looked += int(counts.sum())
        if looked > MOST_VECTORS * 4 or counts.sum() > MOST_VECTORS:
            return None
        parents = np.repeat(np.arange(len(vectors)), counts)
        steps = np.arange(len(parents)) - np.repeat(np.cumsum(counts) - counts, counts)
        values = low[parents] + steps
        vectors = vectors[parents]
        vectors[:, i] = values
        norms = norms[parents] + pivots[i] * (values + centres[parents]) ** 2
    return np.asarray(norms[vectors.any(axis=1)])


def _pivots(form: Floats) -> tuple[Floats, Floats]:
    """Return d and μ with kᵀGk = Σ d_i (k_i + Σ_{j>i} μ_ij k_j)²."""
    rest = form.copy()
    size = len(form)
    pivots, shifts = np.zeros(size), np.zeros((size, size))
    for i in range(size):
        pivots[i] = rest[i, i]
        if pivots[i] <= 0:
            return np.zeros(size), shifts
        shifts[i, i + 1 :] = rest[i, i + 1 :] / pivots[i]
        rest[i + 1 :, i + 1 :] -= np.outer(rest[i, i + 1 :], shifts[i, i + 1 :])
    return pivots, shifts


def _reduced(form: Floats) -> Floats:
    """Return the form in a shorter basis of the whole numbers, by the algorithm of Lenstra, Lenstra and Lovász.

    Any basis has the same sum, so that rounding, or stopping early, costs sharpness and nothing else.
    """
    form, k = form.copy(), 1
    for _ in range(MOST_SWAPS):
        if k >= len(form):
            break
        try:
            factor = np.linalg.cholesky(form[: k + 1, : k + 1])
        except np.linalg.LinAlgError:
            break
        lower = factor / np.diag(factor)
        for j in reversed(range(k)):
            times = np.round(lower[k, j])
            if times:
                lower[k, : j + 1] -= times * lower[j, : j + 1]
                form[k] -= times * form[j]
                form[:, k] -= times * form[:, j]
        squares = np.diag(factor) ** 2
        if squares[k] >= (LOVASZ - lower[k, k - 1] ** 2) * squares[k - 1]:
            k += 1
        else:
            form[[k - 1, k]] = form[[k, k - 1]]
            form[:, [k - 1, k]] = form[:, [k, k - 1]]
            k = max(k - 1, 1)
    return form
