import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sql

import distpriv as dp
from distpriv.errors import BudgetSpent, InvalidInput, LedgerChanged, LedgerUnavailable
from distpriv.releasing.ledger import Ledger

TOTAL = dp.PrivacyTarget(epsilon=2, delta=0.002)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")


def test_what_is_written_is_read_back_in_order(ledger: Ledger) -> None:
    for number in range(3):
        entry = ledger.append(ledger.history("a"), TOTAL, f"key {number}", {"values": {"π": 0.1 + number}})
        assert entry.position == number + 1
    history = ledger.history("a")
    assert [entry.content["values"]["π"] for entry in history.entries] == [0.1, 1.1, 2.1]
    assert history.total == TOTAL
    assert history.answer_to("key 1") == history.entries[1]
    assert history.answer_to("another") is None
    assert ledger.datasets() == ("a",)


def test_datasets_do_not_share_their_history(ledger: Ledger) -> None:
    ledger.append(ledger.history("a"), TOTAL, "key", {})
    assert ledger.history("b").entries == ()
    assert ledger.append(ledger.history("b"), TOTAL, "key", {}).position == 1


def test_a_ledger_that_is_not_there_has_no_history_and_reading_does_not_fill_it(ledger: Ledger) -> None:
    assert ledger.history("a").entries == ()
    assert ledger.history("a").total is None
    assert ledger.datasets() == ()


def test_of_two_that_planned_on_the_same_history_one_is_refused(ledger: Ledger) -> None:
    for dataset in ("a", "a", "b"):
        history = ledger.history(dataset)
        ledger.append(history, TOTAL, f"first {len(history.entries)}", {})
        with pytest.raises(LedgerChanged, match="ask again"):
            ledger.append(history, TOTAL, f"second {len(history.entries)}", {})
    assert len(ledger.history("a").entries) == 2


def test_a_query_is_written_once(ledger: Ledger) -> None:
    ledger.append(ledger.history("a"), TOTAL, "key", {})
    with pytest.raises(LedgerChanged):
        ledger.append(ledger.history("a"), TOTAL, "key", {})


def test_the_total_cannot_be_raised_afterwards(ledger: Ledger) -> None:
    ledger.append(ledger.history("a"), TOTAL, "key", {})
    with pytest.raises(BudgetSpent, match=r"epsilon = 2 and delta = 0\.002"):
        ledger.append(ledger.history("a"), dp.PrivacyTarget(epsilon=9, delta=0.002), "more", {})


def test_what_is_no_number_is_not_written(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="JSON"):
        ledger.append(ledger.history("a"), TOTAL, "key", {"value": float("nan")})
    assert ledger.history("a").entries == ()


@pytest.mark.parametrize("url", ["ledger.db", "nosuch:///ledger.db", "", 3, None])
def test_what_is_no_database_is_refused(url: object) -> None:
    with pytest.raises(InvalidInput, match=r"sqlite:///ledger\.db"):
        Ledger.open(url)  # type: ignore[arg-type]


def test_a_folder_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'nowhere' / 'ledger.db'}")
    with pytest.raises(LedgerUnavailable, match="nothing was released"):
        ledger.history("a")


def test_a_file_that_is_no_ledger_is_said_so_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_text("notes of another kind, long enough to be no empty database\n" * 40, encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(LedgerUnavailable, match="not a database"):
        Ledger.open(f"sqlite:///{path}").history("a")
    assert path.read_bytes() == before


def test_a_full_disk_leaves_the_ledger_as_it_was(ledger: Ledger) -> None:
    ledger.append(ledger.history("a"), TOTAL, "key", {})

    def fill(connection: sql.Connection) -> None:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")

    sql.event.listen(ledger._engine, "begin", fill)
    with pytest.raises(LedgerUnavailable, match="full"):
        ledger.append(ledger.history("a"), TOTAL, "large", {"text": "x" * 100_000})
    sql.event.remove(ledger._engine, "begin", fill)
    assert [entry.query_key for entry in ledger.history("a").entries] == ["key"]


def test_a_ledger_that_may_only_be_read_can_be_read(ledger: Ledger, tmp_path: Path) -> None:
    ledger.append(ledger.history("a"), TOTAL, "key", {})
    reading = Ledger.open(f"sqlite:///file:{tmp_path / 'ledger.db'}?mode=ro&uri=true")
    assert len(reading.history("a").entries) == 1
    with pytest.raises(LedgerUnavailable, match="readonly"):
        reading.append(reading.history("a"), TOTAL, "more", {})


def _release_many(url: str, name: int, count: int) -> int:
    ledger, tries = Ledger.open(url), 0
    for number in range(count):
        while True:
            tries += 1
            try:
                ledger.append(ledger.history("a"), TOTAL, f"{name}/{number}", {})
                break
            except LedgerChanged:
                continue
    return tries


@pytest.mark.slow
def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    with multiprocessing.get_context("spawn").Pool(8) as pool:
        pool.starmap(_release_many, [(url, name, 25) for name in range(8)])
    entries = Ledger.open(url).history("a").entries
    assert [entry.position for entry in entries] == list(range(1, 201))
    assert len({entry.query_key for entry in entries}) == 200


def test_an_unfinished_write_leaves_no_trace(ledger: Ledger, tmp_path: Path) -> None:
    ledger.append(ledger.history("a"), TOTAL, "key", {})
    script = f"""
import os, sqlalchemy as sql
from distpriv.releasing import ledger as module
ledger = module.Ledger.open({ledger.url!r})
sql.event.listen(ledger._engine, "commit", lambda connection: os._exit(9))
ledger.append(ledger.history("a"), module.PrivacyTarget(epsilon=2, delta=0.002), "more", {{"text": "x" * 50000}})
"""
    ended = subprocess.run([sys.executable, "-c", script], env=os.environ, cwd=tmp_path, check=False)
    assert ended.returncode == 9
    assert [entry.query_key for entry in ledger.history("a").entries] == ["key"]
