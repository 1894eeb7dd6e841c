r"""What the second-order law leaves out at the points that decide δ, measured there instead of bounded by :math:`c_2`.

With :math:`p = q e^a` for both laws of a pair, what they have in common changes δ by a factor, and only what they do
not have in common moves ε (`docs/proofs/saddlepoint_check.md`):

.. math:: H_ε(p_i \| p_j) \le e^{A + α} \int (q_i - e^{ε - D - β} q_j)_+
    \quad\text{if}\quad |a_i - A| \le α, \; |a_i - a_j - D| \le β .

:math:`c_2` of a table adds up over its cells, and is nearly the same in both scenarios.
"""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.modelling.inverted_law import DRAWS, InvertedLaw, draws_for, error_of
from distpriv.modelling.tilted_law import Saddlepoints, TiltedLaw

__all__ = ["MeasuredTerms"]

LOOKED_AT = 8
"""At how many points, each of which holds as much of δ."""

ENOUGH = 0.003
"""An error that need not be smaller."""

COMMON = 4.0
"""How many times as far the density may be off as the ratio: it changes δ by a factor, which is counted in full."""


@frozen(kw_only=True)
class MeasuredTerms:
    """The logarithms of p/q of both laws of a pair, where it is decided."""

    first: float
    """A: that of the first law, on average."""
    apart: float
    """D: that less the one of the second law, on average."""
    first_error: float
    """α: by how much the first is another elsewhere, and how far draws may be off."""
    apart_error: float
    """β: the same of the difference."""

    @classmethod
    def of(cls, laws: Sequence[TiltedLaw], found: Sequence[Saddlepoints], held: Floats) -> Self:
        """Return what is measured of two laws.

        Args:
            laws: the first and the second law.
            found: their saddlepoints at the same points.
            held: how much of δ each of the points holds.
        """
        few, many = (draws_for(laws, most) for most in DRAWS)
        found_by_few = cls._by(laws, found, _looked_at(held), few)
        enough = max(found_by_few.first_error, found_by_few.apart_error) <= ENOUGH or len(many) == len(few)
        return found_by_few if enough else cls._by(laws, found, _looked_at(held), many)

    @classmethod
    def _by(
        cls, laws: Sequence[TiltedLaw], found: Sequence[Saddlepoints], looked_at: Sequence[int], draws: Floats
    ) -> Self:
        pairs = [
            [InvertedLaw.at(law, at, which, draws) for law, at in zip(laws, found, strict=True)] for which in looked_at
        ]
        if not all(math.isfinite(law.term) for pair in pairs for law in pair):
            return cls(first=0.0, apart=0.0, first_error=math.inf, apart_error=math.inf)
        firsts = np.array([first.term for first, _ in pairs])
        aparts = np.array([first.term - second.term for first, second in pairs])
        return cls(
            first=float(firsts.mean()),
            apart=float(aparts.mean()),
            first_error=_spread(firsts) + max(first.error for first, _ in pairs),
            apart_error=_spread(aparts) + max(error_of(first.moves - second.moves) for first, second in pairs),
        )

    @property
    def error(self) -> float:
        """How far off the logarithm of the ratio may be, or a share of what the density may be off by."""
        return max(self.apart_error, self.first_error / COMMON)


def _looked_at(held: Floats) -> list[int]:
    places = (np.arange(LOOKED_AT) + 0.5) / LOOKED_AT * held.sum()
    return list(np.searchsorted(np.cumsum(held), places).tolist())


def _spread(values: Floats) -> float:
    """Return how far the farthest of some values is from their mean."""
    return float(np.abs(values - values.mean()).max())
