"""Queries as plain dictionaries, and back; and what makes two queries the same."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import sqlglot
from sqlglot.errors import SqlglotError

from distpriv.errors import InvalidQuery
from distpriv.framework.notation import statistic_from_dict
from distpriv.framework.queries import Query, Statistic
from distpriv.framework.statistics.functions import FunctionOfRows

__all__ = ["definitions", "has_functions", "query_from_dict", "query_key", "query_to_dict", "require_distinct"]


def query_to_dict(query: Query) -> list[dict[str, Any]]:
    """Return the statistics of a query, in order, as numbers and text.

    >>> import distpriv as dp
    >>> query_to_dict(dp.Query(age=dp.mean("age")))[0]["expression"]
    'age'
    """
    return [{"name": name, **statistic.to_dict()} for name, statistic in query.statistics]


def query_from_dict(values: Sequence[dict[str, Any]]) -> Query:
    """Return the query that `query_to_dict` wrote down.

    Raises:
        InvalidQuery: a statistic is a Python function, which no ledger holds.
    """
    return Query([(str(value["name"]), statistic_from_dict(value)) for value in values])


def has_functions(query: Query) -> bool:
    """Tell whether a statistic is a Python function, which a ledger knows by its version and not by its code."""
    return any(isinstance(statistic, FunctionOfRows) for _, statistic in query.statistics)


def definitions(query: Query) -> tuple[str, ...]:
    """Return what each released number is, whatever it is called: spelling and spacing of SQL do not count.

    A function is known by what it is called, as nothing else tells it from another one.

    >>> import distpriv as dp
    >>> definitions(dp.Query(a=dp.count("sex='Female'"))) == definitions(dp.Query(b=dp.count("SEX  = 'Female'")))
    True
    """
    return tuple(
        json.dumps({**_defining(name, statistic), "number": number}, sort_keys=True)
        for name, statistic in query.statistics
        for number in range(statistic.size)
    )


def query_key(query: Query, records: int) -> str:
    """Return a key that two queries share exactly if they ask for the same numbers, in any order.

    Raises:
        InvalidQuery: a function has no version, so that a ledger cannot tell it from another one.

    >>> import distpriv as dp
    >>> query_key(dp.Query(oldest=dp.function(max, columns=["age"])), 100)
    Traceback (most recent call last):
    distpriv.errors.InvalidQuery: statistic 'oldest' is a function without a version, and a ledger knows a function by
    its name and version: write function(…, version='1'), and another version whenever the function changes.
    """
    for name, statistic in query.statistics:
        if isinstance(statistic, FunctionOfRows) and statistic.version is None:
            raise InvalidQuery(
                f"statistic {name!r} is a function without a version, and a ledger knows a function by its name and "
                "version: write function(…, version='1'), and another version whenever the function changes."
            )
    text = json.dumps([records, sorted(definitions(query))])
    return hashlib.sha256(text.encode()).hexdigest()


def require_distinct(query: Query) -> None:
    """Refuse a query that asks for the same number twice: noise would be drawn twice, and average out.

    >>> import distpriv as dp
    >>> require_distinct(dp.Query(a=dp.mean("age"), b=dp.mean("AGE")))
    Traceback (most recent call last):
    distpriv.errors.InvalidQuery: statistics 'a' and 'b' are the same: ask for it once.
    """
    first: dict[str, str] = {}
    for name, what in zip(query.names, definitions(query), strict=True):
        if what in first:
            raise InvalidQuery(f"statistics {first[what]!r} and {name!r} are the same: ask for it once.")
        first[what] = name


def _defining(name: str, statistic: Statistic) -> dict[str, Any]:
    """Return what a statistic computes; bounds and resolutions say how much is known of it, not what it is."""
    described = statistic.to_dict() | ({"name": name} if isinstance(statistic, FunctionOfRows) else {})
    described |= {key: _canonical(described[key]) for key in statistic.form.texts}
    return {key: value for key, value in described.items() if key not in ("bounds", "resolution")}


def _canonical(expression: str) -> str:
    try:
        tree = sqlglot.parse_one(expression, dialect="duckdb")
    except SqlglotError as failure:
        raise InvalidQuery(f"{expression!r} is not one SQL expression: write one over the columns.") from failure
    for column in tree.find_all(sqlglot.exp.Identifier):
        column.set("this", column.name.lower())
        column.set("quoted", True)
    return tree.sql(dialect="duckdb", comments=False)
