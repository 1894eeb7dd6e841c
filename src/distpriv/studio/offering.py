"""What can be clicked together from the columns of a public table."""

import re
from itertools import count
from typing import Any

from distpriv.errors import InvalidInput
from distpriv.workflow.policy.survey import RECORDS, Column, Survey, survey

__all__ = ["offered"]

LARGEST_TABLE = 20
"""Kinds of a column that a table of counts can be made by."""

_SIGNS = {"<=": " at most ", ">=": " at least ", "<": " below ", ">": " above ", "+": " plus "}


def offered(source: str) -> dict[str, Any]:
    """Return means, counts, columns of tables and shares to hide, and how many records a dataset may have.

    Raises:
        InvalidInput: the table has no rows, or no column that a statistic can be made of.
    """
    found = survey(source)
    columns = [column for column in found.columns if column.complete]
    if not columns:
        raise InvalidInput("this table has no rows, or no column without nulls to make a statistic of: choose another.")
    names: set[str] = set()
    means = [_mean(column, names) for column in columns if column.low is not None and column.low != column.high]
    return {
        "rows": found.rows,
        "records": RECORDS,
        "means": means,
        "counts": [_counts(column, names) for column in columns if column.values],
        "by": [{"name": c.name, "kinds": c.kinds} for c in columns if 2 <= c.kinds <= LARGEST_TABLE],
        "secrets": _secrets(found, columns),
    }


def _mean(column: Column, names: set[str]) -> dict[str, str]:
    option = "" if column.resolution is None else f", resolution = {column.resolution:g}"
    assert column.low is not None
    assert column.high is not None
    span = f"{_plain(column.low)} to {_plain(column.high)}"
    return {
        "name": _named(column.name, names),
        "text": f"mean({column.sql}{option})",
        "label": column.name,
        "note": span,
    }


def _plain(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) else f"{number:,.5g}"


def _counts(column: Column, names: set[str]) -> dict[str, Any]:
    """Return a count for each frequent value of a column."""
    values = [
        {
            "name": _named(f"{column.name} {value.text}", names),
            "text": f"count({value.condition})",
            "label": value.text,
            "note": f"{value.share:.0%}",
        }
        for value in column.values
    ]
    return {"column": column.name, "values": values}


def _secrets(found: Survey, columns: list[Column]) -> list[dict[str, Any]]:
    """Return the shares that can be hidden, the one that offers itself first."""
    shares = [value for column in columns for value in column.values]
    first = found.suggested_share
    shares.sort(key=lambda value: first is None or value.condition != first.condition)
    return [
        {"share": value.condition, "rows": value.rows, "values": list(found.suggested_values(value))}
        for value in shares
    ]


def _named(wish: str, given: set[str]) -> str:
    """Return a name like the wish that was not given before.

    >>> given = set()
    >>> _named("income >50K", given), _named("income, above 50k", given)
    ('income_above_50k', 'income_above_50k_2')
    """
    for sign, word in _SIGNS.items():
        wish = wish.replace(sign, word)
    plain = re.sub(r"[\W_]+", "_", wish.lower()).strip("_") or "statistic"
    name = next(n for k in count(1) if (n := plain if k == 1 else f"{plain}_{k}") not in given)
    given.add(name)
    return name
