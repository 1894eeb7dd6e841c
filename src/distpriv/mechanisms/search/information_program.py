r"""What a release may tell at most of the statistics: a linear semidefinite program.

Let K = (C + S)⁻¹ be what a release tells, C the covariance of what is publicly unknown and S that of the noise, in
coordinates in which C + floor is the identity. An estimate removes tr(WK) of the weighted uncertainty, W = CQC, so

.. math:: \max \operatorname{tr}(WK) \quad\text{subject to}\quad κI ⪯ K ⪯ I, \quad ⟨A_k, K⟩ ≤ b_k,
    \quad \lVert K - K_0 \rVert ≤ R

is a linear program but for the two matrix inequalities and the reach R.
"""

import numpy as np
from attrs import frozen
from scipy import sparse

from distpriv.framework.arrays import Floats
from distpriv.mechanisms.search.semidefinite import solved, triangle

__all__ = ["InformationProgram"]


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
        one, unknowns = triangle(np.eye(size)), size * (size + 1) // 2
        rows = [-sparse.eye_array(unknowns), sparse.eye_array(unknowns), triangle(self.forms)]
        sides = [-self.least * one, one, self.bounds]
        cones = [clarabel.PSDTriangleConeT(size)] * 2 + [clarabel.NonnegativeConeT(len(self.bounds))]
        if self.centre is not None:
            rows += [sparse.csc_matrix((1, unknowns)), -sparse.eye_array(unknowns)]
            sides += [np.array([self.reach]), -triangle(self.centre)]
            cones += [clarabel.SecondOrderConeT(unknowns + 1)]
        return solved(-self.worth / np.trace(self.worth), rows, sides, cones)
