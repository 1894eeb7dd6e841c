"""Ledgers of version 1, which had a table of datasets and one of releases: listed as they are, migrated or refused."""

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import distpriv as dp
from distpriv.errors import DistprivError, InvalidInput, LedgerUnavailable
from distpriv.releasing.ledger import Ledger
from distpriv.releasing.release import Release
from distpriv.releasing.written_queries import query_from_dict

VERSION_1 = Path(__file__).parent / "ledger_version_1.db"
TOTAL = dp.PrivacyTarget(epsilon=2, delta=0.02)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return Path(shutil.copy(VERSION_1, tmp_path / "ledger.db"))


def rows(file: Path) -> list[dict[str, Any]]:
    with sqlite3.connect(file) as connection:
        connection.row_factory = sqlite3.Row
        found = [dict(row) for row in connection.execute("SELECT * FROM releases ORDER BY dataset, position")]
    connection.close()
    return found


def edit(file: Path, *statements: str) -> None:
    with sqlite3.connect(file) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_a_ledger_of_version_1_can_be_listed_and_nothing_else(file: Path) -> None:
    before = file.read_bytes()
    ledger = Ledger.open(f"sqlite:///{file}")
    assert ledger.version == 1
    assert [(history.dataset, len(history.entries)) for history in ledger.histories()] == [
        ("Clinic-2026", 1),
        ("ward", 2),
    ]
    assert all(history.total == TOTAL for history in ledger.histories())
    for use in (lambda: ledger.history("ward"), ledger.datasets, lambda: ledger.key, lambda: ledger.id):
        with pytest.raises(LedgerUnavailable, match="--migrate"):
            use()
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["ledger.db"]


def test_a_migrated_release_keeps_content_position_time_and_key(file: Path) -> None:
    old = rows(file)
    ledger = Ledger.open(f"sqlite:///{file}")
    ledger.migrate()
    assert (ledger.version, ledger.datasets()) == (2, ("clinic-2026", "ward"))
    new = [entry for name in ledger.datasets() for entry in ledger.history(name).entries]
    assert len(old) == len(new) == 3
    for row, entry in zip(old, new, strict=True):
        assert entry.dataset == row["dataset"].lower()
        assert (entry.position, entry.time, entry.query_key) == (row["position"], row["time"], row["query_key"])
        assert entry.content == json.loads(row["content"])
    shown = Release.of(new[0], query_from_dict(new[0].content["query"]), repeated=True)
    assert shown.certificate.holds
    history = ledger.history("Ward")
    assert (history.total, history.looks, history.looks_without_release) == (TOTAL, 2, 0)
    assert ledger.append(history, TOTAL, "another", {}).position == 3
    with pytest.raises(InvalidInput, match="nothing to migrate"):
        ledger.migrate()


def test_software_of_version_1_finds_no_empty_ledger_in_a_new_one(file: Path) -> None:
    Ledger.open(f"sqlite:///{file}").migrate()
    with sqlite3.connect(file) as connection, pytest.raises(sqlite3.OperationalError):
        connection.execute("SELECT total FROM datasets")
    with sqlite3.connect(file) as connection, pytest.raises(sqlite3.OperationalError):
        connection.execute("INSERT INTO releases (dataset, position) VALUES ('ward', 1)")
    connection.close()


def test_a_migration_that_is_interrupted_has_done_nothing(file: Path) -> None:
    before = rows(file)
    ledger = Ledger.open(f"sqlite:///{file}")
    with (
        patch("distpriv.releasing.ledger.store.begin", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        ledger.migrate()
    assert (ledger.version, rows(file)) == (1, before)
    ledger.migrate()
    assert ledger.datasets() == ("clinic-2026", "ward")


def test_an_empty_ledger_of_version_1_becomes_an_empty_one(file: Path) -> None:
    edit(file, "DELETE FROM releases", "DELETE FROM datasets")
    ledger = Ledger.open(f"sqlite:///{file}")
    ledger.migrate()
    assert (ledger.version, ledger.datasets()) == (2, ())


def test_two_ids_that_become_one_are_refused_until_one_of_them_is_renamed(file: Path) -> None:
    edit(file, "INSERT INTO datasets VALUES ('WARD', '{\"epsilon\": 9.0, \"delta\": 0.02}')")
    ledger = Ledger.open(f"sqlite:///{file}")
    with pytest.raises(InvalidInput, match=r"datasets 'ward' and 'WARD' would both be 'ward'.*--rename"):
        ledger.migrate()
    with pytest.raises(InvalidInput, match="no dataset 'Ward' in the ledger to rename"):
        ledger.migrate({"Ward": "other"})
    ledger.migrate({"WARD": "Ward-2"})
    assert ledger.datasets() == ("clinic-2026", "ward", "ward-2")


def test_an_id_that_no_ledger_takes_is_refused_until_it_is_renamed(file: Path) -> None:
    edit(file, "UPDATE datasets SET id = 'ward 7' WHERE id = 'ward'", "UPDATE releases SET dataset = 'ward 7'"
         " WHERE dataset = 'ward'")  # fmt: skip
    ledger = Ledger.open(f"sqlite:///{file}")
    with pytest.raises(InvalidInput, match=r"dataset 'ward 7' needs another id.*--rename 'ward 7'=NEW"):
        ledger.migrate()
    ledger.migrate({"ward 7": "ward-7"})
    assert len(ledger.history("ward-7").entries) == 2


BROKEN = [
    "UPDATE datasets SET total = 'none'",
    "UPDATE datasets SET total = '{\"epsilon\": 2.0}'",
    'UPDATE datasets SET total = \'{"epsilon": -2.0, "delta": 0.02}\'',
    'UPDATE datasets SET total = \'{"epsilon": NaN, "delta": 0.02}\'',
    "UPDATE datasets SET total = x'00'",
    "UPDATE datasets SET id = x'ff' WHERE id = 'ward'",
    "DELETE FROM datasets WHERE id = 'ward'",
    "DELETE FROM releases WHERE dataset = 'ward' AND position = 1",
    "UPDATE releases SET position = 3 WHERE dataset = 'ward' AND position = 2",
    "UPDATE releases SET position = 'first' WHERE dataset = 'ward' AND position = 1",
    "UPDATE releases SET content = 'none'",
    "UPDATE releases SET content = '{}'",
    "UPDATE releases SET content = 'null'",
    "UPDATE releases SET content = x'ff'",
    "UPDATE releases SET content = 7",
    "UPDATE releases SET time = x'ff'",
    "UPDATE releases SET query_key = x'ff' WHERE position = 1",
    *(
        f"UPDATE releases SET content = json_set(content, '$.{key}', {value})"
        for key, value in [
            ("values", "'text'"),
            ("values", "json('{}')"),
            ("values.age", "'forty'"),
            ("intervals", "json('[]')"),
            ("intervals.age", "json('[1]')"),
            ("query", "7"),
            ("query", "json('[]')"),
            ("records", "'many'"),
            ("mechanism", "7"),
            ("noise", "json('{}')"),
            ("noise.law", "'none such'"),
            ("certificate", "json('{}')"),
            ("certificate.delta", "'small'"),
            ("joint_certificate", "json('[]')"),
            ("joint_certificate.target", "7"),
            ("protected_pairs", "json('[[1, 2]]')"),
        ]
    ),
    *(
        f"UPDATE releases SET content = json_remove(content, '$.{key}')"
        for key in ("values", "intervals", "query", "records", "mechanism", "noise", "certificate", "joint_certificate")
    ),
]


@pytest.mark.parametrize("statement", BROKEN)
def test_what_cannot_be_read_is_one_sentence_and_left_as_it_is(file: Path, statement: str) -> None:
    edit(file, "PRAGMA foreign_keys = OFF", statement)
    before = file.read_bytes()
    ledger = Ledger.open(f"sqlite:///{file}")
    for use in (ledger.histories, ledger.migrate):
        with pytest.raises(DistprivError) as caught:
            use()
        assert "\n" not in str(caught.value)
        assert "nothing was released" in str(caught.value)
    assert file.read_bytes() == before
