import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import fftconvolve

import distpriv as dp
from distpriv.errors import InvalidInput
from distpriv.guarantees.relaxation import relaxed, relaxed_by_divergence
from distpriv.noise.laws import LaplaceNoise, SumNoise

MODEL = dp.gaussian_model(means={"a": [0, 0], "b": [1, 1]}, covariances=np.eye(2), pairs=[("a", "b")])
TARGET = dp.PrivacyTarget(epsilon=1, delta=0.01)
MECHANISM = dp.mechanisms.expected_value_gaussian(MODEL, dp.PrivacyTarget(epsilon=0.5, delta=0.001))


@given(st.floats(0, 2), st.floats(0, 0.1))
def test_theorem_4_6_is_three_steps(divergence: float, failure: float) -> None:
    found = relaxed_by_divergence(MECHANISM.certificate, divergence=divergence, failure=failure)
    delta = MECHANISM.certificate.delta
    # P_i ≤ e^λ P̃_i + η, P̃_i ≤ e^ε P̃_j + δ, P̃_j ≤ e^λ P_j + η, at P_j = 0.
    last = failure
    middle = math.exp(0.5) * last + delta
    first = math.exp(divergence) * middle + failure
    assert found.epsilon == pytest.approx(0.5 + 2 * divergence)
    assert found.delta == pytest.approx(min(1.0, first))


def test_theorem_4_7_adds_laplace_noise_for_the_distance() -> None:
    found = relaxed(MECHANISM, distance=0.3, divergence=0.1)
    assert isinstance(found.noise, SumNoise)
    assert found.noise.parts[-1] == LaplaceNoise.isotropic(2, 0.3 / 0.1)
    assert found.certificate.epsilon == pytest.approx(0.7)
    assert found.certificate.delta == pytest.approx(math.exp(0.1) * MECHANISM.certificate.delta)
    assert "∞-Wasserstein distance of 0.3" in str(found.certificate)
    assert found.certificate.assurance == "assumed"
    again = relaxed(found, distance=0.1, divergence=0.1)
    assert isinstance(again.noise, SumNoise)
    assert len(again.noise.parts) == 3


def test_the_relaxed_mechanism_is_private_for_laws_at_that_distance() -> None:
    # True laws: the modelled Gaussians, each moved by ±W/2 in L1 in the worst direction.
    model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    target = dp.PrivacyTarget(epsilon=0.5, delta=0.01)
    made = relaxed(dp.mechanisms.directional_uncertainty(model, target), distance=0.5, divergence=0.2)
    assert isinstance(made.noise, SumNoise)
    gaussian, laplace = made.noise.parts
    assert isinstance(laplace, LaplaceNoise)
    deviation = math.sqrt(1 + gaussian.covariance[0, 0])
    x = np.linspace(-80, 80, 160_001)
    noise = np.exp(-np.abs(x) / laplace.scales[0]) / (2 * laplace.scales[0])
    bell = np.exp(-((x / deviation) ** 2) / 2) / (deviation * math.sqrt(2 * math.pi))
    density = fftconvolve(bell, noise, mode="same") * (x[1] - x[0])
    p, q = np.interp(x, x - 0.5, density), np.interp(x, x + 1.5, density)  # 1 apart as modelled, 0.5 farther each
    delta = np.maximum(0, p - math.exp(made.certificate.epsilon) * q).sum() * (x[1] - x[0])
    assert delta <= made.certificate.delta


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"distance": -1, "divergence": 0.1}, "distance must be at least 0"),
        ({"distance": 1, "divergence": -0.1}, "divergence must be at least 0"),
        ({"distance": 1, "divergence": 0}, "divergence must be above 0 where distance is, .* give 0.1"),
    ],
)
def test_what_cannot_be_relaxed_is_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        relaxed(MECHANISM, **options)
    with pytest.raises(InvalidInput, match="failure must be at least 0 and at most 1"):
        relaxed_by_divergence(MECHANISM.certificate, divergence=0.1, failure=2)
