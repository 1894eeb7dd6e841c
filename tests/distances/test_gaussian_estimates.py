import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_covariance

from distpriv.distances.gaussian import gaussian_hockey_stick
from distpriv.distances.gaussian.estimates import hockey_stick_estimates, hockey_stick_slopes
from distpriv.framework.arrays import Floats

seeds, sizes = st.integers(0, 10**6), st.integers(1, 6)
epsilons, distances, spreads = (
    st.sampled_from([0.0, 0.2, 1.0, 5.0]),
    st.sampled_from([0.0, 0.1, 1.0, 3.0]),
    st.floats(0, 1),
)


def pair(seed: int, size: int, distance: float, spread: float) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(seed)
    second = random_covariance(rng, size)
    factor = np.linalg.cholesky(second)
    first = factor @ random_covariance(rng, size, spread) @ factor.T
    return distance * factor @ rng.normal(size=size), (first + first.T) / 2, second


def require_right(epsilon: float, shift: Floats, first: Floats, second: Floats, seed: int) -> None:
    """Hold the value against the exact divergence, and the gradient against its differences."""
    found = hockey_stick_slopes(np.array([epsilon]), shift[np.newaxis], first[np.newaxis], second[np.newaxis])
    exact = gaussian_hockey_stick(epsilon, shift, first, second)
    assert found.values[0] == pytest.approx(exact.value, rel=1e-6, abs=exact.error + 1e-12)
    if exact.value > 1 - 1e-9:
        return  # of the gradient only rounding is left
    step = 1e-4 * random_covariance(np.random.default_rng(seed + 1), len(shift), 0.5) * np.linalg.eigvalsh(second)[0]
    after, before = (
        gaussian_hockey_stick(epsilon, shift, first + sign * step, second + sign * step) for sign in (1, -1)
    )
    slope = float((found.gradients[0] * step).sum())
    assert slope == pytest.approx((after.value - before.value) / 2, rel=1e-4, abs=after.error + 1e-13)
    largest = np.abs(found.gradients[0]).max()
    assert np.linalg.eigvalsh(found.gradients[0])[-1] <= 1e-7 * largest + 1e-12


@settings(max_examples=100)
@given(seeds, sizes, epsilons, distances, spreads)
@example(seed=336099, size=2, epsilon=0.0, distance=0.0, spread=0.5)
@example(seed=878846, size=3, epsilon=0.2, distance=0.1, spread=1.0)
def test_estimates_are_the_exact_divergence_and_gradients_its_differences(
    seed: int, size: int, epsilon: float, distance: float, spread: float
) -> None:
    require_right(epsilon, *pair(seed, size, distance, spread), seed)


@settings(max_examples=50)
@given(seeds, sizes, st.floats(0, 0.7))
def test_both_are_right_where_determinants_agree_and_the_integrand_hardly_decays(
    seed: int, size: int, spread: float
) -> None:
    shift, first, second = pair(seed, size, 0.0, spread)
    ratio = np.linalg.det(second) / np.linalg.det(first)
    require_right(0.0, shift, first * ratio ** (1 / size), second, seed)


@given(seeds, sizes, epsilons, distances, spreads)
def test_values_without_slopes_are_the_same_to_the_last_bit(
    seed: int, size: int, epsilon: float, distance: float, spread: float
) -> None:
    pairs = [pair(seed + k, size, distance, spread) for k in range(5)]
    laws = [np.array(part) for part in zip(*pairs, strict=True)]
    found = hockey_stick_estimates(np.full(5, epsilon), *laws)
    assert np.array_equal(found, hockey_stick_slopes(np.full(5, epsilon), *laws).values)


def test_singular_covariances_are_made_regular_by_as_little_as_it_takes() -> None:
    flat, shift = np.diag([4.0, 0.0]), np.array([[1.0, 0.0]])
    found = hockey_stick_estimates(np.ones(1), shift, flat[np.newaxis], flat[np.newaxis])[0]
    assert found == pytest.approx(gaussian_hockey_stick(1.0, [1.0], [[4.0]], [[4.0]]).value, rel=1e-3)
