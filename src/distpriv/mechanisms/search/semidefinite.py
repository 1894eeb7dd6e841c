r"""What a release may tell at most, or the least noise, as a semidefinite program; a small matrix above others.

Clarabel, an interior-point method for such cones (Goulart and Chen 2024), solves the program; constraints hold but for
its tolerance, about one part in 10⁸.
"""

from functools import partial, reduce
from typing import Any

import numpy as np
from attrs import frozen
from scipy import sparse

from distpriv.framework.arrays import Floats
from distpriv.modelling.utility import Objective

__all__ = ["InformationProgram", "small_majorant"]


def small_majorant(weights: Floats, matrices: Floats) -> Floats:
    r"""Return S ⪰ A_k for all k with a small weighted trace tr(QS), Q diagonal: the least for two matrices.

    They are put above each other in turn. The least above two is
    :math:`A + Q^{-1/2} (Q^{1/2}(B - A)Q^{1/2})_+ Q^{-1/2}`: what is above 0 and above D has at least the trace of the
    positive part of D, as its trace inside the eigenspace of that part is no less. Weights, in units of the matrices,
    count as no further apart than 10⁸, as the rest is beyond double precision.
    """
    units = np.sqrt(np.abs(np.diagonal(matrices, axis1=1, axis2=2)).max(axis=0))
    units = np.where(units > 0, units, max(units.max(), 1.0))
    scaled = matrices / np.outer(units, units)
    cost = weights * units**2
    above = reduce(partial(_above_both, np.maximum(cost / cost.max(), 1e-8)), scaled)
    hair = 1e-15 * len(units) * float(np.abs(scaled).max())
    hair += max(0.0, -float(np.linalg.eigvalsh(above - scaled).min()))
    return np.asarray((above + hair * np.eye(len(units))) * np.outer(units, units))


def _above_both(cost: Floats, first: Floats, second: Floats) -> Floats:
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

    is a linear program but for the two matrix inequalities and the reach R. Of the noise itself, tr(QS) is the least
    where tr(WK⁻¹), W = Q, is: and that is the least tr(WX) with [[X, I], [I, K]] ⪰ 0, by the Schur complement.
    """

    worth: Floats
    """W, positive semidefinite: CQC, or Q for the least noise."""
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
    objective: Objective = "estimate"
    """Whether tr(WK) is to be large, or tr(WK⁻¹) small: the noise itself."""

    def best(self) -> Floats | None:
        """Return the K that tells most, or has the least noise, but for the solver's tolerance; None if there is none.

        The unknowns are the triangle of K and, for the least noise, that of X after it.
        """
        import clarabel

        size = len(self.worth)
        corner = np.tril_indices(size)
        unknowns = len(corner[0])
        one, worth = _triangle(np.eye(size)), _triangle(self.worth / np.trace(self.worth))
        rows: list[Any] = [
            -sparse.eye_array(unknowns),
            sparse.eye_array(unknowns),
            sparse.csc_array(_triangle(self.forms)),
        ]
        sides = [-self.least * one, one, self.bounds]
        cones = [clarabel.PSDTriangleConeT(size)] * 2 + [clarabel.NonnegativeConeT(len(self.bounds))]
        if self.centre is not None:
            rows += [sparse.csc_array((1, unknowns)), -sparse.eye_array(unknowns)]
            sides += [np.array([self.reach]), -_triangle(self.centre)]
            cones += [clarabel.SecondOrderConeT(unknowns + 1)]
        goal = -worth
        if self.objective == "noise":
            rows = [sparse.hstack([row, sparse.csc_array(row.shape)]) for row in rows]
            joint = np.arange(4 * size**2).reshape(2 * size, 2 * size)[np.tril_indices(2 * size)]
            of_k, of_x = (np.searchsorted(joint, (corner[0] + at) * 2 * size + corner[1] + at) for at in (size, 0))
            picked = np.append(of_k, of_x), np.arange(2 * unknowns)
            rows.append(sparse.csc_array((-np.ones(2 * unknowns), picked), shape=(len(joint), 2 * unknowns)))
            sides.append(_triangle(np.asarray(np.kron([[0.0, 1.0], [1.0, 0.0]], np.eye(size)), dtype=np.float64)))
            cones.append(clarabel.PSDTriangleConeT(2 * size))
            goal = np.append(np.zeros(unknowns), worth)
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        nothing, matrix = sparse.csc_matrix((len(goal), len(goal))), sparse.csc_matrix(sparse.vstack(rows))
        solution = clarabel.DefaultSolver(nothing, goal, matrix, np.concatenate(sides), cones, settings).solve()
        if str(solution.status) not in ("Solved", "AlmostSolved"):
            return None
        symmetric = np.zeros((size, size))
        scaled = np.array(solution.x)[:unknowns] / np.where(corner[0] == corner[1], 1.0, np.sqrt(2))
        symmetric[corner] = symmetric.T[corner] = scaled
        return symmetric


def _triangle(matrices: Floats) -> Floats:
    """Return the triangles of symmetric matrices as the solver reads them, with the same sums of squares."""
    rows, columns = np.tril_indices(matrices.shape[-1])
    return np.asarray(matrices[..., rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2)))
