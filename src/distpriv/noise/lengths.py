"""How long noise is, and how far it reaches: closed forms, and quadrature where there are none."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln

from distpriv.framework.arrays import Floats
from distpriv.noise.line_laws import LaplaceLine, LineLaw

__all__ = ["expected_length", "half_width", "laplace_length"]

# Where `_expected_root` takes its integrand, which decays like e^{−|u|/2} and is analytic for |Im u| < π.
_TIMES = np.exp(np.arange(-80.0, 80.0, 0.25))


def laplace_length(scales: Floats) -> float:
    """E‖Y‖ for independent Y_k ~ Lap(scale_k), in closed form for one.

    >>> laplace_length(np.array([3.0])), round(laplace_length(np.array([3.0, 3.0])), 4)
    (3.0, 4.8697)
    """
    scale = float(scales.max(initial=0.0))
    if len(scales) <= 1 or scale == 0:
        return scale
    with np.errstate(divide="ignore"):  # at late times the transform is 0 to the last digit
        damped = [np.log1p(LaplaceLine(scale=of).damped_less_one(_TIMES)) for of in scales / scale if of > 0]
    return scale * _expected_root(np.sum(damped, axis=0))


def expected_length(variances: Floats, axis: Floats | None = None, law: LineLaw | None = None) -> float:
    r"""E‖G + T v‖ for G ~ N(0, S) and T of a law along a line, if there is one, v a unit vector.

    In closed form for G alone where all variances are equal, else by
    :math:`E e^{-t‖G + yv‖²} = |I + 2tS|^{-1/2} e^{-t y² vᵀ(I + 2tS)^{-1}v}`.

    Args:
        variances: those of S along its axes, which may be fewer than there are statistics.
        axis: v in these axes; what is left of its length is outside of them.
        law: that of T.

    >>> round(expected_length(np.array([1.0])), 6), round(expected_length(np.array([4.0, 1.0])), 4)
    (0.797885, 1.9326)
    >>> round(expected_length(np.array([9.0]), np.array([1.0]), LaplaceLine(scale=4.0)), 4)
    4.7955
    """
    count = len(variances)
    if law is None and count and np.ptp(variances) == 0:
        return float(math.sqrt(2 * variances[0]) * math.exp(gammaln((count + 1) / 2) - gammaln(count / 2)))
    unit = math.sqrt(max(law.variance if law else 0.0, variances.max(initial=0.0)))
    if unit == 0:
        return 0.0
    more = 2 * np.multiply.outer(_TIMES, variances / unit**2)
    log_transform = -np.log1p(more).sum(axis=1) / 2
    if axis is not None and law is not None:
        share = (1 - (axis**2).sum()) + (axis**2 / (1 + more)).sum(axis=1)
        with np.errstate(divide="ignore"):  # at late times the transform is 0 to the last digit
            log_transform += np.log1p(law.damped_less_one(_TIMES * np.maximum(share, 0.0) / unit**2))
    return unit * _expected_root(log_transform)


def half_width(deviation: float, others: Sequence[tuple[float, LineLaw]] = ()) -> float:
    """The c with Pr[|X + Σ size · T| ≤ c] = 95 % for X ~ N(0, deviation²) and independent T of laws along lines.

    By Gil-Pelaez that probability is (2/π) ∫ sin(tc)/t · E e^{itX} dt.

    >>> law = LaplaceLine(scale=2.0)
    >>> round(half_width(0, [(0.5, law)]), 4), round(half_width(1), 4), round(half_width(1e-3, [(0.5, law)]), 3)
    (2.9957, 1.96, 2.996)
    """
    spreads = [size * math.sqrt(law.variance) for size, law in others]
    some = [spread > 1e-9 * max(deviation, *spreads) for spread in spreads]
    parts = [part for part, is_some in zip(others, some, strict=True) if is_some]
    if not parts:
        return 1.959963984540054 * deviation  # Φ⁻¹(0.975)
    if len(parts) == 1 and deviation == 0:
        size, law = parts[0]
        return size * law.quantile(0.975)
    total = sum(spreads) + deviation
    step = 2 * math.pi / (80 * total)
    times: Floats = np.asarray((np.arange(20_000.0) + 0.5) * step, dtype=np.float64)
    weights = (2 / math.pi) * step / times * np.exp(-((deviation * times) ** 2) / 2)
    for size, law in parts:
        weights *= law.transform(size * times)
    return float(brentq(lambda c: np.sin(times * c) @ weights - 0.95, 0.0, 6 * total))


def _expected_root(log_transform: Floats) -> float:
    r"""E√Q from log E e^{−tQ} at t = e^u: :math:`\frac{1}{2\sqrt π} \int (1 - E e^{-tQ}) t^{-1/2} du`."""
    integrand = -np.expm1(log_transform) / np.sqrt(_TIMES)
    return float(integrand.sum() * 0.25 / (2 * math.sqrt(math.pi)))
