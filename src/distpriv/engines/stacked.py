"""Two tables, whatever engine holds them, as one in memory: the rows of one below those of the other."""

import pyarrow as pa

from distpriv.engines.duckdb import DuckDBEngine
from distpriv.engines.engine import SOURCE, engine_for
from distpriv.errors import InvalidSource
from distpriv.framework.two_tables import SECOND, TwoTables

__all__ = ["stacked"]

MOST_ROWS = 2_000_000
"""More rows than are held in memory, of which datasets with weights could be drawn."""


def stacked(both: TwoTables) -> DuckDBEngine:
    """Return an engine over the rows of two tables, with the columns that both have.

    Raises:
        InvalidSource: a column has values of two kinds, no column is in both, or there are too many rows.

    >>> rows = TwoTables(first=pa.table({"age": [30, 40]}), second=pa.table({"age": [50.5], "sex": ["F"]}))
    >>> stacked(rows).select(f"SELECT * FROM {SOURCE}").to_pydict()
    {'age': [30.0, 40.0, 50.5], 'distpriv_second': [0, 0, 1]}
    """
    engines = [engine_for(both.first), engine_for(both.second)]
    said = " and ".join(engine.description for engine in engines)
    names = [name for name in engines[0].schema.names if name in set(engines[1].schema.names)]
    if SECOND in names or not names:
        odd = f"both have a column {SECOND!r}" if names else "no column is in both"
        raise InvalidSource(f"{said} cannot be mixed, since {odd}: give tables of the same columns.")
    counts = [engine.select(f"SELECT COUNT(*) AS n FROM {SOURCE}")["n"][0].as_py() for engine in engines]
    if sum(counts) > MOST_ROWS:
        raise InvalidSource(
            f"{said} have {sum(counts):,} rows together, and a mixture is drawn from up to {MOST_ROWS:,} that are held "
            "in memory: give samples of them."
        )
    parts = [
        engine.select(f"SELECT * FROM {SOURCE}")
        .select(names)
        .append_column(SECOND, pa.array([place] * count, type=pa.int8()))
        for place, (engine, count) in enumerate(zip(engines, counts, strict=True))
    ]
    try:
        rows = pa.concat_tables(parts, promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid) as failure:
        why = str(failure).splitlines()[0].rstrip(".")
        raise InvalidSource(f"{said} cannot be mixed: {why}; give their columns the same types.") from failure
    return DuckDBEngine.of_rows(rows, said, ())
