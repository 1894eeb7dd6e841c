"""What a reference table offers: its numbers with their ranges, its texts with their most frequent values."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from attrs import frozen
from sqlglot import exp

from distpriv.engines.engine import SOURCE, Engine, engine_for
from distpriv.engines.expressions import parse_expression
from distpriv.errors import InvalidExpression
from distpriv.workflow.strict_json import is_no_character

__all__ = ["Column", "Survey", "Value", "survey"]

MOST_COLUMNS = 40
MOST_VALUES = 3
MOST_KINDS = 50
"""A text column with more different values than this holds names, not kinds."""


@frozen(kw_only=True)
class Value:
    """A frequent value of a text or truth column."""

    text: str
    condition: str
    """True of the rows that have it, in SQL."""
    share: float
    rows: int


@frozen(kw_only=True)
class Column:
    """A column that a statistic can be made of."""

    name: str
    sql: str
    """Its name in SQL, in quotes where it needs them."""
    complete: bool
    low: float | None = None
    high: float | None = None
    resolution: float | None = None
    values: tuple[Value, ...] = ()
    kinds: int = 0


@frozen(kw_only=True)
class Survey:
    """The columns of a reference table and how many rows it has."""

    rows: int
    columns: tuple[Column, ...]

    @property
    def suggested_records(self) -> int:
        """A size of which the reference holds many datasets."""
        return min(100, max(2, self.rows // 10))

    @property
    def suggested_share(self) -> Value | None:
        """The rarer value of the last column with two of them, or else one of the first column that offers any."""
        offered = [c for c in self.columns if c.complete and any(self._fits(value) for value in c.values)]
        two = [column for column in offered if column.kinds == 2]
        chosen = two[-1] if two else offered[0] if offered else None
        return min((v for v in chosen.values if self._fits(v)), key=lambda v: v.rows) if chosen else None

    def suggested_values(self, value: Value) -> tuple[float, float]:
        """Two attainable shares on either side of that of the reference."""
        records, apart = self.suggested_records, max(1, self.suggested_records // 20)
        middle = min(max(round(value.share * records), apart), records - apart)
        return (middle - apart) / records, (middle + apart) / records

    def _fits(self, value: Value) -> bool:
        """Tell whether the reference has the rows that the suggested shares need."""
        needed = [share * self.suggested_records for share in self.suggested_values(value)]
        return needed[1] <= value.rows and self.suggested_records - needed[0] <= self.rows - value.rows


def survey(source: Any) -> Survey:
    """Return what a reference table offers.

    >>> import pyarrow as pa
    >>> survey(pa.table({"age": [30, 40, 41]})).columns[0].high
    41.0
    """
    engine = engine_for(source)
    rows = engine.select(f"SELECT count(*) AS n FROM {SOURCE}")["n"][0].as_py()
    return Survey(rows=rows, columns=tuple(_columns(engine, rows)) if rows else ())


def _columns(engine: Engine, rows: int) -> Iterator[Column]:
    for column in [each for each in engine.schema if not any(map(is_no_character, each.name))][:MOST_COLUMNS]:
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
            yield from _number(engine, column)
        elif pa.types.is_boolean(column.type) or _is_text(column.type):
            yield from _kinds(engine, column, rows)


def _number(engine: Engine, column: pa.Field) -> Iterator[Column]:
    """Yield a column of numbers, unless it holds none or more digits than arithmetic keeps."""
    name = _quoted(column.name, engine.dialect)
    finite = f"CASE WHEN CAST({name} AS DOUBLE) BETWEEN -1.797e308 AND 1.797e308 THEN {name} END AS x"
    seen = engine.select(
        "SELECT MIN(x) AS low, MAX(x) AS high, COUNT(x) AS usable, COUNT(*) AS n "
        f"FROM (SELECT {finite} FROM {SOURCE}) AS read"
    ).to_pylist()[0]
    if not seen["usable"] or max(abs(seen["low"]), abs(seen["high"])) >= 2**53:
        return
    yield Column(
        name=column.name,
        sql=_spelled(engine, column.name),
        complete=seen["usable"] == seen["n"],
        low=float(seen["low"]),
        high=float(seen["high"]),
        resolution=1 if pa.types.is_integer(column.type) else None,
    )


def _kinds(engine: Engine, column: pa.Field, rows: int) -> Iterator[Column]:
    """Yield a column of few kinds with the most frequent of them."""
    counted = engine.select(
        f"SELECT x, COUNT(*) AS n FROM (SELECT {_quoted(column.name, engine.dialect)} AS x FROM {SOURCE}) AS read "
        f"GROUP BY x ORDER BY n DESC, x LIMIT {MOST_KINDS + 2}"
    ).to_pylist()
    kinds = [(row["x"], row["n"]) for row in counted if row["x"] is not None]
    if not 2 <= len(kinds) <= MOST_KINDS:
        return
    sql = _spelled(engine, column.name)
    values = [
        Value(text=str(kind), condition=_condition(sql, kind), share=count / rows, rows=count)
        for kind, count in kinds[:MOST_VALUES]
    ]
    yield Column(name=column.name, sql=sql, complete=len(kinds) == len(counted), values=tuple(values), kinds=len(kinds))


def _condition(sql: str, kind: str | bool) -> str:
    if isinstance(kind, bool):
        return sql if kind else f"NOT {sql}"
    return f"{sql} = {exp.Literal.string(kind).sql(dialect='duckdb')}"


def _spelled(engine: Engine, name: str) -> str:
    """Return a column's name as an expression reads it, without quotes where that is the same."""
    try:
        tree = parse_expression(name, engine.schema.names, where=name).tree
    except InvalidExpression:
        return _quoted(name)
    return name if isinstance(tree, exp.Column) and name.isidentifier() else _quoted(name)


def _quoted(name: str, dialect: str = "duckdb") -> str:
    return exp.to_identifier(name, quoted=True).sql(dialect=dialect)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
