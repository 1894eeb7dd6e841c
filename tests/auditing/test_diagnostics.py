"""A second public table held against the reference: one of the same population passes, another does not."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distpriv as dp
from distpriv.distances.gaussian import variance_ratio
from distpriv.errors import InvalidInput, InvalidModel


@given(st.integers(1, 5), st.integers(0, 10**6))
def test_the_variance_ratio_is_the_largest_over_all_directions_and_units_do_not_matter(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = (a @ a.T + 0.1 * np.eye(size) for a in rng.normal(size=(2, size, size)))
    ratio = variance_ratio(one, other)
    values = np.linalg.eigvals(np.linalg.solve(other, one)).real
    assert ratio == pytest.approx(max(values.max(), 1 / values.min()), rel=1e-6)
    assert ratio == pytest.approx(variance_ratio(other, one), rel=1e-6)
    units = np.diag(10.0 ** rng.integers(-6, 6, size))
    assert ratio == pytest.approx(variance_ratio(units @ one @ units, units @ other @ units), rel=1e-6)


def test_singular_covariances_of_one_range_are_compared_inside_it_and_of_two_not_at_all() -> None:
    flat = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert variance_ratio(flat, 9 * flat) == pytest.approx(9)
    assert variance_ratio(flat, np.eye(2)) == math.inf
    assert variance_ratio(np.zeros((2, 2)), np.zeros((2, 2))) == 1.0


def test_adult_income_is_as_far_from_the_assumptions_as_the_reference_says(
    adult: pa.Table, paper_query: dp.Query
) -> None:
    model = dp.model(adult, paper_query, SHARE, records=100, reference="population")
    found = dp.diagnose(model, draws=4000)
    assert found.pairs[0].distance == pytest.approx(1.42247119, rel=1e-8)
    assert 1.1 < found.variance_ratio < 1.2
    assert found.angle == 0.0
    assert all(statistic.distance < 3 * statistic.noise for statistic in found.statistics)
    assert "covariances differ by a factor of up to 1.1" in str(found)


def test_shifts_that_are_not_parallel_show_as_an_angle() -> None:
    model = dp.gaussian_model(
        means={"a": [0, 0], "b": [10, 0], "c": [0, 2]}, covariances=np.eye(2), pairs=[("a", "b"), ("a", "c")]
    )
    found = dp.diagnose(model)
    assert found.angle == pytest.approx(90, abs=1e-6)
    assert found.off_direction == pytest.approx(2, rel=1e-6)
    assert found.statistics == ()
    assert "normality was not examined" in str(found)


def test_three_shares_of_one_predicate_shift_along_one_line(adult: pa.Table, paper_query: dp.Query) -> None:
    model = dp.model(adult, paper_query, dp.Share("income = '>50K'", values=(0.2, 0.5, 0.6)), records=100)
    assert dp.diagnose(model, draws=100).angle == 0.0


def test_a_law_that_is_not_normal_is_told_from_one_that_is() -> None:
    rng = np.random.default_rng(0)
    points = np.column_stack([rng.normal(size=5000), rng.exponential(size=5000), rng.binomial(100, 0.4, size=5000)])
    model = dp.empirical_model(
        samples={"a": points, "b": points + 1}, pairs=[("a", "b")], steps=[0, 0, 1], names=["normal", "skewed", "count"]
    )
    normal, skewed, count = dp.diagnose(model).statistics
    assert normal.distance < 1.5 * normal.noise
    assert count.distance < 1.5 * count.noise
    assert skewed.distance > 10 * skewed.noise
    assert skewed.skewness == pytest.approx(2, abs=0.3)
    assert abs(normal.excess_kurtosis) < 0.3
    assert "skewed is farthest from normal" in str(dp.diagnose(model))


QUERY = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
SHARE = dp.Share("income = '>50K'", values=(0.45, 0.55))
MEAN = dp.Mean("hours_per_week", values=(38, 42))


def modelled(table: pa.Table, secret: Any = SHARE, **options: Any) -> dp.QueryModel:
    return dp.model(table, QUERY, secret, records=100, **options)


def shuffled(adult: pa.Table, seed: int) -> pa.Table:
    return adult.take(np.random.default_rng(seed).permutation(len(adult)))


@pytest.mark.parametrize("secret", [SHARE, MEAN], ids=["share", "mean"])
def test_samples_of_one_population_are_seldom_told_apart(adult: pa.Table, secret: Any) -> None:
    chances, least = [], []
    for seed in range(24):
        rows = shuffled(adult, seed)
        found = dp.diagnose(modelled(rows.slice(0, 3000), secret), rows.slice(3000, 1500), draws=10).other
        assert found is not None
        chances.append(found.scenarios[0].p_value)
        least.append(found.worst.entropy_range[0])
    assert max(least) == 0.0
    assert 0.3 < np.mean(chances) < 0.7  # uniform, as chances are
    assert min(chances) > 1e-4


def test_another_population_is_told_from_the_reference(adult: pa.Table) -> None:
    found = dp.diagnose(modelled(adult), adult.filter(pc.equal(adult["workclass"], "Local-gov")), draws=10).other
    assert found is not None
    assert found.differs
    assert found.worst.distance > 1
    low, high = found.worst.entropy_range
    assert 0 < low < found.worst.entropy < high
    assert "another population" in str(found)


def test_shifts_are_those_of_the_other_model_in_the_units_they_are_said_in(adult: pa.Table) -> None:
    other = adult.slice(0, 3000)
    model, theirs = (modelled(table, reference="population") for table in (adult, other))
    found = dp.diagnose(model, other, draws=10).other
    assert found is not None
    protected = np.abs(model.mean_shift(model.protected_pairs[0]))
    for each in found.scenarios:
        moved = np.abs(theirs.distributions[each.scenario].mean - model.distributions[each.scenario].mean)
        np.testing.assert_allclose(each.shifts, moved / protected, rtol=1e-9)
        spread = np.sqrt(np.diag(model.distributions[each.scenario].covariance))
        np.testing.assert_allclose(each.deviations, moved / spread, rtol=1e-9)


def test_relative_entropy_is_that_of_the_cells_where_tables_are_large() -> None:
    rng = np.random.default_rng(1)

    def table(chance: float) -> pa.Table:
        return pa.table({"x": rng.random(60_000) < 0.5, "y": (rng.random(60_000) < chance).astype(int)})

    model = dp.model(table(0.5), dp.Query(y=dp.mean("y")), dp.Share("x", values=(0.4, 0.5)), records=10)
    found = dp.diagnose(model, table(0.7), draws=10).other
    assert found is not None
    exact = 0.7 * math.log(1.4) + 0.3 * math.log(0.6)
    low, high = found.worst.entropy_range
    assert low < exact < high
    assert found.worst.entropy == pytest.approx(exact, rel=0.1)


def test_what_cannot_be_held_against_each_other_is_refused(adult: pa.Table) -> None:
    given = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    with pytest.raises(InvalidModel, match="means, counts and totals"):
        dp.diagnose(given, adult)
    own = dp.model(None, QUERY, dp.Scenarios({"a": adult, "b": adult.slice(0, 900)}), records=10)
    with pytest.raises(InvalidModel, match="table of its own"):
        dp.diagnose(own, adult, draws=10)
    with pytest.raises(InvalidInput, match="income"):
        dp.diagnose(modelled(adult.slice(0, 2000)), adult.drop_columns(["income"]), draws=10)
