"""Noise that is at least the floor, and as much wider as it takes to prove its certificate."""

import numpy as np
from attrs import evolve

from distpriv.framework.arrays import Floats
from distpriv.framework.bisection import first_passing
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import moments_delta, smoothed_target
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.repair import certified_against_rows
from distpriv.mechanisms.hypotheses import equal_means
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import GaussianNoise, SumNoise

__all__ = ["doubled_floor", "floor_alone", "sum_delta", "until_proven"]


def doubled_floor(model: QueryModel, target: PrivacyTarget) -> Floats:
    """Return the least multiple of the floor, by powers of 2, that smooths the lattice of every scenario."""
    floor = np.diag(model.floor**2) * (1 + 1e-8)
    for doublings in range(20):
        if smoothed_target(model, GaussianNoise.of(2.0**doublings * floor), target) is not None:
            return 2.0**doublings * floor
    return floor


def floor_alone(
    model: QueryModel, target: PrivacyTarget, floor: GaussianNoise, name: str, theorem: str
) -> AdditiveMechanism | None:
    """Return the mechanism with no more noise than the lattice needs, if that will do; the farthest pair first."""
    farthest = max(model.protected_pairs, key=lambda pair: float(np.linalg.norm(model.mean_shift(pair))))
    for pairs in ((farthest, farthest[::-1]), model.protected_pairs):
        if moments_delta(evolve(model, protected_pairs=pairs), target, floor) > target.delta:
            return None
    return certified_against_rows(model, target, floor, name=name, theorem=theorem)


def until_proven(
    model: QueryModel, target: PrivacyTarget, noise: SumNoise, name: str, theorem: str
) -> AdditiveMechanism:
    """Return the noise with its certificate, wider where moments do not prove it to be enough, or rows contradict."""
    factors = (1.0, 1.001, 1.003, 1.01, 1.03, 1.06, 1.1, 1.2, 1.3, 1.45, 1.6, 1.8, 2.0, 2.5, 3.0, 4.0, 16.0)
    wider = [noise.widened(factor) for factor in factors]
    enough = first_passing(wider, lambda law: sum_delta(model, target, law) <= target.delta) or wider[-1]
    law = enough if len(enough.parts) > 1 else enough.gaussian
    return certified_against_rows(model, target, law, name=name, theorem=theorem, evidence=equal_means(model))


def sum_delta(model: QueryModel, target: PrivacyTarget, noise: SumNoise) -> float:
    """Return the δ of noise by moments and lattice, where its line may be empty."""
    return moments_delta(model, target, noise if len(noise.parts) > 1 else noise.gaussian)
