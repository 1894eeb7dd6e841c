"""Gaussian laws: the privacy curve of two with one covariance and its radii, and the divergence of any two."""

from distpriv.distances.gaussian.divergence import (
    HockeyStick,
    HockeySticks,
    gaussian_hockey_stick,
    gaussian_hockey_sticks,
)
from distpriv.distances.gaussian.radius import (
    analytic_radius,
    classic_radius,
    gaussian_delta,
    gaussian_deltas_upper_bound,
    mahalanobis,
    variance_ratio,
    whitening,
)

__all__ = [
    "HockeyStick",
    "HockeySticks",
    "analytic_radius",
    "classic_radius",
    "gaussian_delta",
    "gaussian_deltas_upper_bound",
    "gaussian_hockey_stick",
    "gaussian_hockey_sticks",
    "mahalanobis",
    "variance_ratio",
    "whitening",
]
