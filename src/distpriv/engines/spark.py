"""The engine for tables that one machine cannot hold: Spark, over a DataFrame or a source that is named."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Self, TypeVar

import pyarrow as pa
from attrs import field, frozen

from distpriv.engines import arrow_moments
from distpriv.engines.engine import SOURCE, Executors
from distpriv.engines.expressions import RowExpression
from distpriv.engines.source_names import source_name
from distpriv.engines.spark_source import CURE, NoPython, data_frame, first_sentence, quiet, worker_failure
from distpriv.engines.sql import RowSelect
from distpriv.errors import DistprivError, InvalidExpression, InvalidSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkEngine"]

J = TypeVar("J")
T = TypeVar("T")

MOST_AGGREGATED = 60
"""Numbers whose covariances one SELECT can hold."""

TASKS_AT_ONCE = 4
"""How many tasks a core is given before the next are sent: fewer show progress more often."""

SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
}
"""How SQL is read here, in any session: overflow is an error, and text and names are what they are."""

_views = count(1)


@frozen(kw_only=True, eq=False)
class SparkEngine:
    """A table that Spark reads."""

    frame: "DataFrame" = field(repr=False)
    view: str
    """The temporary view of the table; SELECTs call it SOURCE."""
    description: str
    schema: pa.Schema

    def __reduce__(self) -> Any:
        raise InvalidSource(
            f"{self.description} is held by Spark and cannot be kept in a pickle: make the model again where it is "
            "needed."
        )

    dialect = "spark"
    formats = ()
    commas = False
    number_of_hex = "CAST(CONV({}, 16, 10) AS DECIMAL(38, 0))"

    @staticmethod
    def accepts(source: Any) -> bool:
        """Tell whether a source is a Spark DataFrame, or a text that names a table for Spark."""
        if isinstance(source, str):
            return source_name(source).engine == "spark"
        kind = type(source)
        return kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame"

    @classmethod
    def open(cls, source: Any, *, as_text: bool = False) -> Self:
        """Open a DataFrame, or a text that names a table; what is in a CSV file may be left as text."""
        named = source_name(source) if isinstance(source, str) else None
        frame: DataFrame = source if named is None else data_frame(named, as_text=as_text)
        description = "the Spark DataFrame" if named is None else repr(named.text)
        lowered = [name.lower() for name in frame.columns]
        twice = [name for name in frame.columns if lowered.count(name.lower()) > 1]
        if twice or not lowered:
            raise InvalidSource(
                f"{description} has columns that SQL cannot tell apart, {twice}: rename one of them."
                if twice
                else f"{description} has no columns: give a table with data in it."
            )
        view = f"{SOURCE}_{next(_views)}"
        with quiet():
            frame.createOrReplaceTempView(view)
            engine = cls(frame=frame, view=view, description=description, schema=pa.schema([]))
            schema = engine.select(f"SELECT * FROM {SOURCE} LIMIT 0").schema
        return cls(frame=frame, view=view, description=description, schema=schema)

    def select(self, query: str) -> pa.Table:
        """Run one SELECT that calls the table SOURCE."""
        return self._collected(lambda: self._sql(query))

    def sample(self, query: str, rows: int, seed: int) -> pa.Table:
        """Return a uniform sample, without replacement and seeded, of so many rows of a SELECT (all if fewer)."""
        return self.select(f"SELECT * FROM ({query}) ORDER BY RAND({seed}) LIMIT {rows}")

    def moments(
        self, rows: RowSelect, shifts: Sequence[float], predicate: RowExpression | None
    ) -> list[dict[str, Any]]:
        """Return counts, means, covariances and extremes by stratum, as the SELECT of moments has them.

        Each task multiplies its rows as matrices, which takes a small part of the time that as many COVAR_SAMP take.
        Where executors have no Python that could, one SELECT does it.
        """
        try:
            return self._moments_by_tasks(rows, shifts, predicate)
        except NoPython:
            if len(shifts) > MOST_AGGREGATED:
                raise
            found: list[dict[str, Any]] = self.select(rows.moments(shifts, predicate)).to_pylist()
            return found

    def _moments_by_tasks(
        self, rows: RowSelect, shifts: Sequence[float], predicate: RowExpression | None
    ) -> list[dict[str, Any]]:
        from pyspark import cloudpickle

        cloudpickle.register_pickle_by_value(arrow_moments)  # type: ignore[no-untyped-call]
        try:
            parts = self._collected(
                lambda: self._sql(rows.shifted(shifts, predicate)).mapInArrow(
                    arrow_moments.parts_of, arrow_moments.PARTS
                )
            )
        finally:
            cloudpickle.unregister_pickle_by_value(arrow_moments)  # type: ignore[no-untyped-call]
        return arrow_moments.put_together(parts)

    @property
    def executors(self) -> Executors | None:
        """What runs tasks on the cluster; a session that is connected to from afar cannot send any."""
        return None if "connect" in type(self.frame).__module__.split(".") else self.run_tasks

    def run_tasks(self, task: Callable[[J], T], jobs: Sequence[J]) -> Iterator[T]:
        """Run a task for every job on the executors, some at a time, and return the results in order.

        The task, with the rows it needs, is sent to every executor once. They need distpriv, and what the task uses.
        """
        from pyspark import cloudpickle

        context = self.frame.sparkSession.sparkContext
        sent = context.broadcast(cloudpickle.dumps(task))  # type: ignore[no-untyped-call]
        width = max(context.defaultParallelism, 1)
        try:
            for start in range(0, len(jobs), width * TASKS_AT_ONCE):
                some = list(jobs[start : start + width * TASKS_AT_ONCE])
                tasks = context.parallelize(some, min(width, len(some))).mapPartitions(partial(_run_all, sent))
                for done, result in self._run(tasks.collect):
                    if not done:
                        raise result
                    yield result
        finally:
            sent.destroy()

    def _sql(self, query: str) -> "DataFrame":
        return self.frame.sparkSession.sql(f"WITH {SOURCE} AS (SELECT * FROM {self.view}) {query}")

    def _collected(self, frame: Callable[[], "DataFrame"]) -> pa.Table:
        return self._run(lambda: frame().toArrow())

    def _run(self, action: Callable[[], T]) -> T:
        """Run something on Spark, and say in a sentence why it failed."""
        from py4j.protocol import Py4JError
        from pyspark.errors import AnalysisException, ParseException, PySparkException

        try:
            with quiet(), _as_expected(self.frame.sparkSession):
                return action()
        except (AnalysisException, ParseException) as failure:
            raise InvalidExpression(
                f"an expression does not fit {self.description}: {first_sentence(failure)}; cast or change it.",
                about=("table", self.description),
            ) from failure
        except (PySparkException, Py4JError) as failure:
            if "[USER_RAISED_EXCEPTION]" in str(failure):
                raise InvalidExpression(
                    f"an expression does not fit {self.description}: {first_sentence(failure)}.",
                    about=("table", self.description),
                ) from failure
            if (reason := worker_failure(failure)) is not None:
                raise NoPython(
                    f"executors of {self.description} have no Python that can do it ({reason}): {CURE}.",
                    about=("table", self.description),
                ) from failure
            raise InvalidSource(
                f"{self.description}, or an expression over it, cannot be used: {first_sentence(failure)}.",
                about=("table", self.description),
            ) from failure


@contextmanager
def _as_expected(session: "SparkSession") -> Iterator[None]:
    """Read SQL with the settings that the SELECTs are written for, and put those of the session back."""
    found = {name: session.conf.get(name, None) for name in SETTINGS}
    changed = {name: value for name, value in found.items() if value != SETTINGS[name]}
    try:
        for name in changed:
            session.conf.set(name, SETTINGS[name])
        yield
    finally:
        for name, value in changed.items():
            if value is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, value)


def _run_all(sent: Any, jobs: Iterable[J]) -> Iterator[tuple[bool, Any]]:
    """Run a task that was sent for all jobs of a partition; what it refuses is passed on, not tried again."""
    from pyspark import cloudpickle

    task = cloudpickle.loads(sent.value)
    for job in jobs:
        try:
            yield True, task(job)
        except DistprivError as refusal:
            yield False, refusal
