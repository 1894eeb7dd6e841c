"""Where the entries of a ledger are: read with everything checked, and read back after they were written."""

import hashlib
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Self

import sqlalchemy as sql
from attrs import field, frozen
from sqlalchemy.exc import SQLAlchemyError

from distpriv.errors import LedgerUnavailable
from distpriv.releasing.ledger.chain import ChainBroken, Entry
from distpriv.releasing.ledger.connecting import ledger_engine
from distpriv.releasing.ledger.files import KEY_VARIABLE, Beside, Seen, key_of_server
from distpriv.releasing.ledger.patience import Interrupted, is_passing, patiently
from distpriv.releasing.ledger.sql_tables import VERSION, Present, begin, present, require_kept, version_of
from distpriv.releasing.ledger.urls import checked_url, scrubbed, shown_url, sqlite_file

__all__ = ["Store"]

_HOW_TO_MAKE = "make it once, on purpose, with `distpriv ledger POLICY --create` or distpriv.Ledger.create(…)"
_SEE_FILE = "see that its folder exists, may be written to and has room"
_SEE_SERVER = "see that its server runs, that its role may do this, and that the password is where the driver looks"
_RESTORE = "nothing was released, and nothing will be until the newest copy of it is put back with the files beside it"


@frozen
class Store:
    """A ledger's database, and the files beside it where it is one of SQLite."""

    url: str = field(repr=lambda url: repr(shown_url(url)))
    engine: sql.Engine = field(repr=False)
    beside: Beside | None = field(repr=False)

    @classmethod
    def at(cls, url: str) -> Self:
        """Return where a ledger is, or would be."""
        parsed = checked_url(url)
        file = sqlite_file(parsed)
        return cls(url, ledger_engine(parsed), None if file is None else Beside(file))

    @property
    def shown(self) -> str:
        """Its URL, as it may be printed."""
        return shown_url(self.url)

    def read(self) -> Present:
        """Return everything, and see to it that the newest entry is remembered before anything is shown."""
        return patiently(self._read)

    def _read(self) -> Present:
        seen = self.seen()  # first: an entry that comes later may be there and not be seen, never the other way round
        try:
            with self.transaction("be read", writes=False) as connection:
                found = self.checked(connection, seen)
        except LedgerUnavailable:
            if self.seen() == seen:
                raise
            return self._read()  # it was made in between
        if self.beside and seen and seen.number < len(found.chain.entries):
            # Whoever wrote the newest entry has not come so far. Where nothing may be written, nothing can be lost.
            with suppress(LedgerUnavailable):
                self.kept(found.chain.entries[-1:])
        return found

    def new_key(self) -> bytes:
        """Return the key of a ledger that will be made here: random, or that of the server."""
        return secrets.token_bytes(32) if self.beside else key_of_server()

    def key(self) -> bytes:
        """Return the key of the ledger that is here."""
        found = self.read()
        if self.beside is None:
            key = key_of_server()
            if hashlib.sha256(key).hexdigest() != found.key_digest:
                raise LedgerUnavailable(
                    f"{KEY_VARIABLE} is not the key that the ledger {self.shown} was made with: set it to that one."
                )
            return key
        with self.named("be read"):
            file = self.beside.key()
        assert file is not None  # without it nothing would have been read
        return file.key

    def seen(self) -> Seen | None:
        """Return the newest entry that was seen; nothing on a server, which has no files beside it."""
        with self.named("be read"):
            return self.beside.seen() if self.beside else None

    def checked(self, connection: sql.Connection, seen: Seen | None) -> Present:
        """Return everything, or refuse a ledger of another version and one that is not as it was written."""
        self.require(version_of(connection))
        found = present(connection)
        if self.beside is not None:
            self._check_beside(found, seen)
        return found

    def _check_beside(self, found: Present, seen: Seen | None) -> None:
        """Refuse a ledger that is not the one that was last seen here, or came without the files beside it."""
        assert self.beside is not None
        key, chain = self.beside.key(), found.chain
        for path, file in ((self.beside.key_path, key), (self.beside.head_path, seen)):
            if file is None:
                raise ChainBroken(f"{os.path.basename(path)!r} is not beside it, so it may be a copy")
            if file.ledger != chain.ledger:
                raise ChainBroken(f"{os.path.basename(path)!r} beside it belongs to another ledger")
        assert key is not None
        assert seen is not None
        if hashlib.sha256(key.key).hexdigest() != found.key_digest:
            raise ChainBroken(f"{os.path.basename(self.beside.key_path)!r} beside it has another key")
        if chain.digest_at(seen.number) != seen.head:
            raise ChainBroken(
                f"entry {seen.number} was seen in it and is not there among {len(chain.entries)}, so it was put back "
                "to an older one, or exchanged"
            )

    def require(self, version: int | None) -> None:
        """Refuse a database without a ledger, and a ledger of another version."""
        if version is None:
            self.refuse_traces()
            raise LedgerUnavailable(f"there is no ledger {self.shown}, so nothing is released: {_HOW_TO_MAKE}.")
        if version != VERSION:
            raise LedgerUnavailable(
                f"the ledger {self.shown} is of version {version}, and this distpriv reads version {VERSION} alone: "
                "install the distpriv that wrote it."
            )

    def refuse_traces(self) -> None:
        """Refuse to take a ledger that was emptied or lost for one that never was."""
        if self.beside is not None and (traces := self.beside.traces()):
            raise ChainBroken(f"it is empty or gone, and {traces}")

    def begin(self, connection: sql.Connection, name: str, key: bytes) -> None:
        """Make tables and files; files first, since those that have seen nothing are no trace of a ledger."""
        if self.beside is not None:
            self.beside.begin(name, key)
        begin(connection, name, key)

    def kept(self, entries: Sequence[Entry]) -> Entry:
        """Read entries back from the database itself, remember the newest one beside it, and return the last of them.

        Nobody else writes meanwhile, so what is remembered never goes back.
        """
        return patiently(lambda: self._kept(entries))

    def _kept(self, entries: Sequence[Entry]) -> Entry:
        with self.transaction("be read back", writes=self.beside is not None) as connection:
            chain = self.checked(connection, self.seen()).chain
            require_kept(chain, entries)
            if self.beside is not None:
                self.beside.record(chain)
        return chain.entries[entries[-1].number - 1]

    @contextmanager
    def transaction(self, purpose: str, *, writes: bool) -> Iterator[sql.Connection]:
        """Connect for one transaction; a purpose such as "be read" says what failed if it does."""
        with self.named(purpose):
            if self.beside is not None and not os.path.exists(self.beside.file):
                self.require(None)
            with self.engine.connect().execution_options(writes=writes) as connection, connection.begin():
                yield connection

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
            kind = Interrupted if self.beside is None and is_passing(failure) else LedgerUnavailable
            raise kind(f"the ledger {self.shown} cannot {purpose} ({cause}): nothing was released; {see}.") from None
