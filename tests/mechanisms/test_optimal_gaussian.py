import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_model
from tests.mechanisms.shared import TARGET, targets, transformed

import distpriv as dp
from distpriv.errors import AssumptionViolated, InvalidInput
from distpriv.mechanisms.optimal_gaussian import MOST_AT_ONCE, least_noise
from distpriv.mechanisms.search.least_majorant import least_majorant
from distpriv.modelling.utility import weighted_rms
from distpriv.noise.laws import GaussianNoise

M = dp.mechanisms
seeds, sizes, pairs = st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 20)


@settings(max_examples=8)
@given(seeds, sizes, pairs, targets)
def test_no_mechanism_that_assumes_equal_covariances_adds_less_noise(
    seed: int, size: int, count: int, target: dp.PrivacyTarget
) -> None:
    model = random_model(seed, size, pairs=count, distance=3.0)
    weights = 10.0 ** np.random.default_rng(seed).uniform(-1, 1, size)
    optimal = M.optimal_gaussian(model, target, weights=list(weights))
    assert optimal.certificate.holds
    for make in (M.expected_value_gaussian, M.directional_gaussian, M.eigenvector_gaussian, M.directional_uncertainty):
        other = weighted_rms(make(model, target).noise.covariance, weights)
        assert weighted_rms(optimal.noise.covariance, weights) <= other * (1 + 1e-6)


@settings(max_examples=15)
@given(seeds, sizes, st.integers(1, 8), targets)
def test_shifts_in_any_direction_are_hidden_and_the_floor_is_covered_if_asked(
    seed: int, size: int, count: int, target: dp.PrivacyTarget
) -> None:
    model = random_model(seed, size, pairs=count, parallel=False, distance=5.0)
    bare, covered = (M.optimal_gaussian(model, target, floor=floor) for floor in (False, True))
    assert bare.certificate.holds
    assert covered.certificate.holds
    assert covered.certificate.assurance == "checked"
    assert bare.noise.expected_rms <= covered.noise.expected_rms * (1 + 1e-6)


@settings(max_examples=15)
@given(seeds, sizes, st.integers(2, 5), targets)
def test_it_is_tight(seed: int, size: int, count: int, target: dp.PrivacyTarget) -> None:
    model = random_model(seed, size, pairs=count, parallel=False, distance=30.0)
    noise = M.optimal_gaussian(model, target).noise
    assert dp.exact_delta(model, 0.99**2 * noise.covariance, epsilon=target.epsilon) > target.delta


@settings(max_examples=15)
@given(seeds, st.integers(2, 5), st.integers(1, 4), st.floats(1e-6, 1e6))
def test_scaling_everything_scales_the_noise(seed: int, size: int, count: int, factor: float) -> None:
    model = random_model(seed, size, pairs=count, parallel=False, distance=5.0)
    before = M.optimal_gaussian(model, TARGET).noise.covariance
    after = M.optimal_gaussian(transformed(model, factor * np.eye(size)), TARGET).noise.covariance
    np.testing.assert_allclose(after / factor**2, before, atol=1e-4 * np.abs(before).max())


def test_statistics_in_very_different_units_are_all_hidden() -> None:
    model = random_model(3, 3, pairs=3, parallel=False, distance=5.0)
    units = np.diag([1e-6, 1.0, 1e6])
    mechanism = M.optimal_gaussian(transformed(model, units), TARGET, weights="relative", floor=True)
    assert mechanism.certificate.holds
    assert mechanism.certificate.assurance == "checked"


def test_one_pair_needs_one_direction_and_what_is_hidden_already_needs_none() -> None:
    model = random_model(1, 4, distance=5.0)
    noise = M.optimal_gaussian(model, TARGET).noise
    assert isinstance(noise, GaussianNoise)
    assert noise.axes.shape == (4, 1)
    assert M.optimal_gaussian(model, TARGET).certificate.assurance == "assumed"
    near = random_model(1, 4, distance=0.3)
    assert M.optimal_gaussian(near, TARGET).noise.expected_l2 == 0
    alike = dp.gaussian_model(means={"a": [1, 2], "b": [1, 2]}, covariances=np.eye(2), pairs=[("a", "b")])
    assert "no noise is needed" in str(M.optimal_gaussian(alike, TARGET).certificate)


def test_a_covariance_that_is_singular_hides_nothing_where_it_has_no_variance() -> None:
    for shift in ([0, 3], [3, 0], [3, 3]):
        model = dp.gaussian_model(means={"a": [0, 0], "b": shift}, covariances=np.diag([1, 0]), pairs=[("a", "b")])
        mechanism = M.optimal_gaussian(model, TARGET)
        assert mechanism.certificate.holds
        assert mechanism.noise.expected_rms <= M.directional_uncertainty(model, TARGET).noise.expected_rms * (1 + 1e-9)


def test_more_weight_on_a_statistic_leaves_less_error_in_it() -> None:
    model = random_model(7, 3, pairs=4, parallel=False, distance=5.0)
    plain = M.optimal_gaussian(model, TARGET).noise.covariance
    weighted = M.optimal_gaussian(model, TARGET, weights={"statistic_2": 100}).noise.covariance
    assert weighted[1, 1] < plain[1, 1]
    assert np.trace(weighted) > np.trace(plain)


def test_covariances_that_differ_are_refused_unless_pooled() -> None:
    model = random_model(1, 2, unequal=0.5)
    with pytest.raises(AssumptionViolated, match="the least-trace theorem needs the covariances"):
        M.optimal_gaussian(model, TARGET)
    assert M.optimal_gaussian(model, TARGET, covariance="pooled").certificate.assurance == "assumed"


def test_wrong_options_are_refused() -> None:
    with pytest.raises(InvalidInput, match="floor must be True or False, got 'yes'"):
        M.optimal_gaussian(random_model(1, 2), TARGET, floor="yes")  # type: ignore[arg-type]
    far = dp.gaussian_model(means={"a": [0], "b": [1e300]}, covariances=[[1]], pairs=[("a", "b")])
    with pytest.raises(InvalidInput, match="too large to be hidden"):
        M.optimal_gaussian(far, TARGET)


@settings(max_examples=10)
@given(seeds, st.integers(1, 5))
def test_one_shift_above_a_floor_has_the_least_noise_that_newton_finds(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size))
    covariance, steps = root @ root.T + 0.1 * np.eye(size), rng.uniform(0.1, 1.0, size)
    shift = 4 * np.linalg.cholesky(covariance) @ np.ones(size)
    model = dp.gaussian_model(
        means={"a": np.zeros(size), "b": shift}, covariances=covariance, pairs=[("a", "b")], steps=steps.tolist()
    )
    radius, costs = 0.7, rng.uniform(0.5, 2.0, size)
    found = least_noise(model, radius, "shared", costs, floor=True).covariance
    lowest = np.diag(model.floor**2)
    expected = least_majorant(costs, np.array([np.outer(shift, shift) / radius**2 - covariance, lowest]))
    assert costs @ np.diag(found) == pytest.approx(costs @ np.diag(expected), rel=1e-6)
    assert np.linalg.eigvalsh(found - lowest)[0] >= -1e-9


def test_many_statistics_are_hidden_one_shift_after_the_other() -> None:
    rng, size = np.random.default_rng(0), MOST_AT_ONCE + 1
    means = {name: 3 * rng.normal(size=size) for name in "abc"}
    pairs = [("a", "b"), ("b", "c"), ("a", "c")]
    model = dp.gaussian_model(means=means, covariances=np.eye(size), pairs=pairs)
    found = M.optimal_gaussian(model, TARGET)
    assert found.certificate.holds
    assert found.noise.expected_rms <= M.expected_value_gaussian(model, TARGET).noise.expected_rms
