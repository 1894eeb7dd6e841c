"""Laplace noise along the shifts and Gaussian noise where covariances differ, by a proven bound on the real model."""

import numpy as np
from attrs import evolve

from distpriv.distances.line_laws import LaplaceLine
from distpriv.errors import InvalidTarget
from distpriv.framework.arrays import Floats
from distpriv.framework.secrets import Pair
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.entropy_ball import across_ball
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.reference_sample import stretched
from distpriv.mechanisms.hypotheses import laplace_epsilon
from distpriv.mechanisms.search.laplace_search import LaplaceSearch
from distpriv.mechanisms.search.line_search import NARROWEST, LineSearch
from distpriv.mechanisms.search.until_proven import doubled_floor, floor_alone, sum_delta, until_proven
from distpriv.modelling.model import QueryModel
from distpriv.modelling.sensitivity import mean_shifts, shift_basis
from distpriv.modelling.utility import Weights, utility_weights, weighted_rms
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, SumNoise

__all__ = ["certified_laplace", "noise_by_search"]

NAME, THEOREM = "certified_laplace", "the bound for Laplace noise"

ATTEMPTS = 4
"""How often the search is corrected."""


@across_ball
def certified_laplace(model: QueryModel, target: PrivacyTarget, *, weights: Weights = None) -> AdditiveMechanism:
    r"""Add :math:`\mathrm{Lap}(b) w + N(0, S)`, sound with covariances that differ.

    The Laplace noise along the line w hides the mean shifts, and S, the lattice's floor and more where covariances
    differ or shifts leave the line, hides the rest. All of it has the least error for which the exact δ of noise along
    a line is the target's. Where shifts have several directions Laplace noise along several axes is tried, too, by a
    bound in two steps.

    Args:
        model: the model of the statistics.
        target: ε and δ, both above 0 unless all covariances are equal.
        weights: what an error in each statistic costs, as in `utility_weights`.

    Raises:
        InvalidTarget: ε is 0, or δ is 0 and covariances of a pair differ.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0, 0], "b": [3, 4]}, covariances=[[1, 0], [0, 1]], pairs=[("a", "b")])
    >>> dp.mechanisms.certified_laplace(model, dp.PrivacyTarget(epsilon=0.5)).noise.parts[0].scales.round(3)
    array([10.])
    """
    laplace_epsilon(target)
    q = utility_weights(model, weights)
    floor = doubled_floor(model, target)
    alone = floor_alone(model, target, GaussianNoise.of(floor), NAME, THEOREM)
    if alone is not None:
        return alone
    differs = any(not np.array_equal(*_covariances(model, pair)) for pair in model.protected_pairs)
    if differs and target.delta == 0:
        raise InvalidTarget(
            "delta = 0 is out of reach of the bound where covariances of a protected pair differ: give a delta above 0."
        )
    noise = min(_searched(stretched(model), target, q, floor), key=lambda of: weighted_rms(of.covariance, q))
    return until_proven(model, target, noise, NAME, THEOREM)


def noise_by_search(model: QueryModel, target: PrivacyTarget, weights: Floats) -> SumNoise:
    """Return about the mechanism's noise where more than the floor is needed: Laplace noise first, if it has any.

    What the search finds is not held against the bound or the rows, both of which can only widen it.
    """
    found = _on_a_line(stretched(model), target, weights, doubled_floor(model, target))
    return found or _along_axes(stretched(model), target, weights, doubled_floor(model, target))


def _searched(model: QueryModel, target: PrivacyTarget, weights: Floats, floor: Floats) -> list[SumNoise]:
    """Return noise along one line, and along several axes where shifts have several directions or no line will do.

    Scenarios are farther apart where the reference is a sample; what else a sample leaves open is for the bound to
    judge, and all noise is widened for it.
    """
    model = evolve(model, strata=())
    line = _on_a_line(model, target, weights, floor)
    if line is not None and shift_basis(model).shape[1] <= 1:
        return [line]
    several = _along_axes(model, target, weights, floor)
    return [several] if line is None else [line, several]


def _on_a_line(model: QueryModel, target: PrivacyTarget, weights: Floats, floor: Floats) -> SumNoise | None:
    """Return the least noise along one line; None if there are no shifts, or no such noise is found."""
    if target.delta == 0 or not mean_shifts(model).any():
        return None
    search = LineSearch.of(model, target, weights, floor)
    law = LaplaceLine(scale=search.longest / search.epsilon)
    found = search.found(law)
    if found is None:
        return None
    _, shape, by = found
    laplace = LaplaceNoise(axes=search.axis(shape)[:, np.newaxis], scales=np.array([law.scale * by]))
    return SumNoise(parts=(laplace, search.gaussian(shape)) if by > NARROWEST else (search.gaussian(shape),))


def _along_axes(model: QueryModel, target: PrivacyTarget, weights: Floats, floor: Floats) -> SumNoise:
    """Return noise along several axes, by estimates that are corrected by what the bound says."""
    search = LaplaceSearch.of(model, target, weights, floor)
    point = search.best() if search.axes.size else (1.0, 0.0)
    for attempt in range(ATTEMPTS):
        noise = search.least_noise(*point)
        worst = evolve(model, protected_pairs=search.pairs[:2])
        delta = sum_delta(worst, target, noise)
        if delta <= target.delta and len(model.protected_pairs) > len(worst.protected_pairs):
            delta = sum_delta(model, target, noise)
        if delta <= target.delta:
            break
        before = search.pairs
        search = search.corrected(noise, target.delta / delta)
        if attempt == 0 and not set(search.pairs[:2]) <= set(before) and search.axes.size:
            point = search.best()
    return noise


def _covariances(model: QueryModel, pair: Pair) -> tuple[Floats, Floats]:
    first, second = (model.distributions[name].covariance for name in pair)
    return first, second
