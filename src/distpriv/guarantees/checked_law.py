"""What the rows say of the law of noisy statistics beyond its moments, as numbers that a certificate holds."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from attrs import asdict, frozen

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.guarantees.lattice_floor import Smoothing

__all__ = ["LARGEST_GATE", "LARGEST_RIPPLE", "CheckedLaw", "combination_in_words"]

LARGEST_RIPPLE = 1e-3
"""A ripple that is higher is not smoothed by the noise, and a bell curve says nothing about it."""

LARGEST_GATE = 0.01
"""Beyond this the second-order law is not near enough to the truth (`docs/proofs/saddlepoint_check.md`)."""

LARGEST_CHANCE = 0.01
"""With a larger chance that a ripple was missed, nobody has looked."""

MOST_WORDS = 4
"""How many statistics of a combination are named."""


@frozen(kw_only=True)
class CheckedLaw:
    """What the rows say of statistics with some noise, as numbers."""

    ripple: float
    """η: by which share of itself the density ripples beyond the bell curve, at most, at the peaks that were found."""
    peak: tuple[float, ...] | None
    """The frequency of the highest ripple, one number a statistic; none where there is no peak."""
    missed: float
    """The chance that the search passed by a peak."""
    projected: float
    """The largest exact δ of a combination of the released numbers: no certificate may promise less."""
    combination: tuple[float, ...]
    """That combination, one number a statistic."""
    total_variation: float
    """The largest exact H_0 of a combination: how well an attacker does who looks at that number alone."""
    combinations: int
    """How many were looked at."""
    second_order: float | None = None
    """δ by the second-order law, with as much more as its own error may be; none for a single number, known exactly."""
    gate: float | None = None
    """|c₂|, the share by which the second-order law may err where δ is decided; or what is unknown of it there."""

    def __attrs_post_init__(self) -> None:
        if (self.peak is None) != (self.ripple == 0):
            raise InvalidInput(f"a ripple of {self.ripple:g} needs a peak, and none has none: give both, or neither.")
        unknown = self.second_order is None
        if unknown != (self.gate is None) or (unknown and len(self.combination) > 1):
            raise InvalidInput("a law of several numbers has a second order with its error: give both, or neither.")

    @property
    def is_complete(self) -> bool:
        """Whether the exact law is that of everything released, as of a single number: then δ is known without more."""
        return self.second_order is None

    @property
    def is_bell(self) -> bool:
        """Whether the rows leave nothing open that a bell curve with a correction does not say."""
        if self.is_complete:
            return True
        return self.is_smooth and self.missed <= LARGEST_CHANCE and self.gate is not None and self.gate <= LARGEST_GATE

    @property
    def delta(self) -> float:
        """The largest δ that the rows show."""
        return max(self.projected, self.second_order or 0.0)

    @property
    def is_smooth(self) -> bool:
        """Whether no ripple is left that neither a bell curve nor the exact law says anything about."""
        return self.is_complete or self.ripple <= LARGEST_RIPPLE

    @property
    def sentence(self) -> str:
        """What was found, in a sentence."""
        if not self.is_bell and self.missed > LARGEST_CHANCE:
            return (
                f"The bell curve was held against the rows, but a ripple is missed with a chance of {self.missed:.1g}."
            )
        if not self.is_bell:
            return "The bell curve was held against the rows, which are too far from it."
        if self.is_complete:
            return f"The bell curve was held against the rows: by their exact law δ is {self.projected:.2g}."
        return (
            f"The bell curve was held against the rows: by their law to the second order δ is {self.second_order:.2g}."
        )

    def rippled(self, smoothed: Mapping[str, Smoothing]) -> Mapping[str, Smoothing]:
        """Return between which factors of the bell curve's the density lies, with ripple and lattice."""
        if self.is_complete:
            return smoothed
        return {
            name: Smoothing(least=law.least * (1 - self.ripple), most=law.most * (1 + self.ripple))
            for name, law in smoothed.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers and lists."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return what `to_dict` wrote down."""
        peak = values["peak"]
        lists = {"peak": None if peak is None else tuple(peak), "combination": tuple(values["combination"])}
        return cls(**{**values, **lists})


def combination_in_words(names: tuple[str, ...], coefficients: tuple[float, ...], deviations: Floats) -> str:
    """Say which combination of statistics it is, the one first that matters most.

    >>> combination_in_words(("age", "women", "hours"), (0.25, 0.5, 1e-9), np.array([10.0, 5.0, 1.0]))
    'age + 2·women'
    >>> combination_in_words(tuple("abcdefgh"), (1.0,) * 8, np.arange(8.0, 0.0, -1.0))
    'a + b + c + d and 4 others'
    >>> combination_in_words(("men", "women"), (1.0, -0.9999), np.ones(2))
    'men − women'
    """
    effects = np.abs(np.array(coefficients)) * deviations
    order = [int(k) for k in np.argsort(-effects, kind="stable") if effects[k] > 0.01 * effects.max()]
    said = ""
    for k in order if len(order) <= MOST_WORDS + 1 else order[:MOST_WORDS]:
        share = coefficients[k] / coefficients[order[0]]
        written = f"{abs(share):.3g}"
        times = "" if written == "1" else f"{written}·"
        sign = (" + " if share > 0 else " − ") if said else ""
        said += f"{sign}{times}{names[k]}"
    return said if len(order) <= MOST_WORDS + 1 else f"{said} and {len(order) - MOST_WORDS} others"
