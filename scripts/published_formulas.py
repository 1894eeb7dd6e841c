r"""The noise of published mechanisms, each by the formula it was published with, laws f_θ taken as Gaussian.

All are F + Z with Z centred. Where a formula leaves a number open (a Rényi order, how δ is split, how much noise lies
across the shift), the one that takes the least noise is found. A mechanism that cannot reach its target returns None.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import product
from typing import TypeVar

import numpy as np
from scipy.linalg import eigh, sqrtm
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from distpriv.distances.gaussian import analytic_radius
from distpriv.distances.gaussian_divergence import gaussian_hockey_sticks
from distpriv.framework.arrays import Floats
from distpriv.framework.bisection import least_passing
from distpriv.framework.secrets import Pair
from distpriv.mechanisms.group_privacy import group_reach, group_size
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import PublicKnowledge
from distpriv.modelling.utility import Objective
from distpriv.noise.laws import GaussianNoise, LaplaceNoise
from distpriv.planning.merit import Merit

ORDERS = 1 + np.geomspace(1e-2, 1e5, 2000)
"""Rényi orders α that are tried: each gives a valid δ, and the least is taken."""

SPLITS = np.linspace(0.02, 0.98, 25)
"""Shares of δ that are tried for the mass that moves far."""

EPSILON_UNITS = 400
"""How finely ε is split over the statistics."""

SMALLEST, LARGEST, WITHIN = 1e-9, 1e7, 1e-7
"""Noise that is as good as none, the widest noise that is tried, and how near to the least the answer is."""

NOTHING, PIECES = 1e-9, 6
"""A share of a divergence that is nothing, and on how many pieces it is integrated."""

SHARES = np.geomspace(1e-3, 1.0, 16)
"""How much noise across the shift is tried, as a share of that along it, before the best is looked for nearby."""

Passes = Callable[[Floats], bool]
"""Whether noise of this covariance is enough."""

Bound = Callable[[QueryModel, float, float], Passes]
"""What tells it of a model, ε and δ."""

Moments = tuple[Floats, Floats, Floats]
"""The mean shift of an ordered pair, and both covariances."""

Law = TypeVar("Law", GaussianNoise, LaplaceNoise)


def laws(model: QueryModel, pairs: Iterable[Pair] | None = None) -> Iterator[Moments]:
    """Return the mean shift and both covariances of ordered pairs, all that are protected unless some are given."""
    for pair in model.protected_pairs if pairs is None else pairs:
        first, second = (model.distributions[name] for name in pair)
        yield first.mean - second.mean, first.covariance, second.covariance


def shift_axis(model: QueryModel) -> Floats:
    """Return the unit vector along which the means differ most."""
    shifts = np.array([shift for shift, _, _ in laws(model)])
    return np.asarray(np.linalg.svd(shifts)[2][0])


def isotropic(model: QueryModel) -> Floats:
    """Return the covariance of noise that is the same for every statistic, up to its scale."""
    return np.eye(model.dimension)


def along_shift(model: QueryModel, across: float = 0.0) -> Floats:
    """Return the covariance of noise along the shift, with this share of its deviation across it."""
    axis = shift_axis(model)
    return (1 - across**2) * np.outer(axis, axis) + across**2 * np.eye(len(axis))


def least_gaussian(shape: Floats, passes: Passes) -> GaussianNoise | None:
    """Return the least multiple of a covariance that passes; None if none does."""
    if passes(SMALLEST**2 * shape):
        return GaussianNoise.of(0 * shape)
    scale = least_passing(lambda t: passes(t * t * shape), 0.0, 1.0, largest=LARGEST, within=WITHIN)
    return GaussianNoise.of(scale**2 * shape) if math.isfinite(scale) else None


def least_across(model: QueryModel, passes: Passes, objective: Objective) -> GaussianNoise | None:
    """Return the least noise that passes with one deviation along the shift and the best smaller one across it."""
    return best_share(model, lambda share: least_gaussian(along_shift(model, share), passes), objective)


def best_share(model: QueryModel, noise: Callable[[float], Law | None], objective: Objective) -> Law | None:
    """Return the noise of least error, its own or that of the estimates, over shares between a thousandth and 1."""
    merit = Merit.of(model, objective=objective)

    def error(log_share: float) -> float:
        found = noise(math.exp(log_share))
        return math.inf if found is None else merit.cost(found.covariance)

    grid = np.log(SHARES)
    errors = [error(point) for point in grid]
    best = int(np.argmin(errors))
    bounds = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    refined = minimize_scalar(error, bounds=bounds, method="bounded", options={"xatol": 1e-3})
    return noise(math.exp(float(refined.x) if refined.fun < errors[best] else float(grid[best])))


def delta_from_renyi(divergences: Floats, epsilon: float) -> float:
    r"""Return the least δ that Rényi divergences :math:`D_α`, one for each of `ORDERS`, prove at ε.

    :math:`δ = \min_α \frac{e^{(α-1)(D_α - ε)}}{α-1} (1 - 1/α)^α` (Canonne, Kamath and Steinke, 2020).
    """
    exponents = (ORDERS - 1) * (divergences - epsilon) - np.log(ORDERS - 1) + ORDERS * np.log1p(-1 / ORDERS)
    return math.exp(min(0.0, float(np.min(exponents))))


def gaussian_renyi(shift: Floats, first: Floats, second: Floats) -> Floats:
    r"""Return :math:`D_α(N(μ_i, A) \| N(μ_j, B))` for every order, infinite where αB + (1 − α)A is not definite."""
    ratios, axes = eigh(first, second)
    moved = (axes.T @ shift) ** 2
    mixed = ORDERS[:, np.newaxis] + (1 - ORDERS)[:, np.newaxis] * ratios
    with np.errstate(all="ignore"):
        shifted = ORDERS[:, np.newaxis] * moved / mixed
        widths = (np.log(mixed) - (1 - ORDERS)[:, np.newaxis] * np.log(ratios)) / (ORDERS - 1)[:, np.newaxis]
        found = (shifted - widths).sum(axis=1) / 2
    return np.where((mixed > 0).all(axis=1), found, np.inf)


def renyi_passes(model: QueryModel, epsilon: float, delta: float) -> Passes:
    """Tell of noise whether the Rényi divergences of the noisy Gaussian laws prove δ."""

    def passes(noise: Floats) -> bool:
        return all(
            delta_from_renyi(gaussian_renyi(shift, first + noise, second + noise), epsilon) <= delta
            for shift, first, second in laws(model)
        )

    return passes


def monge_moves(first: Floats, second: Floats) -> Floats:
    r"""Return the covariance of x − T(x), T the optimal transport of N(μ_i, A) to N(μ_j, B): its mean is the shift.

    :math:`T(x) = μ_j + M (x - μ_i)` with :math:`M = A^{-1/2} (A^{1/2} B A^{1/2})^{1/2} A^{-1/2}`.
    """
    root = np.real(sqrtm(first))
    inverse = np.linalg.inv(root)
    away = np.eye(len(first)) - inverse @ np.real(sqrtm(root @ second @ root)) @ inverse
    return np.asarray(away @ first @ away.T)


def moved_exponents(shift: Floats, spread: Floats, noise: Floats, rates: Floats) -> Floats:
    r"""Return :math:`\log E e^{c y^⊤ N^{-1} y / 2}` for y ~ N(shift, spread) and every rate c; infinite where it is."""
    variances, axes = eigh(spread, noise)
    moved = (axes.T @ shift) ** 2
    left = 1 - rates[:, np.newaxis] * np.maximum(variances, 0.0)
    with np.errstate(all="ignore"):
        found = (rates[:, np.newaxis] * moved / left - np.log(left)).sum(axis=1) / 2
    return np.where((left > 0).all(axis=1), found, np.inf)


def averaged_renyi_passes(model: QueryModel, epsilon: float, delta: float) -> Passes:
    r"""Tell of noise whether the coupling-averaged bound :math:`D_α ≤ \log E e^{(α-1) D_α(Z + y \| Z)}/(α-1)` proves δ.

    y is how far the optimal transport moves; :math:`D_α(Z + y \| Z) = α y^⊤ N^{-1} y / 2` for Gaussian noise.
    """
    moves = [(shift, monge_moves(first, second)) for shift, first, second in laws(model)]

    def passes(noise: Floats) -> bool:
        bounds = (moved_exponents(*move, noise, ORDERS * (ORDERS - 1)) / (ORDERS - 1) for move in moves)
        return all(delta_from_renyi(bound, epsilon) <= delta for bound in bounds)

    return passes


@cache
def _radii(epsilon: float, delta: float) -> Floats:
    return np.array([analytic_radius(epsilon, delta * (1 - share)) for share in SPLITS])


def near_passes(model: QueryModel, epsilon: float, delta: float) -> Passes:
    r"""Tell of noise whether all but δ₁ of the mass moves so little that the noise hides it at (ε, δ − δ₁).

    The mass that moves by more than τ, in units of the noise, is bounded by :math:`\min_c E e^{c(|y|^2 - τ^2)/2}`.
    """
    moves = [(shift, monge_moves(first, second)) for shift, first, second in laws(model)]
    rates = np.geomspace(1e-3, 1e7, 1500)

    def passes(noise: Floats) -> bool:
        logs = [moved_exponents(*move, noise, rates) for move in moves]
        far = -math.log(delta) - np.log(SPLITS)[:, np.newaxis]
        reach = np.max([(2 * (log + far) / rates).min(axis=1) for log in logs], axis=0)
        return bool((np.sqrt(reach) <= _radii(epsilon, delta)).any())

    return passes


def wasserstein_gaussian(model: QueryModel, epsilon: float, delta: float) -> GaussianNoise:
    """Return Gaussian noise for W∞ in L2, bounded by what the swapped rows can do."""
    reach = group_reach(model, group_size(model, "sufficient"), 2)
    return GaussianNoise.isotropic(model.dimension, reach / analytic_radius(epsilon, delta))


def wasserstein_laplace(model: QueryModel, epsilon: float, _delta: float) -> LaplaceNoise:
    """Return Laplace noise for W∞ in L1, bounded by what the swapped rows can do."""
    return LaplaceNoise.isotropic(model.dimension, group_reach(model, group_size(model, "sufficient"), 1) / epsilon)


def translation_gaussian(model: QueryModel, epsilon: float, delta: float) -> GaussianNoise:
    """Return Gaussian noise for W∞ in L2 of laws that are taken for translations: the length of the shift."""
    reach = max(float(np.linalg.norm(shift)) for shift, _, _ in laws(model))
    return GaussianNoise.isotropic(model.dimension, reach / analytic_radius(epsilon, delta))


def far_mass(shift: Floats, spread: Floats, scales: Floats, epsilon: float) -> float:
    r"""Return a bound on the probability of :math:`\sum_k |y_k|/b_k > ε` for y ~ N(shift, spread).

    The sum is the largest of :math:`\sum_k s_k y_k/b_k` over signs s, and each of these is Gaussian.
    """
    towards = np.array(list(product((-1.0, 1.0), repeat=len(shift)))) / scales
    means, deviations = towards @ shift, np.sqrt(np.maximum(((towards @ spread) * towards).sum(axis=1), 1e-300))
    return float(ndtr((means - epsilon) / deviations).sum())


def monge_laplace(model: QueryModel, epsilon: float, delta: float, axes: Floats, shares: Floats) -> LaplaceNoise | None:
    """Return Laplace noise along axes, of scales in these shares, that hides the optimal transport of all but δ."""
    moves = [(axes.T @ shift, axes.T @ monge_moves(one, other) @ axes) for shift, one, other in laws(model)]

    def passes(scale: float) -> bool:
        return all(far_mass(*move, scale * shares, epsilon) <= delta for move in moves)

    scale = least_passing(passes, 0.0, 1.0, largest=LARGEST, within=WITHIN)
    return LaplaceNoise(axes=axes, scales=scale * shares) if math.isfinite(scale) else None


def monge_laplace_isotropic(model: QueryModel, epsilon: float, delta: float) -> LaplaceNoise | None:
    """Return Laplace noise of one scale on every statistic that hides the optimal transport of all but δ."""
    return monge_laplace(model, epsilon, delta, np.eye(model.dimension), np.ones(model.dimension))


def monge_laplace_across(model: QueryModel, epsilon: float, delta: float, objective: Objective) -> LaplaceNoise | None:
    """Return the same along the shift and, of the best smaller scale, along axes across it."""
    axis = shift_axis(model)
    rest = np.eye(len(axis)) - np.outer(axis, axis)
    spread = sum(rest @ monge_moves(first, second) @ rest for _, first, second in laws(model))
    across = np.linalg.eigh(spread + LARGEST * np.outer(axis, axis))[1][:, :-1]
    axes = np.column_stack([axis, across])

    def noise(share: float) -> LaplaceNoise | None:
        return monge_laplace(model, epsilon, delta, axes, np.array([1.0, *[share] * (len(axis) - 1)]))

    return best_share(model, noise, objective)


def attribute_variances(model: QueryModel, epsilon: float, delta: float) -> Floats:
    r"""Return :math:`\max(0, (d_k/r)^2 - \min_θ Σ_{θ,kk})`, what attribute privacy adds to each statistic."""
    radius = analytic_radius(epsilon, delta)
    needed = [
        (shift / radius) ** 2 - np.minimum(np.diag(first), np.diag(second)) for shift, first, second in laws(model)
    ]
    return np.asarray(np.maximum(0.0, np.max(needed, axis=0)))


def attribute_privacy(model: QueryModel, epsilon: float, delta: float) -> GaussianNoise:
    """Return independent noise on every statistic, δ split evenly and ε so that there is the least noise."""
    count = model.dimension
    units = range(1, EPSILON_UNITS + 1)
    variances = np.array([attribute_variances(model, epsilon * unit / EPSILON_UNITS, delta / count) for unit in units])
    shares = best_split(variances.T)
    found = [variances[share - 1, k] for k, share in enumerate(shares)]
    return GaussianNoise(axes=np.eye(count), variances=np.array(found))


def best_split(costs: Floats) -> list[int]:
    """Return how many units each row gets, at least 1 each and all columns together, for the least sum of costs.

    >>> best_split(np.array([[9.0, 4.0, 1.0], [9.0, 1.0, 0.5]]))
    [1, 2]
    """
    units = costs.shape[1]
    totals = np.concatenate([[0.0], np.full(units, np.inf)])
    choices = []
    for row in costs:
        options = [totals[: units + 1 - share] + row[share - 1] for share in range(1, units + 1)]
        table = np.array([np.concatenate([np.full(share, np.inf), o]) for share, o in enumerate(options, 1)])
        choices.append(table.argmin(axis=0) + 1)
        totals = table.min(axis=0)
    left, shares = units, []
    for choice in reversed(choices):
        shares.append(int(choice[left]))
        left -= shares[-1]
    return shares[::-1]


def information_for(accuracy: float) -> float:
    r"""Return the information, in nats, at which a secret with two even values is guessed right so often at most.

    Fano's inequality: :math:`I ≥ \ln 2 - h(p)`, h the entropy of a coin; nothing is left to bound from p = 1 on.
    """
    entropy = -sum(p * math.log(p) for p in (accuracy, 1 - accuracy) if p > 0)
    return math.log(2) - entropy


def pac_noise(covariance: Floats, information: float) -> GaussianNoise:
    r"""Return the Gaussian noise of least trace with :math:`\frac12 \log \det(I + C N^{-1}) ≤ v`, in C's own axes.

    Its variances solve :math:`b(b + λ) = κλ`, with κ so that the bound is met.
    """
    spreads, axes = np.linalg.eigh(covariance)

    def variances(kappa: float) -> Floats:
        return np.asarray(np.sqrt(spreads**2 + 4 * kappa * spreads) - spreads) / 2

    def passes(kappa: float) -> bool:
        return float(np.log1p(spreads / variances(kappa)).sum()) / 2 <= information

    kappa = least_passing(passes, 0.0, 1.0, largest=LARGEST**2, within=WITHIN)
    return GaussianNoise(axes=axes, variances=variances(kappa))


def variance_bound_passes(model: QueryModel, information: float) -> Passes:
    r"""Tell of noise whether :math:`I(θ; y) ≤ I(F; y) ≤ \frac12 \log \det(I + C N^{-1})` is small enough."""
    known = PublicKnowledge.of(model).covariance
    return lambda noise: float(np.log1p(eigh(known, noise, eigvals_only=True)).sum()) / 2 <= information


def entropy_bound_passes(model: QueryModel, information: float) -> Passes:
    r"""Tell whether :math:`I(θ; y) ≤ \frac12 \log\det(C + N) - \frac12 \operatorname{mean} \log\det(Σ_θ + N)` is."""
    known = PublicKnowledge.of(model)

    def passes(noise: Floats) -> bool:
        inside = np.linalg.slogdet(known.covariances + noise)[1]
        return float(np.linalg.slogdet(known.covariance + noise)[1] - known.chances @ inside) / 2 <= information

    return passes


def secret_information(shift: Floats, first: Floats, second: Floats) -> float:
    r"""Return the information, in nats, that a draw from one of two Gaussians tells of which of them, odds even.

    An f-divergence is an integral of hockey-stick divergences: :math:`I = \int_0^∞ \frac{H_ε + H_ε'}{2(1 + e^ε)} dε`,
    H' that of the other order; by Gauss and Legendre, on ever longer pieces up to where nothing is left.
    """
    ends = np.array([0.0, *(0.005 * 2.0**k for k in range(14))])
    left = _both_orders(ends, shift, first, second)
    last = int(np.argmax(left < NOTHING * left[0])) or len(ends) - 1
    cuts = np.array([0.0, *ends[max(1, last - PIECES) : last + 1]])
    lengths = np.diff(cuts)
    nodes, weights = np.polynomial.legendre.leggauss(10)
    epsilons = np.ravel(cuts[:-1, np.newaxis] + np.outer(lengths, nodes + 1) / 2)
    inside = _both_orders(epsilons, shift, first, second) / (1 + np.exp(epsilons))
    return float(np.ravel(np.outer(lengths, weights)) @ inside) / 4


def _both_orders(epsilons: Floats, shift: Floats, first: Floats, second: Floats) -> Floats:
    shifts = np.repeat([shift], len(epsilons), axis=0)
    one, other = (np.repeat([law], len(epsilons), axis=0) for law in (first, second))
    return np.asarray(
        sum(gaussian_hockey_sticks(epsilons, shifts, *both).value for both in ((one, other), (other, one)))
    )


def information_passes(model: QueryModel, information: float) -> Passes:
    """Tell of noise whether the release tells no more of the secret, computed exactly."""
    unordered = {frozenset(pair): pair for pair in model.protected_pairs}.values()

    def passes(noise: Floats) -> bool:
        return all(
            secret_information(shift, first + noise, second + noise) <= information
            for shift, first, second in laws(model, unordered)
        )

    return passes


def informed_across(model: QueryModel, information: float, objective: Objective) -> GaussianNoise | None:
    """Return noise along and across the shift, its shape by the entropy bound, its scale by the exact information."""
    shaped = least_across(model, entropy_bound_passes(model, information), objective)
    return None if shaped is None else least_gaussian(shaped.covariance, information_passes(model, information))
