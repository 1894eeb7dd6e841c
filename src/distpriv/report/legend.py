"""The legend above a picture, set like words in a paragraph so that it fits on any paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from distpriv.report.palette import PAPER
from distpriv.report.pictures import SHADE, Key, Paper
from distpriv.report.text import ems, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Entry", "Sheet", "draw_legend", "legend"]

HANDLE, GAP = 30.0, 8.0


@frozen
class Sheet:
    """A figure whose places are counted in pixels from its upper left corner."""

    figure: Figure
    width: float
    height: float

    def text(self, x: float, y: float, text: str, **options: Any) -> None:
        """Write one line, which stays anchored at its place whatever the font."""
        self.figure.text(x / self.width, 1 - y / self.height, text, rotation_mode="anchor", **options)

    def line(self, x: Sequence[float], y: Sequence[float], **options: Any) -> None:
        """Draw a line through points, or a marker at one."""
        from matplotlib.lines import Line2D

        places = [value / self.width for value in x], [1 - value / self.height for value in y]
        self.figure.add_artist(Line2D(*places, **options))


@frozen
class Entry:
    """An entry of the legend and where its first line is."""

    key: Key
    lines: list[str]
    x: float
    y: float
    bottom: float


def legend(keys: Sequence[Key], paper: Paper) -> list[Entry]:
    """Set entries side by side like words, and on a new line where the paper ends."""
    placed: list[Entry] = []
    x = y = bottom = 0.0
    for key in keys:
        lines = wrapped(key.text, (paper.width - HANDLE - 2 * GAP) / paper.font)
        width = HANDLE + GAP + max(map(ems, lines)) * paper.font
        if x > 0 and x + width > paper.width:
            x, y = 0.0, bottom
        bottom = max(bottom, y + len(lines) * paper.line)
        placed.append(Entry(key, lines, x, y, bottom))
        x += width + 2 * GAP
    return placed


def draw_legend(sheet: Sheet, entries: Sequence[Entry], paper: Paper) -> None:
    """Draw all entries, each with its sign and its text."""
    for k, entry in enumerate(entries):
        _draw_sign(sheet, entry, paper)
        for j, line in enumerate(entry.lines):
            where = entry.y + paper.font + j * paper.line
            sheet.text(entry.x + HANDLE + GAP, where, line, gid=f"legend-{k}-{j}")


def _draw_sign(sheet: Sheet, entry: Entry, paper: Paper) -> None:
    look, parts = entry.key.look, entry.key.parts
    start, end = entry.x + 2, entry.x + HANDLE
    middle = entry.y + 0.62 * paper.font
    dash = (0, look.dash or None)
    if "fill" in parts or "shade" in parts:
        wide = {"linewidth": 10, "solid_capstyle": "butt", "alpha": SHADE if "shade" in parts else 1.0}
        sheet.line([start, end], [middle] * 2, color=look.colour, **wide)
    if "box" in parts:
        around = [start, end, end, start, start], [middle + side for side in (-5, -5, 5, 5, -5)]
        sheet.line(*around, color=look.colour, linestyle=dash, linewidth=1.4)
    if "line" in parts:
        sheet.line([start, end], [middle] * 2, color=look.colour, linestyle=dash)
    if "marker" in parts or "hollow" in parts:
        face = {"marker": look.marker, "markerfacecolor": PAPER if "hollow" in parts else look.colour}
        sheet.line([(start + end) / 2], [middle], color=look.colour, markeredgewidth=1.4, **face)
