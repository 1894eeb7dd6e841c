import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from distpriv.distances.gaussian import gaussian_delta
from distpriv.distances.unimodal_divergence import _tails, unimodal_delta_upper_bound
from distpriv.framework.arrays import Floats

seeds = st.integers(0, 10**6)


def staircase(seed: int) -> tuple[Floats, Floats]:
    """A random step density that does not increase, often with a spike and flat stretches."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 12))
    edges = np.concatenate([[0.0], np.cumsum(10.0 ** rng.uniform(-2, 0.7, count))])
    heights = np.sort(rng.choice([0.1, 1.0, rng.exponential(), 10 * rng.exponential()], count))[::-1]
    masses = heights * np.diff(edges)
    return edges, masses / masses.sum()


def by_quadrature(edges: Floats, masses: Floats, shift: float, deviation: float, epsilon: float) -> float:
    """H_ε by a fine trapezoid on the whole line, the density as a sum over its jumps."""
    heights = masses / np.diff(edges) / 2
    places = np.concatenate([-edges[::-1], edges[1:]])
    jumps = np.diff(np.concatenate([[0], heights[::-1], heights, [0]]))
    end = edges[-1] + 10 * deviation + shift
    y = np.linspace(-end, end, 40_001)

    def density(x: Floats) -> Floats:
        return np.asarray(ndtr((x[:, np.newaxis] - places) / deviation) @ jumps)

    excess = np.maximum(density(y) - math.exp(epsilon) * density(y - shift), 0)
    return float((excess[1:] + excess[:-1]).sum() / 2 * (y[1] - y[0]))


@settings(max_examples=60)
@given(seeds, st.floats(0.05, 4), st.floats(0.05, 4), st.floats(0, 4))
def test_the_bound_is_above_the_truth_and_close_to_it(
    seed: int, shift: float, deviation: float, epsilon: float
) -> None:
    edges, masses = staircase(seed)
    bound = unimodal_delta_upper_bound(edges, masses, shift=shift, deviation=deviation, epsilon=epsilon)
    truth = by_quadrature(edges, masses, shift, deviation, epsilon)
    assert truth * (1 - 1e-5) - 1e-9 <= bound <= truth * 1.01 + 1e-9


@settings(max_examples=60)
@given(seeds, st.floats(0.05, 4), st.floats(0, 4))
def test_without_blur_it_is_the_limit_of_little_blur(seed: int, shift: float, epsilon: float) -> None:
    edges, masses = staircase(seed)
    bound = unimodal_delta_upper_bound(edges, masses, shift=shift, deviation=0.0, epsilon=epsilon)
    truth = by_quadrature(edges, masses, shift, 1e-3, epsilon)
    assert truth <= bound * (1 + 1e-3) + 1e-3
    assert bound <= truth + 0.02 * (1 + math.exp(epsilon))


@given(seeds, st.floats(0.1, 4), st.floats(0, 1), st.sampled_from([0.0, 0.3, 2.0]), st.floats(0, 3))
def test_smaller_shifts_are_hidden_better(
    seed: int, shift: float, share: float, deviation: float, epsilon: float
) -> None:
    edges, masses = staircase(seed)
    far, near = (
        unimodal_delta_upper_bound(edges, masses, shift=x, deviation=deviation, epsilon=epsilon)
        for x in (shift, shift * share)
    )
    assert near <= far * 1.01 + 1e-8


@given(seeds, st.sampled_from([0.0, 0.5]), st.floats(0, 3), st.floats(1e-3, 1e3))
def test_units_do_not_matter(seed: int, deviation: float, epsilon: float, factor: float) -> None:
    edges, masses = staircase(seed)
    before = unimodal_delta_upper_bound(edges, masses, shift=1.0, deviation=deviation, epsilon=epsilon)
    after = unimodal_delta_upper_bound(
        factor * edges, masses, shift=factor, deviation=factor * deviation, epsilon=epsilon
    )
    assert after == pytest.approx(before, rel=1e-3, abs=1e-8)


def test_noise_of_almost_no_width_leaves_the_two_gaussians() -> None:
    bound = unimodal_delta_upper_bound(np.array([0.0, 1e-3]), np.array([1.0]), shift=1.0, deviation=2.0, epsilon=0.5)
    assert bound == pytest.approx(gaussian_delta(0.5, 0.5), rel=1e-4)


def test_uniform_noise_gives_away_what_sticks_out_at_its_end() -> None:
    edges, masses = np.array([0.0, 4.0]), np.array([1.0])
    for shift in (0.0, 1.0, 3.0, 20.0):
        for epsilon in (0.0, 2.0, 50.0):
            found = unimodal_delta_upper_bound(edges, masses, shift=shift, deviation=0.0, epsilon=epsilon)
            assert found == pytest.approx(min(1.0, shift / 8), abs=1e-12)


@pytest.mark.parametrize("half", [1e-4, 0.01, 0.2, 0.3, 3.0, 40.0])
def test_tails_of_blurred_uniform_noise_have_twelve_digits(half: float) -> None:
    with mpmath.workdps(60):
        for y in (-0.7, 0.0, 0.4, half, half + 1, half + 5, half + 8.5):
            points = (mpmath.mpf(y) - mpmath.mpf(half), mpmath.mpf(y) + mpmath.mpf(half))
            near, far = (mpmath.npdf(x) - x * mpmath.ncdf(-x) for x in points)
            exact = float((near - far) / (2 * mpmath.mpf(half)))
            found = float(_tails(np.array([y]), np.array([half]), np.array([1.0]))[0])
            assert found == pytest.approx(exact, rel=1e-12)
