"""CertM: the least Gaussian noise that the exact check finds private, covariances and lattice as they are."""

import numpy as np

from distpriv.framework.arrays import Floats, completed
from distpriv.framework.bisection import least_passing
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import LARGEST_SMOOTHING, certified, moments_delta
from distpriv.guarantees.lattice_floor import counted, covers_floor
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.reference_sample import Cautious, cautious
from distpriv.guarantees.repair import certified_against_rows
from distpriv.mechanisms.directional_gaussian import directional_gaussian_noise
from distpriv.mechanisms.eigenvector_gaussian import eigenvector_noise
from distpriv.mechanisms.expected_value_gaussian import expected_value_gaussian_noise
from distpriv.mechanisms.hypotheses import gaussian_radius
from distpriv.mechanisms.optimal_gaussian import least_noise, noise_of
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
from distpriv.modelling.utility import Weights, utility_weights
from distpriv.noise.laws import GaussianNoise, NoNoise
from distpriv.progress import Progress, silent

__all__ = ["certified_gaussian"]

NAME, THEOREM = "certified_gaussian", "the exact check"

SLACK = 2e-7
"""The share of δ left for the errors of computing it."""
TINY = 1e-300
LARGEST_SCALE = 2.0**29
STARTS, MANY_STATISTICS = 2, 10
"""How many of the scaled shapes are descended from; with more statistics than these, where that is slow, one."""
FINE, COARSE = (0.0, 1e-6, 1e-5, 1e-4, 1e-3), (10.0, 30.0, 100.0)
UNTIL_CHECKED = (*FINE, *(0.02 * 1.5**k for k in range(15)), *COARSE)
"""By which share variances are widened, in turn, until the exact check passes: the search works with estimates."""


def certified_gaussian(
    model: QueryModel, target: PrivacyTarget, *, weights: Weights = None, progress: Progress = silent
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
    >>> mechanism = dp.mechanisms.certified_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.001))
    >>> mechanism.certificate.holds, mechanism.certificate.trust, round(mechanism.noise.expected_rms, 2)
    (True, 'gaussian', 3.99)
    """
    costs = utility_weights(model, weights)
    radius = gaussian_radius(target, "analytic")
    if not model.floor.any():
        bare = certified(model, target, NoNoise(dimension=model.dimension), name=NAME, theorem=THEOREM)
        if bare.certificate.holds:
            return bare
    plain, made_for = plain_floor(model), cautious(model)
    if plain.error <= LARGEST_SMOOTHING and _search(model, made_for, target, costs, plain).satisfied:
        return _widened(model, target, noise_of(plain.covariance))
    shapes = _shapes(model, radius, costs)
    searches = [_search(model, made_for, target, costs, floor) for floor in _floors(model, target, costs)]
    found = [_least(search, model, shapes, progress) for search in searches]
    felt = [plain.covariance + shape for shape in shapes] if len(searches) > 1 else []
    settled = [
        law for law in (_settled(model, made_for, target, costs, law) for law in found + felt) if law is not None
    ]
    best = min(settled or found, key=lambda covariance: float(costs @ np.diag(covariance)))
    return _widened(model, target, noise_of(best))


def _floors(model: QueryModel, target: PrivacyTarget, costs: Floats) -> list[SmoothFloor]:
    """Return the lowest noise to search above: the model's floor, and a higher one where the lattice matters there.

    `docs/proofs/certified_gaussian.md`, "The search", 2.

    A smoothing error of η lowers the ε that is left by up to 2η, or δ where ε is 0. The higher floor has an η that is
    too small to matter. At the model's own floor η may be larger, and is left out of the search: it falls as noise is
    added, so it is measured, by `_settled`, at the noise that the search ends with.
    """
    plain = plain_floor(model)
    smooth = smooth_floor(model, costs, max(1e-3 * target.delta, min(1e-6, 1e-3 * target.epsilon)))
    if np.array_equal(plain.covariance, smooth.covariance):
        return [smooth]
    return [SmoothFloor(covariance=plain.covariance, smoothed=uncounted(model)), smooth]


def _settled(
    model: QueryModel, made_for: Cautious, target: PrivacyTarget, costs: Floats, covariance: Floats
) -> Floats | None:
    """Return a covariance scaled until it is private with what the lattice costs; None if it never is."""

    def settles(scale: float) -> bool:
        floor = measured(model, scale * covariance)
        return floor.error <= LARGEST_SMOOTHING and _search(model, made_for, target, costs, floor).satisfied

    scale = least_passing(settles, 1.0, 1.0, largest=LARGEST_SCALE, within=1e-5)
    return None if scale == np.inf else scale * covariance


def _least(search: Search, model: QueryModel, shapes: list[Floats], progress: Progress) -> Floats:
    """Return the floor if it is enough, else the best of all shapes and of what is found from the best of them."""
    units = np.outer(*[natural_units(model)] * 2)
    if search.satisfied:
        return np.asarray(search.lowest * units)
    found = search.cheapest(_candidates(search, [shape / units for shape in shapes]))
    descended, starts = [], STARTS if model.dimension <= MANY_STATISTICS else 1
    for k, start in enumerate(found[:starts]):
        progress("descending", k, starts)
        descended.append(search.descended(start))
    progress("descending", starts, starts)
    last = search.lowest + shapes[-1] / units  # where nothing is feasible the certificate will say so
    return np.asarray([*search.cheapest([*found, *descended]), last][0] * units)


def _search(model: QueryModel, made_for: Cautious, target: PrivacyTarget, costs: Floats, floor: SmoothFloor) -> Search:
    """Return the problem in natural units, with ε and δ less what the lattice costs, as a certificate counts it."""
    units, origins = natural_units(model), list(made_for.origins)
    reduced, most = counted(model.protected_pairs, floor.smoothed, target.epsilon)
    left = target.delta / most + np.expm1(np.minimum(0.0, reduced))
    scale, pairs = np.outer(units, units), made_for.model.protected_pairs
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


def _widened(model: QueryModel, target: PrivacyTarget, noise: GaussianNoise) -> AdditiveMechanism:
    """Return the mechanism, with noise wider by as little as the exact check on the model as it is asks for."""
    # Very strong noise along some axes may cost the floor its digits along the others: these get them back, and a hair.
    axes = completed(noise.axes)
    least = model.floor**2 @ axes**2
    variances = np.append(noise.variances, least[len(noise.variances) :])
    hairs = (GaussianNoise(axes=axes, variances=variances + more * least) for more in UNTIL_CHECKED)
    noise = next((law for law in hairs if covers_floor(model, law)), noise)
    wider = [GaussianNoise(axes=noise.axes, variances=noise.variances * (1 + more)) for more in UNTIL_CHECKED]
    passes = (law for law in wider if moments_delta(model, target, law) <= target.delta)
    return certified_against_rows(model, target, next(passes, noise), name=NAME, theorem=THEOREM)
