"""The search for Laplace and Gaussian noise of least error whose bound on δ is about the target's.

Its steps are those of `docs/proofs/certified_laplace.md`, "How the noise is chosen"; the numbers below are theirs.
"""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from attrs import evolve, frozen

from distpriv.framework.arrays import Floats, array_field
from distpriv.framework.secrets import Pair
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import smoothed_target
from distpriv.guarantees.two_steps import TwoSteps, Way, estimates
from distpriv.mechanisms.search.laplace_axes import laplace_axes, unit_scales
from distpriv.modelling.model import QueryModel
from distpriv.modelling.sensitivity import mean_shifts, shift_basis
from distpriv.modelling.utility import weighted_rms
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, SumNoise

__all__ = ["LaplaceSearch", "covariance_differences"]

RATIOS = (0.5, 0.7, 0.82, 0.9, 0.97, 1.0, 1.3, 2.0, 3.0, 5.0)
"""The ε₁/ε that are tried first; above 1 the Laplace noise carries a part of the shift only."""

LIKELY = 0.9
"""The best is often near this one; what is tried after a good one is known to be worse by a look or two."""

HIGHEST = 14.0
"""The logarithm of the largest λ that is tried, in units of the least that adds anything."""

STEPS = 12
"""How many steps the search takes from the best of the first noise; what is best may be at infinity."""

WORKING = 6
"""How many pairs a search looks at; what it finds is held against all of them."""

BOUND_OVER_ESTIMATE = 0.98
"""The bound is a little larger than the estimate, so that the target is taken a little lower to begin with."""


@frozen(kw_only=True)
class LaplaceSearch:
    """Noise by three numbers (3): ε₁/ε of the Laplace part, λ of the Gaussian part, and ν, the Gaussian share of it.

    Of each there is about what its bound on δ is for the pairs that matter, and what its error is (4).
    """

    model: QueryModel
    epsilon: float
    delta: float
    weights: Floats = array_field()
    axes: Floats = array_field()
    scales: Floats = array_field()
    """The scales of the axes for ε₁ = 1."""
    floor: Floats = array_field()
    directions: Floats = array_field()
    """Where Gaussian noise is added, as columns, orthonormal in units in which all errors weigh the same."""
    needs: Floats = array_field()
    """|d_k|^{2/3} for each direction."""
    given: Floats = array_field()
    """a_k, the variance that is there anyway."""
    pairs: tuple[Pair, ...]

    @classmethod
    def of(cls, model: QueryModel, target: PrivacyTarget, weights: Floats, floor: Floats) -> Self:
        """Return the search over noise of at least the floor, on the pairs that leak most."""
        shifts = mean_shifts(model)
        axes = laplace_axes(shifts, shift_basis(model), weights)
        scales = unit_scales(shifts, axes, weights) if axes.size else np.zeros(0)
        smooth = smoothed_target(model, GaussianNoise.of(floor), target) or (target.epsilon, target.delta)
        directions, needs, given = covariance_differences(model, axes, weights)
        search = cls(
            model=model,
            epsilon=max(smooth[0], 1e-12),
            delta=smooth[1] * BOUND_OVER_ESTIMATE,
            weights=weights,
            axes=axes,
            scales=scales,
            floor=floor,
            directions=directions,
            needs=needs,
            given=given,
            pairs=model.protected_pairs,
        )
        return evolve(search, pairs=search.worst(search.noise(0.8, 0.0)))

    @property
    def least(self) -> float:
        """The least λ that adds anything."""
        some = self.needs > 0
        return float((self.given[some] / self.needs[some]).min()) if some.any() else 0.0

    def noise(self, ratio: float, level: float, near: float = 0.0) -> SumNoise:
        """Return the noise at ε₁ = ratio · ε and λ = level, with deviations near · b_k along the axes too (3)."""
        scales = self.scales / (ratio * self.epsilon)
        spread = self.directions * np.sqrt(np.maximum(0.0, level * self.needs - self.given))
        along = self.axes * (near * scales)
        gaussian = GaussianNoise.of(self.floor + spread @ spread.T + along @ along.T)
        if not self.axes.size:
            return SumNoise(parts=(gaussian,))
        return SumNoise(parts=(LaplaceNoise(axes=self.axes, scales=scales), gaussian))

    def deltas(self, noise: SumNoise, pairs: Sequence[Pair]) -> Floats:
        """Return about what the bound is for each of the pairs, the best way for each."""
        steps = [TwoSteps.of(self.model, pair, noise) for pair in pairs]
        ways = [_some(step.ways(self.epsilon)) for step in steps]
        repeated = [step for step, several in zip(steps, ways, strict=True) for _ in several]
        flat = [way for several in ways for way in several]
        found = np.where([way.nothing for way in flat], 0.0, estimates(repeated, flat))
        ends = np.cumsum([len(several) for several in ways])
        return np.array([part.min() for part in np.split(found, ends[:-1])])

    def worst(self, noise: SumNoise) -> tuple[Pair, ...]:
        """Return the pairs that leak most under some noise."""
        found = self.deltas(noise, self.model.protected_pairs)
        return tuple(self.model.protected_pairs[k] for k in np.argsort(-found, kind="stable")[:WORKING])

    def corrected(self, noise: SumNoise, share: float) -> Self:
        """Return the search with a lower target, as the bound was missed by this share, on the worst pairs as well."""
        pairs = tuple(dict.fromkeys((*self.worst(noise), *self.pairs)))
        return evolve(self, pairs=pairs, delta=self.delta * min(max(share, 0.02), 1.0) * 0.998)

    def level(self, ratio: float, near: float, within: float, most: float = math.inf) -> float:
        """Return the λ that about meets the target, the root of log δ(λ) = log δ; infinite if none does.

        Args:
            ratio: ε₁/ε.
            near: the share of Gaussian noise along the axes.
            within: how far the logarithm of λ may be off.
            most: a λ beyond this is of no use, and infinite will do instead.
        """
        from scipy.optimize import brentq

        def excess(log_level: float) -> float:
            found = self.deltas(self.noise(ratio, math.exp(log_level), near), self.pairs).max()
            return math.log(max(float(found), 1e-300) / self.delta)

        bare = float(self.deltas(self.noise(ratio, 0.0, near), self.pairs).max())
        if bare <= self.delta:
            return 0.0
        low = math.log(self.least) if self.least > 0 else 0.0
        high = low + HIGHEST
        # δ falls with λ, so what misses the target a little beyond `most` has its root beyond it.
        beyond = math.log(max(most, self.least)) + within if self.least > 0 else 0.0
        if self.least == 0 or (beyond < high and excess(beyond) > 0):
            return math.inf
        ends = {low: math.log(bare / self.delta), high: excess(high)}
        if ends[high] > 0:
            return math.inf
        return math.exp(brentq(lambda at: ends[at] if at in ends else excess(at), low, high, xtol=within))

    def error(self, ratio: float, near: float, best: float = math.inf) -> float:
        """Return the weighted error of the least noise at ε₁ = ratio · ε; infinite if there is none or another is best.

        The weighted mean square is that of λ = 0 plus Σ_k max(0, λ |d_k|^{2/3} − a_k), which is convex and piecewise
        linear in λ: the λ at which it reaches the best is the least over the first k directions of a linear equation's.
        """
        bare = weighted_rms(self.noise(ratio, 0.0, near).covariance, self.weights)
        if bare > best:
            return math.inf
        order = np.argsort(self.given / self.needs)
        steps = (best**2 - bare**2 + np.cumsum(self.given[order])) / np.cumsum(self.needs[order])
        level = self.level(ratio, near, 0.02, float(steps.min(initial=math.inf)))
        return weighted_rms(self.noise(ratio, level, near).covariance, self.weights) if level < math.inf else math.inf

    def best(self) -> tuple[float, float]:
        """Return the ratio and the share of least error (4): the best of a few, improved by ever smaller steps."""
        tried = {(ratio, near): math.inf for ratio in RATIOS for near in (0.0, 0.3)}
        for point in sorted(tried, key=lambda p: (abs(math.log(p[0] / LIKELY)), p[1])):
            tried[point] = self.error(*point, min(tried.values()))
        point, step = min(tried, key=lambda p: tried[p]), 0.08
        for _ in range(STEPS):
            ratio, near = point
            around = (
                (ratio * (1 + step), near),
                (ratio / (1 + step), near),
                (ratio, near + step),
                (ratio, near - step),
            )
            for other in around:
                if other not in tried and other[1] >= 0:
                    tried[other] = self.error(*other, min(tried.values()))
            better = min(tried, key=lambda p: tried[p])
            step, point = (step if better != point else step / 2), better
            if step < 0.015:
                break
        return point

    def least_noise(self, ratio: float, near: float) -> SumNoise:
        """Return the least noise at a point of the search, or much noise if none is known to do."""
        return self.noise(ratio, min(self.level(ratio, near, 1e-3), self.least * math.exp(HIGHEST)), near)


def _some(ways: Sequence[Way]) -> list[Way]:
    """Return every other way and the last, which carries nothing: the search need not know the best to the percent."""
    return [*ways[:-1:2], ways[-1]] if len(ways) > 1 else list(ways)


def covariance_differences(model: QueryModel, axes: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return eigenvectors of the covariances' differences away from the axes, |d_k|^{2/3} and a_k along them (3)."""
    unit = np.sqrt(weights)
    away = np.eye(model.dimension)
    if axes.size:
        basis = np.linalg.qr(unit[:, np.newaxis] * axes)[0]
        away = away - basis @ basis.T
    squares, pooled = np.zeros_like(away), np.zeros_like(away)
    for pair in model.protected_pairs:
        first, second = (
            np.outer(unit, unit) * matrix for matrix in (model.distributions[name].covariance for name in pair)
        )
        change = away @ (first - second) @ away
        squares += change @ change / len(model.protected_pairs)
        pooled += (first + second) / (2 * len(model.protected_pairs))
    values, vectors = np.linalg.eigh(squares)
    some = values > 1e-20 * np.abs(pooled).max() ** 2
    values, vectors = values[some], vectors[:, some]
    given = np.einsum("ik,ij,jk->k", vectors, pooled, vectors)
    return vectors / unit[:, np.newaxis], np.cbrt(values), given
