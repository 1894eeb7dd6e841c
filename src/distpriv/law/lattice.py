r"""Sums over a lattice, :math:`\sum_{k ≠ 0} e^{-2π² k^\top G k}` over whole numbers k, bounded from above.

In a short basis the sum is at most a product of sums over one number each, ϑ. Where that is not small, the short
vectors are counted one by one (Fincke and Pohst 1985), and only the others bounded (`docs/proofs/lattice_trap.md`, "The
sum, bounded"). The basis is that of Lenstra, Lenstra and Lovász (1982).
"""

import math
from functools import lru_cache
from typing import Final

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats

__all__ = ["RATE", "lattice_sum"]

RATE = 2 * math.pi**2
"""What kᵀGk is multiplied with."""


@frozen(kw_only=True)
class Settings:
    """How close a bound is, and what it may cost."""

    negligible: float = 1e-6
    """A sum that is bounded by this need not be known better: it is taken off ε."""
    most_vectors: int = 20_000
    """How many vectors, or beginnings of vectors, are enumerated."""
    lovasz: float = 0.99
    """How short a basis is made: 1 is the shortest that swapping neighbours gives."""
    most_swaps: int = 3000
    """How many steps are taken towards a shorter basis."""
    least_pivot: float = 1e-6
    """A form with a smaller pivot is taken for singular: nothing useful bounds its sum."""
    rounding: float = 1e-14
    """By which share of the largest entry of a form, or of what its row was added up from, rounding may move a pivot,
    for each of its rows."""


SETTINGS: Final = Settings()


def lattice_sum(form: Floats) -> float:
    """Return a bound on the sum over all whole numbers but 0, no more than a little above it where it is small.

    >>> lattice_sum(np.eye(3)), 6 * math.exp(-2 * math.pi**2)  # the six shortest vectors
    (1.60...e-08, 1.60...e-08)
    >>> lattice_sum(np.zeros((1, 1)))
    inf
    """
    return _bounded(np.ascontiguousarray(form, dtype=np.float64).tobytes(), len(form)) if len(form) else 0.0


@lru_cache(maxsize=16)
def _bounded(form: bytes, size: int) -> float:
    """Return the bound of a form by its numbers: searches ask for the same ones again and again."""
    entries = np.frombuffer(form).reshape(size, size)
    given = (entries + entries.T) / 2
    pivots = _pivots(given, np.abs(given).sum(axis=1))[0]
    if (
        pivots.min() > SETTINGS.least_pivot
        and (plain := math.expm1(_log_product(RATE * pivots))) <= SETTINGS.negligible
    ):
        return plain
    short, basis = _reduced(given)
    pivots, shifts = _pivots(
        short, np.einsum("ij,jk,ik->i", np.abs(basis), np.abs(given), np.abs(basis), optimize=True)
    )
    if pivots.min() <= SETTINGS.least_pivot:
        return math.inf
    everything = math.expm1(_log_product(RATE * pivots))
    if everything <= SETTINGS.negligible:
        return everything
    counted, reach = _counted(pivots, shifts)
    beyond = min((1 - s) * -RATE * reach + _log_product(s * RATE * pivots) for s in np.linspace(0.05, 0.95, 19))
    return min(everything, counted + math.exp(min(beyond, 700.0))) if math.isfinite(beyond) else everything


def _log_product(rates: Floats) -> float:
    """Return the logarithm of the product of ϑ(a) over rates a; with few terms where they fall fast."""
    terms = 2 + int(6.5 / math.sqrt(rates.min()))
    if terms > 10_000:
        return math.inf
    squares = np.arange(1, terms + 1, dtype=np.float64) ** 2
    sums = 2 * np.exp(-np.outer(rates, squares)).sum(axis=1)
    return float(np.log1p(sums * (1 + 1e-12)).sum())


def _counted(pivots: Floats, shifts: Floats) -> tuple[float, float]:
    """Return the sum over all vectors up to some kᵀGk, without 0, and that number; the largest of a few it can do."""
    least = float(pivots.min())
    best = 0.0, 0.0
    for reach in (1.01 * least, 1.5 * least, 2 * least, 3 * least, 5 * least, 8 * least):
        norms = _norms(pivots, shifts, reach)
        if norms is None:
            break
        # What lies on the border may have been left out by rounding, so the others begin a little before it.
        best = float(np.exp(-RATE * norms).sum()) * (1 + 1e-9), reach * (1 - 1e-9)
        if RATE * reach > 60:
            break
    return best


def _norms(pivots: Floats, shifts: Floats, reach: float) -> Floats | None:
    """Return kᵀGk of all vectors but 0 with kᵀGk ≤ reach, by Fincke and Pohst; None if there are too many."""
    size = len(pivots)
    vectors = np.zeros((1, size))
    norms = np.zeros(1)
    visited = 0
    for i in reversed(range(size)):
        centres = vectors[:, i + 1 :] @ shifts[i, i + 1 :]
        widths = np.sqrt(np.maximum(reach - norms, 0.0) / pivots[i])
        low, high = np.ceil(-centres - widths), np.floor(-centres + widths)
        counts = np.maximum(0, high - low + 1).astype(np.int64)
        visited += int(counts.sum())
        if visited > SETTINGS.most_vectors * 4 or counts.sum() > SETTINGS.most_vectors:
            return None
        parents = np.repeat(np.arange(len(vectors)), counts)
        steps = np.arange(len(parents)) - np.repeat(np.cumsum(counts) - counts, counts)
        values = low[parents] + steps
        vectors = vectors[parents]
        vectors[:, i] = values
        norms = norms[parents] + pivots[i] * (values + centres[parents]) ** 2
    return np.asarray(norms[vectors.any(axis=1)])


def _pivots(form: Floats, summed: Floats) -> tuple[Floats, Floats]:
    """Return d and μ with kᵀGk = Σ d_i (k_i + Σ_{j>i} μ_ij k_j)², d rounded down; 0 where G is singular.

    Long vectors that nearly cancel leave little of their digits, so `summed` has what each row was added up from.
    """
    try:
        factor = np.linalg.cholesky(form)
    except np.linalg.LinAlgError:
        return np.zeros(len(form)), np.zeros(form.shape)
    rounding = SETTINGS.rounding * len(form) * np.maximum(summed, np.abs(form).max())
    return np.asarray(np.diag(factor) ** 2 - rounding), np.asarray((factor / np.diag(factor)).T)


def _reduced(form: Floats) -> tuple[Floats, Floats]:
    """Return the form in a shorter basis of the whole numbers, by the algorithm of Lenstra, Lenstra and Lovász (1982).

    Any basis has the same sum, so that stopping early costs sharpness and nothing else. The basis, as rows, tells what
    rounding may have cost.
    """
    form, basis, k = form.copy(), np.eye(len(form)), 1
    factor = np.zeros(form.shape)  # of Cholesky, its first k rows up to date
    factor[0, 0] = math.sqrt(max(form[0, 0], 0.0))
    for _ in range(SETTINGS.most_swaps):
        if k >= len(form) or not _with_row(factor, form, k):
            break
        lower = factor[k, :k] / np.diag(factor)[:k]
        j = k
        while len(long := np.flatnonzero(np.abs(lower[:j]) > 0.5)):
            j = int(long[-1])
            times = np.round(lower[j])
            lower[: j + 1] -= times * factor[j, : j + 1] / np.diag(factor)[: j + 1]
            form[k] -= times * form[j]
            form[:, k] -= times * form[:, j]
            basis[k] -= times * basis[j]
        factor[k, :k] = lower * np.diag(factor)[:k]
        if factor[k, k] ** 2 >= (SETTINGS.lovasz - lower[k - 1] ** 2) * factor[k - 1, k - 1] ** 2:
            k += 1
        else:
            form[[k - 1, k]] = form[[k, k - 1]]
            form[:, [k - 1, k]] = form[:, [k, k - 1]]
            basis[[k - 1, k]] = basis[[k, k - 1]]
            k = max(k - 1, 1)
            factor[0, 0] = math.sqrt(max(form[0, 0], 0.0))
    return form, basis


def _with_row(factor: Floats, form: Floats, k: int) -> bool:
    """Write row k of Cholesky's factor of a form below the rows before it; False where the form is singular there."""
    from scipy.linalg import solve_triangular

    if not factor[0, 0] > 0:
        return False
    factor[k, :k] = solve_triangular(factor[:k, :k], form[k, :k], lower=True, check_finite=False)
    left = form[k, k] - factor[k, :k] @ factor[k, :k]
    factor[k, k] = math.sqrt(max(left, 0.0))
    return bool(left > 0)
