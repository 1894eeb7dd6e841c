r"""Bounds on δ for noise that is not Gaussian, with f_θ Gaussian and the covariances as they are.

Noise along one line has its own δ (`line_noise`). Laplace noise along axes v_k with scales b_k hides the share t of a
shift d = Σ_k c_k v_k at t ε₁, ε₁ = Σ_k |c_k| / b_k, and the rest of the way from θ_i to θ_j is a change of covariance
and of what is left of the mean:

.. math:: H_ε(P \| R) ≤ H_{ε - a}(P \| M_t) + (1 - e^{(ε - tε₁)/2})^+, \qquad a = \min(ε, tε₁).

Lap(b) is a Gaussian whose variance is exponential with mean 2b², so by joint convexity the first term is at most the
mean of a divergence of Gaussians, which decreases in every variance. The least of q standard exponentials is an
exponential with mean 1/q, and the mean is at most its upper sum (`docs/proofs/expected_value_laplace.md`).
"""

import math
from collections.abc import Callable

import numpy as np
from attrs import evolve

from distpriv.distances.gaussian import gaussian_hockey_sticks
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats, completed
from distpriv.framework.domains import real
from distpriv.framework.scenarios import Pair
from distpriv.framework.target import odds
from distpriv.guarantees.exact_delta import exact_delta
from distpriv.guarantees.line_noise import COARSE, FINE, LineNoise
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel, require_model
from distpriv.noise.laws import Noise, NoNoise, UnimodalNoise

__all__ = ["delta_upper_bound", "laplace_bound", "worst_pair_upper_bound"]


def delta_upper_bound(model: QueryModel, mechanism: AdditiveMechanism | Noise, *, epsilon: float) -> float:
    """Return a proven upper bound on δ with f_θ Gaussian, covariances as they are; exact for Gaussian noise.

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
    return worst_pair_upper_bound(model, noise, epsilon)[1]


def worst_pair_upper_bound(
    model: QueryModel, noise: Noise, epsilon: float | Floats, factors: Floats | None = None
) -> tuple[Pair, float]:
    """Return the ordered pair with the largest bound, and that bound; of pair k :math:`b_k H_{ε_k}`.

    All pairs are bounded coarsely, and those with the largest bounds finely until no other can be the worst.
    """
    pairs = model.protected_pairs
    epsilons = np.broadcast_to(np.asarray(epsilon, dtype=float), len(pairs)).tolist()
    most = np.ones(len(pairs)) if factors is None else factors

    def worst(bound: Callable[[Pair, float, bool], float]) -> tuple[Pair, float]:
        coarsely = most * [bound(pair, own, False) for pair, own in zip(pairs, epsilons, strict=True)]
        place, largest = 0, -1.0
        for k in np.argsort(-coarsely, kind="stable").tolist():
            if coarsely[k] <= largest:
                break
            delta = float(min(1.0, coarsely[k], most[k] * bound(pairs[k], epsilons[k], True)))
            place, largest = (k, delta) if delta > largest else (place, largest)
        return pairs[place], largest

    if isinstance(noise, UnimodalNoise):
        return worst(lambda pair, own, _: _unimodal_delta(model, pair, noise, own))
    line = LineNoise.of(noise)
    if line is not None:
        pair, delta = worst(lambda pair, own, fine: line.delta(model, pair, own, FINE if fine else COARSE))
        if delta < 1:
            return pair, delta
    return worst(lambda pair, own, fine: laplace_bound(model, pair, noise, own, terms=64 if fine else 8))


def _unimodal_delta(model: QueryModel, pair: Pair, noise: UnimodalNoise, epsilon: float) -> float:
    """Return H_ε of a pair under unimodal noise on one statistic, by a sum over a fine grid; of several without noise.

    Noise is post-processing, which raises no divergence.
    """
    deviations = [math.sqrt(float(model.distributions[name].covariance[0, 0])) for name in pair]
    if noise.dimension > 1 or min(deviations) == 0:
        return exact_delta(evolve(model, protected_pairs=(pair,)), NoNoise(dimension=noise.dimension), epsilon=epsilon)
    shift = float(model.mean_shift(pair)[0])
    reach = float(noise.edges[-1]) + 9 * max(deviations) + abs(shift)
    points = np.linspace(-reach, reach, int(np.clip(reach / min(deviations) * 100, 10_000, 2_000_000)))
    first, second = (
        np.exp(noise.log_density(points + moved, deviation))
        for moved, deviation in zip((0, shift), deviations, strict=True)
    )
    step = points[1] - points[0]
    return min(1.0, float(np.maximum(first - odds(epsilon) * second, 0.0).sum() * step))


def laplace_bound(model: QueryModel, pair: Pair, noise: Noise, epsilon: float, terms: int = 8) -> float:
    """Return a bound on H_ε of a pair under Laplace noise along any axes, and Gaussian noise.

    It is the least over some shares t, any of which gives a bound: of the whole shift, and of what the noise carries
    at ε. `terms` is the number of terms in the upper sum over the Gaussian variances.
    """
    wide = noise.laplace_scales > 0
    axes, scales = noise.laplace_axes[:, wide], noise.laplace_scales[wide]
    orthonormal = len(axes) >= len(scales) and np.abs(axes.T @ axes - np.eye(len(scales))).max(initial=0) < 1e-9
    frame = completed(axes) if orthonormal else np.eye(len(axes))
    within = np.eye(*axes.shape) if orthonormal else axes
    given = model.mean_shift(pair)
    shift = _without_rounding(frame.T @ given, np.abs(frame).T @ np.abs(given))
    parts = shift[: len(scales)] if orthonormal else np.linalg.pinv(axes) @ given
    carried, cost = within @ parts, float(np.abs(parts / scales).sum())
    free = 1.0 if cost <= epsilon * (1 + 1e-12) else epsilon / cost
    tried = np.array([1.0, 0.98, 0.95, 0.9, 0.8, 0.65, 0.4, 0.0])
    shares = np.unique(np.concatenate([tried, free * tried])) if cost else np.ones(1)
    moved = np.where(shares <= free, 0.0, -np.expm1(np.minimum(epsilon - shares * cost, 0.0) / 2))
    rests = _without_rounding(shift - shares[:, np.newaxis] * carried, np.abs(shift) + np.abs(carried))
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


def _without_rounding(values: Floats, computed_from: Floats | float) -> Floats:
    """Return values with 0 for those that are smaller than 10⁻¹⁴ of what they were computed from."""
    return np.where(np.abs(values) <= 1e-14 * computed_from, 0.0, values)
