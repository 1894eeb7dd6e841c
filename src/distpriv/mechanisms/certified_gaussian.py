"""CertM: the least Gaussian noise that the exact check finds private, covariances and lattice as they are."""

import numpy as np

from distpriv.framework.arrays import Floats
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import LARGEST_SMOOTHING, certified
from distpriv.guarantees.entropy_ball import across_ball
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.reference_sample import cautious
from distpriv.mechanisms.directional_gaussian import directional_gaussian_noise
from distpriv.mechanisms.eigenvector_gaussian import eigenvector_noise
from distpriv.mechanisms.expected_value_gaussian import expected_value_gaussian_noise
from distpriv.mechanisms.hypotheses import gaussian_radius
from distpriv.mechanisms.optimal_gaussian import least_noise, noise_of
from distpriv.mechanisms.search.counted_lattice import (
    floors_to_search,
    private_search,
    settled,
    widened_until_checked,
)
from distpriv.mechanisms.search.gaussian_search import Search
from distpriv.mechanisms.search.smooth_floor import natural_units, plain_floor
from distpriv.modelling.model import QueryModel
from distpriv.modelling.utility import Weights, utility_weights
from distpriv.noise.laws import GaussianNoise, NoNoise
from distpriv.progress import Progress, silent

__all__ = ["certified_gaussian"]

NAME, THEOREM = "certified_gaussian", "the exact check"

STARTS, MANY_STATISTICS = 2, 10
"""How many of the scaled shapes are descended from; with more statistics than these, where that is slow, one."""


@across_ball
def certified_gaussian(
    model: QueryModel,
    target: PrivacyTarget,
    *,
    weights: Weights = "relative",
    progress: Progress = silent,
) -> AdditiveMechanism:
    r"""Add N(0, S) of a small weighted mean square with S ⪰ floor and an exact δ that meets the target.

    Nothing is assumed of the covariances, and the lattice is covered and counted. If noise at the floor is enough, that
    is it. Otherwise the shapes of the other mechanisms are scaled until they are feasible, and a search descends
    from the best of them; the result is never worse than any of these. No convexity is known, so it is a local minimum.

    Args:
        model: the model of the statistics.
        target: the (ε, δ) to reach, with δ above 0.
        weights: what an error of each statistic costs.
        progress: told of every start of the search.

    Raises:
        InvalidTarget: δ is 0, which Gaussian noise cannot reach.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(
    ...     means={"a": [0, 0], "b": [1, 1]},
    ...     covariances={"a": [[4, 0], [0, 1]], "b": [[5, 0], [0, 1]]},
    ...     pairs=[("a", "b")],
    ...     steps=[1, 0],
    ... )
    >>> mechanism = dp.mechanisms.certified_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.001), weights="units")
    >>> mechanism.certificate.holds, mechanism.certificate.assurance, round(mechanism.noise.expected_rms, 2)
    (True, 'checked', 3.99)
    """
    costs = utility_weights(model, weights)
    radius = gaussian_radius(target, "analytic")
    if not model.floor.any():
        bare = certified(model, target, NoNoise(dimension=model.dimension), name=NAME, theorem=THEOREM)
        if bare.certificate.holds:
            return bare
    plain, made_for = plain_floor(model), cautious(model)
    if plain.error <= LARGEST_SMOOTHING and private_search(made_for, target, costs, plain).satisfied:
        return widened_until_checked(model, target, noise_of(plain.covariance), name=NAME, theorem=THEOREM)
    shapes = _shapes(model, radius, costs)
    searches = [private_search(made_for, target, costs, floor) for floor in floors_to_search(model, target, costs)]
    found = [_least(search, model, shapes, progress) for search in searches]
    felt = [plain.covariance + shape for shape in shapes] if len(searches) > 1 else []
    private = [law for law in (settled(made_for, target, costs, law) for law in found + felt) if law is not None]
    best = min(private or found, key=lambda covariance: float(costs @ np.diag(covariance)))
    return widened_until_checked(model, target, noise_of(best), name=NAME, theorem=THEOREM)


def _least(search: Search, model: QueryModel, shapes: list[Floats], progress: Progress) -> Floats:
    """Return the floor if it is enough, else the best of all shapes and of what is found from the best of them."""
    units = np.outer(*[natural_units(model)] * 2)
    if search.satisfied:
        return np.asarray(search.lowest * units)
    if model.dimension == 1:  # all shapes are one, and scaled it is the least
        shapes = shapes[-1:]
    found = search.cheapest(_candidates(search, [shape / units for shape in shapes]))
    descended, starts = [], _starts(model.dimension)
    for k, start in enumerate(found[:starts]):
        progress("descending", k, starts)
        descended.append(search.descended(start))
    progress("descending", starts, starts)
    last = search.lowest + shapes[-1] / units  # where nothing is feasible the certificate will say so
    return np.asarray([*search.cheapest([*found, *descended]), last][0] * units)


def _starts(statistics: int) -> int:
    """Return how many shapes to descend from."""
    if statistics == 1:
        return 0
    return STARTS if statistics <= MANY_STATISTICS else 1


def _shapes(model: QueryModel, radius: float, costs: Floats) -> list[Floats]:
    """Return the covariances of noise by theorems that assume equal covariances; that on every statistic is last."""
    along = directional_gaussian_noise(model, radius, "several").covariance
    topped = eigenvector_noise(model, radius, "pooled").covariance
    least = least_noise(model, radius, "pooled", costs, floor=True).covariance - np.diag(model.floor**2)
    alike = expected_value_gaussian_noise(model, radius)
    some = alike if alike.parts else GaussianNoise.isotropic(model.dimension, float(natural_units(model).max()))
    return [along, topped, least, some.covariance]


def _candidates(search: Search, shapes: list[Floats]) -> list[Floats | None]:
    """Return every shape above the floor, scaled alone and together with the floor until it is feasible (3)."""
    *others, isotropic = shapes
    turned = np.sqrt(np.diag(isotropic))
    highest = float(np.linalg.eigvalsh(search.lowest / np.outer(turned, turned))[-1])
    found = [search.scaled(highest * isotropic, isotropic), search.scaled(search.lowest, isotropic)]
    for shape in (shape for shape in others if np.trace(shape) > 0):
        found += [search.scaled(search.lowest, shape), search.scaled(search.lowest + shape, search.lowest + shape)]
    return found
