"""Axes and scales of Laplace noise that hides several shifts at once."""

import math

import numpy as np

from distpriv.framework.arrays import Floats

__all__ = ["laplace_axes", "unit_scales"]

ANGLES = np.linspace(-math.pi / 4, math.pi / 4, 9)
"""By which angles two axes are turned against each other; a quarter turn only swaps them."""


def laplace_axes(shifts: Floats, basis: Floats, weights: Floats) -> Floats:
    """Return orthonormal axes of the span of the basis that hide the shifts with little noise.

    Laplace noise pays for the L1 norm of a shift in its axes, so the axes matter: pairs of them are turned against each
    other as long as that lowers the error at the scales of `unit_scales`.
    """
    axes, best = basis, _error(shifts, basis, weights)
    for _ in range(2 if basis.shape[1] > 1 else 0):
        for first in range(basis.shape[1]):
            for second in range(first):
                for angle in ANGLES:
                    turned = _turned(axes, first, second, float(angle))
                    error = _error(shifts, turned, weights)
                    if error < best * (1 - 1e-6):
                        axes, best = turned, error
    return axes


def unit_scales(shifts: Floats, axes: Floats, weights: Floats) -> Floats:
    r"""Return scales b with :math:`\max_{ij} Σ_k |v_kᵀd_{ij}|/b_k = 1` and little :math:`Σ_k w_k b_k^2`.

    For one shift :math:`b_k ∝ (|v_kᵀd|/w_k)^{1/3}` is best, w the weights of the axes; for several that formula is
    taken with the largest part along each axis, and all scales are then made as small as they may be
    (`docs/proofs/certified_laplace.md`, "How the noise is chosen", 2).

    >>> unit_scales(np.array([[3.0, 0.0]]), np.eye(2)[:, :1], np.ones(2))
    array([3.])
    """
    parts = np.abs(shifts @ axes)
    cost = np.maximum(weights @ axes**2, 1e-300)
    scales = np.cbrt(parts.max(axis=0) / cost)
    return np.asarray(scales * (parts / scales).sum(axis=1).max())


def _error(shifts: Floats, axes: Floats, weights: Floats) -> float:
    return float((weights @ axes**2) @ unit_scales(shifts, axes, weights) ** 2)


def _turned(axes: Floats, first: int, second: int, angle: float) -> Floats:
    turned = axes.copy()
    turned[:, first] = math.cos(angle) * axes[:, first] + math.sin(angle) * axes[:, second]
    turned[:, second] = math.cos(angle) * axes[:, second] - math.sin(angle) * axes[:, first]
    return turned
