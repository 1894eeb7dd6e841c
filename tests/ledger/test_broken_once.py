"""What was claimed of ledgers and was false once, each with what broke it: no release is lost, forgotten or changed."""

import json
import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

import distpriv as dp
from distpriv.errors import DistprivError, InvalidInput, LedgerUnavailable
from distpriv.ledger import Ledger, dataset_id
from distpriv.ledger.store import Store

TOTAL = dp.PrivacyTarget(epsilon=2, delta=0.002)
SENTENCE = re.compile(r"[^\n]+\.")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A ledger with two releases of one dataset and one of another."""
    ledger = Ledger.create(f"sqlite:///{tmp_path / 'ledger.db'}")
    for dataset, key in (("a", "one"), ("b", "one"), ("a", "two")):
        ledger.look(ledger.history(dataset), TOTAL, key)
        ledger.append(ledger.history(dataset), TOTAL, key, {"values": {"age": 40.25}})
    return tmp_path / "ledger.db"


def url(file: Path) -> str:
    return f"sqlite:///{file}"


def edit(file: Path, *statements: str) -> None:
    with sqlite3.connect(file) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def refused(file: Path) -> str:
    """Return the one sentence with which everything about a ledger is refused."""
    said = set()
    for use in (
        lambda: Ledger.open(url(file)).history("a"),
        lambda: Ledger.open(url(file)).datasets(),
        lambda: Ledger.open(url(file)).histories(),
        lambda: Ledger.open(url(file)).key,
        lambda: Ledger.create(url(file), exist_ok=True).history("a"),
    ):
        with pytest.raises(LedgerUnavailable) as caught:
            use()
        said.add(str(caught.value))
    (sentence,) = said
    assert SENTENCE.fullmatch(sentence), sentence
    return sentence


# What was claimed: a ledger remembers. What broke it: nine spellings of a database that forgets when it is closed.
FORGETFUL = [
    "sqlite://",
    "sqlite:///",
    "sqlite:///:memory:",
    "sqlite:///:MEMORY:",
    "sqlite:///./:memory:",
    "sqlite:///%3Amemory%3A",
    "sqlite:///%3amemory:",
    "sqlite:///%20",
    "sqlite:///%00",
    "sqlite:///?uri=true",
    "sqlite://?uri=true",
    "sqlite:///:memory:?uri=1",
    "sqlite:///x?mode=memory",
    "sqlite:///x.db?mode=memory&uri=true",
    "sqlite:///file::memory:?uri=true",
    "sqlite:///file::memory:?cache=shared&uri=true",
    "sqlite:///file:x?mode=memory&cache=shared&uri=true",
    "sqlite:///file:x?mode=memory",
    "sqlite:///file:?uri=true",
    "sqlite:///file:%20?uri=true",
    "sqlite:///file:///?uri=true",
    "sqlite:///file://localhost/?uri=true",
    "sqlite:///file://elsewhere/x?uri=true",
    "sqlite:///file:%2500?uri=true",
    "sqlite:///file:%2500x.db?uri=yes",
    "sqlite:///file:x%3Fmode=memory?uri=true",
    "sqlite:///file::memory:%3Fcache=shared?uri=y",
    "sqlite:///file:%253Amemory%253A?uri=on",
    "sqlite:///file:%23x?uri=true",
    "sqlite:///file:/x?vfs=memdb&uri=true",
    "sqlite:///file:x.db?vfs=unix-none&uri=true",
    "sqlite:///file:x.db?uri=true&immutable=1",
    "sqlite:///file:x.db?uri=true&mode=rwc&mode=memory",
    "sqlite:///file:x.db?uri=true&mode=MEMORY",
    "sqlite:///file:x.db?uri=maybe",
    "sqlite:///x.db?uri=true",
    "sqlite:///file:x.db",
    "sqlite:///x.db?timeout=9",
    "sqlite+pysqlite://",
    "sqlite+pysqlite:///:memory:",
    "sqlite+pysqlite:///file::memory:?uri=true",
    "sqlite+aiosqlite:///:memory:",
    "SQLITE:///:memory:",
    "sqlite://:memory:",
    "sqlite://host/x.db",
    "duckdb:///:memory:",
]


@pytest.mark.parametrize("text", FORGETFUL)
def test_no_spelling_of_a_database_in_memory_is_taken(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for use in (Ledger.open, Ledger.create, Ledger.exists):
        with pytest.raises(InvalidInput) as caught:
            use(text)
        assert SENTENCE.fullmatch(str(caught.value))
    assert os.listdir(tmp_path) == []


def test_a_device_is_no_ledger() -> None:
    with pytest.raises(LedgerUnavailable):
        Ledger.create("sqlite:////dev/null")


# What was claimed: nothing is forgotten. What broke it: a wrong path, which began a new budget in silence.
def test_a_ledger_that_is_not_there_is_not_made_by_asking_for_it(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match=r"there is no ledger .*--create"):
        Ledger.open(url(tmp_path / "ledger.db"))
    assert not list(tmp_path.iterdir())


# What was claimed: an answer is in the ledger before it is shown. What broke it: triggers that drop or change it.
@pytest.mark.parametrize(
    "trigger",
    [
        "CREATE TRIGGER t BEFORE INSERT ON entries BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TRIGGER t BEFORE INSERT ON entries WHEN NEW.kind = 'dataset' BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM entries WHERE number = NEW.number; END",
        "CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM entries WHERE number = 3; END",
        "CREATE TRIGGER t AFTER INSERT ON entries BEGIN UPDATE entries SET content = '{}' WHERE number > 1; END",
        "CREATE TRIGGER t AFTER INSERT ON entries BEGIN UPDATE entries SET position = 9 WHERE number = 8; END",
        "CREATE TRIGGER t BEFORE INSERT ON entries BEGIN SELECT RAISE(ABORT, 'no'); END",
        "CREATE TRIGGER t BEFORE UPDATE ON ledger BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TRIGGER t AFTER UPDATE ON ledger BEGIN UPDATE ledger SET head = 'x'; END",
    ],
)
def test_a_trigger_that_drops_or_changes_an_entry_is_noticed_before_anything_is_shown(file: Path, trigger: str) -> None:
    edit(file, trigger)
    ledger = Ledger.open(url(file))
    before = ledger.history("new")
    writes: list[Callable[[], object]] = [
        lambda: ledger.append(before, TOTAL, "key", {"values": {"age": 1.5}}),
        lambda: ledger.declare(before, TOTAL, {"questions": ["age"]}),
        lambda: ledger.look(before, TOTAL, "key"),
    ]
    for write in writes:
        with pytest.raises(LedgerUnavailable, match="nothing was released"):
            write()
    assert ledger.history("new") == before


# What was claimed: a total cannot be raised and an answer not taken back. What broke it: whoever may write to the file.
@pytest.mark.parametrize(
    "statements",
    [
        ["DELETE FROM entries"],
        ["DELETE FROM entries WHERE number = (SELECT max(number) FROM entries)"],
        ["DELETE FROM entries WHERE number = 4"],
        ["DELETE FROM entries WHERE number = 1"],
        ["DELETE FROM entries WHERE dataset = 'b'"],
        ["""UPDATE entries SET content = '{"delta":0.002,"epsilon":20.0}' WHERE number = 1"""],
        ["""UPDATE entries SET content = '{"values":{"age":41.25}}' WHERE kind = 'release'"""],
        ["UPDATE entries SET content = content || ' ' WHERE number = 3"],
        ["UPDATE entries SET content = 'no JSON' WHERE number = 3"],
        ["UPDATE entries SET content = '[1]' WHERE number = 3"],
        ["""UPDATE entries SET content = '{"values":{"age":NaN}}' WHERE number = 3"""],
        ["""UPDATE entries SET content = '{"values":{"age":1e999}}' WHERE number = 3"""],
        ["""UPDATE entries SET content = '{"a":"\\ud800"}' WHERE number = 3"""],
        [f"UPDATE entries SET content = '{'[' * 100_000}' WHERE number = 3"],
        ["UPDATE entries SET content = x'ff00' WHERE number = 3"],
        ["UPDATE entries SET content = CAST(x'ff00' AS TEXT) WHERE number = 3"],
        ["UPDATE entries SET content = 7 WHERE number = 3"],
        ["UPDATE entries SET position = 'first' WHERE number = 3"],
        ["UPDATE entries SET position = position + 1 WHERE kind = 'release'"],
        ["UPDATE entries SET number = number + 1 WHERE number = (SELECT max(number) FROM entries)"],
        ["UPDATE entries SET dataset = 'c' WHERE dataset = 'a'"],
        ["UPDATE entries SET query_key = 'three' WHERE query_key = 'two'"],
        ["UPDATE entries SET time = x'00' WHERE number = 2"],
        ["UPDATE entries SET digest = 'x', time = 'long ago' WHERE number = 2"],
        ["UPDATE ledger SET count = 1"],
        ["UPDATE ledger SET head = 'x'"],
        ["UPDATE ledger SET id = 'another'"],
        ["UPDATE ledger SET id = x'ff'"],
        ["UPDATE ledger SET key_digest = 'another'"],
        ["UPDATE ledger SET version = 'two'"],
        ["UPDATE ledger SET version = 3"],
        ["INSERT INTO ledger SELECT 'other', version, key_digest, count, head FROM ledger"],
        ["DELETE FROM ledger"],
        ["DROP TABLE entries"],
        ["DROP TABLE ledger", "DROP TABLE entries"],
    ],
)
def test_an_entry_that_was_changed_or_taken_out_is_noticed(file: Path, statements: list[str]) -> None:
    edit(file, *statements)
    refused(file)


def test_a_chain_that_was_computed_anew_is_not_the_one_that_was_seen(file: Path, tmp_path: Path) -> None:
    (tmp_path / "forged").mkdir()
    forged = Ledger.create(url(tmp_path / "forged" / "ledger.db"))
    for key in ("one", "two", "three", "four"):
        forged.append(forged.history("a"), dp.PrivacyTarget(epsilon=200, delta=0.2), key, {"values": {"age": 1.0}})
    with sqlite3.connect(file) as connection:
        (own,) = connection.execute("SELECT id FROM ledger").fetchone()
    connection.close()
    shutil.copy(tmp_path / "forged" / "ledger.db", file)
    assert "belongs to another ledger" in refused(file)
    edit(file, f"UPDATE ledger SET id = '{own}'")
    refused(file)


def _emptied(file: Path, _: Path) -> None:
    file.write_bytes(b"")


def _deleted(file: Path, _: Path) -> None:
    file.unlink()


def _rolled_back(file: Path, older: Path) -> None:
    shutil.copy(older, file)


def _exchanged(file: Path, _: Path) -> None:
    other = Ledger.create(url(file.parent / "other.db"))
    other.append(other.history("a"), TOTAL, "one", {})
    shutil.copy(file.parent / "other.db", file)


def _without_key(file: Path, _: Path) -> None:
    Path(f"{file}.key").unlink()


def _without_head(file: Path, _: Path) -> None:
    Path(f"{file}.head").unlink()


def _without_both(file: Path, _: Path) -> None:
    _without_key(file, file)
    _without_head(file, file)


def _another_key(file: Path, _: Path) -> None:
    path = Path(f"{file}.key")
    path.write_text(json.dumps({**json.loads(path.read_text()), "key": "00" * 32}), encoding="utf-8")


def _half_a_head(file: Path, _: Path) -> None:
    path = Path(f"{file}.head")
    path.write_text(path.read_text()[:20], encoding="utf-8")


@pytest.mark.parametrize(
    "change",
    [
        _emptied,
        _deleted,
        _rolled_back,
        _exchanged,
        _without_key,
        _without_head,
        _without_both,
        _another_key,
        _half_a_head,
    ],
)
def test_a_ledger_that_was_emptied_put_back_exchanged_or_copied_is_noticed(
    file: Path, tmp_path: Path, change: Callable[[Path, Path], None]
) -> None:
    older = tmp_path / "older.db"
    shutil.copy(file, older)
    ledger = Ledger.open(url(file))
    ledger.append(ledger.history("a"), TOTAL, "three", {"values": {"age": 40.25}})
    change(file, older)
    assert "nothing was released" in refused(file)
    with pytest.raises(DistprivError):
        Ledger.create(url(file))


def test_a_copy_alone_is_refused_and_one_with_its_files_is_not(file: Path, tmp_path: Path) -> None:
    alone, moved = tmp_path / "alone.db", tmp_path / "elsewhere" / "renamed.db"
    moved.parent.mkdir()
    shutil.copy(file, alone)
    assert "alone.db.key' is not beside it, so it may be a copy" in refused(alone)
    before = Ledger.open(url(file)).history("a")
    for end in ("", ".key", ".head"):
        shutil.move(f"{file}{end}", f"{moved}{end}")
    ledger = Ledger.open(url(moved))
    assert ledger.history("a") == before
    assert ledger.append(before, TOTAL, "three", {}).position == 3


def test_a_ledger_has_one_pair_of_files_whatever_it_is_called(file: Path, tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(file)
    ledger = Ledger.open(url(tmp_path / "link.db"))
    ledger.append(ledger.history("a"), TOTAL, "three", {})
    assert len(Ledger.open(url(file)).history("a").entries) == 3
    os.link(file, tmp_path / "hard.db")
    refused(tmp_path / "hard.db")


# What was claimed: the budget of a dataset is kept by its name. What broke it: twenty ways to write one name.
SPELLINGS = [
    "hospital-2026",
    "Hospital-2026",
    "HOSPITAL-2026",
    "hOsPiTaL-2026",
    "ｈｏｓｐｉｔａｌ－２０２６",
    "ＨＯＳＰＩＴＡＬ－２０２６",
    "ℋospital-2026",
    "hoſpital-2026",
    "𝐡𝐨𝐬𝐩𝐢𝐭𝐚𝐥-𝟐𝟎𝟐𝟔",
    "hospital-²⁰²⁶",
]


def test_one_name_is_one_dataset_however_it_is_written(file: Path) -> None:
    ledger = Ledger.open(url(file))
    for number, name in enumerate(SPELLINGS):
        assert ledger.append(ledger.history(name), TOTAL, f"key {number}", {}).position == number + 1
    assert ledger.datasets() == ("a", "b", "hospital-2026")


@pytest.mark.parametrize(
    "name",
    [
        *(
            "hospital-2026 ",
            " hospital-2026",
            "hospital 2026",
            "hospital\t2026",
            "hospital\u200b-2026",
            "hospital-2026\0",
        ),
        *(
            "hospital\u20102026",
            "hospital–2026",
            "hоspital-2026",
            "hospıtal-2026",
            "hospital\u00ad-2026",
            "hospital-2026\n",
        ),
        *("", " ", ".hospital", "-hospital", "_", "a" * 101, "hospital/2026", None, 7, b"hospital"),
    ],
)
def test_what_only_looks_like_a_name_is_refused(file: Path, name: object) -> None:
    with pytest.raises(InvalidInput, match="hospital-2026"):
        dataset_id(name)
    with pytest.raises(InvalidInput, match="hospital-2026"):
        Ledger.open(url(file)).history(name)  # type: ignore[arg-type]


# What was claimed: nothing of a password is shown. What broke it: every message that quotes an address.
WITH_PASSWORD = [
    "postgresql://anna:geheim@host/db",
    "postgresql+nosuch://anna:geheim@host/db",
    "nosuch://anna:geheim@host/db",
    "postgresql://anna:geheim@host:port/db",
    "postgresql://anna:ein@geheim@host/db",
    "postgresql://an/na:geheim@host/db",
    "postgresql://host/db?user=anna&password=geheim",
    "mssql+pyodbc:///?odbc_connect=PWD%3Dgeheim",
    "sqlite://anna:geheim@host/ledger.db",
    "sqlite://:geheim@/ledger.db",
    "://anna:geheim@host",
    "anna:geheim@host/db",
    "password=geheim host=host",
    "postgresql:/anna:geheim@host",
]


@pytest.mark.parametrize("text", WITH_PASSWORD)
def test_no_message_shows_the_password_of_a_ledger(text: str) -> None:
    for use in (Ledger.open, Ledger.create, Ledger.exists):
        with pytest.raises(DistprivError) as caught:
            use(text)
        assert SENTENCE.fullmatch(str(caught.value))
        shown = "".join(traceback.format_exception(caught.value.with_traceback(None)))
        assert "geheim" not in shown
        assert "geheim" not in repr(caught.value)


def test_a_ledger_shows_itself_without_its_password(file: Path) -> None:
    ledger = Ledger.open(url(file))
    server = Ledger(Store("postgresql://anna:geheim@host/db?sslpassword=geheim", ledger._store.engine, None))
    assert repr(server) == str(server) == "Ledger(url='postgresql://anna:***@host/db')"
    assert "geheim" not in repr(server._store)


# What was claimed: a ledger is for its owner. What broke it: the umask.
def test_the_files_of_a_new_ledger_are_their_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        ledger = Ledger.create(url(tmp_path / "ledger.db"))
        ledger.append(ledger.history("a"), TOTAL, "key", {})
    finally:
        os.umask(before)
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == dict.fromkeys(
        ("ledger.db", "ledger.db.key", "ledger.db.head"), 0o600
    )


# What was claimed: a refusal costs nothing and tells nothing. What broke it: looks that nobody had written down.
def test_a_process_that_is_killed_after_its_look_has_been_counted(file: Path) -> None:
    script = f"""
import os, signal
from distpriv import Ledger, PrivacyTarget
ledger = Ledger.open({url(file)!r})
ledger.look(ledger.history("a"), PrivacyTarget(epsilon=2, delta=0.002), "three")
os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", script], env=os.environ, cwd=file.parent, check=False)
    assert ended.returncode == -9
    ledger = Ledger.open(url(file))
    history = ledger.history("a")
    assert (history.looks, history.looks_without_release, len(history.entries)) == (3, 1, 2)
    assert ledger.append(history, TOTAL, "three", {}).position == 3
