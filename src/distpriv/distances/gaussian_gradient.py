r"""How the divergences of many pairs of Gaussians change when noise is added to both laws: estimates, to search with.

The contour integral of :mod:`distpriv.distances.gaussian_divergence`, for C₁ = Σ₁ + S and C₂ = Σ₂ + S, differentiated
under the integral sign. In axes T with T C₂ Tᵀ = I and T C₁ Tᵀ = diag(a), and with x = a - 1, b = T(μ₁ - μ₂) and
w = 1/(1 - sx), the derivative of log K in S is -s(1+s)/2 · Tᵀ(diag(x² w/a) + (wb)(wb)ᵀ)T: the poles of g cancel, and

.. math:: ∇_S H_ε = -\frac{1}{4πi} \int K(s) e^{-sε} \, Tᵀ(\mathrm{diag}(x^2 w/a) + (wb)(wb)ᵀ)T \, ds.

No error is bounded here. What is found with these numbers is checked by the exact divergence before it is promised.
"""

import math
from typing import Final

import numpy as np
from attrs import frozen

from distpriv.distances.gaussian_axes import CommonAxes
from distpriv.distances.gaussian_contour import Contours, Saddles
from distpriv.distances.gaussian_integrand import Integrand
from distpriv.framework.arrays import Floats

__all__ = ["Slopes", "hockey_stick_estimates"]

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
    moved, exactly = (axes @ shifts[:, :, np.newaxis])[:, :, 0], np.zeros(len(epsilons))
    common = CommonAxes(excess=excess, log_ratio=np.log1p(excess), shift=moved, noise=exactly, shift_noise=exactly)
    saddles = Saddles.of(Integrand(epsilons, common))
    value, tail = np.zeros(len(epsilons)), np.full(len(epsilons), np.inf)
    inner = np.zeros_like(seconds)
    for tilt, nodes in CONTOURS:
        poor = np.flatnonzero(tail > GOOD_ENOUGH)
        if not len(poor):
            break
        found, slopes, left = _along(Contours(saddles.rows(poor), tilt, 0.0, STEP), nodes)
        better = left < tail[poor]
        value[poor[better]], inner[poor[better]], tail[poor[better]] = found[better], slopes[better], left[better]
    gradients = axes.transpose(0, 2, 1) @ inner @ axes
    return Slopes(np.clip(value, 0.0, 1.0), (gradients + gradients.transpose(0, 2, 1)) / 2)


def _along(contours: Contours, nodes: int) -> tuple[Floats, Floats, Floats]:
    """Return values, gradients in the common axes, and the share of the last term, on one contour for every pair."""
    x: Floats = STEP * np.arange(0.5, nodes)
    saddles, speed = contours.saddles, contours.speed(x)
    here = saddles.integrand.at(contours.points(x))
    turning = np.abs(here.slope * speed)
    stopped = np.maximum.accumulate(~(turning < 0.9 * 2 * math.pi / STEP), axis=1)
    heights = np.exp(here.log_modulus - saddles.peak + 1j * here.phase) * speed
    heights = np.where(stopped | ~np.isfinite(heights), 0.0, heights)
    terms = np.where(heights == 0, 0.0, heights * here.product)
    factor = np.exp(saddles.peak[:, 0]) * STEP / math.pi
    # The matrix of the gradient: diag(x²w/a) + (wb)(wb)ᵀ.
    common, w = saddles.integrand.axes, here.resolvent
    pulled, uneven = w * common.shift[:, :, np.newaxis], common.excess**2 / (1 + common.excess)
    inner = ((terms[:, np.newaxis, :] * pulled) @ pulled.transpose(0, 2, 1)).imag
    widened = (w @ terms[:, :, np.newaxis]).imag[:, :, 0] * uneven
    inner[:, np.arange(widened.shape[1]), np.arange(widened.shape[1])] += widened
    trace = uneven[:, np.newaxis, :] @ here.size + np.square(common.shift)[:, np.newaxis, :] @ here.size**2
    sizes = np.abs(terms) * trace[:, 0, :]
    last = np.maximum(nodes - 1 - stopped.sum(axis=1), 0)
    tail = sizes[np.arange(len(last)), last] / np.maximum(sizes.sum(axis=1), 1e-300)
    return factor * heights.imag.sum(axis=1), np.asarray(-0.5 * factor[:, np.newaxis, np.newaxis] * inner), tail
