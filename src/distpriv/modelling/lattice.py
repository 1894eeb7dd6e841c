"""The lattice that the statistics live on: counts are whole, means of whole numbers are multiples of 1/n.

Noise that is fine against that lattice can be rounded away, so every model knows the step of each statistic. A
step is declared, or found on reference rows as the coarsest spacing on which a whole dataset can be expected to
lie. Coarser is the safe side, and one odd row among many must not hide the lattice of all the others: so the
spacing is taken over groups of about a dataset's size, and the coarsest of them counts.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from distpriv.framework.arrays import Floats, Rows

__all__ = ["group_size", "resolution_of_datasets", "spacing"]

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
