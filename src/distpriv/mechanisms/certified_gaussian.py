"""The best Gaussian noise that the exact check passes, covariances and lattice as they are."""

from typing import Final

import numpy as np
from attrs import evolve, frozen

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import one_of
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import certified
from distpriv.guarantees.masked_directions import masked_evidence
from distpriv.guarantees.mechanism import AdditiveMechanism, across_ball
from distpriv.guarantees.reference_sample import cautious
from distpriv.mechanisms.hypotheses import gaussian_radius
from distpriv.mechanisms.search.gaussian_search import SETTINGS, GaussianSearch
from distpriv.mechanisms.search.noise_floor import (
    floors_to_search,
    natural_units,
    plain_floor,
    private_noise,
    settled,
    widened_until_checked,
)
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import Prior, PublicKnowledge
from distpriv.modelling.sensitivity import mean_sensitivity
from distpriv.modelling.utility import OBJECTIVES, Objective, Weights, utility_weights, weighted_rms
from distpriv.noise.laws import GaussianNoise, NoNoise
from distpriv.progress import Progress, silent

__all__ = ["certified_gaussian"]

NAME, THEOREM = "certified_gaussian", "the exact check"


@frozen(kw_only=True)
class Effort:
    """How much is searched."""

    largest: float = 6e7
    """Pairs of populations that noise is searched for, times the cost of one: the cube of the statistics."""
    pairs: int = 400
    """Pairs of populations that noise is searched for, at most."""
    settled: float = 2e-3
    """Of many statistics no higher floor is tried where counting the lattice costs less of the error than this."""


EFFORT: Final = Effort()


@across_ball
def certified_gaussian(
    model: QueryModel,
    target: PrivacyTarget,
    *,
    objective: Objective = "estimate",
    weights: Weights = "relative",
    prior: Prior = None,
    progress: Progress = silent,
) -> AdditiveMechanism:
    r"""Add N(0, S), S ⪰ floor, of the least error among Gaussian noise whose exact δ meets the target.

    Nothing is assumed of the covariances, and the lattice is covered and counted. What is publicly unknown of the
    statistics has covariance C, and the estimate from a noisy answer leaves :math:`C - C(C + S)^{-1}C` of it. As a rule
    one combination of the statistics, the one that tells the scenarios apart, is withheld and all others are published
    almost as they are; the certificate names it. With equal covariances that is the optimum of a concave program;
    otherwise a search follows the exact divergences (`docs/proofs/certified_gaussian.md`).

    Args:
        model: the model of the statistics.
        target: the (ε, δ) to reach, with δ above 0.
        objective: ``"estimate"`` for the least error of estimates, ``"noise"`` for the least weighted mean square of
            the noise itself.
        weights: what an error of each statistic costs.
        prior: the probability of each scenario that the estimate counts on, by name; the same for all if not given.
        progress: told of every round of the search.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(
    ...     means={"a": [0, 0], "b": [1, 1]},
    ...     covariances={"a": [[4, 0], [0, 1]], "b": [[5, 0], [0, 1]]},
    ...     pairs=[("a", "b")],
    ...     steps=[1, 0],
    ... )
    >>> mechanism = dp.mechanisms.certified_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.001), weights="units")
    >>> mechanism.certificate.holds, mechanism.certificate.assurance
    (True, 'checked')
    >>> print(mechanism.certificate.evidence[0])
    proved: released directions: 1 of 2 (masked, as they reveal the secret: statistic_2 + 0.23·statistic_1 (... of the
    variance released)...) [DP103]
    >>> target = mechanism.certificate.target
    >>> quiet = dp.mechanisms.certified_gaussian(model, target, objective="noise", weights="units")
    >>> round(quiet.noise.expected_rms, 2)
    3.99
    """
    costs = utility_weights(model, weights)
    radius = gaussian_radius(target, "analytic")
    one_of("objective", objective, OBJECTIVES, InvalidInput)
    known = PublicKnowledge.of(model, prior)
    if not model.floor.any():
        bare = certified(model, target, NoNoise(dimension=model.dimension), name=NAME, theorem=THEOREM)
        if bare.certificate.holds:
            return bare
    made_for = cautious(model, most=int(min(EFFORT.largest / model.dimension**3, EFFORT.pairs)))

    def error(covariance: Floats) -> float:
        return weighted_rms(known.error_covariance(covariance) if objective == "estimate" else covariance, costs)

    scale = np.outer(natural_units(model), natural_units(model))
    candidates: list[Floats] = []
    private: list[Floats] = []
    for floor in floors_to_search(model, target, costs):
        constraints = private_noise(made_for, target, costs, floor)
        search = GaussianSearch.above_best_floor(
            constraints, unknown=known.covariance / scale, weights=np.diag(constraints.costs), objective=objective
        )
        covariance = search.best(progress)
        if covariance is None:
            continue
        covariance = covariance * scale
        candidates.append(covariance)
        enough = settled(made_for, target, costs, covariance)
        if enough is None:
            continue
        private.append(enough)
        # Above a higher floor there is no better noise than above this one, but for what settling it cost.
        cheap = error(enough) < error(covariance) * (1 + EFFORT.settled)
        if constraints.satisfied or (model.dimension > SETTINGS.few and cheap):
            break
    wide = plain_floor(model).covariance + (mean_sensitivity(model, order=2) / radius) ** 2 * np.eye(model.dimension)
    best = min(private or candidates or [wide], key=error)
    made = widened_until_checked(model, target, GaussianNoise.of(best), name=NAME, theorem=THEOREM)
    evidence = (masked_evidence(model, made.noise.covariance), *made.certificate.evidence)
    return evolve(made, certificate=evolve(made.certificate, evidence=evidence))
