"""The lattice that the statistics live on: counts are whole, means of whole numbers are multiples of 1/n.

Noise that is fine against that lattice can be rounded away, so every model knows the step of each statistic. A
step is declared, or found on reference rows as the coarsest spacing on which a whole dataset can be expected to
lie. Coarser is the safe side, and one odd row among many must not hide the lattice of all the others: so the
spacing is taken over groups of about a dataset's size, and the coarsest of them counts.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats, Rows

__all__ = ["floor_of", "group_size", "integer_basis", "resolution_of_datasets", "spacing"]

GROUPS = 10
FINEST = 1e-5
"""Below this share of the range no spacing is looked for: noise of 1 % of the standard deviation covers it."""
ROUNDING = 1e-9
"""Differences this close to a multiple, as a share of the range, are multiples but for rounding."""


def group_size(records: int) -> int:
    """Return how many rows are looked at together; few rows share a spacing by accident."""
    return min(max(records, 100), 1000)


def spacing(samples: Iterable[Floats]) -> float:
    """Return the largest u such that inside each sample all differences are multiples of u; 0 if there is none.

    Several samples are several strata: a dataset has a fixed number of rows of each, so where one stratum
    lies relative to the other does not matter.

    >>> spacing([np.array([0.5, 1.5, 4.5])]), spacing([np.array([0.0, 4.0]), np.array([1.0, 7.0])])
    (1.0, 2.0)
    """
    gaps = np.concatenate([np.abs(sample - sample[0]) for sample in samples if len(sample)] or [np.zeros(0)])
    widest = gaps.max(initial=0.0)
    gaps = np.unique(gaps[gaps > ROUNDING * widest])
    if not len(gaps):
        return 0.0
    while True:
        # Euclid's algorithm on all gaps at once: what the smallest leaves over replaces the others.
        candidate = gaps[0]
        if candidate < FINEST * widest:
            return 0.0
        rest = np.abs(gaps - candidate * np.round(gaps / candidate))
        rest = rest[rest > ROUNDING * widest]
        if not len(rest):
            break
        gaps = np.unique(np.append(rest, candidate))
    # The widest gap is a whole multiple: dividing it gives the spacing with the least rounding.
    return float(widest / np.round(widest / candidate))


def floor_of(steps: Floats, covariances: Sequence[Floats]) -> Floats:
    """Return the least standard deviation h of noise on each statistic: its step, and 1 % of its own deviation.

    >>> floor_of(np.array([1.0, 0.0]), [np.diag([4.0, 9.0]), np.diag([4.0, 25.0])])
    array([1.  , 0.03])
    """
    deviations = [np.sqrt(np.maximum(np.diag(covariance), 0.0)) for covariance in covariances]
    return np.asarray(np.maximum(steps, 0.01 * np.min(deviations, axis=0)))


def resolution_of_datasets(strata: Sequence[tuple[Floats, Rows]], records: int) -> float:
    """Return the coarsest spacing over groups of rows, each about as large as a dataset.

    Args:
        strata: values of probed rows and the positions of each stratum's rows, in random order.
        records: the size of a dataset.

    Returns:
        The spacing; 0 when the values are finer than can matter, or all the same.
    """
    size = group_size(records)
    groups = min(GROUPS, max(1, max(len(rows) for _, rows in strata) // size))
    return max(spacing(values[rows[k::groups]] for values, rows in strata) for k in range(groups))


def integer_basis(vectors: Rows) -> Floats:
    """Return a basis, as columns, of the lattice that integer vectors generate.

    Statistics that are tied together (two counts that always add up to an even number, say) live on a coarser lattice
    than each of them alone would tell, and noise must be coarse against that one.

    >>> integer_basis(np.array([[2, 0], [1, 1], [0, 2]])).tolist()
    [[1.0, 0.0], [1.0, 2.0]]
    """
    width = vectors.shape[1]
    pivots: dict[int, NDArray[np.object_]] = {}
    for vector in np.unique(vectors, axis=0).astype(object):  # whole numbers of any size: an overflow would be unsafe
        _insert(pivots, vector)
        if len(pivots) == width and all(abs(pivots[k][k]) == 1 for k in pivots):
            return np.eye(width)
    for column in sorted(pivots, reverse=True):
        pivots[column] = _reduced(pivots, pivots[column], column)
    return np.array([pivots[k] for k in sorted(pivots)], dtype=np.float64).reshape(len(pivots), width).T


def _insert(pivots: dict[int, NDArray[np.object_]], vector: NDArray[np.object_]) -> None:
    """Bring a vector into echelon form with the others, by Euclid's algorithm column by column."""
    for column in range(len(vector)):
        if not vector[column]:
            continue
        if column not in pivots:
            pivots[column] = _reduced(pivots, vector, column)
            return
        pivot = pivots[column]
        while vector[column]:
            pivot, vector = vector, pivot - (pivot[column] // vector[column]) * vector
        pivots[column] = _reduced(pivots, pivot, column)
        vector = _reduced(pivots, vector, column)


def _reduced(pivots: dict[int, NDArray[np.object_]], vector: NDArray[np.object_], column: int) -> NDArray[np.object_]:
    """Subtract the pivots of later columns, so that entries stay small."""
    for later in sorted(k for k in pivots if k > column):
        times = vector[later] // pivots[later][later]
        if times:
            vector = vector - times * pivots[later]
    return vector
