"""What the rows of a stratum add to the statistics, and how likely each of them is to be drawn."""

from functools import cached_property
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats, Rows

__all__ = ["StratumRows", "as_stratum_rows"]

SEED = 47
"""Of the combination by which equal rows are found."""


@frozen(kw_only=True, eq=False, slots=False)
class StratumRows:
    """Rows, and the probability of each; it is no array, so that nobody takes a mean of it and forgets these.

    >>> even = StratumRows(values=np.array([[0.0], [4.0]]))
    >>> uneven = StratumRows(values=np.array([[0.0], [4.0]]), weights=np.array([0.75, 0.25]))
    >>> even.mean, uneven.mean, even.variances, uneven.variances, uneven.about_mean.ravel()
    (array([2.]), array([1.]), array([4.]), array([3.]), array([-1.,  3.]))
    """

    values: Floats
    """One row each."""
    weights: Floats | None = None
    """The probability of each row, with a sum of 1; None where all are as likely."""

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def shares(self) -> Floats:
        """The probability of each row, also where all are as likely."""
        return np.full(len(self.values), 1 / max(len(self.values), 1)) if self.weights is None else self.weights

    def average(self, of: NDArray[Any]) -> Any:
        """Return the mean of something of each row, along the first axis."""
        return of.mean(axis=0) if self.weights is None else self.weights @ of

    def projected(self, direction: Floats) -> tuple[Floats, Floats | None]:
        """Return the rows along a direction and their chances, none where all are as likely: equal rows but once."""
        kinds, counts = self.kinds
        if len(kinds) == len(self):
            return self.values @ direction, self.weights
        return self.values[kinds] @ direction, counts / counts.sum()

    def along(self, axes: Floats) -> "StratumRows":
        """Return the rows in other coordinates, with the weights that they have."""
        return StratumRows(values=self.values @ axes, weights=self.weights)

    @cached_property
    def mean(self) -> Floats:
        """The mean of a row."""
        return np.asarray(self.average(self.values))

    @property
    def about_mean(self) -> Floats:
        """The rows less their mean."""
        return np.asarray(self.values - self.mean)

    @cached_property
    def kinds(self) -> tuple[Rows, Floats]:
        """The numbers of rows no two of which are equal, and how many rows each stands for, weights counted.

        >>> StratumRows(values=np.array([[0.0], [4.0], [0.0], [0.0]])).kinds
        (array([0, 1]), array([3., 1.]))
        """
        keys = self.values @ np.random.default_rng(SEED).normal(size=self.values.shape[1])
        _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
        if 2 * len(first) > len(self) or not np.array_equal(self.values, self.values[first[kind]]):
            return np.arange(len(self)), self.shares * len(self)
        in_order = np.argsort(first)
        counts = np.bincount(kind, weights=self.shares * len(self)).astype(np.float64)
        return first[in_order].astype(np.int64), counts[in_order]

    @property
    def variances(self) -> Floats:
        """The variance of each number of a row."""
        if self.weights is None:
            return np.asarray(self.values.var(axis=0))
        return np.asarray(self.weights @ self.about_mean**2)


def as_stratum_rows(strata: Any) -> tuple[StratumRows, ...]:
    """Return rows that are given as plain arrays as rows all of which are as likely."""
    return tuple(each if isinstance(each, StratumRows) else StratumRows(values=np.asarray(each)) for each in strata)
