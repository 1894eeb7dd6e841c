r"""Gaussian densities of any mass, and where two of them decide δ.

Two densities differ by :math:`\int (g_1 - e^ε g_2)_+`, which is :math:`\frac 1{2πi} \int K(s) e^{-sε} / (s(s+1)) ds`
with :math:`K(s) = \int g_1^{1+s} g_2^{-s}` along any vertical line (`distances.gaussian_divergence`). At the saddle
point c of the integrand, :math:`g_1^{1+c} g_2^{-c}` is again Gaussian: it is around the points that decide.
"""

import math
from typing import Self

import numpy as np
from attrs import field, frozen
from scipy.optimize import minimize_scalar

from distpriv.distances.gaussian_divergence import gaussian_hockey_stick
from distpriv.framework.arrays import Floats
from distpriv.modelling.tilted_law import Saddlepoints, TiltedLaw

__all__ = ["Bell", "deciding", "hockey_stick"]

FARTHEST = 12.0
"""Logarithm of the largest c that is looked at, or of its odds where c is bounded."""


def _symmetric(covariance: Floats) -> Floats:
    """Return a matrix that is symmetric but for rounding as one that is."""
    return np.asarray((covariance + covariance.T) / 2)


@frozen(kw_only=True, eq=False)
class Bell:
    """A Gaussian density times e^`log_mass`."""

    mean: Floats
    covariance: Floats = field(converter=_symmetric)
    log_mass: float = 0.0

    @classmethod
    def at_rest(cls, law: TiltedLaw) -> Self:
        """Return the Gaussian with the moments of a law."""
        return cls(mean=law.mean, covariance=law.covariance)

    @classmethod
    def touching(cls, saddlepoints: Saddlepoints, point: Floats) -> Self:
        """Return what fits a law's density at a point, its slope and its curvature, to second order."""
        covariance, tilt = saddlepoints.covariances[0], saddlepoints.tilts[0]
        height = (len(point) * math.log(2 * math.pi) + np.linalg.slogdet(covariance)[1]) / 2
        log_mass = saddlepoints.log_densities[0] + height + tilt @ covariance @ tilt / 2
        return cls(mean=point - covariance @ tilt, covariance=covariance, log_mass=float(log_mass))

    @property
    def precision(self) -> Floats:
        """The inverse covariance."""
        return np.asarray(np.linalg.inv(self.covariance))

    def tilts(self, points: Floats) -> Floats:
        """Return the tilts that would move the mean to these points."""
        return np.asarray((points - self.mean) @ self.precision)

    def log_density(self, points: Floats) -> Floats:
        """Return the logarithm of the density at points, one a row."""
        lengths = (self.tilts(points) * (points - self.mean)).sum(axis=1)
        size = np.linalg.slogdet(self.covariance)[1] + len(self.mean) * math.log(2 * math.pi)
        return np.asarray(self.log_mass - (lengths + size) / 2)

    def drawn(self, normals: Floats) -> Floats:
        """Return points of this Gaussian, made of standard normal ones."""
        return np.asarray(self.mean + normals @ np.linalg.cholesky(self.covariance).T)

    def wider(self, factor: float) -> Self:
        """Return a Gaussian of mass 1 with a larger covariance."""
        return type(self)(mean=self.mean, covariance=self.covariance * factor)


def hockey_stick(first: Bell, second: Bell, epsilon: float) -> float:
    """Return ∫(g₁ − e^ε g₂)₊ for any real ε.

    >>> one, other = Bell(mean=np.zeros(1), covariance=np.eye(1)), Bell(mean=np.ones(1), covariance=np.eye(1))
    >>> [round(hockey_stick(one, other, epsilon), 4) for epsilon in (1.0, 0.0, -1.0)]
    [0.1269, 0.3829, 0.6788]
    """
    left = epsilon + second.log_mass - first.log_mass
    one, other = (first, second) if left >= 0 else (second, first)
    found = gaussian_hockey_stick(abs(left), one.mean - other.mean, one.covariance, other.covariance).value
    return math.exp(first.log_mass) * (found if left >= 0 else math.exp(left) * found - math.expm1(left))


def deciding(first: Bell, second: Bell, epsilon: float) -> Bell:
    """Return a Gaussian around the points that decide δ of a pair, first against second.

    >>> one, other = Bell(mean=np.zeros(1), covariance=np.eye(1)), Bell(mean=np.ones(1), covariance=np.eye(1))
    >>> deciding(one, other, 1.0).mean.round(1)
    array([-1.5])
    """
    one, other, away = first.precision, second.precision, second.mean - first.mean
    largest = float(np.linalg.eigvals(other @ first.covariance).real.max())
    end = 1 / (largest - 1) if largest > 1 + 1e-9 else math.inf
    level = first.log_mass - second.log_mass - epsilon
    level += (np.linalg.slogdet(second.covariance)[1] - np.linalg.slogdet(first.covariance)[1]) / 2

    def at(position: float) -> float:
        return math.exp(position) if math.isinf(end) else end / (1 + math.exp(-position))

    def logarithm(position: float) -> float:
        c = at(position)
        precision = (1 + c) * one - c * other
        pull = c * other @ away
        rise = pull @ np.linalg.solve(precision, pull) + away @ pull
        return float(c * level + (rise - np.linalg.slogdet(precision)[1]) / 2 - math.log(c) - math.log1p(c))

    c = at(minimize_scalar(logarithm, bounds=(-FARTHEST, FARTHEST), method="bounded", options={"xatol": 1e-2}).x)
    covariance = np.asarray(np.linalg.inv((1 + c) * one - c * other), dtype=np.float64)
    return Bell(mean=first.mean - covariance @ (c * other @ away), covariance=covariance)
