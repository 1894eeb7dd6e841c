"""Between what the values of rows are, in all public tables: what private rows are held to, and what one can move."""

from collections.abc import Iterable

import numpy as np

from distpriv.framework.arrays import Floats
from distpriv.framework.queries import Query
from distpriv.modelling.reference import ReferenceTable

__all__ = ["row_ends"]


def row_ends(query: Query, tables: Iterable[ReferenceTable]) -> tuple[Floats, Floats]:
    """Return the least and the greatest value of everything that SQL evaluates in a row.

    What a row adds to totals of one expression is alike in all cells of all tables: held to what each cell has seen, a
    row could count in one table for less than in another, and their sums would tell.
    """
    extremes = [table.extremes() for table in {id(table): table for table in tables}.values()]
    low, high = np.min([low for low, _ in extremes], axis=0), np.max([high for _, high in extremes], axis=0)
    for places in _by_expression(query):
        low[places] = min(0.0, low[places].min())
        high[places] = max(0.0, high[places].max())
    return low, high


def _by_expression(query: Query) -> Iterable[list[int]]:
    """Return the places of the totals in tables, those of one expression together."""
    expressions = {name: table.expression for key, table in query.tables for name in table.parts(key).get("total", ())}
    places: dict[str | None, list[int]] = {}
    for place, (key, _) in enumerate(query.row_values):
        if key in expressions:
            places.setdefault(expressions[key], []).append(place)
    return places.values()
