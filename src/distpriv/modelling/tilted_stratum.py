r"""Rows of one stratum under exponential tilting: what a draw of some of them would be if it were pulled to one side.

With a level λ for their number and a tilt s for their sum, each row is a coin, or with replacement a Poisson number:

.. math:: κ(λ, s) = \sum_j \log(1 - f + f e^{λ + s^\top x_j}), \qquad κ(λ, s) = \frac k N \sum_j e^{λ + s^\top x_j}.

The level at which the expected number is k is found along with the tilt (`docs/proofs/saddlepoint_check.md`).
"""

from typing import Self

import numpy as np
from attrs import frozen
from scipy.special import gammaln

from distpriv.framework.arrays import Floats

__all__ = ["Pull", "TiltedStratum", "cumulant_weights", "merged"]

LARGEST = 500.0
"""Log-odds beyond which a coin is certain."""

MIXER = 0x9E3779B97F4A7C15
"""An odd number whose powers mix the places of a row along all axes into one key."""

LEAST_NUMBER = 1e-200
"""Where a tilt is so strong that it is certain which rows are drawn, their number varies by so little."""

CERTAIN = 1 - 1e-15
"""A share that is as good as 1."""

FINEST_CELL = 1 / 64
"""Width of the cells that near rows are in, in standard deviations of a row."""


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
    """∂²κ/∂s²."""

    @property
    def profile(self) -> Floats:
        """The second derivative in s of the least κ(λ, s) − kλ over λ."""
        outer = self.mixed[:, :, np.newaxis] * self.mixed[:, np.newaxis, :]
        return np.asarray(self.square - outer / self.number[:, np.newaxis, np.newaxis])

    @property
    def slope(self) -> Floats:
        """The first derivative of that, to first order in the surplus."""
        return np.asarray(self.mean - self.mixed * (self.surplus / self.number)[:, np.newaxis])

    def next_level(self, step: Floats) -> Floats:
        """Return by how much λ changes with a step of the tilt."""
        return np.asarray(-(self.surplus + (self.mixed * step).sum(axis=1)) / self.number)


@frozen(kw_only=True, eq=False)
class TiltedStratum:
    """Some of the rows of a stratum, drawn at random; rows are measured from their mean."""

    values: Floats
    counts: Floats
    """How many rows have each of the values."""
    drawn: int
    share: float
    """Which part of the rows is drawn, or 0 with replacement."""
    products: Floats
    """How many rows have each of the values, times 1, every coordinate and every product of two."""

    @classmethod
    def of(cls, values: Floats, counts: Floats, drawn: int, *, replacement: bool) -> Self:
        """Return the stratum with these values, so many rows each."""
        upper = np.triu_indices(values.shape[1])
        products = np.column_stack([np.ones(len(values)), values, values[:, upper[0]] * values[:, upper[1]]])
        share = 0.0 if replacement else drawn / counts.sum()
        return cls(values=values, counts=counts, drawn=drawn, share=share, products=products * counts[:, np.newaxis])

    @property
    def radius(self) -> float:
        """How far the farthest row is from the mean."""
        return float(np.sqrt((self.values**2).sum(axis=1).max()))

    @property
    def variance(self) -> float:
        """Of the number of rows that coins would choose, untilted."""
        return self.drawn * (1 - self.share)

    @property
    def cumulant_weights(self) -> tuple[float, float]:
        """How many times the third and the fourth cumulant of a row count."""
        return cumulant_weights(self.drawn, self.share)

    @property
    def number_term(self) -> float:
        """The second-order term c₂ of the number of rows that coins would choose, untilted."""
        odd, even = 1 - 2 * self.share, 1 - 6 * self.share * (1 - self.share)
        return (even / 8 - 5 * odd**2 / 24) / self.variance

    @property
    def log_number_error(self) -> float:
        """The logarithm of the chance that coins choose as many as are drawn, over what a bell curve says of it."""
        drawn, rows = self.drawn, self.drawn / self.share if self.share else 0.0
        chance = drawn * np.log(drawn) - drawn - gammaln(drawn + 1)
        if self.share:
            left = rows - drawn
            chance += left * np.log(left) - gammaln(left + 1) + gammaln(rows + 1) - rows * np.log(rows) + drawn
        return float(chance + np.log(2 * np.pi * self.variance) / 2)

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
            square=_square(second[size:], tilts.shape[1]),
        )

    def _poisson(self, exponents: Floats) -> tuple[Floats, Floats]:
        """Return λ and the expected number of each row, with replacement."""
        highest = exponents.max(axis=0)
        chances = np.exp(exponents - highest)
        total = self.counts @ chances
        levels = -(highest + np.log(total / self.counts.sum()))
        return levels, chances * (self.drawn / total)

    def cumulants(self, tilt: Floats, level: float) -> tuple[Floats, Floats, Floats]:
        """Return the second to fourth cumulants of the number of each value."""
        two, three, four = self.cumulants_at(tilt[np.newaxis], np.array([level]))
        return two[0], three[0], four[0]

    def cumulants_at(self, tilts: Floats, levels: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the same at many tilts, one a row."""
        exponents = tilts @ self.values.T + levels[:, np.newaxis]
        if not self.share:
            mean = np.exp(exponents + np.log(self.drawn / self.counts.sum())) * self.counts
            return mean, mean, mean
        chances = _coins(exponents, self.share)[0]
        second = chances * (1 - chances) * self.counts
        return second, second * (1 - 2 * chances), second * (1 - 6 * chances * (1 - chances))

    def beyond_second(self, angles: Floats, tilt: Floats, level: float) -> tuple[Floats, Floats]:
        """Return κ at imaginary steps beyond its second order, real and imaginary part, summed over the values.

        Args:
            angles: by how much the exponent of each value (a row) is moved along the imaginary axis, one step a column.
            tilt: from where,
            level: and from which level.
        """
        exponents = self.values @ tilt + level
        if not self.share:
            mean = self.cumulants(tilt, level)[0]
            return mean @ (np.cos(angles) - 1 + angles**2 / 2), mean @ (np.sin(angles) - angles)
        chances = _coins(exponents, self.share)[0][:, np.newaxis]
        both = chances * (1 - chances)
        real = (np.log1p(-np.minimum(4 * both * np.sin(angles / 2) ** 2, CERTAIN)) + both * angles**2) / 2
        return self.counts @ real, self.counts @ (_coin_angles(angles, chances) - chances * angles)


def _coin_angles(angles: Floats, chances: Floats) -> Floats:
    """Return the argument of 1 − p + p e^{iθ}, without leaps where θ passes π."""
    swapped = np.where(chances > 0.5, 1 - chances, chances)
    turned = np.arctan2(swapped * np.sin(angles), 1 - swapped + swapped * np.cos(angles))
    return np.asarray(np.where(chances > 0.5, angles - turned, turned))


def cumulant_weights(drawn: int, share: float) -> tuple[float, float]:
    """Return how many times the third and the fourth cumulant of a row count in those of the sum of so many.

    With replacement, a share of 0, as often as a row is drawn. Without it they are about those of coins.
    """
    return drawn * (1 - share) * (1 - 2 * share), drawn * (1 - share) * (1 - 6 * share * (1 - share))


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


def _square(upper: Floats, size: int) -> Floats:
    """Return symmetric matrices from their upper triangles, one a column."""
    found = np.empty((upper.shape[1], size, size))
    rows, columns = np.triu_indices(size)
    found[:, rows, columns] = upper.T
    found[:, columns, rows] = upper.T
    return found


def merged(values: Floats, most: int, weights: Floats | None = None) -> tuple[Floats, Floats, Floats]:
    """Return cells of near rows by their mean, how many rows each has, and the covariance that is inside of them.

    Few rows are left as they are. Rows far from all others stay alone, however wide the cells. Weights say how many
    rows each of them counts for; one each if not given.
    """
    size = values.shape[1]
    heavy = np.ones(len(values)) if weights is None else weights
    if len(values) <= most:
        return values, heavy, np.zeros((size, size))
    deviations = values.std(axis=0)
    width = FINEST_CELL * np.where(deviations > 0, deviations, 1.0)
    mixing = np.array([pow(MIXER, 1 + column, 2**63) for column in range(size)])
    while True:
        keys = np.round(values / width).astype(np.int64) @ mixing
        _, cell, counts = np.unique(keys, return_inverse=True, return_counts=True)
        if len(counts) <= most:
            break
        width = width * 2
    totals = np.maximum(np.bincount(cell, weights=heavy), LEAST_NUMBER)
    means = np.column_stack([np.bincount(cell, weights=column * heavy) / totals for column in values.T])
    inside = values - means[cell]
    return means, totals, (inside.T * heavy) @ inside / heavy.sum()
