import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from tests.workflow.small import only, write_policy, write_tables

import distpriv as dp
from distpriv.cli.app import app
from distpriv.workflow.releasing import release_policy

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.slow
def test_the_commands_of_the_page_do_what_it_says(tmp_path: Path) -> None:
    page = (DOCS / "releasing.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    commands = re.findall(r"^\$ distpriv (.*)$", page, flags=re.MULTILINE)
    assert [command.split()[0] for command in commands[:5]] == ["init", "plan", "audit", "release", "verify"]
    said = {}
    for command in commands:
        ended = subprocess.run(
            [sys.executable, "-m", "distpriv", *shlex.split(command)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, (command, ended.stderr)
        assert ended.stderr == ""
        said[command.split()[0]] = ended.stdout
    assert (tmp_path / "bundle" / "release.json").read_bytes() == (tmp_path / "again" / "release.json").read_bytes()
    assert "shown again as it was released" in said["release"]
    assert "1 release\n" in said["ledger"]


def test_every_command_and_every_key_is_on_its_page(tmp_path: Path) -> None:
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert set(re.findall(r"`distpriv (\w+)", page)) >= set(commands)
    write_tables(tmp_path, dp.datasets.adult())
    with only("expected_value_gaussian"):
        bundle = release_policy(str(write_policy(tmp_path)), tmp_path / "out")
    keys = set(json.loads((bundle.folder / "release.json").read_text(encoding="utf-8"))) - {"distpriv"}
    table = page.split("Keys of `release.json`")[1].split("\n## ")[0]
    listed = {key for row in re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE) for key in re.findall(r"`(\w+)`", row)}
    assert listed == keys
