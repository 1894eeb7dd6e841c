"""Numbers as people read them: the one place that rounds, for the terminal, pages and spreadsheets alike.

A number is rounded to two significant digits of its 95 % half-width. Rounding and clipping look at the released number
alone, so they take nothing from its privacy (post-processing).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill

from distpriv.framework.queries import Query
from distpriv.framework.statistics.statistic import Statistic

__all__ = [
    "WIDTH",
    "columns",
    "counted",
    "decimals",
    "display_interval",
    "display_values",
    "half_text",
    "hanging",
    "interval_text",
    "number_text",
    "percent",
    "percent_at_most",
    "rounded",
    "whole_parts",
    "with_half",
]

WIDTH = 100
"""Letters of a line of running text on the terminal."""

MOST_DECIMALS = 12


def decimals(half_width: float) -> int:
    """Return how many decimals show two significant digits of a half-width; 6 where a number is certain.

    >>> decimals(1.9), decimals(0.0312), decimals(250), decimals(0)
    (1, 3, 0, 6)
    """
    if half_width <= 0:
        return 6
    return next((k for k in range(MOST_DECIMALS + 1) if half_width >= 10.0 ** (1 - k)), MOST_DECIMALS)


def rounded(value: float, half_width: float) -> float:
    """Return a number as it is shown, for spreadsheets; whole numbers stay whole.

    >>> rounded(40.23481, 1.9), rounded(3, 8.2)
    (40.2, 3)
    """
    return value if isinstance(value, int) else round(float(value), decimals(half_width)) + 0.0


def number_text(value: float, half_width: float) -> str:
    """Return a number with as many digits as its half-width leaves meaningful.

    >>> number_text(40.23481, 1.9), number_text(3, 8.2), number_text(0.51234, 0.00312)
    ('40.2', '3', '0.5123')
    """
    if isinstance(value, int):
        return f"{value:,}"
    text = f"{rounded(value, half_width):,.{decimals(half_width)}f}"
    return text.rstrip("0").rstrip(".") if half_width <= 0 and "." in text else text


def half_text(half_width: float, *, whole: bool = False) -> str:
    """Return the half-width of a 95 % interval, rounded up for whole numbers.

    >>> half_text(1.94), half_text(0.0312), half_text(0.0), half_text(7.2, whole=True)
    ('± 1.9', '± 0.031', '± 0', '± 8')
    """
    return f"± {math.ceil(half_width - 1e-9):,}" if whole else f"± {number_text(half_width, half_width)}"


def with_half(value: float, half_width: float) -> str:
    """Return a number with the half-width of its 95 % interval; the number alone where it is certain.

    >>> with_half(40.378, 2.47), with_half(12, 3.2), with_half(12, 0.0)
    ('40.4 ± 2.5', '12 ± 4', '12')
    """
    if half_width <= 0:
        return number_text(value, half_width)
    return f"{number_text(value, half_width)} {half_text(half_width, whole=isinstance(value, int))}"


def interval_text(ends: tuple[float, float], half_width: float) -> str:
    """Return an interval, both ends rounded like its middle.

    >>> interval_text((38.2668, 40.0589), 0.896)
    '38.27 to 40.06'
    """
    return f"{number_text(ends[0], half_width)} to {number_text(ends[1], half_width)}"


def percent(share: float) -> str:
    """Return a share in whole percent; 0 and 100 only where it is that.

    >>> [percent(share) for share in (0.0, 0.004, 0.5, 0.996, 1.0)]
    ['0 %', '< 1 %', '50 %', '> 99 %', '100 %']
    """
    return "< 1 %" if 0 < share < 0.01 else "> 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def percent_at_most(share: float) -> str:
    """Return a share as a percentage that is not below it, with one decimal where that is needed.

    >>> percent_at_most(0.6), percent_at_most(0.60201), percent_at_most(1.0)
    ('60 %', '60.3 %', '100 %')
    """
    return f"{min(1000, math.ceil(1000 * share - 1e-6)) / 10:g} %"


def whole_parts(parts: Sequence[float]) -> list[int]:
    """Return whole numbers, none off by one or more, whose sum is that of the parts rounded: largest remainders first.

    >>> whole_parts([29.4, 70.6]), whole_parts([0.5, 0.5, 0.0])
    ([29, 71], [1, 0, 0])
    """
    low = [math.floor(part) for part in parts]
    left = round(sum(parts)) - sum(low)
    first = sorted(range(len(parts)), key=lambda place: low[place] - parts[place])[: max(left, 0)]
    return [number + (place in first) for place, number in enumerate(low)]


def display_values(values: Mapping[str, float], query: Query, records: int) -> dict[str, float]:
    """Return counts as whole numbers from 0 to n, proportions from 0 to 1, and everything else as it is.

    >>> import distpriv as dp
    >>> query = dp.Query(women=dp.count("sex = 'F'"), share=dp.proportion("sex = 'F'"), age=dp.mean("age"))
    >>> display_values({"women": -3.2, "share": 1.1, "age": 40.25}, query, 100)
    {'women': 0, 'share': 1.0, 'age': 40.25}
    """
    kinds = {number.name: number.statistic for number in query.numbers}
    return {name: kinds[name].displayed(value, records) for name, value in values.items()}


def display_interval(ends: tuple[float, float], statistic: Statistic, records: int) -> tuple[float, float]:
    """Return an interval in the terms of its number: whole numbers for counts, rounded outwards, and possible ends.

    >>> import distpriv as dp
    >>> women, share = dp.count("sex = 'F'"), dp.proportion("sex = 'F'")
    >>> display_interval((-3.2, 8.1), women, 100), display_interval((0.4, 1.1), share, 100)
    ((0, 9), (0.4, 1.0))
    """
    low, high = (statistic.displayed(end, records) for end in ends)
    if not isinstance(low, int):
        return low, high
    return math.floor(max(0.0, min(ends[0], records))), math.ceil(min(records, max(ends[1], 0.0)))


def columns(rows: Sequence[Sequence[str]], left: Iterable[int] = (0,)) -> list[str]:
    """Return lines with aligned columns, indented by two; those in `left` are flush left, the others flush right.

    >>> columns([["statistic", "estimate"], ["age", "39.2"]])
    ['  statistic  estimate', '  age            39.2']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    on_the_left = set(left)
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if place in on_the_left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def hanging(text: str, indent: str = "  ") -> str:
    """Return a paragraph of a list, wrapped, its further lines indented deeper."""
    return fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_long_words=False)


def counted(number: int, one: str) -> str:
    """Return how many there are, in the singular where there is one.

    >>> counted(1, "number"), counted(1200, "record"), counted(2, "access")
    ('1 number', '1,200 records', '2 accesses')
    """
    return f"{number:,} {one}{'' if number == 1 else 'es' if one.endswith('s') else 's'}"
