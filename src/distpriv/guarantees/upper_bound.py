r"""Bounds on δ for noise that is not Gaussian.

Laplace noise along axes v_k hides a shift inside their span at ε₁ = Σ_k |v_kᵀd| / b_k, and the rest of the way from
θ_i to θ_j is a change of covariance (and a shift off the axes):

.. math:: H_{ε₁+ε₂}(P \| R) ≤ H_{ε₂}(P \| M) + e^{ε₂} H_{ε₁}(M \| R), \qquad H_{ε₁}(M \| R) = 0.

Lap(b) is a Gaussian whose variance τ is exponential with mean 2b², so by joint convexity the first term is at most the
mean over τ of a divergence of Gaussians. That one decreases in every τ_k, and all τ_k are at least T · 2b_k², with
T the least of r standard exponentials: a left Riemann sum over T is a bound.
"""

import numpy as np

from distpriv.distances.gaussian_divergence import gaussian_hockey_stick
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import real
from distpriv.framework.secrets import Pair
from distpriv.guarantees.exact_delta import exact_delta
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.unimodal_bound import unimodal_pair_delta
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import LaplaceNoise, NoiseLaw, UnimodalNoise

__all__ = ["delta_lower_bound", "delta_upper_bound"]

ROUNDING = 1e-14
"""A part of a shift that is smaller than this share of what it was computed from is rounding."""

LEVELS = 40
"""How many pieces the law of T is cut into, all equally likely."""


def delta_upper_bound(model: QueryModel, mechanism: AdditiveMechanism | NoiseLaw, *, epsilon: float) -> float:
    """Return a proven upper bound on δ with f_θ Gaussian, covariances as they are; exact for Gaussian noise.

    >>> from distpriv.modelling.model import gaussian_model
    >>> model = gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> delta_upper_bound(model, LaplaceNoise.isotropic(1, 1.0), epsilon=1.0)
    0.0
    """
    noise = mechanism.noise if isinstance(mechanism, AdditiveMechanism) else mechanism
    if not isinstance(noise, LaplaceNoise | UnimodalNoise):
        return exact_delta(model, noise, epsilon=epsilon)
    epsilon = real("epsilon", epsilon, InvalidInput, at_least=0, cure="at 0 the bound is on the total variation")
    if isinstance(noise, UnimodalNoise):
        return max(unimodal_pair_delta(model, pair, noise, epsilon) for pair in model.protected_pairs)
    return max(_two_steps(model, pair, noise, epsilon) for pair in model.protected_pairs)


def delta_lower_bound(model: QueryModel, noise: LaplaceNoise | UnimodalNoise, *, epsilon: float) -> float:
    """Return a lower bound on δ with f_θ Gaussian: the exact δ of what the noise leaves bare.

    An attacker may look at the directions without noise alone, where both laws are Gaussian.
    """
    bare = _complement(noise.axes[:, noise.scales > 0] if isinstance(noise, LaplaceNoise) else noise.axes)
    if bare.shape[1] == 0:
        return 0.0
    found = []
    for first, second in model.protected_pairs:
        p, q = model.distributions[first], model.distributions[second]
        shift = bare.T @ (p.mean - q.mean)
        shift = np.where(np.abs(shift) <= ROUNDING * np.linalg.norm(p.mean - q.mean), 0.0, shift)
        divergence = gaussian_hockey_stick(epsilon, shift, bare.T @ p.covariance @ bare, bare.T @ q.covariance @ bare)
        found.append(max(0.0, divergence.value - divergence.error))
    return max(found)


def _two_steps(model: QueryModel, pair: Pair, noise: LaplaceNoise, epsilon: float) -> float:
    shift = model.mean_shift(pair)
    axes, scales = noise.axes[:, noise.scales > 0], noise.scales[noise.scales > 0]
    along = axes.T @ shift
    left = epsilon - float(np.abs(along / scales).sum())
    if left < -1e-12 * epsilon:
        return 1.0
    left = max(0.0, left)
    off = shift - axes @ along
    off = np.where(np.abs(off) <= ROUNDING * (np.abs(shift) + np.abs(axes) @ np.abs(along)), 0.0, off)
    first, second = (model.distributions[name].covariance for name in pair)
    if not off.any() and np.array_equal(first, second):
        return 0.0
    unit = (axes * (2 * scales**2)) @ axes.T
    least = -np.log1p(-np.arange(LEVELS) / LEVELS) / max(len(scales), 1)
    return float(np.mean([_gaussian_delta_at(left, off, first + t * unit, second + t * unit) for t in least]))


def _gaussian_delta_at(epsilon: float, shift: Floats, first: Floats, second: Floats) -> float:
    return gaussian_hockey_stick(epsilon, shift, first, second).upper_bound


def _complement(axes: Floats) -> Floats:
    """Return orthonormal columns that span what is orthogonal to the axes."""
    return np.asarray(np.linalg.qr(axes, mode="complete")[0][:, axes.shape[1] :])
