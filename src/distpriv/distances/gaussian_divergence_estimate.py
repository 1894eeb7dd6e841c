"""Many divergences of Gaussians at once, fast and without a bound on the error: for searches, not for certificates."""

import contextlib

import numpy as np
from numpy.typing import NDArray

__all__ = ["gaussian_hockey_stick_estimates"]

Array = NDArray[np.float64]

_LOGITS = np.linspace(-12.0, 14.0, 105)
_STEPS = np.arange(48) * 0.1
_REGULAR = 1e-13
# How many are computed together: their arrays stay in the processor's cache.
_TOGETHER = 64


def gaussian_hockey_stick_estimates(
    epsilon: Array, shift: Array, first: Array, second: Array, which: NDArray[np.intp] | None = None
) -> Array:
    r"""Estimate H_ε of N(shift, first) from N(0, second), for stacks of each.

    The contour integral of :mod:`distpriv.distances.gaussian_divergence` on the vertical line through the saddle point,
    by 48 nodes and without a bound on what they miss. `which` tells the covariances of each ε and shift, so that those
    which belong to several are decomposed once.

    >>> one = np.ones((1, 1, 1))
    >>> gaussian_hockey_stick_estimates(np.zeros(1), np.zeros((1, 1)), one, 4 * one).round(2)  # 0.3227 in truth
    array([0.32])
    """
    excess, squared = _axes(shift, first, second, np.arange(len(shift)) if which is None else which)
    chunks = (slice(start, start + _TOGETHER) for start in range(0, len(excess), _TOGETHER))
    return np.concatenate([_estimates(epsilon[chunk], excess[chunk], squared[chunk]) for chunk in chunks])


def _estimates(epsilon: Array, excess: Array, squared: Array) -> Array:
    with np.errstate(all="ignore"):
        s = 1.0 / (np.exp(-_LOGITS) + np.maximum(0.0, excess.max(axis=-1))[:, None])
        heights = np.nan_to_num(_log_integrand(s, epsilon, excess, squared), nan=np.inf)
        best = heights.argmin(axis=1)
        saddle = s[np.arange(len(s)), best]
        width = _curvature(saddle, excess, squared) ** -0.5
        nodes = saddle[:, None] + 1j * width[:, None] * np.sinh(_STEPS)
        terms = np.exp(_log_integrand(nodes, epsilon, excess, squared)).real * width[:, None] * np.cosh(_STEPS)
        total = (terms.sum(axis=1) - terms[:, 0] / 2) * (_STEPS[1] - _STEPS[0]) / np.pi
        # Where L is bounded and ε above its maximum there is no saddle, and the Chernoff bound is as good as 0.
        chernoff = np.exp(heights[np.arange(len(s)), best]) * saddle
    return np.asarray(np.clip(np.where(np.isfinite(total), total, 1.0), 0.0, np.minimum(chernoff, 1.0)))


def _axes(shift: Array, first: Array, second: Array, which: NDArray[np.intp]) -> tuple[Array, Array]:
    """Return a - 1 and b² in coordinates that whiten the second covariance and diagonalise the first."""
    deviation = np.sqrt(np.diagonal(first + second, axis1=1, axis2=2) / 2)
    deviation = np.where(deviation > 0, deviation, 1.0)
    unit = deviation[:, :, None] * deviation[:, None, :]
    factor = _factors(second / unit)
    half = np.linalg.solve(factor, (first - second) / unit)
    values, vectors = np.linalg.eigh(np.linalg.solve(factor, half.transpose(0, 2, 1)))
    inward = np.linalg.solve(factor.transpose(0, 2, 1), vectors).transpose(0, 2, 1) / deviation[:, None, :]
    return np.maximum(values, -1 + 1e-12)[which], np.asarray((inward[which] @ shift[:, :, None])[:, :, 0] ** 2)


def _factors(matrices: Array) -> Array:
    """Return Cholesky factors, of matrices that are made regular by as little as it takes."""
    for share in (_REGULAR, 1e-9, 1e-6, 1e-3):
        with contextlib.suppress(np.linalg.LinAlgError):
            return np.asarray(np.linalg.cholesky(matrices + share * np.eye(matrices.shape[-1])))
    return np.broadcast_to(np.eye(matrices.shape[-1]), matrices.shape)


def _log_integrand(s: NDArray[np.inexact], epsilon: Array, excess: Array, squared: Array) -> NDArray[np.inexact]:
    left = 1.0 - s[:, :, None] * excess[:, None, :]
    pull = (squared[:, None, :] / left).sum(axis=2)
    linear = epsilon[:, None] + np.log1p(excess).sum(axis=1, keepdims=True) / 2
    return np.asarray((s * (1 + s) * pull - _sum_of_logs(left)) / 2 - s * linear - np.log(s) - np.log1p(s))


def _sum_of_logs(factors: NDArray[np.inexact]) -> NDArray[np.inexact]:
    """Sum the logarithms over the last axis; those of complex numbers by length and angle, which is faster."""
    if not np.iscomplexobj(factors):
        return np.asarray(np.log(factors).sum(axis=2))
    squares = np.square(factors.real) + np.square(factors.imag)
    return np.asarray(np.log(squares).sum(axis=2) / 2 + 1j * np.arctan2(factors.imag, factors.real).sum(axis=2))


def _curvature(s: Array, excess: Array, squared: Array) -> Array:
    """Return the second derivative of the logarithm of the integrand on the real axis."""
    left = 1.0 - s[:, None] * excess
    terms = (excess / left) ** 2 / 2 + squared * (1 + excess) / left**3
    return np.asarray(terms.sum(axis=1) + 1 / s**2 + 1 / (1 + s) ** 2)
