"""Bars, one row a name. The name stands above its bar, so it may be long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

import numpy as np
from attrs import frozen

from distpriv.errors import InvalidInput
from distpriv.report.fields import number_field, of_type, optional_text_field, several_field, text_field
from distpriv.report.palette import GRID, PAPER, Look, look
from distpriv.report.pictures import CLAIMS, Axis, Key, Paper, numbers
from distpriv.report.shapes import HAIRLINE, Area, Curve, Label, Shape
from distpriv.report.shapes import Dots as Marks
from distpriv.report.text import ems, wrapped

__all__ = ["Bar", "Bars", "Dots"]

BAND, SPACE = 16.0, 10.0


@frozen
class Bar:
    """A name, a number, the number as it is to be read, and whether its guarantee holds."""

    name: str = text_field("the name of a bar")
    value: float = number_field("a bar")
    shown: str = optional_text_field("the number beside a bar")
    holds: bool = True
    chosen: bool = False
    """Whether it is the one that was taken of all."""


@frozen
class _Row:
    """Where one row is: its lines of text, and the middle of its band, in pixels from the top."""

    lines: list[str]
    shown: str
    top: float
    middle: float
    bottom: float


def _rows(entries: Sequence[Bar], paper: Paper) -> list[_Row]:
    rows: list[_Row] = []
    top = 0.4 * SPACE
    room = paper.width / paper.font - 6.0
    for entry in entries:
        aside = ems(entry.shown) <= max(room / 4, room - ems(entry.name) - 1)
        lines = wrapped(entry.name, room - (ems(entry.shown) + 1 if aside else 0))
        lines += [] if aside else wrapped(entry.shown, room)
        end = top + len(lines) * paper.line
        rows.append(_Row(lines, entry.shown if aside else "", top, end + BAND / 2, end + BAND + SPACE))
        top = rows[-1].bottom
    return rows


def _labels(rows: Sequence[_Row], paper: Paper) -> Iterator[Label]:
    """Yield the names on the left, and the numbers as they are to be read on the right."""
    for row in rows:
        for j, line in enumerate(row.lines):
            yield Label(row.top + j * paper.line + paper.font, line)
        if row.shown:
            yield Label(row.top + paper.font, row.shown, "end")


@frozen(kw_only=True)
class Bars:
    """Bars from zero, filled where the guarantee holds and hollow where it does not."""

    bars: tuple[Bar, ...] = several_field("bars", of_type("bars", Bar))
    x: Axis
    y: Axis
    legend: str = text_field("the legend")
    hollow: str = text_field("hollow", default=CLAIMS)
    in_rows: ClassVar = True
    """Whether rows, one below the other, take the place of numbers up the paper."""
    stands_on: ClassVar[Literal["", "x", "y"]] = "x"
    """The axis at whose zero areas begin, so that nothing is shown below it."""

    def __attrs_post_init__(self) -> None:
        if self.x.log:
            raise InvalidInput("bars start at zero, which no logarithmic axis has: use lines.")

    @property
    def keys(self) -> Sequence[Key]:
        """What a bar is, and what a hollow one is if there is any."""
        hollow = [] if all(bar.holds for bar in self.bars) else [Key(self.hollow, look(1), ("box",))]
        return [Key(self.legend, look(0), ("fill",)), *hollow]

    def height(self, paper: Paper) -> float:
        """Return the height of all rows."""
        return _rows(self.bars, paper)[-1].bottom

    def shapes(self, paper: Paper) -> list[Shape]:
        """Return the bars and their names above them."""
        rows = _rows(self.bars, paper)
        bars = [_band(bar, row) for bar, row in zip(self.bars, rows, strict=True)]
        return [*bars, *_labels(rows, paper)]


def _band(bar: Bar, row: _Row) -> Area:
    edge, half = look(0 if bar.holds else 1), BAND / 2 - 2
    up, down = row.middle - half, row.middle + half
    x, y = np.array([(0.0, up), (bar.value, up), (bar.value, down), (0.0, down)]).T
    return Area(x, y, edge.colour if bar.holds else PAPER, look=edge)


CHOSEN = Look(look(2).colour, (), "D")


@frozen(kw_only=True)
class Dots:
    """One dot a row on a logarithmic axis: a diamond for what was chosen, hollow where the guarantee does not hold."""

    bars: tuple[Bar, ...] = several_field("dots", of_type("dots", Bar))
    x: Axis
    y: Axis
    legend: str = text_field("the legend")
    hollow: str = text_field("hollow", default=CLAIMS)
    choice: str = text_field("the choice", default="the choice")
    in_rows: ClassVar = True
    stands_on: ClassVar[Literal["", "x", "y"]] = ""

    def __attrs_post_init__(self) -> None:
        for bar in self.bars:
            self.x.check(f"the dot {bar.name!r}", numbers("a dot", [bar.value]))

    @property
    def keys(self) -> Sequence[Key]:
        """What a dot is, what a diamond and what a hollow dot is, where there are any."""
        chosen = [Key(self.choice, CHOSEN, ("marker",))] if any(bar.chosen for bar in self.bars) else []
        hollow = [] if all(bar.holds for bar in self.bars) else [Key(self.hollow, look(1), ("hollow",))]
        return [Key(self.legend, look(0), ("marker",)), *chosen, *hollow]

    def height(self, paper: Paper) -> float:
        """Return the height of all rows."""
        return _rows(self.bars, paper)[-1].bottom

    def shapes(self, paper: Paper) -> list[Shape]:
        """Return a thin line across each row with the dot on it, and the names above."""
        rows = _rows(self.bars, paper)
        every = [bar.value for bar in self.bars]
        ends = np.array([0.8 * min(every), 1.25 * max(every)])
        found: list[Shape] = [Curve(ends, np.full(2, row.middle), Look(GRID, (), ""), HAIRLINE) for row in rows]
        for bar, row in zip(self.bars, rows, strict=True):
            style = CHOSEN if bar.chosen else look(0 if bar.holds else 1)
            place = np.array([bar.value]), np.array([row.middle])
            found.append(Marks(*place, style, style.colour if bar.holds else PAPER))
        return [*found, *_labels(rows, paper)]
