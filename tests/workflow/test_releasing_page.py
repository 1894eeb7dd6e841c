import json
import re
from pathlib import Path

import typer
from tests.workflow.small import only, write_policy, write_tables

import distpriv as dp
from distpriv.cli.app import app
from distpriv.workflow.release_policy import release_policy

DOCS = Path(__file__).parents[2] / "docs"


def test_every_command_and_every_key_is_on_its_page(tmp_path: Path) -> None:
    page = (DOCS / "reference" / "cli.md").read_text(encoding="utf-8")
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert set(re.findall(r"`distpriv ([\w-]+)", page)) >= set(commands)
    write_tables(tmp_path, dp.datasets.adult())
    with only("expected_value_gaussian"):
        bundle = release_policy(str(write_policy(tmp_path)), tmp_path / "out")
    keys = set(json.loads((bundle.folder / "release.json").read_text(encoding="utf-8"))) - {"distpriv"}
    table = page.split("Keys of `release.json`")[1].split("\n## ")[0]
    listed = {key for row in re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE) for key in re.findall(r"`(\w+)`", row)}
    assert listed == keys
