"""A bundle as a workbook, a notebook, an RO-Crate and a folder for output checkers, each opened by what reads it."""

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jsonschema
import nbclient
import nbformat
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.workflow.small import only, write_policy, write_tables

import distpriv as dp
from distpriv.bundle import verify_bundle
from distpriv.bundle.exporting.acro import NOT_RUN
from distpriv.bundle.exporting.export import export_bundle
from distpriv.bundle.exporting.notebook import notebook
from distpriv.errors import InvalidInput
from distpriv.framework.records import json_text, plain
from distpriv.policy import read_policy
from distpriv.releasing.record import ModelRecord
from distpriv.workflow.release_policy import release_policy

EVIL = '\\"\\"\\") or __import__(\'os\').abort() #'
RELEASE = "[release]\nrecords = 100\n\n[release.statistics]\n"
NAMED = (
    '[release]\ntitle = "Ages in ward <7>"\nlicense = "CC-BY-4.0"\nrecords = 100\n\n[release.statistics]\n'
    f'"=1+1" = "mean(hours_per_week)"\n"{EVIL}" = "mean(education_num)"\n'
)
TABLE = '[release.tables.people]\ncount = true\nby = ["sex"]\n\n[[protect]]'
SHARE = "share = \"income = '>50K'\"\nvalues = [0.45, 0.55]\n"
FORMATS = ("xlsx", "notebook", "ro-crate", "acro")

OUTPUTS = {
    "type": "object",
    "required": ["version", "results"],
    "properties": {
        "version": {"const": "1.0.2"},
        "results": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {
                "type": "object",
                "required": [
                    "uid", "status", "type", "properties", "files", "fair", "outcome", "command", "summary",
                    "timestamp", "comments", "exception",
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
                            "properties": {"name": {"type": "string"}, "sdc": {"type": "object"}},
                        },
                    },
                    "fair": {"type": "object"},
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
"""What ACRO 1.0.2 reads and writes, and the SACRO Viewer needs."""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory, adult: pa.Table) -> Path:
    """A bundle with a table, a title, a licence, and names that are formulas and code."""
    folder = tmp_path_factory.mktemp("exporting")
    write_tables(folder, adult)
    policy = write_policy(folder, (RELEASE, NAMED), ("[[protect]]", TABLE))
    with only("group_privacy_laplace"):
        return release_policy(str(policy), folder / "out").folder


@pytest.fixture
def copied(bundle: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bundle, tmp_path / "copied"))


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def exported(bundle: Path, to: str, folder: Path) -> Path:
    return export_bundle(str(bundle), to, str(folder / "exported"))


def test_a_workbook_has_every_number_and_no_formula(bundle: Path, tmp_path: Path) -> None:
    document = read(bundle / "release.json")
    book = openpyxl.load_workbook(export_bundle(str(bundle), "xlsx", str(tmp_path / "release.xlsx")))
    assert book.sheetnames == ["numbers", "table people", "certificate", "evidence"]
    head, *rows = book["numbers"].values
    named = {row[0]: dict(zip(head, row, strict=True)) for row in rows}
    assert list(named) == list(document["values"])
    for name, value in document["values"].items():
        assert named[name]["noisy_value"] == pytest.approx(value, rel=1e-14)
        assert named[name]["estimate"] == pytest.approx(document["estimates"][name], rel=1e-14)
        assert [named[name]["low"], named[name]["high"]] == pytest.approx(document["estimate_intervals"][name])
    assert [row[0] for row in book["table people"].values] == ["sex", "Female", "Male"]
    promised = {row[0]: row[1] for row in book["certificate"].values}
    assert (promised["epsilon"], promised["holds"]) == (document["certificate"]["epsilon"], True)
    assert {cell.data_type for sheet in book for row in sheet for cell in row} <= {"s", "n", "b"}
    assert book["numbers"]["A2"].value == "=1+1"


def test_a_workbook_without_its_extra_says_what_to_install(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(InvalidInput, match=r"^a workbook needs openpyxl, .*pip install 'distpriv\[excel\]'\.$"):
        exported(bundle, "xlsx", tmp_path)


def test_a_notebook_runs_and_shows_the_numbers(copied: Path) -> None:
    made = nbformat.read(export_bundle(str(copied), "notebook"), as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(made)
    nbclient.NotebookClient(made, resources={"metadata": {"path": str(copied.parent)}}).execute()
    shown = made.cells[1].outputs[0].text
    for name, value in read(copied / "release.json")["values"].items():
        assert name in shown
        assert f"{value:.6g}" in shown


def functions(document: dict[str, Any]) -> dict[str, Any]:
    """Return what the last cell of a notebook defines."""
    found: dict[str, Any] = {"dp": dp}
    exec(json.loads(notebook(document, "out"))["cells"][-1]["source"], found)
    return found


def test_a_notebook_plans_the_same_and_is_given_the_same_answer(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bundle.parent)
    document = read(bundle / "release.json")
    found = functions(document)
    with only("group_privacy_laplace"):
        plan = found["planned"]()
        again = found["released"]("private.parquet", dp.Ledger.open("sqlite:///ledger.db"))
    assert plain(ModelRecord.of(plan.model)) == document["evidence"]["model"]
    assert plain(plan.mechanism.noise) == document["noise"]
    assert (again.repeated, again.values) == (True, document["values"])


WOMEN = "share = \"sex = 'Female'\"\nbetween = [0.3, 0.4]\nwithin = 0.1\n"
KINDS: dict[str, tuple[tuple[str, str], ...]] = {
    "several secrets": ((SHARE, f"{SHARE}\n[[protect]]\n{WOMEN}"),),
    "combinations": (
        (SHARE, f'{SHARE}combined = true\n[[protect]]\nmean = "hours_per_week"\nvalues = [40, 42]\ncombined = true\n'),
    ),
    "a correlation": ((SHARE, 'correlation = ["age", "education_num"]\nvalues = [0.0, 0.1]\n'),),
    "scenarios": (
        (SHARE, 'scenarios = {"boom" = "boom.parquet", "say \\"bust\\"" = "bust.parquet"}\n'),
        ('reference = "adult.parquet"\n', ""),
    ),
    "a shift": (
        (SHARE, 'shift = {boom = "boom.parquet", bust = "bust.parquet"}\nvalues = [0, 0.3]\n'),
        ('reference = "adult.parquet"\n', ""),
    ),
    "other references, each with a ball": (
        ("[model]\n", "[model]\nrobust = 1e-7\n"),
        ('"adult.parquet"\n', '"adult.parquet"\nrobust = ["boom.parquet", "bust.parquet"]\n'),
    ),
    "everything about privacy": (
        (
            "epsilon = 1.0\ndelta = 0.01\n",
            'max_attack_accuracy = 0.75\ndelta = 0.01\nassurance = "proved"\nobjective = "noise"\n'
            'mechanisms = ["group_privacy_gaussian", "group_privacy_laplace"]\naudit = "required"\n'
            "weights = {age = 2, never_married = 0.5}\nmax_error = {age = 200}\n",
        ),
        ("epsilon = 2.0\ndelta = 0.02\n", ""),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_notebook_asks_for_what_its_policy_asks(
    tmp_path: Path, adult: pa.Table, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tables(tmp_path, adult)
    pq.write_table(adult.slice(0, 800), tmp_path / "boom.parquet")
    pq.write_table(adult.slice(800, 800), tmp_path / "bust.parquet")
    monkeypatch.chdir(tmp_path)
    policy = read_policy(write_policy(tmp_path, *KINDS[kind]))
    with patch("distpriv.plan") as planned:
        functions({"policy": policy.to_dict(), "question": None})["planned"]()
    (model, target), settings = planned.call_args
    assert ModelRecord.of(model) == ModelRecord.of(policy.model())
    assert target == policy.target
    assert (settings["assurance"], settings["objective"]) == (policy.assurance, policy.objective)
    assert (settings["weights"], settings["max_error"]) == (policy.weights, policy.max_error)


def test_a_crate_describes_every_file_as_it_is(bundle: Path, tmp_path: Path) -> None:
    crate = exported(bundle, "ro-crate", tmp_path)
    graph = read(crate / "ro-crate-metadata.json")["@graph"]
    found = {each["@id"]: each for each in graph}
    described = [name for name, each in found.items() if each["@type"] == "File"]
    assert sorted([*described, "ro-crate-metadata.json"]) == sorted(path.name for path in crate.iterdir())
    assert sorted(described) == sorted(path.name for path in bundle.iterdir())
    assert [part["@id"] for part in found["./"]["hasPart"]] == described
    for name in described:
        content = (bundle / name).read_bytes()
        assert found[name]["sha256"] == hashlib.sha256(content).hexdigest()
        assert found[name]["contentSize"] == str(len(content))
    assert found["ro-crate-metadata.json"]["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    assert found["release.csv"]["encodingFormat"] == "text/csv"
    assert found["./"]["name"] == "Ages in ward <7>"
    assert found["./"]["license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}
    assert found["#epsilon"]["value"] == read(bundle / "release.json")["certificate"]["epsilon"]
    assert len(found) == len(graph)


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
    bundle: Path, tmp_path: Path, validator: Path
) -> None:
    program, crate = Path(__file__).with_name("validate_crate.py"), exported(bundle, "ro-crate", tmp_path)

    def issues() -> list[str]:
        done = subprocess.run([validator, program, crate], capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        assert found["checks"] > 50
        return [str(issue) for issue in found["issues"]]

    left = issues()
    assert len(left) == 2
    assert all("author" in issue or "publisher" in issue for issue in left)  # whom a policy does not name
    text = (crate / "ro-crate-metadata.json").read_text(encoding="utf-8")
    (crate / "ro-crate-metadata.json").write_text(text.replace('"datePublished"', '"dateCreated"'), encoding="utf-8")
    assert any(issue.startswith("REQUIRED") for issue in issues())


def test_results_are_as_acro_and_the_viewer_of_output_checkers_read_them(bundle: Path, tmp_path: Path) -> None:
    folder = exported(bundle, "acro", tmp_path)
    found = read(folder / "results.json")
    jsonschema.validate(found, OUTPUTS)
    assert {uid: [file["name"] for file in each["files"]] for uid, each in found["results"].items()} == {
        "release": ["release.csv"],
        "tables": ["table_people.csv", "table_people_wide.csv"],
        "evidence": ["release.json", "policy.toml", "report.html"],
    }
    for each in found["results"].values():
        assert (each["status"], each["summary"], each["comments"][0]) == ("review", "review", NOT_RUN)
        for file in each["files"]:
            checksum = (folder / "checksums" / f"{file['name']}.txt").read_text(encoding="utf-8")
            assert checksum == hashlib.sha256((bundle / file["name"]).read_bytes()).hexdigest()


def test_the_viewer_takes_no_other_json_for_results_and_shows_nothing_of_the_policy(
    bundle: Path, tmp_path: Path
) -> None:
    folder = exported(bundle, "acro", tmp_path)
    taken = [path.name for path in folder.glob("*.json") if {"version", "results"} <= set(read(path))]
    assert taken == ["results.json"]
    comments = json.dumps([each["comments"] for each in read(folder / "results.json")["results"].values()])
    assert not set("<>&") & set(comments)
    assert "abort" not in comments


@pytest.mark.parametrize("to", FORMATS)
def test_an_export_leaves_the_bundle_and_holds_nothing_private(copied: Path, to: str) -> None:
    (copied / "notes.txt").write_text("of ward 7", encoding="utf-8")
    made = export_bundle(str(copied / "release.json"), to)
    for path in [made] if made.is_file() else [each for each in made.rglob("*") if each.is_file()]:
        for private in (b"private.parquet", b"ledger.db", b"ward 7", str(copied.parent).encode()):
            assert private not in path.read_bytes(), path.name
    (copied / "notes.txt").unlink()
    assert verify_bundle(copied).holds


@pytest.mark.parametrize("to", FORMATS)
def test_an_export_that_cannot_be_written_leaves_nothing(bundle: Path, tmp_path: Path, to: str) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with patch("os.fsync", side_effect=full), pytest.raises(InvalidInput, match=r"\(No space .*give another --out\.$"):
        exported(bundle, to, tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_is_no_bundle_what_is_there_and_unknown_formats_are_refused(copied: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"release.json' cannot be read .*: give the folder of a bundle\.$"):
        export_bundle(str(tmp_path), "acro")
    with pytest.raises(InvalidInput, match=r"there is no export to 'xls': did you mean 'xlsx'\?$"):
        export_bundle(str(copied), "xls")
    with pytest.raises(InvalidInput, match=r"lies in the bundle"):
        export_bundle(str(copied), "xlsx", str(copied / "copy.xlsx"))
    (tmp_path / "link").symlink_to(copied)
    with pytest.raises(InvalidInput, match=r"lies in the bundle"):
        export_bundle(str(copied), "acro", str(tmp_path / "link" / "copy"))
    with pytest.raises(InvalidInput, match=r"exists: move it away, or give another --out\.$"):
        export_bundle(str(copied), "acro", str(tmp_path))


@pytest.mark.parametrize("change", [("values", "more", 1.0), ("estimates", None, None), ("statistics", None, None)])
def test_what_no_release_writes_is_refused_in_a_sentence(copied: Path, change: tuple[str, str | None, Any]) -> None:
    document, (key, name, value) = read(copied / "release.json"), change
    if name is None:
        document[key] = type(document[key])()
    else:
        document[key][name] = value
    (copied / "release.json").write_text(json_text(document), encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"see what distpriv verify says of it\.$"):
        export_bundle(str(copied), "xlsx")


def test_only_plain_files_are_exported(copied: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.csv").write_bytes((copied / "release.csv").read_bytes())
    (copied / "release.csv").unlink()
    (copied / "release.csv").symlink_to(tmp_path / "elsewhere.csv")
    with pytest.raises(InvalidInput, match="is not the file that was written with this release"):
        exported(copied, "acro", tmp_path)


@pytest.mark.parametrize("name", ["release.csv", "../elsewhere.txt"])
def test_files_that_are_not_those_of_the_release_are_not_exported(copied: Path, tmp_path: Path, name: str) -> None:
    document = read(copied / "release.json")
    (copied / name).write_text("other", encoding="utf-8")
    if "/" in name:
        document["manifest"][name] = hashlib.sha256(b"other").hexdigest()
        (copied / "release.json").write_text(json_text(document), encoding="utf-8")
    for to in ("ro-crate", "acro"):
        with pytest.raises(InvalidInput, match=r"is not the file that was written|the manifest does not hold"):
            exported(copied, to, tmp_path)
