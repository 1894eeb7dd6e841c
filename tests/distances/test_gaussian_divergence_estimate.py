import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.guarantees.random_models import random_covariance

from distpriv.distances.gaussian_divergence import gaussian_hockey_stick
from distpriv.distances.gaussian_divergence_estimate import gaussian_hockey_stick_estimates


@given(st.integers(0, 10**6), st.integers(1, 6), st.floats(0, 3))
def test_the_estimate_is_near_the_divergence(seed: int, size: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    shift = rng.uniform(0, 1) * rng.normal(size=size)
    first, second = random_covariance(rng, size, 0.4), random_covariance(rng, size, 0.4)
    exact = gaussian_hockey_stick(epsilon, shift, first, second).value
    found = gaussian_hockey_stick_estimates(np.array([epsilon]), shift[None], first[None], second[None])[0]
    assert found == pytest.approx(exact, rel=0.03, abs=1e-6)
