"""Connections to a ledger's database: a new one each time, and with SQLite one that locks, syncs and is in the file."""

import os
import stat
from collections.abc import Callable
from typing import Any

import sqlalchemy as sql
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import NullPool

from distpriv.errors import InvalidInput
from distpriv.releasing.ledger.chain import ChainBroken
from distpriv.releasing.ledger.urls import shown_url, sqlite_file

__all__ = ["BUSY_SECONDS", "ledger_engine"]

BUSY_SECONDS = 60
"""How long to wait for another process that is writing."""


def ledger_engine(url: sql.URL) -> sql.Engine:
    """Return what connects to a database; with the option `writes` its transactions take the lock at their beginning.

    >>> ledger_engine(sql.make_url("nosuch://host/db"))
    Traceback (most recent call last):
    distpriv.errors.InvalidInput: 'nosuch://host/db' is no URL of a database: write 'sqlite:///ledger.db', or install
    the driver of the server.
    """
    try:
        engine = sql.create_engine(url, poolclass=NullPool)
    except (ArgumentError, NoSuchModuleError, ImportError, ValueError, TypeError):
        raise InvalidInput(
            f"{shown_url(url)!r} is no URL of a database: write 'sqlite:///ledger.db', or install the driver of the "
            "server."
        ) from None
    file = sqlite_file(url)
    if file is not None:
        sql.event.listen(engine, "connect", _set_up_sqlite(file))
        sql.event.listen(engine, "begin", _begin_sqlite)
    return engine


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
