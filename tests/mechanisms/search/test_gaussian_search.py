"""The search for Gaussian noise and its program agree with an independent solver, in any coordinates."""

import importlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_covariance

from distpriv.distances import analytic_radius
from distpriv.framework.arrays import Floats
from distpriv.mechanisms.search.gaussian_constraints import GaussianConstraints
from distpriv.mechanisms.search.gaussian_search import GaussianSearch
from distpriv.mechanisms.search.semidefinite import InformationProgram, small_majorant
from distpriv.modelling.utility import OBJECTIVES, Objective

seeds, sizes, counts = st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 8)
cp: Any = importlib.import_module("cvxpy")  # it has no types that mypy can follow
objectives: Any = st.sampled_from(OBJECTIVES)
RADIUS = analytic_radius(1.0, 1e-3)


def shared(seed: int, size: int, count: int, distance: float = 5.0) -> GaussianConstraints:
    """Pairs with shifts in all directions and one covariance each."""
    rng = np.random.default_rng(seed)
    covariances = np.array([random_covariance(rng, size, 0.5) for _ in range(count)])
    return GaussianConstraints(
        costs=10.0 ** rng.uniform(-1, 1, size),
        lowest=np.diag(rng.uniform(0.01, 0.1, size)),
        epsilons=np.ones(count),
        deltas=np.full(count, 1e-3),
        shifts=distance * rng.normal(size=(count, size)),
        firsts=covariances,
        seconds=covariances,
    )


def least_noise(constraints: GaussianConstraints) -> Floats:
    unknown = constraints.firsts.mean(axis=0) + np.cov(constraints.shifts.T, ddof=0) / 4
    weights = np.diag(constraints.costs)
    found = GaussianSearch.of(constraints, unknown=unknown, weights=weights, objective="noise").best()
    assert found is not None
    return found


@settings(max_examples=6)
@given(seeds, st.integers(1, 4), counts)
def test_with_one_covariance_a_pair_it_is_the_least_noise_that_hides_every_shift(
    seed: int, size: int, count: int
) -> None:
    """By an independent program: S above the floor and above ddᵀ/r² − Σ."""
    constraints = shared(seed, size, count)
    unknown = cp.Variable((size, size), symmetric=True)
    above = [np.outer(d, d) / RADIUS**2 - c for d, c in zip(constraints.shifts, constraints.firsts, strict=True)]
    goal = cp.Minimize(cp.sum(cp.multiply(constraints.costs, cp.diag(unknown))))
    least = cp.Problem(goal, [unknown >> matrix for matrix in (*above, constraints.lowest)]).solve(solver="CLARABEL")
    found = least_noise(constraints)
    assert constraints.above(found, constraints.everything).max() <= 1e-6
    assert least * (1 - 1e-4) <= constraints.costs @ np.diag(found) <= least * 1.005


@settings(max_examples=10)
@given(seeds, sizes, counts)
def test_what_is_hidden_already_needs_no_more_than_the_floor(seed: int, size: int, count: int) -> None:
    constraints = shared(seed, size, count, distance=1e-3)
    assert constraints.satisfied
    np.testing.assert_allclose(least_noise(constraints), constraints.lowest, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@settings(max_examples=8)
@given(seeds, st.integers(1, 4), objectives)
def test_any_linear_change_of_the_statistics_with_weights_along_changes_nothing(
    seed: int, size: int, objective: Objective
) -> None:
    rng = np.random.default_rng(seed)
    firsts, seconds = (np.array([random_covariance(rng, size, 0.3) for _ in range(3)]) for _ in range(2))
    shifts, floor, weights = rng.normal(size=(3, size)), random_covariance(rng, size, 0.3), random_covariance(rng, size)

    def error(change: Floats) -> float:
        costs = np.linalg.inv(change).T @ weights @ np.linalg.inv(change)
        unknown = change @ ((firsts + seconds).mean(axis=0) / 2 + shifts.T @ shifts / 12) @ change.T
        constraints = GaussianConstraints(
            costs=np.ones(size),
            lowest=0.01 * change @ floor @ change.T,
            epsilons=np.full(3, 1.0),
            deltas=np.full(3, 1e-2),
            shifts=shifts @ change.T,
            firsts=change @ firsts @ change.T,
            seconds=change @ seconds @ change.T,
        )
        noise = GaussianSearch.of(constraints, unknown=unknown, weights=costs, objective=objective).best()
        assert noise is not None
        left = unknown - unknown @ np.linalg.solve(unknown + noise, unknown)
        return float(np.trace(costs @ (noise if objective == "noise" else left)))

    assert error(rng.normal(size=(size, size)) + 2 * np.eye(size)) == pytest.approx(error(np.eye(size)), rel=3e-3)


@settings(max_examples=40)
@given(seeds, st.integers(1, 6), st.integers(1, 20))
def test_a_small_majorant_is_above_all_and_of_two_has_the_trace_of_the_positive_part(
    seed: int, size: int, count: int
) -> None:
    rng = np.random.default_rng(seed)
    weights, shifts = 10.0 ** rng.uniform(-1, 1, size), 3 * rng.normal(size=(count, size))
    matrices = np.array([*(np.outer(d, d) - random_covariance(rng, size) for d in shifts), np.zeros((size, size))])
    found = small_majorant(weights, matrices)
    assert np.linalg.eigvalsh(found - matrices).min() >= -1e-12 * np.abs(matrices).max()
    if count == 1:
        positive = np.maximum(np.linalg.eigvalsh(matrices[0] * np.sqrt(np.outer(weights, weights))), 0.0).sum()
        assert weights @ np.diag(found) == pytest.approx(positive, rel=1e-6, abs=1e-9)


def random_program(seed: int, size: int, count: int, **options: Any) -> InformationProgram:
    rng = np.random.default_rng(seed)
    shifts = rng.normal(size=(count, size))
    forms, bounds = shifts[:, :, np.newaxis] * shifts[:, np.newaxis, :], rng.uniform(0.05, 0.5, count)
    return InformationProgram(
        worth=random_covariance(rng, size), forms=forms, bounds=bounds, **{"least": 0.0, **options}
    )


@settings(max_examples=15)
@given(seeds, st.integers(1, 6), st.integers(1, 6), objectives)
def test_the_program_agrees_with_another_solver(seed: int, size: int, count: int, objective: Objective) -> None:
    program = random_program(seed, size, count, objective=objective)
    told = cp.Variable((size, size), PSD=True)
    limits = [cp.trace(form @ told) <= bound for form, bound in zip(program.forms, program.bounds, strict=True)]
    root = np.linalg.cholesky(program.worth)
    noise = objective == "noise"
    goal = cp.Minimize(cp.matrix_frac(root, told)) if noise else cp.Maximize(cp.trace(program.worth @ told))
    best = cp.Problem(goal, [np.eye(size) - told >> 0, *limits]).solve(solver="CLARABEL" if noise else "SCS")
    found = program.best()
    assert found is not None
    value = np.sum(program.worth * (np.linalg.inv(found) if noise else found))
    assert value == pytest.approx(best, rel=1e-3)


@settings(max_examples=30)
@given(seeds, st.integers(1, 6), st.integers(1, 6), st.floats(0.01, 1.0), objectives)
def test_what_the_program_finds_is_feasible_and_within_reach(
    seed: int, size: int, count: int, reach: float, objective: Objective
) -> None:
    centre = 0.01 * np.eye(size)
    for options in ({}, {"centre": centre, "reach": reach}):
        program = random_program(seed, size, count, objective=objective, **options)
        found = program.best()
        assert found is not None
        values = np.linalg.eigvalsh(found)
        assert -1e-6 <= values[0] <= values[-1] <= 1 + 1e-6
        assert (np.einsum("kij,ij->k", program.forms, found) <= program.bounds + 1e-6).all()
        assert not options or np.linalg.norm(found - centre) <= reach + 1e-6
    assert random_program(seed, 1, 1, least=2.0).best() is None
