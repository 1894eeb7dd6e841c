r"""Tell values apart by the low-order bits that floating-point noise leaves behind.

A floating-point number below 1/2 may have bits below 2⁻⁵³; one between 1/2 and 1 has none. Released from x = 0, noise
keeps all its bits. Released from x = 1, a sum below 1/2 comes from noise below −1/2, which has no such bits, and a
larger sum is rounded to numbers that have none either. So a release with bits below 2⁻⁵³ **cannot** come from 1, and
often comes from 0, whatever the scale of the noise and whatever ε is claimed (Mironov 2012).
"""

import numpy as np
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats, Rows

__all__ = ["finest_bit", "has_fine_bits"]

MANTISSA = 53
"""Bits of a floating-point number's mantissa."""


def finest_bit(values: Floats) -> Rows:
    """Return for each value the largest k of which it is a whole multiple of 2ᵏ; 0 is a multiple of everything.

    >>> finest_bit(np.array([3.0, 0.75, 8.0])).tolist()
    [0, -2, 3]
    """
    mantissas, exponents = np.frexp(np.asarray(values, dtype=np.float64))
    whole = np.abs(np.ldexp(mantissas, MANTISSA)).astype(np.int64)
    trailing = np.log2(np.maximum(whole & -whole, 1)).astype(np.int64)
    return np.asarray(np.where(whole > 0, exponents - MANTISSA + trailing, np.iinfo(np.int64).max))


def has_fine_bits(values: Floats, around: float) -> NDArray[np.bool_]:
    """Tell which values are no whole multiples of the spacing of floating-point numbers just below `around`.

    >>> has_fine_bits(np.array([2.0**-60, 1.0 - 2.0**-53]), 1.0).tolist()
    [True, False]
    """
    return np.asarray(finest_bit(values) < np.frexp(around)[1] - 1 - MANTISSA)
