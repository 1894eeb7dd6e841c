"""Every figure, drawn by Matplotlib: as SVG for pages, or on the axes of a notebook.

Matplotlib loads when the first figure is drawn. A figure depends on its data alone: neither on the reader's settings
nor on the time, so that the same data give the same bytes.
"""

from __future__ import annotations

import io
import logging
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from attrs import frozen

from distpriv.framework.display import percent_at_most
from distpriv.report.densities import CaseDensities, case_densities
from distpriv.report.text import printable

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from distpriv.framework.arrays import Floats
    from distpriv.modelling.model import QueryModel
    from distpriv.noise.laws import NoiseLaw
    from distpriv.planning.plan import Plan
    from distpriv.releasing.released import Release

__all__ = [
    "Picture",
    "case_curves",
    "error_curve",
    "plan_axes",
    "release_axes",
    "would_see",
]

WIDTH = 5.0
"""Inches, of 72 units each: on a phone a unit is about a pixel."""

LETTERS = 58
"""Letters of a line of the legend."""

LINE = 0.21  # inches from one line of the legend to the next

BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#57636e"  # told apart by colour-blind readers
INK, GRID = "#1d2730", "#dde3e8"

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text, to be searched, and read in any script
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "sans-serif"],
    "font.size": 10.5,
    "text.parse_math": False,  # names with dollar signs are names
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
}

FEW_TICKS = 4
"""Of numbers near each other, so that those with many digits stay apart."""

_ONE_AT_A_TIME = Lock()  # settings of Matplotlib are those of the process


@frozen(kw_only=True)
class Picture:
    """A figure as SVG, with what it shows in words."""

    svg: str
    caption: str
    alt: str
    """For those who do not see it."""

    @property
    def inline(self) -> Markup:
        """The SVG as a part of a page: without addresses, and without ids that another figure might have."""
        from markupsafe import Markup

        bare = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", self.svg[self.svg.index("<svg") :], flags=re.DOTALL)
        bare = re.sub(r' (?:xmlns(?::xlink)?|version)="[^"]*"', "", bare, count=3)
        bare = re.sub(r'<g id="[^"]*">', "<g>", bare)
        opening = Markup('<svg role="img" aria-label="{}"').format(printable(self.alt))
        return opening + Markup(bare.removeprefix("<svg"))


def case_curves(found: CaseDensities, captions: tuple[str, str]) -> tuple[Picture, Picture]:
    """Return what an attacker sees of two cases before and after noise, on the same axes, each with its caption."""
    top = 1.08 * max(float(each.max()) for both in (found.before, found.after) for each in both.values())

    def draw(curves: Mapping[str, Floats], axes: Axes) -> None:
        for (case, density), colour, dash in zip(curves.items(), (BLUE, ORANGE), ("-", "--"), strict=True):
            axes.plot(found.grid, density, dash, color=colour, label=textwrap.fill(printable(case), LETTERS - 6))
            axes.fill_between(found.grid, density, color=colour, alpha=0.12, linewidth=0)
        axes.set(xlim=(found.grid[0], found.grid[-1]), ylim=(0, top), ylabel="density")
        axes.set_xlabel("best separating direction (standard deviations)")

    before, after = (
        Picture(
            svg=_drawn(name, partial(draw, curves), 2.8),
            caption=caption,
            alt=f"{caption} Two curves, of which {found.overlap(curves):.0%} lie one over the other.",
        )
        for name, curves, caption in zip(("before", "after"), (found.before, found.after), captions, strict=True)
    )
    return before, after


def would_see(
    model: QueryModel, noise: NoiseLaw, undefended: float, most: float, about: str = ""
) -> tuple[Picture, ...]:
    """Return what an attacker sees before and after noise; nothing where the statistics give the secret away."""
    found = case_densities(model, noise)
    if found is None:
        return ()
    captions = (
        f"Without noise: an attacker decides correctly {percent_at_most(undefended)} of the time.",
        f"With the noise{about}: at most {percent_at_most(min(undefended, most))}. The more the curves overlap, the "
        "less can be told.",
    )
    return case_curves(found, captions)


def error_curve(
    errors: Mapping[float, float | None], public: float, chosen: tuple[float, float | None], *, log: bool
) -> str:
    """Return the error against ε, or else against how often an attacker may be right, as SVG; the choice is marked."""
    known = {place: error for place, error in errors.items() if error is not None}

    def draw(axes: Axes) -> None:
        axes.axhline(public, color=GREY, linestyle="--", linewidth=1.2, label="public mean, no release")
        axes.plot(list(known), list(known.values()), color=BLUE, label="estimates")
        place, error = chosen
        if error is not None:
            axes.plot(place, error, "D", color=GREEN, label="the choice")
        axes.set(xlim=(min(errors), max(errors)), ylabel="error")
        axes.set_ylim(0, 1.12 * max(public, error or 0.0, *known.values()))
        if log:
            axes.set(xscale="log", xlabel="ε, smaller is more private")
            _round_ticks(axes.xaxis)
        else:
            axes.set_xlabel("how often an attacker may be right")
            axes.xaxis.set_major_formatter("{x:.0%}")

    return _drawn("trade", draw, 2.5)


def plan_axes(plan: Plan, axes: Axes | None) -> Axes:
    """Draw how much of the public uncertainty each mechanism removes, filled where it may be used."""
    axes = axes or _new_axes(1.1 + 0.32 * len(plan.options))
    for label, colour, those in (
        ("chosen", GREEN, [o for o in plan.options if o is plan.chosen]),
        ("certified", BLUE, [o for o in plan.options if o.may_be_used(plan.assurance) and o is not plan.chosen]),
        ("not certified", ORANGE, [o for o in plan.options if not o.may_be_used(plan.assurance)]),
    ):
        if those:
            face = "none" if label == "not certified" else colour
            axes.barh(
                [o.name for o in those], [o.information for o in those], color=face, edgecolor=colour, label=label
            )
    axes.set(xlim=(0, 1), xlabel="public uncertainty removed")
    axes.xaxis.set_major_formatter("{x:.0%}")
    axes.invert_yaxis()
    if plan.options:
        axes.legend(frameon=False, fontsize="small")
    return axes


def release_axes(release: Release, axes: Axes | None) -> Axes:
    """Draw estimates and noisy values with their intervals, each number in standard errors of its public mean."""
    axes = axes or _new_axes(1.3 + 0.42 * len(release.values))
    for shift, label, colour, values, intervals in (
        (-0.12, "estimate", GREEN, release.estimates, release.estimate_intervals),
        (0.12, "noisy value", BLUE, release.values, release.intervals),
    ):
        for place, name in enumerate(release.values):
            public, unit = release.public_means[name], release.public_errors[name] or 1.0
            low, high = ((end - public) / unit for end in intervals[name])
            axes.plot([low, high], [place + shift] * 2, color=colour, linewidth=1.6)
            middle = (values[name] - public) / unit
            axes.plot(middle, place + shift, "o", color=colour, label=label if place == 0 else None)
    axes.axvline(0.0, color=GREY, linestyle="--", linewidth=1.2, label="public mean")
    axes.margins(y=0.15)
    axes.set_yticks(range(len(release.values)), list(release.values))
    axes.set_xlabel("away from the public mean, in its standard errors (lines: 95 % intervals)")
    axes.invert_yaxis()
    axes.legend(frameon=False, fontsize="small")
    return axes


def _new_axes(height: float) -> Axes:
    """Return axes of a notebook's own figure, which it shows."""
    from matplotlib import pyplot as plt

    return plt.subplots(figsize=(7.0, height), layout="constrained")[1]


def _drawn(name: str, draw: Callable[[Axes], None], height: float) -> str:
    with _ONE_AT_A_TIME, _quiet():
        import matplotlib as mpl
        from matplotlib.figure import Figure

        with mpl.rc_context():
            mpl.rcdefaults()  # whatever the reader's own settings are
            mpl.rcParams.update({**STYLE, "svg.hashsalt": name})
            figure = Figure(figsize=(WIDTH, height), layout="constrained")
            axes, target = figure.add_subplot(), io.StringIO()
            draw(axes)
            handles, labels = axes.get_legend_handles_labels()
            columns = max(1, LETTERS // (6 + max(map(len, labels))))
            lines = sum(label.count("\n") + 1 for label in labels[::columns])
            figure.set_figheight(height + LINE * lines)
            figure.legend(handles, labels, loc="outside upper left", ncols=columns, handlelength=1.6)
            figure.savefig(target, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
            return target.getvalue()


@contextmanager
def _quiet() -> Iterator[None]:
    """Let Matplotlib say nothing of its cache of fonts, nor of letters that the browser will find a font for."""
    logger = logging.getLogger("matplotlib")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph|Matplotlib currently does not support")
            yield
    finally:
        logger.setLevel(before)


def _round_ticks(axis: Axis) -> None:
    """Mark round numbers along a logarithmic axis, fewer of each power of ten the more powers there are."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    low, high = axis.get_view_interval()
    subs = (1.0, 2.0, 5.0) if high < 100 * low else (1.0,)
    axis.set_major_locator(MaxNLocator(FEW_TICKS) if high < 10 * low else LogLocator(subs=subs, numticks=8))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter("{x:g}")
