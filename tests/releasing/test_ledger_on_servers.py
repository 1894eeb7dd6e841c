"""Ledgers in databases other than SQLite: no lock at the beginning, no file beside them, and the key elsewhere.

No server is there to test with, so it is SQLite under another name, as SQLAlchemy drives any other database.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

import distpriv as dp
from distpriv.errors import LedgerChanged, LedgerUnavailable
from distpriv.releasing.ledger import Ledger
from distpriv.releasing.ledger.files import KEY_VARIABLE

TOTAL = dp.PrivacyTarget(epsilon=2, delta=0.002)
KEY = "ab" * 32


class Server(SQLiteDialect_pysqlite):
    """A database that is not called SQLite."""

    name = "server"
    supports_statement_cache = True


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def ledger(file: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    monkeypatch.setattr(registry, "load", lambda name, load=registry.load: Server if name == "server" else load(name))
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with pytest.raises(LedgerUnavailable, match="there is no ledger"):
        Ledger.open(f"server:///{file}")
    return Ledger.create(f"server:///{file}")


def test_a_server_keeps_a_ledger_without_files_beside_it(ledger: Ledger, file: Path) -> None:
    ledger.look(ledger.history("a"), TOTAL, "key")
    entry = ledger.append(ledger.history("a"), TOTAL, "key", {"values": [1.5]})
    assert Ledger.open(ledger.url).history("a").entries == (entry,)
    assert [path.name for path in file.parent.iterdir()] == ["data"]


def test_the_key_of_a_server_is_in_the_environment_and_stays_the_same(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ledger.key == bytes.fromhex(KEY)
    monkeypatch.setenv(KEY_VARIABLE, "cd" * 32)
    with pytest.raises(LedgerUnavailable, match="not the key"):
        _ = ledger.key
    for wrong in ("", "ab", "zz" * 32):
        monkeypatch.setenv(KEY_VARIABLE, wrong)
        for use in (lambda: ledger.key, lambda: Ledger.create(ledger.url)):
            with pytest.raises(LedgerUnavailable, match="64 hexadecimal digits"):
                use()


def interrupted(ledger: Ledger, other: Any) -> Iterator[None]:
    """Let somebody else write once, between what the ledger reads and what it writes."""
    waiting = [other]

    def before(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("INSERT INTO entries") and waiting:
            waiting.pop()()

    sql.event.listen(ledger._store.engine, "before_cursor_execute", before)
    yield
    assert not waiting
    sql.event.remove(ledger._store.engine, "before_cursor_execute", before)


def test_a_number_that_was_taken_is_tried_again_and_a_position_is_not(ledger: Ledger) -> None:
    other = Ledger.open(ledger.url)
    ledger.append(ledger.history("a"), TOTAL, "key", {})
    history = ledger.history("a")
    for _ in interrupted(ledger, lambda: other.append(other.history("b"), TOTAL, "key", {})):
        assert ledger.append(history, TOTAL, "second", {}).position == 2
    for _ in interrupted(ledger, lambda: other.look(other.history("a"), TOTAL, "third")):
        assert ledger.append(ledger.history("a"), TOTAL, "third", {}).position == 3
    history = ledger.history("a")
    for _ in interrupted(ledger, lambda: other.append(other.history("a"), TOTAL, "fourth", {})):
        with pytest.raises(LedgerChanged, match="another release"):
            ledger.append(history, TOTAL, "fifth", {})
    fresh = ledger.history("c")
    for _ in interrupted(ledger, lambda: other.declare(other.history("c"), TOTAL, {})):
        with pytest.raises(LedgerChanged, match="another declaration"):
            ledger.append(fresh, TOTAL, "key", {})
    assert [entry.query_key for entry in ledger.history("a").entries] == ["key", "second", "third", "fourth"]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM entries WHERE number = (SELECT max(number) FROM entries)",
        "UPDATE entries SET position = 2 WHERE kind = 'release'",
        "DELETE FROM entries",
        "UPDATE entries SET content = '{}'",
    ],
)
def test_what_is_taken_out_of_a_server_is_noticed_too(ledger: Ledger, file: Path, statement: str) -> None:
    ledger.append(ledger.history("a"), TOTAL, "key", {"values": [1.5]})
    with sqlite3.connect(file) as connection:
        connection.execute(statement)
    connection.close()
    with pytest.raises(LedgerUnavailable, match="not as it was written"):
        ledger.history("a")
