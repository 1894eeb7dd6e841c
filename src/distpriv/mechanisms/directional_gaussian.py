"""Theorem 4.3 with Gaussian noise: along the direction of the mean shifts only."""

import numpy as np

from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import certified
from distpriv.guarantees.mechanism import AdditiveMechanism, across_ball
from distpriv.mechanisms.hypotheses import Directions, Radius, equal_means, gaussian_radius, shift_axes
from distpriv.modelling.model import QueryModel
from distpriv.modelling.sensitivity import mean_sensitivity
from distpriv.noise.laws import GaussianNoise, NoNoise

__all__ = ["directional_gaussian", "directional_gaussian_noise"]

THEOREM = "Theorem 4.3 with Gaussian noise"


@across_ball
def directional_gaussian(
    model: QueryModel, target: PrivacyTarget, *, radius: Radius = "analytic", directions: Directions = "one"
) -> AdditiveMechanism:
    r"""Add :math:`N(0, (Δ_{E,2}/r)^2 BBᵀ)`, B the direction of the shifts or an orthonormal basis of their span.

    Args:
        model: the model of the statistics.
        target: the (ε, δ) to reach, with δ above 0.
        radius: which distance of the means the target can bear, the exact one or the paper's.
        directions: whether to refuse shifts that are not all parallel, or to add noise along a basis of their span.

    Raises:
        InvalidTarget: δ is 0, which Gaussian noise cannot reach.
        AssumptionViolated: the shifts are not all parallel.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0, 0], "b": [3, 4]}, covariances=[[1, 0], [0, 1]], pairs=[("a", "b")])
    >>> mechanism = dp.mechanisms.directional_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.001))
    >>> mechanism.noise.variances.round(2)
    array([165.72])
    """
    noise = directional_gaussian_noise(model, gaussian_radius(target, radius), directions)
    return certified(model, target, noise, name="directional_gaussian", theorem=THEOREM, evidence=equal_means(model))


def directional_gaussian_noise(
    model: QueryModel, radius: float, directions: Directions = "one"
) -> GaussianNoise | NoNoise:
    """Return N(0, (Δ_{E,2}/r)² BBᵀ)."""
    deviation = mean_sensitivity(model, order=2) / radius
    if deviation == 0:
        return NoNoise(dimension=model.dimension)
    axes = shift_axes(model, directions, THEOREM)
    return GaussianNoise(axes=axes, variances=np.full(axes.shape[1], deviation**2))
