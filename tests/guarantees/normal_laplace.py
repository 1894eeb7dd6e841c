"""Densities of Gaussian plus Laplace noise along one axis, exact, and divergences by them: oracles for the bounds."""

import math

import numpy as np
from scipy.special import log_ndtr

from distpriv.framework.arrays import Floats


def log_normal_laplace(x: Floats, deviation: float, scale: float) -> Floats:
    """The logarithm of the density of N(0, deviation²) + Lap(scale)."""
    a, z = deviation / scale, x / deviation
    left, right = x / scale + log_ndtr(-z - a), -x / scale + log_ndtr(z - a)
    return np.asarray(a * a / 2 + np.logaddexp(left, right) - math.log(2 * scale))


def log_released(y: Floats, covariance: Floats, axis: Floats, scale: float) -> Floats:
    """The logarithm of the density of N(0, covariance) + Lap(scale) axis at the rows of y."""
    normal = np.linalg.solve(covariance, axis)
    own = 1 / float(axis @ normal)
    along = own * (y @ normal)
    across = y - np.outer(along, axis)
    # Given the coordinate along the axis the rest is Gaussian: subtract the axis' share of the quadratic form.
    form = np.einsum("ni,ij,nj->n", y, np.linalg.inv(covariance), y) - along**2 / own
    assert np.abs(across @ normal).max(initial=0.0) < 1e-6 * (1 + np.abs(y).max(initial=0.0))
    constant = (np.linalg.slogdet(covariance)[1] - math.log(own) + (len(axis) - 1) * math.log(2 * math.pi)) / 2
    return np.asarray(-form / 2 - constant + log_normal_laplace(along, math.sqrt(own), scale))


def sampled_delta(
    shift: Floats, first: Floats, second: Floats, axis: Floats, scale: float, epsilon: float, draws: int, seed: int
) -> tuple[float, float]:
    """An unbiased estimate of H_ε, and its standard error."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=(draws, len(shift))) @ np.linalg.cholesky(first).T
    y = y + rng.laplace(size=(draws, 1)) * scale * axis
    ratio = log_released(y, first, axis, scale) - log_released(y + shift, second, axis, scale)
    values = np.maximum(0.0, -np.expm1(np.minimum(epsilon - ratio, 0.0)))
    return float(values.mean()), float(values.std() / draws**0.5)
