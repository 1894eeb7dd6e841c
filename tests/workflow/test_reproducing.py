import json
from io import StringIO
from pathlib import Path

import pytest
from attrs import evolve
from rich.console import Console
from typer.testing import CliRunner

from distpriv.cli.app import app
from distpriv.cli.reproduce import show_page
from distpriv.errors import InvalidInput
from distpriv.experiments.setting import Setting
from distpriv.workflow import reproducing as workflow
from distpriv.workflow.reproducing import reproduce

SETTING = Setting(protocol="paper", repetitions=4, subsets=50, shadows=20, tests=20, attackers=4, strong_repetitions=2)


def test_a_run_writes_numbers_pictures_and_one_page(tmp_path: Path) -> None:
    found = reproduce(["table_2", "figure_5"], setting=SETTING, out=tmp_path)
    folder = tmp_path / "paper"
    assert found.computed == ("table_2", "figure_5")
    assert sorted(path.name for path in folder.iterdir()) == [
        "figure_5.json",
        "figure_5_female.png",
        "figure_5_female.svg",
        "figure_5_mean_age.png",
        "figure_5_mean_age.svg",
        "reproduction.html",
        "table_2.json",
        "times.json",
    ]
    assert set(json.loads((folder / "times.json").read_text())) == {"table_2", "figure_5"}
    assert found.page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_what_is_there_is_not_run_again_and_stays_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = reproduce(["table_1", "figure_5"], setting=SETTING, out=tmp_path)
    written = {path: path.read_bytes() for path in (tmp_path / "paper").iterdir()}
    monkeypatch.setattr(workflow, "run", None)
    again = reproduce(["figure_5"], setting=SETTING, out=tmp_path)
    assert again.computed == ()
    assert again.results == first.results
    assert {path: path.read_bytes() for path in (tmp_path / "paper").iterdir()} == written


@pytest.mark.parametrize("changed", ["seed", "version", "sizes", "broken"])
def test_what_was_run_otherwise_is_run_again(changed: str, tmp_path: Path) -> None:
    reproduce(["table_1"], setting=SETTING, out=tmp_path)
    path = tmp_path / "paper" / "table_1.json"
    written = json.loads(path.read_text())
    if changed == "version":
        written["versions"]["distpriv"] = "0.0.1"
    elif changed == "broken":
        del written["mechanisms"]
    path.write_text(json.dumps(written))
    other = {"seed": Setting(protocol="paper", seed=1, subsets=50), "sizes": Setting(protocol="paper", subsets=51)}
    found = reproduce(["table_1"], setting=other.get(changed, SETTING), out=tmp_path)
    assert found.computed == ("table_1",)


def test_what_both_protocols_have_in_common_is_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reproduce(["table_1"], setting=SETTING, out=tmp_path)
    monkeypatch.setattr(workflow, "run", None)
    exact = evolve(SETTING, protocol="exact")
    found = reproduce(["table_1"], setting=exact, out=tmp_path)
    assert found.computed == ()
    assert found.results["table_1"].setting == exact
    assert json.loads((tmp_path / "exact" / "table_1.json").read_text())["setting"]["protocol"] == "exact"


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="folder"):
        reproduce(["table_1"], setting=SETTING, out=tmp_path / "file")


def test_the_command_prints_a_summary_and_names_the_page(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["reproduce", "table_1", "figure_5", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "2 of 2 published numbers" in done.output
    assert str(tmp_path / "exact" / "reproduction.html") in done.output.replace("\n", "")


def test_the_command_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["reproduce", "figure_9", "--out", str(tmp_path)])
    assert isinstance(done.exception, InvalidInput)
    done = CliRunner().invoke(app, ["reproduce", "--protocol", "notebook", "--out", str(tmp_path)])
    assert "'paper' or 'exact'" in str(done.exception)


def test_the_demonstration_ends_by_naming_its_page(tmp_path: Path) -> None:
    shown = StringIO()
    show_page(Console(file=shown, width=500), tmp_path)
    last = shown.getvalue().strip().splitlines()[-1]
    assert last.endswith(str(tmp_path / "exact" / "reproduction.html"))
    assert (tmp_path / "exact" / "reproduction.html").exists()
