import math
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.guarantees.lattice_floor import covers_floor, smoothing_error
from distpriv.modelling.model import QueryDistribution


def model_of(covariance: Floats, steps: list[float]) -> dp.QueryModel:
    size = len(steps)
    return dp.gaussian_model(
        means={"a": np.zeros(size), "b": np.ones(size)}, covariances=covariance, pairs=[("a", "b")], steps=steps
    )


def density(x: Floats, covariance: Floats) -> Floats:
    quadratic = (x @ np.linalg.inv(covariance) * x).sum(axis=-1)
    return np.asarray(np.exp(-quadratic / 2) / math.sqrt(np.linalg.det(2 * np.pi * covariance)))


def largest_relative_difference(covariance: Floats, noise: Floats, basis: Floats, seed: int) -> float:
    """Compare the released density of a Gaussian on a lattice, summed point by point, with the continuous one."""
    reach = range(-40, 41)
    points = np.array(list(product(reach, repeat=basis.shape[1]))) @ basis.T
    cell = abs(np.linalg.det(basis))
    total = covariance + noise
    places = np.random.default_rng(seed).multivariate_normal(np.zeros(len(total)), total, size=20)
    worst = 0.0
    for y in places:
        discrete = cell * (density(points, covariance) * density(y - points, noise)).sum()
        worst = max(worst, abs(discrete / density(y, total) - 1))
    return float(worst)


@given(st.floats(0.3, 3), st.floats(0.35, 2), st.integers(0, 100))
def test_the_smoothing_error_bounds_the_difference_on_a_line(deviation: float, noise: float, seed: int) -> None:
    model = model_of(np.array([[deviation**2]]), [1.0])
    bound = smoothing_error(model, model.distributions["a"], np.array([[noise**2]]))
    measured = largest_relative_difference(np.array([[deviation**2]]), np.array([[noise**2]]), np.eye(1), seed)
    assert measured <= bound * (1 + 1e-6) + 1e-10


@pytest.mark.parametrize("basis", [np.eye(2), np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([[1.0, 0.0], [3.0, 2.0]])])
@pytest.mark.parametrize("seed", range(4))
def test_and_in_the_plane_also_where_the_statistics_are_tied_together(basis: Floats, seed: int) -> None:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(2, 2))
    covariance, noise = factor @ factor.T + 2 * np.eye(2), np.diag(rng.uniform(0.5, 1.5, 2))
    law = QueryDistribution(mean=np.zeros(2), covariance=covariance, lattice=basis)
    bound = smoothing_error(model_of(covariance, [1.0, 1.0]), law, noise)
    measured = largest_relative_difference(covariance, noise, basis, seed)
    assert measured <= bound * (1 + 1e-6) + 1e-10
    assert bound < 2000 * max(measured, 1e-12)


def test_noise_at_the_floor_costs_five_in_a_billion_per_statistic() -> None:
    model = model_of(1e6 * np.eye(3), [1.0, 1.0, 1.0])
    model = dp.gaussian_model(
        means={"a": [0] * 3, "b": [1] * 3}, covariances=1e6 * np.eye(3), pairs=[("a", "b")], steps=[20, 20, 20]
    )
    assert model.floor.tolist() == [20, 20, 20]
    error = smoothing_error(model, model.distributions["a"], 400 * np.eye(3))
    assert error == pytest.approx(3 * 2 * math.exp(-2 * math.pi**2 / (1 + 4e-4)), rel=1e-6)


def test_the_attackers_own_uncertainty_counts_too() -> None:
    # With noise as wide as the law itself, the lattice shows through twice as strongly as the noise alone would tell.
    model = model_of(np.array([[1.0]]), [1.0])
    error = smoothing_error(model, model.distributions["a"], np.array([[1.0]]))
    assert error == pytest.approx(2 * math.exp(-(math.pi**2)), rel=1e-3)


def test_the_floor_is_the_step_or_one_percent_of_the_deviation() -> None:
    model = model_of(np.diag([100.0, 10_000.0]), [1.0, 0.0])
    assert model.floor.tolist() == [1.0, 1.0]
    assert covers_floor(model, np.eye(2))
    assert covers_floor(model, np.array([[2.0, 1.0], [1.0, 2.0]]))
    assert not covers_floor(model, np.array([[1.0, 0.5], [0.5, 1.0]]))
    assert not covers_floor(model, np.diag([1.0, 0.99]))


def test_statistics_tied_together_are_found_on_the_rows_and_cost_more() -> None:
    rng = np.random.default_rng(0)
    x, s = rng.integers(0, 40, 4000), rng.random(4000) < 0.4
    table = pl.DataFrame({"x": x, "y": x + 2 * rng.integers(0, 20, 4000), "z": rng.integers(0, 40, 4000), "s": s})
    share = dp.Share("s", values=(0.4, 0.6))
    tied = dp.model(table, dp.Query(x=dp.total("x"), y=dp.total("y")), share, records=20)
    free = dp.model(table, dp.Query(x=dp.total("x"), z=dp.total("z")), share, records=20)
    laws = [next(iter(model.distributions.values())) for model in (tied, free)]
    bases = [law.lattice for law in laws]
    assert bases[0] is not None
    assert bases[1] is not None
    assert abs(np.linalg.det(bases[0])) == pytest.approx(2 * np.prod(tied.floor))
    assert abs(np.linalg.det(bases[1])) == pytest.approx(np.prod(free.floor))
    noise = np.diag(tied.floor**2)
    assert smoothing_error(tied, laws[0], noise) > 100 * smoothing_error(free, laws[1], noise)


def test_a_sum_that_is_always_the_same_lies_on_a_line() -> None:
    rng = np.random.default_rng(0)
    a = rng.random(3000) < 0.3
    table = pl.DataFrame({"a": a, "b": ~a, "s": rng.random(3000) < 0.4})
    query = dp.Query(a=dp.count("a"), b=dp.count("b"))
    model = dp.model(table, query, dp.Share("s", values=(0.4, 0.6)), records=100)
    law = next(iter(model.distributions.values()))
    assert law.lattice is not None
    assert law.lattice.shape == (2, 1)
    assert smoothing_error(model, law, np.eye(2)) < 1e-3
