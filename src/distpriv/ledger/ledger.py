"""The ledger: every access to a private table and every release, written and read back before anything is shown.

An entry holds the answer and what was spent on it in one row, so a crash can lose neither without the other. Entries
are numbered without gaps, each names the digest of the one before, and writers take turns: of two processes that
planned on the same history of a dataset one is told that the history has changed. A ledger is made on purpose, never
because there is none: otherwise a lost one would be a new budget.
"""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Self

from attrs import field, frozen

from distpriv.errors import InvalidInput, LedgerChanged
from distpriv.framework.target import PrivacyTarget
from distpriv.ledger.beside import key_of_server
from distpriv.ledger.chain import Chain, ChainBroken, Continues, Entry, History, Kind, canonical, dataset_id
from distpriv.ledger.store import Store, patiently

__all__ = ["Ledger"]


@frozen
class Ledger:
    """A database of accesses and releases; made once by `Ledger.create`, and opened by `Ledger.open`.

    >>> import distpriv as dp
    >>> ledger = dp.Ledger.create("sqlite:///ledger.db")
    >>> ledger.url, ledger.datasets(), ledger.history("clinic-2026").entries
    ('sqlite:///ledger.db', (), ())
    >>> total = dp.PrivacyTarget(epsilon=1, delta=0.001)
    >>> look = ledger.look(ledger.history("clinic-2026"), total, "mean age")  # before the private table is opened
    >>> entry = ledger.append(ledger.history("clinic-2026"), total, "mean age", {"values": {"age": 40.1}})
    >>> ledger.datasets(), ledger.history("Clinic-2026").entries == (entry,)
    (('clinic-2026',), True)

    Beside the database of SQLite are a file with the ledger's key and one with the newest entry that was seen, which
    reveals a database that was rolled back, emptied or exchanged; all three belong together.

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
            InvalidInput: this is not the URL of a ledger, or there is a ledger already.
            LedgerUnavailable: it cannot be made, or there are traces of one that was used.

        >>> import distpriv as dp
        >>> ledger = dp.Ledger.create("sqlite:///ledger.db")
        >>> dp.Ledger.create("sqlite:///ledger.db")
        Traceback (most recent call last):
        distpriv.errors.InvalidInput: there is a ledger sqlite:///ledger.db already: open it with
        distpriv.Ledger.open(…), or give another name.
        """
        store = Store.at(url)
        made = store.create(secrets.token_hex(16), secrets.token_bytes(32) if store.beside else key_of_server())
        if not made and not exist_ok:
            raise InvalidInput(
                f"there is a ledger {store.shown} already: open it with distpriv.Ledger.open(…), or give another name."
            )
        return cls(store)

    @classmethod
    def open(cls, url: str) -> Self:
        """Open a ledger by the URL of its database, such as ``sqlite:///ledger.db``.

        Raises:
            InvalidInput: this is not the URL of a ledger.
            LedgerUnavailable: there is no ledger, or it cannot be read.

        >>> import distpriv as dp
        >>> dp.Ledger.open("ledger.db")
        Traceback (most recent call last):
        distpriv.errors.InvalidInput: 'ledger.db' is not the URL of a ledger: write 'sqlite:///ledger.db', or the URL
        of a PostgreSQL database.
        >>> dp.Ledger.open("sqlite:///ledger.db")
        Traceback (most recent call last):
        distpriv.errors.LedgerUnavailable: there is no ledger sqlite:///ledger.db, so nothing is released: make it once,
        on purpose, with `distpriv ledger POLICY --create` or distpriv.Ledger.create(…).
        """
        store = Store.at(url)
        store.read()
        return cls(store)

    @classmethod
    def exists(cls, url: str) -> bool:
        """Tell whether there is a ledger, or traces of one that was used.

        >>> import distpriv as dp
        >>> dp.Ledger.exists("sqlite:///ledger.db")
        False
        """
        return Store.at(url).exists()

    @contextmanager
    def connected(self) -> Iterator[Self]:
        """Use one connection for everything inside.

        >>> import distpriv as dp
        >>> with dp.Ledger.create("sqlite:///ledger.db").connected() as ledger:
        ...     look = ledger.look(ledger.history("ward"), dp.PrivacyTarget(epsilon=1, delta=0.001), "mean age")
        """
        with self._store.connected():
            yield self

    def history(self, dataset: str, continues: Continues = None) -> History:
        """Return all releases of a dataset, having checked every entry of the ledger.

        Args:
            dataset: its id.
            continues: the id of the same data under which releases were made before: both share one budget. False
                says that the dataset is to have a budget of its own.

        Raises:
            InvalidInput: this cannot be the id of a dataset, or it cannot continue the other one.
            LedgerUnavailable: the ledger cannot be read, or is not as it was written.
        """
        name = dataset_id(dataset)
        return self._chain().history(name, dataset_id(continues) if continues else continues)

    def datasets(self) -> tuple[str, ...]:
        """Return the ids of all datasets."""
        return tuple(sorted(self._chain().roots))

    def histories(self) -> tuple[History, ...]:
        """Return the histories of all datasets.

        >>> import distpriv as dp
        >>> ledger = dp.Ledger.create("sqlite:///ledger.db")
        >>> entry = ledger.look(ledger.history("ward"), dp.PrivacyTarget(epsilon=1, delta=0.001), "mean age")
        >>> [(history.dataset, history.looks) for history in ledger.histories()]
        [('ward', 1)]
        """
        chain = self._chain()
        return tuple(map(chain.history, sorted(chain.roots)))

    @property
    def id(self) -> str:
        """The random name that it was given when it was made.

        >>> import distpriv as dp
        >>> ledger = dp.Ledger.create("sqlite:///ledger.db")
        >>> len(ledger.id), ledger.history("ward").ledger == ledger.id
        (32, True)
        """
        return self._chain().ledger

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
        chain = self._chain()
        return chain.head if chain.entries else None

    @property
    def key(self) -> bytes:
        """32 random bytes that nobody who sees a release may see; beside an SQLite ledger, else in the environment.

        >>> import distpriv as dp
        >>> len(dp.Ledger.create("sqlite:///ledger.db").key)
        32
        """
        self._chain()
        return self._store.key()

    def look(self, history: History, total: PrivacyTarget, query_key: str) -> Entry:
        """Record that the private table will be accessed, whatever comes of it; only then may it be opened.

        Args:
            history: the dataset's, as `history` returned it.
            total: what all its releases may cost together; it is held to it from the first access on.
            query_key: what makes two queries the same.

        Raises:
            BudgetSpent: the total is another than that of the first access.
            LedgerUnavailable: the table may not be accessed.
        """
        return self._write(history, total, "look", query_key, {}, lambda _: None)

    def declare(self, history: History, total: PrivacyTarget, content: Mapping[str, Any]) -> Entry:
        """Write down all queries of a dataset, before the first of them is answered.

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

    def _chain(self) -> Chain:
        return patiently(self._store.read)

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
        plain = json.loads(canonical(content))
        if query_key is not None and not isinstance(query_key, str):
            raise InvalidInput(f"a query is known by a text, got {query_key!r}: give the key of the query.")
        name, now = dataset_id(history.dataset), datetime.now(UTC).isoformat(timespec="seconds")
        fact = {"dataset": name, "time": now, "kind": kind, "query_key": query_key, "content": plain}
        written: list[Entry] = []

        def write() -> None:
            with self._store.transaction("be written", writes=True) as connection:
                chain = self._store.checked(connection, self._store.seen())
                if kind != "look" and chain.holds(written):
                    return  # a server had committed them when the connection was lost; an access may be there twice
                found = _of_the_same(history, chain, name)
                found.check_total(total)
                check(found)
                written[:] = chain.following(_facts(chain, found, total, fact))
                self._store.extend(connection, chain, written)

        patiently(write)
        return patiently(lambda: self._store.kept(written))


def _facts(chain: Chain, history: History, total: PrivacyTarget, fact: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what is to be written: the total of a dataset that has none, and the fact, a release with its position."""
    if history.dataset not in chain.roots or history.continues != chain.history(history.dataset).continues:
        held: dict[str, Any] = {"epsilon": total.epsilon, "delta": total.delta}
        held |= {} if history.continues is None else {"continues": history.continues}
        yield {**fact, "kind": "dataset", "query_key": None, "content": held}
    yield {**fact, "position": history.next_position if fact["kind"] == "release" else None}


def _of_the_same(history: History, chain: Chain, name: str) -> History:
    """Return the history as it is now, of the same ledger as it was read from."""
    if history.ledger not in {None, chain.ledger}:
        raise InvalidInput("the history is that of another ledger: read it from the one that is written to.")
    if history.head is not None and all(entry.digest != history.head for entry in chain.entries):
        raise ChainBroken("an entry that was there when the history was read is not there now")
    return chain.history(name, history.continues)


def _same(history: History, now: History) -> None:
    """Refuse to go on from a history that has changed; accesses by others do not matter."""
    was, found = ([entry.digest for entry in (*one.entries, *_declared(one))] for one in (history, now))
    if was != found:
        what = "release" if len(history.entries) != len(now.entries) else "declaration"
        raise LedgerChanged(f"another {what} of dataset {now.dataset!r} was written meanwhile: ask again.")


def _declared(history: History) -> list[Entry]:
    return [] if history.declaration is None else [history.declaration]
