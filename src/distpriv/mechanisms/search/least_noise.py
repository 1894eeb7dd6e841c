"""The Gaussian noise of the least weighted mean square: from what would do if covariances were equal, downhill.

`docs/proofs/certified_gaussian.md`, "The least noise".
"""

from collections.abc import Sequence
from functools import cache

import numpy as np

from distpriv.distances.gaussian import analytic_radius, mahalanobis
from distpriv.framework.arrays import Floats
from distpriv.mechanisms.search.gaussian_search import Search
from distpriv.mechanisms.search.least_majorant import MOST_ROWS, least_majorant, least_majorant_of_one
from distpriv.progress import Progress, silent

__all__ = ["least_noise", "pooled_noise"]

STARTS, MANY_STATISTICS = 2, 10
"""How many shapes are descended from; with more statistics than these, where that is slow, one."""


def least_noise(search: Search, progress: Progress = silent) -> Floats | None:
    """Return private noise with a small trace, a local minimum as a rule; None if no scaling makes it private.

    The result is never worse than noise of the same size on all statistics, or than the noise that would do with pooled
    covariances, above the floor and scaled until it is private.
    """
    if search.satisfied:
        return search.lowest
    size = len(search.costs)
    shapes = [np.eye(size)] if size == 1 else [np.eye(size), pooled_noise(search) - search.lowest]
    shapes = [shape for shape in shapes if np.trace(shape) > 0]
    found = search.cheapest(
        [search.scaled(search.lowest, shape) for shape in shapes]
        + [search.scaled(search.lowest + shape, search.lowest + shape) for shape in shapes]
    )
    starts = 0 if size == 1 else STARTS if size <= MANY_STATISTICS else 1
    descended = []
    for k, start in enumerate(found[:starts]):
        progress("descending", k, starts)
        descended.append(search.descended(start))
    progress("descending", starts, starts)
    return next(iter(search.cheapest([*found, *descended])), None)


def pooled_noise(search: Search) -> Floats:
    r"""Return the least noise above the floor that hides every shift, the covariances of a pair replaced by their mean.

    With one covariance a pair is private exactly if :math:`dᵀ(Σ + S)^{-1}d ≤ r^2`, which is :math:`S ⪰ ddᵀ/r^2 - Σ`.
    """
    radius = cache(analytic_radius)
    radii = np.array([radius(float(e), float(d)) for e, d in zip(search.epsilons, search.deltas, strict=True)])
    pooled = (search.firsts + search.seconds) / 2
    hidden = [
        (shift, covariance)
        for shift, covariance in zip(search.shifts / np.maximum(radii, 1e-100)[:, np.newaxis], pooled, strict=True)
        if mahalanobis(shift, covariance + search.lowest) > 1
    ]
    if len(hidden) <= 1 or len(search.costs) > MOST_ROWS:
        return _one_by_one(search.costs, search.lowest, hidden)
    return least_majorant(search.costs, np.array([*(np.outer(d, d) - c for d, c in hidden), search.lowest]))


def _one_by_one(costs: Floats, lowest: Floats, hidden: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Return the lowest noise with what is missing of it for every shift on top, the farthest first.

    S = L + T is above L and ddᵀ − Σ if T is above 0 and ddᵀ − (Σ + L): of one shift there is a closed form.
    """
    found = lowest
    for shift, covariance in sorted(hidden, key=lambda pair: -mahalanobis(pair[0], pair[1] + lowest)):
        if mahalanobis(shift, covariance + found) > 1:
            along = least_majorant_of_one(costs, shift, covariance + found)
            found = found + np.outer(along, along)
    return found
