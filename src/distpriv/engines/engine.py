"""What an engine is: something that runs one SELECT over a table and returns Arrow."""

from typing import Any, Protocol

import pyarrow as pa

from distpriv.errors import InvalidSource

__all__ = ["SOURCE", "Engine", "engine_for"]

SOURCE = "distpriv_source"
"""The name by which every SELECT calls the table."""


class Engine(Protocol):
    """One table, and the means to run a SELECT over it."""

    @property
    def dialect(self) -> str:
        """The SQL dialect, by sqlglot's name for it."""

    @property
    def description(self) -> str:
        """What the table is called in messages."""

    @property
    def schema(self) -> pa.Schema:
        """The table's columns and their types."""

    def select(self, query: str) -> pa.Table:
        """Run one SELECT that calls the table SOURCE."""

    def sample(self, query: str, rows: int, seed: int) -> pa.Table:
        """Return a uniform sample, without replacement and seeded, of so many rows of a SELECT (all if fewer)."""


def engine_for(source: Any) -> Engine:
    """Return the engine that holds a source.

    Args:
        source: a path or glob of CSV or Parquet files, ``"duckdb:FILE?table=NAME"``, a DuckDB relation, or a pandas,
            polars or pyarrow table; an engine is its own.

    >>> import pyarrow as pa
    >>> engine_for(pa.table({"age": [30, 40]})).schema.names
    ['age']
    """
    from distpriv.engines.duckdb import DuckDBEngine, accepts

    if isinstance(source, DuckDBEngine):
        return source
    if not accepts(source):
        raise InvalidSource(
            f"a source of type {type(source).__name__} cannot be read: give a path or glob of CSV or Parquet files, "
            "a DuckDB relation, or a pandas, polars or pyarrow table."
        )
    return DuckDBEngine.open(source)
