"""The least symmetric unimodal noise along one line with Gaussian noise beside it, by its exact δ on the real model."""

import math

import numpy as np

from distpriv.distances.line_laws import LaplaceLine, StaircaseLine
from distpriv.errors import InvalidTarget
from distpriv.framework.arrays import Floats
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.entropy_ball import across_ball
from distpriv.guarantees.line_delta import COARSE, FINE
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.reference_sample import stretched
from distpriv.mechanisms.hypotheses import laplace_epsilon
from distpriv.mechanisms.search.line_program import LineProgram, widths_for
from distpriv.mechanisms.search.line_search import NARROWEST, LineSearch, Shape
from distpriv.mechanisms.search.until_proven import doubled_floor, floor_alone, until_proven
from distpriv.modelling.model import QueryModel
from distpriv.modelling.sensitivity import mean_shifts
from distpriv.modelling.utility import Weights, utility_weights
from distpriv.noise.laws import GaussianNoise, SumNoise, UnimodalNoise

__all__ = ["certified_unimodal"]

NAME, THEOREM = "certified_unimodal", "the exact law along a line"

TAIL = 4.0
"""Noise reaches so many scales farther than where the tail of Laplace noise is δ."""

ATTEMPTS = 4
"""How often the program is told to keep a smaller δ, until finer lattices confirm it."""

SMALLEST_DELTA = 1e-8
"""What lattices leave open is too much for a smaller δ."""


@across_ball
def certified_unimodal(model: QueryModel, target: PrivacyTarget, *, weights: Weights = "relative") -> AdditiveMechanism:
    r"""Add :math:`T w + N(0, S)`, T of the symmetric unimodal law of least variance that a linear program finds.

    The line w and S are those of `certified_laplace`. For them δ is convex in the law of T, and every attack bounds it
    by something linear: the program is solved with the best attacks on what it found before, until δ is kept. What it
    finds is held against the rows as all noise at assurance `checked` is, and widened where they contradict.

    Args:
        model: the model of the statistics.
        target: ε and δ, both above 0.
        weights: what an error in each statistic costs, as in `utility_weights`.

    Raises:
        InvalidTarget: ε is 0, δ is below 1e-8, or no such noise is found.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0, 0], "b": [3, 4]}, covariances=[[1, 0], [0, 1]], pairs=[("a", "b")])
    >>> mechanism = dp.mechanisms.certified_unimodal(model, dp.PrivacyTarget(epsilon=1, delta=0.001))
    >>> mechanism.certificate.holds, round(mechanism.noise.expected_rms, 1)
    (True, 6.8)
    """
    laplace_epsilon(target)
    if target.delta < SMALLEST_DELTA:
        raise InvalidTarget(
            f"noise along a line is known to have its delta down to {SMALLEST_DELTA:g} only, got {target.delta:g}: "
            "give a larger delta, or use certified_laplace."
        )
    q = utility_weights(model, weights)
    floor = doubled_floor(model, target)
    alone = floor_alone(model, target, GaussianNoise.of(floor), NAME, THEOREM)
    if alone is not None:
        return alone
    noise = _searched(stretched(model), target, q, floor)
    if noise is None:
        raise InvalidTarget(
            f"no noise along one line is found whose delta is {target.delta:g} at epsilon = {target.epsilon:g}: give a "
            "larger epsilon or delta, or use certified_gaussian."
        )
    return until_proven(model, target, noise, NAME, THEOREM)


def _searched(model: QueryModel, target: PrivacyTarget, weights: Floats, floor: Floats) -> SumNoise | None:
    """Return the least noise along one line; None if there are no shifts, or no such noise is found."""
    if not mean_shifts(model).any():
        return None
    laplace = LineSearch.of(model, target, weights, floor)
    law = LaplaceLine(scale=laplace.longest / laplace.epsilon)
    found = laplace.found(law)
    if found is None:
        return None
    search, shape, by = found
    gaussian = search.gaussian(shape)
    if by <= NARROWEST:
        return SumNoise(parts=(gaussian,))
    mixed = _program(search, shape, law.widened(by))
    return None if mixed is None else SumNoise(parts=(UnimodalNoise.mixed(search.axis(shape), *mixed), gaussian))


def _program(search: LineSearch, shape: Shape, laplace: LaplaceLine) -> tuple[Floats, Floats] | None:
    """Return widths and shares that keep δ on fine lattices, found on coarse ones; None if there are none."""
    reach = laplace.scale * (TAIL - math.log(search.delta))
    farthest = StaircaseLine(edges=np.array([0.0, reach]), masses=np.ones(1))
    coarse, fine = (search.sums(shape, farthest, fineness) for fineness in (COARSE, FINE))
    if coarse is None or fine is None:
        return None
    widths = widths_for(min(min(of.pair.first, of.pair.second) for of in coarse), reach)
    program = LineProgram.of(coarse, widths, laplace)
    aim = search.delta * max(one.delta(laplace) / two.delta(laplace) for one, two in zip(coarse, fine, strict=True))
    for _ in range(ATTEMPTS):
        shares = program.least(aim)
        if shares is None:
            break
        kept = shares > 0
        most = max(of.mixed_delta(widths[kept], shares[kept]) for of in fine)
        if most <= search.delta:
            return widths[kept], shares[kept]
        aim *= 0.999 * search.delta / most
    return None
