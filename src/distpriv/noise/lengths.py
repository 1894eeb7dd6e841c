r"""How long Gaussian and Laplace noise is, and how far it reaches: closed forms, and quadrature elsewhere."""

import math
from typing import Final

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, gammaln, log_ndtr

from distpriv.framework.arrays import Floats

__all__ = ["expected_length", "half_width", "laplace_length", "laplace_log_density"]

_TIMES: Final = np.exp(np.arange(-80.0, 80.0, 0.25))
"""Where `_expected_root` takes its integrand, which decays like e^{−|u|/2} and is analytic for |Im u| < π."""


def laplace_log_density(points: Floats, scale: float, deviation: float) -> Floats:
    """Return the logarithm of the density of Lap(scale) + N(0, deviation²), deviation > 0; −∞ where it underflows.

    >>> laplace_log_density(np.array([0.0, 4.0]), 2.0, 1e-6).round(3)
    array([-1.386, -3.386])
    """
    ratio, z = deviation / scale, np.abs(points) / deviation
    # e^{c²/2 − cz} Φ(z − c), c the ratio, is e^{−z²/2} erfcx((c − z)/√2)/2: nothing cancels.
    with np.errstate(over="ignore"):  # where z is beyond c the other form is taken
        normal = np.log(erfcx((ratio - z) / math.sqrt(2)) / 2) - z**2 / 2
    near = np.where(z < ratio, normal, ratio * (ratio / 2 - z) + log_ndtr(z - ratio))
    far = np.log(erfcx((ratio + z) / math.sqrt(2)) / 2) - z**2 / 2
    return np.asarray(np.logaddexp(near, far) - math.log(2 * scale))


def laplace_length(scales: Floats) -> float:
    """E‖Y‖ for independent Y_k ~ Lap(scale_k), in closed form for one.

    >>> laplace_length(np.array([3.0])), round(laplace_length(np.array([3.0, 3.0])), 4)
    (3.0, 4.8697)
    """
    largest = float(scales.max(initial=0.0))
    if len(scales) <= 1 or largest == 0:
        return largest
    with np.errstate(divide="ignore"):  # at late times the transform is 0 to the last digit
        damped = [np.log1p(_damped_less_one(_TIMES, scale)) for scale in scales / largest if scale > 0]
    return largest * _expected_root(np.sum(damped, axis=0))


def expected_length(variances: Floats, axis: Floats, scale: float) -> float:
    r"""E‖G + T v‖ for G ~ N(0, S) and T ~ Lap(scale), v a unit vector; a scale of 0 is no T.

    In closed form for T alone, and for G alone where all variances are equal, else by
    :math:`E e^{-t‖G + yv‖²} = |I + 2tS|^{-1/2} e^{-t y² vᵀ(I + 2tS)^{-1}v}`.

    Args:
        variances: those of S along its axes, which may be fewer than there are statistics.
        axis: v in these axes, as a column; what is left of its length is outside of them.
        scale: that of T.

    >>> none = np.zeros((2, 0))
    >>> round(expected_length(np.array([1.0]), none[:1], 0.0), 6), round(
    ...     expected_length(np.array([4.0, 1.0]), none, 0.0), 4
    ... )
    (0.797885, 1.9326)
    >>> round(expected_length(np.array([9.0]), np.array([[1.0]]), 4.0), 4)
    4.7955
    """
    count = len(variances)
    if not count:
        return scale
    if scale == 0 and np.ptp(variances) == 0:
        return float(math.sqrt(2 * variances[0]) * math.exp(gammaln((count + 1) / 2) - gammaln(count / 2)))
    unit = math.sqrt(max(2 * scale**2, variances.max()))
    if unit == 0:
        return 0.0
    more = 2 * np.multiply.outer(_TIMES, variances / unit**2)
    log_transform = -np.log1p(more).sum(axis=1) / 2
    if scale > 0:
        squares = axis[:, 0] ** 2
        share = (1 - squares.sum()) + (squares / (1 + more)).sum(axis=1)
        with np.errstate(divide="ignore"):  # at late times the transform is 0 to the last digit
            log_transform += np.log1p(_damped_less_one(_TIMES * np.maximum(share, 0.0) / unit**2, scale))
    return unit * _expected_root(log_transform)


def half_width(deviation: float, scales: Floats) -> float:
    """The c with Pr[|X + Σ T_k| ≤ c] = 95 % for independent X ~ N(0, deviation²) and T_k ~ Lap(scale_k).

    By Gil-Pelaez that probability is (2/π) ∫ sin(tc)/t · E e^{itX} dt.

    >>> one, none = np.ones(1), np.zeros(0)
    >>> round(half_width(0, one), 4), round(half_width(1, none), 4), round(half_width(1e-3, one), 3)
    (2.9957, 1.96, 2.996)
    """
    spreads = math.sqrt(2) * scales
    wide = scales[spreads > 1e-9 * max(deviation, spreads.max(initial=0.0))]
    if not len(wide):
        return 1.959963984540054 * deviation  # Φ⁻¹(0.975)
    if len(wide) == 1 and deviation == 0:
        return float(wide[0]) * math.log(20)
    total = float(spreads.sum()) + deviation
    step = 2 * math.pi / (80 * total)
    times: Floats = np.asarray((np.arange(20_000.0) + 0.5) * step, dtype=np.float64)
    weights = (2 / math.pi) * step / times * np.exp(-((deviation * times) ** 2) / 2)
    for scale in wide.tolist():
        weights /= 1 + (scale * times) ** 2
    return float(brentq(lambda c: np.sin(times * c) @ weights - 0.95, 0.0, 6 * total))


def _damped_less_one(rates: Floats, scale: float) -> Floats:
    """Return E e^{−cT²} − 1 of T ~ Lap(scale) for every rate c ≥ 0."""
    # √π x erfcx(x) − 1 with x = 1/(2b√c), by its series where that cancels.
    with np.errstate(over="ignore", divide="ignore"):
        x = 1 / (2 * scale * np.sqrt(rates))
        y = 1 / (2 * x**2)
        series = -y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y)))
    return np.where(x > 200, series, math.sqrt(math.pi) * x * erfcx(np.minimum(x, 200.0)) - 1.0)


def _expected_root(log_transform: Floats) -> float:
    r"""E√Q from log E e^{−tQ} at t = e^u: :math:`\frac{1}{2\sqrt π} \int (1 - E e^{-tQ}) t^{-1/2} du`."""
    integrand = -np.expm1(log_transform) / np.sqrt(_TIMES)
    return float(integrand.sum() * 0.25 / (2 * math.sqrt(math.pi)))
