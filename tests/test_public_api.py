import re
from pathlib import Path

import yaml
from scripts.api_snapshot import FILE, snapshot
from scripts.package_page import PAGE, package_text

import distpriv

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"


def test_no_public_name_and_no_parameter_changes_unnoticed() -> None:
    """Run `python -m scripts.api_snapshot` to renew the file, after reading docs/reference/versions.md."""
    assert FILE.read_text(encoding="utf-8").splitlines() == snapshot().splitlines()


def test_the_snapshot_has_every_public_name_and_no_place_in_memory() -> None:
    lines = snapshot().splitlines()
    named = {re.split(r"[(:]", line)[0] for line in lines}
    assert {f"distpriv.{name}" for name in distpriv.__all__} <= named
    assert "distpriv.mechanisms.certified_gaussian" in named
    assert "distpriv.Ledger.create(url, *, exist_ok=False)" in lines
    assert not [line for line in lines if "0x" in line]


def test_what_a_package_index_shows_is_the_readme_without_links_into_the_repository() -> None:
    """Run `python -m scripts.package_page` after changing the README."""
    shown = PAGE.read_text(encoding="utf-8")
    assert shown == package_text((ROOT / "README.md").read_text(encoding="utf-8"))
    assert not re.search(r"\]\((?!https://)", shown)


def test_a_change_is_judged_elsewhere_by_the_same_commands_as_here() -> None:
    jobs = yaml.safe_load((GITHUB / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    everything = jobs["everything"]
    assert everything["strategy"]["matrix"]["system"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    assert [step["run"] for step in everything["steps"] if "run" in step][-1] == ".ci/run"
    assert (ROOT / ".ci" / "run").exists()
    assert (ROOT / "scripts" / "core_alone.py").exists()


def test_every_form_for_issues_asks_for_something_and_says_what_it_is() -> None:
    forms = [file for file in (GITHUB / "ISSUE_TEMPLATE").iterdir() if file.name != "config.yml"]
    assert len(forms) == 3
    for file in forms:
        form = yaml.safe_load(file.read_text(encoding="utf-8"))
        assert form["name"]
        assert form["description"]
        fields = [field for field in form["body"] if field["type"] != "markdown"]
        assert any(field.get("validations", {}).get("required") for field in fields)
        assert len({field["id"] for field in fields}) == len(fields)


def test_types_are_shipped() -> None:
    assert (Path(distpriv.__file__).parent / "py.typed").exists()
