"""A table that Spark reads by its name, and the session for it."""

import os
import re
import shutil
import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from distpriv.engines.source_names import SourceName
from distpriv.errors import InvalidSource
from distpriv.extras import extra_needed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["CURE", "NoPython", "data_frame", "first_sentence", "quiet", "worker_failure"]

CONNECT = "sc://"
"""How the address of a Spark Connect server begins."""

CONNECT_PORT = 15002
"""Where such a server listens unless an address says otherwise."""

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


CURE = (
    "set PYSPARK_PYTHON to a Python on the executors of the version that is here, with numpy and pyarrow, and with "
    "distpriv where statistics are sampled"
)
"""What to do where tasks in Python fail."""

_WORKERS = ("Python worker", "PYTHON_VERSION_MISMATCH", "Cannot run program", "PYTHON_DAEMON", "pyspark.daemon")
"""What Spark says where it is Python on an executor that fails, and not an expression."""

_RAISED = re.compile(r"^(?:[a-zA-Z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt)\b: .*$", re.MULTILINE)
"""The last line of a traceback."""


class NoPython(InvalidSource):
    """Executors have no Python that can run a task."""


def worker_failure(failure: BaseException) -> str | None:
    r"""Return why Python on an executor failed, the last line of its traceback if there is one; none if it was not it.

    >>> said = "An exception was thrown from the Python worker:\n  File 'x'\nModuleNotFoundError: No module named 'y'\n"
    >>> worker_failure(RuntimeError(said))
    "ModuleNotFoundError: No module named 'y'"
    >>> worker_failure(RuntimeError("[DIVIDE_BY_ZERO] Division by zero."))
    """
    text = str(failure)
    if not any(sign in text for sign in _WORKERS):
        return None
    inside = text.partition("Traceback (most recent call last)")[2] or text
    raised = [line for line in _RAISED.findall(inside) if not line.startswith(("java.", "org.apache.", "py4j."))]
    return raised[-1].rstrip(".") if raised else _cause(text) or first_sentence(failure)


def _cause(text: str) -> str | None:
    """Return why Java could not start Python at all."""
    found = re.search(r'Cannot run program "[^"]*"[^\n]*', text)
    return None if found is None else found.group().rstrip(".")


def first_sentence(failure: BaseException) -> str:
    """Return what Spark says first, without the name it has for the error."""
    line = str(failure).strip().partition("\n")[0]
    line = line.partition("] ")[2] if line.startswith("[") else line
    line = line.partition(" SQLSTATE: ")[0].strip()
    return line.partition(". ")[0].rstrip(".") or type(failure).__name__


def _require_pyspark(text: str) -> None:
    with extra_needed("spark", repr(text), InvalidSource), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pyspark  # noqa: F401


def _session(table: SourceName) -> "SparkSession":
    """Return the session there is, if it fits, or start one."""
    with quiet():
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession()
        if active is not None:
            running = active.conf.get("spark.master", "")
            if table.master and running and running != table.master and not _from_afar(table, active):
                raise InvalidSource(
                    f"Spark runs on {running!r} in this process, not on that of {table.text!r}: use it."
                )
            return active
        if table.master.startswith(CONNECT):
            return _connected(table)
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


def _from_afar(table: SourceName, session: "SparkSession") -> bool:
    """Tell whether a name and a session are both of a server that is connected to, whose own master is its business."""
    return table.master.startswith(CONNECT) and "connect" in type(session).__module__.split(".")


def _connected(table: SourceName) -> "SparkSession":
    """Return a session on a Spark Connect server, which needs no Java here."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    _require_server(table)
    try:
        session = SparkSession.builder.remote(table.master).getOrCreate()
        session.version  # noqa: B018 - which asks the server
        return session
    except ImportError as failure:
        raise InvalidSource(
            f"{table.text!r} needs the client of Spark Connect, which is not installed here: pip install "
            "'pyspark[connect]'."
        ) from failure
    except (PySparkException, RuntimeError, OSError, ValueError) as failure:
        raise InvalidSource(
            f"no Spark Connect server answers for {table.text!r}: {first_sentence(failure)}: see that it runs."
        ) from failure


def _require_server(table: SourceName) -> None:
    """Knock at a server's door, as the client of Spark Connect would do for ten minutes before it gives up."""
    if any(os.environ.get(name) for name in ("grpc_proxy", "https_proxy", "http_proxy")):
        return
    host, _, port = table.master.removeprefix(CONNECT).partition("/")[0].rpartition(":")
    where = (host, int(port)) if host and port.isdigit() else (host or port, CONNECT_PORT)
    try:
        socket.create_connection((where[0].strip("[]"), where[1]), timeout=10).close()
    except (OSError, OverflowError, UnicodeError) as failure:
        raise InvalidSource(
            f"no Spark Connect server answers for {table.text!r}: see that it runs there, and that its port is open."
        ) from failure


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
