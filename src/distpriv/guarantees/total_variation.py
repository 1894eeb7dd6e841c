r"""A bound on the total variation distance under Laplace noise, alone or with Gaussian noise: what an attacker can do.

At ε = 0 the two steps of `upper_bound` gain nothing by carrying a shift at no cost in δ, since every shift costs some.
But a shift by noise that is known has a known distance, and distances add up:

.. math:: \mathrm{TV}(P, R) ≤ \mathrm{TV}(P, M) + \mathrm{TV}(M, R),

M with R's covariance and P's mean as far as the axes carry it. The first is the change of covariance of `upper_bound`,
at ε = 0. The second, along one axis, is :math:`\Pr[|X| ≤ α/2]` with X the Laplace noise and what the attacker does not
know along it, whose law is symmetric and unimodal; along several, at most :math:`1 - e^{-ε₁/2}`.
"""

import math

import numpy as np
from scipy.special import erfcx, ndtr

from distpriv.guarantees.exact_delta import exact_delta
from distpriv.guarantees.line_bound import LineNoise
from distpriv.guarantees.two_steps import TwoSteps, estimates
from distpriv.guarantees.upper_bound import bound_by, coarsest_bounds
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import Noise

__all__ = ["modelled_total_variation", "normal_laplace_tail", "total_variation_upper_bound"]


def modelled_total_variation(model: QueryModel, noise: Noise) -> float:
    """Return H_0 of the worst pair, f_θ taken as Gaussian: exact or, with other noise, a bound."""
    if noise.is_gaussian:
        return exact_delta(model, noise, epsilon=0.0)
    return total_variation_upper_bound(model, noise)


def total_variation_upper_bound(model: QueryModel, noise: Noise) -> float:
    """Return a proven upper bound on the total variation distance of the worst pair, f_θ taken as Gaussian.

    >>> from distpriv.modelling.given import gaussian_model
    >>> from distpriv.noise.laws import LaplaceNoise
    >>> model = gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1e-12]], pairs=[("a", "b")])
    >>> round(total_variation_upper_bound(model, LaplaceNoise.isotropic(1, 1.0)), 6) == round(1 - math.exp(-0.5), 6)
    True
    """
    line = LineNoise.of(noise)
    if line is not None and (found := line.worst_pair(model, lambda _: (0.0, 1.0))[1]) < 1:
        return found
    pairs = list({frozenset(pair): pair for pair in model.protected_pairs}.values())
    steps = [TwoSteps.of(model, pair, noise) for pair in pairs]
    ways = [step.change_of_covariance() for step in steps]
    shifts = [_shift_distance(step) for step in steps]
    roughly, coarse = estimates(steps, ways) + shifts, coarsest_bounds(steps, ways) + shifts
    most = 0.0
    for k in np.argsort(-roughly):
        if coarse[k] <= most:
            continue
        changed = bound_by(steps[k], ways[k], max(0.0, most - shifts[k]))
        most = max(most, min(1.0, shifts[k] + changed))
    return most


def _shift_distance(step: TwoSteps) -> float:
    """Return a bound on TV(M, R), rounded up."""
    along = -math.expm1(-step.cost / 2)
    if step.count == 1 and step.own > 0:
        scale = float(np.linalg.norm(step.loadings)) / math.sqrt(2)
        along = min(along, 1 - 2 * normal_laplace_tail(step.cost * scale / 2, step.own, scale))
    return min(1.0, max(0.0, along) + 1e-12) if step.cost else 0.0


def normal_laplace_tail(x: float, deviation: float, scale: float) -> float:
    r"""Return Pr[X > x], x ≥ 0, for X ~ N(0, s²) + Lap(b).

    :math:`Φ(-x/s) + \frac12 (e^{s²/2b² - x/b} Φ(x/s - s/b) - e^{s²/2b² + x/b} Φ(-x/s - s/b))`.

    >>> normal_laplace_tail(0.0, 2.0, 3.0), round(normal_laplace_tail(1.0, 1e-9, 1.0) * 2 * math.e, 9)
    (0.5, 1.0)
    """
    z, inside = x / deviation, deviation / scale
    normal = math.exp(-z * z / 2) / 2
    near = (
        normal * float(erfcx((inside - z) / math.sqrt(2)))
        if inside >= z
        else math.exp(inside * (inside / 2 - z)) * float(ndtr(z - inside))
    )
    return float(ndtr(-z)) + (near - normal * float(erfcx((inside + z) / math.sqrt(2)))) / 2
