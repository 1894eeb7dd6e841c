"""The least noise for one to three statistics whose exact law is known: only how data are drawn is assumed."""

from distpriv.errors import InvalidTarget
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.exact_rows import exact_certificate
from distpriv.guarantees.mechanism import AdditiveMechanism, across_ball
from distpriv.law.cells import row_grid
from distpriv.mechanisms.hypotheses import require_target
from distpriv.mechanisms.search.exact_search import noise_on_grid, noise_on_steps
from distpriv.modelling.model import QueryModel, require_model
from distpriv.modelling.utility import Weights, utility_weights
from distpriv.noise.laws import NoiseLaw

__all__ = ["exact_law"]

LARGEST_EPSILON = 300.0
"""At a larger ε, e^ε times the rounding error of a distribution hides what it says."""


@across_ball
def exact_law(model: QueryModel, target: PrivacyTarget, *, weights: Weights = "relative") -> AdditiveMechanism:
    r"""Add the least noise that the exact law of up to three statistics allows.

    Counts, totals and means of rows on whole steps have a law that is known to the last digit from the rows. For one of
    them noise is a whole number of steps, even on −k … k with probabilities that a linear program chooses, plus
    an even part of one step: δ is then a sum over steps, exact but for what is counted. For two or three it is Laplace
    or Gaussian noise along the shifts and Gaussian noise in every direction, and δ is bounded by a sum over a grid.
    Assurance `proved`; `checked` of a reference that is a sample, whose δ is that of the worst of a hundred populations
    it may be of.

    Raises:
        InvalidModel: there are more statistics, or rows of a sample with weights, or values that are on no steps.
        InvalidTarget: δ is 0, or too small for what the law is known to.

    >>> import distpriv as dp
    >>> query, secret = dp.Query(women=dp.count("sex = 'Female'")), dp.Share("income = '>50K'", values=(0.45, 0.55))
    >>> model = dp.model(dp.datasets.adult(), query, secret, records=100, reference="population")
    >>> mechanism = dp.mechanisms.exact_law(model, dp.PrivacyTarget(epsilon=1, delta=0.001))
    >>> mechanism.certificate.assurance, mechanism.certificate.holds, round(mechanism.noise.expected_rms, 1)
    ('proved', True, 2.1)
    """
    require_model(model)
    require_target(target)
    if target.delta == 0:
        raise InvalidTarget(
            "exact_law cannot reach delta = 0, since laws of different datasets reach differently far: give a delta "
            "above 0, or use group_privacy_laplace."
        )
    if target.epsilon > LARGEST_EPSILON:
        raise InvalidTarget(
            f"exact laws are not known well enough for epsilon = {target.epsilon:g}: give {LARGEST_EPSILON:g} at most."
        )
    rows = row_grid(model)
    if model.dimension > 1:
        noise: NoiseLaw = noise_on_grid(model, rows, target, utility_weights(model, weights))
    else:
        noise = noise_on_steps(rows, target, model.protected_pairs)
    certificate = exact_certificate(rows, [noise], target, model.protected_pairs)
    return AdditiveMechanism(name="exact_law", statistics=model.names, noise=noise, certificate=certificate)
