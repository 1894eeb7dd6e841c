"""DuckDB's connections: each of them reaches its own table, and neither other files nor the network nor its settings.

Expressions are held against an allow-list, so none of this is ever needed; views of a database are not, and they are
written by whoever made the database.
"""

import os
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from glob import escape, has_magic
from threading import Lock
from types import MappingProxyType

import duckdb
from sqlglot import exp

__all__ = ["literal", "matching_files", "of_database", "of_files", "of_memory", "of_memory_as_written"]

_ALONE: Mapping[str, str] = MappingProxyType(
    {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "python_enable_replacements": "false",  # a name in a view is no variable of the program
    }
)
_SEALED: Mapping[str, str] = MappingProxyType({"enable_external_access": "false", "lock_configuration": "true"})
_OPENING = Lock()
"""Connections to one database share its settings, which are locked once."""


def matching_files(path: str) -> list[str]:
    """Return the files that a path or a pattern names, in the order in which they are read; none where there is none.

    What is there by its full name is meant, whatever is in the name. All that reads patterns asks here, so that what
    is compared with the private table is what is read.
    """
    path = os.path.expanduser(path)
    if os.path.exists(path) or not has_magic(path):
        return [path] if os.path.exists(path) else []
    try:
        return [file for (file,) in _patterns().cursor().execute("SELECT file FROM glob(?)", [path]).fetchall()]
    except duckdb.Error:
        return []


def of_memory() -> duckdb.DuckDBPyConnection:
    """Return a connection for tables in memory: it reads no file at all."""
    return _memory().cursor()


def of_memory_as_written() -> duckdb.DuckDBPyConnection:
    """Return a connection for tables in memory that evaluates every part of an expression where it is written."""
    connection = _unlocked().cursor()
    connection.execute("PRAGMA disable_optimizer")
    return connection


def of_files(files: Sequence[str]) -> duckdb.DuckDBPyConnection:
    """Return a connection that reads these files and no others."""
    # The operating system keeps what was read of a file; kept here too, it would be kept once for every table.
    connection = duckdb.connect(":memory:", config={**_ALONE, "enable_external_file_cache": "false"})
    allowed = {spelled: None for file in files for spelled in (file, escape(file))}
    connection.execute(f"SET allowed_paths = [{', '.join(map(literal, allowed))}]")
    return _sealed(connection)


def of_database(file: str) -> duckdb.DuckDBPyConnection:
    """Return a connection that reads a database file and no other, and writes nothing."""
    # Beside a database is a folder that DuckDB would let views read, for what does not fit into memory.
    with _OPENING:
        return _sealed(duckdb.connect(file, read_only=True, config={**_ALONE, "temp_directory": _own_folder()}))


def literal(text: str) -> str:
    """Write a text in SQL.

    >>> literal("it's")
    "'it''s'"
    """
    return exp.Literal.string(text).sql(dialect="duckdb")


def _sealed(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Return a connection to what is open already and to nothing else; one to a database may find that done."""
    (still_open,) = connection.execute("SELECT NOT current_setting('lock_configuration')").fetchone() or (True,)
    if still_open:
        for setting, value in _SEALED.items():
            connection.execute(f"SET {setting} = {value}")
    return connection


@cache
def _memory() -> duckdb.DuckDBPyConnection:
    """Return the process's own in-memory database; opening one costs more than most queries."""
    return duckdb.connect(":memory:", config={**_ALONE, **_SEALED})


@cache
def _unlocked() -> duckdb.DuckDBPyConnection:
    """Return another one: where settings are locked, the optimiser cannot be switched off."""
    return duckdb.connect(":memory:", config={**_ALONE, "enable_external_access": "false"})


@cache
def _patterns() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(":memory:", config={**_ALONE, "lock_configuration": "true", "threads": "1"})


@cache
def _own_folder() -> str:
    """Return a folder that nobody can have put anything into; DuckDB makes it when it needs it, and takes it away."""
    return os.path.join(tempfile.gettempdir(), f"distpriv-{secrets.token_hex(16)}")
