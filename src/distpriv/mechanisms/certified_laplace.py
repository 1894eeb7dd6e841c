"""Laplace noise along the shifts and Gaussian noise where covariances differ, by its δ on the real model."""

import numpy as np
from attrs import evolve

from distpriv.distances.line_laws import LaplaceLine
from distpriv.errors import InvalidTarget
from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Pair
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.mechanism import AdditiveMechanism, across_ball
from distpriv.guarantees.reference_sample import stretched
from distpriv.mechanisms.hypotheses import laplace_epsilon
from distpriv.mechanisms.search.line_search import NARROWEST, LineSearch, Shape
from distpriv.mechanisms.search.until_proven import doubled_floor, floor_alone, until_proven
from distpriv.modelling.model import QueryModel
from distpriv.modelling.sensitivity import mean_shifts
from distpriv.modelling.utility import Weights, utility_weights
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, SumNoise

__all__ = ["certified_laplace", "noise_by_search"]

NAME, THEOREM = "certified_laplace", "the bound for Laplace noise"


@across_ball
def certified_laplace(model: QueryModel, target: PrivacyTarget, *, weights: Weights = "relative") -> AdditiveMechanism:
    r"""Add :math:`\mathrm{Lap}(b) w + N(0, S)`, sound with covariances that differ.

    The Laplace noise along the line w hides the mean shifts, and S, the lattice's floor and more where covariances
    differ or shifts leave the line, hides the rest. All of it has the least error for which the exact δ of noise along
    a line is the target's.

    Args:
        model: the model of the statistics.
        target: ε and δ, both above 0 unless all covariances are equal and shifts parallel.
        weights: what an error in each statistic costs, as in `utility_weights`.

    Raises:
        InvalidTarget: ε is 0, δ is 0 and covariances of a pair or the directions of shifts differ, or no such noise is
            found.

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
    noise = noise_by_search(model, target, q)
    if noise is None:
        raise InvalidTarget(
            f"no Laplace noise along one line is found whose delta is {target.delta:g} at epsilon = {target.epsilon:g}"
            ": give a larger epsilon or delta, or use certified_gaussian."
        )
    return until_proven(model, target, noise, NAME, THEOREM)


def noise_by_search(model: QueryModel, target: PrivacyTarget, weights: Floats) -> SumNoise | None:
    """Return about the mechanism's noise where more than the floor is needed: Laplace noise first, if it has any.

    Scenarios are farther apart where the reference is a sample. What the search finds is not held against all pairs or
    the rows, which can only widen it. None if there are no shifts, or no such noise is found.
    """
    far = evolve(stretched(model), strata=())
    if not mean_shifts(far).any():
        return None
    search = LineSearch.of(far, target, weights, doubled_floor(model, target))
    law = LaplaceLine(scale=search.longest / search.epsilon)
    if target.delta == 0:  # all of ε is for the shift, and nothing else differs
        return None if search.turns else _on_a_line(search, Shape(), law.scale)
    found = search.found(law)
    if found is None:
        return None
    search, shape, by = found
    return _on_a_line(search, shape, law.scale * by) if by > NARROWEST else SumNoise(parts=(search.gaussian(shape),))


def _on_a_line(search: LineSearch, shape: Shape, scale: float) -> SumNoise:
    laplace = LaplaceNoise(axes=search.axis(shape)[:, np.newaxis], scales=np.array([scale]))
    return SumNoise(parts=(laplace, search.gaussian(shape)))


def _covariances(model: QueryModel, pair: Pair) -> tuple[Floats, Floats]:
    first, second = (model.distributions[name].covariance for name in pair)
    return first, second
