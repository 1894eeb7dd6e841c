"""The least matrix above several others: minimise tr(QS) subject to S ⪰ A_k, Q diagonal.

With two matrices there is a closed form. Several are a semidefinite program, whose solution is raised by its largest
violation; matrices that are not violated are left out until they are. Large ones are put above each other in turn.
"""

from typing import Final

import numpy as np
from scipy import sparse

from distpriv.framework.arrays import Floats
from distpriv.mechanisms.search.semidefinite import solved, triangle

__all__ = ["MOST_ROWS", "least_majorant", "least_majorant_of_one"]

MOST_ROWS: Final = 10
"""Of more than two matrices with more rows, for which the program takes seconds, S is above all but not the least."""


def least_majorant(weights: Floats, matrices: Floats, touching: float = 1e-9, added: int = 8) -> Floats:
    """Return S ⪰ A_k for all k, whose weighted trace is the least but for the tolerance of the solver.

    Of more than two matrices with more than 10 rows it is no more than a small one. Weights, in units of the matrices,
    count as no further apart than 10⁸, as the rest is beyond double precision.

    Args:
        weights: of the diagonal.
        matrices: one or more.
        touching: how far a matrix may be above, in units of the largest, to be only touched; a hair then covers it.
        added: how many of the violated matrices are added at a time.

    >>> least_majorant(np.ones(2), np.array([np.diag([1.0, 0.0]), np.diag([0.0, 4.0])])).round(6) + 0.0
    array([[1., 0.],
           [0., 4.]])
    """
    units = np.sqrt(np.abs(np.diagonal(matrices, axis1=1, axis2=2)).max(axis=0))
    units = np.where(units > 0, units, max(units.max(), 1.0))
    scaled = np.unique(matrices, axis=0) / np.outer(units, units)
    cost = weights * units**2
    cost = np.maximum(cost / cost.max(), 1e-8)
    used = np.argsort(-np.linalg.eigvalsh(scaled)[:, -1], kind="stable")[:added]
    while True:
        found = _above(cost, scaled[used])
        margins = np.linalg.eigvalsh(found - scaled)[:, 0]
        violated = np.setdiff1d(np.flatnonzero(margins < -touching), used)
        if not len(violated):
            break
        used = np.append(used, violated[np.argsort(margins[violated])][:added])
    hair = max(0.0, -float(margins.min())) + 1e-15 * len(units) * float(np.abs(scaled).max())
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


def _above(cost: Floats, matrices: Floats) -> Floats:
    """Return a matrix above all of these but for rounding: the least, unless they are many and large."""
    found = _by_program(cost, matrices) if len(matrices) > 2 and len(cost) <= MOST_ROWS else None
    if found is None:
        found = matrices[0]
        for matrix in matrices[1:]:
            found = _above_both(cost, found, matrix)
    return found


def _by_program(cost: Floats, matrices: Floats) -> Floats | None:
    import clarabel

    rows = [-sparse.eye_array(len(triangle(np.diag(cost))))] * len(matrices)
    cones = [clarabel.PSDTriangleConeT(len(cost))] * len(matrices)
    return solved(np.diag(cost), rows, list(-triangle(matrices)), cones)


def _above_both(cost: Floats, first: Floats, second: Floats) -> Floats:
    r"""Return the least matrix above two, :math:`A + Q^{-1/2} (Q^{1/2}(B - A)Q^{1/2})_+ Q^{-1/2}`.

    What is above 0 and above D has at least the trace of the positive part of D, as its trace inside the eigenspace of
    that part is no less.
    """
    root = np.sqrt(np.outer(cost, cost))
    values, vectors = np.linalg.eigh((second - first) * root)
    return np.asarray(first + (vectors * np.maximum(values, 0.0)) @ vectors.T / root)
