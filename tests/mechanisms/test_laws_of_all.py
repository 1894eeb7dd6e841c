"""What is true of several mechanisms at once."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_model

import distpriv as dp
from distpriv.distances import gaussian_delta
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.noise.laws import GaussianNoise

M = dp.mechanisms
GAUSSIAN: dict[str, Callable[..., AdditiveMechanism]] = {
    "expected_value_gaussian": M.expected_value_gaussian,
    "directional_gaussian": M.directional_gaussian,
    "eigenvector_gaussian": M.eigenvector_gaussian,
    "directional_uncertainty": M.directional_uncertainty,
}
seeds, sizes, pairs = st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4)
targets = st.builds(dp.PrivacyTarget, epsilon=st.floats(0.05, 8), delta=st.floats(1e-8, 0.2))


@settings(max_examples=40)
@given(seeds, sizes, pairs, targets, st.sampled_from(sorted(GAUSSIAN)))
def test_under_its_own_assumptions_a_mechanism_meets_its_target(
    seed: int, size: int, count: int, target: dp.PrivacyTarget, name: str
) -> None:
    model = random_model(seed, size, pairs=count, distance=3.0)
    mechanism = GAUSSIAN[name](model, target)
    assert mechanism.certificate.holds
    assert dp.exact_delta(model, mechanism, epsilon=target.epsilon) <= target.delta


@settings(max_examples=40)
@given(seeds, st.integers(2, 6), targets)
def test_shifts_in_several_directions_are_covered_by_noise_in_their_span(
    seed: int, size: int, target: dp.PrivacyTarget
) -> None:
    model = random_model(seed, size, pairs=3, parallel=False, distance=3.0)
    assert M.directional_gaussian(model, target, directions="several").certificate.holds
    laplace = M.directional_laplace(model, target, directions="several")
    assert dp.delta_upper_bound(model, laplace, epsilon=target.epsilon) == 0.0


@settings(max_examples=40)
@given(seeds, sizes, targets)
def test_directional_uncertainty_is_tight(seed: int, size: int, target: dp.PrivacyTarget) -> None:
    model = random_model(seed, size, distance=30.0)
    noise = M.directional_uncertainty(model, target).noise
    assert isinstance(noise, GaussianNoise)
    less = 0.99**2 * noise.covariance
    assert dp.exact_delta(model, less, epsilon=target.epsilon) > target.delta


@given(targets)
def test_without_uncertainty_the_others_are_tight_too(target: dp.PrivacyTarget) -> None:
    model = dp.gaussian_model(means={"a": [0, 0], "b": [3, 4]}, covariances=np.zeros((2, 2)), pairs=[("a", "b")])
    for mechanism in (M.expected_value_gaussian, M.eigenvector_gaussian):
        noise = mechanism(model, target).noise
        assert dp.exact_delta(model, noise, epsilon=target.epsilon) <= target.delta
        assert dp.exact_delta(model, 0.99**2 * noise.covariance, epsilon=target.epsilon) > target.delta


@settings(max_examples=60)
@given(seeds, sizes, pairs, targets)
def test_what_uses_more_knowledge_adds_less_noise(seed: int, size: int, count: int, target: dp.PrivacyTarget) -> None:
    model = random_model(seed, size, pairs=count, distance=3.0)
    error = {name: make(model, target).noise.expected_l2 * (1 - 1e-9) for name, make in GAUSSIAN.items()}
    assert error["directional_uncertainty"] <= error["directional_gaussian"] * (1 + 1e-8)
    assert error["directional_gaussian"] <= error["expected_value_gaussian"] * (1 + 1e-8)
    assert error["eigenvector_gaussian"] <= error["expected_value_gaussian"] * (1 + 1e-8)


def transformed(model: dp.QueryModel, matrix: np.ndarray) -> dp.QueryModel:
    return dp.gaussian_model(
        means={name: matrix @ law.mean for name, law in model.distributions.items()},
        covariances={name: matrix @ law.covariance @ matrix.T for name, law in model.distributions.items()},
        pairs=model.protected_pairs,
    )


@settings(max_examples=30)
@given(seeds, st.integers(2, 5), st.floats(0.01, 100), st.sampled_from(sorted(GAUSSIAN)))
def test_permuting_and_scaling_statistics_does_the_same_to_the_noise(
    seed: int, size: int, factor: float, name: str
) -> None:
    model = random_model(seed, size, distance=5.0)
    target = dp.PrivacyTarget(epsilon=0.7, delta=1e-3)
    matrix = factor * np.eye(size)[np.random.default_rng(seed).permutation(size)]
    before = GAUSSIAN[name](model, target).noise.covariance
    after = GAUSSIAN[name](transformed(model, matrix), target).noise.covariance
    scale = max(np.abs(before).max(), 1e-300) * factor**2
    np.testing.assert_allclose(after / scale, matrix @ before @ matrix.T / scale, atol=1e-6)


@settings(max_examples=30)
@given(seeds, st.integers(2, 5), targets)
def test_directional_uncertainty_does_not_care_for_units(seed: int, size: int, target: dp.PrivacyTarget) -> None:
    # The theory makes it equivariant under every invertible map: the least noise along the shift is.
    model = random_model(seed, size, distance=5.0)
    matrix = np.diag(10.0 ** np.random.default_rng(seed).uniform(-3, 3, size))
    before = M.directional_uncertainty(model, target).noise.covariance
    after = M.directional_uncertainty(transformed(model, matrix), target).noise.covariance
    expected = matrix @ before @ matrix.T
    np.testing.assert_allclose(after, expected, atol=1e-6 * np.abs(expected).max(initial=1e-300))


def test_the_classic_radius_is_wrong_for_large_epsilon_and_the_certificate_says_so() -> None:
    model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[0]], pairs=[("a", "b")])
    for epsilon, delta in ((8, 1.3e-3), (10, 3.4e-3)):
        target = dp.PrivacyTarget(epsilon=epsilon, delta=1e-3)
        certificate = M.expected_value_gaussian(model, target, radius="classic").certificate
        assert not certificate.holds
        assert certificate.delta == pytest.approx(delta, rel=0.03)
        assert M.expected_value_gaussian(model, target).certificate.holds
    target = dp.PrivacyTarget(epsilon=7, delta=1e-3)
    assert M.expected_value_gaussian(model, target, radius="classic").certificate.holds
    assert gaussian_delta(7.46, dp.distances.classic_radius(7.46, 1e-3)) == pytest.approx(1e-3, rel=1e-2)


@pytest.mark.parametrize("name", sorted(GAUSSIAN))
def test_equal_means_need_no_noise_and_it_is_said(name: str) -> None:
    model = dp.gaussian_model(means={"a": [1, 2], "b": [1, 2]}, covariances=np.eye(2), pairs=[("a", "b")])
    mechanism = GAUSSIAN[name](model, dp.PrivacyTarget(epsilon=1, delta=1e-3))
    assert mechanism.noise.expected_l2 == 0
    assert mechanism.certificate.holds
    assert name == "eigenvector_gaussian" or "no noise is needed" in str(mechanism.certificate)


@pytest.mark.parametrize("size", [1, 50])
@pytest.mark.parametrize("name", sorted(GAUSSIAN))
def test_one_and_fifty_statistics_both_work(size: int, name: str) -> None:
    model = random_model(5, size, distance=3.0)
    assert GAUSSIAN[name](model, dp.PrivacyTarget(epsilon=1, delta=1e-3)).certificate.holds
