"""Putting a drawing on paper with Matplotlib: the only place that lays out text.

Text stays text in the SVG, so that it can be selected, searched and read in any script, and is drawn in the font of
whoever looks at it. Widths are therefore bounded beforehand, every line is anchored where it belongs, and nothing
depends on a font being there. A PNG is drawn in DejaVu Sans, which Matplotlib brings along.
"""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

from distpriv.report.legend import Sheet, draw_legend, legend
from distpriv.report.palette import GRID, INK, MUTED, PAPER
from distpriv.report.pictures import Axis, Paper
from distpriv.report.text import ems, tick_labels, wrapped
from distpriv.report.ticks import linear_ticks, log_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from distpriv.report.figures import Drawing

__all__ = ["printed"]

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "distpriv",
    "text.parse_math": False,  # a dollar sign is a dollar sign
    "text.color": INK,
    "font.family": "DejaVu Sans",
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "lines.linewidth": 1.8,
    "lines.markersize": 6.0,
    "legend.frameon": False,
}


def printed(drawing: Drawing, paper: Paper, form: str) -> bytes:
    """Return a drawing as the bytes of an `svg` or a `png` file; the same drawing gives the same bytes."""
    import matplotlib as mpl

    nothing = ("Date", "Creator", "Format", "Type") if form == "svg" else ("Software",)
    target = io.BytesIO()
    with mpl.rc_context():
        mpl.rcdefaults()  # whatever the reader's own settings are
        mpl.rcParams.update({**STYLE, "font.size": paper.font})
        figure = _laid_out(drawing, paper)
        with warnings.catch_warnings():
            # Letters that DejaVu lacks are measured here and drawn by the reader's own fonts.
            warnings.filterwarnings("ignore", message="Glyph|Matplotlib currently does not support")
            figure.savefig(target, format=form, dpi=72 if form == "svg" else 144, metadata=dict.fromkeys(nothing))
    return target.getvalue()


def _laid_out(drawing: Drawing, paper: Paper) -> Figure:
    from matplotlib.figure import Figure

    inside = drawing.height(paper)
    below = wrapped(drawing.x.text, (paper.width - 4 * paper.font) / paper.font)
    beside = wrapped(drawing.y.text, max(inside, 8 * paper.font) / paper.font)
    entries = legend(drawing.keys, paper)
    top = entries[-1].bottom + 0.8 * paper.font
    bottom = top + inside
    height = bottom + 2.2 * paper.font + len(below) * paper.line
    sheet = Sheet(Figure(figsize=(paper.width / 72, height / 72), dpi=72, facecolor=PAPER), paper.width, height)
    axes = sheet.figure.add_axes((0.0, 0.0, 1.0, 1.0))
    _paint(drawing, axes, paper)
    left, right = _sides(axes, paper, len(beside) * paper.line)
    axes.set_position((left / paper.width, 1 - bottom / height, (right - left) / paper.width, inside / height))
    for k, line in enumerate(below):
        where = bottom + 1.9 * paper.font + (k + 0.75) * paper.line
        sheet.text((left + right) / 2, where, line, ha="center", gid=f"x-label-{k}")
    for k, line in enumerate(beside):
        sheet.text((k + 0.75) * paper.line, (top + bottom) / 2, line, ha="center", rotation=90, gid=f"y-label-{k}")
    draw_legend(sheet, entries, paper)
    return sheet.figure


def _sides(axes: Axes, paper: Paper, label: float) -> tuple[float, float]:
    """Return where the axes begin and end, with room for the numbers beside them and half of those at their ends."""
    up, along = ([ems(t.get_text()) for t in side.get_ticklabels()] for side in (axes.yaxis, axes.xaxis))
    first, last = (along[0], along[-1]) if along else (0.0, 0.0)
    left = max(label + (max(up, default=0.0) + 0.9) * paper.font, first / 2 * paper.font)
    return left, paper.width - max(1.7, last / 2) * paper.font


def _paint(drawing: Drawing, axes: Axes, paper: Paper) -> None:
    axes.set(xscale="log" if drawing.x.log else "linear", yscale="log" if drawing.y.log else "linear")
    axes.spines[["top", "right"]].set_visible(False)
    drawing.paint(axes, paper)
    if drawing.x.limits:
        axes.set_xlim(drawing.x.limits)
    if drawing.y.limits:
        axes.set_ylim(drawing.y.limits)
    _tick(axes.xaxis, drawing.x, axes.get_xlim(), 0.6 * paper.width / paper.font)
    if drawing.in_rows:
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
    else:
        _tick(axes.yaxis, drawing.y, axes.get_ylim(), None)


def _tick(side: Any, axis: Axis, limits: tuple[float, float], room: float | None) -> None:
    """Mark up to eight round numbers, and fewer where they would not fit into `room` ems side by side."""
    low, high = min(limits), max(limits)
    for most in range(8, 1, -1):
        ticks = log_ticks(low, high, most) if axis.log else linear_ticks(low, high, most)
        labels = tick_labels(ticks, log=axis.log)
        if room is None or sum(ems(label) + 1 for label in labels) <= room:
            break
    side.set_ticks(ticks, labels=labels)
    side.set_ticks([], minor=True)
    side.set_tick_params(length=3, labelcolor=INK)
