"""Theorem 3.1: Laplace noise scaled to the ∞-Wasserstein distance of the laws."""

from typing import Literal

from distpriv.distances.transport import wasserstein_inf
from distpriv.errors import InvalidInput, InvalidModel
from distpriv.framework.domains import one_of
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Assurance
from distpriv.guarantees.certify import by_coupling
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.mechanism import AdditiveMechanism, across_ball
from distpriv.mechanisms.hypotheses import (
    everywhere,
    has_points,
    laplace_epsilon,
    largest_over_points,
    law_evidence,
    proven_distance,
    translation_distance,
)
from distpriv.modelling.model import QueryModel, require_model
from distpriv.noise.laws import LaplaceNoise

__all__ = ["wasserstein"]

THEOREM = "Theorem 3.1"

Distance = Literal["auto", "points", "coupling"]
"""Where Δ_W comes from: the laws' points, coupled datasets of bounded rows, or whichever the model has."""


@across_ball
def wasserstein(model: QueryModel, target: PrivacyTarget, *, distance: Distance = "auto") -> AdditiveMechanism:
    r"""Add Laplace noise of scale :math:`Δ_W/ε` to every statistic, :math:`Δ_W = \max_Ψ W_∞(f_i, f_j)` in L1.

    Some coupling of the two laws never moves a value by more than Δ_W, and noise of this scale hides any such move:
    (ε, 0), whatever the laws are. Δ_W is exact for laws given by points, an estimate for sampled ones, a proven bound
    for datasets that differ in k bounded records, and the length of the shift for Gaussian laws that are translations.

    >>> import distpriv as dp
    >>> model = dp.empirical_model(samples={"a": [1, 2, 3, 100], "b": [1, 2, 3, 100]}, pairs=[("a", "b")],
    ...                         weights={"a": [0.6, 0.2, 0.0, 0.2], "b": [0.4, 0.3, 0.2, 0.1]})
    >>> dp.mechanisms.wasserstein(model, dp.PrivacyTarget(epsilon=1)).noise.scales
    array([97.])
    """
    require_model(model)
    one_of("distance", distance, ("auto", "points", "coupling"), InvalidInput)
    epsilon = laplace_epsilon(target)
    proven = proven_distance(model)
    assurance: Assurance
    if distance == "points" or (distance == "auto" and has_points(model)):
        reach = float(largest_over_points(model, wasserstein_inf, THEOREM))
        evidence, assurance = law_evidence(model)
    elif proven is not None:
        (reach, evidence), assurance = proven, "proved"
    elif distance == "coupling":
        raise InvalidModel("this model has no bounded rows of a Share to couple datasets of: use distance='points'.")
    else:
        reach, assurance = translation_distance(model, THEOREM), "assumed"
        evidence = Evidence.of("DP321")
    noise = everywhere(LaplaceNoise, model, reach / epsilon)
    return by_coupling(
        model,
        target,
        noise,
        name="wasserstein",
        theorem=THEOREM,
        delta=0.0,
        assurance=assurance,
        evidence=(evidence,),
    )
