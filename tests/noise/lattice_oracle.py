"""The laws of noise on a lattice, written down anew and summed directly."""

import math
from collections import Counter

import numpy as np
from scipy import stats
from scipy.special import log_ndtr

from distpriv.framework.arrays import Floats
from distpriv.noise.dyadic import Dyadic, nearest
from distpriv.noise.integers import IntegerGaussian, IntegerLaplace, IntegerNoise
from distpriv.noise.lattice import LatticeNoise

SIGNIFICANCE = 1e-9
"""OpenDP and the operating system take no seed: a right sampler fails one of these tests once in many million runs."""

LEAST_EXPECTED = 25.0
"""Cells with fewer draws are pooled: the χ² law is no guide to the far tail of small counts."""


def window(noise: IntegerNoise) -> Floats:
    """Whole numbers that hold all of the noise but far less than 10⁻¹⁵ of it."""
    if isinstance(noise, IntegerGaussian):
        far = 13 * noise.scale
    elif isinstance(noise, IntegerLaplace):
        far = 60 * noise.scale
    else:
        far = float(np.abs(noise.edges).max())
    return np.arange(-math.ceil(far) - 4, math.ceil(far) + 5, dtype=np.float64)


def log_masses(noise: IntegerNoise, numbers: Floats) -> Floats:
    """The logarithm of Pr[N = n]."""
    if isinstance(noise, IntegerLaplace):
        return np.asarray(math.log(math.tanh(1 / (2 * noise.scale))) - np.abs(numbers) / noise.scale)
    if isinstance(noise, IntegerGaussian):
        exponents = -(numbers**2) / (2 * noise.scale**2)
        return np.asarray(exponents - math.log(np.exp(-(window(noise) ** 2) / (2 * noise.scale**2)).sum()))
    return log_rounded_masses(noise, 0.0, numbers)


def log_rounded_masses(noise: IntegerNoise, shift: float, numbers: Floats) -> Floats:
    """The logarithm of Pr[round(shift + Y) = n], Y being the continuous noise that N stands for."""
    left, right = numbers - 0.5 - shift, numbers + 0.5 - shift
    if isinstance(noise, IntegerLaplace):
        return np.array([_laplace_log_mass(a / noise.scale, b / noise.scale) for a, b in zip(left, right, strict=True)])
    if isinstance(noise, IntegerGaussian):
        # Both ends on the side of 0 where Φ is small keep their digits.
        a, b = (
            np.where(left + right > 0, -right, left) / noise.scale,
            np.where(left + right > 0, -left, right) / noise.scale,
        )
        return np.asarray(log_ndtr(b) + np.log(-np.expm1(log_ndtr(a) - log_ndtr(b))))
    heights = noise.masses / noise.masses.sum() / np.diff(noise.edges)
    overlap = np.minimum(right[:, None], noise.edges[1:]) - np.maximum(left[:, None], noise.edges[:-1])
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(0.0, overlap) @ heights))


def _laplace_log_mass(left: float, right: float) -> float:
    if left < 0 < right:
        return math.log(-math.expm1(left) / 2 - math.expm1(-right) / 2)
    nearer = min(abs(left), abs(right))
    return -nearer + math.log(-math.expm1(left - right) / 2)


def cells_on_a_line(lattice: LatticeNoise, value: float, cells: Floats) -> Floats:
    """Pr[cell] for a release of one statistic, by summing over all that the other parts may be."""
    base = lattice.base.coordinates[0]
    places = {_cell(lattice, value, ()): 1.0}
    for part in lattice.others:
        numbers = window(part.coordinates[0])
        masses = np.exp(log_masses(part.coordinates[0], numbers))
        places = {}
        for number, mass in zip(numbers, masses, strict=True):
            place = _cell(lattice, value, (part.axes[0, 0], part.steps[0], number))
            places[place] = places.get(place, 0.0) + mass
    return np.asarray(sum(mass * np.exp(log_masses(base, cells - place)) for place, mass in places.items()))


def _cell(lattice: LatticeNoise, value: float, added: tuple[float, ...]) -> int:
    moved = Dyadic.of([value]) + Dyadic.of([math.prod(added) if added else 0.0])
    return int(nearest(lattice.frame.inward @ moved, Dyadic.of(lattice.steps))[0])


def hockey_stick(epsilon: float, first: Floats, second: Floats) -> float:
    """Σ (p − e^ε q)₊."""
    return float(np.maximum(0.0, first - math.exp(epsilon) * second).sum())


def goodness_of_fit(counts: Counter[int], cells: Floats, probabilities: Floats) -> float:
    """The p-value of the hypothesis that the counts were drawn with these probabilities."""
    observed = np.array([counts[int(cell)] for cell in cells], dtype=np.float64)
    draws = counts.total()
    assert observed.sum() == draws, "a draw fell outside all cells"
    order = np.argsort(probabilities)
    pools = np.cumsum(probabilities[order]) * draws < LEAST_EXPECTED
    first = int(pools.sum()) + 1
    while first < len(cells) and probabilities[order][first] * draws < LEAST_EXPECTED:
        first += 1
    table = [
        np.append(numbers[order][:first].sum(), numbers[order][first:]) for numbers in (observed, probabilities * draws)
    ]
    return float(stats.chisquare(table[0], table[1] * draws / table[1].sum()).pvalue)
