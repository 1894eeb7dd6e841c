"""Coupled draws that showed δ to be below a limit, written down so that others can see it too.

What was drawn is a histogram of lengths, or of values of δ, each rounded up to one of 8192 a factor of 2. With the bet
that was fixed on other draws it is all that the test needs.
"""

from typing import Any, Literal, Self

import numpy as np
from attrs import cmp_using, field, frozen

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats, Rows
from distpriv.law.cells import RowGrid
from distpriv.noise.laws import NoiseLaw

__all__ = ["Drawn", "DrawnLaw", "Measure", "Witness"]

Measure = Literal["gaussian", "laplace", "delta"]
"""What was measured of a draw: an L2 or an L1 length in units of noise, or δ itself."""

PER_OCTAVE = 8192


def _whole(numbers: Any) -> Rows:
    return np.array(numbers, dtype=np.int64)


@frozen(kw_only=True)
class DrawnLaw:
    """How often each value was drawn, of one law, and the bet that was placed on them."""

    zero: int
    """How many draws were 0."""
    infinite: int
    """How many were infinite."""
    gaps: Rows = field(converter=_whole, eq=cmp_using(eq=np.array_equal))
    """By how many 8192ths of a factor of 2 each of the other values is above the one before."""
    inside: Rows = field(converter=_whole, eq=cmp_using(eq=np.array_equal))
    """How many draws had each of them."""
    bet: float
    """What was placed on them."""

    def __attrs_post_init__(self) -> None:
        gaps, inside = self.gaps, self.inside
        if gaps.shape != inside.shape or gaps.ndim != 1 or (gaps[1:] <= 0).any() or (inside <= 0).any():
            raise InvalidInput("a histogram of draws is out of order, or has empty places: give it as it was written.")
        if min(self.zero, self.infinite) < 0 or not self.counts.sum():
            raise InvalidInput("a histogram needs draws: give it as it was written.")

    @classmethod
    def of(cls, values: Floats, counts: Rows, bet: float) -> Self:
        """Return the histogram of values that were rounded up to places on the logarithmic scale.

        >>> law = DrawnLaw.of(np.array([0.0, 1.0 + 1e-12, np.inf]), np.array([5, 2, 1]), bet=0.5)
        >>> law.values.tolist(), law.counts.tolist()
        ([0.0, 1.000000000001, inf], [5, 2, 1])
        """
        inside = (values > 0) & np.isfinite(values)
        places, which = np.unique(np.rint(np.log2(values[inside]) * PER_OCTAVE).astype(np.int64), return_inverse=True)
        return cls(
            zero=int(counts[values == 0].sum()),
            infinite=int(counts[np.isinf(values)].sum()),
            gaps=np.diff(places, prepend=0),
            inside=np.bincount(which, counts[inside], len(places)),
            bet=float(bet),
        )

    @property
    def values(self) -> Floats:
        """The values, in order."""
        values = np.exp2(np.cumsum(self.gaps) / PER_OCTAVE) * (1 + 1e-12)
        return np.concatenate([[0.0] * (self.zero > 0), values, [np.inf] * (self.infinite > 0)])

    @property
    def counts(self) -> Rows:
        """How often each was drawn."""
        return np.concatenate(
            [[self.zero] * (self.zero > 0), self.inside, [self.infinite] * (self.infinite > 0)]
        ).astype(np.int64)


@frozen(kw_only=True)
class Drawn:
    """All that a test of coupled draws needs."""

    measure: Measure
    noise: NoiseLaw
    """The noise that was found to be enough."""
    scale: float
    """How many times the noise is as wide as the units of the lengths; 1 where δ was measured."""
    epsilon: float
    limit: float
    """What the mean of δ was shown to be below."""
    failure: float
    """The chance that the draws mislead, all laws together."""
    laws: tuple[DrawnLaw, ...]


Witness = Drawn | RowGrid
"""What shows δ where moments do not: coupled draws, or the cells of rows that make up an exact law."""
