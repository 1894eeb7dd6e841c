"""The ledger: every look at a private table and every release, written, synced and read back before anything is shown.

An entry holds the answer and what was spent on it in one row, so a crash can lose neither without the other. Entries
are numbered without gaps, each names the digest of the one before, and a number can be taken once: of two processes
that planned on the same history of a dataset one is told that the history has changed. A ledger is made on purpose,
never because there is none: otherwise one that was lost would be a budget that is new.
"""

import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Self

from attrs import field, frozen

from distpriv.errors import InvalidInput, LedgerChanged, LedgerUnavailable
from distpriv.framework.target import PrivacyTarget
from distpriv.releasing.ledger.chain import Chain, ChainBroken, Entry, History, Kind, canonical, content_of, dataset_id
from distpriv.releasing.ledger.patience import Interrupted, Patience
from distpriv.releasing.ledger.sql_tables import NumberTaken, extend, version_of
from distpriv.releasing.ledger.store import Store

__all__ = ["Ledger"]

MOST_TRIES = 1000
"""How often an entry is written again because another one has taken its number."""


@frozen
class Ledger:
    """A database of looks and releases; made once by `Ledger.create`, and opened by `Ledger.open`.

    >>> import distpriv as dp
    >>> ledger = dp.Ledger.create("sqlite:///ledger.db")
    >>> ledger.url, ledger.datasets(), ledger.history("clinic-2026").entries
    ('sqlite:///ledger.db', (), ())
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

    _store: Store = field(repr=False, eq=lambda store: store.url)

    @property
    def url(self) -> str:
        """Where the database is."""
        return self._store.url

    def __repr__(self) -> str:
        return f"Ledger(url={self._store.shown!r})"

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
        store = Store.at(url)
        key = store.new_key()
        with store.named("be made"):
            if store.beside is not None:
                if store.beside.is_empty:
                    store.refuse_traces()
                store.beside.touch()
        with store.transaction("be made", writes=True) as connection:
            if version_of(connection) is not None:
                if exist_ok:
                    return cls(store)
                raise InvalidInput(
                    f"there is a ledger {store.shown} already: open it with distpriv.Ledger.open(…), or give another "
                    "name."
                )
            store.refuse_traces()
            store.begin(connection, secrets.token_hex(16), key)
        return cls(store)

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
        store = Store.at(url)
        with store.transaction("be read", writes=False) as connection:
            store.require(version_of(connection))
        return cls(store)

    @classmethod
    def exists(cls, url: str) -> bool:
        """Tell whether there is a ledger, or traces of one that was used.

        >>> import distpriv as dp
        >>> dp.Ledger.exists("sqlite:///ledger.db")
        False
        """
        store = Store.at(url)
        with store.named("be read"):
            if store.beside is not None and not os.path.exists(store.beside.file):
                return store.beside.traces() is not None
        with store.transaction("be read", writes=False) as connection:
            found = version_of(connection) is not None
            return found or (store.beside is not None and store.beside.traces() is not None)

    def history(self, dataset: str) -> History:
        """Return all releases of a dataset, having checked every entry of the ledger.

        Raises:
            InvalidInput: this cannot be the id of a dataset.
            LedgerUnavailable: the ledger cannot be read, or is not as it was written.
        """
        name = dataset_id(dataset)
        return self._store.read().chain.history(name)

    def datasets(self) -> tuple[str, ...]:
        """Return the ids of all datasets."""
        return self._store.read().chain.datasets

    def histories(self) -> tuple[History, ...]:
        """Return the histories of all datasets.

        >>> import distpriv as dp
        >>> ledger = dp.Ledger.create("sqlite:///ledger.db")
        >>> entry = ledger.look(ledger.history("ward"), dp.PrivacyTarget(epsilon=1, delta=0.001), "mean age")
        >>> [(history.dataset, history.looks) for history in ledger.histories()]
        [('ward', 1)]
        """
        chain = self._store.read().chain
        return tuple(map(chain.history, chain.datasets))

    @property
    def id(self) -> str:
        """The random name that it was given when it was made.

        >>> import distpriv as dp
        >>> ledger = dp.Ledger.create("sqlite:///ledger.db")
        >>> len(ledger.id), ledger.history("ward").ledger == ledger.id
        (32, True)
        """
        return self._store.read().chain.ledger

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
        chain = self._store.read().chain
        return chain.head if chain.entries else None

    @property
    def key(self) -> bytes:
        """32 random bytes that nobody who sees a release may see; beside an SQLite ledger, else in the environment.

        >>> import distpriv as dp
        >>> len(dp.Ledger.create("sqlite:///ledger.db").key)
        32
        """
        return self._store.key()

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
        tried, patience = -1, Patience()
        entries: list[Entry] = []
        for _ in range(MOST_TRIES):
            try:
                with self._store.transaction("be written", writes=True) as connection:
                    chain = self._store.checked(connection, self._store.seen()).chain
                    if kind != "look" and chain.holds(entries):
                        break  # a server had committed them when the connection was lost; a look may be there twice
                    if tried == len(chain.entries):
                        raise ChainBroken(f"it takes no entry {tried + 1}, perhaps because of a trigger")
                    tried = len(chain.entries)
                    found = _of_the_same(history, chain, name)
                    found.check_total(total)
                    check(found)
                    fact = {"dataset": name, "time": now, "kind": kind, "query_key": query_key, "content": plain}
                    entries = chain.following(_facts(found, total, fact))
                    extend(connection, chain, entries)
                break
            except NumberTaken:
                continue
            except Interrupted as failure:
                tried = -1
                patience.wait(failure)
        else:
            raise LedgerUnavailable(
                f"the ledger {self._store.shown} cannot be written, since its numbers keep being taken: nothing was "
                "released; ask again when others are done, or see whether something else writes into it."
            )
        return self._store.kept(entries)


def _facts(history: History, total: PrivacyTarget, fact: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what is to be written: the total of a dataset that has none, and the fact, a release with its position."""
    if history.total is None:
        held = {"epsilon": total.epsilon, "delta": total.delta}
        yield {**fact, "kind": "dataset", "query_key": None, "content": held}
    yield {**fact, "position": history.next_position if fact["kind"] == "release" else None}


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
