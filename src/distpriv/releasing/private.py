"""The one look at the private table: the statistics of exactly so many records, and nothing else said about it."""

from typing import Any

import numpy as np

from distpriv.engines.engine import engine_for
from distpriv.engines.expressions import parse_expression
from distpriv.errors import DistprivError, InvalidQuery, InvalidSource, MissingValues
from distpriv.framework.arrays import Floats
from distpriv.framework.queries import FunctionOfRows, Query
from distpriv.modelling.reference import Missing, ReferenceTable
from distpriv.modelling.row_pool import RowPool
from distpriv.modelling.sampling import evaluate

__all__ = ["private_statistics"]


def private_statistics(source: Any, query: Query, records: int, *, missing: Missing = "refuse") -> Floats:
    """Return F(Data).

    Messages about the reference table count rows and quote values; those about this table must not, as they are seen
    by people who may not know it.
    """
    pool = _private_pool(source, query, missing)
    if pool.size != records:
        raise InvalidSource(
            f"the private table does not have exactly the {records:,} records that the plan was made for: plan for "
            "the number that is public, or give the right table."
        )
    try:
        return np.asarray(evaluate(query, pool, np.arange(pool.size)[np.newaxis])[0])
    except DistprivError:
        raise InvalidQuery("a function of the query failed on the private table: try it on reference rows.") from None


def _private_pool(source: Any, query: Query, missing: Missing) -> RowPool:
    try:
        columns = engine_for(source).schema.names
    except DistprivError:
        raise InvalidSource(
            "the private table cannot be read: give a path, a glob or a table as for the reference."
        ) from None
    for name, statistic in query.statistics:
        if not isinstance(statistic, FunctionOfRows):  # what this refuses is a column that there is not
            parse_expression(statistic.expression, columns, where=f"statistic {name!r} on the private table")
    try:
        return ReferenceTable.open(source, query, (), missing).pool
    except MissingValues:
        raise InvalidSource(
            "the private table has missing values in a column that is used: fill them in, or write the statistic so "
            "that it provides for them."
        ) from None
    except DistprivError:
        raise InvalidSource(
            "the private table cannot be used as the reference table can: see that it is not empty and has the same "
            "columns, of the same types and with finite numbers in them."
        ) from None
