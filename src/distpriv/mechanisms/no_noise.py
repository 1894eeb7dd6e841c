"""Theorem 4.4: no noise at all, where the attacker's own uncertainty suffices."""

import numpy as np

from distpriv.distances.gaussian import mahalanobis
from distpriv.errors import AssumptionViolated
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import certified
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.mechanism import AdditiveMechanism, across_ball
from distpriv.mechanisms.hypotheses import Covariance, Radius, gaussian_radius, pair_covariance
from distpriv.modelling.model import QueryModel, require_model
from distpriv.noise.laws import NoNoise

__all__ = ["no_noise"]

THEOREM = "Theorem 4.4"


@across_ball
def no_noise(
    model: QueryModel, target: PrivacyTarget, *, radius: Radius = "analytic", covariance: Covariance = "shared"
) -> AdditiveMechanism:
    r"""Release the statistics as they are, which is private if :math:`dᵀΣ^{-1}d ≤ r^2` for every pair.

    Where it is not, the certificate says so. A shift outside the range of Σ tells the scenarios apart with certainty,
    and is refused.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[9]], pairs=[("a", "b")])
    >>> dp.mechanisms.no_noise(model, dp.PrivacyTarget(epsilon=1, delta=0.001)).certificate.holds
    True
    """
    require_model(model)
    allowed = gaussian_radius(target, radius)
    farthest = max(
        mahalanobis(model.mean_shift(pair), pair_covariance(model, pair, covariance, THEOREM))
        for pair in model.protected_pairs
    )
    if np.isinf(farthest):
        raise AssumptionViolated(
            f"{THEOREM} needs shifts inside the range of the covariance, and one is outside it, so that its scenarios "
            "can be told apart with certainty: use a mechanism that adds noise, such as directional_gaussian."
        )
    close = Evidence.of("DP208" if farthest <= allowed else "DP308", allowed=allowed, distance=farthest)
    noise = NoNoise(dimension=model.dimension)
    return certified(model, target, noise, name="no_noise", theorem=THEOREM, evidence=[close])
