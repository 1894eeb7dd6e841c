"""The hockey-stick divergence of any two Gaussians, and of many pairs at once."""

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy.stats import ncx2

from distpriv.distances.gaussian import (
    HockeyStick,
    HockeySticks,
    contour,
    divergence,
    gaussian_delta,
    gaussian_hockey_stick,
    gaussian_hockey_sticks,
)
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats

Laws = tuple[Floats, Floats, Floats]

epsilons = st.one_of(st.just(0.0), st.floats(1e-6, 20.0))
log_ratios = st.one_of(st.just(0.0), st.floats(-6, 6), st.floats(-0.1, 0.1), st.floats(-1e-10, 1e-10))
shifts = st.one_of(st.just(0.0), st.floats(1e-6, 50.0))
seeds = st.integers(0, 2**32 - 1)
dimensions = st.integers(1, 6)


def exact_hockey_stick(epsilon: float, shift: float, variance_1: float, variance_2: float) -> Any:
    """∫ (p₁ - e^ε p₂)₊ in one dimension, where L > ε is a quadratic inequality, in 200 digits."""
    with mpmath.workdps(200):
        e, d, v, w = (mpmath.mpf(float(x)) for x in (epsilon, shift, variance_1, variance_2))
        square, linear = 1 / (2 * w) - 1 / (2 * v), d / v
        constant = -d * d / (2 * v) - mpmath.log(v / w) / 2 - e

        def mass(low: Any, high: Any) -> Any:
            return _interval((low - d) / mpmath.sqrt(v), (high - d) / mpmath.sqrt(v)) - mpmath.exp(e) * _interval(
                low / mpmath.sqrt(w), high / mpmath.sqrt(w)
            )

        if square == 0:
            return mass(-constant / linear, mpmath.inf) if linear > 0 else mpmath.mpf(0)
        discriminant = linear**2 - 4 * square * constant
        if discriminant <= 0:
            return mpmath.mpf(0)
        low, high = sorted((-linear + sign * mpmath.sqrt(discriminant)) / (2 * square) for sign in (-1, 1))
        return mass(low, high) if square < 0 else mass(-mpmath.inf, low) + mass(high, mpmath.inf)


def _interval(low: Any, high: Any) -> Any:
    """Probability that a standard normal lies between low and high, from whichever tail is smaller."""
    return mpmath.ncdf(-low) - mpmath.ncdf(-high) if low + high > 0 else mpmath.ncdf(high) - mpmath.ncdf(low)


def random_pair(seed: int, dimension: int, spread: float = 1.0) -> Laws:
    """A mean difference and two covariances with variance ratios of about 10^±spread in random directions."""
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((dimension, dimension)) + 2 * math.sqrt(dimension) * np.eye(dimension)
    ratios = 10.0 ** rng.uniform(-spread, spread, dimension)
    shift = rng.standard_normal(dimension) * 10.0 ** rng.uniform(-2, 0.5)
    return mixing @ shift, mixing @ np.diag(ratios) @ mixing.T, mixing @ mixing.T


def random_noise(seed: int, dimension: int) -> Floats:
    factor = np.random.default_rng(seed).standard_normal((dimension, dimension))
    return np.asarray(factor @ factor.T)


def contains(computed: HockeyStick, truth: float) -> bool:
    return bool(abs(computed.value - truth) <= computed.error)


class TestHockeyStickAgainstOracles:
    @settings(max_examples=300, deadline=None)
    @given(st.one_of(epsilons, st.floats(0.0, 100.0)), log_ratios, shifts, st.booleans())
    @example(0.0, math.log10(0.25), 0.0, True)
    @example(0.5, math.log10(0.25), 0.0, True)
    @example(1.0, math.log10(4.0), 0.0, True)
    @example(0.0, 1e-12, 0.0, True)
    @example(20.0, 1e-12, 2.0, True)
    def test_in_one_dimension_the_truth_lies_within_the_error(
        self, epsilon: float, log_ratio: float, deviations: float, of_first: bool
    ) -> None:
        ratio = 10.0**log_ratio
        shift = deviations * math.sqrt(ratio if of_first else 1.0)
        computed = gaussian_hockey_stick(epsilon, [shift], [[ratio]], [[1.0]])
        truth = exact_hockey_stick(epsilon, shift, ratio, 1.0)
        assert contains(computed, truth)
        assert computed.error <= 1e-8 * truth + 1e-12
        if (
            truth > 1e-20 and abs(log_ratio) <= 0.5 and 0.1 <= deviations <= 10 and epsilon <= 20
        ):  # small ones keep digits
            assert abs(computed.value - truth) <= 1e-10 * truth
            assert computed.error <= 1e-6 * truth

    @settings(max_examples=150, deadline=None)
    @given(seeds, st.floats(0.0, 5.0), st.sampled_from([6.0, 10.0, 16.0, 24.0]), st.sampled_from([1.5, 3.0, 20.0]))
    def test_the_error_is_sound_even_at_a_resolution_that_is_far_too_coarse(
        self, seed: int, epsilon: float, decay: float, longest: float
    ) -> None:
        shift, first, second = random_pair(seed, 1)
        truth = exact_hockey_stick(epsilon, shift[0], first[0, 0], second[0, 0])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(contour, "RULE", contour.Rule(decay=decay, longest=longest))
            assert contains(gaussian_hockey_stick(epsilon, shift, first, second), truth)

    @settings(max_examples=60, deadline=None)
    @given(seeds, st.sampled_from([1, 2, 5, 20, 50]), epsilons, st.floats(-2.0, 1.3))
    def test_equal_covariances_give_the_closed_form(
        self, seed: int, dimension: int, epsilon: float, exponent: float
    ) -> None:
        rng = np.random.default_rng(seed)
        factor = rng.standard_normal((dimension, dimension)) + 3 * math.sqrt(dimension) * np.eye(dimension)
        direction = rng.standard_normal(dimension)
        shift = factor @ direction / np.linalg.norm(direction) * 10.0**exponent
        covariance = factor @ factor.T
        truth = gaussian_delta(epsilon, math.sqrt(shift @ np.linalg.solve(covariance, shift)))
        computed = gaussian_hockey_stick(epsilon, shift, covariance, covariance)
        assert computed.value == pytest.approx(truth, abs=1e-10)
        if truth > 1e-20:
            assert computed.value == pytest.approx(truth, rel=1e-9)
            assert computed.error <= 1e-6 * truth

    @settings(max_examples=60, deadline=None)
    @given(seeds, st.sampled_from([1, 2, 5, 20, 50]), st.floats(0.0, 5.0), st.floats(-1.5, 1.5))
    def test_proportional_covariances_give_noncentral_chi_squares(
        self, seed: int, dimension: int, epsilon: float, log_ratio: float
    ) -> None:
        assume(abs(log_ratio) > 0.05)
        ratio = math.exp(log_ratio)
        shift = np.random.default_rng(seed).standard_normal(dimension) / math.sqrt(dimension)
        square = float(shift @ shift)
        radius = 2 * (epsilon + dimension * log_ratio / 2 - square / (2 * (1 - ratio))) / (1 - 1 / ratio)
        tail = ncx2.sf if ratio > 1 else ncx2.cdf
        masses = [tail(max(radius, 0) / v, dimension, v * square / (1 - ratio) ** 2) for v in (ratio, 1.0)]
        computed = gaussian_hockey_stick(epsilon, shift, ratio * np.eye(dimension), np.eye(dimension))
        assert computed.value == pytest.approx(masses[0] - math.exp(epsilon) * masses[1], abs=1e-9)

    @pytest.mark.parametrize(
        ("epsilon", "shift", "variances_1", "variances_2", "truth"),
        [  # nested 30-digit quadrature of the one-dimensional closed form
            (0.5, [0.3, -0.2], [1.0, 3.0], [2.0, 1.0], 0.20747618253999012),
            (1.0, [0.0, 0.5], [0.5, 2.0], [1.0, 1.5], 0.032492219870830099),
            (10.0, [1.0, 1.0], [1.0, 2.0], [1.5, 1.0], 4.9762567777816422e-4),
            (3.0, [2.0, 0.1], [1.0, 0.2], [1.2, 0.3], 0.11465306511904490),
        ],
    )
    def test_in_two_dimensions_it_agrees_with_nested_quadrature(
        self, epsilon: float, shift: ArrayLike, variances_1: ArrayLike, variances_2: ArrayLike, truth: float
    ) -> None:
        computed = gaussian_hockey_stick(epsilon, shift, np.diag(variances_1), np.diag(variances_2))
        assert contains(computed, truth)
        assert computed.value == pytest.approx(truth, rel=1e-12)


class TestHockeyStickLaws:
    @settings(max_examples=80, deadline=None)
    @given(seeds, dimensions, epsilons, st.floats(0.0, 3.0))
    def test_it_depends_on_no_units_and_falls_with_epsilon_with_noise_and_with_every_coordinate_dropped(
        self, seed: int, dimension: int, epsilon: float, more: float
    ) -> None:
        shift, first, second = random_pair(seed, dimension)
        whole, noise = gaussian_hockey_stick(epsilon, shift, first, second), random_noise(seed + 1, dimension)
        units = np.diag(10.0 ** np.random.default_rng(seed).uniform(-8, 8, dimension))
        scaled = gaussian_hockey_stick(epsilon, -units @ shift, units @ first @ units, units @ second @ units)
        assert scaled.value == pytest.approx(whole.value, rel=1e-7, abs=1e-300)
        smaller = [
            gaussian_hockey_stick(epsilon + more, shift, first, second),
            gaussian_hockey_stick(epsilon, shift, first + noise, second + noise),
        ]
        if dimension > 1:
            smaller.append(gaussian_hockey_stick(epsilon, shift[1:], first[1:, 1:], second[1:, 1:]))
        assert all(one.value - one.error <= whole.upper_bound for one in smaller)

    @settings(max_examples=60, deadline=None)
    @given(seeds, st.sampled_from([1, 2, 5, 20, 50]), epsilons)
    def test_at_epsilon_zero_it_is_symmetric_and_the_error_is_far_below_the_value(
        self, seed: int, dimension: int, epsilon: float
    ) -> None:
        shift, first, second = random_pair(seed, dimension, spread=2.0 if dimension < 6 else 1.0)
        one_way, other_way = (gaussian_hockey_stick(0.0, shift, *pair) for pair in ((first, second), (second, first)))
        assert abs(one_way.value - other_way.value) <= one_way.error + other_way.error
        computed = gaussian_hockey_stick(epsilon, *random_pair(seed, dimension))
        assert computed.error <= 1e-6 * computed.value + 1e-15
        assert computed.value <= computed.upper_bound <= 1.0

    def test_a_likelihood_ratio_that_never_reaches_epsilon_gives_zero(self) -> None:
        highest = math.log(4.0) / 2
        assert gaussian_hockey_stick(highest + 1e-3, [0.0], [[1.0]], [[4.0]]).upper_bound < 1e-300
        assert gaussian_hockey_stick(highest, [0.0], [[1.0]], [[4.0]]).upper_bound < 1e-12
        assert gaussian_hockey_stick(highest - 1e-3, [0.0], [[1.0]], [[4.0]]).value > 1e-6

    def test_huge_shifts_and_epsilons_stay_within_zero_and_one(self) -> None:
        assert gaussian_hockey_stick(1.0, [1e5], [[1.0]], [[2.0]]).value == pytest.approx(1.0, abs=1e-12)
        assert gaussian_hockey_stick(1e6, [1.0], [[1.0]], [[1.0]]).upper_bound < 1e-300
        assert gaussian_hockey_stick(1.0, [1e150], [[1.0]], [[2.0]]).upper_bound == 1.0
        assert gaussian_hockey_stick(1.0, [1e200], [[1.0]], [[2.0]]).upper_bound == 1.0


class TestSingularCovariances:
    @pytest.mark.parametrize(
        ("shift", "first", "second"),
        [
            ([0.0], [[0.0]], [[1.0]]),
            ([1e-9], [[0.0]], [[0.0]]),
            ([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]),
            ([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]], [[1.0, -1.0], [-1.0, 1.0]]),
            ([0.1, 0.0], [[1.0, 1.0], [1.0, 1.0]], [[2.0, 2.0], [2.0, 2.0]]),
            ([1e200, 0.0], [[1.0, 1.0], [1.0, 1.0]], [[2.0, 2.0], [2.0, 2.0]]),
            ([0.0, 1.0], [[1.0, 0.0], [0.0, 0.0]], [[2.0, 0.0], [0.0, 0.0]]),
        ],
    )
    def test_laws_that_live_on_different_subspaces_can_always_be_told_apart(
        self, shift: ArrayLike, first: ArrayLike, second: ArrayLike
    ) -> None:
        assert gaussian_hockey_stick(3.0, shift, first, second) == HockeyStick(value=1.0, error=0.0)
        assert gaussian_hockey_stick(3.0, shift, second, first) == HockeyStick(value=1.0, error=0.0)

    @settings(max_examples=60, deadline=None)
    @given(seeds, st.integers(1, 4), st.integers(1, 3), epsilons)
    def test_on_a_common_subspace_only_the_subspace_counts(
        self, seed: int, dimension: int, more: int, epsilon: float
    ) -> None:
        shift, first, second = random_pair(seed, dimension)
        embedding = np.linalg.qr(np.random.default_rng(seed).standard_normal((dimension + more, dimension)))[0]
        inside = gaussian_hockey_stick(epsilon, shift, first, second)
        embedded = [embedding @ matrix @ embedding.T for matrix in (first, second)]
        outside = gaussian_hockey_stick(epsilon, embedding @ shift, *((m + m.T) / 2 for m in embedded))
        assert outside.value == pytest.approx(inside.value, rel=1e-6, abs=1e-300)

    def test_digits_lost_in_a_nearly_singular_matrix_show_in_the_error(self) -> None:
        nearly = np.array([[1.0, 1.0 - 1e-12], [1.0 - 1e-12, 1.0]])
        computed = gaussian_hockey_stick(0.1, [0.0, 0.0], nearly, 2 * nearly)
        assert contains(computed, gaussian_hockey_stick(0.1, [0.0, 0.0], np.eye(2), 2 * np.eye(2)).value)
        assert 1e-3 < computed.error < 0.1


KINDS = ("ordinary", "far", "nearly equal", "equal", "points", "flat", "apart", "off the range", "nothing known")


def pair_of(kind: str, rng: np.random.Generator, size: int) -> Laws:
    """A pair of Gaussians, ordinary or degenerate in one of the ways there are."""
    mixing = rng.standard_normal((size, size)) + 2 * math.sqrt(size) * np.eye(size)
    spread = {"far": 2.0, "nearly equal": 1e-9, "equal": 0.0}.get(kind, 0.5)
    ratios = 10.0 ** rng.uniform(-spread, spread, size)
    shift = np.zeros(size) if kind in ("equal", "points") else rng.standard_normal(size) * 10.0 ** rng.uniform(-2, 0.5)
    varies = np.ones(size)
    if kind == "points":
        varies[:] = 0
    if kind in ("flat", "apart", "off the range"):
        varies[0] = 0
    moved = shift if kind == "off the range" else shift * varies
    first, second = (
        mixing @ np.diag(r) @ mixing.T for r in (varies * ratios, np.ones(size) if kind == "apart" else varies)
    )
    if kind == "nothing known" and size > 1:  # the least eigenvalue is just above what counts as rounding
        first = np.ones((size, size)) + 32 * size**2 * np.finfo(float).eps * np.eye(size)
        second = 2 * first
    return mixing @ moved, (first + first.T) / 2, (second + second.T) / 2


def stacked(pairs: list[Laws]) -> Laws:
    shifts, firsts, seconds = (np.array(column) for column in zip(*pairs, strict=True))
    return shifts, firsts, seconds


@st.composite
def batches(draw: st.DrawFn) -> tuple[Floats, Laws]:
    """An ε for each of some pairs of one dimension, ordinary and degenerate ones mixed."""
    size = draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=8))
    epsilons = np.array([draw(st.one_of(st.just(0.0), st.floats(1e-6, 20.0))) for _ in kinds])
    return epsilons, stacked([pair_of(kind, rng, size) for kind in kinds])


def require_same(one: HockeySticks, other: HockeySticks) -> None:
    """Values must agree up to the rounding of their last digits, and errors up to the same share of themselves."""
    np.testing.assert_allclose(one.value, other.value, rtol=1e-12, atol=0)
    np.testing.assert_allclose(one.error, other.error, rtol=1e-6, atol=1e-300)


@settings(max_examples=60)
@given(batches(), st.randoms(use_true_random=False), st.integers(1, 100))
def test_a_batch_is_its_pairs_one_by_one_in_any_order_and_however_many_are_computed_together(
    batch: tuple[Floats, Laws], random: Any, together: int
) -> None:
    epsilons, laws = batch
    whole = gaussian_hockey_sticks(epsilons, *laws)
    alone = [gaussian_hockey_stick(*given) for given in zip(epsilons, *laws, strict=True)]
    values, errors = np.array([[one.value, one.error] for one in alone]).T
    require_same(whole, HockeySticks(value=values, error=errors))
    order = list(range(len(epsilons)))
    random.shuffle(order)
    shuffled = gaussian_hockey_sticks(epsilons[order], *(law[order] for law in laws))
    require_same(shuffled, HockeySticks(value=whole.value[order], error=whole.error[order]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(divergence, "TOGETHER", together)
        require_same(gaussian_hockey_sticks(epsilons, *laws), whole)
    one_epsilon = np.full(len(epsilons), epsilons[0])
    assert gaussian_hockey_sticks(epsilons[0], *laws) == gaussian_hockey_sticks(one_epsilon, *laws)


@given(st.integers(2, 8), st.integers(0, 10**6))
def test_degenerate_pairs_have_their_values_beside_ordinary_ones(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sticks = gaussian_hockey_sticks(0.5, *stacked([pair_of(kind, rng, size) for kind in KINDS]))
    by_kind = dict(zip(KINDS, zip(sticks.value.tolist(), sticks.error.tolist(), strict=True), strict=True))
    assert by_kind["points"] == by_kind["equal"] == (0.0, 0.0)
    assert by_kind["apart"] == by_kind["off the range"] == (1.0, 0.0)
    assert by_kind["nothing known"] == (1.0, 1.0)
    assert 0 < by_kind["ordinary"][1] < 1e-6
    assert 0 < by_kind["flat"][1] < 1e-6
    assert (sticks.upper_bound <= 1).all()


@pytest.mark.parametrize(
    ("shift", "first", "second", "message"),
    [
        (1.0, [[1.0]], [[1.0]], "mean_difference must be a vector"),
        ([], np.zeros((0, 0)), np.zeros((0, 0)), "mean_difference must be a vector with"),
        ([math.nan], [[1.0]], [[1.0]], "mean_difference must be finite"),
        ([1.0], [1.0], [[1.0]], "covariance_1 must be a matrix"),
        ([1.0], [[1.0]], np.eye(2), r"covariance_2 must have the shape \(1, 1\)"),
        ([1.0], [[1.0]], [[-1.0]], "covariance_2 must have no negative variance"),
        ([1.0, 1.0], [[1.0, 0.5], [0.4, 1.0]], np.eye(2), "covariance_1 must be symmetric"),
        ([1.0, 1.0], np.eye(2), [[0.0, 1e-9], [1e-9, 1.0]], "covariance_2 must be positive semidefinite"),
    ],
)
def test_what_is_no_pair_of_gaussians_is_refused_with_its_cure(
    shift: ArrayLike, first: ArrayLike, second: ArrayLike, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        gaussian_hockey_stick(1.0, shift, first, second)


def test_of_many_pairs_the_one_that_is_none_is_refused_by_its_number() -> None:
    ones = [[[1.0]]] * 2
    with pytest.raises(InvalidInput, match="covariance_2 of pair 1 must have no negative variance"):
        gaussian_hockey_sticks(1.0, [[1.0]] * 2, ones, [[[1.0]], [[-1.0]]])
    with pytest.raises(InvalidInput, match="epsilons must be one number or 2"):
        gaussian_hockey_sticks([1.0] * 3, [[1.0]] * 2, ones, ones)
    for epsilon in (-0.1, math.nan, math.inf):
        with pytest.raises(InvalidInput, match="epsilon must be finite and at least 0"):
            gaussian_hockey_sticks([1.0, epsilon], [[1.0]] * 2, ones, ones)
