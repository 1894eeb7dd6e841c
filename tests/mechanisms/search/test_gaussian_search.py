import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_covariance

from distpriv.distances import analytic_radius
from distpriv.distances.gaussian import mahalanobis
from distpriv.framework.arrays import Floats
from distpriv.mechanisms.search.gaussian_search import Search, least_noise, pooled_noise
from distpriv.mechanisms.search.informative_search import InformativeSearch
from distpriv.mechanisms.search.semidefinite import MOST_ROWS

seeds, sizes, counts = st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 8)
RADIUS = analytic_radius(1.0, 1e-3)


def problem(seed: int, size: int, count: int, distance: float = 5.0) -> Search:
    """Pairs with shifts in all directions and one covariance each."""
    rng = np.random.default_rng(seed)
    covariances = np.array([random_covariance(rng, size, 0.5) for _ in range(count)])
    return Search(
        costs=10.0 ** rng.uniform(-1, 1, size),
        lowest=np.diag(rng.uniform(0.01, 0.1, size)),
        epsilons=np.ones(count),
        deltas=np.full(count, 1e-3),
        shifts=distance * rng.normal(size=(count, size)),
        firsts=covariances,
        seconds=covariances,
    )


def farthest(search: Search, noise: Floats) -> float:
    """The largest distance of two means, in radii."""
    return max(mahalanobis(d, c + noise) for d, c in zip(search.shifts, search.firsts, strict=True)) / RADIUS


@settings(max_examples=15)
@given(seeds, sizes, counts)
def test_with_one_covariance_a_pair_every_shift_is_hidden_and_hardly_more(seed: int, size: int, count: int) -> None:
    search = problem(seed, size, count)
    found = pooled_noise(search)
    assert np.linalg.eigvalsh(found - search.lowest)[0] >= -1e-9
    assert 0.99 * min(1.0, farthest(search, search.lowest)) < farthest(search, found) <= 1 + 1e-6


@settings(max_examples=8)
@given(seeds, st.integers(1, 4), counts)
def test_then_it_is_the_least_noise(seed: int, size: int, count: int) -> None:
    search = problem(seed, size, count)
    found = least_noise(search)
    assert found is not None
    assert not len(search.worst(found))
    assert search.cost(found) == pytest.approx(search.cost(pooled_noise(search)), rel=1e-3)


@settings(max_examples=10)
@given(seeds, sizes, counts)
def test_what_is_hidden_already_needs_no_more_than_the_floor(seed: int, size: int, count: int) -> None:
    search = problem(seed, size, count, distance=1e-3)
    np.testing.assert_array_equal(pooled_noise(search), search.lowest)
    np.testing.assert_array_equal(least_noise(search), search.lowest)


def test_of_many_statistics_shifts_are_hidden_one_after_the_other() -> None:
    search = problem(0, MOST_ROWS + 1, 3)
    assert farthest(search, pooled_noise(search)) <= 1 + 1e-6


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
