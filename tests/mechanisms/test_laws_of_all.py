"""What is true of several mechanisms at once."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_model
from tests.mechanisms.shared import targets, transformed

import distpriv as dp
from distpriv.guarantees.mechanism import AdditiveMechanism

M = dp.mechanisms
GAUSSIAN: dict[str, Callable[..., AdditiveMechanism]] = {
    "expected_value_gaussian": M.expected_value_gaussian,
    "directional_gaussian": M.directional_gaussian,
    "eigenvector_gaussian": M.eigenvector_gaussian,
    "directional_uncertainty": M.directional_uncertainty,
}
seeds, sizes, pairs = st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4)


@settings(max_examples=40)
@given(seeds, sizes, pairs, targets, st.sampled_from(sorted(GAUSSIAN)))
def test_under_its_own_assumptions_a_mechanism_meets_its_target(
    seed: int, size: int, count: int, target: dp.PrivacyTarget, name: str
) -> None:
    model = random_model(seed, size, pairs=count, distance=3.0)
    mechanism = GAUSSIAN[name](model, target)
    assert mechanism.certificate.holds
    assert dp.exact_delta(model, mechanism, epsilon=target.epsilon) <= target.delta


@settings(max_examples=20)
@given(targets)
def test_without_uncertainty_the_others_are_tight_too(target: dp.PrivacyTarget) -> None:
    model = dp.gaussian_model(means={"a": [0, 0], "b": [3, 4]}, covariances=np.zeros((2, 2)), pairs=[("a", "b")])
    for mechanism in (M.expected_value_gaussian, M.eigenvector_gaussian):
        noise = mechanism(model, target).noise
        assert dp.exact_delta(model, noise, epsilon=target.epsilon) <= target.delta
        assert dp.exact_delta(model, 0.99**2 * noise.covariance, epsilon=target.epsilon) > target.delta


@settings(max_examples=25)
@given(seeds, sizes, pairs, targets)
def test_what_uses_more_knowledge_adds_less_noise(seed: int, size: int, count: int, target: dp.PrivacyTarget) -> None:
    model = random_model(seed, size, pairs=count, distance=3.0)
    error = {name: make(model, target).noise.expected_l2 * (1 - 1e-9) for name, make in GAUSSIAN.items()}
    assert error["directional_uncertainty"] <= error["directional_gaussian"] * (1 + 1e-8)
    assert error["directional_gaussian"] <= error["expected_value_gaussian"] * (1 + 1e-8)
    assert error["eigenvector_gaussian"] <= error["expected_value_gaussian"] * (1 + 1e-8)


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


@pytest.mark.parametrize("name", sorted(GAUSSIAN))
def test_equal_means_need_no_noise_and_it_is_said(name: str) -> None:
    model = dp.gaussian_model(means={"a": [1, 2], "b": [1, 2]}, covariances=np.eye(2), pairs=[("a", "b")])
    mechanism = GAUSSIAN[name](model, dp.PrivacyTarget(epsilon=1, delta=1e-3))
    assert mechanism.noise.expected_l2 == 0
    assert mechanism.certificate.holds
    assert name == "eigenvector_gaussian" or "DP209" in {evidence.code for evidence in mechanism.certificate.evidence}


@pytest.mark.parametrize("size", [1, 50])
@pytest.mark.parametrize("name", sorted(GAUSSIAN))
def test_one_and_fifty_statistics_both_work(size: int, name: str) -> None:
    model = random_model(5, size, distance=3.0)
    assert GAUSSIAN[name](model, dp.PrivacyTarget(epsilon=1, delta=1e-3)).certificate.holds
