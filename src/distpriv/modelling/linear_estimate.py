"""The best linear guess from a noisy answer, whatever is known of what it is about, and whatever noise there is."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from attrs import frozen
from scipy.special import ndtri

from distpriv.framework.arrays import Floats, array_field

__all__ = ["HALF_WIDTH", "Estimate", "LinearEstimator", "deviations", "linear_estimator", "weighted_rms"]

HALF_WIDTH = float(ndtri(0.975))
"""Half of a 95 % interval, in standard deviations."""

NEGLIGIBLE = 1e-12
"""A share of the largest variance that is rounding."""

MOVED = 1e-5
"""A standard deviation less than this is rounding where there should be none."""


@frozen(kw_only=True)
class Estimate:
    """The best guess at every statistic, from a noisy answer and public knowledge.

    >>> estimate = Estimate(names=("age",), values=[39.5], covariance=[[0.25]])
    >>> estimate.errors, {name: (round(low, 2), round(high, 2)) for name, (low, high) in estimate.intervals.items()}
    ({'age': 0.5}, {'age': (38.52, 40.48)})
    >>> estimate.named, estimate.error([4.0])
    ({'age': 39.5}, 1.0)
    """

    names: tuple[str, ...]
    """The statistics, in order."""
    values: Floats = array_field()
    """The estimate of each."""
    covariance: Floats = array_field()
    """The covariance of what the estimates miss, on average over the scenarios."""

    @property
    def named(self) -> dict[str, float]:
        """The estimates by name."""
        return dict(zip(self.names, self.values.tolist(), strict=True))

    @property
    def errors(self) -> dict[str, float]:
        """The root mean square error of each estimate."""
        return deviations(self.names, self.covariance)

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """Where each statistic is with 95 % probability, on average over the scenarios."""
        reach = HALF_WIDTH * np.array(list(self.errors.values()))
        bounds = zip((self.values - reach).tolist(), (self.values + reach).tolist(), strict=True)
        return dict(zip(self.names, bounds, strict=True))

    def error(self, weights: Sequence[float] | Floats) -> float:
        """Return the weighted root mean square error of all statistics together."""
        return weighted_rms(self.covariance, np.asarray(weights, dtype=float))


class LinearEstimator(NamedTuple):
    """What of an estimate depends on C and N alone; made by `linear_estimator`."""

    observed: Floats
    """Which noisy values say anything, 1 or 0."""
    whitening: Floats
    """W with WWᵀ = (C + N)⁻¹ on what varies, so that T = ‖(y − μ̄)W‖²."""
    fixed: Floats
    """Combinations of the statistics, as columns, that do not vary, in the units below."""
    units: Floats
    """Deviations of the noisy values; 0 for one that does not vary."""
    gain: Floats
    """G, what an estimate makes of y − μ̄."""
    error_covariance: Floats
    """The covariance of what the estimate misses."""

    def moves_what_is_fixed(self, apart: Floats, sizes: Floats) -> bool:
        """Tell whether what cannot vary is elsewhere than it must be."""
        varies = (self.units > 0) | (self.observed == 0)
        alone = (np.abs(apart) > MOVED * sizes) & ~varies
        scaled = np.where(self.units > 0, apart * self.observed / np.where(self.units > 0, self.units, 1.0), 0.0)
        together = np.abs(scaled @ self.fixed) > MOVED * (1 + np.abs(scaled).max(initial=0.0))
        return bool(alone.any() or together.any())


def linear_estimator(public: Floats, noise: Floats) -> LinearEstimator:
    """Return the estimator, computed in units of the noisy values' own deviations, in which sizes can be compared.

    >>> found = linear_estimator(np.eye(1), np.array([[3.0]]))
    >>> found.gain, found.error_covariance
    (array([[0.25]]), array([[0.75]]))
    """
    observed = np.isfinite(np.diag(noise))
    noise = np.where(np.outer(observed, observed), noise, 0.0)
    total = public + noise
    units = np.where(observed, np.sqrt(np.maximum(np.diag(total), 0.0)), 0.0)
    inverse = np.divide(1.0, units, out=np.zeros_like(units), where=units > 0)
    variances, axes = np.linalg.eigh(total * np.outer(inverse, inverse))
    live = variances > NEGLIGIBLE * max(len(units), 1)
    whitening = inverse[:, np.newaxis] * axes[:, live] / np.sqrt(variances[live])
    gain = (public @ whitening) @ whitening.T
    missed = np.eye(len(units)) - gain
    error = missed @ public @ missed.T + gain @ noise @ gain.T
    unknown = (np.diag(noise) > 0) | ~observed
    error = np.where(np.outer(unknown, unknown), error, 0.0)
    return LinearEstimator(
        observed=observed.astype(float),
        whitening=whitening,
        fixed=axes[:, ~live],
        units=units,
        gain=gain,
        error_covariance=(error + error.T) / 2,
    )


def deviations(names: tuple[str, ...], covariance: Floats) -> dict[str, float]:
    """Return the root of each variance, by name."""
    return dict(zip(names, np.sqrt(np.maximum(np.diag(covariance), 0.0)).tolist(), strict=True))


def weighted_rms(covariance: Floats, weights: Floats) -> float:
    r"""Return :math:`\sqrt{\operatorname{tr}(QS)}`, Q the diagonal of the weights: the overall error of noise.

    >>> weighted_rms(np.diag([9.0, 16.0]), np.ones(2))
    5.0
    """
    return math.sqrt(max(0.0, float(weights @ np.diag(covariance))))
