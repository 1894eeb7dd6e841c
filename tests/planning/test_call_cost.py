"""A plan of somebody's own function answers soon, or says soon what it needs."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import distpriv as dp
from distpriv.planning import call_cost
from distpriv.planning.call_cost import CallSettings, needed_calls

TARGET = dp.PrivacyTarget(1, 0.01)
CALLS: list[int] = []


def slopes(rows: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    """Return the coefficients of a regression."""
    CALLS.append(len(rows["x"]))
    return np.polyfit(rows["x"], rows["y"], 1)


@pytest.fixture(scope="module")
def model() -> dp.QueryModel:
    rng = np.random.default_rng(5)
    x = rng.normal(size=2000)
    table = pa.table({"x": x, "y": 2 * x + rng.normal(size=2000), "s": rng.random(2000) < 0.4})
    query = dp.Query(fit=dp.function(slopes, columns=["x", "y"], size=2))
    return dp.model(table, query, dp.Share("s", values=(0.4, 0.6)), records=20, draws=200, processes=1)


def test_what_takes_long_is_not_begun_and_its_needs_are_said(
    model: dp.QueryModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_cost, "seconds_per_call", lambda _: 0.01)
    CALLS.clear()
    plan = dp.plan(model, TARGET, processes=1)
    assert not CALLS
    said = {skipped.name: skipped.reason for skipped in plan.skipped if skipped.long}
    assert set(said) == {"coupled_gaussian", "coupled_laplace"}
    for name in ("coupled_gaussian", "coupled_laplace"):
        calls = needed_calls(name, model, TARGET)
        assert f"calls functions on about {calls:,} datasets, which takes about {-(-calls // 6000)} min" in said[name]
        assert f"mechanisms=['{name}']" in said[name]
    assert plan.chosen is None
    assert said["coupled_gaussian"] in " ".join(str(plan).split())
    assert str(plan.refusal()).endswith(said["coupled_gaussian"])


@pytest.mark.slow
def test_what_does_not_is_called_about_as_often_as_was_said(model: dp.QueryModel) -> None:
    CALLS.clear()
    found = dp.plan(model, TARGET, mechanisms=["coupled_gaussian"], processes=1)
    needed = needed_calls("coupled_gaussian", model, TARGET)
    assert len(CALLS) == needed < 120_000
    assert found.chosen is not None


def test_few_calls_of_a_slow_function_are_enough_to_time_it(
    model: dp.QueryModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_cost, "SETTINGS", CallSettings(slow=-1.0))
    CALLS.clear()
    assert call_cost.seconds_per_call(model) > 0
    assert len(CALLS) == 1


def test_means_are_not_called() -> None:
    rows, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.4, 0.6))
    made = dp.model(rows.slice(0, 1000), dp.Query(age=dp.mean("age")), secret, records=20)
    assert call_cost.excessive_cost("coupled_gaussian", made, TARGET) is None
