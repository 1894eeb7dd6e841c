"""Theorem 4.5: Gaussian noise that tops up every eigenvector of the covariance."""

import numpy as np

from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import certified
from distpriv.guarantees.mechanism import AdditiveMechanism, across_ball
from distpriv.mechanisms.hypotheses import Covariance, Radius, gaussian_along, gaussian_radius, shared_eigenbasis
from distpriv.modelling.model import QueryModel
from distpriv.modelling.sensitivity import mean_sensitivity

__all__ = ["eigenvector_gaussian"]

THEOREM = "Theorem 4.5"


@across_ball
def eigenvector_gaussian(
    model: QueryModel, target: PrivacyTarget, *, radius: Radius = "analytic", covariance: Covariance = "shared"
) -> AdditiveMechanism:
    r"""Top up each eigen-direction of Σ to the variance that privacy requires.

    The attacker's own uncertainty Σ already hides part of the shift, so along each shared eigenvector :math:`v_k` only
    :math:`σ_k^2 = \max_θ \max(0, (Δ_{E,2}/r)^2 - v_kᵀ Σ_θ v_k)` is added.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(
    ...     means={"a": [100, 101], "b": [99, 102]}, covariances=[[22, -6], [-6, 13]], pairs=[("a", "b")]
    ... )
    >>> target = dp.PrivacyTarget(epsilon=1, delta=0.001)
    >>> mechanism = dp.mechanisms.eigenvector_gaussian(model, target, radius="classic")
    >>> mechanism.noise.variances.round(2)
    array([18.52,  3.52])
    """
    required = (mean_sensitivity(model, order=2) / gaussian_radius(target, radius)) ** 2
    variances, axes = shared_eigenbasis(model, covariance, THEOREM)
    noise = gaussian_along(axes, np.maximum(0.0, required - variances).max(axis=0))
    return certified(model, target, noise, name="eigenvector_gaussian", theorem=THEOREM)
