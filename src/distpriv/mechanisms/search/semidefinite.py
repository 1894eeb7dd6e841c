r"""Linear programs over symmetric matrices: the least matrix above several others, and the most that may be told.

Clarabel, an interior-point method for such cones (Goulart and Chen 2024), solves both; constraints hold but for its
tolerance, about one part in 10⁸.
"""

from collections.abc import Sequence
from functools import partial, reduce
from typing import Any, Final

import numpy as np
from attrs import frozen
from scipy import sparse

from distpriv.framework.arrays import Floats

__all__ = ["MOST_ROWS", "InformationProgram", "least_majorant"]

MOST_ROWS: Final = 10
"""Of more than two matrices with more rows, for which the program takes seconds, S is above all but not the least."""


def least_majorant(weights: Floats, matrices: Floats, touching: float = 1e-9, added: int = 8) -> Floats:
    """Return S ⪰ A_k for all k, whose weighted trace tr(QS), Q diagonal, is the least but for the solver's tolerance.

    With two matrices there is a closed form. Several are a semidefinite program, whose solution is raised by its
    largest violation; matrices that are not violated are left out until they are. Large ones are put above each other
    in turn, which gives a small S and not the least. Weights, in units of the matrices, count as no further apart than
    10⁸, as the rest is beyond double precision.

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
        least = _above_all(cost, scaled[used])
        margins = np.linalg.eigvalsh(least - scaled)[:, 0]
        violated = np.setdiff1d(np.flatnonzero(margins < -touching), used)
        if not len(violated):
            break
        used = np.append(used, violated[np.argsort(margins[violated])][:added])
    hair = max(0.0, -float(margins.min())) + 1e-15 * len(units) * float(np.abs(scaled).max())
    return np.asarray((least + hair * np.eye(len(units))) * np.outer(units, units))


def _above_all(cost: Floats, matrices: Floats) -> Floats:
    """Return a matrix above all of these but for rounding: the least, unless they are many and large."""
    if len(matrices) > 2 and len(cost) <= MOST_ROWS:
        import clarabel

        rows = [-sparse.eye_array(len(_triangle(np.diag(cost))))] * len(matrices)
        cones = [clarabel.PSDTriangleConeT(len(cost))] * len(matrices)
        solution = _solved(np.diag(cost), rows, list(-_triangle(matrices)), cones)
        if solution is not None:
            return solution
    return reduce(partial(_above_both, cost), matrices)


def _above_both(cost: Floats, first: Floats, second: Floats) -> Floats:
    r"""Return the least matrix above two, :math:`A + Q^{-1/2} (Q^{1/2}(B - A)Q^{1/2})_+ Q^{-1/2}`.

    What is above 0 and above D has at least the trace of the positive part of D, as its trace inside the eigenspace of
    that part is no less.
    """
    root = np.sqrt(np.outer(cost, cost))
    values, vectors = np.linalg.eigh((second - first) * root)
    return np.asarray(first + (vectors * np.maximum(values, 0.0)) @ vectors.T / root)


@frozen(kw_only=True, eq=False)
class InformationProgram:
    r"""What a release may tell at most of the statistics.

    Let K = (C + S)⁻¹ be what a release tells, C the covariance of what is publicly unknown and S that of the noise, in
    coordinates in which C + floor is the identity. An estimate removes tr(WK) of the weighted uncertainty, W = CQC, so

    .. math:: \max \operatorname{tr}(WK) \quad\text{subject to}\quad κI ⪯ K ⪯ I, \quad ⟨A_k, K⟩ ≤ b_k,
        \quad \lVert K - K_0 \rVert ≤ R

    is a linear program but for the two matrix inequalities and the reach R.

    >>> shift = np.array([[0.0, 0.0], [0.0, 1.0]])
    >>> program = InformationProgram(worth=np.eye(2), least=0.0, forms=shift[np.newaxis], bounds=np.array([0.25]))
    >>> program.best().round(6) + 0.0
    array([[1.  , 0.  ],
           [0.  , 0.25]])
    """

    worth: Floats
    """W, positive semidefinite."""
    least: float
    """κ: what is told at least of every combination, so that noise is no wider than can be read."""
    forms: Floats
    """The A_k."""
    bounds: Floats
    """The b_k."""
    centre: Floats | None = None
    """K₀, if K is to be near one."""
    reach: float = np.inf
    """R, by the root of the sum of squares."""

    def best(self) -> Floats | None:
        """Return the K that tells most, but for the solver's tolerance; None if it finds none."""
        import clarabel

        size = len(self.worth)
        one, unknowns = _triangle(np.eye(size)), size * (size + 1) // 2
        rows = [-sparse.eye_array(unknowns), sparse.eye_array(unknowns), _triangle(self.forms)]
        sides = [-self.least * one, one, self.bounds]
        cones = [clarabel.PSDTriangleConeT(size)] * 2 + [clarabel.NonnegativeConeT(len(self.bounds))]
        if self.centre is not None:
            rows += [sparse.csc_matrix((1, unknowns)), -sparse.eye_array(unknowns)]
            sides += [np.array([self.reach]), -_triangle(self.centre)]
            cones += [clarabel.SecondOrderConeT(unknowns + 1)]
        return _solved(-self.worth / np.trace(self.worth), rows, sides, cones)


def _solved(cost: Floats, rows: Sequence[Any], sides: Sequence[Floats], cones: Sequence[Any]) -> Floats | None:
    """Return the symmetric X with the least ⟨cost, X⟩ for which sides − rows · triangle(X) is in the cones, or None."""
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    goal = _triangle(cost)
    nothing, matrix = sparse.csc_matrix((len(goal), len(goal))), sparse.csc_matrix(sparse.vstack(rows))
    solution = clarabel.DefaultSolver(nothing, goal, matrix, np.concatenate(sides), list(cones), settings).solve()
    if str(solution.status) not in ("Solved", "AlmostSolved"):
        return None
    size = len(cost)
    lower, flat = np.tril_indices(size), np.array(solution.x)
    symmetric = np.zeros((size, size))
    symmetric[lower] = symmetric.T[lower] = flat / np.where(lower[0] == lower[1], 1.0, np.sqrt(2))
    return symmetric


def _triangle(matrices: Floats) -> Floats:
    """Return the triangles of symmetric matrices as the solver reads them, with the same sums of squares.

    >>> _triangle(np.array([[1.0, 2.0], [2.0, 3.0]])).round(3)
    array([1.   , 2.828, 3.   ])
    """
    rows, columns = np.tril_indices(matrices.shape[-1])
    return np.asarray(matrices[..., rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2)))
