"""The embedded engine: DuckDB over files, relations and tables in memory."""

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from glob import escape
from pathlib import Path
from typing import Any, Self, TypeVar

import duckdb
import pyarrow as pa
from attrs import field, frozen

from distpriv.engines import arrow_moments, csv_files
from distpriv.engines.connections import literal, matching_files, of_files, of_memory
from distpriv.engines.database import connected
from distpriv.engines.engine import SOURCE
from distpriv.engines.expressions import RowExpression
from distpriv.engines.source_names import source_name
from distpriv.engines.sql import RowSelect
from distpriv.engines.workbook import SUFFIX as _EXCEL
from distpriv.engines.workbook import workbook_table
from distpriv.errors import InvalidExpression, InvalidSource

__all__ = ["SUFFIXES", "DuckDBEngine"]

_PARQUET = (".parquet", ".pq")
_CSV = csv_files.SUFFIXES
SUFFIXES = (*_PARQUET, *_CSV, _EXCEL)

MOST_AGGREGATED = 40
"""Of how many numbers one SELECT returns all covariances."""

ROWS_AT_ONCE = 20_000
"""How many rows are multiplied at a time where there are more numbers."""

T = TypeVar("T")


@frozen(kw_only=True, eq=False, slots=False)
class DuckDBEngine:
    """A table that DuckDB can scan."""

    run: Callable[[str], duckdb.DuckDBPyRelation] = field(repr=False)
    """Run SQL that calls the table SOURCE, on the connection that knows it."""
    description: str
    schema: pa.Schema
    written: tuple[str, ...] = ()
    """The CSV files that it reads."""
    commas: bool = False
    """Whether a comma may stand in a fraction, as in 39,5, where everything was left as text."""

    dialect = "duckdb"
    number_of_hex = "CAST('0x' || {} AS HUGEINT)"
    executors = None

    @staticmethod
    def accepts(source: Any) -> bool:
        """Tell whether DuckDB can read a source of this type."""
        return isinstance(source, str | os.PathLike | duckdb.DuckDBPyRelation) or hasattr(source, "__arrow_c_stream__")

    @classmethod
    def open(cls, source: Any, *, as_text: bool = False) -> Self:
        """Open a source that `accepts` has accepted; what is in a CSV file may be left as text."""
        run, description, written = _opened(source, as_text)
        try:
            schema = run(f"SELECT * FROM {SOURCE} LIMIT 0").to_arrow_table().schema
        except duckdb.Error as failure:
            raise InvalidSource(f"{description} cannot be read: {_first_line(failure)}.") from failure
        commas = as_text and csv_files.commas_in_fractions(written)
        return cls(run=run, description=description, schema=schema, written=written, commas=commas)

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[pa.Table, str, tuple[str, ...]]]:
        """Keep the rows themselves: a file may be another by the time that they are read again."""
        rows = self.select(f"SELECT * FROM {SOURCE}")
        return type(self).of_rows, (rows, self.description, self.formats)

    @classmethod
    def of_rows(cls, rows: pa.Table, description: str, formats: tuple[str, ...]) -> Self:
        """Return an engine over rows that were kept, which goes by the name that it had."""
        cursor = of_memory()
        cursor.register(SOURCE, rows)
        kept = cls(run=cursor.sql, description=description, schema=rows.schema)
        kept.__dict__["formats"] = formats  # which only the files could tell
        return kept

    @cached_property
    def formats(self) -> tuple[str, ...]:
        """How dates and times are written in its CSV files, where that is told from them."""
        listed = [
            self.run(f"SELECT DateFormat, TimestampFormat FROM {csv_files.sniffed(file)}").fetchall()
            for file in self.written
        ]
        return tuple(dict.fromkeys(text for rows in listed for row in rows for text in row if text))

    def select(self, query: str) -> pa.Table:
        """Run one SELECT that calls the table SOURCE."""
        return self._converted(lambda: self.run(query).to_arrow_table())

    def _converted(self, compute: Callable[[], T]) -> T:
        """Return what a query gives, or say in words of ours why it gives nothing."""
        try:
            return compute()
        except (duckdb.IOException, duckdb.InvalidInputException, duckdb.PermissionException) as failure:
            if (uneven := csv_files.uneven_line(self.written)) is not None:
                raise InvalidSource(
                    f"{self.description} cannot be read: {uneven}.", about=("table", self.description)
                ) from failure
            raise InvalidSource(
                f"{self.description}, or an expression over it, cannot be used: {_first_line(failure)}.",
                about=("table", self.description),
            ) from failure
        except duckdb.Error as failure:
            raise InvalidExpression(
                f"an expression does not fit {self.description}: {_first_line(failure)}; cast or change it.",
                about=("table", self.description),
            ) from failure

    def moments(
        self, rows: RowSelect, shifts: Sequence[float], predicate: RowExpression | None
    ) -> list[dict[str, Any]]:
        """Return counts, means, covariances and extremes by stratum, by one SELECT.

        Of many numbers the rows are multiplied as matrices: there are more covariances than one SELECT can hold.
        """
        if len(shifts) > MOST_AGGREGATED:
            parts = self._converted(lambda: list(self._parts(rows.shifted(shifts, predicate))))
            return arrow_moments.put_together(pa.Table.from_batches(parts, arrow_moments.SCHEMA))
        found: list[dict[str, Any]] = self.select(rows.moments(shifts, predicate)).to_pylist()
        return found

    def _parts(self, query: str) -> Iterator[pa.RecordBatch]:
        return arrow_moments.parts_of(self.run(query).to_arrow_reader(ROWS_AT_ONCE))

    def sample(self, query: str, rows: int, seed: int) -> pa.Table:
        """Return a uniform sample, without replacement and seeded, of so many rows of a SELECT (all if fewer)."""
        return self.select(f"SELECT * FROM ({query}) USING SAMPLE reservoir({rows} ROWS) REPEATABLE ({seed})")


def _opened(source: Any, as_text: bool) -> tuple[Callable[[str], duckdb.DuckDBPyRelation], str, tuple[str, ...]]:
    """Return how to query a source, what to call it, and which CSV files it is.

    A relation is queried on its own connection, as whoever made it set that up; everything else becomes a temporary
    view of a connection of ours that reaches nothing but the source.
    """
    if isinstance(source, duckdb.DuckDBPyRelation):
        return partial(_query_relation, source), "the DuckDB relation", ()
    if isinstance(source, str) and (named := source_name(source)).engine == "duckdb":
        return connected(named.path or "", named.table or "", description=repr(source)).sql, repr(source), ()
    if isinstance(source, str | os.PathLike):
        path = str(Path(source))
        try:
            files = _files(path)
            if path.lower().endswith(_EXCEL):
                return _in_memory(_workbook(path, files, as_text)), repr(path), ()
            if as_text and _is_csv(path):
                return _left_as_text(path, files).sql, repr(path), tuple(files)
            connection = of_files(files)
            scan = _scan(path, files, connection.sql)
            connection.execute(f"CREATE TEMP VIEW {SOURCE} AS SELECT * FROM {scan}")
        except (duckdb.Error, OSError, EOFError, zlib.error) as failure:
            uneven = csv_files.uneven_line(files) if isinstance(failure, duckdb.Error) and _is_csv(path) else None
            if uneven is not None:
                raise InvalidSource(f"{path!r} cannot be read: {uneven}.") from failure
            raise InvalidSource(f"{path!r} cannot be read: {_first_line(failure)}.") from failure
        return connection.sql, repr(path), tuple(files) if _is_csv(path) else ()
    cursor = of_memory()
    library = type(source).__module__.partition(".")[0]
    description = f"the {library} table"
    try:
        cursor.register(SOURCE, _arrow_table(source, library))
    except InvalidSource:
        raise
    except (duckdb.Error, pa.ArrowException, ValueError, TypeError, OverflowError, AttributeError) as failure:
        raise InvalidSource(
            f"{description} cannot be read as columns of one type each: {_first_line(failure)}."
        ) from failure
    return cursor.sql, description, ()


def _is_csv(path: str) -> bool:
    return path.lower().endswith(_CSV)


def _query_relation(relation: duckdb.DuckDBPyRelation, query: str) -> duckdb.DuckDBPyRelation:
    answer = relation.query(SOURCE, query)
    assert answer is not None  # as it would be for a statement that is no SELECT
    return answer


def _files(path: str) -> list[str]:
    """Return the files that a path or a pattern names, or say what is wrong with it."""
    found = matching_files(path)
    if not found:
        seen = "" if os.path.isabs(os.path.expanduser(path)) else f", seen from the folder {Path.cwd().name!r}"
        raise InvalidSource(f"there is no file {path!r}{seen}: check the path.")
    if os.path.isdir(os.path.expanduser(path)):
        raise InvalidSource(f"{path!r} is a folder: name the files in it, as in {os.path.join(path, '*.parquet')!r}.")
    return found


def _in_memory(table: pa.Table) -> Callable[[str], duckdb.DuckDBPyRelation]:
    cursor = of_memory()
    cursor.register(SOURCE, table)
    return cursor.sql


def _workbook(path: str, files: Sequence[str], as_text: bool) -> pa.Table:
    if len(files) > 1:
        raise InvalidSource(f"{path!r} names {len(files)} workbooks: name one, or save them as CSV files.")
    return workbook_table(files[0], as_text=as_text)


def _left_as_text(path: str, files: Sequence[str]) -> duckdb.DuckDBPyConnection:
    """Return a connection that knows CSV files as text; copies of them are read at once, as they do not stay."""
    with csv_files.in_utf_8(files) as readable:
        connection = of_files(readable)
        try:
            scan = csv_files.text_scan(readable)
        except InvalidSource as refusal:
            raise InvalidSource(f"{path!r} cannot be read: {refusal}") from None
        kind = "VIEW" if readable == [*files] else "TABLE"
        connection.execute(f"CREATE TEMP {kind} {SOURCE} AS SELECT * FROM {scan}")
    return connection


def _scan(path: str, files: Sequence[str], run: Callable[[str], duckdb.DuckDBPyRelation]) -> str:
    """Return the table function that reads the files of a path or a pattern."""
    if path.lower().endswith(_PARQUET):
        return f"read_parquet({_listed(files)})"
    if _is_csv(path):
        try:
            return csv_files.csv_scan(files, run)
        except InvalidSource as refusal:
            raise InvalidSource(f"{path!r} cannot be read: {refusal}") from None
    if path.lower().endswith(".xls"):
        raise InvalidSource(f"{path!r} is a workbook of before 2007: save it as .xlsx, or as CSV in UTF-8.")
    raise InvalidSource(
        f"{path!r} is neither CSV nor Parquet nor Excel by its name: let it end in .csv, .parquet or .xlsx."
    )


def _listed(files: Sequence[str]) -> str:
    return f"[{', '.join(literal(escape(file)) for file in files)}]"


def _arrow_table(source: Any, library: str) -> pa.Table:
    """Return a table in memory as Arrow, with categories written out as what they stand for."""
    table = pa.Table.from_pandas(source, preserve_index=False) if library == "pandas" else pa.table(source)
    if not table.column_names:
        raise InvalidSource(f"the {library} table has no columns: give a table with data in it.")
    lowered = [name.lower() for name in table.column_names]
    twice = [name for name in table.column_names if lowered.count(name.lower()) > 1]
    if twice:
        raise InvalidSource(f"the {library} table has columns that SQL cannot tell apart, {twice}: rename one of them.")
    for place, column in enumerate(table.schema):
        if pa.types.is_dictionary(column.type):
            kind = pa.large_string() if pa.types.is_string_view(column.type.value_type) else column.type.value_type
            written = [chunk.dictionary.cast(kind).take(chunk.indices) for chunk in table[place].chunks]
            table = table.set_column(place, column.name, pa.chunked_array(written, type=kind))
    return table


def _first_line(failure: BaseException) -> str:
    line = str(failure).strip().partition("\n")[0]
    return line.partition(" Use TRY(")[0].rstrip(".")  # what DuckDB advises here is not on the allow-list
