import pytest

import distpriv as dp
from distpriv.distances import gaussian_delta

M = dp.mechanisms


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
