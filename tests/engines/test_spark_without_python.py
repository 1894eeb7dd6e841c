"""Executors without a Python that could: the same numbers by SQL, and a sentence that says why and what to do."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.engines.test_spark import assert_same_laws
from tests.spark import GROUP, on_spark
from tests.workflow.shared import is_one_sentence

import distpriv as dp
from distpriv.engines.spark_source import worker_failure
from distpriv.errors import InvalidSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECRET = dp.Share("income = '>50K'", values=(0.45, 0.55))


def without_pyarrow(folder: Path) -> str:
    """Return a Python that has all that this one has, and no pyarrow."""
    (folder / "pyarrow").mkdir()
    (folder / "pyarrow" / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'pyarrow'\")\n")
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}:$PYTHONPATH" exec "{sys.executable}" "$@"\n')
    program.chmod(0o755)
    return str(program)


@pytest.mark.slow
@GROUP
@pytest.mark.parametrize("missing", ["pyarrow", "python"])
def test_moments_are_the_same_by_plain_sql(
    spark: "SparkSession", adult: pa.Table, paper_query: dp.Query, tmp_path: Path, missing: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    python = without_pyarrow(tmp_path) if missing == "pyarrow" else str(tmp_path / "no" / "python")
    monkeypatch.setattr(spark.sparkContext, "pythonExec", python)
    here, there = (
        dp.model(table, paper_query, SECRET, records=100) for table in (adult, on_spark(spark, adult, partitions=3))
    )
    assert_same_laws(here, there)


@pytest.mark.slow
@GROUP
@pytest.mark.parametrize(
    ("missing", "reason"),
    [("pyarrow", "ModuleNotFoundError: No module named 'pyarrow'"), ("python", "Cannot run program")],
)
def test_what_only_python_can_do_is_refused_with_the_reason_and_the_cure(
    spark: "SparkSession", adult: pa.Table, tmp_path: Path, missing: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distpriv.engines.arrow_moments import PARTS, parts_of
    from distpriv.engines.spark import SparkEngine

    python = without_pyarrow(tmp_path) if missing == "pyarrow" else str(tmp_path / "no" / "python")
    monkeypatch.setattr(spark.sparkContext, "pythonExec", python)
    engine = SparkEngine.open(on_spark(spark, adult.slice(0, 100), partitions=1))
    asked = "SELECT TRUE AS stratum, CAST(age AS DOUBLE) AS v0, 0 AS unusable FROM source"
    with pytest.raises(InvalidSource) as refused:
        engine._collected(lambda: engine._sql(asked.replace("source", engine.view)).mapInArrow(parts_of, PARTS))
    assert reason in str(refused.value)
    assert "set PYSPARK_PYTHON" in str(refused.value)
    assert is_one_sentence(str(refused.value))


def test_what_is_no_failure_of_python_is_none() -> None:
    assert worker_failure(RuntimeError("[CAST_INVALID_INPUT] The value 'x' cannot be cast to DOUBLE.")) is None
    told = "Python worker failed to connect back"
    assert worker_failure(RuntimeError(f"[PYTHON] {told}. SQLSTATE: X")) == told
