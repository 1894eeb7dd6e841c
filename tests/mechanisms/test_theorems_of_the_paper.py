"""Sections 3 and 4 of the paper, and its appendix: worked examples, tightness, and where a theorem does not hold."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_model
from tests.mechanisms.shared import TARGET, WORKED, targets, transformed

import distpriv as dp
from distpriv.distances import classic_radius, gaussian_delta
from distpriv.guarantees.upper_bound import delta_upper_bound
from distpriv.noise.laws import GaussianNoise

M = dp.mechanisms
seeds, sizes = st.integers(0, 10**6), st.integers(1, 6)


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


def test_the_name_of_a_mechanism_is_its_function_also_where_its_module_was_imported() -> None:
    assert all(callable(getattr(M, name)) for name in M.__all__)
