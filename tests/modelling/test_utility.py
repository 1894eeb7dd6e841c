from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distpriv as dp
from distpriv.errors import InvalidInput
from distpriv.modelling.public_knowledge import PublicKnowledge
from distpriv.modelling.utility import utility_weights, weighted_rms

MODEL = dp.gaussian_model(
    means={"a": [10, 0], "b": [30, 0]}, covariances=np.diag([1.0, 4.0]), pairs=[("a", "b")], names=["age", "hours"]
)


def test_each_statistic_has_a_squared_public_error_of_one() -> None:
    for prior in (None, {"a": 0.9, "b": 0.1}):
        public = np.diag(PublicKnowledge.of(MODEL, prior).covariance)
        assert utility_weights(MODEL, prior=prior) * public == pytest.approx([1, 1])


def test_names_multiply_these_weights_and_numbers_in_order_replace_them() -> None:
    assert utility_weights(MODEL, "units").tolist() == [1, 1]
    assert utility_weights(MODEL, {"hours": 3}).tolist() == (utility_weights(MODEL) * [1, 3]).tolist()
    assert utility_weights(MODEL, (2, 5)).tolist() == [2, 5]


def test_a_statistic_that_is_known_has_a_finite_weight() -> None:
    known = dp.gaussian_model(
        means={"a": [0, 5, 0], "b": [1, 5, 0]}, covariances=np.diag([1.0, 1e-30, 0.0]), pairs=[("a", "b")]
    )
    assert utility_weights(known)[1:].tolist() == [1 / 25, 1]


def test_a_table_and_a_function_count_as_one_statistic_each() -> None:
    rows = pa.table({"sex": ["F", "M"] * 20, "rich": [1, 1, 0, 0] * 10, "age": list(range(40))})
    query = dp.Query(
        age=dp.mean("age"),
        people=dp.table("count", by="sex"),
        means=dp.table("mean(age)", by="sex"),
        ends=dp.function(_ends, columns=["age"], size=2, version="1"),
    )
    model = dp.model(rows, query, dp.Share("rich = 1", values=(0.4, 0.6)), records=20, draws=200, seed=1)
    shares = utility_weights(model) * np.diag(PublicKnowledge.of(model).covariance)
    together = {"age": 0.0, "ends": 0.0, "people": 0.0, "means": 0.0}
    for name, share in zip(model.names, shares, strict=True):
        together[name.split("[")[0].split("_")[0]] += share
    assert list(together.values()) == pytest.approx([1, 1, 1, 1])
    cells = {w for name, w in zip(model.names, utility_weights(model).tolist(), strict=True) if "people" in name}
    assert len(cells) == 1


def _ends(rows: Mapping[str, npt.NDArray[Any]]) -> list[float]:
    return [float(min(rows["age"])), float(max(rows["age"]))]


@given(st.floats(0.01, 100))
def test_relative_errors_do_not_depend_on_units(unit: float) -> None:
    scaled = dp.gaussian_model(
        means={"a": [10 * unit, 0], "b": [30 * unit, 0]}, covariances=np.diag([unit**2, 4.0]), pairs=[("a", "b")]
    )
    noise = np.diag([unit**2, 1.0])
    assert weighted_rms(noise, utility_weights(scaled, "relative")) == pytest.approx(
        weighted_rms(np.eye(2), utility_weights(MODEL, "relative"))
    )


@pytest.mark.parametrize(
    "weights", [None, "absolute", {"agee": 2}, (1,), (1, 2, 3), (1, 0), (1, -1), (1, float("nan")), 3, {"age": "much"}]
)
def test_weights_that_mean_nothing_are_refused(weights: object) -> None:
    with pytest.raises(InvalidInput):
        utility_weights(MODEL, weights)  # type: ignore[arg-type]
