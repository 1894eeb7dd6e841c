"""The least noise to search above: it covers the floor, smooths the lattice of every scenario, and is counted."""

from collections.abc import Mapping
from typing import Final

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats, completed
from distpriv.framework.bisection import first_passing, least_passing
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import LARGEST_SMOOTHING, moments_delta
from distpriv.guarantees.lattice_floor import Smoothing, counted, covers_floor, has_rows, smoothing
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.reference_sample import Cautious
from distpriv.guarantees.repair import certified_against_rows
from distpriv.mechanisms.search.gaussian_constraints import GaussianConstraints
from distpriv.mechanisms.search.semidefinite import small_majorant
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import GaussianNoise

__all__ = [
    "SmoothFloor",
    "floors_to_search",
    "natural_units",
    "plain_floor",
    "private_noise",
    "settled",
    "smooth_floor",
    "uncounted",
    "widened_until_checked",
]


@frozen(kw_only=True)
class FloorSettings:
    """How floors are made, and how far noise that a search ends with is widened until it is checked."""

    coarser: tuple[float, ...] = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0, 100.0)
    """How many steps squared the noise has along the lattice, in turn, until that is smooth enough."""
    hair: float = 1e-6
    """The noise of a statistic without a floor, as a share of its size: noise must leave no direction bare."""
    slack: float = 2e-7
    """The share of δ left for the errors of computing it."""
    least_delta: float = 1e-300
    """What is left of δ counts as this at least."""
    largest_scale: float = 2.0**29
    """Noise is not scaled by more until it is private."""
    widenings: tuple[float, ...] = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, *(0.02 * 1.5**k for k in range(15)), 10.0, 30.0, 100.0)
    """By which share variances are widened, in turn, until the exact check passes: the search works with estimates."""


SETTINGS: Final = FloorSettings()


@frozen(kw_only=True, eq=False)
class SmoothFloor:
    """A covariance of noise, and the factors that the lattice of each scenario costs with that noise or more."""

    covariance: Floats
    smoothed: Mapping[str, Smoothing]

    @property
    def error(self) -> float:
        """How far the worst factor is from 1."""
        return max(law.error for law in self.smoothed.values())


def plain_floor(model: QueryModel) -> SmoothFloor:
    """Return the model's floor itself, with a hair of noise where it has none.

    >>> from distpriv.modelling.given import gaussian_model
    >>> model = gaussian_model(means={"a": [0], "b": [1]}, covariances=[[400]], pairs=[("a", "b")], steps=[1])
    >>> floor = plain_floor(model)
    >>> floor.covariance, floor.error < 1e-8
    (array([[1.]]), True)
    """
    return _measured(model, np.diag(_deviations(model) ** 2))


def smooth_floor(model: QueryModel, costs: Floats, error: float) -> SmoothFloor:
    """Return the least noise, by its weighted trace and up to a factor, with a smoothing error of at most `error`.

    Where statistics are tied together their lattice is coarser than each of them alone, but only across the tie: the
    noise is small and covers both the floor and, in a short basis B, a multiple of BBᵀ. If no noise is so smooth, it is
    the smoothest of them; if none smooths the lattice at all, it is the model's floor, uncounted.
    """
    deviations = _deviations(model)
    lattices = {law.lattice.tobytes(): law.lattice for law in model.distributions.values() if law.lattice is not None}
    ties = [basis @ basis.T for basis in (_shortened(lattice, deviations) for lattice in lattices.values())]
    floors = [plain_floor(model)]
    for times in SETTINGS.coarser:
        if floors[-1].error <= error:
            return floors[-1]
        # S ⪰ t diag(h²) and S ⪰ t BBᵀ for every lattice's short basis B.
        above = np.array([times * np.diag(deviations**2), *(times * tie for tie in ties)])
        floors.append(_measured(model, small_majorant(costs, above)))
    smoothest = min(floors, key=lambda floor: floor.error)
    if smoothest.error <= LARGEST_SMOOTHING:
        return smoothest
    return SmoothFloor(covariance=floors[0].covariance, smoothed=uncounted(model))


def uncounted(model: QueryModel) -> dict[str, Smoothing]:
    """Return no cost of the lattice at all, for every scenario."""
    return dict.fromkeys(model.distributions, Smoothing(least=1.0, most=1.0))


def natural_units(model: QueryModel) -> Floats:
    """Return the size of each statistic: its deviation and the farthest its mean moves, and never 0."""
    laws = model.distributions.values()
    spread = np.max([np.diag(law.covariance) for law in laws], axis=0)
    moved = np.max([model.mean_shift(pair) ** 2 for pair in model.protected_pairs], axis=0)
    sizes = np.maximum(np.sqrt(spread + moved), model.steps)
    means = np.max([np.abs(law.mean) for law in laws], axis=0)
    return np.asarray(np.where(sizes > 0, sizes, np.where(means > 0, means, 1.0)))


def _deviations(model: QueryModel) -> Floats:
    return np.asarray(np.where(model.floor > 0, model.floor, SETTINGS.hair * natural_units(model)))


def _measured(model: QueryModel, covariance: Floats) -> SmoothFloor:
    """Return a covariance with what the lattices cost with that noise."""
    noise = GaussianNoise.of(covariance)
    smoothed = {name: smoothing(model, law, noise) for name, law in model.distributions.items()}
    return SmoothFloor(covariance=covariance, smoothed=smoothed)


def _shortened(basis: Floats, units: Floats) -> Floats:
    """Return a basis of the same lattice with shorter columns, in units of the floor."""
    short = np.array(basis)
    for _ in range(100):
        changed = False
        for i in range(short.shape[1]):
            for j in range(short.shape[1]):
                one, other = short[:, i] / units, short[:, j] / units
                times = np.round(one @ other / (other @ other)) if i != j and other.any() else 0.0
                if times and np.linalg.norm(one - times * other) < np.linalg.norm(one) * (1 - 1e-9):
                    short[:, i] -= times * short[:, j]
                    changed = True
        if not changed:
            break
    return short


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


def private_noise(made_for: Cautious, target: PrivacyTarget, costs: Floats, floor: SmoothFloor) -> GaussianConstraints:
    """Return the problem in natural units, with ε and δ less what the lattice costs, as a certificate counts it.

    Noise is looked for that hides the pairs of all populations that a reference may be a sample of.
    """
    model, pairs, origins = made_for.origin, made_for.model.protected_pairs, list(made_for.origins)
    units = natural_units(model)
    reduced, most = counted(model.protected_pairs, floor.smoothed, target.epsilon)
    left = target.delta / most + np.expm1(np.minimum(0.0, reduced))
    scale = np.outer(units, units)
    covariances = {name: law.covariance / scale for name, law in made_for.model.distributions.items()}
    return GaussianConstraints(
        costs=costs * units**2 / (costs * units**2).max(),
        lowest=floor.covariance / scale,
        epsilons=np.maximum(0.0, reduced)[origins],
        deltas=(np.maximum(left, SETTINGS.least_delta) * (1 - SETTINGS.slack))[origins],
        shifts=np.array([made_for.model.mean_shift(pair) / units for pair in pairs]),
        firsts=np.array([covariances[first] for first, _ in pairs]),
        seconds=np.array([covariances[second] for _, second in pairs]),
    )


def settled(made_for: Cautious, target: PrivacyTarget, costs: Floats, covariance: Floats) -> Floats | None:
    """Return a covariance scaled until it is private with what the lattice costs; None if it never is."""

    def settles(scale: float) -> bool:
        floor = _measured(made_for.origin, scale * covariance)
        return floor.error <= LARGEST_SMOOTHING and private_noise(made_for, target, costs, floor).satisfied

    scale = least_passing(settles, 1.0, 1.0, largest=SETTINGS.largest_scale, within=1e-5)
    return None if scale == np.inf else scale * covariance


def widened_until_checked(
    model: QueryModel, target: PrivacyTarget, noise: GaussianNoise, *, name: str, theorem: str
) -> AdditiveMechanism:
    """Return the mechanism, with noise wider by as little as the exact check on the model as it is asks for."""
    # Very strong noise along some axes may cost the floor its digits along the others: these get them back, and a hair.
    axes = completed(noise.axes)
    least = model.floor**2 @ axes**2
    variances = np.append(noise.variances, least[len(noise.variances) :])
    hairs = (GaussianNoise(axes=axes, variances=variances + more * least) for more in SETTINGS.widenings)
    noise = next((law for law in hairs if covers_floor(model, law)), noise)
    if has_rows(model):
        return certified_against_rows(model, target, noise, name=name, theorem=theorem)
    wider = [GaussianNoise(axes=noise.axes, variances=noise.variances * (1 + more)) for more in SETTINGS.widenings]
    enough = first_passing(wider, lambda law: moments_delta(model, target, law) <= target.delta)
    return certified_against_rows(model, target, enough or noise, name=name, theorem=theorem)
