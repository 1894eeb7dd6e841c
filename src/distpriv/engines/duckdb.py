"""The embedded engine: DuckDB over files, relations and tables in memory."""

import os
from collections.abc import Callable
from functools import cache, partial
from glob import glob as matching_files
from glob import has_magic
from pathlib import Path
from typing import Any, Self

import duckdb
import pyarrow as pa
from attrs import field, frozen
from sqlglot import exp

from distpriv.engines.engine import SOURCE
from distpriv.errors import InvalidExpression, InvalidSource

__all__ = ["DuckDBEngine", "accepts"]

_PARQUET = (".parquet", ".pq")
_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """Return the process's own in-memory database; opening one costs more than most queries."""
    return duckdb.connect(":memory:", config={"autoinstall_known_extensions": "false"})


@frozen(kw_only=True, eq=False)
class DuckDBEngine:
    """A table that DuckDB can scan."""

    run: Callable[[str], duckdb.DuckDBPyRelation] = field(repr=False)
    """Run SQL that calls the table SOURCE, on the connection that knows it."""
    description: str
    schema: pa.Schema

    dialect = "duckdb"

    @classmethod
    def open(cls, source: Any) -> Self:
        """Open a source that `accepts` has accepted."""
        run, description = _opened(source)
        try:
            schema = run(f"SELECT * FROM {SOURCE} LIMIT 0").to_arrow_table().schema
        except duckdb.Error as failure:
            raise InvalidSource(f"{description} cannot be read: {_first_line(failure)}.") from failure
        return cls(run=run, description=description, schema=schema)

    def select(self, query: str) -> pa.Table:
        """Run one SELECT that calls the table SOURCE."""
        try:
            return self.run(query).to_arrow_table()
        except (duckdb.IOException, duckdb.InvalidInputException) as failure:
            raise InvalidSource(f"{self.description} cannot be read: {_first_line(failure)}.") from failure
        except duckdb.Error as failure:
            raise InvalidExpression(
                f"an expression does not fit {self.description}: {_first_line(failure)}; cast or change it."
            ) from failure

    def sample(self, query: str, rows: int, seed: int) -> pa.Table:
        """Return a uniform sample, without replacement and seeded, of so many rows of a SELECT (all if fewer)."""
        return self.select(f"SELECT * FROM ({query}) USING SAMPLE reservoir({rows} ROWS) REPEATABLE ({seed})")


def accepts(source: Any) -> bool:
    """Tell whether DuckDB can read a source of this type."""
    return isinstance(source, str | os.PathLike | duckdb.DuckDBPyRelation) or hasattr(source, "__arrow_c_stream__")


def _opened(source: Any) -> tuple[Callable[[str], duckdb.DuckDBPyRelation], str]:
    """Return how to query a source, and what to call it.

    A relation is queried on its own connection; everything else becomes a temporary view of a cursor of ours.
    """
    if isinstance(source, duckdb.DuckDBPyRelation):
        return partial(_query_relation, source), "the DuckDB relation"
    cursor = _database().cursor()
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        scan = _scan(path)
        try:
            cursor.execute(f"CREATE TEMP VIEW {SOURCE} AS SELECT * FROM {scan}")
        except duckdb.Error as failure:
            raise InvalidSource(f"{path!r} cannot be read: {_first_line(failure)}.") from failure
        return cursor.sql, repr(path)
    library = type(source).__module__.partition(".")[0]
    description = f"the {library} table"
    cursor.register(SOURCE, _arrow_table(source, library, description))
    return cursor.sql, description


def _query_relation(relation: duckdb.DuckDBPyRelation, query: str) -> duckdb.DuckDBPyRelation:
    answer = relation.query(SOURCE, query)
    assert answer is not None  # as it would be for a statement that is no SELECT
    return answer


def _scan(path: str) -> str:
    """Return the table function that reads a path or a glob, or say what is wrong with it."""
    pattern = os.path.expanduser(path)
    found = matching_files(pattern, recursive=True) if has_magic(pattern) else [pattern] * Path(pattern).exists()
    if not found:
        raise InvalidSource(f"there is no file {path!r}, seen from the folder {Path.cwd().name!r}: check the path.")
    if Path(pattern).is_dir():
        raise InvalidSource(f"{path!r} is a folder: name the files in it, as in {os.path.join(path, '*.parquet')!r}.")
    literal = exp.Literal.string(pattern).sql(dialect="duckdb")
    if pattern.lower().endswith(_PARQUET):
        return f"read_parquet({literal})"
    if pattern.lower().endswith(_CSV):
        return f"read_csv({literal})"
    raise InvalidSource(f"{path!r} is neither CSV nor Parquet by its name: let it end in .csv or .parquet.")


def _arrow_table(source: Any, library: str, description: str) -> pa.Table:
    """Return a table in memory as Arrow, with categories written out as what they stand for."""
    try:
        table = pa.Table.from_pandas(source, preserve_index=False) if library == "pandas" else pa.table(source)
    except (pa.ArrowException, ValueError, TypeError) as failure:
        raise InvalidSource(
            f"{description} cannot be read as columns of one type each: {_first_line(failure)}."
        ) from failure
    lowered = [name.lower() for name in table.column_names]
    twice = [name for name in table.column_names if lowered.count(name.lower()) > 1]
    if twice:
        raise InvalidSource(f"{description} has columns that SQL cannot tell apart, {twice}: rename one of them.")
    plain = [
        pa.field(column.name, column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.schema
    ]
    return table.cast(pa.schema(plain))


def _first_line(failure: BaseException) -> str:
    return str(failure).strip().partition("\n")[0].rstrip(".")
