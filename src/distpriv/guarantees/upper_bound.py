r"""Bounds on δ for noise that is not Gaussian, with f_θ Gaussian and the covariances as they are.

Noise along one line has its own δ (`line_bound`). Laplace noise along axes v_k with scales b_k hides the share t of a
shift d = Σ_k c_k v_k at t ε₁, ε₁ = Σ_k |c_k| / b_k, and the rest of the way from θ_i to θ_j is a change of covariance
and of what is left of the mean:

.. math:: H_ε(P \| R) ≤ H_{ε - a}(P \| M_t) + (1 - e^{(ε - tε₁)/2})^+, \qquad a = \min(ε, tε₁).

Lap(b) is a Gaussian whose variance is exponential with mean 2b², so by joint convexity the first term is at most the
mean of a divergence of Gaussians, which decreases in every variance. The least of q standard exponentials is an
exponential with mean 1/q, and the mean is at most its upper sum (`docs/proofs/laplace_bound.md`).
"""

import math

import numpy as np

from distpriv.distances.gaussian_divergence import gaussian_hockey_sticks
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats, completed
from distpriv.framework.domains import real
from distpriv.framework.scenarios import Pair
from distpriv.guarantees.exact_delta import exact_delta
from distpriv.guarantees.line_bound import AtPair, LineNoise, worst_by
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel, require_model
from distpriv.noise.laws import Noise

__all__ = ["delta_lower_bound", "delta_upper_bound", "laplace_bound", "worst_pair_upper_bound"]

SHARES = np.array([1.0, 0.98, 0.95, 0.9, 0.8, 0.65, 0.4, 0.0])
"""Which shares of the shift the Laplace noise is tried to carry, and of what it carries free; any gives a bound."""

COARSE, FINE = 8, 64
"""How many terms the upper sum has."""

ROUNDING = 1e-14
"""A part of a shift that is smaller than this share of what it was computed from is rounding."""


def delta_upper_bound(model: QueryModel, mechanism: AdditiveMechanism | Noise, *, epsilon: float) -> float:
    """Return a proven upper bound on δ with f_θ Gaussian, covariances as they are; exact for Gaussian noise.

    Args:
        model: the model of the statistics.
        mechanism: a mechanism, or a law of noise of any kind.
        epsilon: ε ≥ 0; at 0 the bound is on the total variation distance.

    >>> import distpriv as dp
    >>> from distpriv.noise.laws import LaplaceNoise
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> delta_upper_bound(model, LaplaceNoise.isotropic(1, 1.0), epsilon=1.0)
    0.0
    >>> round(delta_upper_bound(model, LaplaceNoise.isotropic(1, 1.0), epsilon=0.5), 3)
    0.09
    """
    noise = mechanism.noise if isinstance(mechanism, AdditiveMechanism) else mechanism
    if noise.is_gaussian:
        return exact_delta(model, noise, epsilon=epsilon)
    require_model(model)
    epsilon = real("epsilon", epsilon, InvalidInput, at_least=0, cure="at 0 the bound is on the total variation")
    return worst_pair_upper_bound(model, noise, lambda _: (epsilon, 1.0))[1]


def worst_pair_upper_bound(model: QueryModel, noise: Noise, at: AtPair) -> tuple[Pair, float]:
    """Return the ordered pair with the largest bound, and that bound.

    Every pair has an ε of its own and a factor for its divergence, by `at`.
    """
    line = LineNoise.of(noise)
    if line is not None:
        pair, delta = line.worst_pair(model, at)
        if delta < 1 or not noise.is_sum_of_parts:
            return pair, delta
    return worst_by(
        model.protected_pairs,
        at,
        coarse=lambda pair, epsilon: laplace_bound(model, pair, noise, epsilon, COARSE),
        fine=lambda pair, epsilon: laplace_bound(model, pair, noise, epsilon, FINE),
    )


def laplace_bound(model: QueryModel, pair: Pair, noise: Noise, epsilon: float, terms: int = COARSE) -> float:
    """Return a bound on H_ε of a pair under Laplace noise along any axes, and Gaussian noise."""
    wide = noise.laplace_scales > 0
    axes, scales = noise.laplace_axes[:, wide], noise.laplace_scales[wide]
    orthonormal = len(axes) >= len(scales) and np.abs(axes.T @ axes - np.eye(len(scales))).max(initial=0) < 1e-9
    frame = completed(axes) if orthonormal else np.eye(len(axes))
    within = np.eye(*axes.shape) if orthonormal else axes
    given = model.mean_shift(pair)
    shift = frame.T @ given
    shift = np.where(np.abs(shift) <= ROUNDING * (np.abs(frame).T @ np.abs(given)), 0.0, shift)
    parts = shift[: len(scales)] if orthonormal else np.linalg.pinv(axes) @ given
    carried, cost = within @ parts, float(np.abs(parts / scales).sum())
    free = 1.0 if cost <= epsilon * (1 + 1e-12) else epsilon / cost
    shares = np.unique(np.concatenate([SHARES, free * SHARES]) if cost else SHARES[:1])
    moved = np.where(shares <= free, 0.0, -np.expm1(np.minimum(epsilon - shares * cost, 0.0) / 2))
    rests = shift - shares[:, np.newaxis] * carried
    rests = np.where(np.abs(rests) <= ROUNDING * (np.abs(shift) + np.abs(carried)), 0.0, rests)
    gaussian = noise.gaussian.covariance
    first, second = (frame.T @ (model.distributions[name].covariance + gaussian) @ frame for name in pair)
    loadings = math.sqrt(2) * within * scales
    quantiles = (np.arange(terms) / terms) ** 3
    least = -np.log1p(-quantiles) / max(len(scales), 1)
    wider = least[:, np.newaxis, np.newaxis] * (loadings @ loadings.T)
    changed = gaussian_hockey_sticks(
        np.repeat(np.maximum(epsilon - shares * cost, 0.0), terms),
        np.repeat(rests, terms, axis=0),
        *(np.tile((of + of.T) / 2 + wider, (len(shares), 1, 1)) for of in (first, second)),
    )
    means = changed.upper_bound.reshape(len(shares), terms) @ np.diff(quantiles, append=1.0)
    same = np.array_equal(first, second) & ~rests.any(axis=1)
    return min(1.0, float((np.where(same, 0.0, means) + moved).min()))


def delta_lower_bound(model: QueryModel, noise: Noise, *, epsilon: float) -> float:
    """Return a lower bound on δ with f_θ Gaussian: the exact δ of what the noise leaves bare.

    An attacker may look at the directions without noise alone, where both laws are Gaussian.
    """
    bare = _complement(noise.axes[:, noise.widths > 0])
    if bare.shape[1] == 0:
        return 0.0
    laws = [[model.distributions[name] for name in pair] for pair in model.protected_pairs]
    moved = [p.mean - q.mean for p, q in laws]
    shifts = [np.where(np.abs(bare.T @ d) <= ROUNDING * np.linalg.norm(d), 0.0, bare.T @ d) for d in moved]
    covariances = ([bare.T @ both[k].covariance @ bare for both in laws] for k in (0, 1))
    found = gaussian_hockey_sticks(epsilon, shifts, *covariances)
    return max(0.0, float((found.value - found.error).max()))


def _complement(axes: Floats) -> Floats:
    """Return orthonormal columns that span what is orthogonal to the axes."""
    return np.asarray(np.linalg.qr(axes, mode="complete")[0][:, axes.shape[1] :])
