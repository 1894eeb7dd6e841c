import importlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_covariance

from distpriv.framework.arrays import Floats
from distpriv.mechanisms.search.least_majorant import least_majorant, least_majorant_of_one

seeds, sizes, counts = st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 20)


def problem(seed: int, size: int, count: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    shifts = 3 * rng.normal(size=(count, size))
    matrices = [np.outer(d, d) - random_covariance(rng, size) for d in shifts]
    return 10.0 ** rng.uniform(-1, 1, size), np.array([*matrices, np.zeros((size, size))])


@settings(max_examples=60)
@given(seeds, sizes, counts)
def test_it_is_above_all_of_them(seed: int, size: int, count: int) -> None:
    weights, matrices = problem(seed, size, count)
    found = least_majorant(weights, matrices)
    assert np.linalg.eigvalsh(found - matrices).min() >= -1e-12 * np.abs(matrices).max()


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_one_that_an_independent_solver_finds(seed: int) -> None:
    cp: Any = importlib.import_module("cvxpy")
    weights, matrices = problem(seed, 2 + seed % 3, 1 + 3 * seed)
    unknown = cp.Variable(matrices[0].shape, symmetric=True)
    goal = cp.Minimize(cp.sum(cp.multiply(weights, cp.diag(unknown))))
    least = cp.Problem(goal, [unknown >> matrix for matrix in matrices]).solve(solver="CLARABEL")
    assert weights @ np.diag(least_majorant(weights, matrices)) == pytest.approx(least, rel=1e-6, abs=1e-6)


@settings(max_examples=60)
@given(seeds, sizes)
def test_the_closed_form_for_one_is_the_same_as_the_program(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    covariance, weights = random_covariance(rng, size), 10.0 ** rng.uniform(-1, 1, size)
    shift = rng.normal(size=size)
    shift *= rng.uniform(1.1, 10) / np.sqrt(shift @ np.linalg.solve(covariance, shift))
    along = least_majorant_of_one(weights, shift, covariance)
    matrices = np.array([np.outer(shift, shift) - covariance, np.zeros((size, size))])
    assert weights @ along**2 == pytest.approx(weights @ np.diag(least_majorant(weights, matrices)), rel=1e-5)
    root = np.sqrt(np.outer(weights, weights))
    assert weights @ along**2 == pytest.approx(np.linalg.eigvalsh(matrices[0] * root)[-1], rel=1e-6)


@given(seeds, st.integers(2, 5))
def test_units_do_not_matter_to_the_closed_form(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    covariance, shift = random_covariance(rng, size), rng.normal(size=size)
    shift *= 3 / np.sqrt(shift @ np.linalg.solve(covariance, shift))
    units = 10.0 ** rng.uniform(-6, 6, size)
    plain = least_majorant_of_one(np.ones(size), shift, covariance)
    scaled = least_majorant_of_one(units**-2, units * shift, covariance * np.outer(units, units))
    np.testing.assert_allclose(scaled / units, plain, rtol=1e-6, atol=1e-9 * np.abs(plain).max())


def test_of_many_large_ones_it_is_above_all_and_no_larger_than_their_sum() -> None:
    rng = np.random.default_rng(1)
    matrices = np.array([random_covariance(rng, 64) for _ in range(3)])
    found = least_majorant(np.ones(64), matrices)
    assert np.linalg.eigvalsh(found - matrices).min() >= -1e-12 * np.abs(matrices).max()
    assert np.trace(found) < np.trace(matrices.sum(axis=0))
