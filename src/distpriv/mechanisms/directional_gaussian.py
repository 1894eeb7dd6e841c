"""Theorem 4.3 with Gaussian noise: along the direction of the mean shifts only."""

import numpy as np

from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import certified
from distpriv.guarantees.mechanism import AdditiveMechanism, across_ball
from distpriv.mechanisms.hypotheses import Directions, Radius, equal_means, gaussian_along, gaussian_radius, shift_axes
from distpriv.modelling.model import QueryModel
from distpriv.modelling.sensitivity import mean_sensitivity

__all__ = ["directional_gaussian"]

THEOREM = "Theorem 4.3 with Gaussian noise"


@across_ball
def directional_gaussian(
    model: QueryModel, target: PrivacyTarget, *, radius: Radius = "analytic", directions: Directions = "one"
) -> AdditiveMechanism:
    r"""Add :math:`N(0, (Δ_{E,2}/r)^2 BBᵀ)`, B the direction of the shifts or an orthonormal basis of their span.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0, 0], "b": [3, 4]}, covariances=[[1, 0], [0, 1]], pairs=[("a", "b")])
    >>> mechanism = dp.mechanisms.directional_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.001))
    >>> mechanism.noise.variances.round(2)
    array([165.72])
    """
    deviation = mean_sensitivity(model, order=2) / gaussian_radius(target, radius)
    axes = shift_axes(model, directions, THEOREM)
    noise = gaussian_along(axes, np.full(axes.shape[1], deviation**2))
    return certified(model, target, noise, name="directional_gaussian", theorem=THEOREM, evidence=equal_means(model))
