r"""Rows of one stratum under exponential tilting: what a draw of some of them would be if it were pulled to one side.

With a level λ for their number and a tilt s for their sum, each row is a coin, or with replacement a Poisson number:

.. math:: κ(λ, s) = \sum_j \log(1 - f + f e^{λ + s^\top x_j}), \qquad κ(λ, s) = \frac k N \sum_j e^{λ + s^\top x_j}.

The level at which the expected number is k is found along with the tilt (`docs/proofs/delta_by_draws.md`).
"""

import math
from functools import cached_property

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.law.draws import RowKinds

__all__ = ["Pull", "TiltedStratum", "symmetric"]

LARGEST = 500.0
"""Log-odds beyond which a coin is certain."""

LEAST_NUMBER = 1e-200
"""Where a tilt is so strong that it is certain which rows are drawn, their number varies by so little."""


@frozen(kw_only=True, eq=False)
class Pull:
    """What a stratum adds at some tilts, one a row: derivatives of κ, and κ(λ, s) − kλ."""

    value: Floats
    level: Floats
    """λ."""
    surplus: Floats
    """∂κ/∂λ − k: the expected number is off by so much."""
    mean: Floats
    """∂κ/∂s."""
    number: Floats
    """∂²κ/∂λ²."""
    mixed: Floats
    """∂²κ/∂λ∂s."""
    square: Floats
    """∂²κ/∂s², its upper triangle."""

    @property
    def profile(self) -> Floats:
        """The second derivative in s of the least κ(λ, s) − kλ over λ; its upper triangle."""
        rows, columns = np.triu_indices(self.mixed.shape[1])
        scaled = self.mixed / self.number[:, np.newaxis]
        return np.asarray(self.square - scaled[:, rows] * self.mixed[:, columns])

    @property
    def slope(self) -> Floats:
        """The first derivative of that, to first order in the surplus."""
        return np.asarray(self.mean - self.mixed * (self.surplus / self.number)[:, np.newaxis])

    def next_level(self, step: Floats) -> Floats:
        """Return by how much λ changes with a step of the tilt."""
        return np.asarray(-(self.surplus + (self.mixed * step).sum(axis=1)) / self.number)


@frozen(kw_only=True, eq=False, slots=False)
class TiltedStratum(RowKinds):
    """Some of the rows of a stratum, drawn at random; rows are measured from their mean."""

    @cached_property
    def share(self) -> float:
        """Which part of the rows is drawn, or 0 with replacement."""
        return 0.0 if self.replacement else float(self.drawn / self.counts.sum())

    @cached_property
    def products(self) -> Floats:
        """How many rows have each of the values, times 1, every coordinate and every product of two."""
        rows, columns = np.triu_indices(self.values.shape[1])
        squares = self.values[:, rows] * self.values[:, columns]
        return np.column_stack([np.ones(len(self.values)), self.values, squares]) * self.counts[:, np.newaxis]

    @property
    def radius(self) -> float:
        """How far the farthest row is from the mean."""
        return float(np.sqrt((self.values**2).sum(axis=1).max()))

    @property
    def variance(self) -> float:
        """Of the number of rows that coins would choose, untilted."""
        return self.drawn * (1 - self.share)

    @property
    def number_term(self) -> float:
        """The second-order term c₂ of the number of rows that coins would choose, untilted."""
        odd, even = 1 - 2 * self.share, 1 - 6 * self.share * (1 - self.share)
        return (even / 8 - 5 * odd**2 / 24) / self.variance

    def mean_at(self, tilts: Floats) -> Floats:
        """Return the mean of the sum at tilts, one a row, with replacement."""
        chances = self._poisson(self.values @ tilts.T)[1]
        return np.asarray(chances.T @ self.products[:, 1 : 1 + tilts.shape[1]])

    def pull(self, tilts: Floats, levels: Floats | None) -> Pull:
        """Return what the stratum adds at these tilts; without levels, or with replacement, λ follows from the tilt."""
        exponents = self.values @ tilts.T
        if not self.share:
            levels, chances = self._poisson(exponents)
            weights, value = chances, -self.drawn * levels
        else:
            levels = self._poisson(exponents)[0] if levels is None else levels
            exponents += levels
            chances, logs = _coins(exponents, self.share)
            weights, value = chances * (1 - chances), self.counts @ logs - self.drawn * levels
        size = 1 + tilts.shape[1]
        second = self.products.T @ weights
        first = second[:size] if weights is chances else self.products[:, :size].T @ chances
        return Pull(
            value=value,
            level=levels,
            surplus=first[0] - self.drawn,
            mean=first[1:].T,
            number=np.maximum(second[0], LEAST_NUMBER),
            mixed=second[1:size].T,
            square=second[size:].T,
        )

    def _poisson(self, exponents: Floats) -> tuple[Floats, Floats]:
        """Return λ and the expected number of each row, with replacement."""
        highest = exponents.max(axis=0)
        chances = np.exp(exponents - highest)
        total = self.counts @ chances
        levels = -(highest + np.log(total / self.counts.sum()))
        return levels, chances * (self.drawn / total)

    def cumulants_at(self, tilts: Floats, levels: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the second to fourth cumulants of the number of each value, at tilts, one a row."""
        exponents = tilts @ self.values.T + levels[:, np.newaxis]
        if not self.share:
            mean = np.exp(exponents + np.log(self.drawn / self.counts.sum())) * self.counts
            return mean, mean, mean
        chances = _coins(exponents, self.share)[0]
        second = chances * (1 - chances) * self.counts
        return second, second * (1 - 2 * chances), second * (1 - 6 * chances * (1 - chances))


def _coins(exponents: Floats, share: float) -> tuple[Floats, Floats]:
    """Return tilted chances, and log(1 − f + f e^η); the exponents are written over, as there are many."""
    odds = exponents
    odds += np.log(share) - np.log1p(-share)
    surely = None if odds.size == 0 or odds.max() <= LARGEST else np.maximum(odds - LARGEST, 0.0)
    powers = np.exp(odds if surely is None else np.minimum(odds, LARGEST), out=odds)
    logs = np.log1p(powers)
    logs += np.log1p(-share) if surely is None else surely + np.log1p(-share)
    powers /= 1 + powers
    return powers, logs


def symmetric(upper: Floats) -> Floats:
    """Return symmetric matrices from their upper triangles, one a row.

    >>> symmetric(np.array([[1.0, 2.0, 3.0]])).tolist()
    [[[1.0, 2.0], [2.0, 3.0]]]
    """
    size = math.isqrt(2 * upper.shape[1])
    place = np.zeros((size, size), dtype=np.intp)
    place[np.triu_indices(size)] = np.arange(upper.shape[1])
    return upper[:, np.maximum(place, place.T)]
