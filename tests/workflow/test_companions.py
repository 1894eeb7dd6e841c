"""What archives and output checkers read of a bundle."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import openpyxl
import pyarrow as pa
import pytest
from tests.workflow.forging import accepted, without_companions
from tests.workflow.shared import is_one_sentence, policy_from
from tests.workflow.small import POLICY, only, write_policy, write_tables

from distpriv.errors import InvalidPolicy
from distpriv.framework.workbooks import workbook
from distpriv.workflow.companions import completed
from distpriv.workflow.output_checking import NOT_RUN
from distpriv.workflow.release_policy import release_policy
from distpriv.workflow.verifying import verify_bundle

NAMED = '[release]\ntitle = "Ages in ward <7>"\nlicense = "CC-BY-4.0"\n'
TABLE = '[release.tables.people]\ncount = true\nby = ["sex"]\n\n[[protect]]'

OUTPUTS = {
    "type": "object",
    "required": ["version", "results"],
    "properties": {
        "version": {"type": "string", "pattern": r"^0\.[4-9]\.\d+$"},
        "results": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {
                "type": "object",
                "required": [
                    "uid", "status", "type", "properties", "files", "outcome", "command", "summary", "timestamp",
                    "comments", "exception",
                ],
                "properties": {
                    "uid": {"type": "string"},
                    "status": {"enum": ["pass", "fail", "review"]},
                    "type": {"enum": ["table", "regression", "survival plot", "histogram", "pie chart", "custom"]},
                    "properties": {"type": "object", "properties": {"method": {"type": "string"}}},
                    "files": {
                        "type": "array",
                        "minItems": 1,
                        "items": {
                            "type": "object",
                            "required": ["name", "sdc"],
                            "properties": {
                                "name": {"type": "string"},
                                "sdc": {"type": "object", "properties": {"cells": {"type": "object"}}},
                            },
                        },
                    },
                    "outcome": {"type": "object"},
                    "command": {"type": "string"},
                    "summary": {"type": "string", "pattern": "^(pass|fail|review)"},
                    "timestamp": {"type": "string", "format": "date-time"},
                    "comments": {"type": "array", "items": {"type": "string"}},
                    "exception": {"type": "string"},
                },
            },
        },
    },
}  # fmt: skip
"""What the SACRO Viewer needs of a results file, and ACRO writes."""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory, adult: pa.Table) -> Path:
    """A bundle with everything that one can have but an audit."""
    folder = tmp_path_factory.mktemp("companions")
    write_tables(folder, adult)
    policy = write_policy(folder, ("[release]\n", NAMED), ("[[protect]]", TABLE))
    with only("group_privacy_laplace", page=True):
        return release_policy(str(policy), folder / "out", excel=True).folder


@pytest.fixture
def copied(bundle: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bundle, tmp_path / "copied"))


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def refitted(folder: Path, **changed: str | bytes) -> Path:
    """Write files of a bundle, and fit every digest to them, those of files that digests are in among them."""
    for name, content in changed.items():
        put(folder, name.replace("__", "-").replace("_json", ".json").replace("_xlsx", ".xlsx"), content)
    document = read(folder / "release.json")
    names = [path.name for path in folder.iterdir() if path.is_file() and path.name != "release.json"]
    document["manifest"] = {name: digest(folder / name) for name in sorted(names)}
    put(folder, "release.json", json.dumps(document))
    for name in [*names, "release.json"]:
        put(folder, f"checksums/{name}.txt", digest(folder / name))
    return folder


def put(folder: Path, name: str, content: str | bytes) -> None:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def entities(folder: Path) -> dict[str, dict[str, Any]]:
    return {each["@id"]: each for each in read(folder / "ro-crate-metadata.json")["@graph"]}


def test_a_bundle_with_all_that_others_read_holds(bundle: Path) -> None:
    verdict = verify_bundle(bundle)
    assert verdict.holds, str(verdict)
    assert "release.xlsx, report.html, results.json, ro-crate-metadata.json" in str(verdict)


def test_a_bundle_of_before_these_files_still_holds(copied: Path) -> None:
    assert verify_bundle(without_companions(copied)).holds


def test_the_metadata_describe_every_file_as_it_is(bundle: Path) -> None:
    found = entities(bundle)
    files = sorted(path.name for path in bundle.iterdir() if path.is_file())
    described = [name for name, each in found.items() if each["@type"] == "File"]
    assert sorted([*described, "ro-crate-metadata.json"]) == files
    assert {part["@id"] for part in found["./"]["hasPart"]} == {*described, "checksums/"}
    for name in set(described) - {"release.json"}:
        assert found[name]["sha256"] == digest(bundle / name)
        assert found[name]["contentSize"] == str((bundle / name).stat().st_size)
    assert found["release.csv"]["encodingFormat"] == "text/csv"
    document = read(bundle / "release.json")
    assert found["./"]["name"] == "Ages in ward <7>"
    assert found["./"]["datePublished"] == document["time"]
    assert found["./"]["license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}
    assert found["#distpriv"]["version"] == document["distpriv"]
    assert found["#epsilon"]["value"] == document["certificate"]["epsilon"]


def test_without_a_licence_in_the_policy_the_metadata_say_that_none_is_named(bundle: Path) -> None:
    document = read(bundle / "release.json")
    del document["policy"]["release"]["license"]
    named = json.loads(completed(document, {})[1]["ro-crate-metadata.json"])["@graph"][-1]
    assert (named["@id"], named["name"]) == ("#license", "No licence is named")


@pytest.mark.parametrize("text", ["", " ", "two\\nlines"])
def test_a_licence_is_a_line_of_text(text: str) -> None:
    written = POLICY.replace("[release]\n", f'[release]\nlicense = "{text}"\n')
    with pytest.raises(InvalidPolicy, match=r"release\.license: a licence is named by a line of text") as refusal:
        policy_from(written)
    assert is_one_sentence(str(refusal.value))


def test_the_results_are_as_the_viewer_of_output_checkers_reads_them(bundle: Path) -> None:
    found = read(bundle / "results.json")
    jsonschema.validate(found, OUTPUTS)
    assert {uid: [file["name"] for file in each["files"]] for uid, each in found["results"].items()} == {
        "release": ["release.csv", "release.xlsx"],
        "tables": ["table_people.csv", "table_people_wide.csv"],
        "evidence": ["release.json", "policy.toml", "report.html"],
    }
    for each in found["results"].values():
        for file in each["files"]:
            checksum = (bundle / "checksums" / f"{file['name']}.txt").read_text(encoding="utf-8")
            assert checksum == digest(bundle / file["name"])


def test_no_other_json_of_a_bundle_can_be_taken_for_results(bundle: Path) -> None:
    """The viewer opens the one file of a folder that has a version and results, and refuses a folder with two."""
    taken = [path.name for path in bundle.glob("*.json") if {"version", "results"} <= set(read(path))]
    assert taken == ["results.json"]


def test_a_checker_is_told_that_no_check_for_persons_was_made_and_nothing_passes_by_itself(bundle: Path) -> None:
    for each in read(bundle / "results.json")["results"].values():
        assert (each["status"], each["summary"], each["comments"][0]) == ("review", "review", NOT_RUN)


def test_sentences_that_a_viewer_shows_as_html_hold_nothing_of_the_policy(bundle: Path) -> None:
    text = json.dumps([each["comments"] for each in read(bundle / "results.json")["results"].values()])
    assert not set("<>&") & set(text)
    assert "never_married" not in text


def forge_size(folder: Path) -> Path:
    text = (folder / "ro-crate-metadata.json").read_text(encoding="utf-8")
    return refitted(folder, ro__crate__metadata_json=text.replace('"contentSize": "', '"contentSize": "9', 1))


def forge_version(folder: Path) -> Path:
    found = read(folder / "ro-crate-metadata.json")
    next(each for each in found["@graph"] if each["@id"] == "#distpriv")["version"] = "9.9.9"
    return refitted(folder, ro__crate__metadata_json=json.dumps(found))


def forge_status(folder: Path) -> Path:
    text = (folder / "results.json").read_text(encoding="utf-8")
    return refitted(folder, results_json=text.replace('"status": "review"', '"status": "pass"'))


def forge_epsilon(folder: Path) -> Path:
    found = read(folder / "results.json")
    found["results"]["release"]["properties"]["epsilon"] = 0.001
    return refitted(folder, results_json=json.dumps(found))


def no_json(folder: Path) -> Path:
    return refitted(folder, results_json="[")


def forge_checksum(folder: Path) -> Path:
    put(folder, "checksums/release.csv.txt", "0" * 64)
    return folder


def add_checksum(folder: Path) -> Path:
    put(folder, "checksums/approval.txt", "0" * 64)
    return folder


def lose_checksum(folder: Path) -> Path:
    (folder / "checksums" / "release.json.txt").unlink()
    return folder


def link_checksums(folder: Path) -> Path:
    shutil.move(folder / "checksums", folder.parent / "elsewhere")
    (folder / "checksums").symlink_to(folder.parent / "elsewhere")
    return folder


def forge_workbook(folder: Path) -> Path:
    return refitted(folder, release_xlsx=workbook({"numbers": [["statistic"], ["age"]]}))


def hide_in_workbook(folder: Path) -> Path:
    """Show every number as another, in a workbook with the same cells."""
    written = io.BytesIO()
    with zipfile.ZipFile(folder / "release.xlsx") as old, zipfile.ZipFile(written, "w") as new:
        for name in old.namelist():
            shown = old.read(name).replace(b'numFmtId="0"', b'numFmtId="9"') if "styles" in name else old.read(name)
            new.writestr(name, shown)
    return refitted(folder, release_xlsx=written.getvalue())


def no_workbook(folder: Path) -> Path:
    return refitted(folder, release_xlsx=b"PK")


@pytest.mark.parametrize(
    "forge",
    [
        forge_size, forge_version, forge_status, forge_epsilon, no_json, forge_checksum, add_checksum, lose_checksum,
        link_checksums, forge_workbook, no_workbook, hide_in_workbook,
    ],
)  # fmt: skip
def test_what_others_read_may_not_say_something_else(copied: Path, forge: Callable[[Path], Path]) -> None:
    assert not accepted(forge(copied))


def test_a_workbook_that_shows_other_numbers_is_named_with_what_does_so(copied: Path) -> None:
    found = verify_bundle(hide_in_workbook(copied)).sentence
    assert "'release.xlsx' is no workbook as a release writes it: this workbook has numFmtId '9' of 'xf'" in found


def test_files_are_not_said_to_say_what_nobody_checked(bundle: Path) -> None:
    (files,) = [check.found for check in verify_bundle(bundle).checks if check.name == "files"]
    assert "; all but report.html say what it says" in files


def test_refitting_alone_is_no_forgery(copied: Path) -> None:
    assert accepted(refitted(copied))


def test_the_workbook_has_every_number_in_full(bundle: Path) -> None:
    document = read(bundle / "release.json")
    book = openpyxl.load_workbook(bundle / "release.xlsx", data_only=False)
    assert book.sheetnames == ["numbers", "table people", "certificate", "assumptions"]
    rows = list(book["numbers"].values)
    named = {row[0]: dict(zip(rows[0], row, strict=True)) for row in rows[1:]}
    for name, value in document["values"].items():
        assert named[name]["noisy_value"] == pytest.approx(value, rel=1e-14)
        assert named[name]["estimate"] == pytest.approx(document["estimates"][name], rel=1e-14)
        assert [named[name]["low"], named[name]["high"]] == pytest.approx(document["estimate_intervals"][name])
    promised = {row[0]: row[1] for row in book["certificate"].values}
    assert promised["epsilon"] == document["certificate"]["epsilon"]
    assert (promised["holds"], promised["mechanism"]) == (True, "group_privacy_laplace")


@pytest.fixture(scope="session")
def validator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The Python of an environment with roc-validator, which wants an older Rich than this one has."""
    folder = tmp_path_factory.mktemp("validator")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
    free = {key: value for key, value in os.environ.items() if key != "PIP_CONSTRAINT"}  # which names this one's Rich
    for packages in (["roc-validator==0.13.0"], ["--no-deps", "rocrate==0.13.0"]):
        done = subprocess.run([*install, *packages], capture_output=True, text=True, check=False, env=free)
        if done.returncode:
            pytest.skip(f"roc-validator cannot be installed here: {done.stderr.strip().splitlines()[-1]}")
    yield python
    shutil.rmtree(folder)


@pytest.mark.slow
def test_an_independent_validator_finds_nothing_that_rocrate_requires_missing(
    bundle: Path, copied: Path, validator: Path
) -> None:
    program = Path(__file__).with_name("validate_crate.py")

    def issues(folder: Path) -> list[str]:
        done = subprocess.run([validator, program, folder], capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        assert found["checks"] > 50
        return [str(issue) for issue in found["issues"]]

    left = issues(bundle)
    assert len(left) == 2
    assert all("author" in issue or "publisher" in issue for issue in left)  # whom a policy does not name
    text = (copied / "ro-crate-metadata.json").read_text(encoding="utf-8")
    put(copied, "ro-crate-metadata.json", text.replace('"datePublished"', '"dateCreated"'))
    assert any(issue.startswith("REQUIRED") for issue in issues(copied))
