import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from distpriv.cli.demo import show_demo
from distpriv.errors import InvalidInput


@pytest.mark.slow
def test_the_demo_goes_the_whole_way_and_names_the_page_it_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = StringIO()
    show_demo(Console(file=shown, width=140))
    told = shown.getvalue()
    assert told.rstrip().endswith("report.html")
    printed = capsys.readouterr().out
    assert "certified_gaussian" in printed
    assert all(len(step.splitlines()) <= 24 for step in printed.split("next: "))
    bundle = json.loads((tmp_path / "distpriv-demo" / "bundle" / "release.json").read_text())
    assert bundle["certificate"]["holds"]
    assert (tmp_path / told.split()[-1]).exists()


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("years of work")
    with pytest.raises(InvalidInput, match="not made by the demonstration"):
        show_demo(Console(file=StringIO()), str(tmp_path / "precious"))
    assert (tmp_path / "precious" / "thesis.txt").exists()
