"""Arithmetic without rounding: arrays of whole numbers over one power of two.

Every double is such a number, sums and products of them are too, and Python's whole numbers have no largest one. So
what a release computes from the private statistics before the noise is added is computed exactly.
"""

from typing import Any, Self

import numpy as np
from attrs import cmp_using, field, frozen

from distpriv.framework.arrays import Floats
from distpriv.noise.limbs import Wholes, product

__all__ = ["Dyadic", "nearest"]

DIGITS = 53
"""The binary digits of a double."""

LARGE = 12
"""Matrices of so many columns are multiplied by their limbs."""


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
        if not np.isfinite(floats).all():
            raise OverflowError("only finite numbers are whole numbers over a power of two")
        fractions, powers = np.frexp(floats)
        odd = (fractions * 2.0**DIGITS).astype(np.int64)
        zeros = np.frexp((odd & -odd).astype(np.float64))[1] - 1  # at the end of its binary digits
        odd, places = odd >> np.maximum(zeros, 0), np.where(odd == 0, 0, DIGITS - powers - zeros)
        exponent = max(0, int(places.max(initial=0)))
        shifts = np.where(odd == 0, 0, exponent - places)
        return cls(whole=np.asarray(odd.astype(object) << shifts.astype(object), dtype=object), exponent=exponent)

    def __add__(self, other: Self) -> Self:
        exponent = max(self.exponent, other.exponent)
        return type(self)(whole=self._at(exponent) + other._at(exponent), exponent=exponent)

    def __sub__(self, other: Self) -> Self:
        exponent = max(self.exponent, other.exponent)
        return type(self)(whole=self._at(exponent) - other._at(exponent), exponent=exponent)

    def __matmul__(self, other: Self) -> Self:
        large = self.whole.ndim == other.whole.ndim == 2 and self.whole.shape[1] >= LARGE
        whole = product(self.whole, other.whole) if large else self.whole @ other.whole
        return type(self)(whole=whole, exponent=self.exponent + other.exponent)

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
