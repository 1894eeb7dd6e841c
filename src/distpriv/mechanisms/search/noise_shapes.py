r"""The shape of noise, up to its scale, by coupled draws: the least noise, or the least error of estimates.

Let Δ be the difference of coupled datasets and φ(t) = δ_G(ε; √t). Gaussian noise N(0, S) is enough if

.. math:: E φ(Δ^⊤ S^{-1} Δ) ≤ δ \tag{1}

for every law of Δ, and Laplace noise of scales b_k along axes v_k if E ψ(Σ_k |v_kᵀΔ|/b_k) ≤ δ, ψ(s) =
:math:`(1 - e^{(ε - s)/2})^+`. At the least weighted variance derivatives vanish, which gives an equation that is solved
for the shape with the last one on its right, again and again. Shapes are chosen by draws that have no part in the
certificate, so that how they are found is no concern of that (`docs/proofs/coupled_gaussian.md`).
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from distpriv.distances.gaussian import gaussian_deltas_upper_bound
from distpriv.framework.arrays import Floats
from distpriv.framework.bisection import least_crossing
from distpriv.mechanisms.search.coupled_draws import Curve, standard
from distpriv.noise.laws import GaussianNoise, LaplaceNoise

__all__ = ["gaussian_shape", "laplace_deltas_upper_bound", "laplace_shape"]


@frozen(kw_only=True)
class ShapeSettings:
    """How shapes are searched for."""

    rounds: int = 10
    """How often the equation of the least noise is solved: every time gains less than the one before."""
    draws: int = 60_000
    """How many differences, of all laws together, choose the shape."""
    thinnest_variance: float = 1e-8
    """The least variance of Gaussian noise, as a share of the largest."""
    thinnest_scale: float = 1e-4
    """The least scale of Laplace noise, as a share of the largest, each in units of the moves along its axis."""
    least_precision: float = 1e-3
    """The least precision in any direction, as a share of all precision, of noise for estimates: it stays readable."""
    known: float = 1e-9
    """The least public variance in any direction, as a share of the mean one: C may be singular."""
    accuracy: float = 1e-4
    """The relative accuracy of the scale of a shape."""
    widest: float = 1e12
    """The largest scale of noise that is tried, in units of the moves; its inverse is the smallest."""


SETTINGS: Final = ShapeSettings()

Trial = Callable[[float], tuple[list[Floats], float, Floats]]
"""From a scale: how long the moves of every law are in units of the noise, its cost, and what it is."""


def laplace_deltas_upper_bound(epsilon: float, lengths: Floats) -> Floats:
    r"""Return a bound on H_ε of Laplace noise and the same noise moved by L1 lengths: :math:`(1 - e^{(ε - s)/2})^+`.

    Exact along one axis. A product of such noise, moved along several axes, is no easier to tell apart than noise on
    one axis that is moved by the sum (`docs/proofs/coupled_laplace.md`, "The bound for one difference").

    >>> laplace_deltas_upper_bound(1.0, np.array([0.5, 1.0, 3.0, np.inf])).round(4)
    array([0.    , 0.    , 0.6321, 1.    ])
    """
    return np.clip(-np.expm1((epsilon - lengths) / 2) * (1 + 1e-15), 0.0, 1.0) + 0.0


def gaussian_shape(
    differences: Sequence[Floats], weights: Floats, epsilon: float, limit: float, *, public: Floats | None = None
) -> tuple[GaussianNoise, float]:
    r"""Return noise of little error for its privacy, up to its scale, and about its own weighted error.

    Noise of covariance S leaves estimates with the error :math:`\operatorname{tr} QM`,
    :math:`M = (C^{-1} + S^{-1})^{-1}` with C the covariance of what is publicly unknown; without `public`, M = S. At
    the least error with (1) the derivative in :math:`S^{-1}` vanishes: M Q M is proportional to
    :math:`E[φ'(Δ^\top S^{-1} Δ) ΔΔ^\top]`, with φ' = 1 to begin with (`docs/proofs/coupled_gaussian.md`, "The shape").

    >>> moves = np.random.default_rng(0).normal(size=(5000, 2)) * [1.0, 0.1]
    >>> noise, _ = gaussian_shape([moves], np.ones(2), 1.0, 0.001, public=np.eye(2))
    >>> bool(noise.covariance[0, 0] > 50 * noise.covariance[1, 1])
    True
    """
    units, moved = standard(differences)
    moving = units > 0
    if not moving.any():
        return _embedded(np.zeros((0, 0)), units), 0.0
    known, root = (0.0, np.eye(int(moving.sum()))) if public is None else (1.0, _unknown_root(public, moving, units))
    laws = [law @ np.linalg.inv(root) for law in _thinned(moved)]  # in coordinates in which C is the identity
    costs = root @ np.diag(weights[moving] * units[moving] ** 2) @ root

    def solution(importance: Sequence[Floats]) -> Trial:
        """Return the noise of every scale with M Q M the moments of the moves by their importance."""
        moments = np.sum([(law.T * weight) @ law / len(law) for law, weight in zip(laws, importance, strict=True)], 0)
        half = _square_root(costs)
        inverse = np.linalg.inv(half)
        variances, axes = np.linalg.eigh(inverse @ _square_root(half @ moments @ half) @ inverse)
        variances = np.maximum(variances / variances[-1], SETTINGS.thinnest_variance)
        along, prices = [(law @ axes) ** 2 for law in laws], np.diag(axes.T @ costs @ axes)

        def at(scale: float) -> tuple[list[Floats], float, Floats]:
            precisions = np.maximum(1 / (scale**2 * variances) - known, 0.0)
            precisions = np.maximum(precisions, known * SETTINGS.least_precision * max(precisions.sum(), 1e-30))
            noise = (root @ axes / precisions) @ (root @ axes).T
            return [np.sqrt(law @ precisions) for law in along], float(prices @ (1 / (known + precisions))), noise

        return at

    curve, slope = partial(gaussian_deltas_upper_bound, epsilon), partial(_gaussian_slope, epsilon)
    covariance = _cheapest([len(law) for law in laws], solution, curve, limit, slope)
    size = units.max()
    variances = np.diag(covariance) * np.square(units[moving] / size)
    return _embedded(covariance, units / size), size * math.sqrt(float(weights[moving] @ variances))


def _thinned(laws: Sequence[Floats]) -> list[Floats]:
    """Return as many differences of every law as choose the shape."""
    return [law[: max(SETTINGS.draws // len(laws), 2)] for law in laws]


def _square_root(matrix: Floats) -> Floats:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def laplace_shape(
    differences: Sequence[Floats], weights: Floats, epsilon: float, limit: float
) -> tuple[LaplaceNoise, float]:
    r"""Return noise of little weighted variance for its privacy, up to its scale, and about its weighted error.

    It is the best of two sets of axes: the statistics themselves, and the principal axes of their differences. At the
    least :math:`Σ_k c_k b_k^2` along given axes the derivative in b_k vanishes: :math:`b_k^3` is proportional to
    :math:`E[ψ'(s) |u_k|] / c_k`, u the differences along the axes (`docs/proofs/coupled_laplace.md`, "The shape").
    """
    units, _ = standard(differences)
    moving = units > 0
    moved = [law[:, moving] / units.max(initial=1e-300) for law in _thinned(differences)]
    if not moving.any():
        return LaplaceNoise(axes=np.zeros((len(units), 0)), scales=np.zeros(0)), 0.0
    second = np.mean([law.T @ law / len(law) for law in moved], axis=0)
    axes_of_either = (np.eye(int(moving.sum())), np.linalg.eigh(second)[1])
    shapes = [(axes, *_laplace_scales(moved, axes, weights[moving], epsilon, limit)) for axes in axes_of_either]
    axes, scales, least = min(shapes, key=lambda shape: shape[2])
    embedded = np.zeros((len(units), len(scales)))
    embedded[moving] = axes
    return LaplaceNoise(axes=embedded, scales=scales), math.sqrt(2 * least) * float(units.max())


def _laplace_scales(
    moved: Sequence[Floats], axes: Floats, weights: Floats, epsilon: float, limit: float
) -> tuple[Floats, float]:
    """Return the scales of noise along the axes, and half its weighted variance at its true scale."""
    along = [np.abs(law @ axes) for law in moved]
    sizes = np.max([law.mean(axis=0) for law in along], axis=0)
    costs = weights @ axes**2

    def solution(importance: Sequence[Floats]) -> Trial:
        pull = np.sum([(weight @ law) / len(law) for law, weight in zip(along, importance, strict=True)], axis=0)
        scales = np.cbrt(pull / costs)
        thinnest = SETTINGS.thinnest_scale * (scales[sizes > 0] / sizes[sizes > 0]).max()
        scales = np.maximum(scales, thinnest * np.maximum(sizes, 1e-12 * sizes.max()))
        lengths = [(law / scales).sum(axis=1) for law in along]
        return lambda scale: ([law / scale for law in lengths], scale**2 * float(costs @ scales**2), scale * scales)

    def slope(lengths: Floats) -> Floats:
        return np.where(lengths > epsilon, np.exp(np.minimum((epsilon - lengths) / 2, 0.0)), 0.0)

    curve = partial(laplace_deltas_upper_bound, epsilon)
    scales = _cheapest([len(law) for law in along], solution, curve, limit, slope)
    return scales, float(costs @ scales**2)


def _cheapest(
    sizes: Sequence[int],
    solution: Callable[[Sequence[Floats]], Trial],
    curve: Curve,
    limit: float,
    slope: Callable[[Floats], Floats],
) -> Floats:
    """Solve the equation of the least noise again and again; return the cheapest noise at its scale.

    Moves are as important as δ is steep in their lengths, and several laws count by how near to the limit they come.
    """
    importance, shares = [np.ones(size) for size in sizes], np.ones(len(sizes))
    best, least, scale = np.zeros(0), math.inf, 1.0
    for _ in range(SETTINGS.rounds):
        at = solution([share * weight for share, weight in zip(shares, importance, strict=True)])

        def excess(scale: float, at: Trial = at) -> float:
            largest = max(float(curve(law).mean()) for law in at(scale)[0])
            return math.log(max(largest, 1e-300) / limit)

        wide = SETTINGS.widest
        scale = least_crossing(excess, min(scale, wide), least=1 / wide, largest=wide, within=SETTINGS.accuracy)
        lengths, cost, noise = at(scale)
        if cost < least:
            best, least = noise, cost
        importance = [slope(law) for law in lengths]
        shares = shares * [(float(curve(law).mean()) / limit) ** 2 for law in lengths]
        if not any(weight.any() for weight in importance):  # they move so seldom that hardly any noise is needed
            break
    return best


def _embedded(covariance: Floats, units: Floats) -> GaussianNoise:
    """Return the noise in the statistics' own units, none in those that never move."""
    moving = units > 0
    values, vectors = np.linalg.eigh(covariance * np.outer(units[moving], units[moving]))
    axes = np.zeros((len(units), len(values)))
    axes[moving] = vectors
    return GaussianNoise(axes=axes, variances=np.maximum(values, 1e-15 * values.max(initial=0.0)))


def _gaussian_slope(epsilon: float, distances: Floats) -> Floats:
    """Return φ' up to a factor, φ(t) = δ_G(ε; √t): the normal density at r/2 − ε/r, over r."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        density = np.exp(-((distances / 2 - epsilon / distances) ** 2) / 2)
        return np.where(distances > 0, density / distances, 0.0)


def _unknown_root(public: Floats, moving: NDArray[np.bool_], units: Floats) -> Floats:
    """Return the root of C of what moves, given what never does and is published as it is, in units of the moves."""
    inside = public[np.ix_(moving, moving)]
    if not moving.all():
        across = public[np.ix_(moving, ~moving)]
        inside = inside - across @ np.linalg.pinv(public[np.ix_(~moving, ~moving)]) @ across.T
    values, vectors = np.linalg.eigh(inside / np.outer(units[moving], units[moving]))
    return np.asarray((vectors * np.sqrt(np.maximum(values, SETTINGS.known * values.mean()))) @ vectors.T)
