import numpy as np
import pyarrow as pa
import pytest

import distpriv as dp
from distpriv.errors import InvalidInput
from distpriv.releasing.synthetic import WHAT_SYNTHETIC_ROWS_ARE, synthetic_rows

QUERY = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
SECRET = dp.Share("income = '>50K'", values=(0.4, 0.6))


@pytest.fixture(scope="module")
def model(adult: pa.Table) -> dp.QueryModel:
    return dp.model(adult, QUERY, SECRET, records=100)


def even(model: dp.QueryModel) -> dict[str, float]:
    return {name: 1 / len(model.distributions) for name in model.distributions}


def public_means(model: dp.QueryModel) -> dict[str, float]:
    mean = np.mean([law.mean for law in model.distributions.values()], axis=0)
    return dict(zip(model.names, mean.tolist(), strict=True))


def test_the_means_of_the_rows_are_the_estimates_but_for_the_draw(model: dp.QueryModel, adult: pa.Table) -> None:
    found = synthetic_rows(model, {"age": 45.0, "women": 60.0}, even(model), rows=40_000, seed=0)
    assert found.column_names == adult.column_names
    assert np.mean(found["age"].to_numpy()) == pytest.approx(45, abs=0.3)
    assert np.mean(found["sex"].to_numpy() == "Female") == pytest.approx(0.6, abs=0.01)


def test_with_the_public_mean_rows_come_as_often_as_in_the_scenarios_on_average(model: dp.QueryModel) -> None:
    found = synthetic_rows(model, public_means(model), even(model), rows=40_000, seed=0)
    assert np.mean(found["income"].to_numpy() == ">50K") == pytest.approx(0.5, abs=0.01)
    first = dict.fromkeys(model.distributions, 0.0) | {next(iter(model.distributions)): 1.0}
    law = model.distributions[next(iter(model.distributions))]
    other = synthetic_rows(model, dict(zip(model.names, law.mean, strict=True)), first, rows=40_000, seed=0)
    assert np.mean(other["income"].to_numpy() == ">50K") == pytest.approx(0.4, abs=0.01)


def test_the_same_seed_gives_the_same_rows_and_they_say_what_they_are(model: dp.QueryModel) -> None:
    one, other, third = (synthetic_rows(model, public_means(model), even(model), 50, seed) for seed in (1, 1, 2))
    assert one.equals(other)
    assert not one.equals(third)
    assert one.schema.metadata == {b"distpriv": WHAT_SYNTHETIC_ROWS_ARE.encode()}


def test_every_scenario_may_have_a_table_of_its_own_if_the_columns_are_the_same(adult: pa.Table) -> None:
    query = dp.Query(age=dp.mean("age"))
    halves = dp.Scenarios({"one": adult.slice(0, 2000), "two": adult.slice(2000, 2000)}, pairs=[("one", "two")])
    model = dp.model(None, query, halves, records=20)
    assert synthetic_rows(model, {"age": 45.0}, even(model), 10, 0).num_rows == 10
    odd = dp.Scenarios(
        {"one": adult.slice(0, 2000), "two": adult.slice(2000, 2000).select(["age"])}, pairs=[("one", "two")]
    )
    other = dp.model(None, query, odd, records=20)
    with pytest.raises(InvalidInput, match="other columns"):
        synthetic_rows(other, {"age": 45.0}, even(other), 10, 0)


def test_what_cannot_be_met_is_refused(model: dp.QueryModel, adult: pa.Table) -> None:
    with pytest.raises(InvalidInput, match="no weights give the reference these statistics"):
        synthetic_rows(model, {"age": 45.0, "women": 101.0}, even(model), 10, 0)
    median = dp.model(adult.slice(0, 500), dp.Query(age=dp.quantile("age", 0.5)), SECRET, records=20, draws=200)
    with pytest.raises(InvalidInput, match="'age' is no mean or count"):
        synthetic_rows(median, {"age": 45.0}, even(median), 10, 0)
    given = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    with pytest.raises(InvalidInput, match="need a reference"):
        synthetic_rows(given, {"statistic_1": 0.5}, even(given), 10, 0)
    with pytest.raises(InvalidInput, match="rows must be a whole number"):
        synthetic_rows(model, public_means(model), even(model), 0, 0)
