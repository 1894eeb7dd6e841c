"""Sources and ledgers by name: what a policy calls them, seen from the policy's own folder."""

import os
from glob import escape, glob, has_magic
from pathlib import Path

from attrs import evolve

from distpriv.engines.database import PREFIX, database_table
from distpriv.engines.spark_source import spark_table
from distpriv.errors import InvalidInput, InvalidSource
from distpriv.releasing.ledger_places import checked_url, seen_from

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
    """Tell whether two sources have a file or a table of Spark's in common, by name, by link or by pattern."""
    return not _files(one).isdisjoint(_files(other))


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


def _files(text: str) -> set[str]:
    """Return the files that a source reads, without links."""
    spark = spark_table(text)
    path = (spark.path or f"table {spark.table}") if spark else (database_table(text) or (text,))[0]
    matching = glob(path, recursive=True) if has_magic(path) and not os.path.exists(path) else []
    return set(map(os.path.realpath, [path, *matching]))


def _seen_from(folder: Path, file: str) -> str:
    return os.path.normpath(folder / os.path.expanduser(file))
