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
from distpriv.framework.arrays import Floats, array_field
from distpriv.mechanisms.search.coupled_draws import ROUGH, Curve, Lengths, Shape, length, pilot_scale, standard
from distpriv.noise.laws import GaussianNoise, LaplaceNoise

__all__ = ["gaussian_shape", "informative_shape", "laplace_deltas_upper_bound", "laplace_shape", "shape_for"]


@frozen(kw_only=True)
class ShapeSettings:
    """How shapes are searched for."""

    gaussian_rounds: int = 10
    """How often the equation of the least Gaussian noise is solved: every time gains less than the one before."""
    laplace_rounds: int = 8
    """The same of Laplace noise."""
    thinnest_variance: float = 1e-8
    """No variance of Gaussian noise is a less share of the largest."""
    thinnest_scale: float = 1e-4
    """No scale of Laplace noise is a less share of the largest, each in units of the moves along its axis."""
    draws: int = 20_000
    """How many differences of all laws together choose the shape that is best for estimates."""
    least_precision: float = 1e-3
    """c of K₁: the least precision in any direction, as a share of all precision."""
    sharpness: int = 16
    """The power by which scales of several laws are averaged (3): the largest counts most."""
    steps: int = 200
    """The most steps of the search for the shape that is best for estimates; a few dozen are the rule."""
    statistics: int = 60
    """Of more statistics that search takes too long, and they get the shape of the least noise."""
    known: float = 1e-9
    """What is unknown in any direction at the least, as a share of what is unknown on average: C may be singular."""


SETTINGS: Final = ShapeSettings()


def laplace_deltas_upper_bound(epsilon: float, lengths: Floats) -> Floats:
    r"""Return a bound on H_ε of Laplace noise and the same noise moved by L1 lengths: :math:`(1 - e^{(ε - s)/2})^+`.

    Exact along one axis. A product of such noise, moved along several axes, is no easier to tell apart than noise on
    one axis that is moved by the sum (`docs/proofs/coupled_laplace.md`, "The bound for one difference").

    >>> laplace_deltas_upper_bound(1.0, np.array([0.5, 1.0, 3.0, np.inf])).round(4)
    array([0.    , 0.    , 0.6321, 1.    ])
    """
    return np.clip(-np.expm1((epsilon - lengths) / 2) * (1 + 1e-15), 0.0, 1.0) + 0.0


def shape_for(public: Floats | None) -> Shape:
    """Return how the shape is chosen: for estimates where what is publicly unknown is given, else for little noise."""
    if public is None or len(public) > SETTINGS.statistics:
        return gaussian_shape
    return partial(informative_shape, public)


def gaussian_shape(
    differences: Sequence[Floats], weights: Floats, epsilon: float, limit: float
) -> tuple[GaussianNoise, float]:
    r"""Return noise of little weighted variance for its privacy, up to its scale, and about its weighted error.

    At the least :math:`\operatorname{tr}(QS)` with (1) the derivative in S vanishes: S Q S is proportional to
    :math:`E[φ'(Δ^⊤ S^{-1} Δ) ΔΔ^⊤]`, with φ' = 1 to begin with (`docs/proofs/coupled_gaussian.md`, "The shape").
    """
    units, moved = standard(differences)
    moving = units > 0
    root = np.sqrt(weights[moving]) * units[moving]

    def solution(importance: Sequence[Floats]) -> tuple[Floats, list[Floats], float]:
        """Return S with S Q S the moments of the moves by their importance, the moves' lengths, and its error."""
        moments = np.sum([(law.T * weight) @ law / len(law) for law, weight in zip(moved, importance, strict=True)], 0)
        values, vectors = np.linalg.eigh(moments * np.outer(root, root))
        inside = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T / np.outer(root, root)
        values, vectors = np.linalg.eigh(inside / np.abs(inside).max())
        values = np.maximum(values, SETTINGS.thinnest_variance * values.max())
        covariance = np.asarray((vectors * values) @ vectors.T)
        lengths = [length(vectors / np.sqrt(values), 2, law) for law in moved]
        return covariance, lengths, float(root**2 @ np.diag(covariance))

    curve = partial(gaussian_deltas_upper_bound, epsilon)
    best, least = np.eye(len(root)), 0.0
    if len(root):
        best, least = _cheapest(
            SETTINGS.gaussian_rounds, moved, solution, curve, limit, lambda s: _gaussian_slope(epsilon, s)
        )
    return _embedded(best, units / units.max(initial=1e-300)), math.sqrt(least)


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
    moved = [law[:, moving] / units.max(initial=1e-300) for law in differences]
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

    def solution(importance: Sequence[Floats]) -> tuple[Floats, list[Floats], float]:
        pull = np.sum([(weight @ law) / len(law) for law, weight in zip(along, importance, strict=True)], axis=0)
        scales = np.cbrt(pull / costs)
        thinnest = SETTINGS.thinnest_scale * (scales[sizes > 0] / sizes[sizes > 0]).max()
        scales = np.maximum(scales, thinnest * np.maximum(sizes, 1e-12 * sizes.max()))
        return scales, [(law / scales).sum(axis=1) for law in along], float(costs @ scales**2)

    def slope(lengths: Floats) -> Floats:
        return np.where(lengths > epsilon, np.exp(np.minimum((epsilon - lengths) / 2, 0.0)), 0.0)

    curve = partial(laplace_deltas_upper_bound, epsilon)
    return _cheapest(SETTINGS.laplace_rounds, along, solution, curve, limit, slope)


def _cheapest(
    rounds: int,
    moved: Sequence[Floats],
    solution: Callable[[Sequence[Floats]], tuple[Floats, list[Floats], float]],
    curve: Curve,
    limit: float,
    slope: Callable[[Floats], Floats],
) -> tuple[Floats, float]:
    """Solve the equation of the least noise again and again; return the cheapest solution, and its cost at its scale.

    Moves are as important as δ is steep in their lengths, and several laws count by how near to the limit they come.
    """
    importance, shares = [np.ones(len(law)) for law in moved], np.ones(len(moved))
    best, least = np.zeros(0), np.inf
    for _ in range(rounds):
        shape, lengths, cost = solution([share * weight for share, weight in zip(shares, importance, strict=True)])
        rough = [Lengths.rounded_up(law, per_octave=ROUGH) for law in lengths]
        scale = pilot_scale(rough, curve, limit)
        if scale**2 * cost < least:
            best, least = shape, scale**2 * cost
        importance = [slope(law / scale) for law in lengths]
        shares = shares * [(law.mean(curve, scale) / limit) ** 2 for law in rough]
        if not any(weight.any() for weight in importance):  # they move so seldom that hardly any noise is needed
            break
    return best, least


def informative_shape(
    public: Floats, differences: Sequence[Floats], weights: Floats, epsilon: float, limit: float
) -> tuple[GaussianNoise, float]:
    r"""Return the noise after which estimates err least, up to its scale, and about its own weighted error.

    Noise of precision K leaves estimates with the error :math:`\operatorname{tr} Q (C^{-1} + K)^{-1}`, C what is
    publicly unknown. In coordinates in which C is the identity, K = s⁻² K₁ with K₁ = LLᵀ + c tr(LLᵀ) I for any square
    L, and s the least scale at which (1) holds; c keeps noise readable where nothing is worth publishing. With
    M = (I + K)⁻¹, P = M Q M and w = φ'(ΔᵀKΔ), differentiating (1) gives the gradient in K₁

    .. math:: -s^{-2} P + \operatorname{tr}(P K) \, A, \qquad A = ∇ \log s^2 = E[w Δ Δ^⊤] / E[w Δ^⊤ K_1 Δ]. \tag{2}

    Where there are several laws, s is a smooth maximum of theirs during the search (3).

    >>> rng = np.random.default_rng(0)
    >>> moves = rng.normal(size=(5000, 2)) * [1.0, 0.1]
    >>> noise, _ = informative_shape(np.eye(2), [moves], np.ones(2), 1.0, 0.001)
    >>> bool(noise.covariance[0, 0] > 50 * noise.covariance[1, 1])
    True
    """
    units, moved = standard(differences)
    moving = units > 0
    if not moving.any():
        return _embedded(np.zeros((0, 0)), units), 0.0
    shape = _Shape.of(_unknown(public, moving, units), moved, np.sqrt(weights[moving]) * units[moving], epsilon, limit)
    covariance = shape.best()
    size = units.max()
    variances = np.diag(covariance) * np.square(units[moving] / size)
    return _embedded(covariance, units / size), size * math.sqrt(float(weights[moving] @ variances))


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


@frozen(kw_only=True)
class _Shape:
    """The search, in coordinates in which what is unknown is the identity."""

    root: Floats = array_field()
    """C^{1/2}."""
    costs: Floats = array_field()
    """C^{1/2} Q C^{1/2}."""
    laws: tuple[Floats, ...]
    """Draws of C^{-1/2} Δ."""
    epsilon: float
    limit: float

    @classmethod
    def of(cls, unknown: Floats, moved: Sequence[Floats], weights: Floats, epsilon: float, limit: float) -> "_Shape":
        values, vectors = np.linalg.eigh(unknown)
        values = np.maximum(values, SETTINGS.known * values.mean())
        root = (vectors * np.sqrt(values)) @ vectors.T
        inverse = (vectors / np.sqrt(values)) @ vectors.T
        draws_of_one_law = max(SETTINGS.draws // len(moved), 2)
        return cls(
            root=root,
            costs=root @ np.diag(weights**2) @ root,
            laws=tuple(law[:draws_of_one_law] @ inverse for law in moved),
            epsilon=epsilon,
            limit=limit,
        )

    def best(self) -> Floats:
        """Return the covariance of the noise, at about the scale that it needs."""
        from scipy.optimize import minimize

        size = len(self.root)
        moments = sum((law.T @ law / len(law) for law in self.laws), np.zeros((size, size)))
        values, vectors = np.linalg.eigh(moments)
        start = (vectors / np.sqrt(np.maximum(values, 1e-12 * values.max()))) @ vectors.T
        start /= np.abs(start).max()
        solution = minimize(
            self._error, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": SETTINGS.steps}
        )
        precision = _precision(solution.x.reshape(size, size))
        scale = max(self._scale(law, precision)[0] for law in self.laws)
        return np.asarray(self.root @ np.linalg.inv(precision) @ self.root * scale**2)

    def _error(self, flat: Floats) -> tuple[float, Floats]:
        """Return the squared error of estimates at a shape, and its gradient in L (2)."""
        size = len(self.root)
        factor = flat.reshape(size, size)
        precision = _precision(factor)
        needs = [self._scale(law, precision) for law in self.laws]
        scales = np.array([scale for scale, _ in needs])
        parts = (scales / scales.max()) ** SETTINGS.sharpness
        scale = scales.max() * parts.mean() ** (1 / SETTINGS.sharpness)  # (3)
        slopes = np.tensordot(parts / parts.sum(), [growth for _, growth in needs], axes=1)
        left = np.linalg.inv(np.eye(size) + precision / scale**2)
        pull = left @ self.costs @ left
        gradient = float((pull * precision).sum()) / scale**2 * slopes - pull / scale**2
        through = gradient + SETTINGS.least_precision * np.trace(gradient) * np.eye(size)
        return float((self.costs * left).sum()), np.asarray(2 * through @ factor).ravel()

    def _scale(self, law: Floats, precision: Floats) -> tuple[float, Floats]:
        """Return the scale that one law needs, and A of (2), how fast the logarithm of its square grows with K₁."""
        squares = np.maximum(((law @ precision) * law).sum(axis=1), 0.0)
        lengths = np.sqrt(squares)
        curve = partial(gaussian_deltas_upper_bound, self.epsilon)
        scale = pilot_scale([Lengths.rounded_up(lengths, ROUGH)], curve, self.limit)
        weights = _gaussian_slope(self.epsilon, lengths / scale)
        total = float(weights @ squares)
        return scale, (law.T * weights) @ law / total if total > 0 else np.zeros_like(precision)


def _precision(factor: Floats) -> Floats:
    """Return K₁ = LLᵀ + c tr(LLᵀ) I."""
    square = factor @ factor.T
    return np.asarray(square + SETTINGS.least_precision * np.trace(square) * np.eye(len(square)))


def _unknown(public: Floats, moving: NDArray[np.bool_], units: Floats) -> Floats:
    """Return C of what moves, given what never does and is published as it is, in units of the largest moves."""
    inside = public[np.ix_(moving, moving)]
    if not moving.all():
        across = public[np.ix_(moving, ~moving)]
        inside = inside - across @ np.linalg.pinv(public[np.ix_(~moving, ~moving)]) @ across.T
    return np.asarray(inside / np.outer(units[moving], units[moving]))
