"""Ledgers as policies and commands use them: made on purpose, listed, and shown without a password."""

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from tests.ledger.test_broken_once import FORGETFUL, SPELLINGS, WITH_PASSWORD
from tests.policy.right import changed, policy_from
from tests.workflow.small import only, write_policy, write_tables
from typer.testing import CliRunner

import distpriv as dp
from distpriv.cli.app import app
from distpriv.errors import DistprivError, InvalidInput, InvalidPolicy, LedgerUnavailable
from distpriv.ledger import Ledger
from distpriv.workflow.ledgers import create_ledger, list_ledger
from distpriv.workflow.plan_policy import plan_policy
from distpriv.workflow.release_policy import release_policy

TOTAL = dp.PrivacyTarget(epsilon=2, delta=0.02)
NOT_MADE = ("create = true\n", "")


@pytest.fixture
def folder(tmp_path: Path, adult: pa.Table) -> Iterator[Path]:
    write_tables(tmp_path, adult)
    with only("group_privacy_laplace"):
        yield tmp_path


# What was claimed: a policy's ledger remembers. What broke it: two spellings of a database in memory.
@pytest.mark.parametrize("text", FORGETFUL)
def test_a_policy_takes_no_spelling_of_a_database_in_memory(text: str) -> None:
    with pytest.raises(InvalidPolicy, match=r"^policy.toml, line 23, ledger.url: [^\n]+\.$"):
        policy_from(changed(("sqlite:///ledger.db", text)))


@pytest.mark.parametrize(
    "text", [url for url in WITH_PASSWORD if not url.startswith(("postgresql", "mssql", "nosuch"))]
)
def test_a_policy_whose_ledger_is_no_url_does_not_show_its_password(text: str) -> None:
    with pytest.raises(InvalidPolicy) as caught:
        policy_from(changed(("sqlite:///ledger.db", text)))
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("value", ['["postgresql://anna:geheim@host/db"]', '{at = "postgresql://anna:geheim@host/db"}'])
def test_an_address_of_the_wrong_type_is_not_shown(value: str) -> None:
    with pytest.raises(InvalidPolicy, match=r"must be text in quotes, got something else") as caught:
        policy_from(changed(('"sqlite:///ledger.db"', value)))
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("text", WITH_PASSWORD)
def test_no_command_shows_the_password_of_a_ledger(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    policy = str(write_policy(folder, ("sqlite:///ledger.db", text)))
    for use in (list_ledger, create_ledger):
        for where in (text, policy):
            with pytest.raises(DistprivError) as caught:
                use(where)
            assert "geheim" not in str(caught.value)
    with pytest.raises(DistprivError) as caught:
        release_policy(policy, folder / "out")
    assert "geheim" not in str(caught.value)


# What was claimed: a dataset's budget is kept by its id. What broke it: another spelling in another policy.
@pytest.mark.parametrize("name", SPELLINGS)
def test_a_policy_knows_a_dataset_by_one_name(name: str) -> None:
    policy = policy_from(changed(('"hospital-2026"', f'"{name}"')))
    assert policy.dataset == policy.to_dict()["data"]["id"] == "hospital-2026"


def test_another_spelling_is_another_release_of_the_same_dataset(folder: Path) -> None:
    first = release_policy(str(write_policy(folder)), folder / "one")
    again = release_policy(str(write_policy(folder, ('id = "ward"', 'id = "ＷＡＲＤ"'))), folder / "two")
    assert again.release.repeated
    assert again.release.values == first.release.values
    assert again.document["dataset"] == again.document["policy"]["data"]["id"] == "ward"


# What was claimed: no release is forgotten. What broke it: a path that was not there yet.
def test_a_release_makes_no_ledger_unless_its_policy_asks_for_one(folder: Path) -> None:
    policy = str(write_policy(folder, NOT_MADE))
    with pytest.raises(LedgerUnavailable, match=r"there is no ledger .*--create"):
        release_policy(policy, folder / "out")
    assert not (folder / "ledger.db").exists()
    create_ledger(policy)
    assert release_policy(policy, folder / "out").release.position == 1
    with pytest.raises(InvalidInput, match="already"):
        create_ledger(policy)


@pytest.mark.parametrize("lost", ["deleted", "emptied"])
def test_a_policy_that_makes_its_ledger_does_not_make_it_twice(folder: Path, lost: str) -> None:
    policy = str(write_policy(folder))
    release_policy(policy, folder / "one")
    if lost == "deleted":
        (folder / "ledger.db").unlink()
    else:
        (folder / "ledger.db").write_bytes(b"")
    uses: list[Callable[[], object]] = [
        lambda: release_policy(policy, folder / "two"),
        lambda: plan_policy(policy),
        lambda: list_ledger(policy),
        lambda: create_ledger(policy),
    ]
    for use in uses:
        with pytest.raises(LedgerUnavailable, match=r"empty or gone.*has seen"):
            use()


def run(*arguments: object) -> tuple[int, str]:
    ended = CliRunner().invoke(app, ["ledger", *map(str, arguments)])
    return (1 if isinstance(ended.exception, DistprivError) else ended.exit_code), str(ended.exception or ended.stdout)


def test_a_listing_has_looks_declaration_releases_head_and_id(folder: Path) -> None:
    policy = write_policy(folder)
    release_policy(str(policy), folder / "one")
    ledger = Ledger.open(f"sqlite:///{folder / 'ledger.db'}")
    before = ledger.history("ward")
    ledger.look(before, TOTAL, "a look that failed")
    ledger.look(before, TOTAL, "another one")
    ledger.declare(ledger.history("clinic"), TOTAL, {"questions": ["mean(age)"]})
    found = json.loads(run(ledger.url, "--json")[1])
    assert (found["ledger"], found["head"]) == (ledger.id, ledger.head)
    clinic, ward = found["datasets"]
    assert clinic["declaration"]["content"] == {"questions": ["mean(age)"]}
    assert (clinic["looks"], clinic["releases"], ward["declaration"]) == (0, [], None)
    assert ward["looks"] == before.looks + 2
    assert ward["looks_without_release"] == ward["looks"] - 1
    (released,) = ward["releases"]
    assert (released["number"], released["digest"]) == (before.entries[0].number, before.entries[0].digest)
    text = run(policy)[1]
    assert f"({ward['looks_without_release']} without a release)" in text
    assert f"ledger {ledger.id[:12]}, newest entry {str(ledger.head)[:12]}" in text
    assert "questions were declared" not in text
    assert "questions were declared before the first answer" in run(ledger.url, "-v")[1]


def test_a_ledger_is_made_by_the_command(folder: Path) -> None:
    url = f"sqlite:///{folder / 'made.db'}"
    code, text = run(url, "--create")
    assert (code, Ledger.open(url).datasets()) == (0, ())
    assert re.fullmatch(r"EMPTY  no release yet\n\n  ledger [0-9a-f]{12,32}, no entry yet\n", text)
    assert json.loads(run(url, "--json")[1])["datasets"] == []
    assert run(url, "--create")[0] == 1


def test_a_ledger_of_another_version_is_refused(folder: Path) -> None:
    policy = write_policy(folder)
    ledger = Ledger.create(f"sqlite:///{folder / 'ledger.db'}")
    with sqlite3.connect(folder / "ledger.db") as connection:
        connection.execute("UPDATE ledger SET version = 1")
    connection.close()
    uses: list[Callable[[], object]] = [
        lambda: Ledger.open(ledger.url),
        lambda: ledger.history("ward"),
        lambda: list_ledger(str(policy)),
        lambda: plan_policy(str(policy)),
        lambda: release_policy(str(policy), folder / "out"),
    ]
    for use in uses:
        with pytest.raises(LedgerUnavailable, match=r"is of version 1, and this distpriv reads version 2 alone: "):
            use()


def test_an_entry_that_is_no_release_is_a_sentence_and_no_traceback(folder: Path) -> None:
    ledger = Ledger.create(f"sqlite:///{folder / 'other.db'}")
    ledger.append(ledger.history("a"), TOTAL, "key", {"values": 7})
    for arguments in ([], ["--json"]):
        code, text = run(ledger.url, *arguments)
        assert (code, "cannot be listed" in text) == (1, True)
    with sqlite3.connect(folder / "other.db") as connection:
        connection.execute("UPDATE entries SET content = x'ff'")
    connection.close()
    assert "not as it was written" in run(ledger.url)[1]
