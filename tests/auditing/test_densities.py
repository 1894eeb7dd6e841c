import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import laplace, multivariate_normal, norm

from distpriv.auditing.densities import gaussian_log_density, log_density
from distpriv.framework.arrays import Floats
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoNoise, SumNoise

VALUES = np.array([[0.3, -1.0], [4.0, 2.0], [-6.0, 0.5], [0.0, 0.0]])
MEAN, COVARIANCE = np.array([0.5, -0.2]), np.array([[2.0, 0.6], [0.6, 1.0]])
AXIS = np.array([0.6, 0.8])


def integrated(value: Floats, covariance: Floats, scale: float) -> float:
    """Integrate the density over the Laplace noise along the axis."""
    places = np.linspace(-60, 60, 60_001)
    densities = multivariate_normal(MEAN, covariance).pdf(value - places[:, np.newaxis] * AXIS)
    return float(densities @ laplace.pdf(places, scale=scale) * (places[1] - places[0]))


def test_gaussian_noise_widens_the_covariance() -> None:
    noise = GaussianNoise.of(np.diag([1.0, 3.0]))
    wanted = multivariate_normal(MEAN, COVARIANCE + np.diag([1.0, 3.0])).logpdf(VALUES)
    assert log_density(VALUES, MEAN, COVARIANCE, noise) == pytest.approx(wanted, abs=1e-6)
    plain = multivariate_normal(MEAN, COVARIANCE).logpdf(VALUES)
    assert log_density(VALUES, MEAN, COVARIANCE, NoNoise(dimension=2)) == pytest.approx(plain, abs=1e-6)


@settings(max_examples=15)
@given(st.floats(0.2, 8))
def test_laplace_noise_along_one_axis_is_integrated_exactly(scale: float) -> None:
    noise = LaplaceNoise(axes=AXIS[:, np.newaxis], scales=np.array([scale]))
    found = np.exp(log_density(VALUES, MEAN, COVARIANCE, noise))
    assert found == pytest.approx([integrated(value, COVARIANCE, scale) for value in VALUES], rel=1e-5)


def test_and_beside_gaussian_noise() -> None:
    noise = SumNoise(
        parts=(LaplaceNoise(axes=AXIS[:, np.newaxis], scales=np.array([2.0])), GaussianNoise.of(np.diag([0.5, 0.1])))
    )
    wanted = [integrated(value, COVARIANCE + np.diag([0.5, 0.1]), 2.0) for value in VALUES]
    assert np.exp(log_density(VALUES, MEAN, COVARIANCE, noise)) == pytest.approx(wanted, rel=1e-5)


def test_several_laplace_axes_come_close() -> None:
    noise = LaplaceNoise.isotropic(2, 1.5)
    found = log_density(VALUES, np.zeros(2), np.eye(2), noise)
    one = [
        [
            math.log(quad(lambda t, x=x: norm.pdf(x - t) * laplace.pdf(t, scale=1.5), -40, 40, points=[0.0])[0])
            for x in value
        ]
        for value in VALUES
    ]
    assert found == pytest.approx(np.sum(one, axis=1), abs=0.25)


def test_a_law_without_variance_somewhere_has_a_density_all_the_same() -> None:
    found = gaussian_log_density(np.array([[0.0, 1.0], [0.0, 2.0]]), np.array([0.0, 1.0]), np.diag([1.0, 0.0]))
    assert np.isfinite(found).all()
    assert found[0] - found[1] > 1e6
