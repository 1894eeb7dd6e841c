"""Laplace noise along the shifts and Gaussian noise where covariances differ, by its δ on the real model."""

import numpy as np
from attrs import evolve

from distpriv.errors import InvalidTarget
from distpriv.framework.arrays import Floats
from distpriv.framework.bisection import first_passing
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import LARGEST_SMOOTHING, moments_delta
from distpriv.guarantees.mechanism import AdditiveMechanism, across_ball
from distpriv.guarantees.reference_sample import stretched
from distpriv.guarantees.repair import certified_against_rows
from distpriv.mechanisms.hypotheses import equal_means, laplace_epsilon
from distpriv.mechanisms.search.line_search import LineSearch, Shape
from distpriv.mechanisms.search.noise_floor import smooth_floor
from distpriv.modelling.model import QueryModel
from distpriv.modelling.sensitivity import mean_shifts
from distpriv.modelling.utility import Weights, utility_weights
from distpriv.noise.laws import GaussianNoise, SumNoise

__all__ = ["certified_laplace", "noise_by_search"]

NAME, THEOREM = "certified_laplace", "the bound for Laplace noise"


@across_ball
def certified_laplace(model: QueryModel, target: PrivacyTarget, *, weights: Weights = "relative") -> AdditiveMechanism:
    r"""Add :math:`\mathrm{Lap}(b) w + N(0, S)`, sound with covariances that differ.

    The Laplace noise along the line w hides the mean shifts, and S, the lattice's floor and more where covariances
    differ or shifts leave the line, hides the rest. All of it has the least error for which the exact δ of noise along
    a line is the target's.

    δ may be 0 where all covariances are equal and shifts parallel. Where no such noise is found it is refused.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0, 0], "b": [3, 4]}, covariances=[[1, 0], [0, 1]], pairs=[("a", "b")])
    >>> dp.mechanisms.certified_laplace(model, dp.PrivacyTarget(epsilon=0.5)).noise.parts[0].scales.round(3)
    array([10.])
    """
    laplace_epsilon(target)
    q = utility_weights(model, weights)
    floor = GaussianNoise.of(_floor(model, q))
    if _floor_suffices(model, target, floor):
        return certified_against_rows(model, target, floor, name=NAME, theorem=THEOREM)
    pairs = [[model.distributions[name].covariance for name in pair] for pair in model.protected_pairs]
    if target.delta == 0 and any(not np.array_equal(first, second) for first, second in pairs):
        raise InvalidTarget(
            "delta = 0 is out of reach of the bound where covariances of a protected pair differ: give a delta above 0."
        )
    noise = noise_by_search(model, target, q)
    if noise is None:
        raise InvalidTarget(
            f"no Laplace noise along one line is found whose delta is {target.delta:g} at epsilon = {target.epsilon:g}"
            ": give a larger epsilon or delta, or use certified_gaussian."
        )
    # Noise is widened where moments do not prove it to be enough; its line may be empty.
    wider = [noise.widened(1 + widening) for widening in (0.0, *(1e-3 * 2.0 ** np.arange(15)).tolist())]
    laws = [law if len(law.parts) > 1 else law.gaussian for law in wider]
    enough = first_passing(laws, lambda law: moments_delta(model, target, law) <= target.delta) or laws[-1]
    return certified_against_rows(model, target, enough, name=NAME, theorem=THEOREM, evidence=equal_means(model))


def noise_by_search(model: QueryModel, target: PrivacyTarget, weights: Floats) -> SumNoise | None:
    """Return about the mechanism's noise where more than the floor is needed: Laplace noise first, if it has any.

    Scenarios are farther apart where the reference is a sample. What the search finds is not held against all pairs or
    the rows, which can only widen it. None if there are no shifts, or no such noise is found.
    """
    far = evolve(stretched(model), strata=())
    if not mean_shifts(far).any():
        return None
    search = LineSearch.of(far, target, weights, _floor(model, weights))
    if target.delta == 0:  # all of ε is for the shift, and nothing else differs
        return None if search.turns else search.law(Shape(), 1.0)
    return search.result()


def _floor(model: QueryModel, weights: Floats) -> Floats:
    """Return little noise that smooths the lattice of every scenario, and a hair."""
    return smooth_floor(model, weights, LARGEST_SMOOTHING).covariance * (1 + 1e-8)


def _floor_suffices(model: QueryModel, target: PrivacyTarget, floor: GaussianNoise) -> bool:
    """Tell whether no more noise than the lattice needs will do by moments; the farthest pair first."""
    farthest = max(model.protected_pairs, key=lambda pair: float(np.linalg.norm(model.mean_shift(pair))))
    return all(
        moments_delta(evolve(model, protected_pairs=pairs), target, floor) <= target.delta
        for pairs in ((farthest, farthest[::-1]), model.protected_pairs)
    )
