import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_model
from tests.mechanisms.shared import targets, transformed

import distpriv as dp
from distpriv.noise.laws import GaussianNoise

M = dp.mechanisms
seeds, sizes = st.integers(0, 10**6), st.integers(1, 6)


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
