"""How long the moves of statistics are in units of noise, and the least scale of noise that passes a test of them."""

import math
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
from attrs import field, frozen

from distpriv.errors import InvalidModel
from distpriv.framework.arrays import Floats, Rows, array_field

__all__ = ["Curve", "Lengths", "least_scale", "length", "pilot_scale", "require_square", "standard"]

Curve = Callable[[Floats], Floats]
"""An upper bound on the δ of noise and the same noise moved by a length, which rises with the length."""

FINE, ROUGH = 8192, 512
"""Into how many lengths, evenly in the logarithm, a factor of 2 is divided: for a certificate, and for a choice."""


@frozen(kw_only=True)
class Lengths:
    """Lengths, each rounded up to one of few, and how often each occurs."""

    values: Floats = array_field()
    counts: Rows = field()

    @classmethod
    def rounded_up(cls, lengths: Floats, per_octave: int = FINE) -> Self:
        """Return the lengths rounded up by at most a factor of 2^(1/per_octave); 0 and infinity stay as they are.

        >>> Lengths.rounded_up(np.array([0.0, 1.5, 1.5]), 1).values.round(6)
        array([0., 2.])
        """
        with np.errstate(divide="ignore"):
            places = np.floor(np.log2(lengths) * per_octave + 1)
        found, counts = np.unique(places, return_counts=True)
        with np.errstate(over="ignore"):
            return cls(values=np.exp2(found / per_octave) * (1 + 1e-12), counts=counts)

    def deltas(self, curve: Curve, scale: float) -> Floats:
        """Return the δ of each length under noise of a scale, which may be 0 or infinite."""
        if scale in (0, math.inf):
            return np.asarray(self.values > 0 if scale == 0 else np.isinf(self.values), dtype=np.float64)
        return curve(self.values / scale)

    def mean(self, curve: Curve, scale: float) -> float:
        """Return the mean δ under noise of a scale."""
        return float(self.counts @ self.deltas(curve, scale) / self.counts.sum())

    @property
    def moves(self) -> bool:
        """Whether any length is above 0."""
        return bool(self.values.any())


def length(whitening: Floats, order: int, differences: Floats) -> Floats:
    """Return the L1 or L2 length of differences in units of the noise; infinite where one moves what has no noise.

    A rounding error of the product is added. A difference of exactly 0 has the length 0.
    """
    bare = ~whitening.any(axis=1)
    whitened = np.abs(differences @ whitening)
    lengths = whitened.sum(axis=1) if order == 1 else np.sqrt(np.square(whitened).sum(axis=1))
    steepest = float(np.abs(whitening).max(initial=0.0))
    lengths += 1e-15 * whitening.size * steepest * np.abs(differences).max(axis=1)
    lengths[differences[:, bare].any(axis=1)] = np.inf
    return np.asarray(lengths)


def least_scale(passes: Callable[[float], bool], start: float, accuracy: float) -> float:
    """Return a scale that passes and is little above one that does not, or small; what passes still does enlarged."""
    step = 1.02
    low = high = start
    if passes(start):
        while low > 1e-12 * start and passes(low := low / step):
            high, step = low, min(step**2, 100.0)
    else:
        while not passes(high := high * step):
            low, step = high, min(step**2, 100.0)
    while high > low * (1 + accuracy):
        middle = math.sqrt(low * high)
        if passes(middle):
            high = middle
        else:
            low = middle
    return high


def pilot_scale(pilot: Sequence[Lengths], curve: Curve, limit: float) -> float:
    """Return about the least scale at which every law's mean is below the limit."""

    def passes(scale: float) -> bool:
        return all(lengths.mean(curve, scale) <= limit for lengths in pilot)

    if not any(lengths.moves for lengths in pilot):
        return 1.0
    return least_scale(passes, max(float(lengths.values.max()) for lengths in pilot), 1e-4)


def standard(differences: Sequence[Floats]) -> tuple[Floats, list[Floats]]:
    """Return the largest move of each statistic, and the moves of those that move at all in units of it."""
    units = np.max([np.abs(law).max(axis=0) for law in differences], axis=0)
    return units, [law[:, units > 0] / units[units > 0] for law in differences]


def require_square(squares: Floats) -> Floats:
    """Refuse noise so small, or so large, that its variance cannot be written down."""
    if (squares == 0).any() or not np.isfinite(squares).all():
        raise InvalidModel("the statistics are too small or too large to square: multiply them by a constant.")
    return squares
