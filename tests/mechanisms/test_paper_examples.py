import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distpriv as dp
from distpriv.distances import classic_radius
from distpriv.noise.laws import GaussianNoise

M = dp.mechanisms
WORKED = dp.gaussian_model(
    means={"a": [100, 101], "b": [99, 102]}, covariances=[[22, -6], [-6, 13]], pairs=[("a", "b")]
)
TARGET = dp.PrivacyTarget(epsilon=1, delta=0.001)


def test_the_worked_example_of_section_4_3() -> None:
    plain = M.expected_value_gaussian(WORKED, TARGET, radius="classic")
    assert np.diag(plain.noise.covariance) == pytest.approx([28.52, 28.52], abs=0.005)
    topped = M.eigenvector_gaussian(WORKED, TARGET, radius="classic")
    noise = topped.noise
    assert isinstance(noise, GaussianNoise)
    directions = [tuple(np.round(np.abs(axis) * np.sqrt(5))) for axis in noise.axes.T]
    along = dict(zip(directions, noise.variances, strict=True))
    assert along[1.0, 2.0] == pytest.approx(18.52, abs=0.005)
    assert along[2.0, 1.0] == pytest.approx(3.52, abs=0.005)
    assert topped.certificate.holds


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


def test_no_noise_holds_exactly_up_to_the_radius() -> None:
    for distance, holds in ((0.3884, True), (0.3885, False)):
        model = dp.gaussian_model(means={"a": [0], "b": [3 * distance]}, covariances=[[9]], pairs=[("a", "b")])
        assert M.no_noise(model, TARGET).certificate.holds is holds


def test_expected_value_laplace_is_the_l1_length_over_epsilon() -> None:
    mechanism = M.expected_value_laplace(WORKED, dp.PrivacyTarget(epsilon=0.5))
    assert mechanism.noise.scales.tolist() == [4.0, 4.0]  # type: ignore[union-attr]
    assert mechanism.certificate.holds
    assert mechanism.certificate.delta == 0.0
    assert mechanism.certificate.trust == "assumed"
    assert dp.delta_upper_bound(WORKED, mechanism, epsilon=0.5) == 0.0


def test_laplace_noise_along_one_direction_is_contradicted_where_bare_directions_leak() -> None:
    model = dp.gaussian_model(
        means={"a": [0, 0], "b": [1, 0]}, covariances={"a": np.eye(2), "b": np.diag([1, 9])}, pairs=[("a", "b")]
    )
    certificate = M.directional_laplace(model, TARGET).certificate
    assert not certificate.holds
    assert certificate.delta > 0.1
