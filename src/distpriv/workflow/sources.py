"""Sources and ledgers by name: what a policy calls them, seen from the policy's own folder."""

import os
import re
from collections.abc import Hashable
from contextlib import suppress
from glob import escape, glob, has_magic
from pathlib import Path

from attrs import evolve

from distpriv.engines.connections import matching_files
from distpriv.engines.database import PREFIX, database_table
from distpriv.engines.spark_source import spark_table
from distpriv.errors import InvalidInput, InvalidSource
from distpriv.releasing.ledger.urls import checked_url, seen_from

__all__ = ["ledger_url", "same_source", "source"]


def source(text: str, folder: Path) -> str:
    """Return a source that any engine can open, its path seen from a folder.

    >>> source("census/*.parquet", Path("/policies"))
    '/policies/census/*.parquet'
    >>> source("duckdb:census.duckdb?table=persons", Path("/policies"))
    'duckdb:/policies/census.duckdb?table=persons'
    >>> source("spark:local[2]?path=census.parquet", Path("/policies"))
    'spark:local[2]?path=/policies/census.parquet'
    """
    text = text.strip()
    if not text or "\0" in text:
        raise InvalidSource(f"a source needs a name, got {text!r}: write the path of a CSV or Parquet file.")
    if table := spark_table(text):
        here = table.path is not None and "://" not in table.path and not table.path.startswith(("file:", "dbfs:"))
        return evolve(table, path=_seen_from(folder, table.path)).text if here and table.path else table.text
    if named := database_table(text):
        return f"{PREFIX}{_seen_from(folder, named[0])}?table={named[1]}"
    if "://" in text:
        raise InvalidSource(f"{text!r} is not on this machine: fetch it first, and write the path of the file.")
    path = _seen_from(folder, text)
    # The folder's own brackets are no pattern, even where those of the text are.
    return _seen_from(Path(escape(str(folder))), text) if has_magic(text) and not os.path.exists(path) else path


def same_source(one: str, other: str) -> bool:
    """Tell whether two sources have a file or a table of Spark's in common: by name, by link of any kind, by pattern.

    Files are told apart as the file system does, so another spelling, a hard link or another mount of a file is that
    file. What is in them is not compared: nothing is read from a private table here, and a refusal would tell
    whoever can write a reference when it is equal to it. So a copy goes unnoticed.
    """
    return not _identities(one).isdisjoint(_identities(other))


def ledger_url(text: str, folder: Path) -> str:
    """Return the URL of a ledger, the path of an SQLite file seen from a folder; never shown with its password.

    >>> ledger_url("sqlite:///ledger.db", Path("/policies"))
    'sqlite:////policies/ledger.db'
    """
    try:
        url = checked_url(text)
    except InvalidInput as refusal:
        raise InvalidSource(str(refusal)) from None
    return seen_from(url, lambda path: _seen_from(folder, path)) or text


def _identities(text: str) -> set[Hashable]:
    """Return what tells the files that a source reads from all others: their names, and where the disk has them."""
    found: set[Hashable] = set()
    for file in _files(text):
        found.add(os.path.realpath(file))
        with suppress(OSError):
            status = os.stat(file)
            found.add((status.st_dev, status.st_ino))
    return found


def _files(text: str) -> list[str]:
    """Return the files that a source reads, or may read: also those of a folder, which Spark takes for a table."""
    if spark := spark_table(text):
        return [f"table {spark.table}"] if spark.path is None else _files_of_spark(spark.path)
    path = (database_table(text) or (text,))[0]
    return [path, *matching_files(path)] if not text.startswith(PREFIX) else [os.path.expanduser(path)]


def _files_of_spark(path: str) -> list[str]:
    """Return the files of a path as Spark reads it: a URL of a file is a file, and braces list what fits."""
    path = re.sub(r"^file:(//[^/]*(?=/))?", "", path)
    named = [each for spelled in _without_braces(path) for each in (spelled, *glob(spelled, recursive=True))]
    below = [os.path.join(folder, name) for each in named for folder, _, names in os.walk(each) for name in names]
    return [path, *named, *below]


def _without_braces(pattern: str) -> list[str]:
    """Return a pattern for each of the choices between braces.

    >>> _without_braces("{a,b}/{c,d}.csv")
    ['a/c.csv', 'a/d.csv', 'b/c.csv', 'b/d.csv']
    """
    choices = re.search(r"\{([^{}]*)\}", pattern)
    if choices is None:
        return [pattern]
    before, after = pattern[: choices.start()], pattern[choices.end() :]
    return [each for choice in choices[1].split(",") for each in _without_braces(f"{before}{choice}{after}")]


def _seen_from(folder: Path, file: str) -> str:
    return os.path.normpath(folder / os.path.expanduser(file))
