r"""The divergences of many pairs of Gaussians, and how they change with noise added to both: estimates, to search with.

The contour integral of :mod:`distpriv.distances.gaussian_divergence`, with fewer nodes. For C₁ = Σ₁ + S and
C₂ = Σ₂ + S it may be differentiated under the integral sign. In axes T with T C₂ Tᵀ = I and T C₁ Tᵀ = diag(a), and with
x = a - 1, b = T(μ₁ - μ₂) and w = 1/(1 - sx), the derivative of log K in S is
-s(1+s)/2 · Tᵀ(diag(x² w/a) + (wb)(wb)ᵀ)T: the poles of g cancel, and

.. math:: ∇_S H_ε = -\frac{1}{4πi} \int K(s) e^{-sε} \, Tᵀ(\mathrm{diag}(x^2 w/a) + (wb)(wb)ᵀ)T \, ds.

No error is bounded here. What is found with these numbers is checked by the exact divergence before it is promised.
"""

import contextlib
import math
from typing import Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from distpriv.distances.gaussian_axes import CommonAxes
from distpriv.distances.gaussian_contour import Contours, Saddles
from distpriv.distances.gaussian_integrand import Complex, Integrand, Local
from distpriv.framework.arrays import Floats

__all__ = ["Slopes", "hockey_stick_estimates", "hockey_stick_slopes", "hockey_stick_values"]

STEP: Final = 0.1
# Contours by their tilt φ and their number of nodes, tried in turn. Far up, g turns and decays like e^{-Rs} with
# R = ε + Σ (log a)/2 + Σ b²/2(a - 1), times |s|^{-m/2}. Where R is near 0, as for ε = 0 and equal determinants, only
# that power is left, and the short contours, which reach 1500 κ, may cut a part in a thousand of the gradient off.
CONTOURS: Final = tuple((tilt, nodes) for nodes in (80, 240) for tilt in (0.0, -0.39, 0.39))
# A contour whose last term is below this share of all terms of the gradient needs no better one.
GOOD_ENOUGH: Final = 1e-9
# Pairs at a time, so that arrays stay small: with gradients, and without, where they fit into a processor's cache.
BLOCK, SMALL_BLOCK = 256, 64
# How many numbers the covariances of a block have at most.
BLOCK_NUMBERS: Final = 2**20
# Nodes of the one contour that values alone are taken on.
NODES: Final = 48
# How often the interval that a saddle is in is divided by 32: until it is known to a fiftieth of itself.
ROUNDS: Final = 3
# The shares of themselves by which covariances are made regular, in turn.
REGULAR: Final = (1e-13, 1e-9, 1e-6, 1e-3)


@frozen(eq=False)
class Slopes:
    """H_ε of every pair, and its gradient in the covariance of the noise, a negative semidefinite matrix each."""

    values: Floats
    gradients: Floats


def hockey_stick_estimates(
    epsilons: Floats,
    mean_differences: Floats,
    covariances_1: Floats,
    covariances_2: Floats,
    which: NDArray[np.intp] | None = None,
) -> Floats:
    """Estimate H_ε(N(μ₁, C₁) ‖ N(μ₂, C₂)) for many pairs at once, to a few percent; the covariances may be singular.

    Pairs are rows; `which` numbers their covariances, where several pairs have the same.

    >>> one = np.ones((1, 1, 1))
    >>> hockey_stick_estimates(np.zeros(1), np.zeros((1, 1)), one, 4 * one).round(2)  # 0.3227 in truth
    array([0.32])
    """
    which = np.arange(len(epsilons)) if which is None else which
    excess, shift = _regular_axes(mean_differences, covariances_1, covariances_2, which)
    blocks = [slice(start, start + SMALL_BLOCK) for start in range(0, len(epsilons), SMALL_BLOCK)]
    with np.errstate(all="ignore"):
        return np.concatenate([_values(epsilons[b], excess[b], shift[b]) for b in blocks])


def _values(epsilons: Floats, excess: Floats, shift: Floats) -> Floats:
    contours = Contours(_saddles(epsilons, excess, shift), 0.0, 0.0, STEP)
    return np.clip(_on(contours, NODES).value, 0.0, 1.0)


def _regular_axes(shifts: Floats, firsts: Floats, seconds: Floats, which: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return a - 1 and b of every pair, of covariances that are made regular by as little as it takes."""
    deviation = np.sqrt(np.maximum(np.diagonal(firsts + seconds, axis1=1, axis2=2), 0.0) / 2)
    deviation = np.where(deviation > 0, deviation, 1.0)
    unit = deviation[:, :, np.newaxis] * deviation[:, np.newaxis, :]
    whitening = _whitening(seconds / unit)
    excess, basis = np.linalg.eigh(whitening @ ((firsts - seconds) / unit) @ whitening.transpose(0, 2, 1))
    axes = basis.transpose(0, 2, 1) @ whitening / deviation[:, np.newaxis, :]
    return np.maximum(excess, 1e-12 - 1)[which], (axes[which] @ shifts[:, :, np.newaxis])[:, :, 0]


def _whitening(matrices: Floats) -> Floats:
    one = np.eye(matrices.shape[-1])
    for share in REGULAR:
        with contextlib.suppress(np.linalg.LinAlgError):
            return np.asarray(np.linalg.inv(np.linalg.cholesky(matrices + share * one)))
    return np.broadcast_to(one, matrices.shape)


def hockey_stick_slopes(
    epsilons: Floats, mean_differences: Floats, covariances_1: Floats, covariances_2: Floats
) -> Slopes:
    """Estimate H_ε(N(μ₁, C₁) ‖ N(μ₂, C₂)) and its gradient in noise added to both, for many pairs at once.

    Pairs are rows, and their covariances positive definite.

    >>> found = hockey_stick_slopes(np.zeros(1), np.zeros((1, 1)), np.array([[[1.0]]]), np.array([[[4.0]]]))
    >>> found.values.round(6)
    array([0.322675])
    """
    found = _in_blocks(epsilons, mean_differences, covariances_1, covariances_2, sloped=True)
    return Slopes(np.concatenate([f.values for f in found]), np.concatenate([f.gradients for f in found]))


def hockey_stick_values(
    epsilons: Floats, mean_differences: Floats, covariances_1: Floats, covariances_2: Floats
) -> Floats:
    """Return the values of `hockey_stick_slopes` alone, the same to the last bit, in a part of the time.

    >>> hockey_stick_values(np.zeros(1), np.zeros((1, 1)), np.array([[[1.0]]]), np.array([[[4.0]]])).round(6)
    array([0.322675])
    """
    found = _in_blocks(epsilons, mean_differences, covariances_1, covariances_2, sloped=False)
    return np.concatenate([f.values for f in found])


def _in_blocks(epsilons: Floats, shifts: Floats, firsts: Floats, seconds: Floats, *, sloped: bool) -> list[Slopes]:
    size = max(1, min(BLOCK, BLOCK_NUMBERS // shifts.shape[1] ** 2))
    blocks = [slice(start, start + size) for start in range(0, len(epsilons), size)]
    with np.errstate(all="ignore"):  # far from the saddle point terms overflow, and are left out
        return [_slopes(epsilons[b], shifts[b], firsts[b] - seconds[b], seconds[b], sloped=sloped) for b in blocks]


def _slopes(epsilons: Floats, shifts: Floats, differences: Floats, seconds: Floats, *, sloped: bool) -> Slopes:
    """Return what is asked for; without slopes, gradients of 0."""
    whitening = np.linalg.inv(np.linalg.cholesky(seconds))
    excess, basis = np.linalg.eigh(whitening @ differences @ whitening.transpose(0, 2, 1))
    excess = np.maximum(excess, 1e-15 - 1)
    axes = basis.transpose(0, 2, 1) @ whitening
    saddles = _saddles(epsilons, excess, (axes @ shifts[:, :, np.newaxis])[:, :, 0])
    value, tail = np.zeros(len(epsilons)), np.full(len(epsilons), np.inf)
    inner = np.zeros_like(seconds)
    for tilt, nodes in CONTOURS:
        poor = np.flatnonzero(tail > GOOD_ENOUGH)
        if not len(poor):
            break
        summed = _on(Contours(saddles.rows(poor), tilt, 0.0, STEP), nodes)
        terms, left = _terms(summed)
        better = left < tail[poor]
        value[poor[better]], tail[poor[better]] = summed.value[better], left[better]
        if sloped:
            inner[poor[better]] = _gradients(summed, terms)[better]
    if not sloped:
        return Slopes(np.clip(value, 0.0, 1.0), inner)
    gradients = axes.transpose(0, 2, 1) @ inner @ axes
    return Slopes(np.clip(value, 0.0, 1.0), (gradients + gradients.transpose(0, 2, 1)) / 2)


def _saddles(epsilons: Floats, excess: Floats, shift: Floats) -> Saddles:
    exactly = np.zeros(len(epsilons))
    common = CommonAxes(excess=excess, log_ratio=np.log1p(excess), shift=shift, noise=exactly, shift_noise=exactly)
    return Saddles.of(Integrand(epsilons, common), ROUNDS)


@frozen(eq=False)
class _Summed:
    """The terms of the midpoint rule on a contour, up to a factor, without those far out where g turns too fast."""

    here: Local
    factor: Floats
    heights: Complex
    stopped: NDArray[np.bool_]

    @property
    def value(self) -> Floats:
        return np.asarray(self.factor * self.heights.imag.sum(axis=1))


def _on(contours: Contours, nodes: int) -> _Summed:
    x: Floats = STEP * np.arange(0.5, nodes)
    saddles, speed = contours.saddles, contours.speed(x)
    here = saddles.integrand.at(contours.points(x))
    stopped = np.maximum.accumulate(~(np.abs(here.slope * speed) < 0.9 * 2 * math.pi / STEP), axis=1)
    heights = np.exp(here.log_modulus - saddles.peak + 1j * here.phase) * speed
    heights = np.where(stopped | ~np.isfinite(heights), 0.0, heights)
    return _Summed(here, np.exp(saddles.peak[:, 0]) * STEP / math.pi, heights, stopped)


def _terms(summed: _Summed) -> tuple[Complex, Floats]:
    """Return the terms of the gradient but for its matrix, and the share of the last of them, for every pair."""
    here, heights = summed.here, summed.heights
    common = here.integrand.axes
    terms = np.where(heights == 0, 0.0, heights * here.product)
    trace = _uneven(here)[:, np.newaxis, :] @ here.size + np.square(common.shift)[:, np.newaxis, :] @ here.size**2
    sizes = np.abs(terms) * trace[:, 0, :]
    last = np.maximum(heights.shape[1] - 1 - summed.stopped.sum(axis=1), 0)
    return terms, sizes[np.arange(len(last)), last] / np.maximum(sizes.sum(axis=1), 1e-300)


def _gradients(summed: _Summed, terms: Complex) -> Floats:
    """Return gradients in the common axes, of the matrices diag(x²w/a) + (wb)(wb)ᵀ."""
    here = summed.here
    w = here.resolvent
    pulled = w * here.integrand.axes.shift[:, :, np.newaxis]
    inner = ((terms[:, np.newaxis, :] * pulled) @ pulled.transpose(0, 2, 1)).imag
    widened = (w @ terms[:, :, np.newaxis]).imag[:, :, 0] * _uneven(here)
    inner[:, np.arange(widened.shape[1]), np.arange(widened.shape[1])] += widened
    return np.asarray(-0.5 * summed.factor[:, np.newaxis, np.newaxis] * inner)


def _uneven(here: Local) -> Floats:
    excess = here.integrand.axes.excess
    return np.asarray(excess**2 / (1 + excess))
