"""Sums over a row's values that are the same for all rows of the reference, which no private row may change.

Counts of all values of a column add up to the records in every dataset of the model, so noise need not hide their sum.
A private row with a value that nobody counts would show in it, more of them in one scenario than in another.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.modelling.reference import ReferenceTable

__all__ = ["Ties"]

FLAT = 1e-12
"""A variance, in units of the square of the range, below which rows of the reference do not differ."""

OFF = 1e-6
"""How far, in units of the range, a row may be from what all others are without being another."""


@frozen(kw_only=True, eq=False)
class Ties:
    """Combinations of the values of a row that all rows of the reference have alike.

    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> ties = Ties(centre=np.array([0.5, 0.5]), ranges=np.ones(2), alike=np.full((2, 1), 0.5**0.5), rows=rows)
    >>> ties.read(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.2]])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]
    """

    centre: Floats
    ranges: Floats
    alike: Floats
    """One combination a column, of values less the centre in units of their ranges: 0 for all rows of the reference."""
    rows: Floats
    """Rows of the reference, each once."""

    @classmethod
    def of(cls, tables: Sequence[ReferenceTable]) -> Self:
        """Return what all rows of some tables have alike."""
        strata = [stratum for table in tables for stratum in table.moments(next(iter(table.predicates), None)).values()]
        means = np.array([stratum.mean for stratum in strata])
        low, high = np.min([s.low for s in strata], axis=0), np.max([s.high for s in strata], axis=0)
        ranges = np.where(high > low, high - low, 1.0)
        apart = (means - means.mean(axis=0)) / ranges
        spread = sum((s.covariance for s in strata), np.zeros((len(ranges), len(ranges)))) / np.outer(ranges, ranges)
        values, vectors = np.linalg.eigh(spread + apart.T @ apart)
        rows = np.unique(np.concatenate([table.probe.numbers for table in tables], axis=1).T, axis=0)
        centre, alike = means.mean(axis=0), vectors[:, values <= FLAT]
        off = np.abs(((rows - centre) / ranges) @ alike).max(axis=0, initial=0.0)
        return cls(centre=centre, ranges=ranges, alike=alike[:, off <= OFF], rows=rows)

    def read(self, values: Floats) -> Floats:
        """Return the values of rows, one row a column; one that has something else in common as the nearest known."""
        scaled = ((values.T - self.centre) / self.ranges) @ self.alike
        read = values.copy()
        for row in np.flatnonzero(np.abs(scaled).max(axis=1, initial=0.0) > OFF):
            apart = np.abs((self.rows - values[:, row]) / self.ranges).sum(axis=1)
            read[:, row] = self.rows[int(apart.argmin())]
        return read
