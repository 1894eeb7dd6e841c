"""Reproducing the paper from the command line."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from distpriv.cli.bars import progress_bars
from distpriv.experiments.result import Result
from distpriv.experiments.setting import Setting
from distpriv.workflow.reproducing import Reproduction, reproduce

__all__ = ["show_page", "show_reproduction"]

QUICK = ("table_1", "table_2", "figure_2")
"""What the demonstration has the time for."""


def show_reproduction(
    console: Console, names: Sequence[str] | None, *, protocol: Any, seed: int, out: Path, processes: int | None
) -> None:
    """Run what is asked for under progress bars, print a summary, and say where the page is."""
    setting = Setting(protocol=protocol, seed=seed, processes=processes)
    with progress_bars(console) as progress:
        found = reproduce(names, setting=setting, out=out, progress=progress)
    console.print(_summary(found))
    agreeing, compared = found.agreeing
    console.print(f"{agreeing} of {compared} published numbers are within three standard errors of ours.")
    for result in found.results.values():
        for one in result.comparisons:
            if not one.agrees:
                console.print(f"[red]{one.label}[/red]: {one.published:g}, ours {one.ours:.4g}, z {one.z:+.1f}")
    console.print(f"The page: {found.page}", soft_wrap=True, highlight=False)


def show_page(console: Console, out: Path) -> None:
    """Run what takes a few seconds, and say where the page is."""
    found = reproduce(QUICK, setting=Setting(), out=out)
    console.print(f"\nThe paper's numbers beside these, on one page: {found.page}", soft_wrap=True, highlight=False)


def _summary(found: Reproduction) -> Table:
    table = Table(title="The paper's tables and figures", title_justify="left", title_style="bold")
    for heading in ("", "agree", "points that fail", "seconds", ""):
        table.add_column(heading, justify="left" if heading == "" else "right")
    for name, result in found.results.items():
        table.add_row(
            result.title,
            f"{result.agreeing} of {len(result.comparisons)}" if result.comparisons else "",
            _failing(result),
            "" if result.seconds is None else f"{result.seconds:.1f}",
            "" if name in found.computed else "from a run before",
        )
    paper = [r.seconds or 0.0 for name, r in found.results.items() if name != "beyond"]
    newer = [r.seconds or 0.0 for name, r in found.results.items() if name == "beyond"]
    table.add_section()
    table.add_row("the paper's own mechanisms", "", "", f"{sum(paper):.1f}", "")
    if newer:
        table.add_row("the mechanisms beyond it", "", "", f"{sum(newer):.1f}", "")
    return table


def _failing(result: Result) -> str:
    held = [point.holds for point in result.errors] + [point.holds for point in result.attacks]
    checked = [holds for holds in held if holds is not None]
    return f"{checked.count(False)} of {len(checked)}" if checked else ""
