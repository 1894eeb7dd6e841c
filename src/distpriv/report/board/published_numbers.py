"""What was published: estimates and noisy values with their intervals, beside what was public before."""

from collections.abc import Sequence
from math import ceil, floor

from attrs import evolve

from distpriv.modelling.public_knowledge import ASSUMES
from distpriv.releasing.released import IN_TABLES
from distpriv.releasing.released_tables import ReleasedTable
from distpriv.report.board.facts import BoardFacts, ShownStatistic
from distpriv.report.heat_map import information_map
from distpriv.report.page import Block, Bullets, Cell, Prose, Section, Table

__all__ = ["published_section", "whole_parts"]

TINY = 1e-9
"""What rounding may add to half of an interval."""


def published_section(facts: BoardFacts) -> Section:
    """Return the section."""
    fits = facts.release.fit.fits
    titles = ["estimate", "noisy value"] if fits else ["noisy value", "estimate"]
    blocks: list[Block] = [block for shown in facts.tables for block in (_table(shown), information_map(shown))]
    if facts.tables:
        blocks.append(Prose(IN_TABLES))
    if facts.statistics:
        blocks += _numbers(facts, titles, noisy_first=not fits)
    return Section("What was published", *blocks, _how_sure(facts), _how_shown())


def _how_sure(facts: BoardFacts) -> Prose:
    return Prose(
        ASSUMES,
        f"{facts.release.fit.sentence} A true number is in the interval of its noisy value with a probability of "
        "95 %, and in that of its estimate with 95 % on average over the protected cases.",
    )


def _how_shown() -> Prose:
    return Prose(
        "Counts are shown as whole numbers that are possible, and shares between 0 and 1. The numbers as they were "
        "drawn are in release.json. Asked again, the same question gets the same answer, so that nobody can "
        "average the noise away."
    )


def _table(shown: ReleasedTable) -> Table:
    """Return a released table with the sums of its rows and columns, where it has some."""
    names, rows = _in_whole_numbers(shown) if shown.table.what == "count" else shown.in_words()
    labels = len(shown.table.by) - 1
    return Table(
        header=names,
        rows=[[*row[:-1], Cell(row[-1], "strong" if shown.table.adds_up else "plain")] for row in rows],
        align="l" * labels + "r" * (len(names) - labels),
        caption=f"{shown.name}: {shown.table.text}.",
    )


def _in_whole_numbers(shown: ReleasedTable) -> tuple[list[str], list[list[str]]]:
    """Return a table of counts in whole numbers that add up; intervals grow by what rounding takes."""
    cells = whole_parts([float(row["estimate"] or 0.0) for row in shown.rows])
    rounded = [{**row, "estimate": float(cell)} for row, cell in zip(shown.rows, cells, strict=True)]
    names, rows = evolve(shown, rows=tuple(rounded)).wide()
    labels, across = len(shown.table.by) - 1, shown.table.shape[-1]
    halves = [
        ceil(((row["high"] or 0.0) - (row["low"] or 0.0)) / 2 + abs(cell - (row["estimate"] or 0.0)) - TINY)
        for row, cell in zip(shown.rows, cells, strict=True)
    ]
    lines = []
    for place, row in enumerate(rows):
        line = [str(label) for label in row[:labels]]
        for column, value in enumerate(row[labels:]):
            number = place * across + column
            half = halves[number] if column < across and number < len(halves) else 0
            line.append(f"{round(value):,} ± {half:,}" if half else f"{round(value):,}")
        lines.append(line)
    return names, lines


def whole_parts(parts: Sequence[float]) -> list[int]:
    """Return whole numbers, none off by one or more, whose sum is that of the parts rounded: largest remainders first.

    >>> whole_parts([29.4, 70.6]), whole_parts([0.5, 0.5, 0.0])
    ([29, 71], [1, 0, 0])
    """
    low = [floor(part) for part in parts]
    left = round(sum(parts)) - sum(low)
    first = sorted(range(len(parts)), key=lambda place: low[place] - parts[place])[: max(left, 0)]
    return [number + (place in first) for place, number in enumerate(low)]


def _numbers(facts: BoardFacts, titles: Sequence[str], *, noisy_first: bool) -> list[Block]:
    """Return the numbers that are in no table."""
    return [
        Table(
            header=["number", *(title for kind in titles for title in (kind, "95 % interval")), "public mean"],
            rows=[_number_row(statistic, noisy_first=noisy_first) for statistic in facts.statistics],
            align="lrrrrr",
            caption="Published numbers. A noisy value is the true one with noise added on purpose; an estimate is the "
            "best guess from all noisy values and what is public; the public mean is what was known without them.",
        ),
        Bullets(*(f"{statistic.name}: {statistic.what}" for statistic in facts.statistics)),
    ]


def _number_row(shown: ShownStatistic, *, noisy_first: bool) -> list[Cell | str]:
    """Return the cells of a number: what to read first stands first, and stands out."""
    noisy = (shown.shown, f"{shown.low} to {shown.high}")
    estimate = (shown.estimate, f"{shown.estimate_low} to {shown.estimate_high}")
    (first, around), second = (noisy, estimate) if noisy_first else (estimate, noisy)
    return [shown.name, Cell(first, "strong"), around, *second, shown.public]
