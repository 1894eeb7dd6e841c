"""Algorithm 1, Theorem A.1: Gaussian noise along the shifts, less what the attacker does not know anyway."""

import numpy as np

from distpriv.distances.gaussian import mahalanobis
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import certified
from distpriv.guarantees.mechanism import AdditiveMechanism, across_ball
from distpriv.mechanisms.hypotheses import (
    Covariance,
    Radius,
    equal_means,
    gaussian_along,
    gaussian_radius,
    pair_covariance,
    shift_axes,
)
from distpriv.modelling.model import QueryModel

__all__ = ["directional_uncertainty"]

THEOREM = "Theorem A.1"


@across_ball
def directional_uncertainty(
    model: QueryModel, target: PrivacyTarget, *, radius: Radius = "analytic", covariance: Covariance = "shared"
) -> AdditiveMechanism:
    r"""Add :math:`N(0, σ^2 vvᵀ)` with :math:`σ^2 = \max_{ij} \max(0, (α_{ij}/r)^2 - 1/(vᵀΣ_{ij}^{-1}v))`.

    Along v the attacker's own uncertainty has variance :math:`1/(vᵀΣ^{-1}v)`, what is left when all other directions
    are known: :math:`Σ + t vvᵀ ≻ 0` exactly if :math:`t > -1/(vᵀΣ^{-1}v)`. Nothing is credited if v is outside
    the range of Σ.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0, 0], "b": [1, 0]}, covariances=[[4, 0], [0, 1]], pairs=[("a", "b")])
    >>> dp.mechanisms.directional_uncertainty(model, dp.PrivacyTarget(epsilon=1, delta=0.001)).noise.variances.round(4)
    array([2.6289])
    """
    allowed, axes = gaussian_radius(target, radius), shift_axes(model, "one", THEOREM)
    missing = [0.0]
    for pair in model.protected_pairs if axes.size else ():
        known = mahalanobis(axes[:, 0], pair_covariance(model, pair, covariance, THEOREM)) ** -2
        along = float(model.mean_shift(pair) @ axes[:, 0])
        with np.errstate(over="ignore"):  # noise that is no number is refused below
            missing.append(float(np.square(along / allowed)) - known)
    noise = gaussian_along(axes, np.full(axes.shape[1], max(missing)))
    return certified(model, target, noise, name="directional_uncertainty", theorem=THEOREM, evidence=equal_means(model))
