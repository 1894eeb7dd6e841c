import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.guarantees.attack_accuracy import attack_accuracy_upper_bound
from distpriv.guarantees.relaxation import relaxed
from distpriv.guarantees.upper_bound import delta_lower_bound
from distpriv.noise.laws import UnimodalNoise

NOISE = UnimodalNoise(axes=np.array([[1.0]]), edges=np.array([0, 0.5, 2, 6]), masses=np.array([0.25, 0.5, 0.25]))


def released(y: Floats, mean: float, deviation: float) -> Floats:
    """The density of N(mean, deviation²) + Z."""
    places = np.concatenate([-NOISE.edges[::-1], NOISE.edges[1:]])
    jumps = np.diff(np.concatenate([[0], NOISE.densities[::-1], NOISE.densities, [0]]))
    return np.asarray(ndtr((y[:, np.newaxis] - mean - places) / deviation) @ jumps)


@settings(max_examples=30)
@given(st.floats(0.1, 3), st.floats(0.5, 2), st.floats(0.5, 2), st.floats(0, 2))
def test_the_bound_is_above_the_truth_also_where_covariances_differ(
    shift: float, one: float, other: float, epsilon: float
) -> None:
    model = dp.gaussian_model(
        means={"a": [0], "b": [shift]}, covariances={"a": [[one**2]], "b": [[other**2]]}, pairs=[("a", "b")]
    )
    bound = dp.delta_upper_bound(model, NOISE, epsilon=epsilon)
    y = np.linspace(-40, 40, 20_001)
    laws = released(y, 0, one), released(y, shift, other)
    for p, q in (laws, laws[::-1]):
        truth = float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * (y[1] - y[0]))
        assert truth <= bound * (1 + 1e-5) + 1e-9
    if one == other:
        assert bound <= truth * 1.01 + 1e-9


def test_bare_directions_bound_it_from_below() -> None:
    model = dp.gaussian_model(
        means={"a": [0, 0], "b": [1, 0]}, covariances={"a": np.eye(2), "b": np.diag([1, 9])}, pairs=[("a", "b")]
    )
    noise = UnimodalNoise(axes=np.array([[1.0], [0.0]]), edges=np.array([0, 10]), masses=np.array([1.0]))
    bare = dp.gaussian_model(means={"a": [0], "b": [0]}, covariances={"a": [[1]], "b": [[9]]}, pairs=[("a", "b")])
    least = delta_lower_bound(model, noise, epsilon=0.5)
    assert least == pytest.approx(dp.exact_delta(bare, np.zeros((1, 1)), epsilon=0.5), rel=1e-6)
    assert least <= dp.delta_upper_bound(model, noise, epsilon=0.5) <= 1


def test_a_shift_across_the_axis_is_not_hidden() -> None:
    model = dp.gaussian_model(means={"a": [0, 0], "b": [0, 9]}, covariances=np.eye(2), pairs=[("a", "b")])
    noise = UnimodalNoise(axes=np.array([[1.0], [0.0]]), edges=np.array([0, 10]), masses=np.array([1.0]))
    assert dp.delta_upper_bound(model, noise, epsilon=0.5) > 0.99


def test_what_asks_for_gaussian_noise_says_so_and_the_attacker_is_held_by_the_certificate() -> None:
    model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    target = dp.PrivacyTarget(epsilon=1, delta=1e-3)
    mechanism = dp.mechanisms.optimal_unimodal(model, target)
    with pytest.raises(dp.errors.InvalidInput, match="delta_upper_bound"):
        dp.exact_delta(model, mechanism, epsilon=1.0)
    with pytest.raises(dp.errors.InvalidInput, match="no sum"):
        relaxed(mechanism, distance=0.1, divergence=0.1)
    assert relaxed(mechanism, distance=0.0, divergence=0.1).certificate.epsilon == pytest.approx(1.2)
    assert attack_accuracy_upper_bound(model, mechanism) <= target.attack_accuracy_ceiling
