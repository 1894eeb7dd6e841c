"""The exact δ of noise along one line, against quadrature, sampling and what is known in closed form."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distpriv.distances.gaussian_divergence import gaussian_hockey_stick
from distpriv.distances.line_laws import LaplaceLine, LineLaw, StaircaseLine
from distpriv.framework.arrays import Floats
from distpriv.guarantees.line_delta import COARSE, FINE, ROUGH, Fineness
from distpriv.guarantees.line_delta import line_delta as line_delta_or_none
from distpriv.guarantees.line_pairs import LinePair
from distpriv.guarantees.ratio_lattice import RatioLattice, unevenness

LAWS = st.one_of(
    st.floats(0.2, 20).map(lambda scale: LaplaceLine(scale=scale)),
    st.tuples(st.floats(0.1, 0.9), st.floats(0.1, 3), st.floats(1.5, 6)).map(
        lambda of: StaircaseLine(
            edges=np.array([0, of[1], of[1] * of[2]]),
            masses=np.array([max(of[0], 1 / of[2]), 1 - max(of[0], 1 / of[2])]),
        )
    ),
)


def line_delta(pair: LinePair | None, law: LineLaw, epsilon: float, fineness: Fineness = FINE) -> float:
    """Return the bound of a pair that there is one of."""
    assert pair is not None
    found = line_delta_or_none(pair, law, epsilon, fineness)
    assert found is not None
    return found


def on_one_number(shift: float, first: float, second: float, law: LineLaw, epsilon: float) -> float:
    """Return H_ε of two numbers by a fine sum."""
    reach = law.reach(1e-12) + 9 * (first + second) + abs(shift)
    points = np.linspace(-reach, reach, 100_001)
    one = np.exp(law.log_density(points, first))
    other = np.exp(law.log_density(points + shift, second))
    return float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum() * (points[1] - points[0]))


def random_pair(seed: int, size: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return a shift, two covariances that differ by up to a half, and an axis near the shift."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size)) + 2 * np.eye(size)
    first = root @ root.T
    other = root @ np.diag(rng.uniform(0.7, 1.4, size)) @ root.T
    shift = rng.normal(size=size) * 2
    axis = shift + 0.2 * rng.normal(size=size)
    return shift, first, other, axis / np.linalg.norm(axis)


def sampled(
    shift: Floats, first: Floats, second: Floats, axis: Floats, law: LineLaw, epsilon: float, draws: int
) -> tuple[float, float]:
    """Return H_ε by sampling with exact densities, and the standard error."""
    from distpriv.guarantees.bells import Bell
    from distpriv.guarantees.line_bells import LineBell

    rng = np.random.default_rng(1)
    one = LineBell(bell=Bell(mean=shift, covariance=first), axis=axis, law=law)
    other = LineBell(bell=Bell(mean=np.zeros(len(shift)), covariance=second), axis=axis, law=law)
    points = one.drawn(rng.normal(size=(draws, len(shift) + 1)))
    values = -np.expm1(np.minimum(epsilon - one.log_density(points) + other.log_density(points), 0.0))
    return float(values.mean()), float(values.std() / math.sqrt(draws))


@settings(max_examples=10)
@given(shift=st.floats(-3, 3), first=st.floats(0.3, 3), ratio=st.floats(0.7, 1.4), law=LAWS, epsilon=st.floats(0, 3))
def test_of_one_number_it_is_never_below_a_sum_and_close_to_it(
    shift: float, first: float, ratio: float, law: LineLaw, epsilon: float
) -> None:
    pair = LinePair.of(np.array([shift]), np.array([[first**2]]), np.array([[(first * ratio) ** 2]]), np.ones(1))
    exact = on_one_number(shift, first, first * ratio, law, epsilon)
    nearly = on_one_number(shift, first, first * ratio, law, epsilon - 0.01)
    bound = line_delta(pair, law, epsilon)
    assert exact * (1 - 1e-5) - 1e-8 <= bound <= nearly + 0.01 * exact + 1e-6


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), size=st.integers(2, 4), law=LAWS, epsilon=st.floats(0, 2))
def test_of_several_numbers_it_is_what_sampling_says(seed: int, size: int, law: LineLaw, epsilon: float) -> None:
    shift, first, second, axis = random_pair(seed, size)
    bound = line_delta(LinePair.of(shift, first, second, axis), law, epsilon)
    truth, error = sampled(shift, first, second, axis, law, epsilon, 40_000)
    assert truth - 5 * error - 1e-4 <= bound <= truth * 1.02 + 5 * error + 1e-4


@pytest.mark.parametrize("fineness", [COARSE, pytest.param(FINE, marks=pytest.mark.slow)])
@settings(max_examples=4)
@given(seed=st.integers(0, 10**6), law=LAWS, epsilon=st.floats(0, 2))
def test_coarser_lattices_give_larger_bounds_and_estimates_are_near(
    fineness: Fineness, seed: int, law: LineLaw, epsilon: float
) -> None:
    pair = LinePair.of(*random_pair(seed, 3))
    bound, estimate = line_delta(pair, law, epsilon, fineness), line_delta(pair, law, epsilon, ROUGH)
    nearly = line_delta(pair, law, max(0.0, epsilon - 0.05), fineness)
    assert bound >= line_delta(pair, law, epsilon, FINE) * 0.98 - 1e-10  # both leave room for what they cut off
    assert 0.8 * line_delta(pair, law, epsilon + 0.05, fineness) - 1e-5 <= estimate <= 1.2 * nearly + 1e-5


@settings(max_examples=5)
@given(seed=st.integers(0, 10**6), epsilon=st.floats(0, 2))
def test_noise_too_narrow_to_matter_leaves_the_divergence_of_the_gaussians(seed: int, epsilon: float) -> None:
    shift, first, second, axis = random_pair(seed, 3)
    bound = line_delta(LinePair.of(shift, first, second, axis), LaplaceLine(scale=1e-6), epsilon)
    exact = gaussian_hockey_stick(epsilon, shift, first, second)
    assert exact.value * (1 - 1e-4) - 1e-9 <= bound <= exact.upper_bound * 1.05 + 1e-6


@settings(max_examples=5)
@given(seed=st.integers(0, 10**6), law=LAWS, epsilon=st.floats(0, 2))
def test_it_does_not_matter_which_way_the_axis_points_or_in_which_units_numbers_are(
    seed: int, law: LineLaw, epsilon: float
) -> None:
    shift, first, second, axis = random_pair(seed, 3)
    bound = line_delta(LinePair.of(shift, first, second, axis), law, epsilon)
    assert line_delta(LinePair.of(shift, first, second, -axis), law, epsilon) == pytest.approx(
        bound, rel=1e-3, abs=1e-9
    )
    units = np.array([1e-5, 1.0, 1e4])
    scaled = LinePair.of(shift * units, first * np.outer(units, units), second * np.outer(units, units), axis * units)
    assert line_delta(scaled, law, epsilon) == pytest.approx(bound, rel=1e-3, abs=1e-9)


@settings(max_examples=5)
@given(seed=st.integers(0, 10**6), scale=st.floats(0.3, 5), factor=st.floats(1.05, 3), epsilon=st.floats(0, 2))
def test_it_falls_with_the_scale_of_laplace_noise_and_with_epsilon(
    seed: int, scale: float, factor: float, epsilon: float
) -> None:
    pair = LinePair.of(*random_pair(seed, 2))
    wide, narrow = (line_delta(pair, LaplaceLine(scale=of), epsilon) for of in (scale * factor, scale))
    assert wide <= narrow * 1.01 + 1e-9
    assert line_delta(pair, LaplaceLine(scale=scale), epsilon + 0.1) <= narrow * 1.01 + 1e-9


def test_what_both_scenarios_have_in_common_weighs_the_same_in_both() -> None:
    pair = LinePair.of(*random_pair(3, 4))
    assert pair is not None
    lattice = RatioLattice.of(pair, step=pair.second / 50, per_spread=20, least_mass=1e-17)
    kappas = lattice.start + lattice.step * np.arange(lattice.masses.shape[1])
    assert lattice.masses.sum() == pytest.approx(1, abs=1e-9)
    assert (lattice.masses @ np.exp(-kappas)).sum() == pytest.approx(1, abs=1e-6)


@given(variance=st.floats(0.13, 3), mean=st.floats(-0.5, 0.5))
def test_sums_of_bell_curves_over_whole_numbers_are_as_even_as_said(variance: float, mean: float) -> None:
    whole = np.arange(-60, 61)
    total = np.exp(-((whole - mean) ** 2) / (2 * variance)).sum() / math.sqrt(2 * math.pi * variance)
    assert abs(total - 1) <= unevenness(variance) * (1 + 1e-9) + 1e-12


def test_scenarios_that_rounding_would_blur_are_left_to_other_bounds() -> None:
    nearly = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-12]])
    assert LinePair.of(np.ones(2), nearly, np.eye(2), np.array([1.0, 0.0])) is None
    assert LinePair.of(np.ones(2), np.diag([1.0, 0.0]), np.eye(2), np.array([1.0, 0.0])) is None


def test_noise_too_wide_for_a_lattice_is_left_to_other_bounds() -> None:
    pair = LinePair.of(np.ones(1), np.eye(1), np.eye(1), np.ones(1))
    assert pair is not None
    assert line_delta_or_none(pair, StaircaseLine(edges=np.array([0.0, 1e6]), masses=np.ones(1)), 1.0) is None


@pytest.mark.slow
@settings(max_examples=150)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 5), law=LAWS, epsilon=st.floats(0, 4))
def test_sampling_never_finds_more(seed: int, size: int, law: LineLaw, epsilon: float) -> None:
    shift, first, second, axis = random_pair(seed, size)
    bound = line_delta(LinePair.of(shift, first, second, axis), law, epsilon)
    truth, error = sampled(shift, first, second, axis, law, epsilon, 100_000)
    assert truth - 6 * error - 1e-4 <= bound


@pytest.mark.parametrize(("correlation", "epsilon", "truth"), [(0.996, 1.0, 0.41958), (0.998, 1.0, 0.42305)])
def test_lattices_that_are_made_coarser_keep_what_is_at_their_ends(
    correlation: float, epsilon: float, truth: float
) -> None:
    second = np.array([[1.0, 2 * correlation], [2 * correlation, 4.0]])
    pair = LinePair.of(np.array([0.5, 0.0]), np.eye(2), second, np.array([1.0, 0.0]))
    assert truth <= line_delta(pair, LaplaceLine(scale=0.3), epsilon) <= truth * 1.02


def test_what_moves_farther_than_lattices_reach_is_left_to_other_bounds() -> None:
    second = np.array([[1.0, 2 * 0.999999], [2 * 0.999999, 4.0]])
    pair = LinePair.of(np.array([0.5, 0.0]), np.eye(2), second, np.array([1.0, 0.0]))
    assert pair is not None
    assert line_delta_or_none(pair, LaplaceLine(scale=0.3), 1.0) is None


@pytest.mark.parametrize("width", [1e-3, 1e-12, 1e-16, 1e-18])
def test_a_step_so_narrow_that_rounding_swallows_it_still_counts(width: float) -> None:
    pair = LinePair.of(np.array([3.0]), np.eye(1), np.eye(1), np.ones(1))
    spike = StaircaseLine(edges=np.array([0.0, width, 30.0]), masses=np.array([0.9375, 0.0625]))
    point = on_one_number(3.0, 1.0, 1.0, StaircaseLine(edges=np.array([0.0, 1e-3, 30.0]), masses=spike.masses), 1.0)
    assert line_delta(pair, spike, 1.0) == pytest.approx(point, rel=0.01)
