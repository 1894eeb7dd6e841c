r"""Products of matrices of whole numbers of any size, exactly, at the speed of floating-point ones.

A whole number is a sum of limbs of 16 binary digits, :math:`\sum_k l_k 2^{16k}`, of which only the last may be
negative. Products of two limbs are below 2³² in size, and sums of up to 2²⁰ of them below 2⁵³: doubles hold all of that
without rounding, in whatever order it is added up. So matrices of limbs are multiplied as doubles, and carried over.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Wholes", "product"]

Wholes = NDArray[Any]
"""Whole numbers of any size: an array of Python's `int`."""

Limbs = NDArray[np.int64]
"""Limbs along the first axis, the lowest first."""

BITS, MOST_SUMMED = 16, 2**20


def product(first: Wholes, second: Wholes) -> Wholes:
    """Return the product of two matrices.

    >>> product(np.array([[2**70, -1]], dtype=object), np.array([[3], [5]], dtype=object))
    array([[3541774862152233910267]], dtype=object)
    """
    if first.shape[1] > MOST_SUMMED:
        return np.asarray(first @ second)
    left, right = _limbs(first), _limbs(second)
    stacked = left.reshape(-1, left.shape[2]).astype(np.float64)
    # A sum of 2^20 products has at most two limbs more than both factors together; int64 holds any carry on the way.
    sums = np.zeros((len(left) + len(right) + 4, len(first), second.shape[1]), dtype=np.int64)
    for k, limb in enumerate(right):
        found = stacked @ limb.astype(np.float64)
        sums[k : k + len(left)] += found.astype(np.int64).reshape(len(left), len(first), -1)
    return _wholes(sums)


def _limbs(numbers: Wholes) -> Limbs:
    """Return the limbs of whole numbers, as many for each as the largest has."""
    flat = numbers.ravel().tolist()
    count = 1 + max((number.bit_length() for number in flat), default=0) // BITS
    written = b"".join(number.to_bytes(2 * count, "little", signed=True) for number in flat)
    digits = np.frombuffer(written, dtype="<u2").reshape(len(flat), count).T.astype(np.int64)
    digits[-1] -= (digits[-1] >> (BITS - 1)) << BITS
    return digits.reshape(count, *numbers.shape)


def _wholes(sums: Limbs) -> Wholes:
    """Return whole numbers from limbs of any size that the array has room for; `sums` is overwritten."""
    for k in range(len(sums) - 1):
        sums[k + 1] += sums[k] >> BITS
    digits = np.ascontiguousarray((sums & ((1 << BITS) - 1)).reshape(len(sums), -1).T.astype("<u2")).tobytes()
    size = 2 * len(sums)
    found = np.empty(len(digits) // size, dtype=object)
    found[:] = [int.from_bytes(digits[at : at + size], "little", signed=True) for at in range(0, len(digits), size)]
    return found.reshape(sums.shape[1:])
