"""The coordinates in which a release is rounded: along the axes of its noise, and exactly so.

Axes are orthonormal up to rounding, and their transpose is their inverse up to rounding. Where noise is a million times
wider along one axis than along another that is not good enough: a trace of the wide noise would count as narrow noise.
So statistics are turned by the inverse itself, to 150 binary places and more.
"""

from typing import Self

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats, array_field
from distpriv.noise.dyadic import Dyadic

__all__ = ["Frame"]


@frozen(kw_only=True)
class Frame:
    """A basis, the columns of `outward`, and the map `inward` from statistics to coordinates in it."""

    outward: Floats = array_field()
    inward: Dyadic

    @classmethod
    def along(cls, axes: Floats) -> Self:
        """Return the frame that begins with these orthonormal columns; the others are orthogonal to them.

        >>> Frame.along(np.array([[0.6], [0.8]])).outward.shape
        (2, 2)
        """
        others = np.linalg.qr(axes, mode="complete")[0][:, axes.shape[1] :]
        outward = np.hstack([axes, others])
        return cls(outward=outward, inward=_inverse(outward))

    def skewness(self, sizes: Floats) -> float:
        """Return the largest row sum of |E_kj| size_j / size_k, where inward · outward = I + E."""
        missed = np.abs(_missed(Dyadic.of(self.outward), self.inward).floats())
        with np.errstate(over="ignore"):
            return float((missed * sizes / sizes[:, np.newaxis]).sum(axis=1).max(initial=0.0))


def _inverse(matrix: Floats) -> Dyadic:
    """Return the inverse to 160 binary places, by Newton's iteration.

    It squares the error: 10⁻¹⁵ becomes 10⁻³⁰, then 10⁻⁴⁸.
    """
    if np.isin(matrix, (-1.0, 0.0, 1.0)).all() and all((np.abs(matrix).sum(axis=k) == 1).all() for k in (0, 1)):
        return Dyadic.of(matrix.T)  # the axes are those of the statistics
    exact, found = Dyadic.of(matrix), Dyadic.of(np.linalg.inv(matrix))
    for _ in range(2):
        found = (found + _missed(exact, found) @ found).shortened(160)
    return found


def _missed(matrix: Dyadic, inverse: Dyadic) -> Dyadic:
    """Return I − inverse · matrix."""
    return Dyadic.of(np.eye(len(matrix.whole))) - inverse @ matrix
