import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mechanisms.shared import TARGET, WORKED

import distpriv as dp
from distpriv.distances import classic_radius
from distpriv.noise.laws import GaussianNoise

M = dp.mechanisms


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
