r"""How the divergences of many pairs of Gaussians change when noise is added to both laws: estimates, to search with.

The contour integral of :mod:`distpriv.distances.gaussian_divergence`, for C₁ = Σ₁ + S and C₂ = Σ₂ + S, differentiated
under the integral sign. In axes T with T C₂ Tᵀ = I and T C₁ Tᵀ = diag(a), and with x = a - 1, b = T(μ₁ - μ₂) and
w = 1/(1 - sx), the derivative of log K in S is -s(1+s)/2 · Tᵀ(diag(x² w/a) + (wb)(wb)ᵀ)T: the poles of g cancel, and

.. math:: ∇_S H_ε = -\frac{1}{4πi} \int K(s) e^{-sε} \, Tᵀ(\mathrm{diag}(x^2 w/a) + (wb)(wb)ᵀ)T \, ds.

No error is bounded here. What is found with these numbers is checked by the exact divergence before it is promised.
"""

import math
from typing import Any, Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats

__all__ = ["Slopes", "hockey_stick_estimates"]

Points = NDArray[Any]
"""Real or complex numbers."""

STEP: Final = 0.1
# Contours by their tilt φ and their number of nodes, tried in turn. Far up, g turns and decays like e^{-Rs} with
# R = ε + Σ (log a)/2 + Σ b²/2(a - 1), times |s|^{-m/2}. Where R is near 0, as for ε = 0 and equal determinants, only
# that power is left, and the short contours, which reach 1500 κ, may cut a part in a thousand of the gradient off.
CONTOURS: Final = tuple((tilt, nodes) for nodes in (80, 240) for tilt in (0.0, -0.39, 0.39))
# A contour whose last term is below this share of all terms of the gradient needs no better one.
GOOD_ENOUGH: Final = 1e-9
# Pairs at a time, so that arrays stay small.
BLOCK: Final = 256


@frozen(eq=False)
class Slopes:
    """H_ε of every pair, and its gradient in the covariance of the noise, a negative semidefinite matrix each."""

    values: Floats
    gradients: Floats


def hockey_stick_estimates(
    epsilons: Floats, mean_differences: Floats, covariances_1: Floats, covariances_2: Floats
) -> Slopes:
    """Estimate H_ε(N(μ₁, C₁) ‖ N(μ₂, C₂)) and its gradient in noise added to both, for many pairs at once.

    Args:
        epsilons: ε ≥ 0 of every pair.
        mean_differences: μ₁ - μ₂, one a row.
        covariances_1: C₁ of every pair, positive definite.
        covariances_2: C₂, likewise.

    >>> found = hockey_stick_estimates(np.zeros(1), np.zeros((1, 1)), np.array([[[1.0]]]), np.array([[[4.0]]]))
    >>> found.values.round(6)
    array([0.322675])
    """
    blocks = [slice(start, start + BLOCK) for start in range(0, len(epsilons), BLOCK)]
    with np.errstate(all="ignore"):  # far from the saddle point terms overflow, and are left out
        found = [
            _estimates(epsilons[b], mean_differences[b], covariances_1[b] - covariances_2[b], covariances_2[b])
            for b in blocks
        ]
    return Slopes(np.concatenate([f.values for f in found]), np.concatenate([f.gradients for f in found]))


def _estimates(epsilons: Floats, shifts: Floats, differences: Floats, seconds: Floats) -> Slopes:
    whitening = np.linalg.inv(np.linalg.cholesky(seconds))
    excess, basis = np.linalg.eigh(whitening @ differences @ whitening.transpose(0, 2, 1))
    excess = np.maximum(excess, 1e-15 - 1)
    axes = basis.transpose(0, 2, 1) @ whitening
    moved = (axes @ shifts[:, :, np.newaxis])[:, :, 0]
    pairs = _Pairs(epsilons, excess, moved)
    vertex = pairs.saddle_points()
    value, tail = np.zeros(len(epsilons)), np.full(len(epsilons), np.inf)
    inner = np.zeros_like(seconds)
    for tilt, nodes in CONTOURS:
        poor = np.flatnonzero(tail > GOOD_ENOUGH)
        if not len(poor):
            break
        some = _Pairs(epsilons[poor], excess[poor], moved[poor])
        found, slopes, left = _along(some, vertex[poor], tilt, STEP * (np.arange(nodes) + 0.5))
        better = left < tail[poor]
        value[poor[better]], inner[poor[better]], tail[poor[better]] = found[better], slopes[better], left[better]
    gradients = axes.transpose(0, 2, 1) @ inner @ axes
    return Slopes(np.clip(value, 0.0, 1.0), (gradients + gradients.transpose(0, 2, 1)) / 2)


@frozen(eq=False)
class _Pairs:
    """log g of every pair, at points of its own in every row of s."""

    epsilons: Floats
    excess: Floats
    shift: Floats

    @property
    def rate(self) -> Floats:
        return np.asarray(self.epsilons + np.log1p(self.excess).sum(axis=1) / 2)

    def resolvent(self, s: Points) -> Points:
        return np.asarray(1.0 / (1.0 - s[:, :, np.newaxis] * self.excess[:, np.newaxis, :]))

    def log(self, s: Points, w: Points) -> Points:
        pull = (w @ np.square(self.shift)[:, :, np.newaxis])[:, :, 0]
        quadratic = s * (1 + s) * pull + np.log(w).sum(axis=-1)
        return np.asarray(quadratic / 2 - s * self.rate[:, np.newaxis] - np.log(s) - np.log(1 + s))

    def slope(self, s: Points, w: Points) -> Points:
        square, excess = np.square(self.shift)[:, :, np.newaxis], self.excess[:, :, np.newaxis]
        first, second = (w @ square)[:, :, 0], (w**2 @ (excess * square))[:, :, 0]
        quadratic = (1 + 2 * s) * first + s * (1 + s) * second + (w @ excess)[:, :, 0]
        return np.asarray(quadratic / 2 - self.rate[:, np.newaxis] - 1 / s - 1 / (1 + s))

    def saddle_points(self) -> Floats:
        """Where log g is least on the strip 0 < s < 1/(max a - 1); any point near it will do."""
        widest = np.maximum(0.0, self.excess.max(axis=1))[:, np.newaxis]
        low, high = np.full(len(widest), -40.0), np.full(len(widest), 40.0)
        rows = np.arange(len(widest))
        for _ in range(5):
            logits = np.linspace(low, high, 33, axis=1)
            s = 1.0 / (np.exp(-logits) + widest)
            w = self.resolvent(s)
            heights = np.where((w > 0).all(axis=-1), self.log(s, w), np.inf)
            least = np.fmin(heights, np.inf).argmin(axis=1)
            low, high = logits[rows, np.maximum(least - 1, 0)], logits[rows, np.minimum(least + 1, 32)]
        return np.asarray(s[rows, least])

    def width(self, vertex: Floats) -> Floats:
        """(d²/ds² log g)^{-1/2} at the saddle point."""
        s = vertex[:, np.newaxis]
        w = self.resolvent(s)[:, 0, :]
        terms = (self.excess * w) ** 2 / 2 + (1 + self.excess) * self.shift**2 * w**3
        return np.asarray((terms.sum(axis=1) + vertex**-2.0 + (1 + vertex) ** -2.0) ** -0.5)


def _along(pairs: _Pairs, vertex: Floats, tilt: float, nodes: Points) -> tuple[Floats, Floats, Floats]:
    """Return values, gradients in the common axes, and the share of the last term, on one contour for every pair.

    The contour is s(u) = c + κ (sin(φ + iu) - sin φ), as in :mod:`distpriv.distances.gaussian_contour`.
    """
    scale = pairs.width(vertex)[:, np.newaxis]
    s = vertex[:, np.newaxis] + scale * (np.sin(tilt + 1j * nodes) - math.sin(tilt))
    speed = 1j * scale * np.cos(tilt + 1j * nodes)
    w = pairs.resolvent(s)
    logs = pairs.log(s, w)
    real = vertex[:, np.newaxis]
    peak = pairs.log(real, pairs.resolvent(real))
    turning = np.abs(pairs.slope(s, w) * speed)
    stopped = np.maximum.accumulate(~(turning < 0.9 * 2 * math.pi / STEP), axis=1)
    terms = np.exp(logs - peak) * speed * s * (1 + s)
    terms = np.where(stopped | ~np.isfinite(terms), 0.0, terms)
    factor = np.exp(peak[:, 0]) * STEP / math.pi
    value = factor * (terms / (s * (1 + s))).imag.sum(axis=1)
    # The matrix of the gradient: diag(x²w/a) + (wb)(wb)ᵀ.
    pulled, uneven = w * pairs.shift[:, np.newaxis, :], pairs.excess**2 / (1 + pairs.excess)
    inner = ((terms[:, :, np.newaxis] * pulled).transpose(0, 2, 1) @ pulled).imag
    widened = (terms[:, np.newaxis, :] @ w).imag[:, 0, :] * uneven
    inner[:, np.arange(widened.shape[1]), np.arange(widened.shape[1])] += widened
    length = np.abs(w)
    trace = length @ uneven[:, :, np.newaxis] + length**2 @ np.square(pairs.shift)[:, :, np.newaxis]
    sizes = np.abs(terms) * trace[:, :, 0]
    last = np.maximum(len(nodes) - 1 - stopped.sum(axis=1), 0)
    tail = sizes[np.arange(len(last)), last] / np.maximum(sizes.sum(axis=1), 1e-300)
    return value, np.asarray(-0.5 * factor[:, np.newaxis, np.newaxis] * inner), tail
