r"""Ways from one scenario to another under Laplace and Gaussian noise, and what each costs.

A way carries the share t of the shift by the Laplace noise, which costs t ε₁ of ε, and leaves the rest of the shift
and the change of covariance to Gaussians that are as wide as the Laplace noise makes them.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np
from attrs import field, frozen

from distpriv.distances.gaussian_divergence import gaussian_hockey_sticks
from distpriv.distances.gaussian_estimates import hockey_stick_estimates
from distpriv.framework.arrays import Floats, array_field, completed
from distpriv.framework.secrets import Pair
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import Noise

__all__ = ["ROUNDING", "TwoSteps", "Way", "estimates", "exponential_nodes"]

ROUNDING = 1e-14
"""A part of a shift that is smaller than this share of what it was computed from is rounding."""

SHARES = (0.98, 0.95, 0.9, 0.8, 0.65, 0.4, 0.0)
"""Which shares of the shift the Laplace noise is tried to carry, beside all of it; any share gives a bound."""

NODES = 10
"""How many values of an exponential a mean over it is estimated from."""

SAFE = 1e-6
"""By which share the attacker's own variance along the axis is lowered, against its rounding: that is cautious."""


@frozen(kw_only=True)
class Way:
    """The bound Σ weight · E[H_left(Gaussians)], with `rest` what is left of the shift."""

    rest: Floats = array_field()
    terms: tuple[tuple[float, float], ...]
    nothing: bool = False
    """Whether the Gaussians are the same, so that the bound is 0."""


@frozen(kw_only=True, slots=False)
class TwoSteps:
    """A pair of scenarios in coordinates whose first ones are the axes of the Laplace noise."""

    shift: Floats = array_field()
    carried: Floats = array_field()
    """The part of the shift inside the span of the axes."""
    first: Floats = array_field()
    """Σ_i + S, S the covariance of the Gaussian part of the noise."""
    second: Floats = array_field()
    loadings: Floats = array_field()
    """The columns √2 b_k v_k: given standard exponentials E the Laplace noise has covariance Σ_k E_k l_k l_kᵀ."""
    cost: float = field()
    """ε₁, what carrying all of it costs."""

    @classmethod
    def of(cls, model: QueryModel, pair: Pair, noise: Noise) -> Self:
        """Return the steps from the pair's first scenario to its second."""
        wide = noise.laplace_scales > 0
        axes, scales = noise.laplace_axes[:, wide], noise.laplace_scales[wide]
        orthonormal = len(axes) >= axes.shape[1] and np.abs(axes.T @ axes - np.eye(axes.shape[1])).max(initial=0) < 1e-9
        frame = completed(axes) if orthonormal else np.eye(len(axes))
        within = np.eye(*axes.shape) if orthonormal else axes
        shift = model.mean_shift(pair)
        turned = frame.T @ shift
        turned = np.where(np.abs(turned) <= ROUNDING * (np.abs(frame).T @ np.abs(shift)), 0.0, turned)
        along = turned[: len(scales)] if orthonormal else np.linalg.pinv(axes) @ shift
        gaussian = noise.gaussian.covariance
        first, second = (_turned(model.distributions[name].covariance + gaussian, frame) for name in pair)
        return cls(
            shift=turned,
            carried=within @ along,
            first=first,
            second=second,
            loadings=within * (math.sqrt(2) * scales),
            cost=float(np.abs(along / scales).sum()),
        )

    @property
    def count(self) -> int:
        """How many axes of Laplace noise there are."""
        return int(self.loadings.shape[1])

    def ways(self, epsilon: float) -> list[Way]:
        """Return ways to a bound at ε, the one that carries as much as ε allows first."""
        return [way for _, way in self.shares_and_ways(epsilon)]

    def shares_and_ways(self, epsilon: float) -> list[tuple[float, Way]]:
        """Return the same with the share of the shift that each carries."""
        most = 1.0 if self.cost <= epsilon * (1 + 1e-12) else epsilon / self.cost
        shares = [most, *(most * share for share in SHARES)] if self.cost else [1.0]
        return [(share, self._way(epsilon, share)) for share in shares]

    def bounds(self, way: Way, exponentials: Floats) -> Floats:
        """Return Σ weight · H_left of the Gaussians of a way, given rows of exponentials; it increases in none of them.

        The error of the computation is added.
        """
        added = (self.loadings * exponentials[:, np.newaxis, :]) @ self.loadings.T
        terms, points = len(way.terms), len(exponentials)
        found = gaussian_hockey_sticks(
            np.repeat([left for _, left in way.terms], points),
            np.tile(way.rest, (terms * points, 1)),
            np.tile(self.first + added, (terms, 1, 1)),
            np.tile(self.second + added, (terms, 1, 1)),
        )
        weighted = np.array([[weight] for weight, _ in way.terms]) * found.upper_bound.reshape(terms, points)
        return np.asarray(weighted.sum(axis=0))

    def estimate(self, way: Way) -> float:
        """Return about what the bound by a way would be with the mean over the exponentials taken exactly."""
        return 0.0 if way.nothing else float(estimates([self], [way])[0])

    def _way(self, epsilon: float, share: float) -> Way:
        rest = self.shift - share * self.carried
        floor = ROUNDING * (np.abs(self.shift) + np.abs(self.carried))
        rest = np.where(np.abs(rest) <= floor, 0.0, rest)
        left = max(0.0, epsilon - share * self.cost)
        nothing = not rest.any() and np.array_equal(self.first, self.second)
        if share == 1 and not rest.any() and self.count == 1:
            # Both Gaussians are symmetric about the plane through their mean on one side of which log M/R is smaller:
            # docs/proofs/laplace_bound.md, 2 of the proof, with `middle` for ℓ₀.
            return Way(rest=rest, terms=((0.5, left), (0.5, max(0.0, epsilon - self.middle))), nothing=nothing)
        return Way(rest=rest, terms=((1.0, left),), nothing=nothing)

    def change_of_covariance(self) -> Way:
        """Return the way that carries all it can and counts only what is left, at ε = 0."""
        way = self._way(0.0, 1.0)
        return Way(rest=way.rest, terms=((1.0, 0.0),), nothing=way.nothing)

    @cached_property
    def own(self) -> float:
        """The deviation of what the attacker does not know along the first axis, rounded down; 0 if unknown."""
        return _own_deviation(self.second)

    @cached_property
    def middle(self) -> float:
        """A bound on log M/R on the side of the mean of M where R's mean is, one axis carrying the whole shift."""
        scale = float(np.linalg.norm(self.loadings)) / math.sqrt(2)
        own = self.own
        distance = self.cost * scale
        if own == 0 or distance > 1e3 * own:
            return self.cost
        ratio = _log_density(0.0, own, scale) - _log_density(distance, own, scale)
        return min(self.cost, ratio + 1e-9 * (1 + self.cost))


def estimates(steps: Sequence[TwoSteps], ways: Sequence[Way]) -> Floats:
    """Return about what the bounds by ways are, one for each of several steps, all at once."""
    nodes, chances = exponential_nodes(steps[0].count, NODES)
    covariances: dict[int, tuple[Floats, Floats]] = {}
    terms = [(id(step), way.rest, *term) for step, way in zip(steps, ways, strict=True) for term in way.terms]
    for step in steps:
        if id(step) not in covariances:
            added = np.einsum("ik,nk,jk->nij", step.loadings, nodes, step.loadings)
            covariances[id(step)] = step.first + added, step.second + added
    firsts, seconds = (np.concatenate(stack) for stack in zip(*covariances.values(), strict=True))
    place = {name: k for k, name in enumerate(covariances)}
    owners, rests, weights, lefts = zip(*((place[name], *rest) for name, *rest in terms), strict=True)
    values = hockey_stick_estimates(
        np.repeat(lefts, len(nodes)),
        np.repeat(rests, len(nodes), axis=0),
        firsts,
        seconds,
        np.add.outer(np.multiply(owners, len(nodes)), np.arange(len(nodes))).ravel(),
    )
    means = np.array(weights) * (values.reshape(-1, len(nodes)) @ chances)
    owner = np.repeat(np.arange(len(ways)), [len(way.terms) for way in ways])
    return np.asarray(np.bincount(owner, means, minlength=len(ways)), dtype=np.float64)


def _turned(matrix: Floats, frame: Floats) -> Floats:
    turned = frame.T @ matrix @ frame
    return np.asarray((turned + turned.T) / 2)


def _own_deviation(covariance: Floats) -> float:
    """Return (vᵀA⁻¹v)^{-1/2} for the first axis v, a little less, or 0 where rounding leaves it unknown."""
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    if not (deviation > 0).all():
        return 0.0
    correlation = covariance / np.outer(deviation, deviation)
    values = np.linalg.eigvalsh(correlation)
    if values[0] <= 0 or 10 * len(values) * np.finfo(float).eps * values[-1] / values[0] > SAFE:
        return 0.0
    return float(deviation[0] * math.sqrt((1 - SAFE) / np.linalg.inv(correlation)[0, 0]))


def _log_density(x: float, deviation: float, scale: float) -> float:
    """Return the logarithm of the density of N(0, deviation²) * Lap(scale) at x, up to a constant."""
    inside, z = deviation / scale, x / deviation
    return float(np.logaddexp(_log_erfcx((inside + z) / math.sqrt(2)), _log_erfcx((inside - z) / math.sqrt(2)))) - (
        z * z / 2
    )


def _log_erfcx(u: float) -> float:
    from scipy.special import erfcx

    return u * u + math.log(2.0) if u < -20 else math.log(float(erfcx(u)))


def exponential_nodes(count: int, nodes: int) -> tuple[Floats, Floats]:
    """Return points and weights for a mean over exponentials: Gauss's on one axis, evenly spread ones on several.

    On one axis the quantile is the cube of Gauss's variable: divergences are large where the exponential is near 0.
    """
    if count == 0:
        return np.zeros((1, 0)), np.ones(1)
    if count == 1:
        roots, weights = np.polynomial.legendre.leggauss(nodes)
        thirds = (1 + roots) / 2
        return -np.log1p(-(thirds**3))[:, np.newaxis], weights / 2 * 3 * thirds**2
    from scipy.stats import qmc

    size = math.ceil(math.log2(3 * nodes))
    cube = qmc.Sobol(count, scramble=False).random_base2(size) + 2.0 ** -(size + 1)
    return -np.log1p(-cube), np.full(len(cube), 1 / len(cube))
