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
    gaussian_radius,
    pair_covariance,
)
from distpriv.modelling.model import QueryModel
from distpriv.modelling.sensitivity import common_direction, mean_shifts
from distpriv.noise.laws import GaussianNoise, NoNoise

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

    Args:
        model: the model of the statistics.
        target: the (ε, δ) to reach, with δ above 0.
        radius: which distance of the means the target can bear, the exact one or the paper's.
        covariance: whether to refuse or to average covariances that differ inside a pair.

    Raises:
        InvalidTarget: δ is 0, which Gaussian noise cannot reach.
        AssumptionViolated: the shifts are not all parallel, or the covariances of a pair differ and are not pooled.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0, 0], "b": [1, 0]}, covariances=[[4, 0], [0, 1]], pairs=[("a", "b")])
    >>> dp.mechanisms.directional_uncertainty(model, dp.PrivacyTarget(epsilon=1, delta=0.001)).noise.variances.round(4)
    array([2.6289])
    """
    noise = _noise(model, gaussian_radius(target, radius), covariance)
    return certified(model, target, noise, name="directional_uncertainty", theorem=THEOREM, evidence=equal_means(model))


def _noise(model: QueryModel, radius: float, covariance: Covariance) -> GaussianNoise | NoNoise:
    """Return noise along v of variance max(0, (α_ij/r)² − 1/(vᵀ Σ_ij⁻¹ v)), the largest over all pairs."""
    if not mean_shifts(model).any():
        return NoNoise(dimension=model.dimension)
    direction = common_direction(model, THEOREM)
    missing = 0.0
    for pair in model.protected_pairs:
        known = mahalanobis(direction, pair_covariance(model, pair, covariance, THEOREM))
        along = float(model.mean_shift(pair) @ direction)
        with np.errstate(over="ignore"):  # noise that is no number is refused below
            missing = max(missing, float(np.square(along / radius)) - known**-2)
    axes, variances = direction[:, np.newaxis], np.array([missing])
    return GaussianNoise(axes=axes, variances=variances) if missing > 0 else NoNoise(dimension=model.dimension)
