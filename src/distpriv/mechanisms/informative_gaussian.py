"""InfM: the Gaussian noise after which the estimate of the statistics has the least error, exactly checked."""

import numpy as np
from attrs import evolve

from distpriv.framework.arrays import Floats
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import certified
from distpriv.guarantees.entropy_ball import across_ball
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.reference_sample import cautious
from distpriv.guarantees.withheld_combinations import withheld_assumption
from distpriv.mechanisms.expected_value_gaussian import expected_value_gaussian_noise
from distpriv.mechanisms.hypotheses import gaussian_radius
from distpriv.mechanisms.optimal_gaussian import noise_of
from distpriv.mechanisms.search.counted_lattice import (
    floors_to_search,
    private_search,
    settled,
    widened_until_checked,
)
from distpriv.mechanisms.search.gaussian_search import Search
from distpriv.mechanisms.search.informative_search import FEW, InformativeSearch
from distpriv.mechanisms.search.smooth_floor import natural_units, plain_floor
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import Prior, PublicKnowledge
from distpriv.modelling.utility import Weights, utility_weights, weighted_rms
from distpriv.noise.laws import NoNoise
from distpriv.progress import Progress, silent

__all__ = ["informative_gaussian"]

NAME, THEOREM = "informative_gaussian", "the most informative noise"

SETTLED = 2e-3
"""Of many statistics no higher floor is tried where counting the lattice costs less of the error than this."""


@across_ball
def informative_gaussian(
    model: QueryModel,
    target: PrivacyTarget,
    *,
    weights: Weights = "relative",
    prior: Prior = None,
    progress: Progress = silent,
) -> AdditiveMechanism:
    r"""Add N(0, S), S ⪰ floor, after which the estimate has the least error among noise that the exact check passes.

    What is publicly unknown of the statistics has covariance C, and the estimate from a noisy answer leaves
    :math:`C - C(C + S)^{-1}C` of it. As a rule one combination of the statistics, the one that tells the scenarios
    apart, is withheld and all others are published almost as they are; the certificate names it. With equal covariances
    that is the optimum of a concave program; otherwise a search follows the exact divergences.

    Args:
        model: the model of the statistics.
        target: the (ε, δ) to reach, with δ above 0.
        weights: what an error of each statistic costs.
        prior: the probability of each scenario that the estimate counts on, by name; the same for all if not given.
        progress: told of every round of the search.

    Raises:
        InvalidTarget: δ is 0, which Gaussian noise cannot reach.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(
    ...     means={"a": [0, 0], "b": [1, 1]},
    ...     covariances={"a": [[4, 0], [0, 1]], "b": [[5, 0], [0, 1]]},
    ...     pairs=[("a", "b")],
    ...     steps=[1, 0],
    ... )
    >>> mechanism = dp.mechanisms.informative_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.001), weights="units")
    >>> mechanism.certificate.holds, mechanism.certificate.assurance
    (True, 'checked')
    >>> print(mechanism.certificate.assumptions[0].statement)
    published: all but statistic_2 + 0.23·statistic_1
    """
    costs = utility_weights(model, weights)
    radius = gaussian_radius(target, "analytic")
    known = PublicKnowledge.of(model, prior)
    if not model.floor.any():
        bare = certified(model, target, NoNoise(dimension=model.dimension), name=NAME, theorem=THEOREM)
        if bare.certificate.holds:
            return bare
    made_for = cautious(model)

    def error(law: Floats) -> float:
        return weighted_rms(known.error_covariance(law), costs)

    found: list[Floats] = []
    private: list[Floats] = []
    for floor in floors_to_search(model, target, costs):
        law = _most_telling(private_search(made_for, target, costs, floor), model, known, progress)
        enough = settled(made_for, target, costs, law) if law.any() else None
        found += [law] if law.any() else []
        private += [enough] if enough is not None else []
        if enough is not None and model.dimension > FEW and error(enough) < error(law) * (1 + SETTLED):
            break  # above a higher floor there is no better noise than above this one, but for what settling cost
    wide = plain_floor(model).covariance + expected_value_gaussian_noise(model, radius).covariance
    best = min(private or found or [wide], key=error)
    made = widened_until_checked(model, target, noise_of(best), name=NAME, theorem=THEOREM)
    told = (withheld_assumption(model, made.noise.covariance), *made.certificate.assumptions)
    return evolve(made, certificate=evolve(made.certificate, assumptions=told))


def _most_telling(search: Search, model: QueryModel, known: PublicKnowledge, progress: Progress) -> Floats:
    """Return the covariance of the noise that a search finds; 0 if it finds none that is private."""
    units = natural_units(model)
    scale = np.outer(units, units)
    problem = InformativeSearch.of(search, unknown=known.covariance / scale, weights=np.diag(search.costs))
    return np.asarray(problem.best(progress) * scale)
