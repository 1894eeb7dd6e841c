"""Arithmetic without rounding: arrays of whole numbers over one power of two.

Every double is such a number, sums and products of them are too, and Python's whole numbers have no largest one. So
what a release computes from the private statistics before the noise is added is computed exactly.
"""

from typing import Any, Self

import numpy as np
from attrs import cmp_using, field, frozen
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats

__all__ = ["Dyadic", "Wholes", "nearest"]

Wholes = NDArray[Any]
"""Whole numbers of any size: an array of Python's `int`."""


@frozen(kw_only=True)
class Dyadic:
    """The array whole · 2^(−exponent).

    >>> (Dyadic.of([0.1]) + Dyadic.of([1e300])).floats()
    array([1.e+300])
    """

    whole: Wholes = field(eq=cmp_using(eq=np.array_equal))
    exponent: int

    @classmethod
    def of(cls, values: Any) -> Self:
        """Return finite floats, exactly as they are."""
        floats = np.asarray(values, dtype=np.float64)
        ratios = [value.as_integer_ratio() for value in floats.ravel().tolist()]
        exponent = max((denominator.bit_length() - 1 for _, denominator in ratios), default=0)
        whole = np.empty(len(ratios), dtype=object)
        whole[:] = [numerator * ((1 << exponent) // denominator) for numerator, denominator in ratios]
        return cls(whole=whole.reshape(floats.shape), exponent=exponent)

    def __add__(self, other: Self) -> Self:
        exponent = max(self.exponent, other.exponent)
        return type(self)(whole=self._at(exponent) + other._at(exponent), exponent=exponent)

    def __sub__(self, other: Self) -> Self:
        exponent = max(self.exponent, other.exponent)
        return type(self)(whole=self._at(exponent) - other._at(exponent), exponent=exponent)

    def __matmul__(self, other: Self) -> Self:
        return type(self)(whole=self.whole @ other.whole, exponent=self.exponent + other.exponent)

    def times(self, counts: Wholes) -> Self:
        """Return every number times a whole number of its own."""
        return type(self)(whole=self.whole * counts, exponent=self.exponent)

    def shortened(self, exponent: int) -> Self:
        """Return the numbers cut off after so many binary places."""
        return self if exponent >= self.exponent else type(self)(whole=self._at(exponent), exponent=exponent)

    def floats(self) -> Floats:
        """Return the nearest doubles; raises OverflowError where there is none."""
        whole = [number / (1 << self.exponent) for number in self.whole.ravel().tolist()]
        return np.array(whole, dtype=np.float64).reshape(self.whole.shape)

    def _at(self, exponent: int) -> Wholes:
        shift = exponent - self.exponent
        return self.whole * (1 << shift) if shift >= 0 else self.whole // (1 << -shift)


def nearest(values: Dyadic, steps: Dyadic) -> Wholes:
    """Return round(value / step) for each of them, halves rounded up.

    >>> nearest(Dyadic.of([0.75, -0.75, 2.0]), Dyadic.of([0.5, 0.5, 0.5])).tolist()
    [2, -1, 4]
    """
    numerator = values.whole * (1 << steps.exponent)
    denominator = steps.whole * (1 << values.exponent)
    return np.asarray((2 * numerator + denominator) // (2 * denominator))
