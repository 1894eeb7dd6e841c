"""Tables on every engine: DuckDB in this process, and Spark in one session that all tests share."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["GROUP", "Place", "no_spark", "on_spark", "place", "spark"]

Place = Callable[[Any], Any]
"""Puts a table on an engine, and returns a source for it."""

GROUP = pytest.mark.xdist_group("spark")
"""All tests with Spark run in one worker, so that only one starts Java."""

SETTINGS: dict[str, bool | float | int | str | None] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "4",
    "spark.default.parallelism": "2",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Tables are small and sessions short: code that is compiled once, and quickly, is soon enough.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def no_spark() -> str | None:
    """Return why there is no Spark here, or nothing where there is."""
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        return "no Spark: Java is neither on the path nor in JAVA_HOME"
    from distpriv.engines.spark_source import quiet

    try:
        with quiet():
            import pyspark  # noqa: F401
    except ImportError:
        return "no Spark: PySpark is not installed"
    return None


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """A session with two cores of this machine; without Java tests are skipped, and the reason is printed."""
    if reason := no_spark():
        pytest.skip(reason)
    from distpriv.engines.spark_source import quiet

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with quiet():
        from pyspark.sql import SparkSession

        session = SparkSession.builder.appName("tests").master("local[2]").config(map=SETTINGS).getOrCreate()
    yield session
    with quiet():
        session.stop()


@pytest.fixture(scope="session", params=["duckdb", pytest.param("spark", marks=[pytest.mark.slow, GROUP])])
def place(request: pytest.FixtureRequest) -> Place:
    """What puts a table on an engine: a test that uses it runs on every engine."""
    if request.param == "duckdb":
        return lambda table: table
    return partial(on_spark, request.getfixturevalue("spark"))


def on_spark(session: "SparkSession", table: Any, partitions: int | None = None) -> "DataFrame":
    """Give a table to Spark, in so many partitions, some of which may be empty."""
    import polars as pl
    import pyarrow as pa

    from distpriv.engines.spark_source import quiet

    rows = table.to_arrow() if isinstance(table, pl.DataFrame) else table
    rows = rows if isinstance(rows, pa.Table) else pa.Table.from_pandas(rows, preserve_index=False)
    with quiet():
        frame = session.createDataFrame(rows)
        return frame if partitions is None else frame.repartition(partitions)
