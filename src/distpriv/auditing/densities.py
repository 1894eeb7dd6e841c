"""The density of a release in one scenario, f_θ taken as Gaussian, and of noise around a point."""

import math

import numpy as np
from scipy.special import logsumexp

from distpriv.framework.arrays import Floats
from distpriv.noise.laws import NoiseLaw, UnimodalNoise
from distpriv.noise.lengths import laplace_log_density

__all__ = ["gaussian_log_density", "log_density", "regular"]

REGULAR = 1e-9
"""The share of each statistic's variance that is added, so that a law without variance somewhere has a density."""

MIXED = 6
"""2 to this power Gaussians stand for Laplace noise along several axes."""


def regular(covariance: Floats) -> Floats:
    """Return a covariance of full rank next to the given one."""
    spread = np.diag(covariance)
    return np.asarray(covariance + REGULAR * np.diag(np.where(spread > 0, spread, 1.0)))


def gaussian_log_density(values: Floats, mean: Floats, covariance: Floats) -> Floats:
    """Return the log density of N(mean, covariance), a covariance without full rank made regular first.

    >>> gaussian_log_density(np.array([[0.0], [1.0]]), np.zeros(1), np.eye(1)).round(4)
    array([-0.9189, -1.4189])
    """
    factor = np.linalg.cholesky(regular(covariance))
    white = (values - mean) @ np.linalg.inv(factor).T
    constant = np.log(np.diag(factor)).sum() + len(mean) / 2 * math.log(2 * np.pi)
    return np.asarray(-np.einsum("ij,ij->i", white, white) / 2 - constant)


def log_density(values: Floats, mean: Floats, covariance: Floats, noise: NoiseLaw) -> Floats:
    r"""Return the log density of N(mean, covariance) + Z.

    Gaussian noise only widens the covariance. Noise along one axis v is integrated in closed form: along v the
    Gaussian has deviation :math:`s = (v^\top C^{-1} v)^{-1/2}`, and N(0, s²) with the noise has a known density.
    Several axes are a mixture: Lap(b) is a Gaussian whose variance is exponential with mean 2b². The mixture has
    64 members, and noise of any other law counts as Gaussian: good enough for an attack, which may use any function.

    >>> from distpriv.noise.laws import LaplaceNoise
    >>> noise = LaplaceNoise(axes=[[1.0]], scales=[2.0])
    >>> log_density(np.zeros((1, 1)), np.zeros(1), np.full((1, 1), 1e-6), noise).round(2)  # log 1/(2b)
    array([-1.39])
    """
    widened = covariance + noise.gaussian.covariance
    line = noise.line
    if line is not None or isinstance(noise, UnimodalNoise):
        axis = line[0] if line is not None else noise.axes[:, 0]
        towards = np.linalg.solve(regular(widened), axis)
        own = 1 / math.sqrt(float(axis @ towards))
        along = (values - mean) @ towards * own**2
        across = gaussian_log_density(values - np.multiply.outer(along, axis), mean, widened)
        noisy = (
            noise.log_density(along, own)
            if isinstance(noise, UnimodalNoise)
            else laplace_log_density(along, float(noise.laplace_scales.max()), own)
        )
        return np.asarray(across + math.log(own * math.sqrt(2 * math.pi)) + noisy)
    wide = noise.laplace_scales > 0
    axes, scales = noise.laplace_axes[:, wide], noise.laplace_scales[wide]
    if len(scales) == 0:
        return gaussian_log_density(values, mean, covariance + noise.covariance)
    from scipy.stats import qmc

    fill = qmc.Sobol(len(scales), scramble=False).random_base2(MIXED) + 2.0 ** -(MIXED + 1)
    members = [
        gaussian_log_density(values, mean, widened + (axes * (-2 * scales**2 * np.log1p(-quantiles))) @ axes.T)
        for quantiles in fill
    ]
    return np.asarray(logsumexp(members, axis=0) - math.log(len(fill)))
