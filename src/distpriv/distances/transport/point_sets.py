"""Two weighted point sets with one ground metric: what is accepted, whole masses, and the one distance function.

Weights mean the decimals they are written as. Both laws are scaled to whole units of one common total, so that
0.9 and 1 - 0.1 are the same mass and no comparison of masses is ever rounded.
"""

import math
from fractions import Fraction
from typing import Any, Final, Self

import numpy as np
from attrs import evolve, frozen
from numpy.typing import ArrayLike, NDArray

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import as_written, real

__all__ = ["Masses", "PointSets", "distance", "forgiven_mass", "whole_masses"]

Masses = NDArray[Any]
"""Whole numbers: int64 where sums fit with room to spare, Python integers otherwise."""

LARGEST_NATIVE: Final = 2**60


def distance(x: Floats, y: Floats, norm: float) -> Floats:
    """The distance between rows of equal position: every comparison of lengths uses this function and no other.

    Columns are added one by one, so a pair has the same length to the last bit in whatever arrays it comes.

    >>> distance(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]), 2)
    array([5.])
    """
    length = np.abs(x[..., 0] - y[..., 0])
    for column in range(1, x.shape[-1]):
        part = np.abs(x[..., column] - y[..., column])
        length = length + part if norm == 1 else np.hypot(length, part) if norm == 2 else np.maximum(length, part)
    return length


@frozen(kw_only=True, eq=False)
class PointSets:
    """Two sets of points with whole masses; a law that has mass at infinity has that much less than `total` here.

    Attributes:
        x: The first points, one row each; none is infinite and none has mass 0.
        y: The second points.
        x_masses: Their masses in units of 1/total.
        y_masses: Likewise.
        total: How many units make 1.
        norm: 1, 2 or ∞.
    """

    x: Floats
    y: Floats
    x_masses: Masses
    y_masses: Masses
    total: int
    norm: float

    @classmethod
    def checked(
        cls, x: ArrayLike, y: ArrayLike, x_weights: ArrayLike | None, y_weights: ArrayLike | None, norm: float
    ) -> Self:
        """Read points and weights, and leave out points without mass or at infinity.

        >>> PointSets.checked([0, 1], [0], [0.9, 0.1], None, 1).x_masses
        array([9, 1])
        """
        if isinstance(norm, bool) or norm not in {1, 2, math.inf}:
            raise InvalidInput(f"norm must be 1, 2 or math.inf, but is {norm!r}; choose the ground metric among them.")
        first, second = _points("x", x), _points("y", y)
        if first.shape[1] != second.shape[1]:
            raise InvalidInput(
                f"x and y must have the same number of columns, but have {first.shape[1]} and {second.shape[1]}; "
                "pass points of one space."
            )
        first_masses, second_masses, total = whole_masses(
            ("x_weights", x_weights, len(first)), ("y_weights", y_weights, len(second))
        )
        of_x, of_y = (
            (masses > 0) & np.isfinite(points).all(axis=1)
            for points, masses in ((first, first_masses), (second, second_masses))
        )
        sets = cls(
            x=first[of_x],
            y=second[of_y],
            x_masses=first_masses[of_x],
            y_masses=second_masses[of_y],
            total=total,
            norm=float(norm),
        )
        if not math.isfinite(sets.span):
            raise InvalidInput("x and y lie so far apart that their distances overflow; divide both by 1e10, say.")
        return sets

    @property
    def span(self) -> float:
        """A bound on every distance, with room for rounding."""
        if not len(self.x) or not len(self.y):
            return 0.0
        with np.errstate(over="ignore"):
            both = np.concatenate([self.x, self.y])
            return float((both.max(axis=0) - both.min(axis=0)).sum() * (1 + 1e-9))

    @property
    def lost(self) -> int:
        """The mass that no coupling moves by a finite distance, because it is at infinity in one of the laws."""
        return self.total - min(int(self.x_masses.sum()), int(self.y_masses.sum()))

    def merged(self) -> Self:
        """The same laws with every point once, in lexicographic order."""
        x, x_masses = _merged(self.x, self.x_masses)
        y, y_masses = _merged(self.y, self.y_masses)
        return evolve(self, x=x, y=y, x_masses=x_masses, y_masses=y_masses)


def forgiven_mass(delta: object) -> float:
    """Return a δ that is forgiven, or refuse it."""
    return real("delta", delta, InvalidInput, at_least=0, below=1, cure="give the mass that is forgiven, say 0.001")


def whole_masses(
    first: tuple[str, ArrayLike | None, int], second: tuple[str, ArrayLike | None, int]
) -> tuple[Masses, Masses, int]:
    """Scale two laws, each a name, its weights and their number, to whole units of one total, without loss.

    >>> whole_masses(("p", [0.9, 0.1], 2), ("q", None, 4))
    (array([18, 2]), array([5, 5, 5, 5]), 20)
    """
    (one, one_sum), (other, other_sum) = _whole(*first), _whole(*second)
    total = math.lcm(one_sum, other_sum)
    return _scaled(one, total // one_sum, total), _scaled(other, total // other_sum, total), total


def _whole(name: str, weights: ArrayLike | None, count: int) -> tuple[Masses, int]:
    """Return whole numbers in the proportions of the weights, and their sum."""
    if weights is None:
        return np.ones(count, dtype=np.int64), count
    given = _floats(name, weights)
    if given.shape != (count,):
        raise InvalidInput(
            f"{name} must have one weight per point, {count}, but has shape {given.shape}; pass them all."
        )
    if not (given >= 0).all() or not np.isfinite(given).all():
        worst = given[~((given >= 0) & np.isfinite(given))][0]
        raise InvalidInput(f"{name} must be finite and at least 0, but one is {worst}; pass probabilities.")
    units, unit = _decimals(given)
    total = int(units.sum())
    if abs(total - unit) * 10**9 > unit:  # weights that were computed rather than written may miss by rounding
        raise InvalidInput(
            f"{name} must sum to 1, but sum to {float(Fraction(total, unit)):.12g}; divide them by their sum."
        )
    divisor = int(np.gcd.reduce(units))
    return units // divisor, total // divisor


def _decimals(weights: Floats) -> tuple[Masses, int]:
    """Return the decimals that floats are written as, in whole units of one over the second number."""
    if weights.max(initial=0.0) <= 1:
        # A float has at most one decimal of up to 15 digits that reads back as it, and that is how it is written.
        for digits in range(16):
            scaled = np.rint(weights * 10.0**digits)
            if (scaled / 10.0**digits == weights).all():
                return scaled.astype(np.int64), 10**digits
    fractions = [as_written(weight) for weight in weights.tolist()]
    unit = math.lcm(*{fraction.denominator for fraction in fractions})
    return np.array([f.numerator * (unit // f.denominator) for f in fractions], dtype=object), unit


def _scaled(units: Masses, factor: int, total: int) -> Masses:
    if total <= LARGEST_NATIVE:
        return np.asarray(units.astype(np.int64) * factor)
    return np.asarray(units.astype(object) * factor)


def _points(name: str, values: ArrayLike) -> Floats:
    points = _floats(name, values)
    if points.ndim == 1:
        points = points[:, np.newaxis]
    if points.ndim != 2 or points.size == 0:
        raise InvalidInput(
            f"{name} must be points of shape (n,) or (n, m), at least one, but has shape {points.shape}; reshape it."
        )
    if np.isnan(points).any():
        raise InvalidInput(f"{name} must hold numbers, but has NaN in row {np.isnan(points).any(1).argmax()}; drop it.")
    return points


def _floats(name: str, values: ArrayLike) -> Floats:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must be an array of numbers, but is {values!r:.60}; pass numbers.") from None


def _merged(points: Floats, masses: Masses) -> tuple[Floats, Masses]:
    if not len(points):
        return points, masses
    order = np.argsort(points[:, 0]) if points.shape[1] == 1 else np.lexsort(points.T[::-1])
    points = points[order]
    starts = np.flatnonzero(np.concatenate([[True], (points[1:] != points[:-1]).any(axis=1)]))
    return points[starts], np.add.reduceat(masses[order], starts)
