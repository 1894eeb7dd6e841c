"""The ledger: every release of a dataset, written and synced before its answer is shown.

An entry holds the answer and what was spent on it in one row, so a crash can lose neither without the other. Entries
of a dataset are numbered without gaps, and a number can be taken once: of two processes that planned on the same
history one is told that the history has changed.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Self

import sqlalchemy as sql
from attrs import field, frozen
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import CreateTable

from distpriv.errors import BudgetSpent, InvalidInput, LedgerChanged, LedgerUnavailable
from distpriv.framework.target import PrivacyTarget

__all__ = ["Entry", "History", "Ledger"]

BUSY_SECONDS = 60
"""How long to wait for another process that is writing."""

_TABLES = sql.MetaData()
_DATASETS = sql.Table(
    "datasets",
    _TABLES,
    sql.Column("id", sql.Text, primary_key=True),
    sql.Column("total", sql.Text, nullable=False),
)
_RELEASES = sql.Table(
    "releases",
    _TABLES,
    sql.Column("dataset", sql.Text, sql.ForeignKey("datasets.id"), primary_key=True),
    sql.Column("position", sql.Integer, primary_key=True),
    sql.Column("query_key", sql.Text, nullable=False),
    sql.Column("time", sql.Text, nullable=False),
    sql.Column("content", sql.Text, nullable=False),
    sql.UniqueConstraint("dataset", "query_key"),
)


@frozen(kw_only=True)
class Entry:
    """One release, as it was written down.

    >>> import distpriv as dp
    >>> ledger, total = dp.Ledger.open("sqlite:///ledger.db"), dp.PrivacyTarget(epsilon=1, delta=0.001)
    >>> entry = ledger.append(ledger.history("clinic-2026"), total, "mean age", {"values": {"age": 40.1}})
    >>> entry.dataset, entry.position, entry.content["values"]
    ('clinic-2026', 1, {'age': 40.1})
    """

    dataset: str
    """What the ledger calls the dataset."""
    position: int
    """1 for the first release of the dataset, and so on without gaps."""
    query_key: str
    """What makes two queries the same, whatever their statistics are called."""
    time: str
    """When it was written down, in UTC."""
    content: Mapping[str, Any]
    """Statistics, values, noise and certificates, as plain numbers, lists and text."""


@frozen(kw_only=True)
class History:
    """All releases of one dataset so far, and what they may cost together.

    >>> import distpriv as dp
    >>> ledger, total = dp.Ledger.open("sqlite:///ledger.db"), dp.PrivacyTarget(epsilon=1, delta=0.001)
    >>> entry = ledger.append(ledger.history("clinic-2026"), total, "mean age", {"values": {"age": 40.1}})
    >>> history = ledger.history("clinic-2026")
    >>> history.total, len(history.entries), history.next_position
    (PrivacyTarget(epsilon=1.0, delta=0.001), 1, 2)
    >>> history.answer_to("mean age") == entry, history.answer_to("mean hours")
    (True, None)
    """

    dataset: str
    """What the ledger calls the dataset."""
    total: PrivacyTarget | None
    """None before the first release."""
    entries: tuple[Entry, ...]
    """The releases, the first one first."""

    @property
    def next_position(self) -> int:
        """The number of the next release."""
        return len(self.entries) + 1

    def answer_to(self, query_key: str) -> Entry | None:
        """Return the release of the same query, if there was one: it is shown again, not drawn anew."""
        return next((entry for entry in self.entries if entry.query_key == query_key), None)

    def check_total(self, total: PrivacyTarget) -> None:
        """Refuse a total that differs from the one the first release was made under.

        Raises:
            BudgetSpent: it differs.

        >>> import distpriv as dp
        >>> from distpriv.releasing.ledger import History
        >>> history = History(dataset="clinic-2026", total=dp.PrivacyTarget(epsilon=1, delta=0.001), entries=())
        >>> history.check_total(dp.PrivacyTarget(epsilon=2, delta=0.001))
        Traceback (most recent call last):
        distpriv.errors.BudgetSpent: the ledger holds dataset 'clinic-2026' to epsilon = 1 and delta = 0.001 in total
        since its first release: give these, or another id for other data.
        """
        if self.total is not None and self.total != total:
            raise BudgetSpent(
                f"the ledger holds dataset {self.dataset!r} to epsilon = {self.total.epsilon:g} and delta = "
                f"{self.total.delta:g} in total since its first release: give these, or another id for other data."
            )


@frozen
class Ledger:
    """A database of releases; `Ledger.open` makes it if there is none.

    >>> import distpriv as dp
    >>> ledger = dp.Ledger.open("sqlite:///ledger.db")
    >>> ledger.datasets(), ledger.history("clinic-2026").entries
    ((), ())
    >>> total = dp.PrivacyTarget(epsilon=1, delta=0.001)
    >>> entry = ledger.append(ledger.history("clinic-2026"), total, "mean age", {"values": {"age": 40.1}})
    >>> ledger.datasets(), ledger.history("clinic-2026").entries == (entry,)
    (('clinic-2026',), True)
    """

    url: str
    """Where the database is."""
    _engine: sql.Engine = field(repr=False, eq=False)

    @classmethod
    def open(cls, url: str) -> Self:
        """Open a ledger by the URL of its database, such as ``sqlite:///ledger.db``.

        Nothing is written before the first release.

        Raises:
            InvalidInput: this is no URL of a database.

        >>> import distpriv as dp
        >>> dp.Ledger.open("ledger.db")
        Traceback (most recent call last):
        distpriv.errors.InvalidInput: 'ledger.db' is no URL of a database: write 'sqlite:///ledger.db'.
        """
        if not isinstance(url, str):
            raise InvalidInput(
                f"a ledger is named by the URL of its database, got {url!r}: write 'sqlite:///ledger.db'."
            )
        try:
            sqlite = sql.make_url(url).get_backend_name() == "sqlite"
            engine = sql.create_engine(url, poolclass=NullPool)
        except (ArgumentError, NoSuchModuleError, ImportError, ValueError) as failure:
            raise InvalidInput(f"{url!r} is no URL of a database: write 'sqlite:///ledger.db'.") from failure
        if sqlite:
            sql.event.listen(engine, "connect", _set_up_sqlite)
            sql.event.listen(engine, "begin", _begin_sqlite)
        return cls(url, engine)

    def history(self, dataset: str) -> History:
        """Return all releases of a dataset; none where there is no ledger yet.

        Raises:
            LedgerUnavailable: the ledger cannot be read.
        """
        with self._transaction("be read", writes=False) as connection:
            if not sql.inspect(connection).has_table(_RELEASES.name):
                return History(dataset=dataset, total=None, entries=())
            total = connection.execute(sql.select(_DATASETS.c.total).where(_DATASETS.c.id == dataset)).scalar()
            rows = connection.execute(
                sql.select(_RELEASES).where(_RELEASES.c.dataset == dataset).order_by(_RELEASES.c.position)
            ).mappings()
            entries = tuple(Entry(**{**row, "content": json.loads(row["content"])}) for row in rows)
        return History(dataset=dataset, total=None if total is None else _target(total), entries=entries)

    def datasets(self) -> tuple[str, ...]:
        """Return the ids of all datasets that have a release."""
        with self._transaction("be read", writes=False) as connection:
            if not sql.inspect(connection).has_table(_DATASETS.name):
                return ()
            return tuple(connection.execute(sql.select(_DATASETS.c.id).order_by(_DATASETS.c.id)).scalars())

    def append(self, history: History, total: PrivacyTarget, query_key: str, content: Mapping[str, Any]) -> Entry:
        """Write the next release of a dataset and sync it to the disk; only then may its answer be shown.

        Args:
            history: what has been released of the dataset, as `history` returned it.
            total: what all its releases may cost together.
            query_key: what makes two queries the same.
            content: the release, as plain numbers, lists and text.

        Raises:
            BudgetSpent: the total is another than that of the first release.
            LedgerChanged: another release of the dataset was written since the history was read.
            LedgerUnavailable: nothing was written.
        """
        history.check_total(total)
        entry = Entry(
            dataset=history.dataset,
            position=history.next_position,
            query_key=query_key,
            time=datetime.now(UTC).isoformat(timespec="seconds"),
            content=content,
        )
        text = json.dumps(content, sort_keys=True, allow_nan=False, ensure_ascii=False)
        with self._transaction("be written", writes=True) as connection:
            for table in _TABLES.sorted_tables:
                connection.execute(CreateTable(table, if_not_exists=True))
            try:
                if history.total is None:
                    connection.execute(sql.insert(_DATASETS).values(id=entry.dataset, total=_text(total)))
                written = {"dataset": entry.dataset, "position": entry.position, "query_key": entry.query_key}
                connection.execute(sql.insert(_RELEASES).values(**written, time=entry.time, content=text))
            except IntegrityError as failure:
                raise LedgerChanged(
                    f"another release of dataset {entry.dataset!r} was written meanwhile: ask again."
                ) from failure
        return entry

    @contextmanager
    def _transaction(self, purpose: str, *, writes: bool) -> Iterator[sql.Connection]:
        try:
            with self._engine.connect().execution_options(writes=writes) as connection, connection.begin():
                yield connection
        except (SQLAlchemyError, UnicodeError, json.JSONDecodeError) as failure:
            cause = str(getattr(failure, "orig", None) or failure).splitlines()[0]
            raise LedgerUnavailable(
                f"the ledger {sql.make_url(self.url).render_as_string(hide_password=True)} cannot {purpose} ({cause}): "
                "nothing was released; see that its folder exists, may be written to and has room."
            ) from failure


def _set_up_sqlite(connection: Any, _: object) -> None:
    """Leave transactions to `_begin_sqlite`, and sync to the disk before a commit returns."""
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
    cursor.execute("PRAGMA synchronous = EXTRA")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin_sqlite(connection: sql.Connection) -> None:
    """Take the lock at once where something will be written, so that no one else reads what is about to change."""
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _text(total: PrivacyTarget) -> str:
    return json.dumps({"epsilon": total.epsilon, "delta": total.delta})


def _target(text: str) -> PrivacyTarget:
    return PrivacyTarget(**json.loads(text))
