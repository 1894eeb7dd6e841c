import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distpriv as dp
from distpriv.errors import InvalidInput
from distpriv.modelling.utility import utility_weights, weighted_rms

MODEL = dp.gaussian_model(
    means={"a": [10, 0], "b": [30, 0]}, covariances=np.diag([1.0, 4.0]), pairs=[("a", "b")], names=["age", "hours"]
)


def test_all_statistics_count_alike_unless_weights_are_given() -> None:
    assert utility_weights(MODEL).tolist() == [1, 1]
    assert utility_weights(MODEL, {"hours": 3}).tolist() == [1, 3]
    assert utility_weights(MODEL, (2, 5)).tolist() == [2, 5]


def test_relative_weights_take_the_deviation_where_the_mean_is_zero() -> None:
    assert utility_weights(MODEL, "relative").tolist() == [1 / 400, 1 / 4]


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
    "weights", ["absolute", {"agee": 2}, (1,), (1, 2, 3), (1, 0), (1, -1), (1, float("nan")), 3, {"age": "much"}]
)
def test_weights_that_mean_nothing_are_refused(weights: object) -> None:
    with pytest.raises(InvalidInput):
        utility_weights(MODEL, weights)  # type: ignore[arg-type]


def test_a_word_for_weights_is_refused_with_an_example_of_them() -> None:
    with pytest.raises(InvalidInput, match=r"got 'absolute': write \{'age': 2\} to weigh only one"):
        utility_weights(MODEL, "absolute")  # type: ignore[arg-type]
