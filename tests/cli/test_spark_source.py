"""Policies whose reference is read by Spark, on the command line."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from tests.spark import GROUP, no_spark
from tests.workflow.shared import is_one_sentence
from tests.workflow.small import write_policy, write_tables

ROOT = Path(__file__).parents[2]
WITHOUT_PYSPARK = "import sys; sys.modules['pyspark'] = None; "
COMMAND = "from distpriv.cli.app import main; main()"
SEEDED_AFRESH = ("coupled_gaussian", "coupled_laplace")
NUMBER = re.compile(r" *\b\d+(?:\.\d+)?(?:e-?\d+)?")


@pytest.fixture
def folder(tmp_path: Path, adult: pa.Table) -> Path:
    write_tables(tmp_path, adult)
    return tmp_path


def run(
    folder: Path, *arguments: str, before: str = "", environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command in a process and a session of its own."""
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONWARNINGS", "COLUMNS")}
    variables |= {"PYTHONPATH": str(ROOT / "src"), "COLUMNS": "120", **(environment or {})}
    return subprocess.run(
        [sys.executable, "-c", before + COMMAND, *arguments],
        cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip


def policy(folder: Path, reference: str) -> str:
    return write_policy(folder, ('"adult.parquet"', f'"{reference}"'), name="spark.toml").name


def assert_refused(ended: subprocess.CompletedProcess[str], message: str) -> None:
    assert ended.returncode == 2
    assert ended.stdout == ""
    said = " ".join(ended.stderr.split())
    assert re.search(message, said), said
    assert is_one_sentence(said.partition(": ")[2]), said
    assert "Traceback" not in said


def test_a_source_that_names_no_table_is_refused(folder: Path) -> None:
    assert_refused(run(folder, "plan", policy(folder, "spark:local[2]")), "does not name a path or a table")


def test_without_java_it_is_said_what_to_install(folder: Path) -> None:
    pytest.importorskip("pyspark", reason="no Spark: PySpark is not installed")
    ended = run(
        folder,
        "plan",
        policy(folder, "spark:local[2]?path=adult.parquet"),
        environment={"PATH": str(folder), "JAVA_HOME": ""},
    )
    assert_refused(ended, "needs Java, and there is none on the PATH: install Java 17 or newer, on Debian with apt-get")


@pytest.mark.slow
def test_without_pyspark_it_is_said_which_extra_to_install_and_all_else_works(folder: Path) -> None:
    source = "spark:local[2]?path=adult.parquet"
    assert_refused(
        run(folder, "plan", policy(folder, source), before=WITHOUT_PYSPARK),
        r"needs PySpark, which is not installed here: pip install 'distpriv\[spark\]'",
    )
    written = run(folder, "init", "first.toml", "--from", "adult.parquet", before=WITHOUT_PYSPARK)
    assert (written.returncode, written.stderr) == (0, "")
    modelled = run(
        folder,
        before=WITHOUT_PYSPARK + "import distpriv as dp; print(dp.model('adult.parquet', dp.Query(age=dp.mean('age')), "
        """dp.Share("sex = 'Male'", values=(0.4, 0.6)), records=10).provenance.method); sys.exit(0); """,
    )
    assert (modelled.returncode, modelled.stdout, modelled.stderr) == (0, "exact moments\n", "")


@GROUP
@pytest.mark.slow
@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("spark:nonsense?path=adult.parquet", "Spark does not start"),
        ("spark:local[2]?path=absent.parquet", "absent.parquet' cannot be read: Path does not exist"),
        ("spark:local[2]?table=absent", "cannot be read: The table or view `absent` cannot be found"),
    ],
)
def test_what_spark_cannot_open_is_refused_without_noise(folder: Path, reference: str, message: str) -> None:
    if reason := no_spark():
        pytest.skip(reason)
    assert_refused(run(folder, "plan", policy(folder, reference)), message)


@GROUP
@pytest.mark.slow
def test_a_plan_has_the_same_table_on_spark_and_on_duckdb(folder: Path) -> None:
    if reason := no_spark():
        pytest.skip(reason)
    here = run(folder, "plan", write_policy(folder).name)
    there = run(folder, "plan", policy(folder, "spark:local[2]?path=adult.parquet"))
    assert (there.returncode, there.stderr) == (0, here.stderr), there.stderr[-2000:]
    assert "certified_gaussian" in here.stdout
    one, other = (
        "\n".join(line for line in tried.splitlines() if not line.strip().startswith(SEEDED_AFRESH))
        for tried in (ended.stdout.partition("not tried")[0] for ended in (here, there))
    )
    assert "never_married" in one
    assert [*NUMBER.split(one)] == [*NUMBER.split(other)]
    # A flat optimum ends where it happens to, by the last digits of the moments.
    assert [float(n) for n in NUMBER.findall(one)] == pytest.approx([float(n) for n in NUMBER.findall(other)], rel=0.03)
