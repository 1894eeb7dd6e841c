"""What an engine is: something that runs one SELECT over a table and returns Arrow."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pyarrow as pa

from distpriv.errors import InvalidSource
from distpriv.framework.two_tables import TwoTables

if TYPE_CHECKING:
    from distpriv.engines.duckdb import DuckDBEngine
    from distpriv.engines.expressions import RowExpression
    from distpriv.engines.spark import SparkEngine
    from distpriv.engines.sql import RowSelect

__all__ = ["SOURCE", "Engine", "Executors", "engine_for", "engines", "is_table"]

SOURCE = "distpriv_source"
"""The name by which every SELECT calls the table."""

J = TypeVar("J")
T = TypeVar("T")


class Executors(Protocol):
    """What runs tasks elsewhere."""

    def __call__(self, task: Callable[[J], T], jobs: Sequence[J]) -> Iterator[T]:
        """Run a task for every job and return the results in order."""


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

    @property
    def formats(self) -> tuple[str, ...]:
        """How dates and times are written in the files of the table, where that is told from them."""

    @property
    def commas(self) -> bool:
        """Whether a comma may stand in a fraction, as in 39,5, where everything was left as text."""

    @property
    def number_of_hex(self) -> str:
        """SQL that makes a whole number of up to 15 hexadecimal digits, which stand where its braces are."""

    @property
    def executors(self) -> Executors | None:
        """What runs tasks where the table is; nothing where that is here."""

    def select(self, query: str) -> pa.Table:
        """Run one SELECT that calls the table SOURCE."""

    def moments(
        self, rows: "RowSelect", shifts: Sequence[float], predicate: "RowExpression | None"
    ) -> list[dict[str, Any]]:
        """Return counts, means, covariances and extremes by stratum, as the SELECT of moments has them."""

    def sample(self, query: str, rows: int, seed: int) -> pa.Table:
        """Return a uniform sample, without replacement and seeded, of so many rows of a SELECT (all if fewer)."""


def engine_for(source: Any, *, as_text: bool = False) -> Engine:
    """Return the engine that holds a source.

    Args:
        source: a path or glob of CSV or Parquet files, ``"duckdb:FILE?table=NAME"``, ``"spark:MASTER?path=PATH"`` or
            ``"spark:MASTER?table=NAME"``, a DuckDB relation, a Spark DataFrame, or a pandas, polars or pyarrow table;
            an engine is its own, and two tables are one.
        as_text: whether everything in a CSV file is left as text, so that no row decides how another is read.

    >>> import pyarrow as pa
    >>> engine_for(pa.table({"age": [30, 40]})).schema.names
    ['age']
    """
    if isinstance(source, TwoTables):
        from distpriv.engines.stacked import stacked

        return stacked(source)
    for kind in engines():
        if isinstance(source, kind):
            return source
        if kind.accepts(source):
            return kind.open(source, as_text=as_text)
    raise InvalidSource(
        f"a source of type {type(source).__name__} cannot be read: give a path or glob of CSV or Parquet files, "
        "a DuckDB relation, a Spark DataFrame, or a pandas, polars or pyarrow table."
    )


def engines() -> tuple[type["DuckDBEngine | SparkEngine"], ...]:
    """Return all engines there are, those that take the fewest kinds of sources first."""
    from distpriv.engines.duckdb import DuckDBEngine
    from distpriv.engines.spark import SparkEngine

    return SparkEngine, DuckDBEngine


def is_table(source: Any) -> bool:
    """Tell whether some engine takes such a source, or the source is one."""
    return any(isinstance(source, kind) or kind.accepts(source) for kind in engines())
