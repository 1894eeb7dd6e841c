r"""The shape of Gaussian noise after which estimates have the least error, by coupled draws.

Let C be what is publicly unknown of the statistics, Δ the difference of coupled datasets and φ(t) = δ_G(ε; √t). Noise
of precision K leaves estimates with the error :math:`\operatorname{tr} Q (C^{-1} + K)^{-1}`, and is enough if

.. math:: E φ(Δ^⊤ K Δ) ≤ δ \tag{1}

for every law of Δ. In coordinates in which C is the identity, K = s⁻² K₁ with K₁ = LLᵀ + c tr(LLᵀ) I for any square L,
and s the least scale at which (1) holds; c keeps noise readable where nothing is worth publishing. With
M = (I + K)⁻¹, P = M Q M and w = φ'(ΔᵀKΔ), differentiating (1) gives the gradient in K₁

.. math:: -s^{-2} P + \operatorname{tr}(P K) \, A, \qquad A = ∇ \log s^2 = E[w Δ Δ^⊤] / E[w Δ^⊤ K_1 Δ]. \tag{2}

Where there are several laws, s is a smooth maximum of theirs during the search (3). The shape is chosen by draws that
have no part in the certificate, so that how it was found is no concern of that (`docs/proofs/coupled_gaussian.md`).
"""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from distpriv.distances.gaussian import gaussian_deltas_upper_bound
from distpriv.framework.arrays import Floats, array_field
from distpriv.mechanisms.search.move_lengths import ROUGH, Lengths, pilot_scale, standard
from distpriv.noise.laws import GaussianNoise

__all__ = ["MOST_STATISTICS", "embedded", "informative_shape", "slope"]

DRAWS = 20_000
"""How many differences of all laws together choose the shape."""

LEAST_PRECISION = 1e-3
"""c of (1): the least precision in any direction, as a share of all precision."""

SHARPNESS = 16
"""The power by which scales of several laws are averaged (3): the largest counts most."""

STEPS = 200
"""The most steps of the search; a few dozen are the rule."""

MOST_STATISTICS = 60
"""Beyond so many statistics the search over all shapes takes too long."""

KNOWN = 1e-9
"""What is unknown in any direction at the least, as a share of what is unknown on average: C may be singular."""


def informative_shape(
    public: Floats, differences: Sequence[Floats], weights: Floats, epsilon: float, limit: float
) -> tuple[GaussianNoise, float]:
    """Return the noise after which estimates err least, up to its scale, and about its own weighted error.

    >>> rng = np.random.default_rng(0)
    >>> moves = rng.normal(size=(5000, 2)) * [1.0, 0.1]
    >>> noise, _ = informative_shape(np.eye(2), [moves], np.ones(2), 1.0, 0.001)
    >>> values = noise.covariance
    >>> bool(values[0, 0] > 50 * values[1, 1])
    True
    """
    units, moved = standard(differences)
    moving = units > 0
    if not moving.any():
        return embedded(np.zeros((0, 0)), units), 0.0
    shape = _Shape.of(_unknown(public, moving, units), moved, np.sqrt(weights[moving]) * units[moving], epsilon, limit)
    covariance = shape.best()
    size = units.max()
    variances = np.diag(covariance) * np.square(units[moving] / size)
    return embedded(covariance, units / size), size * math.sqrt(float(weights[moving] @ variances))


def embedded(covariance: Floats, units: Floats) -> GaussianNoise:
    """Return the noise in the statistics' own units, none in those that never move."""
    moving = units > 0
    values, vectors = np.linalg.eigh(covariance * np.outer(units[moving], units[moving]))
    axes = np.zeros((len(units), len(values)))
    axes[moving] = vectors
    return GaussianNoise(axes=axes, variances=np.maximum(values, 1e-15 * values.max(initial=0.0)))


def slope(epsilon: float, distances: Floats) -> Floats:
    """Return φ' up to a factor, φ(t) = δ_G(ε; √t): the normal density at r/2 − ε/r, over r."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = np.exp(-((distances / 2 - epsilon / distances) ** 2) / 2) / distances
    return np.where(distances > 0, found, 0.0)


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
        values = np.maximum(values, KNOWN * values.mean())
        root = (vectors * np.sqrt(values)) @ vectors.T
        inverse = (vectors / np.sqrt(values)) @ vectors.T
        each = max(DRAWS // len(moved), 2)
        return cls(
            root=root,
            costs=root @ np.diag(weights**2) @ root,
            laws=tuple(law[:each] @ inverse for law in moved),
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
        found = minimize(self._error, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
        precision = _precision(found.x.reshape(size, size))
        scale = max(self._scale(law, precision)[0] for law in self.laws)
        return np.asarray(self.root @ np.linalg.inv(precision) @ self.root * scale**2)

    def _error(self, flat: Floats) -> tuple[float, Floats]:
        """Return the squared error of estimates at a shape, and its gradient in L (2)."""
        size = len(self.root)
        factor = flat.reshape(size, size)
        precision = _precision(factor)
        found = [self._scale(law, precision) for law in self.laws]
        scales = np.array([scale for scale, _ in found])
        parts = (scales / scales.max()) ** SHARPNESS
        scale = scales.max() * parts.mean() ** (1 / SHARPNESS)  # (3)
        slopes = np.tensordot(parts / parts.sum(), [growth for _, growth in found], axes=1)
        left = np.linalg.inv(np.eye(size) + precision / scale**2)
        pull = left @ self.costs @ left
        gradient = float((pull * precision).sum()) / scale**2 * slopes - pull / scale**2
        through = gradient + LEAST_PRECISION * np.trace(gradient) * np.eye(size)
        return float((self.costs * left).sum()), np.asarray(2 * through @ factor).ravel()

    def _scale(self, law: Floats, precision: Floats) -> tuple[float, Floats]:
        """Return the scale that one law needs, and A of (2), how fast the logarithm of its square grows with K₁."""
        squares = np.maximum(((law @ precision) * law).sum(axis=1), 0.0)
        lengths = np.sqrt(squares)
        curve = partial(gaussian_deltas_upper_bound, self.epsilon)
        scale = pilot_scale([Lengths.rounded_up(lengths, ROUGH)], curve, self.limit)
        weights = slope(self.epsilon, lengths / scale)
        total = float(weights @ squares)
        return scale, (law.T * weights) @ law / total if total > 0 else np.zeros_like(precision)


def _precision(factor: Floats) -> Floats:
    """Return K₁ of (1)."""
    square = factor @ factor.T
    return np.asarray(square + LEAST_PRECISION * np.trace(square) * np.eye(len(square)))


def _unknown(public: Floats, moving: NDArray[np.bool_], units: Floats) -> Floats:
    """Return C of what moves, given what never does and is published as it is, in units of the largest moves."""
    inside = public[np.ix_(moving, moving)]
    if not moving.all():
        across = public[np.ix_(moving, ~moving)]
        inside = inside - across @ np.linalg.pinv(public[np.ix_(~moving, ~moving)]) @ across.T
    return np.asarray(inside / np.outer(units[moving], units[moving]))
