r"""Estimates that could be true: counts that are not negative, with all sums that are the same in every dataset.

Linear estimates keep every combination of the statistics that does not vary, such as the sum of all cells of a table,
and know nothing of signs. The nearest point that has both, in standard errors, is found by Dykstra's alternating
projections, between the plane of the fixed combinations and the counts that are not negative. Both are convex and hold
the truth, so the point is no farther from it, in standard errors, than the estimate was.
"""

import numpy as np
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats

__all__ = ["possible"]

MOST_ROUNDS = 20_000
NEAR = 1e-10
"""How near, in standard errors, both sets must come to each other."""

FIXED = 1e-10
"""A share of the largest variance below which a combination does not vary."""


def possible(estimates: Floats, errors: Floats, covariance: Floats, counts: NDArray[np.bool_]) -> Floats:
    """Return the nearest estimates in which no count is negative, and that keep what does not vary.

    Args:
        estimates: what linear estimates are.
        errors: their standard errors, in which distances are measured.
        covariance: of the statistics before anything is released; what does not vary in it is kept.
        counts: which of the statistics cannot be negative.

    >>> estimates, errors = np.array([-1.0, 4.0, 7.0]), np.array([1.0, 1.0, 1.0])
    >>> sums_to_ten = np.eye(3) - 1 / 3
    >>> possible(estimates, errors, sums_to_ten, np.array([True, True, True])).round(6)
    array([0. , 3.5, 6.5])
    """
    moved = errors > 0
    if not (counts & moved & (estimates < 0)).any():
        return np.where(counts, np.maximum(estimates, 0.0), estimates)
    units = errors[moved]
    plane = _fixed(covariance[np.ix_(moved, moved)] / np.outer(units, units))
    least = np.where(counts[moved], -estimates[moved] / units, -np.inf)
    found = _nearest(plane, least)
    result = estimates.copy()
    result[moved] += units * found
    return np.where(counts, np.maximum(result, 0.0), result)


def _fixed(covariance: Floats) -> Floats:
    """Return an orthonormal basis, as columns, of what does not vary."""
    variances, axes = np.linalg.eigh(covariance)
    return np.asarray(axes[:, variances <= FIXED * max(float(variances.max(initial=0.0)), 0.0)])


def _nearest(plane: Floats, least: Floats) -> Floats:
    """Return the point nearest to 0 that is no less than `least` and orthogonal to the columns of `plane`."""
    point, carried = np.zeros(len(least)), np.zeros(len(least))
    for _ in range(MOST_ROUNDS):
        raised = np.maximum(point + carried, least)
        carried = point + carried - raised
        lowered = raised - plane @ (plane.T @ raised)
        apart = float(np.abs(lowered - raised).max())
        point = lowered
        if apart < NEAR:
            break
    return np.asarray(point)
