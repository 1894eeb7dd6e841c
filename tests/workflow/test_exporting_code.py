"""A policy as a program and as a notebook."""

import ast
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import nbformat
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.workflow.small import SAMPLE, only, write_policy, write_tables

import distpriv as dp
from distpriv.errors import InvalidInput
from distpriv.modelling.description import model_to_dict
from distpriv.workflow.exporting_code import export_code
from distpriv.workflow.plan_policy import plan_policy
from distpriv.workflow.policy import read_policy

SHARE = "share = \"income = '>50K'\"\nvalues = [0.45, 0.55]\n"
NUMBERS = '[release.statistics]\nage = "mean(age, resolution = 1)"\nnever_married = '
TABLES = '[release.tables.people]\ncount = true\nby = ["race"]\n\n[release.tables.hours]\nmean = "hours_per_week"\n' + (
    'by = ["sex"]\nlevels = {sex = ["Female"]}\nother = true\n\n[[protect]]'
)

TOGETHER = "combined = true\n"

KINDS: dict[str, tuple[tuple[str, str], ...]] = {
    "two shares": (),
    "a range of shares": ((SHARE, SHARE.replace("values = [0.45, 0.55]", "between = [0.4, 0.6]\nwithin = 0.1")),),
    "the nearest shares": ((SHARE, SHARE.replace("values = [0.45, 0.55]", "values = [0.454, 0.546]\nnearest = true")),),
    "several secrets": ((SHARE, f"{SHARE}\n[[protect]]\nshare = \"sex = 'Female'\"\nvalues = [0.3, 0.4]\n"),),
    "combinations": (
        (SHARE, f'{SHARE}{TOGETHER}\n[[protect]]\nmean = "hours_per_week"\nvalues = [40, 42]\n{TOGETHER}'),
    ),
    "a mean": ((SHARE, 'mean = "hours_per_week"\nvalues = [38, 42]\n'),),
    "a correlation": ((SHARE, 'correlation = ["age", "education_num"]\nvalues = [0.0, 0.1]\n'),),
    "tables": (("[[protect]]", TABLES),),
    "scenarios": (
        (SHARE, 'scenarios = {"boom" = "boom.parquet", "say \\"bust\\"" = "bust.parquet"}\n'),
        ('reference = "adult.parquet"\n', ""),
    ),
    "everything about privacy": (
        (
            "epsilon = 1.0\ndelta = 0.01\n",
            'max_attack_accuracy = 0.75\ndelta = 0.01\ntrust = "sampling"\nobjective = "noise"\n'
            'mechanisms = ["group_privacy_gaussian", "group_privacy_laplace"]\naudit = "required"\n'
            "weights = {age = 2, never_married = 0.5}\nmax_error = {age = 200}\n",
        ),
        ("epsilon = 2.0\ndelta = 0.02\n", ""),
    ),
    "numbers of records": ((SHARE, SHARE.replace("values = [0.45, 0.55]", "positives = [45, 55]")),),
    "a shift": (
        (SHARE, 'shift = {boom = "boom.parquet", bust = "bust.parquet"}\nvalues = [0, 0.3]\n'),
        ('reference = "adult.parquet"\n', ""),
    ),
    "a ball": (("[model]\n", "[model]\nrobust = 1e-7\n"),),
    "other references, each with a ball": (
        ("[model]\n", "[model]\nrobust = 1e-7\n"),
        ('"adult.parquet"\n', '"adult.parquet"\nrobust = ["boom.parquet", "bust.parquet"]\n'),
        ("delta = 0.01\n", 'delta = 0.01\ntrust = "assumed"\n'),
    ),
    "a sample in a database": (('"adult.parquet"', '"duckdb:adult.duckdb?table=adult"'), SAMPLE),
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory, adult: pa.Table) -> Path:
    folder = tmp_path_factory.mktemp("exporting")
    write_tables(folder, adult)
    pq.write_table(adult.slice(0, 800), folder / "boom.parquet")
    pq.write_table(adult.slice(800, 800), folder / "bust.parquet")
    with duckdb.connect(str(folder / "adult.duckdb")) as database:
        database.execute("CREATE TABLE adult AS SELECT * FROM read_parquet(?)", [str(folder / "adult.parquet")])
    return folder


@pytest.fixture
def folder(tables: Path, tmp_path: Path) -> Path:
    for file in tables.iterdir():
        os.symlink(file, tmp_path / file.name)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_makes_the_model_and_the_plan_of_its_policy(folder: Path, kind: str) -> None:
    path = write_policy(folder, *KINDS[kind])
    with only("group_privacy_gaussian", "group_privacy_laplace"):
        found = runpy.run_path(str(export_code(str(path), folder / "code").program), run_name="imported")
        expected = plan_policy(str(path))
    assert model_to_dict(found["model"]) == model_to_dict(expected.plan.model)
    plan: dp.Plan = found["plan"]
    assert plan.mechanism.name == expected.plan.mechanism.name
    assert plan.mechanism.noise.to_dict() == expected.plan.mechanism.noise.to_dict()
    assert plan.to_dict() == expected.plan.to_dict()
    assert found["total"] == expected.policy.ledger.total


@pytest.mark.slow
def test_a_program_for_several_releases_has_a_plan_for_each(folder: Path) -> None:
    two = '[[release]]\nname = "ages"\nrecords = 100\nstatistics = {age = "mean(age, resolution = 1)"}\n\n'
    two += '[[release]]\nname = "hours"\nrecords = 100\nstatistics = {hours = "mean(hours_per_week)"}\n\n[[protect]]'
    text = write_policy(folder).read_text(encoding="utf-8")
    start, end = text.index("[release]"), text.index("[[protect]]")
    (folder / "policy.toml").write_text(text[:start] + two + text[end + len("[[protect]]") :], encoding="utf-8")
    program = export_code(str(folder / "policy.toml")).program
    with only("group_privacy_laplace"):
        found = runpy.run_path(str(program), run_name="imported")
        first = plan_policy(str(folder / "policy.toml"), only="ages")
        assert list(found["plans"]) == ["ages", "hours"]
        assert found["plans"]["ages"].mechanism.noise.to_dict() == first.plan.mechanism.noise.to_dict()
        runpy.run_path(str(program), run_name="__main__")
    past = dp.Ledger.open(f"sqlite:///{folder / 'ledger.db'}").history("ward")
    assert past.declaration is not None
    assert [entry.position for entry in past.entries] == [1, 2]


def test_a_program_that_is_run_releases_once_and_then_shows_the_same_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = str(export_code(str(write_policy(folder)), folder / "code").program)
    with only("group_privacy_laplace"):
        first = runpy.run_path(program, run_name="__main__")["released"]
        again = runpy.run_path(program, run_name="__main__")["released"]
    assert (first.repeated, again.repeated, first.values == again.values) == (False, True, True)
    assert "never_married" in capsys.readouterr().out
    assert (folder / "ledger.db").exists()


def test_a_program_that_is_imported_looks_at_nothing_private(folder: Path) -> None:
    path = write_policy(folder, ('"private.parquet"', '"not_there.parquet"'))
    with only("group_privacy_laplace"):
        runpy.run_path(str(export_code(str(path)).program), run_name="imported")
    assert not (folder / "ledger.db").exists()


def test_a_notebook_is_valid_and_has_the_lines_of_the_program(folder: Path) -> None:
    made = export_code(str(write_policy(folder, *KINDS["everything about privacy"])))
    notebook: Any = nbformat.read(made.notebook, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    program = made.program.read_text(encoding="utf-8")
    for cell in cells:
        ast.parse(cell)
        for line in cell.splitlines():
            assert line.strip() in program or line == "HERE = Path.cwd()"
    assert json.loads(made.notebook.read_text(encoding="utf-8"))["nbformat"] == 4


def test_a_program_is_written_as_a_formatter_would(folder: Path) -> None:
    program = export_code(str(write_policy(folder, *KINDS["a range of shares"]))).program
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--check", "--line-length", "200", program],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_no_text_of_a_policy_becomes_code(folder: Path) -> None:
    evil = "\\\") or __import__('os').abort() #"
    path = write_policy(folder, ('age = "mean', f'"{evil}" = "mean'))
    odd = path.rename(folder / 'x"""; import os.toml')
    made = export_code(str(odd), folder / "code")
    for file in (made.program, made.notebook):
        assert file.suffix in (".py", ".ipynb")
    tree = ast.parse(made.program.read_text(encoding="utf-8"))
    called = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert "__import__" not in called
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    assert read_policy(odd).query().names[0] in texts


def test_a_password_of_the_ledger_is_left_to_the_environment(folder: Path) -> None:
    url = '"postgresql://clerk:geheim@db.example/ledger"'
    made = export_code(str(write_policy(folder, ('"sqlite:///ledger.db"', url))))
    for file in (made.program, made.notebook):
        text = file.read_text(encoding="utf-8")
        assert "geheim" not in text
        assert "DISTPRIV_LEDGER" in text


def test_nothing_is_written_over_and_nothing_half_written(folder: Path) -> None:
    path = str(write_policy(folder))
    (folder / "policy.ipynb").write_text("mine", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"policy\.ipynb' is there already: move it away, or give another --out\.$"):
        export_code(path)
    assert not (folder / "policy.py").exists()
    (folder / "file").write_text("", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"cannot be written .*: give another --out\.$"):
        export_code(path, folder / "file")
