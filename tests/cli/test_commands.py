import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import frozen
from tests.policy.right import WRONG
from tests.workflow.small import only, write_policy, write_tables

from distpriv import errors
from distpriv.cli.app import exit_code, main
from distpriv.ledger import Ledger


@frozen
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ended]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process, as the shell would."""

    def run(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["distpriv", *map(str, arguments)])
        capfd.readouterr()
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        shown = capfd.readouterr()
        return Ended(code, shown.out, shown.err)

    return run


@pytest.fixture
def folder(tmp_path: Path, adult: pa.Table, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    write_tables(tmp_path, adult)
    monkeypatch.chdir(tmp_path)
    with only("expected_value_gaussian"):
        yield tmp_path


@pytest.fixture
def holding() -> Iterator[None]:
    """Plan with noise that holds for every policy, and is made at once."""
    with only("group_privacy_gaussian"):
        yield


@pytest.mark.usefixtures("folder", "holding")
def test_from_a_first_policy_to_a_second_release(run: Run, folder: Path) -> None:
    assert run("init").code == 0
    assert run("init").code == 2
    assert "is left alone" in run("init").err
    planned = run("plan", "policy.toml", "--json")
    assert (planned.code, planned.json["chosen"]) == (0, "group_privacy_gaussian")
    early = run("release", "policy.toml", "--out", "one", "--json")
    assert early.code == 1
    assert "make it once, on purpose, with `distpriv ledger POLICY --create`" in early.err
    assert run("ledger", "policy.toml", "--create").code == 0
    released = run("release", "policy.toml", "--out", "one", "--json")
    assert (released.code, released.json["repeated"]) == (0, False)
    assert run("verify", "one/release.json", "--json").json["holds"]
    again = run("release", "policy.toml", "--out", "two", "--json")
    assert again.json["values"] == released.json["values"]
    assert again.json["repeated"]
    assert (folder / "one" / "release.json").read_bytes() == (folder / "two" / "release.json").read_bytes()
    listed = run("ledger", "policy.toml", "--json").json["datasets"][0]["releases"]
    assert [entry["values"] for entry in listed] == [released.json["values"]]
    assert run("plan", "policy.toml", "--json").json["answered_in"] == 1


def test_a_share_that_records_cannot_have_is_refused_or_the_nearest_is_named_and_verified(
    run: Run, folder: Path
) -> None:
    write_policy(folder, ("values = [0.45, 0.55]", "values = [0.45, 0.5549]"))
    refused = run("plan", "policy.toml")
    assert refused.code == 2
    assert "0.55 (55 records) or 0.56 (56 records)" in refused.err
    assert "or say nearest = true." in refused.err
    write_policy(folder, ("values = [0.45, 0.55]", "values = [0.45, 0.5549]\nnearest = true"))
    assert "Of 100 records the nearest is taken: 55 (55 %) for 55.49 %." in run("plan", "policy.toml").out
    assert run("release", "policy.toml", "--out", "near").code == 0
    assert run("verify", "near/release.json", "--json").json["holds"]


def test_an_audit_goes_to_standard_output_and_into_the_report(run: Run, folder: Path) -> None:
    policy = write_policy(folder)
    audited = run("audit", policy, "--releases", 2000, "--json")
    assert (audited.code, audited.json["failed"], audited.json["releases"]) == (0, False, 2000)
    with only("expected_value_gaussian", page=True):
        assert run("release", policy, "--out", "one", "--audit", "--releases", 2000).code == 0
    assert "Audit passed" in (folder / "one" / "report.html").read_text(encoding="utf-8")
    assert json.loads((folder / "one" / "audit.json").read_text(encoding="utf-8"))["releases"] == 2000


@pytest.mark.slow
def test_an_audit_that_comes_later_is_put_into_the_bundle_it_is_about(run: Run, folder: Path) -> None:
    policy = write_policy(folder)
    with only("expected_value_gaussian", page=True):
        assert run("release", policy, "--out", "one").code == 0
        before = json.loads((folder / "one" / "release.json").read_bytes())
        assert "Audit passed" not in (folder / "one" / "report.html").read_text(encoding="utf-8")
        assert run("audit", policy, "--releases", 2000, "--bundle", "one").code == 0
    assert "Audit passed" in (folder / "one" / "report.html").read_text(encoding="utf-8")
    after = json.loads((folder / "one" / "release.json").read_bytes())
    assert {**after, "manifest": before["manifest"]} == before
    assert sorted({*after["manifest"]} - {*before["manifest"]}) == ["audit.json"]
    assert run("verify", "one").code == 0
    assert len(list((folder / "one").iterdir())) == 5
    other = write_policy(folder, ('id = "ward"', 'id = "other"'), name="other.toml")
    refused = run("audit", other, "--releases", 2000, "--bundle", "one")
    assert (refused.code, refused.out) == (2, "")
    assert "not the bundle" in refused.err


def test_what_does_not_hold_has_exit_code_1(run: Run, folder: Path) -> None:
    policy = write_policy(folder)
    with only("no_noise"):
        planned = run("plan", policy)
        assert planned.code == 1
        refused = run("release", policy, "--out", "one")
        assert refused.code == 1
        assert one_line(refused.err)
    assert not (folder / "one").exists()
    run("release", policy, "--out", "one")
    file = folder / "one" / "release.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    document["certificate"]["delta"] /= 10
    file.write_text(json.dumps(document), encoding="utf-8")
    verdict = run("verify", file)
    assert verdict.code == 1
    assert one_line(verdict.err)
    assert run("verify", file, "--ledger", "no address").code == 2


def test_a_ledger_that_cannot_be_written_shows_nothing(run: Run, folder: Path) -> None:
    policy = write_policy(folder, ("sqlite:///ledger.db", "sqlite:///nowhere/ledger.db"))
    refused = run("release", policy, "--out", "one")
    assert (refused.code, refused.out) == (1, "")
    assert "nothing was released" in refused.err
    assert not (folder / "one").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="the super-user may write everywhere")
def test_a_folder_that_may_not_be_written_shows_nothing(run: Run, folder: Path) -> None:
    policy = write_policy(folder)
    folder.chmod(0o555)
    refused = run("release", policy, "--out", "one")
    folder.chmod(0o755)
    assert (refused.code, refused.out) == (2, "")


def one_line(text: str) -> bool:
    return bool(re.fullmatch(r"distpriv: .+\n", text))


@pytest.mark.parametrize("name", [*WRONG][::8])
def test_a_wrong_policy_is_one_line_exit_code_2_and_no_file(
    run: Run, adult_file: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "adult.parquet").symlink_to(adult_file)
    (tmp_path / "policy.toml").write_text(WRONG[name][0], encoding="utf-8")
    Ledger.create(f"sqlite:///{tmp_path / 'ledger.db'}")
    before = sorted(tmp_path.iterdir())
    for command in (["plan", "--json"], ["release", "--out", str(tmp_path / "out")]):
        ended = run(command[0], tmp_path / "policy.toml", *command[1:])
        assert (ended.code, ended.out) == (2, "")
        assert one_line(ended.err)
    assert sorted(tmp_path.iterdir()) == before


@pytest.fixture(scope="module")
def adult_file(tmp_path_factory: pytest.TempPathFactory, adult: pa.Table) -> Path:
    folder = tmp_path_factory.mktemp("adult")
    write_tables(folder, adult)
    return folder / "adult.parquet"


@pytest.mark.parametrize(
    "arguments",
    [
        ["plan", "nothing.toml"],
        ["verify", "nothing.json"],
        ["ledger", "sqlite:///nothing.db"],
        ["ledger", "nosuch://here"],
        ["init", "nowhere/policy.toml"],
        ["init", "new.toml", "--from", "nothing.parquet"],
        ["audit", "policy.toml", "--releases", "3"],
        ["release", "policy.toml", "--out", "out", "--audit", "--releases", "3"],
    ],
)
def test_wrong_arguments_are_one_line_and_no_file(run: Run, folder: Path, arguments: list[str]) -> None:
    write_policy(folder)
    before = sorted(folder.iterdir())
    ended = run(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert one_line(ended.err)
    assert sorted(folder.iterdir()) == before


def test_a_first_policy_from_a_table_calls_it_as_its_own_folder_sees_it(run: Run, folder: Path) -> None:
    (folder / "policies").mkdir()
    assert run("init", "policies/first.toml", "--from", "adult.parquet", "--json").json == {
        "policy": "policies/first.toml",
        "left_out": {},
    }
    assert 'reference = "../adult.parquet"' in (folder / "policies" / "first.toml").read_text(encoding="utf-8")


def test_every_error_has_its_exit_code() -> None:
    for name in errors.__all__:
        refusal = getattr(errors, name)("why")
        assert exit_code(refusal) == (2 if isinstance(refusal, errors.InvalidInput) else 1), name
