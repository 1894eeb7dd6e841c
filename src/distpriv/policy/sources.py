"""Sources and ledgers by name: what a policy calls them, seen from the policy's own folder."""

import os
from collections.abc import Hashable
from contextlib import suppress
from pathlib import Path

from distpriv.engines.source_names import source_name
from distpriv.errors import InvalidInput, InvalidSource
from distpriv.ledger.address import ledger_address, sqlite_file

__all__ = ["WITHHELD", "ledger_url", "same_source", "source"]

WITHHELD = "(withheld)"
"""What stands in a bundle's policy for the private source and for the ledger's address, which may hold a password."""


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
    name = source_name(text)
    if name.engine == "files" and "://" in text:
        raise InvalidSource(f"{text!r} is not on this machine: fetch it first, and write the path of the file.")
    return name.seen_from(folder).text


def same_source(one: str, other: str) -> bool:
    """Tell whether two sources have a file or a table of Spark's in common: by name, by link of any kind, by pattern.

    Files are told apart as the file system does, so another spelling, a hard link or another mount of a file is that
    file. What is in them is not compared: nothing is read from a private table here, and a refusal would tell
    whoever can write a reference when it is equal to it. So a copy goes unnoticed.
    """
    if source_name(one).is_table_of(source_name(other)):
        return True
    return not _identities(one).isdisjoint(_identities(other))


def ledger_url(text: str, folder: Path) -> str:
    """Return the URL of a ledger, the path of an SQLite file seen from a folder; never shown with its password.

    >>> ledger_url("sqlite:///ledger.db", Path("/policies"))
    'sqlite:////policies/ledger.db'
    """
    try:
        url = ledger_address(text)
    except InvalidInput as refusal:
        raise InvalidSource(str(refusal)) from None
    if sqlite_file(url) is None:
        return text
    file = os.path.normpath(folder / os.path.expanduser(str(url.database)))
    return url.set(database=file).render_as_string(hide_password=False)


def _identities(text: str) -> set[Hashable]:
    """Return what tells the files that a source reads from all others: their names, and where the disk has them."""
    found: set[Hashable] = set()
    for file in source_name(text).files:
        found.add(os.path.realpath(file))
        with suppress(OSError):
            status = os.stat(file)
            found.add((status.st_dev, status.st_ino))
    return found
