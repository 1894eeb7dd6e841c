import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_covariance

from distpriv.framework.arrays import Floats
from distpriv.mechanisms.search.gaussian_search import Search
from distpriv.mechanisms.search.information_program import InformationProgram
from distpriv.mechanisms.search.informative_search import InformativeSearch

seeds, sizes = st.integers(0, 10**6), st.integers(1, 5)


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


def random_problem(seed: int, size: int) -> tuple[Search, Floats, Floats]:
    rng = np.random.default_rng(seed)
    firsts, seconds = (np.array([random_covariance(rng, size, 0.3) for _ in range(3)]) for _ in range(2))
    shifts = rng.normal(size=(3, size))
    search = Search(
        costs=np.ones(size),
        lowest=0.01 * random_covariance(rng, size, 0.3),
        epsilons=np.full(3, 1.0),
        deltas=np.full(3, 1e-2),
        shifts=shifts,
        firsts=firsts,
        seconds=seconds,
    )
    return search, (firsts + seconds).mean(axis=0) / 2 + shifts.T @ shifts / 12, random_covariance(rng, size, 0.5)


@pytest.mark.slow
@settings(max_examples=8)
@given(seeds, st.integers(1, 4))
def test_any_linear_change_of_the_statistics_with_weights_along_changes_nothing(seed: int, size: int) -> None:
    search, unknown, weights = random_problem(seed, size)
    change = np.random.default_rng(seed + 1).normal(size=(size, size)) + 2 * np.eye(size)
    back = np.linalg.inv(change)
    changed = Search(
        costs=search.costs,
        lowest=change @ search.lowest @ change.T,
        epsilons=search.epsilons,
        deltas=search.deltas,
        shifts=search.shifts @ change.T,
        firsts=change @ search.firsts @ change.T,
        seconds=change @ search.seconds @ change.T,
    )

    def missed(unknown: Floats, noise: Floats, weights: Floats) -> float:
        return float(np.trace(weights @ (unknown - unknown @ np.linalg.solve(unknown + noise, unknown))))

    before = InformativeSearch.of(search, unknown=unknown, weights=weights).best()
    turned, carried = change @ unknown @ change.T, back.T @ weights @ back
    after = InformativeSearch.of(changed, unknown=turned, weights=carried).best()
    assert before is not None
    assert after is not None
    assert missed(turned, after, carried) == pytest.approx(missed(unknown, before, weights), rel=3e-3)
