"""Putting a drawing on paper: the only place that lays out text.

Text stays text, so that it can be selected, searched and read in any script, and is drawn in the font of whoever looks
at it. Widths are therefore bounded beforehand, every line is anchored where it belongs, and nothing depends on a font
being there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from distpriv.framework.arrays import Floats
from distpriv.report.legend import legend, legend_ink
from distpriv.report.palette import GRID, MUTED
from distpriv.report.pictures import Axis, Paper
from distpriv.report.shapes import (
    HAIRLINE,
    OUTLINE,
    Area,
    Curve,
    Dots,
    Ink,
    Label,
    Mark,
    Scale,
    Shape,
    Sheet,
    Stroke,
    Words,
)
from distpriv.report.text import ems, tick_labels, wrapped
from distpriv.report.ticks import linear_ticks, log_ticks

if TYPE_CHECKING:
    from distpriv.report.figures import Drawing

__all__ = ["laid_out"]

TICK, PAD = 3.0, 3.5
"""How long the line at a number is, and how far the number is from it."""


@frozen
class _Side:
    """One axis, with the numbers that are marked along it."""

    scale: Scale
    ticks: list[float]
    labels: list[str]


def laid_out(drawing: Drawing, paper: Paper) -> Sheet:
    """Return a drawing on paper, in pixels; the same drawing gives the same sheet."""
    inside, shapes = drawing.height(paper), drawing.shapes(paper)
    below = wrapped(drawing.x.text, (paper.width - 4 * paper.font) / paper.font)
    beside = wrapped(drawing.y.text, max(inside, 8 * paper.font) / paper.font)
    entries = legend(drawing.keys, paper)
    top = entries[-1].bottom + 0.8 * paper.font
    bottom = top + inside
    x, y = _sides(drawing, shapes, inside, paper)
    left, right = _ends(x, y, paper, len(beside) * paper.line)
    x, y = _placed(x, left, right), _placed(y, bottom, top)
    box = (left, top, right, bottom)
    clipped = bool(drawing.x.limits or drawing.y.limits)
    words = [
        Words((left + right) / 2, bottom + 1.9 * paper.font + (k + 0.75) * paper.line, line, "middle", name="x-label")
        for k, line in enumerate(below)
    ]
    words += [
        Words((k + 0.75) * paper.line, (top + bottom) / 2, line, "middle", turned=True, name="y-label")
        for k, line in enumerate(beside)
    ]
    ink = [
        *_grid(x, y, box, paper),
        *(each for shape in shapes for each in _ink(shape, x.scale, y.scale, clipped)),
        *_frame(drawing, box),
        *words,
        *legend_ink(entries, paper),
    ]
    height = bottom + 2.2 * paper.font + len(below) * paper.line
    return Sheet(paper.width, height, paper.font, box, tuple(ink))


def _sides(drawing: Drawing, shapes: list[Shape], inside: float, paper: Paper) -> tuple[_Side, _Side]:
    """Return both axes; rows, one below the other, have no numbers up the paper and are counted in pixels."""
    data = [shape for shape in shapes if not isinstance(shape, Label)]
    along = _scale(drawing.x, [shape.x for shape in data], stands_on_zero=drawing.stands_on == "x")
    x = _ticked(drawing.x, along, 0.6 * paper.width / paper.font)
    if drawing.in_rows:
        return x, _Side(Scale(inside, 0.0), [], [])
    up = _scale(drawing.y, [shape.y for shape in data], stands_on_zero=drawing.stands_on == "y")
    return x, _ticked(drawing.y, up, None)


def _scale(axis: Axis, values: list[Floats], *, stands_on_zero: bool) -> Scale:
    if axis.limits:
        return Scale(*axis.limits, log=axis.log)
    return Scale.around(values, log=axis.log, stands_on_zero=stands_on_zero)


def _ticked(axis: Axis, scale: Scale, room: float | None) -> _Side:
    """Mark up to eight round numbers, and fewer where they would not fit into `room` ems side by side."""
    for most in range(8, 1, -1):
        ticks = (log_ticks if axis.log else linear_ticks)(scale.low, scale.high, most)
        labels = tick_labels(ticks, log=axis.log)
        if room is None or sum(ems(label) + 1 for label in labels) <= room:
            break
    return _Side(scale, ticks, labels)


def _ends(x: _Side, y: _Side, paper: Paper, label: float) -> tuple[float, float]:
    """Return where the axes begin and end, with room for the numbers beside them and half of those at their ends."""
    first, last = (ems(x.labels[0]), ems(x.labels[-1])) if x.labels else (0.0, 0.0)
    left = max(label + (max(map(ems, y.labels), default=0.0) + 0.9) * paper.font, first / 2 * paper.font)
    return left, paper.width - max(1.7, last / 2) * paper.font


def _placed(side: _Side, start: float, end: float) -> _Side:
    return evolve(side, scale=evolve(side.scale, start=start, end=end))


def _grid(x: _Side, y: _Side, box: tuple[float, float, float, float], paper: Paper) -> Iterator[Ink]:
    """Yield a faint line at every number, a short one outside of the axes, and the number."""
    left, top, right, bottom = box
    for at, label in zip(x.scale.at(x.ticks).tolist(), x.labels, strict=True):
        yield Stroke(((at, bottom), (at, top)), GRID, HAIRLINE)
        yield Stroke(((at, bottom), (at, bottom + TICK)), MUTED, HAIRLINE)
        yield Words(at, bottom + TICK + PAD + 0.76 * paper.font, label, "middle")
    for at, label in zip(y.scale.at(y.ticks).tolist(), y.labels, strict=True):
        yield Stroke(((left, at), (right, at)), GRID, HAIRLINE)
        yield Stroke(((left - TICK, at), (left, at)), MUTED, HAIRLINE)
        yield Words(left - TICK - PAD, at + 0.36 * paper.font, label, "end")


def _frame(drawing: Drawing, box: tuple[float, float, float, float]) -> Iterator[Ink]:
    left, top, right, bottom = box
    yield Stroke(((left, bottom), (right, bottom)), MUTED, HAIRLINE)
    if not drawing.in_rows:
        yield Stroke(((left, top), (left, bottom)), MUTED, HAIRLINE)


def _ink(shape: Shape, x: Scale, y: Scale, clipped: bool) -> Iterator[Ink]:
    """Yield a shape in pixels; lines never leave the axes, and markers only where nothing is cut off."""
    if isinstance(shape, Label):
        where = x.start if shape.anchor == "start" else x.end
        yield Words(where, float(y.at(shape.y)), shape.text, shape.anchor, name="row")
        return
    places = tuple(zip(x.at(shape.x).tolist(), y.at(shape.y).tolist(), strict=True))
    match shape:
        case Curve():
            yield Stroke(places, shape.look.colour, shape.width, shape.look.dash, clipped=clipped)
        case Area(look=None):
            yield Stroke(places, None, face=shape.face, opacity=shape.opacity, clipped=clipped)
        case Area(look=look):
            assert look is not None
            yield Stroke(places, look.colour, OUTLINE, look.dash, shape.face, shape.opacity, clipped)
        case Dots():
            yield from (Mark(*place, shape.look, shape.face, clipped) for place in places)
