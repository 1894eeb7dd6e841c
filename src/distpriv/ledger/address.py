"""Where a ledger is: the URL of an SQLite file or a PostgreSQL database, and how it is shown without a password."""

import os
import re

import sqlalchemy as sql
from sqlalchemy.exc import ArgumentError

from distpriv.errors import InvalidInput

__all__ = ["ledger_address", "scrubbed", "shown_url", "sqlite_file"]

_WRITE = "write 'sqlite:///ledger.db', or the URL of a PostgreSQL database"
_HARMLESS = re.compile(r"[\w./\\ +-]{0,500}")


def ledger_address(text: object) -> sql.URL:
    """Return the parts of a ledger's URL.

    SQLite has many spellings of a database that is gone when it is closed, so only the plain path of a file is
    accepted: no options, no ``file:`` URI.

    Raises:
        InvalidInput: it is no such URL.

    >>> ledger_address("sqlite:///ledger.db").database
    'ledger.db'
    >>> ledger_address("sqlite:///file:ledger?mode=memory&uri=true")
    Traceback (most recent call last):
    distpriv.errors.InvalidInput: 'sqlite:///file:ledger' does not name a file that lasts: write 'sqlite:///ledger.db',
    or the URL of a PostgreSQL database.
    """
    url = _parsed(text) if isinstance(text, str) else None
    kind = "" if url is None else url.drivername.partition("+")[0]
    if url is None or kind not in {"sqlite", "postgresql"}:
        raise InvalidInput(f"{shown_url(text)!r} is not the URL of a ledger: {_WRITE}.")
    name = url.database or ""
    if kind == "sqlite" and (
        url.drivername not in {"sqlite", "sqlite+pysqlite"}
        or any((url.host, url.port, url.username, url.password, url.query))
        or os.path.basename(name).strip().lower() in {"", ":memory:"}
        or name.startswith("file:")
        or "\0" in name
    ):
        raise InvalidInput(f"{shown_url(url)!r} does not name a file that lasts: {_WRITE}.")
    return url


def sqlite_file(url: sql.URL) -> str | None:
    """Return the file of an SQLite ledger, links followed; None on a server.

    >>> sqlite_file(sql.make_url("sqlite:////policies/ledger.db")), sqlite_file(sql.make_url("postgresql://host/db"))
    ('/policies/ledger.db', None)
    """
    return os.path.realpath(url.database or "") if url.get_backend_name() == "sqlite" else None


def shown_url(url: object) -> str:
    """Return a URL as it may be printed: without password, and without options, which may hold one too.

    >>> shown_url("postgresql://anna:geheim@host/db?password=geheim")
    'postgresql://anna:***@host/db'
    >>> shown_url("anna:geheim@host/db"), shown_url("ledger.db")
    ('…', 'ledger.db')
    """
    parsed = _parsed(url) if isinstance(url, str) else url
    if isinstance(url, str) and parsed is None:
        scheme = re.match(r"\w[\w+]{0,30}://", url)
        return url if _HARMLESS.fullmatch(url) else f"{scheme.group() if scheme else ''}…"
    if not isinstance(parsed, sql.URL):
        return "…"
    if parsed.drivername.startswith("sqlite") and not (parsed.username or parsed.password or parsed.host):
        return f"{parsed.drivername}:///{parsed.database or ''}"
    if "@" in f"{parsed.host}{parsed.database}":  # a password that was not quoted reaches into what follows it
        return f"{parsed.drivername}://…"
    return parsed.set(query={}).render_as_string(hide_password=True)


def scrubbed(message: str, url: sql.URL) -> str:
    """Return the first line of what a database said, without the secrets of the URL."""
    line = (message.splitlines() or [""])[0]
    secrets = [str(url.password or "")]
    secrets += [url.host] if url.host and "@" in url.host else []  # of a password with a sign that ends it
    for value in url.query.values():
        secrets += [value] if isinstance(value, str) else list(value)
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        line = line.replace(secret, "***")
    return line


def _parsed(text: str) -> sql.URL | None:
    try:
        return sql.make_url(text)
    except (ArgumentError, ValueError):
        return None
