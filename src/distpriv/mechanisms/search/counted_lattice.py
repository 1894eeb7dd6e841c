"""What searches for Gaussian noise share: the floors to search above, the problem there, and how its end is settled."""

import numpy as np

from distpriv.framework.arrays import Floats, completed
from distpriv.framework.bisection import first_passing, least_passing
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import LARGEST_SMOOTHING, moments_delta
from distpriv.guarantees.lattice_floor import counted, covers_floor, has_rows
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.reference_sample import Cautious
from distpriv.guarantees.repair import certified_against_rows
from distpriv.mechanisms.search.gaussian_search import Search
from distpriv.mechanisms.search.smooth_floor import (
    SmoothFloor,
    measured,
    natural_units,
    plain_floor,
    smooth_floor,
    uncounted,
)
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import GaussianNoise

__all__ = ["floors_to_search", "private_search", "settled", "widened_until_checked"]

SLACK = 2e-7
"""The share of δ left for the errors of computing it."""
TINY = 1e-300
LARGEST_SCALE = 2.0**29
FINE, COARSE = (0.0, 1e-6, 1e-5, 1e-4, 1e-3), (10.0, 30.0, 100.0)
UNTIL_CHECKED = (*FINE, *(0.02 * 1.5**k for k in range(15)), *COARSE)
"""By which share variances are widened, in turn, until the exact check passes: the search works with estimates."""


def floors_to_search(model: QueryModel, target: PrivacyTarget, costs: Floats) -> list[SmoothFloor]:
    """Return the lowest noise to search above: the model's floor, and a higher one where the lattice matters there.

    `docs/proofs/certified_gaussian.md`, "The search", 2.

    A smoothing error of η lowers the ε that is left by up to 2η, or δ where ε is 0. The higher floor has an η that is
    too small to matter. At the model's own floor η may be larger, and is left out of the search: it falls as noise is
    added, so it is measured, by `settled`, at the noise that the search ends with.
    """
    plain = plain_floor(model)
    smooth = smooth_floor(model, costs, max(1e-3 * target.delta, min(1e-6, 1e-3 * target.epsilon)))
    if np.array_equal(plain.covariance, smooth.covariance):
        return [smooth]
    return [SmoothFloor(covariance=plain.covariance, smoothed=uncounted(model)), smooth]


def private_search(made_for: Cautious, target: PrivacyTarget, costs: Floats, floor: SmoothFloor) -> Search:
    """Return the problem in natural units, with ε and δ less what the lattice costs, as a certificate counts it.

    Noise is looked for that hides the pairs of all populations that a reference may be a sample of.
    """
    model, pairs, origins = made_for.origin, made_for.model.protected_pairs, list(made_for.origins)
    units = natural_units(model)
    reduced, most = counted(model.protected_pairs, floor.smoothed, target.epsilon)
    left = target.delta / most + np.expm1(np.minimum(0.0, reduced))
    scale = np.outer(units, units)
    covariances = {name: law.covariance / scale for name, law in made_for.model.distributions.items()}
    return Search(
        costs=costs * units**2 / (costs * units**2).max(),
        lowest=floor.covariance / scale,
        epsilons=np.maximum(0.0, reduced)[origins],
        deltas=(np.maximum(left, TINY) * (1 - SLACK))[origins],
        shifts=np.array([made_for.model.mean_shift(pair) / units for pair in pairs]),
        firsts=np.array([covariances[first] for first, _ in pairs]),
        seconds=np.array([covariances[second] for _, second in pairs]),
    )


def settled(made_for: Cautious, target: PrivacyTarget, costs: Floats, covariance: Floats) -> Floats | None:
    """Return a covariance scaled until it is private with what the lattice costs; None if it never is."""

    def settles(scale: float) -> bool:
        floor = measured(made_for.origin, scale * covariance)
        return floor.error <= LARGEST_SMOOTHING and private_search(made_for, target, costs, floor).satisfied

    scale = least_passing(settles, 1.0, 1.0, largest=LARGEST_SCALE, within=1e-5)
    return None if scale == np.inf else scale * covariance


def widened_until_checked(
    model: QueryModel, target: PrivacyTarget, noise: GaussianNoise, *, name: str, theorem: str
) -> AdditiveMechanism:
    """Return the mechanism, with noise wider by as little as the exact check on the model as it is asks for."""
    # Very strong noise along some axes may cost the floor its digits along the others: these get them back, and a hair.
    axes = completed(noise.axes)
    least = model.floor**2 @ axes**2
    variances = np.append(noise.variances, least[len(noise.variances) :])
    hairs = (GaussianNoise(axes=axes, variances=variances + more * least) for more in UNTIL_CHECKED)
    noise = next((law for law in hairs if covers_floor(model, law)), noise)
    if has_rows(model):
        return certified_against_rows(model, target, noise, name=name, theorem=theorem)
    wider = [GaussianNoise(axes=noise.axes, variances=noise.variances * (1 + more)) for more in UNTIL_CHECKED]
    enough = first_passing(wider, lambda law: moments_delta(model, target, law) <= target.delta)
    return certified_against_rows(model, target, enough or noise, name=name, theorem=theorem)
