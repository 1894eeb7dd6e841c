"""Linear programs over symmetric matrices, solved by Clarabel, an interior-point method for such cones."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from scipy import sparse

from distpriv.framework.arrays import Floats

__all__ = ["solved", "triangle"]

SOLVED: Final = ("Solved", "AlmostSolved")


def solved(cost: Floats, rows: Sequence[Any], sides: Sequence[Floats], cones: Sequence[Any]) -> Floats | None:
    """Return the symmetric X with the least ⟨cost, X⟩ for which sides − rows · triangle(X) is in the cones, or None.

    The constraints hold but for the solver's tolerance, about one part in 10⁸.
    """
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    goal = triangle(cost)
    nothing, matrix = sparse.csc_matrix((len(goal), len(goal))), sparse.csc_matrix(sparse.vstack(rows))
    found = clarabel.DefaultSolver(nothing, goal, matrix, np.concatenate(sides), list(cones), settings).solve()
    if str(found.status) not in SOLVED:
        return None
    size = len(cost)
    lower, flat = np.tril_indices(size), np.array(found.x)
    symmetric = np.zeros((size, size))
    symmetric[lower] = symmetric.T[lower] = flat / np.where(lower[0] == lower[1], 1.0, np.sqrt(2))
    return symmetric


def triangle(matrices: Floats) -> Floats:
    """Return the triangles of symmetric matrices as the solver reads them, with the same sums of squares.

    >>> triangle(np.array([[1.0, 2.0], [2.0, 3.0]])).round(3)
    array([1.   , 2.828, 3.   ])
    """
    rows, columns = np.tril_indices(matrices.shape[-1])
    return np.asarray(matrices[..., rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2)))
