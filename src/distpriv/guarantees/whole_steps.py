"""What it costs that statistics are released in whole steps: sums in place of integrals.

Of a Gaussian profile g on multiples of h, a cell's variance h²/12 is taken: rounded to cells, the law that is left has
the mean r of its density over a cell, and tells no more than it does unrounded. How far g and r are apart follows from
s, the slope of the logarithm of the density across a cell (`docs/proofs/own_lattice.md`, "Sums in place of integrals").
"""

import math

import numpy as np
from attrs import evolve, frozen
from scipy.special import chdtri

from distpriv.framework.arrays import Floats
from distpriv.framework.secrets import Pair
from distpriv.guarantees.exact_delta import pair_deltas
from distpriv.guarantees.lattice_floor import UNSMOOTHED, Smoothing, counted, covers_floor, smoothing
from distpriv.guarantees.lattice_sums import lattice_sum
from distpriv.modelling.model import QueryDistribution, QueryModel
from distpriv.noise.laws import GaussianNoise, RoundedNoise

__all__ = ["LEAST_DEVIATION", "Whole", "in_whole_steps", "less_a_cell", "worst_in_whole_steps"]

LEAST_DEVIATION = 2.0
"""A statistic that varies by fewer steps than this, all others being known, is not fine against its lattice."""

SHARE_OUTSIDE = 1e-4
"""Which share of δ may lie where the slope is not bounded."""

NODES, SLOPES = 24, 200
"""Points of a quadrature over a cell, and slopes at which the two laws are compared."""

BETWEEN = 1.01
"""By which factor the logarithm of a ratio may be larger between two of these slopes."""


@frozen(kw_only=True, eq=False)
class Whole:
    """What whole steps cost in every scenario: factors of the continuous densities, and a δ beside them."""

    smoothed: dict[str, Smoothing]
    outside: float

    @property
    def error(self) -> float:
        """How far the worst factor is from 1."""
        return max(found.error for found in self.smoothed.values())


def in_whole_steps(model: QueryModel, noise: RoundedNoise, delta: float) -> Whole:
    """Return what it costs that some statistics are released in whole steps, with other noise as it is.

    Whole statistics are those on which noise is narrow, and δ is what all of it is held against.
    """
    reach = math.sqrt(chdtri(model.dimension, SHARE_OUTSIDE * delta / 2))
    smoothed = {name: _factors(model, law, noise, reach) for name, law in model.distributions.items()}
    return Whole(smoothed=smoothed, outside=SHARE_OUTSIDE * delta)


def less_a_cell(model: QueryModel, noise: RoundedNoise) -> QueryModel:
    """Return the model with the variance of an even law on a cell taken from that of whole statistics."""
    cell = np.diag(np.where(noise.narrow, noise.steps**2 / 12, 0.0))
    laws = {name: evolve(law, covariance=law.covariance - cell) for name, law in model.distributions.items()}
    return evolve(model, distributions=laws)


def worst_in_whole_steps(
    model: QueryModel, noise: RoundedNoise, epsilon: float, whole: Whole | None = None
) -> tuple[Pair, float]:
    """Return the ordered pair with the largest δ by moments, and that δ; with what whole steps cost, if given."""
    pairs, credited = model.protected_pairs, noise.credited
    if whole is None:
        deltas = pair_deltas(model, pairs, credited, epsilon)
    else:
        reduced, most = counted(pairs, whole.smoothed, epsilon)
        left, missing = np.maximum(0.0, reduced), -np.expm1(np.minimum(0.0, reduced))
        deltas = most * (pair_deltas(less_a_cell(model, noise), pairs, credited, left) + missing)
        deltas = np.minimum(1.0, deltas + whole.outside)
    return pairs[int(deltas.argmax())], float(deltas.max())


def _factors(model: QueryModel, law: QueryDistribution, noise: RoundedNoise, reach: float) -> Smoothing:
    """Return between which factors of the continuous density that in whole steps is."""
    whole, noisy = np.flatnonzero(noise.narrow), np.flatnonzero(~noise.narrow)
    steps = noise.steps[whole]
    covariance = law.covariance + noise.credited.covariance
    less = covariance.copy()
    less[whole, whole] -= steps**2 / 12
    try:
        np.linalg.cholesky(less)
        known = np.linalg.solve(law.covariance[np.ix_(whole, whole)], law.covariance[np.ix_(whole, noisy)])
    except np.linalg.LinAlgError:
        return UNSMOOTHED
    precision = np.linalg.inv(less)
    if (np.diag(precision)[whole] * steps**2 > LEAST_DEVIATION**-2).any():
        return UNSMOOTHED
    others = _smoothed_others(model, law, noise, law.covariance[np.ix_(noisy, whole)] @ known)
    sums = lattice_sum(law.covariance[np.ix_(whole, whole)] / np.outer(steps, steps))
    if others is UNSMOOTHED or sums >= 1:
        return UNSMOOTHED
    stretch = math.sqrt(float(np.linalg.eigvals(precision @ covariance).real.max()))
    low, high = _cells(precision[np.ix_(whole, whole)] * np.outer(steps, steps), reach * stretch)
    return Smoothing(least=others.least / (1 + sums) * math.exp(-low), most=others.most / (1 - sums) * math.exp(high))


def _smoothed_others(model: QueryModel, law: QueryDistribution, noise: RoundedNoise, known: Floats) -> Smoothing:
    """Return how noise smooths the lattice of the other statistics, those in whole steps being known."""
    noisy = np.flatnonzero(~noise.narrow)
    if not len(noisy):
        return Smoothing(least=1.0, most=1.0)
    block = np.ix_(noisy, noisy)
    alone = evolve(
        model,
        names=tuple(model.names[k] for k in noisy),
        distributions={
            name: QueryDistribution(mean=of.mean[noisy], covariance=of.covariance[block])
            for name, of in model.distributions.items()
        },
        steps=model.steps[noisy],
        record_sensitivities=model.record_sensitivities[noisy],
    )
    added = GaussianNoise(axes=noise.credited.axes[noisy], variances=noise.credited.variances)
    left = QueryDistribution(mean=law.mean[noisy], covariance=law.covariance[block] - known)
    return smoothing(alone, left, added) if covers_floor(alone, added) else UNSMOOTHED


def _cells(precision: Floats, reach: float) -> tuple[float, float]:
    """Return bounds on the logarithm of how far r is above g, and below it, all whole statistics together.

    One statistic after the other has its even law exchanged for a Gaussian; the others may be anywhere in their cell.
    """
    curvatures = np.diag(precision)
    moved = (np.abs(precision).sum(axis=1) - curvatures) / 2
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    low = high = 0.0
    for curvature, farthest in zip(curvatures, reach * np.sqrt(curvatures) + moved, strict=True):
        slopes = np.linspace(0.0, farthest, SLOPES)[:, np.newaxis]
        even = np.exp(slopes * nodes / 2 - curvature * nodes**2 / 8) @ weights / 2
        normal = slopes[:, 0] ** 2 / (24 * (1 + curvature / 12)) - math.log1p(curvature / 12) / 2
        ratios = normal - np.log(even)
        low, high = low + max(0.0, -float(ratios.min())), high + max(0.0, float(ratios.max()))
    return BETWEEN * low, BETWEEN * high
