"""Sections 3 and 4 of the paper, and its appendix: worked examples, laws, hypotheses, and where a theorem fails."""

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_model
from tests.mechanisms.shared import TARGET, WORKED, targets, transformed

import distpriv as dp
from distpriv.distances import classic_radius, gaussian_delta
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.upper_bound import delta_upper_bound
from distpriv.noise.laws import GaussianNoise

M = dp.mechanisms
seeds, sizes, pairs = st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4)


def test_expected_value_laplace_is_the_l1_length_over_epsilon() -> None:
    mechanism = M.expected_value_laplace(WORKED, dp.PrivacyTarget(epsilon=0.5))
    assert mechanism.noise.scales.tolist() == [4.0, 4.0]  # type: ignore[union-attr]
    assert mechanism.certificate.holds
    assert mechanism.certificate.delta == 0.0
    assert mechanism.certificate.assurance == "assumed"
    assert delta_upper_bound(WORKED, mechanism, epsilon=0.5) == 0.0


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
    assert gaussian_delta(7.46, classic_radius(7.46, 1e-3)) == pytest.approx(1e-3, rel=1e-2)


def test_several_directions_of_laplace_noise_need_the_l1_length_in_their_basis() -> None:
    # With the L2 length, as the paper's sentence has it, the privacy loss of the diagonal shift would be √2 ε.
    model = dp.gaussian_model(
        means={"0": [0, 0], "x": [1, 0], "y": [0, 1], "xy": [1, 1]},
        covariances=np.eye(2),
        pairs=[("0", "x"), ("0", "y"), ("0", "xy")],
    )
    mechanism = M.directional_laplace(model, TARGET, directions="several")
    noise = mechanism.noise
    shifts = np.array([model.mean_shift(pair) for pair in model.protected_pairs])
    losses = np.abs(shifts @ noise.axes / noise.scales).sum(axis=1)  # type: ignore[union-attr]
    assert losses.max() == pytest.approx(1.0)


def test_laplace_noise_along_one_direction_is_contradicted_where_bare_directions_leak() -> None:
    model = dp.gaussian_model(
        means={"a": [0, 0], "b": [1, 0]}, covariances={"a": np.eye(2), "b": np.diag([1, 9])}, pairs=[("a", "b")]
    )
    certificate = M.directional_laplace(model, TARGET).certificate
    assert not certificate.holds
    assert certificate.delta > 0.1


@pytest.mark.slow
@settings(max_examples=40)
@given(seeds, st.integers(2, 6), targets)
def test_shifts_in_several_directions_are_covered_by_noise_in_their_span(
    seed: int, size: int, target: dp.PrivacyTarget
) -> None:
    model = random_model(seed, size, pairs=3, parallel=False, distance=3.0)
    assert M.directional_gaussian(model, target, directions="several").certificate.holds
    laplace = M.directional_laplace(model, target, directions="several")
    assert delta_upper_bound(model, laplace, epsilon=target.epsilon) == 0.0


def test_no_noise_holds_exactly_up_to_the_radius() -> None:
    for distance, holds in ((0.3884, True), (0.3885, False)):
        model = dp.gaussian_model(means={"a": [0], "b": [3 * distance]}, covariances=[[9]], pairs=[("a", "b")])
        assert M.no_noise(model, TARGET).certificate.holds is holds


@given(st.floats(0.1, 10), st.floats(0.01, 50), st.floats(0.05, 1), st.floats(1e-6, 0.1))
def test_the_gaussian_mechanism_of_attribute_privacy_is_the_eigenvector_mechanism_in_one_dimension(
    shift: float, variance: float, epsilon: float, delta: float
) -> None:
    model = dp.gaussian_model(means={"a": [0], "b": [shift]}, covariances=[[variance]], pairs=[("a", "b")])
    target = dp.PrivacyTarget(epsilon=epsilon, delta=delta)
    attribute = max(0.0, (shift / classic_radius(epsilon, delta)) ** 2 - variance)
    ours = M.eigenvector_gaussian(model, target, radius="classic").noise.covariance[0, 0]
    assert ours == pytest.approx(attribute, rel=1e-9, abs=1e-9)
    assert M.directional_uncertainty(model, target, radius="classic").noise.covariance[0, 0] == pytest.approx(
        attribute, rel=1e-6, abs=1e-6
    )


@settings(max_examples=40)
@given(seeds, sizes, targets)
def test_directional_uncertainty_is_tight(seed: int, size: int, target: dp.PrivacyTarget) -> None:
    model = random_model(seed, size, distance=30.0)
    noise = M.directional_uncertainty(model, target).noise
    assert isinstance(noise, GaussianNoise)
    less = 0.99**2 * noise.covariance
    assert dp.exact_delta(model, less, epsilon=target.epsilon) > target.delta


@settings(max_examples=30)
@given(seeds, st.integers(2, 5), targets)
def test_directional_uncertainty_does_not_care_for_units(seed: int, size: int, target: dp.PrivacyTarget) -> None:
    # The theory makes it equivariant under every invertible map: the least noise along the shift is.
    model = random_model(seed, size, distance=5.0)
    matrix = np.diag(10.0 ** np.random.default_rng(seed).uniform(-3, 3, size))
    before = M.directional_uncertainty(model, target).noise.covariance
    after = M.directional_uncertainty(transformed(model, matrix), target).noise.covariance
    expected = matrix @ before @ matrix.T
    # Noise that misses its target only by the error of computing δ is made wider, by at most one part in ten thousand.
    np.testing.assert_allclose(after, expected, rtol=2e-4, atol=1e-6 * np.abs(expected).max(initial=1e-300))


def test_a_theorem_loads_neither_rows_nor_engines() -> None:
    code = "import sys, distpriv.mechanisms.directional_gaussian; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True).stdout
    ours = {name for name in loaded.split() if name.startswith("distpriv")}
    assert not {name for name in ours if name.split(".")[1:2] in (["engines"], ["law"], ["planning"])}
    assert not ours & {
        "distpriv.framework.secrets",
        "distpriv.guarantees.delta_from_rows",
        "distpriv.mechanisms.search",
    }


GAUSSIAN: dict[str, Callable[..., AdditiveMechanism]] = {
    "expected_value_gaussian": M.expected_value_gaussian,
    "directional_gaussian": M.directional_gaussian,
    "eigenvector_gaussian": M.eigenvector_gaussian,
    "directional_uncertainty": M.directional_uncertainty,
}


@settings(max_examples=40)
@given(seeds, sizes | st.just(50), pairs, targets, st.sampled_from(sorted(GAUSSIAN)))
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
