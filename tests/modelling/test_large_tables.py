"""Ten million rows: a median and a user's function by a sample of them."""

from pathlib import Path

import duckdb
import numpy as np
import pytest

import distpriv as dp

ROWS = 10_000_000
QUERIES = {
    "median": dp.Query(cost=dp.quantile("cost", 0.5)),
    "function": dp.Query(trimmed=dp.function(lambda rows: np.sort(rows["cost"])[2:-2].mean(), columns=["cost"])),
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Skewed costs, three in ten of them of a kind that costs more."""
    path = tmp_path_factory.mktemp("lake") / "costs.parquet"
    rows = (
        f"SELECT hash(i) % 1000 < 300 AS high, CAST(10 * exp(3 * (hash(i + 1) % 100000) / "
        f"100000 + CASE WHEN high THEN 0.2 ELSE 0 END) AS INTEGER) AS cost FROM range({ROWS}) AS t(i)"
    )
    duckdb.sql(f"COPY ({rows}) TO '{path}' (ROW_GROUP_SIZE 500000)")
    return path


@pytest.mark.parametrize("name", QUERIES)
def test_a_sample_of_ten_million_rows_is_certified_by_coupled_draws(name: str, lake: Path) -> None:
    model = dp.model(str(lake), QUERIES[name], dp.Share("high", values=(0.4, 0.6)), records=20, draws=500)
    made = dp.mechanisms.coupled_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.02), seed=5)
    assert made.certificate.assurance == "proved"
    assert made.certificate.holds
    assert "1,000,000 rows where high is satisfied" in str(made.certificate)
