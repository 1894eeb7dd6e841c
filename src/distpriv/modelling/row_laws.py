"""The rows behind the distribution of the statistics: what each adds, how likely it is, and how many are drawn."""

import cmath
import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from distpriv.errors import InvalidModel
from distpriv.framework.arrays import Floats, Rows

__all__ = ["RowLaws", "StratumRows"]


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
        keys = self.values @ np.random.default_rng(47).normal(size=self.values.shape[1])
        _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
        if 2 * len(first) > len(self) or not np.array_equal(self.values, self.values[first[kind]]):
            return np.arange(len(self)), self.shares * len(self)
        in_order = np.argsort(first)
        counts = np.bincount(kind, weights=self.shares * len(self)).astype(np.float64)
        return first[in_order].astype(np.int64), counts[in_order]

    @property
    def covariance(self) -> Floats:
        """The covariance of one row."""
        about_mean = self.about_mean
        return np.asarray((about_mean.T * self.shares) @ about_mean)

    @property
    def variances(self) -> Floats:
        """The variance of each number of a row."""
        return np.asarray(self.average(self.about_mean**2))


def _as_stratum_rows(strata: Any) -> tuple[StratumRows, ...]:
    """Return rows that are given as plain arrays as rows all of which are as likely."""
    return tuple(rows if isinstance(rows, StratumRows) else StratumRows(values=np.asarray(rows)) for rows in strata)


@frozen(kw_only=True, eq=False)
class RowLaws:
    """Statistics that are sums over rows, in every scenario."""

    strata: tuple[StratumRows, ...] = field(converter=_as_stratum_rows)
    """What each row of a stratum adds to the statistics, and how likely it is to be drawn."""
    drawn: Mapping[str, Mapping[int, int]]
    """How many rows of which strata the datasets of each scenario have."""
    replacement: bool
    populations: tuple[int, ...] = ()
    """How many rows each stratum has, where those at hand are a sample of them."""

    def __attrs_post_init__(self) -> None:
        if not self.replacement and any(rows.weights is not None for rows in self.strata):
            raise InvalidModel("rows with weights are drawn independently of each other: say replacement=True.")

    def rows_of(self, stratum: int) -> int:
        """Return how many rows a stratum has."""
        return self.populations[stratum] if self.populations else len(self.strata[stratum])

    def phases(self, frequency: Floats) -> dict[str, complex]:
        """Return E e^{itᵀF} in every scenario; without replacement from many rows to the second order."""
        turns = [np.exp(1j * (rows.values @ frequency)) for rows in self.strata]
        return {
            name: math.prod(
                (self._phase(turns[stratum], stratum, size) for stratum, size in sizes.items()), start=1 + 0j
            )
            for name, sizes in self.drawn.items()
        }

    def _phase(self, turns: NDArray[np.complex128], stratum: int, size: int) -> complex:
        """Return the mean of a product of so many of these numbers, drawn from a stratum."""
        rows = self.rows_of(stratum)
        if not self.replacement and rows <= 200 and rows == len(turns):
            return _mean_product(turns, size)
        mean = complex(self.strata[stratum].average(turns))
        weight = size if self.replacement else size * (1 - size / rows)
        return cmath.exp(weight * math.log(max(abs(mean), 1e-300)) + 1j * size * cmath.phase(mean))


def _mean_product(numbers: NDArray[np.complex128], size: int) -> complex:
    """Return the mean product of so many different ones of the numbers: the elementary symmetric polynomial's share."""
    sums = np.zeros(size + 1, dtype=np.complex128)
    sums[0] = 1.0
    for number in numbers:
        sums[1:] += number * sums[:-1]
    return complex(sums[size] / math.comb(len(numbers), size))
