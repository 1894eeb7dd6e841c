"""Released numbers as people expect to see them; the raw ones stay beside them.

Rounding and clipping look at the released number alone, so that they take nothing from its privacy (post-processing).
"""

import math
from collections.abc import Mapping

from distpriv.framework.queries import Query, Statistic

__all__ = ["display_interval", "display_text", "display_values"]


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


def display_text(value: float, half_width: float) -> str:
    """Return a number with as many digits as its interval leaves any meaning to.

    >>> display_text(40.23481, 1.9), display_text(3, 8.2), display_text(0.51234, 0.00312)
    ('40.2', '3', '0.5123')
    """
    if isinstance(value, int):
        return f"{value:,}"
    decimals = next((k for k in range(13) if half_width >= 10.0 ** (1 - k)), 12) if half_width > 0 else 6
    return f"{value:,.{decimals}f}"
