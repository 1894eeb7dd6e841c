r"""The exact law of one number that is a sum over rows, by its characteristic function.

A combination :math:`w^\top F` of means, counts and totals is a sum over the rows of a dataset, and a dataset is so many
rows of each stratum, drawn at random. With :math:`\varphi_s` the characteristic function of one row of a stratum,
drawing k of its N rows gives :math:`\varphi_s(t)^k` with replacement, and without

.. math:: \binom N k^{-1} [x^k] \prod_j (1 + x e^{i t x_j}) .

Everything is on a circle: numbers are taken modulo the circumference, so frequencies are whole multiples of one, and
what is computed is a law of the number on the circle. Nobody tells more from it than from the number itself.
"""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats

__all__ = ["MOST_POINTS", "POINTS", "Circle", "StratumLaw", "most_frequencies", "rounding_of"]

Transform = NDArray[np.complex128]

POINTS, MOST_POINTS = 2**18, 2**22
"""Into how many points a circle is divided to place rows on it, as a rule and at most."""

POINTS_A_FREQUENCY, GROWING = 16, 6.25
"""So many there must be for every frequency that is looked at, or the fourth root of the rows times the second."""

FEWEST_PLACES = 2**16
"""Around a circle at which a density is known: where two of them cross, an integral of their difference has a kink."""

AT_ONCE = 2**14
"""Frequencies that are computed together."""

LARGEST_RADIUS = 0.98
"""Of the circle that a coefficient is taken from: at 1 the series for a logarithm no longer converges."""

NEGLIGIBLE = 1e-14
"""What is left out of a sum."""

ROUNDING, ROUNDING_A_ROW = 1e-16, float(np.finfo(float).eps)
"""The share of itself that a transform is rounded by, and that every row adds to it: it is a product over rows."""


def points_a_frequency(rows: int) -> int:
    r"""Return how many points there must be for every frequency, where so many rows are added up.

    With p of them the transform of n rows is off by :math:`\frac{3n}{128} (2π x/p)^4` at a share x of the highest
    frequency, where noise leaves :math:`e^{-37 x^2}` of it: 0.015 n/p⁴ at most, which is 10⁻⁵ with p⁴ = 6.25⁴ n.

    >>> [points_a_frequency(rows) for rows in (1, 100, 10_000, 1_000_000)]
    [16, 20, 63, 198]
    """
    return max(POINTS_A_FREQUENCY, math.ceil(GROWING * math.sqrt(math.sqrt(rows))))


def most_frequencies(rows: int, *, points: int = MOST_POINTS) -> int:
    """Return how many frequencies can be looked at, with as many points as there can be or with fewer."""
    return points // points_a_frequency(rows)


@frozen(kw_only=True)
class Circle:
    """A circle to wrap numbers around, and how many frequencies are looked at."""

    circumference: float
    frequencies: int
    rows: int = 1
    """How many rows are added up, each of which is a little off its place."""

    @property
    def points(self) -> int:
        """Into how many it is divided."""
        wanted = points_a_frequency(self.rows) * self.frequencies
        return int(min(max(POINTS, 2 ** math.ceil(math.log2(wanted))), MOST_POINTS))

    @property
    def angular(self) -> Floats:
        """The frequencies t, from 0 upwards."""
        return np.arange(self.frequencies + 1, dtype=np.float64) * (2 * np.pi / self.circumference)

    def transform(self, values: Floats, chances: Floats | None = None) -> Transform:
        """Return E e^{itX} of a number drawn from values, at all multiples of the first frequency, modulo `points`.

        All values are as likely, or have the chances given.

        A value between two points of the circle is shared out among the four nearest, by weights that leave its first
        three moments as they are: e^{itx} is then off by 3/128 · (th)⁴ at most, h the distance of two points.
        """
        points = self.points
        turned = np.mod(values / self.circumference, 1.0) * points
        below = np.floor(turned)
        above = turned - below
        left = below.astype(np.int64) % points
        mass = np.zeros(points)
        for place, weights in zip(range(-1, 3), _shared_out(above), strict=True):
            shared = weights if chances is None else weights * chances
            mass += np.bincount((left + place) % points, weights=shared, minlength=points)
        half = np.conj(np.fft.rfft(mass / len(values) if chances is None else mass))
        return np.concatenate([half, np.conj(half[-2:0:-1])])

    def densities(self, transforms: Sequence[Transform]) -> Floats:
        """Return the densities with these transforms, at points all around the circle, one law a row."""
        size = max(8 * 2 ** int(np.ceil(np.log2(self.frequencies + 1))), FEWEST_PLACES)
        rows = np.zeros((len(transforms), size // 2 + 1), dtype=np.complex128)
        rows[:, : self.frequencies + 1] = np.conj(np.asarray(transforms))
        return np.asarray(np.fft.irfft(rows, n=size, axis=1) * (size / self.circumference))


def rounding_of(density: Floats, transform: Transform, rows: int) -> float:
    """Return by how much a density may be too high, whose transform is that of so many rows.

    What is rounded of the transform adds up to so much at most, and where a density is negative it is too low by half
    of that.

    Args:
        density: at points all around a circle.
        transform: at frequencies from 0 upwards.
        rows: how many are added up.
    """
    most = (2 * np.abs(transform).sum() - 1) * float(density.mean())
    return float(max((ROUNDING_A_ROW * rows + 2 * ROUNDING) * most, -2 * density.min()))


def _shared_out(a: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the weights of points at −1, 0, 1 and 2 for a value at a, between 0 and 1: Lagrange's, of degree three."""
    return (
        -a * (a - 1) * (a - 2) / 6,
        (a + 1) * (a - 1) * (a - 2) / 2,
        -(a + 1) * a * (a - 2) / 2,
        (a + 1) * a * (a - 1) / 6,
    )


@frozen(kw_only=True, eq=False)
class StratumLaw:
    """The law of sums over rows of one stratum, on a circle."""

    circle: Circle
    rows: int
    """How many the stratum has."""
    total: float
    """The sum of all of them."""
    one: Transform
    """The transform of one row."""
    weighted: bool = False
    """Whether some rows are likelier than others."""

    @classmethod
    def of(
        cls,
        circle: Circle,
        values: Floats,
        chances: Floats | None = None,
        *,
        rows: int | None = None,
        weighted: bool = False,
    ) -> Self:
        """Return the law of sums of these values, or of so many rows of which these are a sample.

        Args:
            circle: the circle to wrap them around.
            values: the values.
            chances: how likely each of them is; all are alike if not given.
            rows: how many rows there are.
            weighted: whether rows have weights: then they are drawn independently, and never without replacement.
        """
        rows = len(values) if rows is None else rows
        mean = float(values.mean() if chances is None else chances @ values)
        return cls(
            circle=circle,
            rows=rows,
            total=mean * rows,
            one=circle.transform(values, chances),
            weighted=weighted,
        )

    def drawn(self, size: int, *, replacement: bool) -> Transform:
        """Return the transform of the sum of so many rows, drawn at random."""
        at = np.arange(self.circle.frequencies + 1)
        if replacement:
            return np.asarray(self.one[at] ** size)
        assert not self.weighted, "rows with weights are drawn independently"
        if 2 * size <= self.rows:
            return self._in_parts(size, at)
        # What is left behind is a draw too, and both together are all rows.
        whole = np.exp(1j * self.circle.angular * self.total)
        return np.asarray(whole * np.conj(self._in_parts(self.rows - size, at)))

    def _in_parts(self, size: int, at: NDArray[np.int64]) -> Transform:
        """Return the transform of a draw without replacement, with so many frequencies at once as fit into memory."""
        parts = np.split(at, range(AT_ONCE, len(at), AT_ONCE))
        return np.concatenate([self._without_replacement(size, np.append(0, part))[1:] for part in parts])

    def _without_replacement(self, size: int, at: NDArray[np.int64]) -> Transform:
        r"""Return :math:`[x^k] \prod_j (1 + x z_j)` over its value at t = 0, by Cauchy's formula on a circle of x.

        On it the logarithm of the product is :math:`N \sum_r (-1)^{r-1} x^r \varphi(rt) / r`. The first frequency is 0.
        """
        if size == 0:
            return np.ones(len(at), dtype=np.complex128)
        radius = min(size / (self.rows - size), LARGEST_RADIUS)
        chance = radius / (1 + radius)
        spread = np.sqrt(self.rows * chance * (1 - chance))
        terms = int(np.ceil(np.log(self.rows / NEGLIGIBLE) / -np.log(radius)))
        angles = min(int(10 * spread + 2 * abs(size - self.rows * chance)) + 40, self.rows + 1)
        turns = 2 * np.pi * np.arange(angles) / angles
        power = np.arange(1, terms + 1)
        weights = self.rows * np.where(power % 2 == 1, 1.0, -1.0) * radius**power / power
        series = (weights * self.one[np.outer(at, power) % self.circle.points]) @ np.exp(1j * np.outer(power, turns))
        found = np.exp(series - self.rows * np.log1p(radius)) @ np.exp(-1j * size * turns)
        return np.asarray(found / found[0])
