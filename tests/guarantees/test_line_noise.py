"""δ of Laplace noise along one line, against quadrature, sampling and what is known in closed form."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.normal_laplace import sampled_delta

from distpriv.distances.gaussian import gaussian_hockey_stick
from distpriv.framework.arrays import Floats
from distpriv.guarantees.line_noise import COARSE, FINE, ROUGH, Fineness, LinePair, LineSum, RatioLattice, unevenness
from distpriv.noise.lengths import laplace_log_density

SEEDS, EPSILONS, SCALES = st.integers(0, 10**6), st.floats(0, 2), st.floats(0.2, 20)


def delta_of(pair: LinePair | None, scale: float, epsilon: float, fineness: Fineness = FINE) -> float:
    """Return the bound of a pair that there is one of."""
    assert pair is not None
    sums = LineSum.of(pair, scale, epsilon, fineness)
    assert sums is not None
    return sums.delta(scale)


def random_pair(seed: int, size: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return a shift, two covariances that differ by up to a half, and an axis near the shift."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size)) + 2 * np.eye(size)
    other = root @ np.diag(rng.uniform(0.7, 1.4, size)) @ root.T
    shift = rng.normal(size=size) * 2
    axis = shift + 0.2 * rng.normal(size=size)
    return shift, root @ root.T, other, axis / np.linalg.norm(axis)


@settings(max_examples=10)
@given(st.floats(-3, 3), st.floats(0.3, 3), st.floats(0.7, 1.4), SCALES, st.floats(0, 3))
def test_of_one_number_it_is_never_below_a_sum_and_close_to_it(
    shift: float, first: float, ratio: float, scale: float, epsilon: float
) -> None:
    def summed(epsilon: float) -> float:
        reach = 28 * scale + 9 * first * (1 + ratio) + abs(shift)
        points = np.linspace(-reach, reach, 100_001)
        one = np.exp(laplace_log_density(points, scale, first))
        other = np.exp(laplace_log_density(points + shift, scale, first * ratio))
        return float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum() * (points[1] - points[0]))

    pair = LinePair.of(np.array([shift]), np.array([[first**2]]), np.array([[(first * ratio) ** 2]]), np.ones(1))
    exact = summed(epsilon)
    assert exact * (1 - 1e-5) - 1e-8 <= delta_of(pair, scale, epsilon) <= summed(epsilon - 0.01) + 0.01 * exact + 1e-6


@pytest.mark.parametrize(("draws", "errors"), [(40_000, 5), pytest.param(400_000, 6, marks=pytest.mark.slow)])
@settings(max_examples=10)
@given(seed=SEEDS, size=st.integers(2, 5), scale=SCALES, epsilon=EPSILONS)
def test_of_several_numbers_it_is_what_sampling_says(
    draws: int, errors: int, seed: int, size: int, scale: float, epsilon: float
) -> None:
    shift, first, second, axis = random_pair(seed, size)
    bound = delta_of(LinePair.of(shift, first, second, axis), scale, epsilon)
    truth, error = sampled_delta(shift, first, second, axis, scale, epsilon, draws, 1)
    assert truth - errors * error - 1e-4 <= bound <= truth * 1.02 + errors * error + 1e-4


@pytest.mark.parametrize("fineness", [COARSE, pytest.param(FINE, marks=pytest.mark.slow)])
@settings(max_examples=4)
@given(seed=SEEDS, scale=SCALES, epsilon=EPSILONS)
def test_coarser_lattices_give_larger_bounds_and_estimates_are_near(
    fineness: Fineness, seed: int, scale: float, epsilon: float
) -> None:
    pair = LinePair.of(*random_pair(seed, 3))
    bound, estimate = delta_of(pair, scale, epsilon, fineness), delta_of(pair, scale, epsilon, ROUGH)
    nearly = delta_of(pair, scale, max(0.0, epsilon - 0.05), fineness)
    assert bound >= delta_of(pair, scale, epsilon, FINE) * 0.98 - 1e-10  # both leave room for what they cut off
    assert 0.8 * delta_of(pair, scale, epsilon + 0.05, fineness) - 1e-5 <= estimate <= 1.2 * nearly + 1e-5


@settings(max_examples=5)
@given(SEEDS, SCALES, st.floats(1.05, 3), EPSILONS)
def test_units_and_the_sign_of_the_axis_do_not_matter_and_it_falls_with_scale_and_epsilon(
    seed: int, scale: float, factor: float, epsilon: float
) -> None:
    shift, first, second, axis = random_pair(seed, 3)
    pair = LinePair.of(shift, first, second, axis)
    bound = delta_of(pair, scale, epsilon)
    turned = delta_of(LinePair.of(shift, first, second, -axis), scale, epsilon)
    units = np.array([1e-5, 1.0, 1e4])
    scaled = LinePair.of(shift * units, first * np.outer(units, units), second * np.outer(units, units), axis * units)
    assert [turned, delta_of(scaled, scale, epsilon)] == pytest.approx([bound, bound], rel=1e-3, abs=1e-9)
    assert delta_of(pair, scale * factor, epsilon) <= bound * 1.01 + 1e-9
    assert delta_of(pair, scale, epsilon + 0.1) <= bound * 1.01 + 1e-9
    narrow = delta_of(pair, 1e-6, epsilon)  # leaves the divergence of the Gaussians
    least, most = (gaussian_hockey_stick(at, shift, first, second).value for at in (epsilon, max(0.0, epsilon - 0.05)))
    assert least * (1 - 1e-4) - 1e-9 <= narrow <= most * 1.05 + 1e-6


def test_what_both_scenarios_have_in_common_weighs_the_same_in_both() -> None:
    pair = LinePair.of(*random_pair(3, 4))
    assert pair is not None
    lattice = RatioLattice.of(pair, pair.second / 50, FINE)
    kappas = lattice.start + lattice.step * np.arange(lattice.masses.shape[1])
    assert lattice.masses.sum() == pytest.approx(1, abs=1e-9)
    assert (lattice.masses @ np.exp(-kappas)).sum() == pytest.approx(1, abs=1e-6)


@given(variance=st.floats(0.13, 3), mean=st.floats(-0.5, 0.5))
def test_sums_of_normal_densities_over_whole_numbers_are_as_even_as_bounded(variance: float, mean: float) -> None:
    whole = np.arange(-60, 61)
    total = np.exp(-((whole - mean) ** 2) / (2 * variance)).sum() / math.sqrt(2 * math.pi * variance)
    assert abs(total - 1) <= unevenness(variance) * (1 + 1e-9) + 1e-12


def correlated_pair(correlation: float) -> LinePair:
    second = np.array([[1.0, 2 * correlation], [2 * correlation, 4.0]])
    pair = LinePair.of(np.array([0.5, 0.0]), np.eye(2), second, np.array([1.0, 0.0]))
    assert pair is not None
    return pair


def test_what_lattices_do_not_reach_is_left_to_other_bounds() -> None:
    nearly = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-12]])
    assert LinePair.of(np.ones(2), nearly, np.eye(2), np.array([1.0, 0.0])) is None
    assert LinePair.of(np.ones(2), np.diag([1.0, 0.0]), np.eye(2), np.array([1.0, 0.0])) is None
    far = LinePair.of(np.full(1, 1e6), np.eye(1), np.eye(1), np.ones(1))
    assert far is not None
    assert LineSum.of(far, 1.0, 1.0) is None
    assert LineSum.of(correlated_pair(0.999999), 0.3, 1.0) is None


@pytest.mark.parametrize(("correlation", "truth"), [(0.996, 0.41958), (0.998, 0.42305)])
def test_lattices_that_are_made_coarser_keep_what_is_at_their_ends(correlation: float, truth: float) -> None:
    assert truth <= delta_of(correlated_pair(correlation), 0.3, 1.0) <= truth * 1.02
