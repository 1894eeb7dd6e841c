"""Ten million rows: a median and a user's function through pools, the same on both engines."""

from pathlib import Path

import duckdb
import numpy as np
import pytest

import distpriv as dp
from distpriv.guarantees.mechanism import AdditiveMechanism

ROWS = 10_000_000
QUERIES = {
    "median": dp.Query(cost=dp.quantile("cost", 0.5)),
    "function": dp.Query(trimmed=dp.function(lambda rows: np.sort(rows["cost"])[2:-2].mean(), columns=["cost"])),
}

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Skewed costs, three in ten of them of a kind that costs more, in no order of their key."""
    path = tmp_path_factory.mktemp("lake") / "costs.parquet"
    rows = (
        f"SELECT (i * 7919) % 10000019 AS id, hash(i) % 1000 < 300 AS high, CAST(10 * exp(3 * (hash(i + 1) % 100000) / "
        f"100000 + CASE WHEN high THEN 0.2 ELSE 0 END) AS INTEGER) AS cost FROM range({ROWS}) AS t(i)"
    )
    duckdb.sql(f"COPY ({rows}) TO '{path}' (ROW_GROUP_SIZE 500000)")
    return path


def released(source: str, query: dp.Query) -> AdditiveMechanism:
    model = dp.model(source, query, dp.Share("high", values=(0.4, 0.6)), records=20, pool=100_000, key="id", draws=500)
    return dp.mechanisms.coupled_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.02), seed=5)


@pytest.mark.parametrize("name", QUERIES)
def test_pools_of_ten_million_rows_give_the_same_noise_on_both_engines(name: str, lake: Path, spark: object) -> None:
    del spark  # starts a session, or skips where there is no Java
    here, there = (released(source, QUERIES[name]) for source in (str(lake), f"spark:local[2]?path={lake}"))
    assert here.noise == there.noise
    assert here.certificate == there.certificate
    assert here.certificate.trust == "sampling"
    assert here.certificate.holds
    assert "100,000 of 3,000,336 rows where high is satisfied" in str(here.certificate)
