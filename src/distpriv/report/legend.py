"""The legend above a picture, set like words in a paragraph so that it fits on any paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from distpriv.report.palette import PAPER
from distpriv.report.pictures import SHADE, Key, Paper
from distpriv.report.shapes import OUTLINE, Ink, Mark, Stroke, Words
from distpriv.report.text import ems, wrapped

__all__ = ["Entry", "legend", "legend_ink"]

HANDLE, GAP = 30.0, 8.0


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


def legend_ink(entries: Sequence[Entry], paper: Paper) -> Iterator[Ink]:
    """Yield all entries, each with its sign and its text."""
    for entry in entries:
        yield from _sign(entry, paper)
        for j, line in enumerate(entry.lines):
            where = entry.y + paper.font + j * paper.line
            yield Words(entry.x + HANDLE + GAP, where, line, name="legend")


def _sign(entry: Entry, paper: Paper) -> Iterator[Ink]:
    look, parts = entry.key.look, entry.key.parts
    start, end = entry.x + 2, entry.x + HANDLE
    middle = entry.y + 0.62 * paper.font
    around = ((start, middle - 5), (end, middle - 5), (end, middle + 5), (start, middle + 5))
    if "fill" in parts or "shade" in parts:
        yield Stroke(around, None, face=look.colour, opacity=SHADE if "shade" in parts else 1.0)
    if "box" in parts:
        yield Stroke((*around, around[0]), look.colour, OUTLINE, look.dash)
    if "line" in parts:
        yield Stroke(((start, middle), (end, middle)), look.colour, dash=look.dash)
    if "marker" in parts or "hollow" in parts:
        yield Mark((start + end) / 2, middle, look, PAPER if "hollow" in parts else look.colour)
