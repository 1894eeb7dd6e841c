"""Coupled draws that showed δ to be below a limit, written down so that others can see it too.

What was drawn is a histogram of lengths, or of values of δ, each rounded up to one of 8192 a factor of 2. With the bet
that was fixed on other draws it is all that the test needs.
"""

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from attrs import field, frozen

from distpriv.framework.arrays import Floats, Rows, array_field
from distpriv.law.cells import RowGrid
from distpriv.noise.laws import NoiseLaw, noise_from_dict

__all__ = ["Drawn", "DrawnLaw", "Measure", "Witness", "witness_from_dict"]

Measure = Literal["gaussian", "laplace", "delta"]
"""What was measured of a draw: an L2 or an L1 length in units of noise, or δ itself."""

PER_OCTAVE = 8192


@frozen(kw_only=True)
class DrawnLaw:
    """How often each value was drawn, of one law, and the bet that was placed on them."""

    values: Floats = array_field()
    counts: Rows = field()
    bet: float

    def to_dict(self) -> dict[str, Any]:
        """Return the histogram as whole numbers: the places of values on a logarithmic scale, as gaps."""
        inside = (self.values > 0) & np.isfinite(self.values)
        places = np.rint(np.log2(self.values[inside]) * PER_OCTAVE).astype(np.int64)
        return {
            "zero": int(self.counts[self.values == 0].sum()),
            "infinite": int(self.counts[np.isinf(self.values)].sum()),
            "gaps": np.diff(places, prepend=0).tolist(),
            "counts": self.counts[inside].tolist(),
            "bet": self.bet,
        }

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Self:
        """Return the histogram that `to_dict` wrote down, to the last bit.

        >>> law = DrawnLaw(values=[0.0, 1.0 + 1e-12, np.inf], counts=np.array([5, 2, 1]), bet=0.5)
        >>> DrawnLaw.from_dict(law.to_dict()).values.tolist() == law.values.tolist()
        True
        """
        places = np.cumsum(np.array(written["gaps"], dtype=np.int64))
        values = [np.exp2(places / PER_OCTAVE) * (1 + 1e-12)]
        counts = [np.array(written["counts"], dtype=np.int64)]
        for name, value in (("zero", 0.0), ("infinite", np.inf)):
            if written[name]:
                values.append(np.array([value]))
                counts.append(np.array([written[name]], dtype=np.int64))
        order = np.argsort(np.concatenate(values), kind="stable")
        return cls(
            values=np.concatenate(values)[order], counts=np.concatenate(counts)[order], bet=float(written["bet"])
        )


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

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, lists and text."""
        numbers = {name: getattr(self, name) for name in ("scale", "epsilon", "limit", "failure")}
        laws = [law.to_dict() for law in self.laws]
        return {"measure": self.measure, "noise": self.noise.to_dict(), **numbers, "laws": laws}

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Self:
        """Return what `to_dict` wrote down."""
        numbers = {name: float(written[name]) for name in ("scale", "epsilon", "limit", "failure")}
        return cls(
            measure=written["measure"],
            noise=noise_from_dict(written["noise"]),
            laws=tuple(DrawnLaw.from_dict(law) for law in written["laws"]),
            **numbers,
        )


Witness = Drawn | RowGrid
"""What shows δ where moments do not: coupled draws, or the cells of rows that make up an exact law."""


def witness_from_dict(written: Mapping[str, Any]) -> Witness:
    """Return what `to_dict` wrote down."""
    return RowGrid.from_dict(written) if written["measure"] == "cells" else Drawn.from_dict(written)
