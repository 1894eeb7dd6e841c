"""The least symmetric unimodal noise along the direction of the mean shifts, by a linear program."""

import numpy as np

from distpriv.distances.gaussian import analytic_radius, mahalanobis
from distpriv.errors import InvalidInput, InvalidTarget
from distpriv.framework.domains import whole, yes_or_no
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import certified, shared_unimodal
from distpriv.guarantees.entropy_ball import across_ball
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.mechanisms.hypotheses import Covariance, equal_means, pair_covariance, require_target
from distpriv.mechanisms.search.unimodal_program import least_unimodal
from distpriv.modelling.model import QueryModel, require_model
from distpriv.modelling.sensitivity import common_direction, mean_shifts
from distpriv.noise.laws import NoNoise, UnimodalNoise

__all__ = ["optimal_unimodal"]


@across_ball
def optimal_unimodal(
    model: QueryModel,
    target: PrivacyTarget,
    *,
    covariance: Covariance = "shared",
    uncertainty: bool = True,
    cells: int = 200,
) -> AdditiveMechanism:
    r"""Add :math:`Y v`, with the symmetric unimodal law of Y of least :math:`E|Y|` that a linear program finds.

    Under :math:`H_ε(p \| p(· - α)) ≤ δ` for :math:`p = q * N(0, s^2)`, q the density of Y, α the largest shift along
    the unit vector v and :math:`s^2 = \min 1/(vᵀΣ_{ij}^{-1}v)` what the attacker does not know anyway. Since p is
    unimodal every smaller shift is hidden as well; without that the program would return spikes at multiples of α.

    Args:
        model: the model of the statistics; all mean shifts parallel.
        target: ε ≥ 0 and δ > 0.
        covariance: refuse covariances that differ inside a pair, or take their average.
        uncertainty: whether to count on the attacker's own uncertainty; otherwise s = 0.
        cells: about how many steps the density has on either side of 0.

    Raises:
        InvalidTarget: δ is below 1e-8, or no such noise is proven to have it.
        AssumptionViolated: the shifts are not all parallel, or the covariances of a pair differ and are not pooled.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0, 0], "b": [1, 0]}, covariances=[[1, 0], [0, 1]], pairs=[("a", "b")])
    >>> target = dp.PrivacyTarget(epsilon=1, delta=0.001)
    >>> round(dp.mechanisms.optimal_unimodal(model, target, uncertainty=False).noise.expected_l2, 2)
    0.95
    """
    name, theorem = "optimal_unimodal", "the least unimodal noise"
    require_model(model)
    require_target(target)
    if target.delta < 1e-8:
        raise InvalidTarget(
            f"unimodal noise of limited reach is proven to have its delta down to 1e-8 only, got {target.delta:g}: "
            "give a larger delta, or use directional_laplace."
        )
    cells = whole("cells", cells, InvalidInput, at_least=20, cure="a few hundred is a good choice")
    uncertainty = yes_or_no("uncertainty", uncertainty, InvalidInput)
    nothing = NoNoise(dimension=model.dimension)
    shifts = mean_shifts(model)
    if not shifts.any():
        return certified(model, target, nothing, name=name, theorem=theorem, assumptions=equal_means(model))
    direction = common_direction(model, theorem)
    along = np.abs(shifts @ direction)
    known = np.array(
        [mahalanobis(direction, pair_covariance(model, p, covariance, theorem)) for p in model.protected_pairs]
    )
    if uncertainty and (along[along > 0] * known[along > 0]).max() <= analytic_radius(target.epsilon, target.delta):
        return certified(model, target, nothing, name=name, theorem=theorem)
    steps = least_unimodal(
        target,
        shift=float(along.max()),
        deviation=float(1 / known[along > 0].max()) if uncertainty else 0.0,
        cells=cells,
    )
    noise = UnimodalNoise(axes=direction[:, np.newaxis], edges=steps.edges, masses=steps.masses)
    return shared_unimodal(
        model, target, noise, shared_delta=steps.delta, pooled=covariance == "pooled", name=name, theorem=theorem
    )
