r"""Characteristic functions of sums over rows, with and without replacement, and distributions along a line.

Datasets are k of the N rows of each stratum, drawn at random. With :math:`\varphi` the characteristic function of one
row that of their sum is :math:`\varphi(t)^k` with replacement, and without

.. math:: \binom N k^{-1} [x^k] \prod_j (1 + x e^{i t x_j}) ,

which Cauchy's formula takes from a circle of x (Flajolet and Sedgewick 2009, Theorem IV.4): there the logarithm of the
product is :math:`N \sum_r (-1)^{r-1} x^r \varphi(rt) / r`. A combination of the statistics is wrapped around a circle,
where frequencies are whole multiples of one; nobody tells more from it than from the number itself.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final, Self

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats
from distpriv.modelling.row_laws import RowLaws

__all__ = [
    "NEGLIGIBLE",
    "Circle",
    "StratumLaw",
    "Transform",
    "projected",
    "rounding_of",
    "series_terms",
    "sum_transform",
]

Transform = NDArray[np.complex128]

Powers = Callable[[slice, NDArray[np.int64]], Transform]
"""Returns φ(rt) for some of the frequencies t, one a row, and some numbers r."""

NEGLIGIBLE: Final = 1e-14
"""What is left out of a sum."""


def sum_transform(size: int, rows: int, frequencies: int, powers: Powers, everything: Transform) -> Transform:
    r"""Return the characteristic function of the sum of `size` of the rows, drawn without replacement.

    Args:
        size: how many rows are drawn, k.
        rows: how many there are, N.
        frequencies: how many there are.
        powers: that of one row at multiples of the frequencies, :math:`\varphi(rt)`.
        everything: :math:`e^{itT}`, T the sum of all rows: of more than half of them, those left behind are a draw too.
    """
    if 2 * size > rows:
        return np.asarray(everything * np.conj(sum_transform(rows - size, rows, frequencies, powers, everything)))
    if size == 0:
        return np.ones(frequencies, dtype=np.complex128)
    radius = _radius(size, rows)
    chance = radius / (1 + radius)
    spread = math.sqrt(rows * chance * (1 - chance))
    # With N + 1 angles the coefficient is exact; beyond 8.5 deviations and a tail its relative error is e^{-36}.
    angles = min(int(8.5 * spread + 2 * abs(size - rows * chance)) + 25, rows + 1)
    turns = 2 * np.pi * np.arange(angles) / angles
    power = np.arange(1, series_terms(size, rows) + 1)
    weights = rows * np.where(power % 2 == 1, 1.0, -1.0) * radius**power / power
    around, back = np.exp(1j * np.outer(power, turns)), np.exp(-1j * size * turns)

    def coefficient(values: Transform) -> Transform:
        return np.asarray(np.exp((weights * values) @ around - rows * math.log1p(radius)) @ back)

    at_once = 2**14
    parts = [slice(start, start + at_once) for start in range(0, frequencies, at_once)]
    coefficients = [coefficient(powers(part, power)) for part in parts]
    return np.asarray(np.concatenate(coefficients) / coefficient(np.ones((1, len(power)), dtype=np.complex128)))


def series_terms(size: int, rows: int) -> int:
    """Return how many multiples of a frequency a draw of `size` rows needs, or the draw of the rows left behind."""
    few = min(size, rows - size)
    return math.ceil(math.log(NEGLIGIBLE / rows) / math.log(_radius(few, rows))) if few else 1


def _radius(size: int, rows: int) -> float:
    """Return the circle of x: about where the terms are largest, and inside of where the logarithm's series ends."""
    return min(size / (rows - size), 0.98)


@frozen(kw_only=True)
class Circle:
    """A circle to wrap numbers around, and the number of frequencies."""

    circumference: float
    frequencies: int
    rows: int = 1
    """How many rows are added up, each of which is a little off its place."""
    points: int = field()
    """Into how many it is divided to place rows on it."""

    FEWEST, MOST = 2**18, 2**22

    @points.default
    def _enough(self) -> int:
        wanted = self.points_a_frequency(self.rows) * self.frequencies
        return int(min(max(self.FEWEST, 2 ** math.ceil(math.log2(wanted))), self.MOST))

    @staticmethod
    def points_a_frequency(rows: int) -> int:
        r"""Return how many points there must be for every frequency, where a number of rows are added up.

        With p of them the transform of n rows is off by :math:`\frac{3n}{128} (2π x/p)^4` at a share x of the highest
        frequency, where noise leaves :math:`e^{-37 x^2}` of it: 0.015 n/p⁴ at most, which is 10⁻⁵ with p⁴ = 6.25⁴ n.

        >>> [Circle.points_a_frequency(rows) for rows in (1, 100, 10_000, 1_000_000)]
        [16, 20, 63, 198]
        """
        return max(16, math.ceil(6.25 * math.sqrt(math.sqrt(rows))))

    @property
    def angular(self) -> Floats:
        """The frequencies t, from 0 upwards."""
        return np.arange(self.frequencies + 1, dtype=np.float64) * (2 * np.pi / self.circumference)

    def transform(self, values: Floats, chances: Floats | None = None) -> Transform:
        """Return E e^{itX} of a number drawn from values, at all multiples of the first frequency, modulo `points`.

        All values are as likely, or have the chances given. A value between two points of the circle is shared out
        among the four nearest, by Lagrange's weights, which leave its first three moments as they are: e^{itx} is then
        off by 3/128 · (th)⁴ at most, h the distance of two points.
        """
        turned = np.mod(values / self.circumference, 1.0) * self.points
        below = np.floor(turned)
        a = turned - below
        left = below.astype(np.int64)
        mass = np.zeros(self.points)
        lagrange = (
            -a * (a - 1) * (a - 2) / 6,
            (a + 1) * (a - 1) * (a - 2) / 2,
            -(a + 1) * a * (a - 2) / 2,
            (a + 1) * a * (a - 1) / 6,
        )
        for place, share in zip(range(-1, 3), lagrange, strict=True):
            weights = share / len(values) if chances is None else share * chances
            mass += np.bincount((left + place) % self.points, weights=weights, minlength=self.points)
        return np.asarray(np.conj(np.fft.fft(mass)))

    def densities(self, transforms: Sequence[Transform]) -> Floats:
        """Return the densities with these transforms, at points all around the circle, one law a row.

        Points are dense enough for integrals of differences with kinks, where two densities cross.
        """
        size = max(8 * 2 ** math.ceil(math.log2(self.frequencies + 1)), 2**16)
        rows = np.zeros((len(transforms), size // 2 + 1), dtype=np.complex128)
        rows[:, : self.frequencies + 1] = np.conj(np.asarray(transforms))
        return np.asarray(np.fft.irfft(rows, n=size, axis=1) * (size / self.circumference))


def rounding_of(density: Floats, transform: Transform, rows: int) -> float:
    """Return by how much a density may be too high, given its transform and the number of rows.

    A transform has a relative rounding error of 1e-16, and one unit in the last place for every row, as it is a product
    over rows. Where a density is negative it is too low by half of that.
    """
    most = (2 * np.abs(transform).sum() - 1) * float(density.mean())
    return float(max((np.finfo(float).eps * rows + 2e-16) * most, -2 * density.min()))


@frozen(kw_only=True, eq=False)
class StratumLaw:
    """The distribution of sums over rows of one stratum, on a circle."""

    circle: Circle
    rows: int
    """How many the stratum has, which may be more than there are values."""
    mean: float
    one: Transform
    """The transform of one row."""

    @classmethod
    def of(cls, circle: Circle, values: Floats, chances: Floats | None = None, *, rows: int | None = None) -> Self:
        """Return the distribution of sums of values that are equally likely, or have chances."""
        mean = float(values.mean() if chances is None else chances @ values)
        return cls(circle=circle, rows=rows or len(values), mean=mean, one=circle.transform(values, chances))

    def drawn(self, size: int, *, replacement: bool) -> Transform:
        """Return the transform of the sum of `size` rows, drawn at random."""
        at = np.arange(self.circle.frequencies + 1)
        if replacement:
            return np.asarray(self.one[at] ** size)

        def powers(part: slice, power: NDArray[np.int64]) -> Transform:
            return np.asarray(self.one[np.outer(at[part], power) % self.circle.points])

        everything = np.exp(1j * self.circle.angular * self.mean * self.rows)
        return sum_transform(size, self.rows, len(at), powers, everything)


def projected(rows: RowLaws, direction: Floats, circle: Circle) -> dict[str, Transform]:
    """Return the transform of a combination of the statistics on a circle, in every scenario."""
    strata = [
        StratumLaw.of(circle, *stratum.projected(direction), rows=rows.rows_of(number))
        for number, stratum in enumerate(rows.strata)
    ]
    parts = {part for sizes in rows.drawn.values() for part in sizes.items()}
    transforms = {(which, size): strata[which].drawn(size, replacement=rows.replacement) for which, size in parts}
    return {name: np.prod([transforms[part] for part in sizes.items()], axis=0) for name, sizes in rows.drawn.items()}
