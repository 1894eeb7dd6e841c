import importlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_covariance

from distpriv.framework.arrays import Floats
from distpriv.mechanisms.search.semidefinite import InformationProgram, least_majorant

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
def test_above_nothing_and_one_more_it_has_the_trace_of_the_positive_part(seed: int, size: int) -> None:
    weights, matrices = problem(seed, size, 1)
    root = np.sqrt(np.outer(weights, weights))
    positive = np.maximum(np.linalg.eigvalsh(matrices[0] * root), 0.0).sum()
    assert weights @ np.diag(least_majorant(weights, matrices)) == pytest.approx(positive, rel=1e-6, abs=1e-9)


def test_of_many_large_ones_it_is_above_all_and_no_larger_than_their_sum() -> None:
    rng = np.random.default_rng(1)
    matrices = np.array([random_covariance(rng, 64) for _ in range(3)])
    found = least_majorant(np.ones(64), matrices)
    assert np.linalg.eigvalsh(found - matrices).min() >= -1e-12 * np.abs(matrices).max()
    assert np.trace(found) < np.trace(matrices.sum(axis=0))


def random_program(seed: int, size: int, count: int) -> InformationProgram:
    rng = np.random.default_rng(seed)
    shifts = rng.normal(size=(count, size))
    return InformationProgram(
        worth=random_covariance(rng, size),
        least=0.0,
        forms=shifts[:, :, np.newaxis] * shifts[:, np.newaxis, :],
        bounds=rng.uniform(0.05, 0.5, count),
    )


@settings(max_examples=15)
@given(seeds, sizes, st.integers(1, 6))
def test_it_agrees_with_another_solver(seed: int, size: int, count: int) -> None:
    cp = pytest.importorskip("cvxpy")
    program = random_program(seed, size, count)
    told = cp.Variable((size, size), symmetric=True)
    limits = [cp.trace(form @ told) <= bound for form, bound in zip(program.forms, program.bounds, strict=True)]
    problem = cp.Problem(cp.Maximize(cp.trace(program.worth @ told)), [told >> 0, np.eye(size) - told >> 0, *limits])
    problem.solve(solver=cp.SCS, eps=1e-7, max_iters=20_000)
    found = program.best()
    assert found is not None
    assert np.sum(program.worth * found) == pytest.approx(problem.value, rel=1e-4)


@settings(max_examples=30)
@given(seeds, sizes, st.integers(1, 6), st.floats(0.01, 1.0))
def test_what_is_found_is_feasible_and_within_reach(seed: int, size: int, count: int, reach: float) -> None:
    free = random_program(seed, size, count)
    centre = 0.01 * np.eye(size)
    near = InformationProgram(
        worth=free.worth, least=0.0, forms=free.forms, bounds=free.bounds, centre=centre, reach=reach
    )
    for program in (free, near):
        found = program.best()
        assert found is not None
        values = np.linalg.eigvalsh(found)
        assert values[0] >= -1e-6
        assert values[-1] <= 1 + 1e-6
        assert (np.einsum("kij,ij->k", program.forms, found) <= program.bounds + 1e-6).all()
        assert program is free or np.linalg.norm(found - centre) <= reach + 1e-6


def test_nothing_is_found_where_nothing_is_feasible() -> None:
    program = InformationProgram(worth=np.eye(1), least=0.5, forms=np.ones((1, 1, 1)), bounds=np.array([0.1]))
    assert program.best() is None
