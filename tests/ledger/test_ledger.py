import errno
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from unittest.mock import DEFAULT, patch

import pytest
import sqlalchemy as sql
from tests.crowds import crowd_of

import distpriv as dp
from distpriv.errors import BudgetSpent, InvalidInput, LedgerChanged, LedgerUnavailable
from distpriv.ledger import Ledger
from distpriv.ledger.beside import _replace

TOTAL = dp.PrivacyTarget(epsilon=2, delta=0.002)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(f"sqlite:///{tmp_path / 'ledger.db'}")


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


def test_a_new_ledger_has_no_history_and_reading_does_not_fill_it(ledger: Ledger) -> None:
    assert ledger.history("a").entries == ()
    assert ledger.history("a").total is None
    assert ledger.datasets() == ()
    assert ledger.head is None


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


@pytest.mark.parametrize("url", ["ledger.db", "nosuch:///ledger.db", "mysql://host/db", "", 3, None])
def test_what_is_no_database_is_refused(url: object) -> None:
    with pytest.raises(InvalidInput, match=r"sqlite:///ledger\.db"):
        Ledger.open(url)  # type: ignore[arg-type]


def test_a_folder_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'nowhere' / 'ledger.db'}"
    with pytest.raises(LedgerUnavailable, match="nothing is released"):
        Ledger.open(url)
    with pytest.raises(LedgerUnavailable, match=r"No such file or directory.*nothing was released"):
        Ledger.create(url)


def test_a_file_that_is_no_ledger_is_said_so_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_text("notes of another kind, long enough to be no empty database\n" * 40, encoding="utf-8")
    before = path.read_bytes()
    for use in (Ledger.open, Ledger.create):
        with pytest.raises(LedgerUnavailable, match="not a database"):
            use(f"sqlite:///{path}")
    assert path.read_bytes() == before


def test_a_full_disk_leaves_the_ledger_as_it_was(ledger: Ledger) -> None:
    ledger.append(ledger.history("a"), TOTAL, "key", {})

    def fill(connection: sql.Connection) -> None:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")

    sql.event.listen(ledger._store.engine, "begin", fill)
    with pytest.raises(LedgerUnavailable, match="full"):
        ledger.append(ledger.history("a"), TOTAL, "large", {"text": "x" * 100_000})
    sql.event.remove(ledger._store.engine, "begin", fill)
    assert [entry.query_key for entry in ledger.history("a").entries] == ["key"]


def test_a_ledger_that_may_only_be_read_can_be_read(ledger: Ledger) -> None:
    ledger.append(ledger.history("a"), TOTAL, "key", {})
    reading = Ledger.open(ledger.url)

    def read_only(connection: sql.Connection) -> None:
        connection.exec_driver_sql("PRAGMA query_only = ON")

    sql.event.listen(reading._store.engine, "begin", read_only)
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
    url = Ledger.create(f"sqlite:///{tmp_path / 'ledger.db'}").url
    with crowd_of(8) as pool:
        pool.starmap(_release_many, [(url, name, 25) for name in range(8)])
    entries = Ledger.open(url).history("a").entries
    assert [entry.position for entry in entries] == list(range(1, 201))
    assert len({entry.query_key for entry in entries}) == 200


def test_an_unfinished_write_leaves_no_trace(ledger: Ledger, tmp_path: Path) -> None:
    ledger.append(ledger.history("a"), TOTAL, "key", {})
    script = f"""
import os, sqlalchemy as sql
import distpriv as module
ledger = module.Ledger.open({ledger.url!r})
sql.event.listen(ledger._store.engine, "commit", lambda connection: os._exit(9))
ledger.append(ledger.history("a"), module.PrivacyTarget(epsilon=2, delta=0.002), "more", {{"text": "x" * 50000}})
"""
    ended = subprocess.run([sys.executable, "-c", script], env=os.environ, cwd=tmp_path, check=False)
    assert ended.returncode == 9
    assert [entry.query_key for entry in ledger.history("a").entries] == ["key"]


def test_looks_are_counted_and_a_dataset_is_held_to_its_total_from_the_first_one_on(ledger: Ledger) -> None:
    look = ledger.look(ledger.history("a"), TOTAL, "key")
    assert (look.kind, look.number, look.position, look.query_key, look.content) == ("look", 2, None, "key", {})
    history = ledger.history("a")
    assert (history.looks, history.looks_without_release, history.total, history.entries) == (1, 1, TOTAL, ())
    with pytest.raises(BudgetSpent):
        ledger.look(history, dp.PrivacyTarget(epsilon=9, delta=0.002), "key")
    stale = ledger.history("a")
    ledger.look(ledger.history("a"), TOTAL, "another")
    assert ledger.append(stale, TOTAL, "key", {}).position == 1
    assert ledger.history("a").looks_without_release == 1


def test_a_total_that_came_in_meanwhile_is_held(ledger: Ledger) -> None:
    before = ledger.history("a")
    ledger.look(before, dp.PrivacyTarget(epsilon=1, delta=0.001), "key")
    with pytest.raises(BudgetSpent, match="epsilon = 1 and"):
        ledger.look(before, TOTAL, "key")
    with pytest.raises(BudgetSpent, match="epsilon = 1 and"):
        ledger.append(before, TOTAL, "key", {})


def test_questions_are_declared_once_and_before_the_first_answer(ledger: Ledger) -> None:
    before = ledger.history("a")
    declared = ledger.declare(before, TOTAL, {"questions": ["mean(age)"]})
    assert (declared.kind, declared.position, declared.query_key) == ("declaration", None, None)
    assert ledger.history("a").declaration == declared
    with pytest.raises(LedgerChanged, match="another declaration"):
        ledger.declare(before, TOTAL, {})
    with pytest.raises(LedgerChanged, match="another declaration"):
        ledger.append(before, TOTAL, "key", {})
    with pytest.raises(InvalidInput, match="has a declaration already"):
        ledger.declare(ledger.history("a"), TOTAL, {})
    ledger.append(ledger.history("a"), TOTAL, "key", {})
    with pytest.raises(InvalidInput, match="has a release already"):
        ledger.declare(ledger.history("a"), TOTAL, {})
    stale = ledger.history("b")
    ledger.append(stale, TOTAL, "key", {})
    with pytest.raises(LedgerChanged, match="another release"):
        ledger.declare(stale, TOTAL, {})


def test_entries_are_one_chain_over_all_datasets(ledger: Ledger) -> None:
    before = hashlib.sha256(ledger.id.encode()).hexdigest()
    for number, dataset in enumerate(["a", "b", "a"]):
        entry = ledger.append(ledger.history(dataset), TOTAL, f"key {number}", {"values": [number]})
    with sqlite3.connect(ledger.url.removeprefix("sqlite:///")) as connection:
        connection.row_factory = sqlite3.Row
        rows = [dict(row) for row in connection.execute("SELECT * FROM entries ORDER BY number")]
    connection.close()
    assert [row["kind"] for row in rows] == ["dataset", "release", "dataset", "release", "release"]
    for number, row in enumerate(rows, 1):
        digest = row.pop("digest")
        row["content"] = json.loads(row["content"])
        text = json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        assert (row["number"], row["previous"]) == (number, before)
        before = hashlib.sha256(text.encode()).hexdigest()
        assert digest == before
    assert ledger.head == ledger.history("a").head == entry.digest == before


def test_a_history_is_written_on_in_its_own_ledger(ledger: Ledger, tmp_path: Path) -> None:
    other = Ledger.create(f"sqlite:///{tmp_path / 'other.db'}")
    with pytest.raises(InvalidInput, match="another ledger"):
        other.append(ledger.history("a"), TOTAL, "key", {})


@pytest.mark.parametrize("content", [{"value": {1, 2}}, {"value": float("inf")}, {"value": "\ud800"}, {1: 2, "a": 3}])
def test_what_cannot_be_written_is_said_so_and_breaks_nothing(ledger: Ledger, content: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match="JSON"):
        ledger.append(ledger.history("a"), TOTAL, "key", content)
    with pytest.raises(InvalidInput, match="known by a text"):
        ledger.append(ledger.history("a"), TOTAL, 7, {})  # type: ignore[arg-type]
    assert ledger.datasets() == ()


def test_an_entry_is_what_can_be_read_back(ledger: Ledger) -> None:
    entry = ledger.append(ledger.history("a"), TOTAL, "key", {"numbers": {10: (1, 2), 9: None}})
    assert entry.content == {"numbers": {"10": [1, 2], "9": None}}
    assert ledger.history("a").entries == (entry,)


def test_the_key_is_the_same_every_time_and_another_one_for_every_ledger(ledger: Ledger, tmp_path: Path) -> None:
    assert len(ledger.key) == 32
    assert Ledger.open(ledger.url).key == ledger.key
    assert Ledger.create(f"sqlite:///{tmp_path / 'other.db'}").key != ledger.key


def test_a_ledger_is_made_once_and_opened_where_that_will_do(ledger: Ledger) -> None:
    ledger.append(ledger.history("a"), TOTAL, "key", {})
    with pytest.raises(InvalidInput, match="already"):
        Ledger.create(ledger.url)
    assert Ledger.create(ledger.url, exist_ok=True).history("a") == ledger.history("a")


def test_a_database_with_tables_of_that_name_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE entries (visitor TEXT)")
        connection.execute("INSERT INTO entries VALUES ('anna')")
    connection.close()
    before = file.read_bytes()
    with pytest.raises(InvalidInput, match="of another kind"):
        Ledger.create(f"sqlite:///{file}")
    assert file.read_bytes() == before


# Where a process may be killed: the file beside the ledger is behind it then, never ahead of it.


def test_a_commit_that_nobody_saw_locks_no_one_out(ledger: Ledger, tmp_path: Path) -> None:
    head = tmp_path / "ledger.db.head"
    writes: list[Callable[[], object]] = [
        lambda: ledger.look(ledger.history("a"), TOTAL, "key"),
        lambda: ledger.append(ledger.history("a"), TOTAL, "key", {}),
    ]
    for write in writes:
        before = head.read_bytes()
        with (
            patch("distpriv.ledger.store.Store.kept", side_effect=KeyboardInterrupt),
            suppress(KeyboardInterrupt),
        ):
            write()
        assert head.read_bytes() == before
        newest = Ledger.open(ledger.url).history("a").head
        assert json.loads(head.read_text())["head"] == newest  # reading has caught up, before anything can be shown
    assert [entry.query_key for entry in ledger.history("a").entries] == ["key"]


@pytest.mark.parametrize("files", [0, 1, 2])
def test_a_ledger_whose_making_was_killed_can_be_made(tmp_path: Path, files: int) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    written = patch(
        "distpriv.ledger.beside._replace", side_effect=[DEFAULT] * files + [KeyboardInterrupt], wraps=_replace
    )
    with (
        written,
        patch("distpriv.ledger.store.CreateTable", side_effect=KeyboardInterrupt),
        suppress(KeyboardInterrupt),
    ):
        Ledger.create(url)
    with pytest.raises(LedgerUnavailable, match="there is no ledger"):
        Ledger.open(url)
    ledger = Ledger.create(url)
    assert ledger.append(ledger.history("a"), TOTAL, "key", {}).position == 1


def test_a_folder_that_may_only_be_read_still_answers_what_was_answered(ledger: Ledger) -> None:
    ledger.append(ledger.history("a"), TOTAL, "key", {})
    with (
        patch("distpriv.ledger.store.Store.kept", side_effect=KeyboardInterrupt),
        suppress(KeyboardInterrupt),
    ):
        ledger.append(ledger.history("a"), TOTAL, "another", {})
    denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    with patch("distpriv.ledger.beside._replace", side_effect=denied):
        assert len(Ledger.open(ledger.url).history("a").entries) == 2
        with pytest.raises(LedgerUnavailable, match=r"Permission denied.*nothing was released"):
            ledger.look(ledger.history("a"), TOTAL, "more")


def _all_kinds(url: str, name: int, count: int) -> None:
    ledger = Ledger.open(url)
    for number in range(count):
        dataset, key = f"d{number % 3}", f"{name}/{number}"
        ledger.look(ledger.history(dataset), TOTAL, key)
        while True:
            with suppress(LedgerChanged):
                ledger.append(ledger.history(dataset), TOTAL, key, {"values": [name, number]})
                break


@pytest.mark.slow
def test_eight_processes_on_several_datasets_write_one_unbroken_chain(tmp_path: Path) -> None:
    url = Ledger.create(f"sqlite:///{tmp_path / 'ledger.db'}").url
    with crowd_of(8) as pool:
        pool.starmap(_all_kinds, [(url, name, 6) for name in range(8)])
    ledger = Ledger.open(url)
    histories = ledger.histories()
    assert [history.dataset for history in histories] == ["d0", "d1", "d2"]
    for history in histories:
        assert (len(history.entries), history.looks) == (16, 16)
        assert [entry.position for entry in history.entries] == list(range(1, 17))
    numbers = sorted(entry.number for history in histories for entry in history.entries)
    seen = json.loads((tmp_path / "ledger.db.head").read_text())
    assert (seen["number"], seen["head"]) == (3 + 2 * 48, ledger.head)
    assert numbers[-1] == 3 + 2 * 48
