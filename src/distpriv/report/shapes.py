"""What a picture consists of: data as shapes, which a drawing gives, and ink in pixels, which a sheet holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike

from distpriv.framework.arrays import Floats
from distpriv.report.palette import INK, Look

__all__ = ["HAIRLINE", "LINE", "OUTLINE", "Area", "Curve", "Dots", "Ink", "Label", "Mark", "Scale", "Shape", "Sheet",
           "Stroke", "Words"]  # fmt: skip

Place = tuple[float, float]
Anchor = Literal["start", "middle", "end"]

LINE, OUTLINE, HAIRLINE = 1.8, 1.4, 0.8
"""Widths of lines of data, of outlines, and of what data are read against."""


@frozen
class Curve:
    """A line through points, in the units of the axes."""

    x: Floats
    y: Floats
    look: Look
    width: float = LINE


@frozen
class Dots:
    """Markers at points, filled with a colour."""

    x: Floats
    y: Floats
    look: Look
    face: str


@frozen
class Area:
    """A closed outline, filled; without a `look` it has no line around it."""

    x: Floats
    y: Floats
    face: str
    opacity: float = 1.0
    look: Look | None = None


@frozen
class Label:
    """One line of text at a height in the units of the axes, at the left or the right end of them."""

    y: float
    text: str
    anchor: Anchor = "start"


Shape = Curve | Dots | Area | Label
"""Whatever a drawing can give."""


@frozen
class Stroke:
    """A line through places, or what it encloses if it has a face."""

    places: tuple[Place, ...]
    colour: str | None
    width: float = LINE
    dash: tuple[float, ...] = ()
    """Lengths of dashes and gaps, in widths of the line."""
    face: str | None = None
    opacity: float = 1.0
    clipped: bool = False
    """Whether nothing of it is seen outside of the axes."""

    @property
    def dashes(self) -> tuple[float, ...]:
        """Lengths of dashes and gaps in pixels."""
        return tuple(part * self.width for part in self.dash)


CORNERS: dict[str, tuple[Place, ...]] = {
    "s": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "D": ((0, -1.41), (1.41, 0), (0, 1.41), (-1.41, 0)),
    "^": ((0, -1), (1, 1), (-1, 1)),
    "v": ((0, 1), (-1, -1), (1, -1)),
    "<": ((-1, 0), (1, -1), (1, 1)),
    ">": ((1, 0), (-1, 1), (-1, -1)),
}
RADIUS = 3.0


@frozen
class Mark:
    """A small shape at a place: a circle, or what its corners enclose."""

    x: float
    y: float
    look: Look
    face: str
    clipped: bool = False

    @property
    def corners(self) -> tuple[Place, ...] | None:
        """Its corners in pixels, and nothing of a circle.

        >>> Mark(10.0, 10.0, Look("#000000", (), "^"), "#000000").corners
        ((10.0, 7.0), (13.0, 13.0), (7.0, 13.0))
        """
        if self.look.marker not in CORNERS:
            return None
        return tuple((self.x + RADIUS * x, self.y + RADIUS * y) for x, y in CORNERS[self.look.marker])


@frozen
class Words:
    """One line of text; `y` is what its letters stand on, and what is turned reads from below."""

    x: float
    y: float
    text: str
    anchor: Anchor = "start"
    turned: bool = False
    name: str = ""
    """What the text is: x-label, y-label, legend or row."""
    colour: str = INK


Ink = Stroke | Mark | Words
"""Whatever can be on a sheet."""


@frozen
class Sheet:
    """A finished picture: its size and its font in pixels, and what is on it, the first thing lowest."""

    width: float
    height: float
    font: float
    box: tuple[float, float, float, float]
    """Left, top, right and bottom of the axes."""
    ink: tuple[Ink, ...]


@frozen
class Scale:
    """From numbers to pixels along one axis.

    >>> Scale(0.0, 10.0, start=100.0, end=0.0).at([0, 5, 10]).tolist()
    [100.0, 50.0, 0.0]
    >>> Scale(0.1, 10.0, log=True, start=0.0, end=100.0).at([1.0]).tolist()
    [50.0]
    """

    low: float
    high: float
    log: bool = False
    start: float = 0.0
    end: float = 1.0

    @classmethod
    def around(cls, values: Sequence[Floats], *, log: bool, stands_on_zero: bool) -> Scale:
        """Return a scale with a little room around all values; where areas stand on zero, none below it.

        >>> Scale.around([np.array([0.0, 100.0])], log=False, stands_on_zero=True).high
        105.0
        """
        every = np.concatenate([*values, *([np.zeros(1)] if stands_on_zero else [])])
        low, high = _spread(*((np.log10(every.min()), np.log10(every.max())) if log else (every.min(), every.max())))
        room = 0.05 * (high - low)
        ends = [end if stands_on_zero and end == 0 else end + side * room for end, side in ((low, -1), (high, 1))]
        first, last = (float(10**end) if log else float(end) for end in ends)
        return cls(first, last, log)

    def at(self, values: ArrayLike) -> Floats:
        """Return where numbers are."""
        along: Any = np.log10 if self.log else np.asarray
        low, high, found = (along(np.asarray(each, dtype=np.float64)) for each in (self.low, self.high, values))
        return np.asarray(self.start + (found - low) / (high - low) * (self.end - self.start))


def _spread(low: float, high: float) -> tuple[float, float]:
    """Return two ends that are apart, also of values that are all but the same."""
    largest = max(abs(low), abs(high))
    if high - low > 1e-9 * largest and high - low > 1e-300:
        return low, high
    apart = max(0.05 * largest, 1e-12) if largest > 1e-300 else 0.05
    return low - apart, high + apart
