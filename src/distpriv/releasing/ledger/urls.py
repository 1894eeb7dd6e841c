"""Where a ledger is: the URL of its database, refused where that forgets, and shown without its password."""

import os
import re
from collections.abc import Callable
from urllib.parse import quote, unquote

import sqlalchemy as sql
from sqlalchemy.exc import ArgumentError

from distpriv.errors import InvalidInput

__all__ = ["checked_url", "scrubbed", "seen_from", "shown_url", "sqlite_file"]

_WRITE = "write 'sqlite:///ledger.db', or the URL of a server"
_TRUE, _FALSE = {"true", "yes", "on", "y", "t", "1"}, {"false", "no", "off", "n", "f", "0"}
_MODES = {"ro", "rw", "rwc"}
_OF_A_URI, _OF_THE_DRIVER = {"mode", "cache"}, {"uri", "timeout", "check_same_thread", "cached_statements"}
_HARMLESS = re.compile(r"[\w./\\ +-]{0,500}")


def checked_url(text: object) -> sql.URL:
    """Return the parts of a ledger's URL, or refuse what is none and what keeps nothing.

    SQLite keeps nothing in a database without a file, of which there are many spellings; so what is let through is
    what names a file, rather than all that is not known to name none.

    >>> checked_url("sqlite:///ledger.db").database
    'ledger.db'
    >>> checked_url("sqlite:///file:ledger?mode=memory&uri=true")
    Traceback (most recent call last):
    distpriv.errors.InvalidInput: 'sqlite:///file:ledger' forgets everything at its end: write a file, as in
    'sqlite:///ledger.db'.
    """
    if not isinstance(text, str):
        raise InvalidInput(f"a ledger is named by the URL of its database, got {text!r}: {_WRITE}.")
    url = _parsed(text)
    if url is None or url.drivername != url.drivername.lower():
        raise InvalidInput(f"{shown_url(text)!r} is no URL of a database: {_WRITE}.")
    if url.get_backend_name() == "sqlite":
        sqlite_file(url)
    elif (url.database or "").strip().lower() == ":memory:":
        raise _forgets(url)
    return url


def sqlite_file(url: sql.URL) -> str | None:
    """Return the file of an SQLite database, links followed; none of other databases.

    >>> sqlite_file(sql.make_url("sqlite:////policies/ledger.db")), sqlite_file(sql.make_url("postgresql://host/db"))
    ('/policies/ledger.db', None)
    """
    if url.get_backend_name() != "sqlite":
        return None
    if url.host or url.port or ((url.username or url.password) and "cipher" not in url.drivername):
        raise InvalidInput(f"{shown_url(url)!r} is no path of an SQLite file: write three slashes, {_WRITE[6:]}.")
    options = dict(url.query)
    wrong = [key for key, value in options.items() if not isinstance(value, str)]
    unknown = sorted({*options, *wrong} - (_OF_A_URI | _OF_THE_DRIVER)) + wrong
    uri = str(options.get("uri", "false")).strip().lower()
    if options.get("mode") == "memory" or options.get("vfs") == "memdb":
        raise _forgets(url)
    if unknown or uri not in _TRUE | _FALSE or options.get("mode", "rwc") not in _MODES:
        raise _no_option(url, unknown[0] if unknown else "mode" if uri in _TRUE | _FALSE else "uri")
    path = _path_of_uri(url) if uri in _TRUE else url.database or ""
    if os.path.basename(path).strip().lower() in {"", ":memory:"} or "\0" in path:
        raise _forgets(url)
    if uri not in _TRUE and (_OF_A_URI & set(options) or path.startswith("file:")):
        raise _no_option(url, "uri")
    return os.path.realpath(path)


def seen_from(url: sql.URL, seen: Callable[[str], str]) -> str | None:
    """Return a URL with the path of its SQLite file changed; none of other databases.

    >>> seen_from(sql.make_url("sqlite:///ledger.db?timeout=9"), lambda path: f"/50 %/{path}")
    'sqlite:////50 %25/ledger.db?timeout=9'
    """
    if sqlite_file(url) is None:
        return None
    plain = str(url.database)
    if str(url.query.get("uri", "false")).strip().lower() in _TRUE:
        plain = f"file:{quote(seen(_path_of_uri(url)))}"
    else:
        plain = seen(plain)
    return url.set(database=plain).render_as_string(hide_password=False)


def _path_of_uri(url: sql.URL) -> str:
    """Return the path in ``file:ledger.db``, ``file:/ledger.db`` or ``file:///ledger.db``, as SQLite reads it."""
    scheme, _, rest = (url.database or "").partition(":")
    if scheme == "file" and rest.startswith("//"):
        host, slash, rest = rest[2:].partition("/")
        rest = slash + rest if host in {"", "localhost"} else ""
    path = unquote(rest)
    if scheme != "file" or "\0" in path or re.search(r"[?#]", rest):
        raise _forgets(url)
    return path


def shown_url(url: object) -> str:
    """Return a URL as it may be printed: without password, and without options, which may hold one too.

    >>> shown_url("postgresql://anna:geheim@host/db?password=geheim")
    'postgresql://anna:***@host/db'
    >>> shown_url("anna:geheim@host/db"), shown_url("ledger.db")
    ('…', 'ledger.db')
    """
    if isinstance(url, str):
        parsed = _parsed(url)
        if parsed is None:
            scheme = re.match(r"\w[\w+]{0,30}://", url)
            return url if _HARMLESS.fullmatch(url) else f"{scheme.group() if scheme else ''}…"
        url = parsed
    if not isinstance(url, sql.URL):
        return "…"
    if url.get_backend_name() == "sqlite" and not (url.username or url.password or url.host):
        return f"{url.drivername}:///{url.database or ''}"
    if "@" in f"{url.host}{url.database}":  # a password that was not quoted reaches into what follows it
        return f"{url.drivername}://…"
    return url.set(query={}).render_as_string(hide_password=True)


def scrubbed(message: str, url: sql.URL) -> str:
    """Return what a database said, in one line and without what the URL keeps to itself."""
    line = (message.splitlines() or [""])[0]
    secrets = [str(url.password or "")] if url.password else []
    secrets += [url.host] if "@" in (url.host or "") and url.host else []  # of a password with a sign that ends it
    for value in url.query.values():
        secrets += [value] if isinstance(value, str) else list(value)
    if url.get_backend_name() != "sqlite":
        for secret in sorted(filter(None, secrets), key=len, reverse=True):
            line = line.replace(secret, "***")
    return line


def _parsed(text: str) -> sql.URL | None:
    try:
        return sql.make_url(text)
    except (ArgumentError, ValueError):
        return None


def _forgets(url: sql.URL) -> InvalidInput:
    return InvalidInput(f"{shown_url(url)!r} forgets everything at its end: write a file, as in 'sqlite:///ledger.db'.")


def _no_option(url: sql.URL, key: str) -> InvalidInput:
    return InvalidInput(
        f"the option {key!r} of {shown_url(url)!r} cannot be used as it is: write 'sqlite:///ledger.db', or "
        "'sqlite:///file:ledger.db?mode=ro&uri=true' for reading."
    )
