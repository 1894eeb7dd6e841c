"""The least noise that smooths the lattice of every scenario well enough for the exact check to count on it."""

from collections.abc import Mapping

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.guarantees.certify import LARGEST_SMOOTHING
from distpriv.guarantees.lattice_floor import Smoothing, smoothing
from distpriv.mechanisms.search.least_majorant import least_majorant
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import GaussianNoise

__all__ = ["SmoothFloor", "measured", "natural_units", "plain_floor", "smooth_floor", "uncounted"]

COARSER = (1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0, 100.0)
"""How many steps squared the noise has along the lattice, in turn, until that is smooth enough."""

HAIR = 1e-6
"""The noise of a statistic without a floor, as a share of its size: noise must leave no direction bare."""


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
    >>> found = plain_floor(model)
    >>> found.covariance, found.error < 1e-8
    (array([[1.]]), True)
    """
    return measured(model, np.diag(_deviations(model) ** 2))


def smooth_floor(model: QueryModel, costs: Floats, error: float) -> SmoothFloor:
    """Return the least noise, by its weighted trace and up to a factor, with a smoothing error of at most `error`.

    Where statistics are tied together their lattice is coarser than each of them alone, but only across the tie: the
    noise is the least that covers both the floor and, in a short basis B, a multiple of BBᵀ. If no noise is so smooth,
    ten times the error will do, and so on; if none smooths the lattice at all, it is the model's floor, uncounted.
    """
    floor = _deviations(model)
    lattices = {law.lattice.tobytes(): law.lattice for law in model.distributions.values() if law.lattice is not None}
    ties = [basis @ basis.T for basis in (_shortened(lattice, floor) for lattice in lattices.values())]
    coarser = [plain_floor(model)]
    for times in COARSER[1:]:
        if coarser[-1].error <= error:
            break
        # S ⪰ t diag(h²) and S ⪰ t BBᵀ for every lattice's short basis B.
        above = np.array([times * np.diag(floor**2), *(times * tie for tie in ties)])
        coarser.append(measured(model, least_majorant(costs, above) if ties else above[0]))
    while error <= LARGEST_SMOOTHING:
        for found in coarser:
            if found.error <= error:
                return found
        error = min(10 * error, LARGEST_SMOOTHING) if error < LARGEST_SMOOTHING else np.inf
    return SmoothFloor(covariance=coarser[0].covariance, smoothed=uncounted(model))


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
    return np.asarray(np.where(model.floor > 0, model.floor, HAIR * natural_units(model)))


def measured(model: QueryModel, covariance: Floats) -> SmoothFloor:
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
