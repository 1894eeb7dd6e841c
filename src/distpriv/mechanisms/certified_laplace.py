"""Laplace noise along the shifts and Gaussian noise where covariances differ, by a proven bound on the real model."""

import numpy as np
from attrs import evolve

from distpriv.errors import InvalidTarget
from distpriv.framework.arrays import Floats
from distpriv.framework.bisection import first_passing
from distpriv.framework.secrets import Pair
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import moments_delta, smoothed_target
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.reference_sample import stretched
from distpriv.guarantees.repair import certified_against_rows
from distpriv.mechanisms.hypotheses import equal_means, laplace_epsilon
from distpriv.mechanisms.search.laplace_search import LaplaceSearch
from distpriv.modelling.model import QueryModel
from distpriv.modelling.utility import Weights, utility_weights
from distpriv.noise.laws import GaussianNoise, SumNoise

__all__ = ["certified_laplace", "covariance_by_search"]

NAME, THEOREM = "certified_laplace", "the bound in two steps"

ATTEMPTS = 4
"""How often the search is corrected."""

UNTIL_PROVEN = (1.001, 1.003, 1.01, 1.03, 1.06, 1.1, 1.2, 1.3, 1.45, 1.6, 1.8, 2.0, 2.5, 3.0, 4.0, 16.0)
"""By which factors noise is widened, in turn, until the bound is proven, where all corrected searches missed it."""


def certified_laplace(model: QueryModel, target: PrivacyTarget, *, weights: Weights = None) -> AdditiveMechanism:
    r"""Add :math:`\sum_k \mathrm{Lap}(b_k) v_k + N(0, S)`, sound with covariances that differ.

    The Laplace part hides the mean shifts at ε₁ and the Gaussian part what covariances tell, at ε − ε₁. S is the
    lattice's floor, plus noise along the eigenvectors of the covariances' differences D, away from the shifts: variance
    :math:`\max(0, λ |d_k|^{2/3} - a_k)`, with a_k what is not known anyway. ε₁ and λ have the least error for which the
    bound on the exact δ passes.

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
    floor = _smooth_floor(model, target)
    alone = _floor_alone(model, target, GaussianNoise.of(floor))
    if alone is not None:
        return alone
    differs = any(not np.array_equal(*_covariances(model, pair)) for pair in model.protected_pairs)
    if differs and target.delta == 0:
        raise InvalidTarget(
            "delta = 0 is out of reach of the bound where covariances of a protected pair differ: give a delta above 0."
        )
    return _certified(model, target, LaplaceSearch.of(stretched(model), target, q, floor))


def covariance_by_search(model: QueryModel, target: PrivacyTarget, weights: Floats) -> Floats:
    """Return about the covariance that the mechanism's noise has where more than the floor is needed.

    What the search finds is not held against the bound or the rows, both of which can only widen it.
    """
    search = LaplaceSearch.of(stretched(model), target, weights, _smooth_floor(model, target))
    return search.least_noise(*(search.best() if search.axes.size else (1.0, 0.0))).covariance


def _floor_alone(model: QueryModel, target: PrivacyTarget, floor: GaussianNoise) -> AdditiveMechanism | None:
    """Return the mechanism with no more noise than the lattice needs, if that will do; the farthest pair first."""
    farthest = max(model.protected_pairs, key=lambda pair: float(np.linalg.norm(model.mean_shift(pair))))
    for pairs in ((farthest, farthest[::-1]), model.protected_pairs):
        if moments_delta(evolve(model, protected_pairs=pairs), target, floor) > target.delta:
            return None
    return certified_against_rows(model, target, floor, name=NAME, theorem=THEOREM)


def _certified(model: QueryModel, target: PrivacyTarget, search: LaplaceSearch) -> AdditiveMechanism:
    """Return the best noise that is certified: what the search finds, wider where that is not proven to be enough.

    The search is on scenarios that are farther apart where the reference is a sample; what else a sample leaves open is
    for the bound to judge, and all noise is widened for it.
    """
    noise, proven = _searched(evolve(search.model, strata=()), target, search)
    if proven and (not model.strata or _moments_delta(model, target, noise) <= target.delta):
        return _with_certificate(model, target, noise)
    wider = [noise.widened(factor) for factor in UNTIL_PROVEN]
    enough = first_passing(wider, lambda law: _moments_delta(model, target, law) <= target.delta)
    return _with_certificate(model, target, enough or wider[-1])


def _searched(model: QueryModel, target: PrivacyTarget, search: LaplaceSearch) -> tuple[SumNoise, bool]:
    """Return noise and whether it is proven to be enough: estimates are corrected by what the bound says."""
    point = search.best() if search.axes.size else (1.0, 0.0)
    for attempt in range(ATTEMPTS):
        noise = search.least_noise(*point)
        worst = evolve(model, protected_pairs=search.pairs[:2])
        delta = _moments_delta(worst, target, noise)
        if delta <= target.delta and len(model.protected_pairs) > len(worst.protected_pairs):
            delta = _moments_delta(model, target, noise)
        if delta <= target.delta:
            return noise, True
        before = search.pairs
        search = search.corrected(noise, target.delta / delta)
        if attempt == 0 and not set(search.pairs[:2]) <= set(before) and search.axes.size:
            point = search.best()
    return noise, False


def _moments_delta(model: QueryModel, target: PrivacyTarget, noise: SumNoise) -> float:
    return moments_delta(model, target, noise if len(noise.parts) > 1 else noise.gaussian)


def _with_certificate(model: QueryModel, target: PrivacyTarget, noise: SumNoise) -> AdditiveMechanism:
    law = noise if len(noise.parts) > 1 else noise.gaussian
    return certified_against_rows(model, target, law, name=NAME, theorem=THEOREM, assumptions=equal_means(model))


def _smooth_floor(model: QueryModel, target: PrivacyTarget) -> Floats:
    """Return the least multiple of the floor, by powers of 2, that smooths the lattice of every scenario."""
    floor = np.diag(model.floor**2) * (1 + 1e-8)
    for doublings in range(20):
        if smoothed_target(model, GaussianNoise.of(2.0**doublings * floor), target) is not None:
            return 2.0**doublings * floor
    return floor


def _covariances(model: QueryModel, pair: Pair) -> tuple[Floats, Floats]:
    first, second = (model.distributions[name].covariance for name in pair)
    return first, second
