"""A table that Spark reads by its name, and the session for it."""

import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from distpriv.engines.source_names import SourceName
from distpriv.errors import InvalidSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["data_frame", "first_sentence", "quiet"]

_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")


def data_frame(table: SourceName, *, as_text: bool = False) -> "DataFrame":
    """Return the rows that a text names, in a session of its master; what is in a CSV file may be left as text."""
    _require_pyspark(table.text)
    from pyspark.errors import PySparkException

    session = _session(table)
    try:
        if table.table is not None:
            return session.table(table.table)
        path = table.path or ""
        if not path.lower().endswith(_CSV):
            return session.read.parquet(path)
        separator = "\t" if ".tsv" in path.lower() else ","
        # Quotes are doubled inside quotes, which may hold line ends; a row of another length is no row.
        return session.read.csv(
            path, header=True, inferSchema=not as_text, sep=separator, escape='"', multiLine=True, mode="FAILFAST"
        )
    except PySparkException as failure:
        raise InvalidSource(f"{table.text!r} cannot be read: {first_sentence(failure)}: check its name.") from failure


@contextmanager
def quiet() -> Iterator[None]:
    """Keep PySpark's remarks on the versions of other libraries to itself, and its log of what is raised anyway."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.logger import PySparkLogger

        logs = [PySparkLogger.getLogger(f"{name}QueryContextLogger") for name in ("SQL", "DataFrame")]
        disabled = [log.disabled for log in logs]
        try:
            for log in logs:
                log.disabled = True
            yield
        finally:
            for log, before in zip(logs, disabled, strict=True):
                log.disabled = before


def first_sentence(failure: BaseException) -> str:
    """Return what Spark says first, without the name it has for the error."""
    line = str(failure).strip().partition("\n")[0]
    line = line.partition("] ")[2] if line.startswith("[") else line
    line = line.partition(" SQLSTATE: ")[0].strip()
    return line.partition(". ")[0].rstrip(".") or type(failure).__name__


def _require_pyspark(text: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pyspark  # noqa: F401
    except ImportError as failure:
        raise InvalidSource(f"{text!r} needs PySpark: install it with pip install 'distpriv[spark]'.") from failure


def _session(table: SourceName) -> "SparkSession":
    """Return the session there is, if it fits, or start one."""
    with quiet():
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession()
        if active is not None:
            running = active.conf.get("spark.master", "")
            if table.master and running and running != table.master:
                raise InvalidSource(
                    f"Spark runs on {running!r} in this process, not on that of {table.text!r}: use it."
                )
            return active
        _require_java(table.text)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.appName("distpriv").master(table.master or "local[*]")
        settings: dict[str, bool | float | int | str | None] = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
        }
        try:
            with _no_standard_error():
                return builder.config(map=settings).getOrCreate()
        except (PySparkException, RuntimeError, OSError) as failure:
            raise InvalidSource(f"Spark does not start for {table.text!r}: {first_sentence(failure)}.") from failure
        except Exception as failure:  # py4j passes on whatever Java throws
            raise InvalidSource(f"Spark does not start on {table.master!r}: see that this is a master.") from failure


def _require_java(text: str) -> None:
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java") if home else None
    if not (java.is_file() if java else shutil.which("java")):
        where = f"in JAVA_HOME, {home!r}" if home else "on the PATH"
        raise InvalidSource(
            f"{text!r} needs Java, and there is none {where}: install Java 17 or newer, on Debian with apt-get install "
            "openjdk-17-jre-headless."
        )


@contextmanager
def _no_standard_error() -> Iterator[None]:
    """Start what is started here without its greetings: Java writes some before Spark can tell it not to."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
