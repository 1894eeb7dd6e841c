"""How long noise is, and how far it reaches: closed forms, and quadrature where there are none."""

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln

from distpriv.distances.line_laws import LaplaceLine, LineLaw
from distpriv.framework.arrays import Floats

__all__ = ["NORMAL_95", "gaussian_length", "half_width", "laplace_length", "line_half_width", "mixed_length"]

NORMAL_95 = 1.959963984540054
"""Φ⁻¹(0.975)."""

_LOG_TIMES = np.arange(-80.0, 80.0, 0.25)
"""Where `_expected_root` takes its integrand, which decays like e^{−|u|/2} and is analytic for |Im u| < π."""


def gaussian_length(variances: Floats) -> float:
    """E‖Z‖ for independent Z_k ~ N(0, variance_k), in closed form where all variances are equal.

    >>> round(gaussian_length(np.array([1.0])), 6), round(gaussian_length(np.array([4.0, 1.0])), 4)
    (0.797885, 1.9326)
    """
    count = len(variances)
    if count and np.ptp(variances) == 0:
        deviation = math.sqrt(2 * variances[0])
        return float(deviation * math.exp(gammaln((count + 1) / 2) - gammaln(count / 2)))
    scale = float(variances.max(initial=0.0))
    if scale == 0:
        return 0.0
    times = np.exp(_LOG_TIMES)
    log_transform = -np.log1p(2 * np.multiply.outer(times, variances / scale)).sum(axis=1) / 2
    return math.sqrt(scale) * _expected_root(log_transform)


def laplace_length(scales: Floats) -> float:
    """E‖Y‖ for independent Y_k ~ Lap(scale_k), in closed form for one.

    >>> laplace_length(np.array([3.0])), round(laplace_length(np.array([3.0, 3.0])), 4)
    (3.0, 4.8697)
    """
    if len(scales) <= 1:
        return float(scales.sum())
    scale = float(scales.max())
    if scale == 0:
        return 0.0
    times = np.exp(_LOG_TIMES)
    with np.errstate(divide="ignore"):  # at late times the transform is 0 to the last digit
        damped = [np.log1p(LaplaceLine(scale=of).damped_less_one(times)) for of in scales / scale if of > 0]
        log_transform = np.sum(damped, axis=0)
    return scale * _expected_root(log_transform)


def mixed_length(variances: Floats, axis: Floats, law: LineLaw) -> float:
    r"""E‖G + T v‖ for G ~ N(0, S) and T of a law along a line, v a unit vector.

    By :math:`E e^{-t‖G + yv‖²} = |I + 2tS|^{-1/2} e^{-t y² vᵀ(I + 2tS)^{-1}v}`.

    Args:
        variances: those of S along its axes, which may be fewer than there are statistics.
        axis: v in these axes; what is left of its length is outside of them.
        law: that of T.

    >>> round(mixed_length(np.array([9.0]), np.array([1.0]), LaplaceLine(scale=4.0)), 4)
    4.7955
    """
    unit = math.sqrt(max(law.variance, variances.max(initial=0.0)))
    if unit == 0:
        return 0.0
    times = np.exp(_LOG_TIMES)
    widened = 1 + 2 * np.multiply.outer(times, variances / unit**2)
    along = axis**2
    share = (1 - along.sum()) + (along / widened).sum(axis=1)
    with np.errstate(divide="ignore"):  # at late times the transform is 0 to the last digit
        damped = np.log1p(law.damped_less_one(times * np.maximum(share, 0.0) / unit**2))
    return unit * _expected_root(damped - np.log(widened).sum(axis=1) / 2)


def line_half_width(law: LineLaw, size: float, deviation: float) -> float:
    """The c with Pr[|X + size · T| ≤ c] = 95 % for independent X ~ N(0, deviation²) and T of a law along a line.

    >>> law = LaplaceLine(scale=2.0)
    >>> round(line_half_width(law, 0.5, 1e-3), 3), round(line_half_width(law, 0, 1), 2)
    (2.996, 1.96)
    """
    spread = size * math.sqrt(law.variance)
    if spread <= 1e-6 * deviation:
        return NORMAL_95 * deviation
    if deviation == 0:
        return size * float(law.quantiles(np.array([0.975]))[0])
    return _half_width(
        spread + deviation, lambda times: np.exp(-((deviation * times) ** 2) / 2) * law.transform(size * times)
    )


def half_width(scales: Floats, deviation: float = 0.0) -> float:
    """The c with Pr[|X + Σ Y_k| ≤ c] = 95 % for independent X ~ N(0, deviation²) and Y_k ~ Lap(scale_k).

    >>> round(half_width(np.array([1.0])), 4), round(half_width(np.zeros(0), 1.0), 4)
    (2.9957, 1.96)
    """
    scales = scales[scales > 1e-12 * max(scales.max(initial=0.0), deviation)]
    if len(scales) == 0:
        return NORMAL_95 * deviation
    if len(scales) == 1 and deviation == 0:
        return float(-math.log(0.05) * scales.sum())
    total = float(scales.sum()) + deviation
    return _half_width(
        total,
        lambda times: (
            np.exp(-((deviation * times) ** 2) / 2) / np.prod(1 + np.multiply.outer(times, scales) ** 2, axis=1)
        ),
    )


def _half_width(total: float, transform: Callable[[Floats], Floats]) -> float:
    """Return the c with Pr[|X| ≤ c] = 95 %, by Gil-Pelaez: that is (2/π) ∫ sin(tc)/t · E e^{itX} dt.

    Args:
        total: about how wide X is.
        transform: t -> E e^{itX}.
    """
    step = 2 * math.pi / (80 * total)
    times = (np.arange(20_000) + 0.5) * step
    weights = (2 / math.pi) * step / times * transform(np.asarray(times))
    return float(brentq(lambda c: np.sin(times * c) @ weights - 0.95, 0.0, -math.log(0.05) * total * 2))


def _expected_root(log_transform: Floats) -> float:
    r"""E√Q from log E e^{−tQ} at t = e^u: :math:`\frac{1}{2\sqrt π} \int (1 - E e^{-tQ}) t^{-1/2} du`."""
    integrand = -np.expm1(log_transform) * np.exp(-_LOG_TIMES / 2)
    return float(integrand.sum() * (_LOG_TIMES[1] - _LOG_TIMES[0]) / (2 * math.sqrt(math.pi)))
