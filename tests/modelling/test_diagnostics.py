import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distpriv as dp
from distpriv.distances.gaussian import variance_ratio

INCOME = dp.Share("income = '>50K'", values=(0.45, 0.55))


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
    model = dp.model(adult, paper_query, INCOME, records=100, reference="population")
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


def test_a_constant_statistic_is_no_departure() -> None:
    model = dp.empirical_model(samples={"a": [3.0, 3.0], "b": [4.0, 4.0]}, pairs=[("a", "b")])
    assert dp.diagnose(model).statistics[0].distance == 0.0
