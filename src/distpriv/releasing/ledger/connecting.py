"""Connections to a ledger's database: a new one each time, and with SQLite one that locks, syncs and is in the file."""

import os
import stat
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import sqlalchemy as sql
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import NullPool

from distpriv.errors import InvalidInput
from distpriv.extras import extra_needed
from distpriv.releasing.ledger.chain import ChainBroken
from distpriv.releasing.ledger.urls import shown_url, sqlite_file

__all__ = ["BUSY_SECONDS", "ledger_engine"]

BUSY_SECONDS = 60
"""How long to wait for another process that is writing."""

CONNECT_SECONDS = 10
"""How long to wait for a server that does not answer."""

WRITERS = int.from_bytes(b"distpriv")
"""The number of the lock that writers of a ledger on PostgreSQL take, one after the other."""


def ledger_engine(url: sql.URL) -> sql.Engine:
    """Return what connects to a database; with the option `writes` its transactions take the lock at their beginning.

    >>> ledger_engine(sql.make_url("nosuch://host/db"))
    Traceback (most recent call last):
    distpriv.errors.InvalidInput: 'nosuch://host/db' is no URL of a database: write 'sqlite:///ledger.db', or install
    the driver of the server.
    """
    try:
        on_postgres = url.get_backend_name() == "postgresql"
        with extra_needed("postgres", "a ledger on PostgreSQL") if on_postgres else nullcontext():
            engine = sql.create_engine(url, poolclass=NullPool, **(_postgres_options(url) if on_postgres else {}))
    except InvalidInput:
        raise
    except (ArgumentError, NoSuchModuleError, ImportError, ValueError, TypeError):
        raise InvalidInput(
            f"{shown_url(url)!r} is no URL of a database: write 'sqlite:///ledger.db', or install the driver of the "
            "server."
        ) from None
    file = sqlite_file(url)
    if file is not None:
        sql.event.listen(engine, "connect", _set_up_sqlite(file))
        sql.event.listen(engine, "begin", _begin_sqlite)
    elif on_postgres:
        sql.event.listen(engine, "begin", _begin_postgres)
    return engine


def _postgres_options(url: sql.URL) -> dict[str, Any]:
    """Return how to connect: a statement sees what was committed before it, and no connecting takes for ever."""
    arguments: dict[str, Any] = {"client_encoding": "utf8"}  # else text is bytes where a database has no encoding
    if "connect_timeout" not in url.query:
        arguments["connect_timeout"] = CONNECT_SECONDS
    return {"isolation_level": "READ COMMITTED", "connect_args": arguments}


def _begin_postgres(connection: sql.Connection) -> None:
    """Let one writer in at a time, and let a commit return only when it is on the server's disk."""
    if connection.get_execution_options().get("writes"):
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITERS})")
        connection.exec_driver_sql("SET LOCAL synchronous_commit TO on")


def _set_up_sqlite(file: str) -> Callable[[Any, object], None]:
    def set_up(connection: Any, _: object) -> None:
        """Leave transactions to `_begin_sqlite`, sync to the disk before a commit returns, and be in the file."""
        connection.isolation_level = None
        cursor = connection.cursor()
        found = [row[2] for row in cursor.execute("PRAGMA database_list").fetchall() if row[1] == "main"]
        if not found or not found[0] or not os.path.exists(found[0]) or not os.path.samefile(found[0], file):
            raise ChainBroken("its database is in no file, or in another one")
        if not stat.S_ISREG(os.stat(file).st_mode):
            raise ChainBroken("its database is no regular file")
        cursor.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
        cursor.execute("PRAGMA synchronous = EXTRA")
        cursor.close()

    return set_up


def _begin_sqlite(connection: sql.Connection) -> None:
    """Take the lock at once where something will be written, so that no one else reads what is about to change."""
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
