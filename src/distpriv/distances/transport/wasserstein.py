r"""The ∞-Wasserstein distance of two weighted point sets: how far the farthest mass must move.

.. math:: W_∞(P, Q) = \min_π \max \{ \|x - y\| : π(x, y) > 0 \}

over all couplings π. It is the sensitivity of the Wasserstein mechanism (Theorem 3.1). Exact for the points given; as a
statement about the laws that points were sampled from it is an estimate.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from distpriv.distances.transport.graph import flow_along, pairs_within
from distpriv.distances.transport.line import monotone_coupling
from distpriv.distances.transport.point_sets import PointSets, distance
from distpriv.distances.transport.search import RadiusSearch
from distpriv.errors import InvalidInput

__all__ = ["wasserstein_inf", "wasserstein_inf_coupling"]


def wasserstein_inf(
    x: ArrayLike,
    y: ArrayLike,
    x_weights: ArrayLike | None = None,
    y_weights: ArrayLike | None = None,
    norm: float = 1,
) -> float:
    r"""The least W such that some coupling moves all of the mass by at most W.

    On the line it is the largest difference of quantiles. In several dimensions it is the least distance of a pair such
    that the pairs up to it carry all of the mass, found by maximum flow in whole numbers. The result is
    the distance of one of the pairs, to the last bit.

    Args:
        x: Points of the first law, of shape (n,) or (n, m).
        y: Points of the second law.
        x_weights: Their probabilities, which mean the decimals they are written as; None for equal ones. A sum that
            misses 1 by no more than 1e-9 is taken for rounding, and divided out exactly.
        y_weights: Likewise.
        norm: The ground metric: 1, 2 or ``math.inf``.

    Raises:
        InvalidInput: If the points or weights cannot be used, or a point with mass is at infinity.

    Figure 1 of the paper:

    >>> import distpriv as dp
    >>> dp.distances.wasserstein_inf([1, 2, 3, 100], [1, 2, 3, 100], [0.6, 0.2, 0, 0.2], [0.4, 0.3, 0.2, 0.1])
    97.0
    """
    sets = _finite(PointSets.checked(x, y, x_weights, y_weights, norm))
    if sets.x.shape[1] > 1:
        return RadiusSearch.between(sets).least(sets.total)
    first, second, _ = monotone_coupling(sets)
    return float(distance(sets.x[first], sets.y[second], sets.norm).max())


def wasserstein_inf_coupling(
    x: ArrayLike,
    y: ArrayLike,
    x_weights: ArrayLike | None = None,
    y_weights: ArrayLike | None = None,
    norm: float = 1,
) -> csr_array:
    """A coupling that moves no mass farther than :func:`wasserstein_inf`: the mass of each pair, rounded once.

    Takes the same arguments; rows are points of `x` and columns points of `y`.

    >>> import distpriv as dp
    >>> dp.distances.wasserstein_inf_coupling([0, 1], [5, 6, 7], [0.5, 0.5], [0.25, 0.25, 0.5]).toarray()
    array([[0.25, 0.25, 0.  ],
           [0.  , 0.  , 0.5 ]])
    """
    sets = _finite(PointSets.checked(x, y, x_weights, y_weights, norm))
    if sets.x.shape[1] == 1:
        first, second, masses = monotone_coupling(sets)
    else:
        pairs = pairs_within(sets, RadiusSearch.between(sets).least(sets.total))
        flow = flow_along(pairs, sets.x_masses, sets.y_masses)
        first, second = pairs.x[flow.place].astype(np.int64), pairs.y[flow.place].astype(np.int64)
        masses = flow.mass
    share = np.array([mass / sets.total for mass in masses.tolist()])
    places = (sets.x_positions[first], sets.y_positions[second])
    shape = (np.shape(x)[0], np.shape(y)[0])
    return csr_array((share, places), shape=shape)


def _finite(sets: PointSets) -> PointSets:
    if sets.lost:
        raise InvalidInput(
            "x and y must be finite, but a point with mass is at infinity, so W∞ is infinite; remove it, or allow for "
            "its mass with closeness_radius."
        )
    return sets
