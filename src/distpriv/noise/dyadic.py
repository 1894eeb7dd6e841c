"""Arithmetic without rounding: arrays of whole numbers over one power of two.

Every double is such a number, sums and products of them are too, and Python's whole numbers have no largest one. So
what a release computes from the private statistics before the noise is added is computed exactly.
"""

from typing import Any, Self

import numpy as np
from attrs import cmp_using, field, frozen
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats

__all__ = ["Dyadic", "Wholes", "nearest", "product"]

Wholes = NDArray[Any]
"""Whole numbers of any size: an array of Python's `int`."""

Limbs = NDArray[np.int64]
"""Limbs along the first axis, the lowest first."""

_BITS = 16


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
        odd = (fractions * 2.0**53).astype(np.int64)  # the binary digits of a double
        zeros = np.frexp((odd & -odd).astype(np.float64))[1] - 1  # at the end of its binary digits
        odd, places = odd >> np.maximum(zeros, 0), np.where(odd == 0, 0, 53 - powers - zeros)
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
        matrices = self.whole.ndim == other.whole.ndim == 2
        whole = product(self.whole, other.whole) if matrices else self.whole @ other.whole
        return type(self)(whole=whole, exponent=self.exponent + other.exponent)

    def times(self, counts: Wholes) -> Self:
        """Return every number times a whole number of its own."""
        return type(self)(whole=self.whole * counts, exponent=self.exponent)

    def shortened(self, exponent: int) -> Self:
        """Return the numbers cut off after `exponent` binary places."""
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


def product(first: Wholes, second: Wholes) -> Wholes:
    """Return the product of two matrices, exactly, at the speed of floating-point ones.

    A whole number is a sum of limbs of 16 binary digits, of which only the last may be negative. Products of two limbs
    are below 2³² in size, and sums of up to 2²⁰ of them below 2⁵³: doubles hold all of that without rounding, in
    whatever order it is added up. So matrices of limbs are multiplied as doubles, and carried over.

    >>> product(np.array([[2**70, -1]], dtype=object), np.array([[3], [5]], dtype=object))
    array([[3541774862152233910267]], dtype=object)
    """
    if first.shape[1] > 2**20:
        return np.asarray(first @ second)
    left, right = _limbs(first), _limbs(second)
    stacked = left.reshape(-1, left.shape[2]).astype(np.float64)
    # A sum of 2^20 products has at most two limbs more than both factors together; int64 holds any carry on the way.
    sums = np.zeros((len(left) + len(right) + 4, len(first), second.shape[1]), dtype=np.int64)
    for k, limb in enumerate(right):
        limbs = stacked @ limb.astype(np.float64)
        sums[k : k + len(left)] += limbs.astype(np.int64).reshape(len(left), len(first), -1)
    return _wholes(sums)


def _limbs(numbers: Wholes) -> Limbs:
    """Return the limbs of whole numbers, as many for each as the largest has."""
    flat = numbers.ravel().tolist()
    count = 1 + max((number.bit_length() for number in flat), default=0) // _BITS
    written = b"".join(number.to_bytes(2 * count, "little", signed=True) for number in flat)
    digits = np.frombuffer(written, dtype="<u2").reshape(len(flat), count).T.astype(np.int64)
    digits[-1] -= (digits[-1] >> (_BITS - 1)) << _BITS
    return digits.reshape(count, *numbers.shape)


def _wholes(sums: Limbs) -> Wholes:
    """Return whole numbers from limbs of any size that the array has room for; `sums` is overwritten."""
    for k in range(len(sums) - 1):
        sums[k + 1] += sums[k] >> _BITS
    digits = np.ascontiguousarray((sums & ((1 << _BITS) - 1)).reshape(len(sums), -1).T.astype("<u2")).tobytes()
    size = 2 * len(sums)
    numbers = np.empty(len(digits) // size, dtype=object)
    numbers[:] = [int.from_bytes(digits[at : at + size], "little", signed=True) for at in range(0, len(digits), size)]
    return numbers.reshape(sums.shape[1:])
