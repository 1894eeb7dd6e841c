"""The least matrix above several others: minimise tr(QS) subject to S ⪰ A_k, Q diagonal.

With two matrices there is a closed form. With several, Newton's method on the barrier
t tr(QS) − Σ_k log det(S − A_k) is never more than (rows of all constraints)/t above the optimum, and always feasible
(`docs/proofs/optimal_gaussian.md`). Matrices that are not violated are left out until they are. A step of it takes time
with the sixth power of the number of rows, so that large ones are put above each other in turn instead.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats

__all__ = ["least_majorant", "least_majorant_of_one"]

GAP: Final = 1e-9
"""The share of the optimum by which the trace may exceed it."""
WIDEST: Final = 1e8
"""Weights, in units of the matrices, count as no further apart than this: the rest is beyond double precision."""
ADDED: Final = 8
"""Violated matrices that are added at a time."""
TOUCHING: Final = 1e-11
"""A matrix that is violated by less than this, in units of the largest, is touched; a hair on top then covers it."""
GROWTH: Final = 100.0
MOST_ROWS: Final = 60
"""Of more than two matrices with more rows, S is above all of them and need not be the least."""


def least_majorant(weights: Floats, matrices: Floats) -> Floats:
    """Return S ⪰ A_k for all k, whose weighted trace is the least but for one part in 10⁹.

    Of more than two matrices with more than 60 rows it is no more than a small one.

    >>> least_majorant(np.ones(2), np.array([np.diag([1.0, 0.0]), np.diag([0.0, 4.0])])).round(6) + 0.0
    array([[1., 0.],
           [0., 4.]])
    """
    units = np.sqrt(np.abs(np.diagonal(matrices, axis1=1, axis2=2)).max(axis=0))
    units = np.where(units > 0, units, max(units.max(), 1.0))
    scaled = np.unique(matrices, axis=0) / np.outer(units, units)
    cost = weights * units**2
    cost = np.maximum(cost / cost.max(), 1 / WIDEST)
    used = _first(scaled)
    while True:
        found = _above(cost, scaled[used])
        margins = np.linalg.eigvalsh(found - scaled)[:, 0]
        violated = np.setdiff1d(np.flatnonzero(margins < -TOUCHING), used)
        if not len(violated):
            break
        used = np.append(used, violated[np.argsort(margins[violated])][:ADDED])
    hair = max(0.0, -float(margins.min())) + 1e-15 * float(np.abs(scaled).max())
    return np.asarray((found + hair * np.eye(len(units))) * np.outer(units, units))


def least_majorant_of_one(weights: Floats, shift: Floats, covariance: Floats) -> Floats:
    r"""Return y with yyᵀ the least majorant of 0 and ddᵀ − Σ, where :math:`dᵀΣ^{-1}d > 1`.

    That is :math:`Q^{-1/2} (Q^{1/2}(ddᵀ - Σ)Q^{1/2})_+ Q^{-1/2}`, and what is in the brackets has one positive
    eigenvalue λ: the root of :math:`dᵀ(Σ + λQ^{-1})^{-1}d = 1`. Found so, and not by an eigenvalue solver, it does not
    care for the statistics' units.

    >>> least_majorant_of_one(np.ones(2), np.array([2.0, 0.0]), np.diag([1.0, 5.0])).round(6)
    array([1.732051, 0.      ])
    """
    units = np.sqrt(shift**2 + np.diag(covariance))
    units = np.where(units > 0, units, 1.0)
    moved, cost = shift / units, weights * units**2
    high = float(cost @ moved**2)
    low, high = np.log(high) - 70.0, np.log(high)
    # The root λ of dᵀ(Σ + λQ⁻¹)⁻¹d = 1, bisected in its logarithm; dᵀQd is above it.
    while high - low > 1e-15 * max(1.0, abs(high)) and low < (middle := (low + high) / 2) < high:
        inside = moved @ _against(moved, covariance / np.outer(units, units), np.exp(middle) / cost) <= 1
        low, high = (low, middle) if inside else (middle, high)
    along = _against(moved, covariance / np.outer(units, units), np.exp(high) / cost) / cost
    return np.asarray(units * along * np.sqrt(np.exp(high) / (cost @ along**2)))


def _against(shift: Floats, covariance: Floats, added: Floats) -> Floats:
    """Solve (Σ + diag(added)) z = d, in units in which the matrix has a diagonal of ones."""
    total = covariance + np.diag(added)
    units = np.sqrt(np.diag(total))
    return np.asarray(np.linalg.solve(total / np.outer(units, units), shift / units) / units)


def _first(scaled: Floats) -> NDArray[np.intp]:
    """Return which matrices to begin with: those that stick out most, on their own."""
    count = max(ADDED, scaled.shape[1])
    return np.asarray(np.argsort(-np.linalg.eigvalsh(scaled)[:, -1], kind="stable")[:count])


def _above(cost: Floats, matrices: Floats) -> Floats:
    """Return a matrix above all of these: the least, unless they are many and large."""
    if len(matrices) > 2 and matrices.shape[1] <= MOST_ROWS:
        return _barrier(cost, matrices)
    found: Floats = matrices[0]
    for matrix in matrices[1:]:
        found = _above_both(cost, found, matrix)
    return found


def _above_both(cost: Floats, first: Floats, second: Floats) -> Floats:
    r"""Return the least matrix above two, :math:`A + Q^{-1/2} (Q^{1/2}(B - A)Q^{1/2})_+ Q^{-1/2}`.

    What is above 0 and above D has at least the trace of the positive part of D, as its trace inside the eigenspace of
    that part is no less.
    """
    root = np.sqrt(np.outer(cost, cost))
    values, vectors = np.linalg.eigh((second - first) * root)
    return np.asarray(first + (vectors * np.maximum(values, 0.0)) @ vectors.T / root)


def _barrier(cost: Floats, matrices: Floats) -> Floats:
    """Minimise over the matrices given, in units in which they and the cost are of order 1."""
    count, size = matrices.shape[:2]
    top = float(np.linalg.eigvalsh(matrices)[:, -1].max())
    found = (top + max(abs(top), float(np.abs(matrices).max()) * 1e-3)) * np.eye(size)
    rows = count * size
    sharpness = rows / float(cost.sum() * np.abs(np.diag(found)).max())
    while True:
        found = _centred(cost, matrices, found, sharpness)
        if rows / sharpness <= GAP * abs(float(cost @ np.diag(found))):
            return found
        if sharpness > 1e15 * rows / float(np.abs(matrices).max()):
            return found
        sharpness *= GROWTH


def _centred(cost: Floats, matrices: Floats, found: Floats, sharpness: float) -> Floats:
    """Minimise the barrier for one t by Newton's method with halved steps."""
    upper = np.triu_indices(len(cost))
    height = _height(cost, matrices, found, sharpness)
    for _ in range(50):
        inverses = np.linalg.inv(found - matrices)
        inverses = (inverses + inverses.transpose(0, 2, 1)) / 2
        gradient = sharpness * np.diag(cost) - inverses.sum(axis=0)  # tQ − Σ_k (S − A_k)⁻¹
        direction, decrement = _newton(inverses, gradient, upper)
        if not decrement > 1e-10:
            break
        step, trial = 1.0, found + direction
        while not (lower := _height(cost, matrices, trial, sharpness)) < height:
            step /= 2
            if step < 1e-8:
                return found
            trial = found + step * direction
        found, height = trial, lower
        if decrement < 1e-4 and step == 1:
            break
    return found


def _height(cost: Floats, matrices: Floats, found: Floats, sharpness: float) -> float:
    """Return the barrier function, infinite outside of the feasible set."""
    try:
        factors = np.linalg.cholesky(found - matrices)
    except np.linalg.LinAlgError:
        return np.inf
    logarithms = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum()
    return float(sharpness * (cost @ np.diag(found)) - 2 * logarithms)


def _newton(inverses: Floats, gradient: Floats, upper: tuple[NDArray[Any], ...]) -> tuple[Floats, float]:
    """Solve Σ_k X_k⁻¹ D X_k⁻¹ = −gradient for symmetric D; return it with the squared Newton decrement."""
    size = len(gradient)
    flat = inverses.reshape(len(inverses), -1)
    products = (flat.T @ flat).reshape(size, size, size, size)
    i, j = (index[:, np.newaxis] for index in upper)
    p, q = (index[np.newaxis, :] for index in upper)
    # In coordinates with off-diagonal entries times √2 the inner product is that of matrices.
    scale = np.where(upper[0] == upper[1], np.sqrt(0.5), 1.0)
    hessian = (products[i, p, j, q] + products[i, q, j, p]) * np.outer(scale, scale)
    right = -gradient[upper] * scale * np.sqrt(2.0)
    solution = _solved(hessian, right)
    direction = np.zeros((size, size))
    direction[upper] = solution * scale / np.sqrt(2.0)
    direction = direction + direction.T
    return direction, float(right @ solution)


def _solved(hessian: Floats, right: Floats) -> Floats:
    from scipy.linalg import cho_factor, cho_solve

    diagonal = 1 / np.sqrt(np.diag(hessian))
    scaled = hessian * np.outer(diagonal, diagonal)
    for ridge in (0.0, 1e-14, 1e-12, 1e-10, 1e-8):
        try:
            factor = cho_factor(scaled + ridge * np.eye(len(scaled)) if ridge else scaled, check_finite=False)
        except np.linalg.LinAlgError:
            continue
        return np.asarray(cho_solve(factor, right * diagonal) * diagonal)
    return np.zeros_like(right)
