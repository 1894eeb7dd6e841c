"""What can be clicked together from the columns of a public table."""

from typing import Any

from distpriv.errors import InvalidInput
from distpriv.policy.survey import RECORDS, Column, Names, Survey, survey

__all__ = ["offered"]

LARGEST_TABLE = 20
"""Kinds of a column that a table of counts can be made by."""


def offered(source: str) -> dict[str, Any]:
    """Return means, counts, columns of tables and shares to hide, and how many records a dataset may have.

    Raises:
        InvalidInput: the table has no rows, or no column that a statistic can be made of.
    """
    found = survey(source)
    columns = [column for column in found.columns if column.complete]
    if not columns:
        raise InvalidInput("this table has no rows, or no column without nulls to make a statistic of: choose another.")
    names = Names()
    means = [_mean(column, names) for column in columns if column.low is not None and column.low != column.high]
    return {
        "rows": found.rows,
        "records": RECORDS,
        "means": means,
        "counts": [_counts(column, names) for column in columns if column.values],
        "by": [{"name": c.name, "kinds": c.kinds} for c in columns if 2 <= c.kinds <= LARGEST_TABLE],
        "secrets": _secrets(found, columns),
    }


def _mean(column: Column, names: Names) -> dict[str, str]:
    assert column.low is not None
    assert column.high is not None
    span = f"{_plain(column.low)} to {_plain(column.high)}"
    return {
        "name": names.new(column.name),
        "text": column.mean_of_it,
        "label": column.name,
        "column": column.name,
        "note": span,
    }


def _plain(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) else f"{number:,.5g}"


def _counts(column: Column, names: Names) -> dict[str, Any]:
    """Return a count for each frequent value of a column."""
    values = [
        {
            "name": names.new(f"{column.name} {value.text}"),
            "text": f"count({value.condition})",
            "label": value.text,
            "column": column.name,
            "note": f"{value.share:.0%}",
        }
        for value in column.values
    ]
    return {"column": column.name, "values": values}


def _secrets(found: Survey, columns: list[Column]) -> list[dict[str, Any]]:
    """Return the shares that can be hidden, the one that offers itself first."""
    shares = [value for column in columns for value in column.values]
    of_column = {value: [column.name] for column in columns for value in column.values}
    first = [value.condition for value in found.possible_shares[:1]]
    shares.sort(key=lambda value: value.condition not in first)
    return [
        {
            "share": value.condition,
            "rows": value.rows,
            "values": list(found.suggested_values(value)),
            "telling": sorted(found.telling if value.condition in first else of_column[value]),
        }
        for value in shares
    ]
