r"""The divergences of many pairs of Gaussians, and how they change with noise added to both: estimates, to search with.

The contour integral of :mod:`distpriv.distances.gaussian.divergence`, with fewer nodes. For C₁ = Σ₁ + S and
C₂ = Σ₂ + S it may be differentiated under the integral sign. In axes T with T C₂ Tᵀ = I and T C₁ Tᵀ = diag(a), and with
x = a - 1, b = T(μ₁ - μ₂) and w = 1/(1 - sx), the derivative of log K in S is
-s(1+s)/2 · Tᵀ(diag(x² w/a) + (wb)(wb)ᵀ)T: the poles of g cancel, and

.. math:: ∇_S H_ε = -\frac{1}{4πi} \int K(s) e^{-sε} \, Tᵀ(\mathrm{diag}(x^2 w/a) + (wb)(wb)ᵀ)T \, ds.

No error is bounded here. What is found with these numbers is checked by the exact divergence before it is promised.
"""

import contextlib
import math
from collections.abc import Iterator

import numpy as np
from attrs import frozen

from distpriv.distances.gaussian.contour import CommonAxes, Complex, Contours, Integrand, Local, Saddles
from distpriv.framework.arrays import Floats

__all__ = ["Slopes", "hockey_stick_estimates", "hockey_stick_slopes"]


@frozen(kw_only=True)
class Nodes:
    """Where the integrand is taken, and when that suffices."""

    step: float = 0.1
    """Between the nodes of a contour."""
    contours: tuple[tuple[float, int], ...] = tuple((tilt, n) for n in (80, 240) for tilt in (0.0, -0.39, 0.39))
    """Contours by their tilt φ and their number of nodes, tried in turn. Far up, g turns and decays like e^{-Rs} with
    R = ε + Σ (log a)/2 + Σ b²/2(a - 1), times |s|^{-m/2}. Where R is near 0, as for ε = 0 and equal determinants, only
    that power is left, and the short contours, which reach 1500 κ, may cut a part in a thousand of the gradient off."""
    good_enough: float = 1e-9
    """A contour whose last term is below this share of all terms of the gradient needs no better one."""


NODES = Nodes()


@frozen(eq=False)
class Slopes:
    """H_ε of every pair, and its gradient in the covariance of the noise, a negative semidefinite matrix each."""

    values: Floats
    gradients: Floats


def hockey_stick_slopes(
    epsilons: Floats, mean_differences: Floats, covariances_1: Floats, covariances_2: Floats
) -> Slopes:
    """Estimate H_ε(N(μ₁, C₁) ‖ N(μ₂, C₂)) and its gradient in noise added to both, for many pairs, the rows, at once.

    >>> one = np.ones((1, 1, 1))
    >>> hockey_stick_slopes(np.zeros(1), np.zeros((1, 1)), one, 4 * one).values.round(6)
    array([0.322675])
    """
    blocks = list(_in_blocks(epsilons, mean_differences, covariances_1, covariances_2, sloped=True))
    return Slopes(np.concatenate([f.values for f in blocks]), np.concatenate([f.gradients for f in blocks]))


def hockey_stick_estimates(
    epsilons: Floats, mean_differences: Floats, covariances_1: Floats, covariances_2: Floats
) -> Floats:
    """Return the values of `hockey_stick_slopes` alone, the same to the last bit; the covariances may be singular.

    >>> one = np.ones((1, 1, 1))
    >>> hockey_stick_estimates(np.zeros(1), np.zeros((1, 1)), one, 4 * one).round(6)
    array([0.322675])
    """
    blocks = _in_blocks(epsilons, mean_differences, covariances_1, covariances_2, sloped=False)
    return np.concatenate([block.values for block in blocks])


def _in_blocks(epsilons: Floats, shifts: Floats, firsts: Floats, seconds: Floats, *, sloped: bool) -> Iterator[Slopes]:
    """Yield what is asked for, in blocks of pairs that keep arrays small."""
    size = max(1, min(256 if sloped else 64, 2**20 // shifts.shape[1] ** 2))
    with np.errstate(all="ignore"):  # far from the saddle point terms overflow, and are left out
        for start in range(0, len(epsilons), size):
            block = slice(start, start + size)
            yield _slopes(epsilons[block], shifts[block], firsts[block], seconds[block], sloped=sloped)


def _slopes(epsilons: Floats, shifts: Floats, firsts: Floats, seconds: Floats, *, sloped: bool) -> Slopes:
    """Return what is asked for; without slopes, gradients of 0."""
    excess, axes = _axes(firsts, seconds)
    exactly = np.zeros(len(epsilons))
    common = CommonAxes(
        excess=excess,
        log_ratio=np.log1p(excess),
        shift=(axes @ shifts[:, :, np.newaxis])[:, :, 0],
        noise=exactly,
        shift_noise=exactly,
    )
    saddles = Saddles.of(Integrand(epsilons, common), rounds=3)  # with a relative error of 2 %
    value, tail = np.zeros(len(epsilons)), np.full(len(epsilons), np.inf)
    inner = np.zeros_like(seconds)
    for tilt, nodes in NODES.contours:
        poor = np.flatnonzero(tail > NODES.good_enough)
        if not len(poor):
            break
        terms = _Terms.on(Contours(saddles.rows(poor), tilt, 0.0, NODES.step), nodes)
        better = terms.tail < tail[poor]
        value[poor[better]], tail[poor[better]] = terms.value[better], terms.tail[better]
        if sloped:
            inner[poor[better]] = terms.gradients()[better]
    gradients = axes.transpose(0, 2, 1) @ inner @ axes if sloped else inner
    return Slopes(np.clip(value, 0.0, 1.0), (gradients + gradients.transpose(0, 2, 1)) / 2)


def _axes(firsts: Floats, seconds: Floats) -> tuple[Floats, Floats]:
    """Return a - 1 and T of every pair, of covariances that are made regular by as little as it takes."""
    deviation = np.sqrt(np.maximum(np.diagonal(firsts + seconds, axis1=1, axis2=2), 0.0) / 2)
    deviation = np.where(deviation > 0, deviation, 1.0)
    unit = deviation[:, :, np.newaxis] * deviation[:, np.newaxis, :]
    whitening = np.broadcast_to(np.eye(seconds.shape[-1]), seconds.shape)
    for share in (0.0, 1e-13, 1e-9, 1e-6, 1e-3):
        with contextlib.suppress(np.linalg.LinAlgError):
            whitening = np.linalg.inv(np.linalg.cholesky(seconds / unit + share * np.eye(seconds.shape[-1])))
            break
    excess, basis = np.linalg.eigh(whitening @ ((firsts - seconds) / unit) @ whitening.transpose(0, 2, 1))
    return np.maximum(excess, 1e-15 - 1), basis.transpose(0, 2, 1) @ whitening / deviation[:, np.newaxis, :]


@frozen(eq=False)
class _Terms:
    """The terms of the midpoint rule on a contour, without those far out where g turns too fast.

    `heights` are those of the value, up to a factor, `slopes` those of the gradient but for its matrix, and `tail` is
    the share of the last of these in all.
    """

    here: Local
    factor: Floats
    heights: Complex
    slopes: Complex
    tail: Floats

    @classmethod
    def on(cls, contours: Contours, nodes: int) -> "_Terms":
        x: Floats = contours.step * np.arange(0.5, nodes)
        saddles, speed = contours.saddles, contours.speed(x)
        here = saddles.integrand.at(contours.points(x))
        stopped = np.maximum.accumulate(~(np.abs(here.slope * speed) < 0.9 * 2 * math.pi / contours.step), axis=1)
        heights = np.exp(here.log_modulus - saddles.peak + 1j * here.phase) * speed
        heights = np.where(stopped | ~np.isfinite(heights), 0.0, heights)
        slopes = np.where(heights == 0, 0.0, heights * here.product)
        common = here.integrand.axes
        trace = _uneven(common)[:, np.newaxis, :] @ here.size + np.square(common.shift)[:, np.newaxis, :] @ here.size**2
        sizes = np.abs(slopes) * trace[:, 0, :]
        last = np.maximum(nodes - 1 - stopped.sum(axis=1), 0)
        tail = sizes[np.arange(len(last)), last] / np.maximum(sizes.sum(axis=1), 1e-300)
        return cls(here, np.exp(saddles.peak[:, 0]) * contours.step / math.pi, heights, slopes, tail)

    @property
    def value(self) -> Floats:
        return np.asarray(self.factor * self.heights.imag.sum(axis=1))

    def gradients(self) -> Floats:
        """Return gradients in the common axes, of the matrices diag(x²w/a) + (wb)(wb)ᵀ."""
        common, w = self.here.integrand.axes, self.here.resolvent
        pulled = w * common.shift[:, :, np.newaxis]
        inner = ((self.slopes[:, np.newaxis, :] * pulled) @ pulled.transpose(0, 2, 1)).imag
        widened = (w @ self.slopes[:, :, np.newaxis]).imag[:, :, 0] * _uneven(common)
        inner[:, np.arange(widened.shape[1]), np.arange(widened.shape[1])] += widened
        return np.asarray(-0.5 * self.factor[:, np.newaxis, np.newaxis] * inner)


def _uneven(common: CommonAxes) -> Floats:
    return np.asarray(common.excess**2 / (1 + common.excess))
