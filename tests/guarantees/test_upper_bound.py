import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.guarantees.random_models import random_model

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.guarantees.upper_bound import delta_lower_bound
from distpriv.noise.laws import LaplaceNoise


def released_density(x: Floats, mean: float, variance: float, scale: float) -> Floats:
    """The density of N(mean, variance) + Lap(scale), by its closed form in log space."""
    from scipy.special import log_ndtr

    sd = math.sqrt(variance)
    z = (x - mean) / sd
    a = sd / scale
    left = a * a / 2 + (x - mean) / scale + log_ndtr(-z - a)
    right = a * a / 2 - (x - mean) / scale + log_ndtr(z - a)
    return np.asarray((np.exp(left) + np.exp(right)) / (2 * scale))


def true_delta(shift: float, first: float, second: float, scale: float, epsilon: float) -> float:
    x = np.linspace(-60, 60, 200_001)
    p = released_density(x, shift, first, scale)
    q = released_density(x, 0.0, second, scale)
    return float(np.maximum(0, p - math.exp(epsilon) * q).sum() * (x[1] - x[0]))


@given(st.floats(0, 2), st.floats(0.5, 4), st.floats(0.5, 4), st.floats(0.5, 3), st.floats(0, 3))
def test_the_bound_is_never_below_the_truth_on_a_line(
    shift: float, first: float, second: float, scale: float, epsilon: float
) -> None:
    model = dp.gaussian_model(
        means={"a": [shift], "b": [0]}, covariances={"a": [[first]], "b": [[second]]}, pairs=[("a", "b")]
    )
    bound = dp.delta_upper_bound(model, LaplaceNoise.isotropic(1, scale), epsilon=epsilon)
    truth = max(true_delta(shift, first, second, scale, epsilon), true_delta(-shift, second, first, scale, epsilon))
    assert truth <= bound + 1e-6


def test_with_equal_covariances_and_enough_noise_nothing_leaks() -> None:
    model = random_model(1, 3)
    d = model.mean_shift(("s0", "s1"))
    exactly = LaplaceNoise.isotropic(3, float(np.abs(d).sum()) / 0.7)
    assert dp.delta_upper_bound(model, exactly, epsilon=0.7) == 0.0
    assert dp.delta_upper_bound(model, exactly, epsilon=0.6) == 1.0
    along = LaplaceNoise(axes=(d / np.linalg.norm(d))[:, None], scales=np.array([np.linalg.norm(d)]))
    assert dp.delta_upper_bound(model, along, epsilon=1.0) == 0.0


@pytest.mark.parametrize("seed", range(10))
def test_lower_and_upper_bound_enclose_each_other(seed: int) -> None:
    model = random_model(seed, 4, unequal=0.3)
    d = model.mean_shift(("s0", "s1"))
    noise = LaplaceNoise(axes=(d / np.linalg.norm(d))[:, None], scales=np.array([np.linalg.norm(d) / 0.5]))
    lower = delta_lower_bound(model, noise, epsilon=1.0)
    upper = dp.delta_upper_bound(model, noise, epsilon=1.0)
    assert 0 <= lower <= upper <= 1


def test_what_the_noise_leaves_bare_is_a_lower_bound() -> None:
    model = dp.gaussian_model(means={"a": [0, 0], "b": [1, 3]}, covariances=np.eye(2), pairs=[("a", "b")])
    noise = LaplaceNoise(axes=np.array([[1.0], [0.0]]), scales=np.array([5.0]))
    assert delta_lower_bound(model, noise, epsilon=1.0) == pytest.approx(dp.distances.gaussian_delta(1.0, 3.0))
    assert delta_lower_bound(model, LaplaceNoise.isotropic(2, 1.0), epsilon=0.0) == 0.0


def test_a_small_shift_off_the_axes_counts_in_its_own_units() -> None:
    model = dp.gaussian_model(
        means={"a": [0, 0], "b": [1e9, 0.05]}, covariances=np.diag([1e16, 1e-4]), pairs=[("a", "b")]
    )
    noise = LaplaceNoise(axes=np.array([[1.0], [0.0]]), scales=np.array([1e9]))
    least = delta_lower_bound(model, noise, epsilon=1)
    assert 0.9 < least <= dp.delta_upper_bound(model, noise, epsilon=1)


def test_axes_without_noise_hide_nothing() -> None:
    model = dp.gaussian_model(means={"a": [0, 0], "b": [5, 0]}, covariances=np.eye(2), pairs=[("a", "b")])
    for noise in (LaplaceNoise.isotropic(2, 0.0), LaplaceNoise(axes=np.eye(2), scales=np.array([0.0, 9.0]))):
        assert dp.delta_upper_bound(model, noise, epsilon=1) >= dp.distances.gaussian_delta(1, 5) * (1 - 1e-9)
