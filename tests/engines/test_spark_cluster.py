"""Spark on two executors of their own: the same numbers as here, also when one of them is killed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engines.spark_cluster import SHARE
from tests.spark import GROUP, no_spark

import distpriv as dp

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory, adult: pa.Table) -> dict[str, Any]:
    """What a script prints that models Adult on a cluster, and kills executors as it goes."""
    if reason := no_spark():
        pytest.skip(reason)
    import pyspark

    folder = tmp_path_factory.mktemp("cluster")
    pq.write_table(adult, folder / "many.parquet")
    pq.write_table(adult.slice(0, 3000), folder / "few.parquet")
    environment = {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.engines.spark_cluster", "many.parquet", "few.parquet"],
        cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=1200,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def assert_one_was_killed(seen: dict[str, Any]) -> None:
    assert seen["killed"] in seen["before"]
    assert seen["killed"] not in seen["after"]
    assert seen["running"] >= 2, "tasks ran on both executors when one of them was killed"


@GROUP
@pytest.mark.slow
def test_moments_are_duckdbs_also_if_an_executor_dies(printed: dict[str, Any], adult: pa.Table) -> None:
    query = dp.Query(age=dp.mean("age"), hours=dp.mean("hours_per_week"), women=dp.count("sex = 'Female'"))
    here = dp.model(adult, query, SHARE, records=100)
    survived, seen = printed["moments"]
    assert_one_was_killed(seen)
    for laws in (printed["calm"], survived):
        for name, law in here.distributions.items():
            mean, covariance = map(np.array, laws[name])
            deviation = np.sqrt(np.diag(law.covariance))
            assert (np.abs(mean - law.mean) <= 1e-10 * deviation).all()
            assert (np.abs(covariance - law.covariance) <= 1e-10 * np.outer(deviation, deviation)).all()


@GROUP
@pytest.mark.slow
def test_replicates_are_those_drawn_here_also_if_an_executor_dies(printed: dict[str, Any], adult: pa.Table) -> None:
    survived, seen = printed["replicates"]
    assert_one_was_killed(seen)
    query = dp.Query(middle=dp.function(lambda rows: float(np.median(rows["age"])), columns=["age"]))
    here = dp.model(adult.slice(0, 3000), query, SHARE, records=20, draws=640, seed=4, processes=1)
    for name, law in here.distributions.items():
        assert survived[name] == np.asarray(law.points).ravel().tolist()
