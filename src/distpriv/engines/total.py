"""Row expressions over a table whatever is in it: a row that an expression cannot be evaluated on has no value.

Everything is evaluated by DuckDB, on Arrow columns that are first given the types that are expected, so that nothing in
a row can make it fail. The optimiser is switched off: it moves parts of an expression out of the TRY that is around it.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from attrs import evolve, field, frozen
from sqlglot import exp

from distpriv.engines.connections import literal, of_memory_as_written
from distpriv.engines.engine import SOURCE, Engine, engine_for
from distpriv.engines.expressions import RowExpression
from distpriv.errors import InvalidSource
from distpriv.framework.arrays import Floats

__all__ = ["TotalTable", "fits", "is_number", "is_text", "lenient_engine", "raw_columns", "text_of", "texts_meaning"]

_ROW = "distpriv_row"

_FRACTIONS = ("DOUBLE", "FLOAT", "DECIMAL")
_POINT = "CASE WHEN regexp_full_match(trim(c), '[+-]?[0-9]*,[0-9]+') THEN replace(c, ',', '.') ELSE c END"
"""A number that has a comma before its fraction, with a point instead; anything else as it is."""

WHOLE = {
    f"{sign}{name}": (0, 2**bits - 1) if sign else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for sign in ("", "U")
    for name, bits in (("TINYINT", 8), ("SMALLINT", 16), ("INTEGER", 32), ("BIGINT", 64), ("HUGEINT", 128))
}
"""The least and the greatest number of every type of whole numbers."""


@frozen(kw_only=True, eq=False)
class TotalTable:
    """Columns of expected types, with nothing where a row has no such value, and NaN counted as nothing.

    >>> from distpriv.engines.expressions import parse_expression
    >>> table = TotalTable.of({"age": pa.array(["31", "n/a", "53"])}, pa.schema({"age": pa.int64()}), 3)
    >>> table.columns["age"].to_pylist()
    [31, None, 53]
    >>> table.values(parse_expression("100 // (age - 31)", ["age"], where="statistic 'a'"))
    array([nan, nan,  4.])
    """

    columns: pa.Table
    connection: duckdb.DuckDBPyConnection = field(repr=False)

    @classmethod
    def of(
        cls,
        raw: Mapping[str, pa.Array | pa.ChunkedArray],
        expected: pa.Schema,
        rows: int,
        formats: Sequence[str] = (),
        commas: bool = False,
    ) -> "TotalTable":
        """Read so many rows of columns as the types that a schema gives them.

        Dates and times in text may be written in these formats, besides as 2024-01-31; fractions may be written as 39,5
        if `commas` says so.

        Raises:
            duckdb.Error: DuckDB does not know a type.
        """
        connection = of_memory_as_written()
        every = {_ROW: pa.array(np.arange(rows))}  # an expression may read no column at all
        if not expected.names:
            return cls(columns=pa.table(every), connection=connection)
        connection.register("expected", expected.empty_table())
        described = connection.sql("DESCRIBE expected").fetchall()
        kinds = dict(zip(expected.names, (row[1] for row in described), strict=True))
        typed = {name: _typed(connection, raw[name], kinds[name], formats, commas) for name in expected.names}
        return cls(columns=pa.table({**every, **typed}), connection=connection)

    def holding(self, columns: Mapping[str, pa.ChunkedArray]) -> "TotalTable":
        """Return the same rows with other values in some columns."""
        every = dict(zip(self.columns.column_names, self.columns.columns, strict=True))
        return evolve(self, columns=pa.table({**every, **columns}))

    def values(self, expression: RowExpression) -> Floats:
        """Return the value of an expression, as a number, in every row; NaN where it has none.

        Raises:
            duckdb.Error: the expression does not fit the types of the columns.
        """
        sql = f"SELECT TRY(CAST({expression.sql('duckdb')} AS DOUBLE)) AS v FROM {SOURCE}"
        self._select(sql, self.columns.slice(0, 0))
        return self._rows(sql, self.columns)

    def _rows(self, sql: str, rows: pa.Table) -> Floats:
        """Evaluate on rows together, and where that fails on each half of them."""
        try:
            return self._select(sql, rows)
        except duckdb.Error:
            half = rows.num_rows // 2
            parts = [rows.slice(0, half), rows.slice(half)]
            return np.concatenate([self._rows(sql, part) for part in parts]) if half else np.full(1, np.nan)

    def _select(self, sql: str, rows: pa.Table) -> Floats:
        self.connection.register(SOURCE, rows)
        found: Floats = self.connection.sql(sql).to_arrow_table()["v"].to_numpy().astype(np.float64)
        return found


def fits(found: pa.DataType, expected: pa.DataType) -> bool:
    """Tell whether a column of one type can hold values of another.

    What is text in a file may be a number with one bad value among the rows, so text fits everything.

    >>> fits(pa.int32(), pa.float64()), fits(pa.string(), pa.int64()), fits(pa.date32(), pa.int64())
    (True, True, False)
    """
    if found == expected or pa.types.is_null(found) or is_text(found) or is_text(expected):
        return True
    if pa.types.is_dictionary(found):
        return fits(found.value_type, expected)
    return any(kind(found) and kind(expected) for kind in (_is_numeric, pa.types.is_temporal))


def lenient_engine(source: Any) -> Engine:
    """Open a source so that no value in it decides how another is read: everything in a CSV file is text at first."""
    if type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns"):
        return engine_for(_arrow_of_pandas(source))
    return engine_for(source, as_text=True)


def raw_columns(engine: Engine, names: Iterable[str]) -> dict[str, pa.ChunkedArray]:
    """Fetch columns of a table as they are, by their names."""
    listed = list(names)
    if not listed:
        return {}
    quoted = [
        f"{exp.to_identifier(name, quoted=True).sql(dialect=engine.dialect)} AS c{k}" for k, name in enumerate(listed)
    ]
    table = engine.select(f"SELECT {', '.join(quoted)} FROM {SOURCE}")
    return {name: table[f"c{k}"] for k, name in enumerate(listed)}


def texts_meaning(texts: pa.ChunkedArray, kind: pa.DataType) -> dict[Any, str]:
    """Return by values of a type which of some texts means each, the first of several.

    >>> texts_meaning(pa.chunked_array([["no", "1.5", "1", "01"]]), pa.int64())
    {1: '1'}
    """
    connection = of_memory_as_written()
    connection.register("expected", pa.schema({"c": kind}).empty_table())
    name = connection.sql("DESCRIBE expected").fetchall()[0][1]
    connection.register(SOURCE, pa.table({"c": texts}))
    cast = f"TRY_CAST(c AS {name})"
    same = f"TRY_CAST(c AS DOUBLE) = TRY_CAST({cast} AS DOUBLE)"
    found = connection.sql(f"SELECT c, {cast} AS v, {same} AS exact FROM {SOURCE}").to_arrow_table()
    rounds = pa.types.is_integer(kind) or pa.types.is_decimal(kind)  # 1.5 is no text for 2
    meant: dict[Any, str] = {}
    for text, value, exact in zip(*(found[column].to_pylist() for column in ("c", "v", "exact")), strict=True):
        if value is not None and (exact or not rounds):
            meant.setdefault(value, text)
    return meant


def _typed(
    connection: duckdb.DuckDBPyConnection,
    values: pa.Array | pa.ChunkedArray,
    kind: str,
    formats: Sequence[str],
    commas: bool,
) -> pa.ChunkedArray:
    """Cast a column, by way of text where there is no other; what cannot be cast is null, and so is NaN."""
    connection.register(SOURCE, pa.table({"c": values}))
    written = formats if is_text(values.type) else ()
    given = _POINT if commas and is_text(values.type) and kind.startswith(_FRACTIONS) else "c"
    for column in (given, "CAST(c AS VARCHAR)"):
        try:
            found = connection.sql(f"SELECT {_cast(column, kind, written)} AS c FROM {SOURCE}")
        except duckdb.BinderException:
            continue
        return found.to_arrow_table()["c"]
    raise InvalidSource(f"a column cannot be read as {kind}: give it another type.")


def _cast(column: str, kind: str, formats: Sequence[str]) -> str:
    """Return SQL for a value as one of a type: a number beyond all numbers of the type is the last of them."""
    cast = f"TRY_CAST({column} AS {kind})"
    if (ends := _ends(kind)) is not None:
        number = f"NULLIF(TRY_CAST({column} AS DOUBLE), CAST('nan' AS DOUBLE))"
        low, high = (f"CAST('{end}' AS {kind})" for end in ends)
        cast = f"COALESCE({cast}, CASE WHEN {number} >= {high} THEN {high} WHEN {number} <= {low} THEN {low} END)"
    if kind in ("DOUBLE", "FLOAT"):
        return f"NULLIF({cast}, CAST('nan' AS {kind}))"
    if kind in ("DATE", "TIMESTAMP") and formats:
        texts = ", ".join(map(literal, formats))
        return f"COALESCE(CAST(try_strptime({column}, [{texts}]) AS {kind}), {cast})"
    return cast


def _ends(kind: str) -> tuple[Any, Any] | None:
    """Return the least and the greatest number of a type; nothing for what has none, or all numbers."""
    if kind == "FLOAT":
        largest = float(np.finfo(np.float32).max)
        return -largest, largest
    if decimal := re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", kind):
        digits = "9" * (int(decimal[1]) - int(decimal[2])) + "." + "9" * int(decimal[2])
        return f"-{digits}", digits
    return WHOLE.get(kind)


def _arrow_of_pandas(frame: Any) -> pa.Table:
    """Return a pandas table as Arrow; of a column that may hold anything each value becomes text by itself.

    Columns that SQL cannot tell apart by their names are left out: who needs one of them finds that it is not there.
    """
    names = [str(name) for name in frame.columns]
    lowered = [name.lower() for name in names]
    kept = [place for place, name in enumerate(lowered) if lowered.count(name) == 1]
    columns = [_arrow_of_series(frame.iloc[:, place]) for place in kept]
    return pa.table(columns, names=[names[place] for place in kept])


def _arrow_of_series(series: Any) -> pa.Array:
    """Return a column as Arrow, as text where Arrow has no such type: which that is tells nothing of its values."""
    if series.dtype != object:
        with suppress(pa.ArrowException, TypeError):
            return pa.Array.from_pandas(series)
    missing: Sequence[bool] = series.isna().tolist()
    texts = [None if gone else text_of(value) for value, gone in zip(series, missing, strict=True)]
    return pa.array(texts, pa.string())


def text_of(value: object) -> str:
    """Return a value as text, a whole number without a fraction.

    >>> text_of(1.0), text_of(2.5), text_of("1.0"), text_of(True)
    ('1', '2.5', '1.0', 'True')
    """
    whole = isinstance(value, float | Decimal) and math.isfinite(value) and value == int(value)
    return str(int(value)) if whole else str(value)  # type: ignore[call-overload]


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a column is of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_number(kind: pa.DataType) -> bool:
    """Tell whether a column is of numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_numeric(kind: pa.DataType) -> bool:
    return is_number(kind) or bool(pa.types.is_boolean(kind))
