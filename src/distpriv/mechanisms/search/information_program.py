r"""What a release may tell at most of the statistics: a linear semidefinite program.

Let K = (C + S)⁻¹ be what a release tells, C the covariance of what is publicly unknown and S that of the noise, in
coordinates in which C + floor is the identity. An estimate removes tr(WK) of the weighted uncertainty, W = CQC, so

.. math:: \max \operatorname{tr}(WK) \quad\text{subject to}\quad κI ⪯ K ⪯ I, \quad ⟨A_k, K⟩ ≤ b_k,
    \quad \lVert K - K_0 \rVert ≤ R

is a linear program but for the two matrix inequalities and the reach R. It is solved by Clarabel, an interior-point
method for exactly such cones. A barrier of our own, as for the least majorant, was tried first: where many linear
constraints are nearly active, and K has to turn while one of its eigenvalues is near κ, its steps become tiny.
"""

from typing import Final

import numpy as np
from attrs import frozen
from scipy.sparse import csc_matrix

from distpriv.framework.arrays import Floats

__all__ = ["InformationProgram"]

SOLVED: Final = ("Solved", "AlmostSolved")


@frozen(kw_only=True, eq=False)
class InformationProgram:
    """A program in coordinates in which all that the floor lets through is the identity.

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
        one, unknowns = _flat(np.eye(size)), size * (size + 1) // 2
        rows = [-np.eye(unknowns), np.eye(unknowns), _flat(self.forms)]
        sides = [-self.least * one, one, self.bounds]
        cones = [clarabel.PSDTriangleConeT(size)] * 2 + [clarabel.NonnegativeConeT(len(self.bounds))]
        if self.centre is not None:
            rows += [np.zeros((1, unknowns)), -np.eye(unknowns)]
            sides += [np.array([self.reach]), -_flat(self.centre)]
            cones += [clarabel.SecondOrderConeT(unknowns + 1)]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        gain = -_flat(self.worth) / np.trace(self.worth)
        nothing, matrix = csc_matrix((unknowns, unknowns)), csc_matrix(np.concatenate(rows))
        found = clarabel.DefaultSolver(nothing, gain, matrix, np.concatenate(sides), cones, settings).solve()
        return _matrix(np.array(found.x), size) if str(found.status) in SOLVED else None


def _flat(matrices: Floats) -> Floats:
    """Return the triangles of symmetric matrices as the solver reads them, with the same sums of squares."""
    rows, columns = np.tril_indices(matrices.shape[-1])
    return np.asarray(matrices[..., rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2)))


def _matrix(flat: Floats, size: int) -> Floats:
    rows, columns = np.tril_indices(size)
    found = np.zeros((size, size))
    found[rows, columns] = found[columns, rows] = flat / np.where(rows == columns, 1.0, np.sqrt(2))
    return found
