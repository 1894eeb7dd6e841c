r"""Rows weighed anew so that their means are given ones, and everything else about them as little changed as can be."""

import numpy as np

from distpriv.framework.arrays import Floats

__all__ = ["tilted"]

STEPS = 100
"""More steps than Newton's method takes where there is something to find."""

NEAR = 1e-8
"""How near to the wanted means the weighted ones come, in standard deviations."""

HALVINGS = 40

LONGEST = 5.0
"""By how much a step may change the logarithm of a weight: farther out nothing is left of the curvature."""

FLAT = 1e-13
"""By which share of itself the dual may rise by rounding."""

ALONE = 1e-20
"""A variance so small is that of weights which stay with one point, and never come nearer to the wanted means."""


def tilted(points: Floats, weights: Floats, means: Floats, near: float = NEAR) -> Floats | None:
    r"""Return the weights nearest to given ones with which points have given means; none where no weights do.

    Nearest is by relative entropy, so :math:`p_i ∝ b_i e^{λ^\top g_i}`, where λ minimises the convex
    :math:`\log Σ_i b_i e^{λ^\top (g_i - t)}`: Newton's method, with steps that are not too long,
    and halved until they descend. Means at the edge of what points reach would take all weight from the others, and
    count as out of reach.

    Args:
        points: g, one a row.
        weights: b, not negative, with a sum of 1.
        means: t.
        near: how near to these the weighted means come, in standard deviations; where rounding stops them before that,
            a hundred times as far is near enough.

    >>> points, even = np.array([[0.0], [1.0], [2.0]]), np.full(3, 1 / 3)
    >>> tilted(points, even, np.array([1.5])).round(4)
    array([0.1162, 0.2676, 0.6162])
    >>> tilted(points, even, np.array([2.5])) is None
    True
    """
    centre = weights @ points
    spread = np.sqrt(weights @ (points - centre) ** 2)
    unit = np.where(spread > 0, spread, np.maximum(np.abs(centre), 1.0))
    away = (points - means) / unit
    slope = np.zeros(points.shape[1])
    value, found, gradient = _dual(away, weights, slope)
    for _ in range(STEPS):
        off = float(np.abs(gradient).max(initial=0.0))
        if off <= near:
            return found
        curvature = (away - gradient).T @ ((away - gradient) * found[:, np.newaxis])
        if np.trace(curvature) < ALONE:
            return None
        step = -np.linalg.pinv(curvature, rcond=1e-12, hermitian=True) @ gradient
        step *= min(1.0, LONGEST / max(float(np.abs(away @ step).max()), 1e-300))
        for halving in range(HALVINGS):
            tried = _dual(away, weights, slope + step / 2**halving)
            # Next to the least the dual is flat but for rounding, and a full step still halves the gradient.
            flat = not halving and tried[0] - value <= FLAT * (1 + abs(value))
            if tried[0] < value or (flat and np.abs(tried[2]).max() < off / 2):
                slope = slope + step / 2**halving
                value, found, gradient = tried
                break
        else:
            return found if off <= 100 * near else None
    return None


def _dual(away: Floats, weights: Floats, slope: Floats) -> tuple[float, Floats, Floats]:
    """Return the dual, the weights that belong to it, and its gradient: how far their means are from the wanted."""
    with np.errstate(divide="ignore"):
        exponents = away @ slope + np.log(weights)
    highest = float(exponents.max())
    grown = np.exp(exponents - highest)
    total = float(grown.sum())
    found = grown / total
    return highest + float(np.log(total)), found, np.asarray(found @ away)
