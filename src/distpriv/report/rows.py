"""Bars, one row a name. The name stands above its bar, so it may be long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from attrs import frozen

from distpriv.errors import InvalidInput
from distpriv.report.fields import number_field, of_type, optional_text_field, several_field, text_field
from distpriv.report.palette import PAPER, look
from distpriv.report.pictures import CLAIMS, Axis, Key, Paper
from distpriv.report.text import ems, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Bar", "Bars"]

BAND, SPACE = 16.0, 10.0


@frozen
class Bar:
    """A name, a number, the number as it is to be read, and whether its guarantee holds."""

    name: str = text_field("the name of a bar")
    value: float = number_field("a bar")
    shown: str = optional_text_field("the number beside a bar")
    holds: bool = True


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


def _write(axes: Axes, rows: Sequence[_Row], paper: Paper) -> None:
    """Write the names on the left, and the numbers as they are to be read on the right."""
    axes.set_ylim(rows[-1].bottom, 0)
    where = axes.get_yaxis_transform()
    for k, row in enumerate(rows):
        for j, line in enumerate(row.lines):
            base = row.top + j * paper.line + paper.font
            axes.text(0.0, base, line, transform=where, rotation_mode="anchor", gid=f"row-{k}-{j}")
        if row.shown:
            axes.text(1.0, row.top + paper.font, row.shown, transform=where, ha="right", rotation_mode="anchor")


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

    def paint(self, axes: Axes, paper: Paper) -> None:
        """Draw the bars and write their names above them."""
        rows = _rows(self.bars, paper)
        for bar, row in zip(self.bars, rows, strict=True):
            edge = look(0 if bar.holds else 1)
            face = edge.colour if bar.holds else PAPER
            axes.barh(
                row.middle,
                bar.value,
                BAND - 4,
                color=face,
                edgecolor=edge.colour,
                linestyle=(0, edge.dash or None),
                linewidth=1.4,
            )
        _write(axes, rows, paper)
