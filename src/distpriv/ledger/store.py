"""A ledger's database, SQLite or PostgreSQL: one connection, everything checked when it is read, and read back.

Each row is validated once. What was read before is compared row by row, so that an entry that changes later, by a
trigger or by hand, is noticed as well.
"""

import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import Any, Self, TypeVar

import sqlalchemy as sql
from attrs import astuple, define, field
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import CreateTable

from distpriv.errors import InvalidInput, LedgerUnavailable
from distpriv.extras import extra_needed
from distpriv.ledger.address import ledger_address, scrubbed, shown_url, sqlite_file
from distpriv.ledger.beside import KEY_VARIABLE, Beside, Seen, key_of_server
from distpriv.ledger.chain import Chain, ChainBroken, Entry, canonical, content_of, start_of

__all__ = ["Interrupted", "Store", "patiently"]

VERSION = 2
"""Of the tables."""

BUSY_SECONDS, CONNECT_SECONDS, AWAY_SECONDS = 60, 10, 30.0
"""How long to wait for another writer, for a server that does not answer, and for one that is restarted."""

WRITERS = int.from_bytes(b"distpriv")
"""The number of the lock that writers of a ledger on PostgreSQL take, one after the other."""

PASSING = {"40001", "40P01", "53300", "55P03", "57P01", "57P02", "57P03"}
"""SQLSTATEs that pass: serialisation failure, deadlock, too many connections, lock taken, a server shutting down,
crashed or starting (PostgreSQL manual, appendix A)."""

_DIGEST = sql.String(64)
_TABLES = sql.MetaData()
_LEDGER = sql.Table(
    "ledger",
    _TABLES,
    sql.Column("id", sql.String(64), primary_key=True),
    sql.Column("version", sql.Integer, nullable=False),
    sql.Column("key_digest", _DIGEST, nullable=False),
    sql.Column("count", sql.Integer, nullable=False),
    sql.Column("head", _DIGEST, nullable=False),
)
_ENTRIES = sql.Table(
    "entries",
    _TABLES,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("kind", sql.String(20), nullable=False),
    sql.Column("dataset", sql.String(100), nullable=False),
    sql.Column("position", sql.Integer),
    sql.Column("query_key", sql.Text),
    sql.Column("time", sql.String(40), nullable=False),
    sql.Column("content", sql.Text, nullable=False),
    sql.Column("previous", _DIGEST, nullable=False),
    sql.Column("digest", _DIGEST, nullable=False),
)
_EVERYTHING = sql.select(_LEDGER, *(column.label(f"entry_{column.name}") for column in _ENTRIES.c))
_EVERYTHING = _EVERYTHING.select_from(_LEDGER.outerjoin(_ENTRIES, sql.true())).order_by(_ENTRIES.c.number)
"""In one statement, so that nothing shows the beginning of one state and the end of another."""

_HOW_TO_MAKE = "make it once, on purpose, with `distpriv ledger POLICY --create` or distpriv.Ledger.create(…)"
_SEE_FILE = "see that its folder exists, may be written to and has room"
_SEE_SERVER = "see that its server runs, that its role may do this, and that the password is where the driver looks"
_RESTORE = "nothing was released, and nothing will be until the newest copy of it is put back with the files beside it"

Found = TypeVar("Found")


class Interrupted(LedgerUnavailable):
    """A server did not do this time what it may do next time."""


@define(eq=False)
class Store:
    """A ledger's database, and the files beside it where it is one of SQLite."""

    url: str = field(repr=shown_url)
    engine: sql.Engine = field(repr=False)
    beside: Beside | None = field(repr=False)
    _known: tuple[list[Any], Chain] = field(init=False, repr=False, factory=lambda: ([], Chain(ledger="", entries=())))
    _key_digest: str = field(init=False, repr=False, default="")
    _holding: bool = field(init=False, repr=False, default=False)
    _held: tuple[sql.Connection, object] | None = field(init=False, repr=False, default=None)
    """A connection, and the file that it is to."""

    @classmethod
    def at(cls, url: str) -> Self:
        """Return where a ledger is, or would be."""
        parsed = ledger_address(url)
        file = sqlite_file(parsed)
        return cls(url, _engine(parsed, file), None if file is None else Beside(file))

    @property
    def shown(self) -> str:
        """Its URL, as it may be printed."""
        return shown_url(self.url)

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Hold one connection for everything inside; it is made anew only where it breaks."""
        if self._holding:
            yield
            return
        self._holding = True
        try:
            yield
        finally:
            held, self._held, self._holding = self._held, None, False
            if held is not None:
                _hang_up(held[0])

    def exists(self) -> bool:
        """Tell whether there is a ledger, or traces of one that was used."""
        if self.beside is not None:
            with self.named("be read"):
                if self.beside.traces() is not None:
                    return True
                if not os.path.exists(self.beside.file):
                    return False
        with self.transaction("be read", writes=False) as connection:
            return _version_of(connection) is not None

    def create(self, name: str, key: bytes) -> bool:
        """Make the ledger, unless there is one; tell whether it was made."""
        with self.named("be made"):
            if self.beside is not None:
                if not os.path.exists(self.beside.file) or not os.path.getsize(self.beside.file):
                    self.beside.refuse_traces()
                self.beside.touch()
        with self.transaction("be made", writes=True) as connection:
            if _version_of(connection) is not None:
                return False
            if self.beside is not None:
                self.beside.refuse_traces()
            taken = sorted(set(_TABLES.tables) & set(sql.inspect(connection).get_table_names()))
            if taken:
                raise InvalidInput(
                    f"there is a table {taken[0]!r} of another kind in the database: give another database."
                )
            self._begin(connection, name, key)
        return True

    def _begin(self, connection: sql.Connection, name: str, key: bytes) -> None:
        """Write the files first, since those that have seen nothing are no trace of a ledger, and then the tables."""
        if self.beside is not None:
            self.beside.begin(name, key)
        for table in _TABLES.sorted_tables:
            connection.execute(CreateTable(table))
        values = {"id": name, "version": VERSION, "key_digest": hashlib.sha256(key).hexdigest(), "count": 0}
        connection.execute(sql.insert(_LEDGER).values(**values, head=start_of(name)))

    def read(self) -> Chain:
        """Return everything, and see to it that the newest entry is remembered before anything is shown."""
        seen = self.seen()  # first: an entry that comes later may be there and not be seen, never the other way round
        try:
            with self.transaction("be read", writes=False) as connection:
                chain = self.checked(connection, seen)
        except LedgerUnavailable:
            if self.seen() == seen:
                raise
            return self.read()  # it was made in between
        if self.beside and seen and seen.number < len(chain.entries):
            # Whoever wrote the newest entry has not come so far. Where nothing may be written, nothing can be lost.
            with suppress(LedgerUnavailable):
                self.kept(chain.entries[-1:])
        return chain

    def key(self) -> bytes:
        """Return the key of the ledger that is here, as it was read."""
        if self.beside is None:
            key = key_of_server()
            if hashlib.sha256(key).hexdigest() != self._key_digest:
                raise LedgerUnavailable(
                    f"{KEY_VARIABLE} is not the key that the ledger {self.shown} was made with: set it to that one."
                )
            return key
        with self.named("be read"):
            file = self.beside.key()
        assert file is not None  # without it nothing would have been read
        return file.key

    def seen(self) -> Seen | None:
        """Return the newest entry that was seen; None on a server, which has no files beside it."""
        with self.named("be read"):
            return self.beside.seen() if self.beside else None

    def checked(self, connection: sql.Connection, seen: Seen | None) -> Chain:
        """Return everything, or refuse a ledger of another version and one that is not as it was written."""
        known, before = self._known
        if not before.ledger:
            self.require(_version_of(connection))
        rows = [tuple(row) for row in connection.execute(_EVERYTHING)]
        self.require(rows[0][1] if rows else None)
        if len({row[0] for row in rows}) != 1 or not isinstance(rows[0][0], str):
            raise ChainBroken("it has no id, or several")
        name, _, key_digest, count, head = rows[0][:5]
        written = [row[5:] for row in rows if row[5] is not None]
        if before.ledger != name or written[: len(known)] != known:
            known, before = [], Chain(ledger=name, entries=())
        new = map(_entry, written[len(known) :])
        chain = Chain.checked(name, (*before.entries, *new), known=len(known)) if written != known else before
        if count != len(written) or head != chain.head:
            raise ChainBroken(f"it has {len(written)} entries, and says that there are {count!r}")
        self._key_digest = str(key_digest)
        if self.beside is not None:
            self._check_beside(self.beside, chain, seen)
        self._known = (written, chain)
        return chain

    def _check_beside(self, beside: Beside, chain: Chain, seen: Seen | None) -> None:
        """Refuse a ledger that is not the one that was last seen here, or came without the files beside it."""
        key = beside.key()
        for path, file in ((beside.key_path, key), (beside.head_path, seen)):
            if file is None:
                raise ChainBroken(f"{os.path.basename(path)!r} is not beside it, so it may be a copy")
            if file.ledger != chain.ledger:
                raise ChainBroken(f"{os.path.basename(path)!r} beside it belongs to another ledger")
        assert key is not None
        assert seen is not None
        if hashlib.sha256(key.key).hexdigest() != self._key_digest:
            raise ChainBroken(f"{os.path.basename(beside.key_path)!r} beside it has another key")
        if chain.digest_at(seen.number) != seen.head:
            raise ChainBroken(
                f"entry {seen.number} was seen in it and is not there among {len(chain.entries)}, so it was replaced "
                "by an older one, or exchanged"
            )

    def require(self, version: object) -> None:
        """Refuse a database without a ledger, and a ledger of another version."""
        if version is None:
            if self.beside is not None:
                self.beside.refuse_traces()
            raise LedgerUnavailable(f"there is no ledger {self.shown}, so nothing is released: {_HOW_TO_MAKE}.")
        if not isinstance(version, int):
            raise ChainBroken("its version is no number")
        if version != VERSION:
            raise LedgerUnavailable(
                f"the ledger {self.shown} is of version {version}, and this distpriv reads version {VERSION} alone: "
                "install the distpriv that wrote it."
            )

    def extend(self, connection: sql.Connection, chain: Chain, entries: Sequence[Entry]) -> None:
        """Write entries after those of a chain, and check that they are there before they are committed.

        Raises:
            ChainBroken: something is there that was not written, or was written and is not there.
        """
        for entry in entries:
            values = dict(zip(_ENTRIES.c.keys(), astuple(entry, recurse=False), strict=True))
            connection.execute(sql.insert(_ENTRIES).values({**values, "content": canonical(entry.content)}))
        now = {"count": len(chain.entries) + len(entries), "head": entries[-1].digest}
        connection.execute(sql.update(_LEDGER).where(_LEDGER.c.id == chain.ledger).values(now))
        self._require_kept(self.checked(connection, self.seen()), entries)

    def kept(self, entries: Sequence[Entry]) -> Entry:
        """Read entries back from the database itself, remember the newest one beside it, and return the last of them.

        Nobody else writes meanwhile, so what is remembered never goes back.
        """
        with self.transaction("be read back", writes=self.beside is not None) as connection:
            chain = self.checked(connection, self.seen())
            self._require_kept(chain, entries)
            if self.beside is not None:
                self.beside.record(chain)
        return chain.entries[entries[-1].number - 1]

    def _require_kept(self, chain: Chain, entries: Sequence[Entry]) -> None:
        if not chain.holds(entries):
            raise ChainBroken(f"it did not keep entry {entries[-1].number}, perhaps because of a trigger")

    @contextmanager
    def transaction(self, purpose: str, *, writes: bool) -> Iterator[sql.Connection]:
        """Run one transaction; a purpose such as "be read" says what failed if it does."""
        with self.named(purpose), ExitStack() as ending:
            if self.beside is not None and not os.path.exists(self.beside.file):
                self.require(None)
            connection, place = self._held or (self.engine.connect(), self._place())
            self._held = None
            ending.callback(_hang_up, connection)
            if place != self._place():
                raise ChainBroken("its file was exchanged meanwhile")
            with connection.execution_options(writes=writes).begin():
                yield connection
            if self._holding:
                self._held = connection, place
                ending.pop_all()

    def _place(self) -> object:
        """Return which file the database is in."""
        if self.beside is None:
            return None
        status = os.stat(self.beside.file)
        if not stat.S_ISREG(status.st_mode):
            raise ChainBroken("its database is no regular file")
        return status.st_dev, status.st_ino

    @contextmanager
    def named(self, purpose: str) -> Iterator[None]:
        """Say of everything that goes wrong inside which ledger it is, in one sentence and without its password."""
        try:
            yield
        except ChainBroken as broken:
            raise LedgerUnavailable(
                f"the ledger {self.shown} is not as it was written, as {broken}: {_RESTORE}."
            ) from None
        except (SQLAlchemyError, OSError, UnicodeError) as failure:
            cause = getattr(failure, "strerror", None) or str(getattr(failure, "orig", None) or failure)
            cause = scrubbed(cause, self.engine.url)
            see = _SEE_FILE if self.beside is not None else _SEE_SERVER
            kind = Interrupted if self.beside is None and _is_passing(failure) else LedgerUnavailable
            raise kind(f"the ledger {self.shown} cannot {purpose} ({cause}): nothing was released; {see}.") from None


def _hang_up(connection: sql.Connection) -> None:
    with suppress(SQLAlchemyError):
        connection.close()


def patiently(work: Callable[[], Found]) -> Found:
    """Do something again and again while a server is away, and say so when that takes too long.

    Nothing is lost by that: what was not committed is not there, and what was committed without the server's saying so
    is found when everything is read anew.
    """
    until, pause = time.monotonic() + AWAY_SECONDS, 0.05
    while True:
        try:
            return work()
        except Interrupted as failure:
            if time.monotonic() + pause > until:
                raise LedgerUnavailable(str(failure)) from None
        time.sleep(pause)
        pause = min(2 * pause, 2.0)


def _is_passing(failure: BaseException) -> bool:
    """Tell whether a failure of a server is likely to be over soon: a lost connection, or two who wanted the same."""
    if not isinstance(failure, DBAPIError):
        return False
    state = getattr(failure.orig, "sqlstate", None)
    lost = failure.connection_invalidated or (isinstance(failure, OperationalError) and state is None)
    return lost or state in PASSING or str(state)[:2] == "08"


def _version_of(connection: sql.Connection) -> object:
    """Return of which version the tables are, or None where there is no ledger."""
    if _LEDGER.name not in sql.inspect(connection).get_table_names():
        return None
    return connection.execute(sql.select(_LEDGER.c.version)).scalar()


def _entry(row: Sequence[Any]) -> Entry:
    values = dict(zip(_ENTRIES.c.keys(), row, strict=True))
    for name, value in values.items():
        kind = int if name in {"number", "position"} else str
        if not isinstance(value, kind) and not (value is None and _ENTRIES.c[name].nullable):
            raise ChainBroken(f"the {name} of entry {values['number']!r} is of another type")
    try:
        return Entry(**{**values, "content": content_of(values["content"])})
    except ValueError:
        raise ChainBroken(f"the content of entry {values['number']} was changed or cannot be read") from None


def _engine(url: sql.URL, file: str | None) -> sql.Engine:
    """Return what connects to a database; with the option `writes` its transactions take the lock at their beginning.

    >>> _engine(sql.make_url("postgresql+nosuch://host/db"), None)
    Traceback (most recent call last):
    distpriv.errors.InvalidInput: 'postgresql+nosuch://host/db' has no driver here: write 'sqlite:///ledger.db', or
    install the driver of the server.
    """
    try:
        with extra_needed("postgres", "a ledger on PostgreSQL") if file is None else nullcontext():
            options = _postgres_options(url) if file is None else {}
            engine = sql.create_engine(url.set(database=file or url.database), poolclass=NullPool, **options)
    except InvalidInput:
        raise
    except (ArgumentError, NoSuchModuleError, ImportError, ValueError, TypeError):
        raise InvalidInput(
            f"{shown_url(url)!r} has no driver here: write 'sqlite:///ledger.db', or install the driver of the server."
        ) from None
    sql.event.listen(engine, "begin", _begin_postgres if file is None else _begin_sqlite)
    if file is not None:
        sql.event.listen(engine, "connect", _set_up_sqlite)
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


def _set_up_sqlite(connection: Any, _: object) -> None:
    """Leave transactions to `_begin_sqlite`, and sync to the disk before a commit returns."""
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}").close()
    connection.execute("PRAGMA synchronous = EXTRA").close()


def _begin_sqlite(connection: sql.Connection) -> None:
    """Take the lock at once where something will be written, so that no one else reads what is about to change."""
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
