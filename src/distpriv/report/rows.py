"""Pictures with one row a name: bars, and dots with intervals. The name stands above its bar, so it may be long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import field, frozen

from distpriv.errors import InvalidInput
from distpriv.report.drawing import CLAIMS, Axis, Key, Paper
from distpriv.report.fields import number_field, of_type, optional_text_field, several_field, text_field
from distpriv.report.palette import PAPER, look
from distpriv.report.text import ems, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Bar", "Bars", "Interval", "Intervals"]

BAND, SPACE = 16.0, 10.0


@frozen
class Bar:
    """A name, a number, the number as it is to be read, and whether its guarantee holds."""

    name: str = text_field("the name of a bar")
    value: float = number_field("a bar or an end of an interval")
    shown: str = optional_text_field("the number beside a bar")
    holds: bool = True


@frozen
class Interval:
    """A name, a value between two ends, and how it is to be read, such as '38.2 ± 1.9 years'."""

    name: str = text_field("the name of an interval")
    value: float = number_field("a bar or an end of an interval")
    low: float = number_field("a bar or an end of an interval")
    high: float = number_field("a bar or an end of an interval")
    shown: str = optional_text_field("the number beside an interval")

    def __attrs_post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise InvalidInput(
                f"the interval of {self.name!r} must hold its value, "
                f"got {self.value} outside [{self.low}, {self.high}]."
            )


@frozen
class _Row:
    """Where one row is: its lines of text, and the middle of its band, in pixels from the top."""

    lines: list[str]
    shown: str
    top: float
    middle: float
    bottom: float


def _rows(entries: Sequence[Bar | Interval], paper: Paper) -> list[_Row]:
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
    in_rows: bool = field(default=True, init=False)

    def __attrs_post_init__(self) -> None:
        if self.x.log:
            raise InvalidInput("bars start at zero, which no logarithmic axis has: use intervals or lines.")

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


@frozen(kw_only=True)
class Intervals:
    """A dot with a bar from end to end in each row."""

    intervals: tuple[Interval, ...] = several_field("intervals", of_type("intervals", Interval))
    x: Axis
    y: Axis
    legend: str = text_field("the legend")
    in_rows: bool = field(default=True, init=False)

    def __attrs_post_init__(self) -> None:
        for interval in self.intervals:
            if self.x.log and interval.low <= 0:
                raise InvalidInput(
                    f"the interval of {interval.name!r} reaches {interval.low} on a logarithmic axis: use a linear one."
                )

    @property
    def keys(self) -> Sequence[Key]:
        """What the dot and the bar are."""
        return [Key(self.legend, look(0), ("line", "marker"))]

    def height(self, paper: Paper) -> float:
        """Return the height of all rows."""
        return _rows(self.intervals, paper)[-1].bottom

    def paint(self, axes: Axes, paper: Paper) -> None:
        """Draw the intervals with caps and write their names above them."""
        rows, colour = _rows(self.intervals, paper), look(0).colour
        for one, row in zip(self.intervals, rows, strict=True):
            axes.plot(
                [one.low, one.high], [row.middle] * 2, color=colour, marker="|", markersize=9, markeredgewidth=1.8
            )
            axes.plot([one.value], [row.middle], color=colour, marker="o", markersize=7)
        _write(axes, rows, paper)
