r"""Bounds on δ for Laplace noise, alone or with Gaussian noise.

Laplace noise along axes v_k hides the part t of a shift inside their span at t ε₁, ε₁ = Σ_k |c_k| / b_k for a shift
d = Σ_k c_k v_k, and the rest of the way from θ_i to θ_j is a change of covariance and of what is left of the mean:

.. math:: H_ε(P \| R) ≤ H_{ε - tε₁}(P \| M_t) + e^{ε - tε₁} H_{tε₁}(M_t \| R), \qquad H_{tε₁}(M_t \| R) = 0.

Lap(b) is a Gaussian whose variance is exponential with mean 2b², so by joint convexity the first term is at most the
mean of a divergence of Gaussians, which decreases in every variance (`box_sums`). On one axis that carries the whole
shift, log M/R attains ε₁ on one side only of a plane about which both Gaussians are symmetric: that halves the bound.
"""

from collections.abc import Callable, Sequence

import numpy as np

from distpriv.distances.gaussian_divergence import gaussian_hockey_sticks
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import real
from distpriv.framework.secrets import Pair
from distpriv.guarantees.box_sums import mean_upper_bound
from distpriv.guarantees.exact_delta import exact_delta
from distpriv.guarantees.line_bound import LineNoise
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.two_steps import ROUNDING, TwoSteps, Way, estimates
from distpriv.modelling.model import QueryModel, require_model
from distpriv.noise.laws import Noise, NoiseLaw

__all__ = ["bound_by", "coarsest_bounds", "delta_lower_bound", "delta_upper_bound", "worst_pair_upper_bound"]

EVALUATIONS = 80
"""How many points the mean over the Laplace noise's variances may take for one pair."""

CLOSE = 0.7
"""A pair whose estimate is beyond this share of the worst so far is worth a look at all ways to bound it."""


def delta_upper_bound(model: QueryModel, mechanism: AdditiveMechanism | NoiseLaw, *, epsilon: float) -> float:
    """Return a proven upper bound on δ with f_θ Gaussian, covariances as they are; exact for Gaussian noise.

    Args:
        model: the model of the statistics.
        mechanism: a mechanism, or a law of noise of any kind.
        epsilon: ε ≥ 0; at 0 the bound is on the total variation distance.

    >>> import distpriv as dp
    >>> from distpriv.noise.laws import LaplaceNoise
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> dp.delta_upper_bound(model, LaplaceNoise.isotropic(1, 1.0), epsilon=1.0)
    0.0
    >>> round(dp.delta_upper_bound(model, LaplaceNoise.isotropic(1, 1.0), epsilon=0.5), 3)
    0.09
    """
    noise = mechanism.noise if isinstance(mechanism, AdditiveMechanism) else mechanism
    if not isinstance(noise, Noise) or noise.is_gaussian:
        return exact_delta(model, noise, epsilon=epsilon)
    require_model(model)
    epsilon = real("epsilon", epsilon, InvalidInput, at_least=0, cure="at 0 the bound is on the total variation")
    return worst_pair_upper_bound(model, noise, lambda _: (epsilon, 1.0))[1]


def worst_pair_upper_bound(
    model: QueryModel, noise: Noise, at: Callable[[Pair], tuple[float, float]]
) -> tuple[Pair, float]:
    """Return the ordered pair with the largest bound, and that bound.

    Every pair has an ε of its own and a factor for its divergence, by `at`. They are taken worst first, by an estimate,
    and a bound is not made finer than it takes to show that a pair is no worse than one before: for most the coarsest
    will do, and those are computed together.

    Noise along one line has its own δ (`line_bound`): bounds in two steps are for what that leaves open.
    """
    line = LineNoise.of(noise)
    pair, delta = (model.protected_pairs[0], 1.0) if line is None else line.worst_pair(model, at)
    return (pair, delta) if delta < 1 else _worst_in_two_steps(model, noise, at)


def _worst_in_two_steps(
    model: QueryModel, noise: Noise, at: Callable[[Pair], tuple[float, float]]
) -> tuple[Pair, float]:
    steps = {pair: TwoSteps.of(model, pair, noise) for pair in model.protected_pairs}
    ways = {pair: step.ways(at(pair)[0]) for pair, step in steps.items()}
    firsts = [several[0] for several in ways.values()]
    roughly = estimates(list(steps.values()), firsts)
    by = {pair: at(pair)[1] * float(value) for pair, value in zip(steps, roughly, strict=True)}
    coarse = dict(zip(steps, coarsest_bounds(list(steps.values()), firsts), strict=True))
    worst, most = model.protected_pairs[0], -1.0
    for pair in sorted(steps, key=lambda p: -by[p]):
        factor, step = at(pair)[1], steps[pair]
        if by[pair] <= CLOSE * most and factor * coarse[pair] <= most:
            continue
        way = min(ways[pair], key=step.estimate) if by[pair] > CLOSE * most else ways[pair][0]
        found = min(1.0, factor * bound_by(step, way, most / factor))
        worst, most = (pair, found) if found > most else (worst, most)
    return worst, most


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


def bound_by(steps: TwoSteps, way: Way, enough: float) -> float:
    """Return the bound by one way; with `enough` a number that it need not be lower than.

    With more than two exponentials the divergence is taken where all of them equal the least, which is an exponential
    too, of a mean as many times smaller (`docs/proofs/laplace_bound.md`, 3 of the proof).
    """
    if way.nothing:
        return 0.0
    least = steps.count > 2

    def at(exponentials: Floats) -> Floats:
        return steps.bounds(way, np.repeat(exponentials / steps.count, steps.count, axis=1) if least else exponentials)

    return min(1.0, mean_upper_bound(at, 1 if least else steps.count, evaluations=EVALUATIONS, enough=enough))


def coarsest_bounds(steps: Sequence[TwoSteps], ways: Sequence[Way]) -> Floats:
    """Return the bounds by one way for each of several steps with no variance of the Laplace noise counted."""
    owner = np.repeat(np.arange(len(ways)), [len(way.terms) for way in ways])
    weights, lefts = np.array([term for way in ways for term in way.terms]).T
    found = gaussian_hockey_sticks(
        lefts,
        np.array([way.rest for way in ways])[owner],
        np.array([step.first for step in steps])[owner],
        np.array([step.second for step in steps])[owner],
    )
    return np.minimum(1.0, np.bincount(owner, weights * found.upper_bound))


def _complement(axes: Floats) -> Floats:
    """Return orthonormal columns that span what is orthogonal to the axes."""
    return np.asarray(np.linalg.qr(axes, mode="complete")[0][:, axes.shape[1] :])
