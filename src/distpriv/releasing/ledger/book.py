"""The ledger: every look at a private table and every release, written, synced and read back before anything is shown.

An entry holds the answer and what was spent on it in one row, so a crash can lose neither without the other. Entries
are numbered without gaps, each names the digest of the one before, and a number can be taken once: of two processes
that planned on the same history of a dataset one is told that the history has changed. A ledger is made on purpose,
never because there is none: otherwise one that was lost would be a budget that is new.
"""

import hashlib
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Self

import sqlalchemy as sql
from attrs import field, frozen
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from distpriv.errors import InvalidInput, LedgerChanged, LedgerUnavailable
from distpriv.framework.target import PrivacyTarget
from distpriv.releasing.ledger import version_1
from distpriv.releasing.ledger.chain import (
    Chain,
    ChainBroken,
    Entry,
    History,
    Kind,
    canonical,
    content_of,
    dataset_id,
    linked,
)
from distpriv.releasing.ledger.connecting import ledger_engine
from distpriv.releasing.ledger.files import KEY_VARIABLE, Beside, Seen, key_of_server
from distpriv.releasing.ledger.tables import (
    VERSION,
    Present,
    begin,
    drop_version_1,
    extend,
    present,
    require_kept,
    version_of,
)
from distpriv.releasing.ledger.urls import checked_url, scrubbed, shown_url, sqlite_file

__all__ = ["Entry", "History", "Kind", "Ledger", "dataset_id"]

MOST_TRIES = 1000
"""How often an entry is written again because another one has taken its number."""

_HOW_TO_MAKE = "make it once, on purpose, with `distpriv ledger POLICY --create` or distpriv.Ledger.create(…)"
_RESTORE = "nothing was released, and nothing will be until the newest copy of it is put back with the files beside it"


class _NumberTaken(Exception):
    """Somebody else has written an entry of that number meanwhile."""


@frozen
class Ledger:
    """A database of looks and releases; made once by `Ledger.create`, and opened by `Ledger.open`.

    >>> import distpriv as dp
    >>> ledger = dp.Ledger.create("sqlite:///ledger.db")
    >>> ledger.datasets(), ledger.history("clinic-2026").entries
    ((), ())
    >>> total = dp.PrivacyTarget(epsilon=1, delta=0.001)
    >>> look = ledger.look(ledger.history("clinic-2026"), total, "mean age")  # before the private table is opened
    >>> entry = ledger.append(ledger.history("clinic-2026"), total, "mean age", {"values": {"age": 40.1}})
    >>> ledger.datasets(), ledger.history("Clinic-2026").entries == (entry,)
    (('clinic-2026',), True)

    Beside the database of SQLite stand a file with the ledger's key and one with the newest entry that was seen, by
    which a database that was put back, emptied or exchanged is told; all three belong together.

    >>> import os
    >>> sorted(os.listdir())
    ['ledger.db', 'ledger.db.head', 'ledger.db.key']
    """

    url: str = field(repr=lambda url: repr(shown_url(url)))
    """Where the database is."""
    _engine: sql.Engine = field(repr=False, eq=False)
    _beside: Beside | None = field(repr=False, eq=False)

    @classmethod
    def create(cls, url: str, *, exist_ok: bool = False) -> Self:
        """Make a ledger where there is none.

        Args:
            url: where, such as ``sqlite:///ledger.db``.
            exist_ok: whether to open one that is there already.

        Raises:
            InvalidInput: this is no URL of a database, or of one that forgets, or there is a ledger already.
            LedgerUnavailable: it cannot be made, or there are traces of one that was used.

        >>> import distpriv as dp
        >>> ledger = dp.Ledger.create("sqlite:///ledger.db")
        >>> dp.Ledger.create("sqlite:///ledger.db")
        Traceback (most recent call last):
        distpriv.errors.InvalidInput: there is a ledger sqlite:///ledger.db already: open it with
        distpriv.Ledger.open(…), or give another name.
        """
        ledger = cls._at(url)
        key = secrets.token_bytes(32) if ledger._beside else key_of_server()
        with ledger._named("be made"):
            if ledger._beside is not None:
                if ledger._beside.is_empty:
                    ledger._refuse_traces()
                ledger._beside.touch()
        with ledger._transaction("be made", writes=True) as connection:
            if version_of(connection) is not None:
                if exist_ok:
                    return ledger
                raise InvalidInput(
                    f"there is a ledger {ledger._shown} already: open it with distpriv.Ledger.open(…), or give another "
                    "name."
                )
            ledger._refuse_traces()
            ledger._begin(connection, secrets.token_hex(16), key)
        return ledger

    @classmethod
    def open(cls, url: str) -> Self:
        """Open a ledger by the URL of its database, such as ``sqlite:///ledger.db``.

        Raises:
            InvalidInput: this is no URL of a database, or of one that forgets everything at its end.
            LedgerUnavailable: there is no ledger, or it cannot be read.

        >>> import distpriv as dp
        >>> dp.Ledger.open("ledger.db")
        Traceback (most recent call last):
        distpriv.errors.InvalidInput: 'ledger.db' is no URL of a database: write 'sqlite:///ledger.db', or the URL of a
        server.
        >>> dp.Ledger.open("sqlite:///ledger.db")
        Traceback (most recent call last):
        distpriv.errors.LedgerUnavailable: there is no ledger sqlite:///ledger.db, so nothing is released: make it once,
        on purpose, with `distpriv ledger POLICY --create` or distpriv.Ledger.create(…).
        """
        ledger = cls._at(url)
        with ledger._transaction("be read", writes=False) as connection:
            ledger._require(version_of(connection))
        return ledger

    @classmethod
    def exists(cls, url: str) -> bool:
        """Tell whether there is a ledger, or traces of one that was used.

        >>> import distpriv as dp
        >>> dp.Ledger.exists("sqlite:///ledger.db")
        False
        """
        ledger = cls._at(url)
        with ledger._named("be read"):
            if ledger._beside is not None and not os.path.exists(ledger._beside.file):
                return ledger._beside.traces() is not None
        with ledger._transaction("be read", writes=False) as connection:
            found = version_of(connection) is not None
            return found or (ledger._beside is not None and ledger._beside.traces() is not None)

    def history(self, dataset: str) -> History:
        """Return all releases of a dataset, having checked every entry of the ledger.

        Raises:
            InvalidInput: this cannot be the id of a dataset.
            LedgerUnavailable: the ledger cannot be read, or is not as it was written.
        """
        name = dataset_id(dataset)
        return self._read().chain.history(name)

    def datasets(self) -> tuple[str, ...]:
        """Return the ids of all datasets."""
        return self._read().chain.datasets

    def histories(self) -> tuple[History, ...]:
        """Return the histories of all datasets; of a ledger of version 1 too, by the ids that it has.

        >>> import distpriv as dp
        >>> ledger = dp.Ledger.create("sqlite:///ledger.db")
        >>> entry = ledger.look(ledger.history("ward"), dp.PrivacyTarget(epsilon=1, delta=0.001), "mean age")
        >>> [(history.dataset, history.looks) for history in ledger.histories()]
        [('ward', 1)]
        """
        with self._transaction("be read", writes=False) as connection:
            old = version_1.read_version_1(connection) if self._version(connection) == 1 else None
        if old is not None:
            return version_1.histories(old)
        chain = self._read().chain
        return tuple(map(chain.history, chain.datasets))

    @property
    def version(self) -> int:
        """The version of its tables; one that is not 2 must be migrated before anything can be released.

        >>> import distpriv as dp
        >>> dp.Ledger.create("sqlite:///ledger.db").version
        2
        """
        with self._transaction("be read", writes=False) as connection:
            return self._version(connection)

    @property
    def id(self) -> str:
        """The random name that it was given when it was made.

        >>> import distpriv as dp
        >>> ledger = dp.Ledger.create("sqlite:///ledger.db")
        >>> len(ledger.id), ledger.history("ward").ledger == ledger.id
        (32, True)
        """
        return self._read().chain.ledger

    @property
    def head(self) -> str | None:
        """The digest of the newest entry; none before the first one.

        >>> import distpriv as dp
        >>> ledger = dp.Ledger.create("sqlite:///ledger.db")
        >>> print(ledger.head)
        None
        >>> entry = ledger.look(ledger.history("ward"), dp.PrivacyTarget(epsilon=1, delta=0.001), "mean age")
        >>> ledger.head == entry.digest
        True
        """
        chain = self._read().chain
        return chain.head if chain.entries else None

    @property
    def key(self) -> bytes:
        """32 random bytes that nobody who sees a release may see; beside an SQLite ledger, else in the environment.

        >>> import distpriv as dp
        >>> len(dp.Ledger.create("sqlite:///ledger.db").key)
        32
        """
        found = self._read()
        if self._beside is None:
            key = key_of_server()
            if hashlib.sha256(key).hexdigest() != found.key_digest:
                raise LedgerUnavailable(
                    f"{KEY_VARIABLE} is not the key that the ledger {self._shown} was made with: set it to that one."
                )
            return key
        with self._named("be read"):
            file = self._beside.key()
        assert file is not None  # without it nothing would have been read
        return file.key

    def look(self, history: History, total: PrivacyTarget, query_key: str) -> Entry:
        """Write down that the private table will be looked at, whatever comes of it; only then may it be opened.

        Args:
            history: the dataset's, as `history` returned it.
            total: what all its releases may cost together; it is held to it from the first look on.
            query_key: what makes two queries the same.

        Raises:
            BudgetSpent: the total is another than that of the first look.
            LedgerUnavailable: nothing may be looked at.
        """
        return self._write(history, total, "look", query_key, {}, lambda _: None)

    def declare(self, history: History, total: PrivacyTarget, content: Mapping[str, Any]) -> Entry:
        """Write down all questions of a dataset, before the first of them is answered.

        Raises:
            InvalidInput: the dataset has a release or a declaration already.
            LedgerChanged: it was given one since the history was read.

        >>> import distpriv as dp
        >>> ledger, total = dp.Ledger.create("sqlite:///ledger.db"), dp.PrivacyTarget(epsilon=1, delta=0.001)
        >>> entry = ledger.declare(ledger.history("ward"), total, {"questions": ["mean(age)", "mean(hours)"]})
        >>> ledger.history("ward").declaration == entry
        True
        """
        if history.entries or history.declaration:
            has = "a release" if history.entries else "a declaration"
            raise InvalidInput(
                f"dataset {history.dataset!r} has {has} already: questions are declared once, before the first answer, "
                "so ask what was declared, or give other data another id."
            )
        return self._write(history, total, "declaration", None, content, lambda now: _same(history, now))

    def append(self, history: History, total: PrivacyTarget, query_key: str, content: Mapping[str, Any]) -> Entry:
        """Write the next release of a dataset and sync it to the disk; only then may its answer be shown.

        Args:
            history: what has been released of the dataset, as `history` returned it.
            total: what all its releases may cost together.
            query_key: what makes two queries the same.
            content: the release, as plain numbers, lists and text.

        Raises:
            BudgetSpent: the total is another than that of the first release.
            LedgerChanged: another release of the dataset, or a declaration, was written since the history was read.
            LedgerUnavailable: nothing was written, or what was written is not what can be read.
        """

        def check(now: History) -> None:
            _same(history, now)
            if now.answer_to(query_key) is not None:
                raise LedgerChanged(f"dataset {now.dataset!r} has an answer to this query already: ask again.")

        return self._write(history, total, "release", query_key, content, check)

    def migrate(self, renamed: Mapping[str, str] | None = None) -> None:
        """Bring a ledger of version 1 to the present one, in one transaction.

        Releases keep their content, position, time and key; ids get the one spelling that `dataset_id` gives them.

        Args:
            renamed: other ids for datasets, by their old ones: where two ids become one, or one has no such spelling.

        Raises:
            InvalidInput: it is of the present version, or an id needs another name.
            LedgerUnavailable: something in it cannot be read; it is left as it is.

        >>> import distpriv as dp
        >>> dp.Ledger.create("sqlite:///ledger.db").migrate()
        Traceback (most recent call last):
        distpriv.errors.InvalidInput: the ledger sqlite:///ledger.db is of version 2: there is nothing to migrate.
        """
        key = secrets.token_bytes(32) if self._beside else key_of_server()
        with self._transaction("be migrated", writes=True) as connection:
            if self._version(connection) != 1:
                raise InvalidInput(f"the ledger {self._shown} is of version {VERSION}: there is nothing to migrate.")
            old, name = version_1.read_version_1(connection), secrets.token_hex(16)
            unknown = sorted(set(renamed or {}) - {dataset.id for dataset in old})
            if unknown:
                raise InvalidInput(f"there is no dataset {unknown[0]!r} in the ledger to rename: check its id.")
            chain = version_1.migrated(old, name, _now(), renamed or {})
            drop_version_1(connection)
            self._begin(connection, name, key, chain)
        if chain.entries:
            self._kept(chain.entries)

    @classmethod
    def _at(cls, url: str) -> Self:
        parsed = checked_url(url)
        file = sqlite_file(parsed)
        return cls(url, ledger_engine(parsed), None if file is None else Beside(file))

    @property
    def _shown(self) -> str:
        return shown_url(self.url)

    def _read(self) -> Present:
        """Return everything, and see to it that the newest entry is remembered before anything is shown."""
        seen = self._seen()  # first: an entry that comes later may be there and not be seen, never the other way round
        try:
            with self._transaction("be read", writes=False) as connection:
                found = self._checked(connection, seen)
        except LedgerUnavailable:
            if self._seen() == seen:
                raise
            return self._read()  # it was made or migrated in between
        if self._beside and seen and seen.number < len(found.chain.entries):
            # Whoever wrote the newest entry has not come so far. Where nothing may be written, nothing can be lost.
            with suppress(LedgerUnavailable):
                self._kept(found.chain.entries[-1:])
        return found

    def _seen(self) -> Seen | None:
        with self._named("be read"):
            return self._beside.seen() if self._beside else None

    def _checked(self, connection: sql.Connection, seen: Seen | None) -> Present:
        version = self._version(connection)
        if version == 1:
            raise LedgerUnavailable(
                f"the ledger {self._shown} is of version 1, so nothing is released: run `distpriv ledger POLICY "
                "--migrate` once."
            )
        if version != VERSION:
            raise LedgerUnavailable(
                f"the ledger {self._shown} is of version {version}, and this distpriv knows {VERSION}: install the "
                "one that wrote it."
            )
        found = present(connection)
        if self._beside is not None:
            self._check_beside(found, seen)
        return found

    def _check_beside(self, found: Present, seen: Seen | None) -> None:
        """Refuse a ledger that is not the one that was last seen here, or came without the files beside it."""
        assert self._beside is not None
        key, chain = self._beside.key(), found.chain
        for path, file in ((self._beside.key_path, key), (self._beside.head_path, seen)):
            if file is None:
                raise ChainBroken(f"{os.path.basename(path)!r} is not beside it, so it may be a copy")
            if file.ledger != chain.ledger:
                raise ChainBroken(f"{os.path.basename(path)!r} beside it belongs to another ledger")
        assert key is not None
        assert seen is not None
        if hashlib.sha256(key.key).hexdigest() != found.key_digest:
            raise ChainBroken(f"{os.path.basename(self._beside.key_path)!r} beside it has another key")
        if chain.digest_at(seen.number) != seen.head:
            raise ChainBroken(
                f"entry {seen.number} was seen in it and is not there among {len(chain.entries)}, so it was put back "
                "to an older one, or exchanged"
            )

    def _version(self, connection: sql.Connection) -> int:
        version = self._require(version_of(connection))
        if version == 1 and self._beside is not None and (traces := self._beside.traces()):
            raise ChainBroken(f"it is of version 1 and {traces}")
        return version

    def _require(self, version: int | None) -> int:
        if version is not None:
            return version
        self._refuse_traces()
        raise LedgerUnavailable(f"there is no ledger {self._shown}, so nothing is released: {_HOW_TO_MAKE}.")

    def _refuse_traces(self) -> None:
        if self._beside is not None and (traces := self._beside.traces()):
            raise ChainBroken(f"it is empty or gone, and {traces}")

    def _begin(self, connection: sql.Connection, name: str, key: bytes, chain: Chain | None = None) -> None:
        """Make tables and files; files first, since those that have seen nothing are no trace of a ledger."""
        if self._beside is not None:
            self._beside.begin(name, key)
        begin(connection, name, key, chain)

    def _write(
        self,
        history: History,
        total: PrivacyTarget,
        kind: Kind,
        query_key: str | None,
        content: Mapping[str, Any],
        check: Callable[[History], None],
    ) -> Entry:
        """Write an entry behind all others, after that of its dataset where there is none, and read it back."""
        history.check_total(total)
        plain = content_of(canonical(content))
        if query_key is not None and not isinstance(query_key, str):
            raise InvalidInput(f"a query is known by a text, got {query_key!r}: give the key of the query.")
        name, now = dataset_id(history.dataset), _now()
        tried = -1
        for _ in range(MOST_TRIES):
            try:
                with self._transaction("be written", writes=True) as connection:
                    chain = self._checked(connection, self._seen()).chain
                    if tried == len(chain.entries):
                        raise ChainBroken(f"it takes no entry {tried + 1}, perhaps because of a trigger")
                    found = _of_the_same(history, chain, name)
                    found.check_total(total)
                    check(found)
                    facts: list[dict[str, Any]] = []
                    if found.total is None:
                        held = {"epsilon": total.epsilon, "delta": total.delta}
                        facts.append({"kind": "dataset", "content": held})
                    position = found.next_position if kind == "release" else None
                    facts.append({"kind": kind, "content": plain, "query_key": query_key, "position": position})
                    entries: list[Entry] = []
                    for number, fact in enumerate(facts, len(chain.entries) + 1):
                        previous = entries[-1].digest if entries else chain.head
                        entries.append(linked(previous, number, dataset=name, time=now, **fact))
                    tried = len(chain.entries)
                    try:
                        extend(connection, chain, entries)
                    except IntegrityError:
                        raise _NumberTaken from None
            except _NumberTaken:
                continue
            return self._kept(entries)
        raise LedgerUnavailable(
            f"the ledger {self._shown} cannot be written, since its numbers keep being taken: nothing was released; "
            "ask again when others are done, or see whether something else writes into it."
        )

    def _kept(self, entries: "tuple[Entry, ...] | list[Entry]") -> Entry:
        """Read entries back from the database itself, remember the newest one beside it, and return the last of them.

        Nobody else writes meanwhile, so what is remembered never goes back.
        """
        with self._transaction("be read back", writes=self._beside is not None) as connection:
            chain = self._checked(connection, self._seen()).chain
            require_kept(chain, entries)
            if self._beside is not None:
                self._beside.record(chain)
        return chain.entries[entries[-1].number - 1]

    @contextmanager
    def _transaction(self, purpose: str, *, writes: bool) -> Iterator[sql.Connection]:
        with self._named(purpose):
            if self._beside is not None and not os.path.exists(self._beside.file):
                self._require(None)
            with self._engine.connect().execution_options(writes=writes) as connection, connection.begin():
                yield connection

    @contextmanager
    def _named(self, purpose: str) -> Iterator[None]:
        """Say of everything that goes wrong inside which ledger it is, in one sentence and without its password."""
        try:
            yield
        except ChainBroken as broken:
            raise LedgerUnavailable(
                f"the ledger {self._shown} is not as it was written, as {broken}: {_RESTORE}."
            ) from None
        except (SQLAlchemyError, OSError, UnicodeError) as failure:
            cause = getattr(failure, "strerror", None) or str(getattr(failure, "orig", None) or failure)
            cause = scrubbed(cause, self._engine.url)
            raise LedgerUnavailable(
                f"the ledger {self._shown} cannot {purpose} ({cause}): nothing was released; see that its folder "
                "exists, may be written to and has room."
            ) from None


def _of_the_same(history: History, chain: Chain, name: str) -> History:
    """Return the history as it is now, of the same ledger as it was read from."""
    if history.ledger not in {None, chain.ledger}:
        raise InvalidInput("the history is that of another ledger: read it from the one that is written to.")
    if history.head is not None and all(entry.digest != history.head for entry in chain.entries):
        raise ChainBroken("an entry that was there when the history was read is not there now")
    return chain.history(name)


def _same(history: History, now: History) -> None:
    """Refuse to go on from a history that has changed; looks of others do not matter."""
    was, found = ([entry.digest for entry in (*one.entries, *_declared(one))] for one in (history, now))
    if was != found:
        what = "release" if len(history.entries) != len(now.entries) else "declaration"
        raise LedgerChanged(f"another {what} of dataset {now.dataset!r} was written meanwhile: ask again.")


def _declared(history: History) -> list[Entry]:
    return [] if history.declaration is None else [history.declaration]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
