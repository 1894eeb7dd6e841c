r"""Laws of one number, which noise has along an axis: Laplace or a staircase; with a Gaussian number added.

And how long noise is that has such laws along axes, and how far it reaches: closed forms, and quadrature elsewhere.
"""

import math
from collections.abc import Sequence
from typing import Final, Self

import numpy as np
from attrs import evolve, field, frozen
from scipy.optimize import brentq
from scipy.special import erf, erfcx, gammaln, log_ndtr, ndtr

from distpriv.framework.arrays import Floats, array_field

__all__ = [
    "NORMAL_REACH",
    "LaplaceLine",
    "LineLaw",
    "StaircaseLine",
    "expected_length",
    "half_width",
    "laplace_length",
]

NORMAL_REACH = 7.04
"""A standard normal number is beyond that, on one side, with a probability of no more than 1e-12."""


@frozen(kw_only=True)
class LaplaceLine:
    """T ~ Lap(scale).

    `StaircaseLine` answers the same.

    >>> law = LaplaceLine(scale=2.0)
    >>> law.log_density(np.array([0.0, 4.0]), 1e-6).round(3), round(law.reach(math.exp(-3)), 9), law.variance
    (array([-1.386, -3.386]), 6.0, 8.0)
    >>> law.transform(np.array([0.5])), law.widened(2.0), round(law.quantile(0.25), 2), law.mean_size
    (array([0.5]), LaplaceLine(scale=4.0), -1.39, 2.0)
    """

    scale: float = field(converter=float)

    def log_density(self, points: Floats, deviation: float) -> Floats:
        """Return the logarithm of the density of T + N(0, deviation²), deviation > 0; −∞ where it underflows."""
        inside, z = deviation / self.scale, np.abs(points) / deviation
        # e^{c²/2 − cz} Φ(z − c), c the deviation over the scale, is e^{−z²/2} erfcx((c − z)/√2)/2: nothing cancels.
        with np.errstate(over="ignore"):  # where z is beyond c the other form is taken
            bell = np.log(erfcx((inside - z) / math.sqrt(2)) / 2) - z**2 / 2
        near = np.where(z < inside, bell, inside * (inside / 2 - z) + log_ndtr(z - inside))
        far = np.log(erfcx((inside + z) / math.sqrt(2)) / 2) - z**2 / 2
        return np.asarray(np.logaddexp(near, far) - math.log(2 * self.scale))

    def reach(self, outside: float) -> float:
        """Return a number that |T| exceeds with no more than this probability."""
        return -self.scale * math.log(outside)

    def half(self, deviation: float, outside: float) -> float:
        """Return how far points must go so that the last ones stand for all beyond, but for this probability.

        Points that go as far for a law do for narrower ones.
        """
        # Beyond 9 deviations and deviation²/scale the density is exponential to the last digit: there one point stands
        # for all. For all narrower laws, points to 13.5 deviations reach as far as that, or as the law itself.
        exponential = deviation * max(9 + deviation / self.scale, 13.5)
        return min(self.reach(outside) + NORMAL_REACH * deviation, exponential)

    def beyond(self, step: float) -> float:
        """Return how many points of a lattice the last one stands for."""
        return -1 / math.expm1(-step / self.scale)

    def quantile(self, share: float) -> float:
        """Return the number that T is below with this probability."""
        return math.copysign(self.scale * math.log(2 * min(share, 1 - share)), share - 0.5)

    def transform(self, angular: Floats) -> Floats:
        """Return E e^{itT}."""
        return np.asarray(1 / (1 + (self.scale * angular) ** 2))

    def damped_less_one(self, rates: Floats) -> Floats:
        """Return E e^{−cT²} − 1 for every rate c ≥ 0."""
        # √π x erfcx(x) − 1 with x = 1/(2b√c), by its series where that cancels.
        with np.errstate(over="ignore", divide="ignore"):
            x = 1 / (2 * self.scale * np.sqrt(rates))
            y = 1 / (2 * x**2)
            series = -y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y)))
        return np.where(x > 200, series, math.sqrt(math.pi) * x * erfcx(np.minimum(x, 200.0)) - 1.0)

    def widened(self, factor: float) -> Self:
        """Return the law of `factor` times the number."""
        return evolve(self, scale=self.scale * factor)

    @property
    def mean_size(self) -> float:
        """E |T|."""
        return self.scale

    @property
    def variance(self) -> float:
        """E T²."""
        return 2 * self.scale**2


@frozen(kw_only=True)
class StaircaseLine:
    """|T| has the given mass and constant density between neighbouring edges, from 0 on, and T is symmetric.

    >>> law = StaircaseLine(edges=[0, 2, 6], masses=[0.5, 0.5])
    >>> np.exp(law.log_density(np.array([0.0, 4.0, 9.0]), 1e-6)), law.reach(0.1), round(law.variance, 3)
    (array([0.125 , 0.0625, 0.    ]), 6.0, 9.333)
    >>> law.transform(np.array([0.0, 1e-3])).round(6), law.widened(2.0).edges, law.mean_size
    (array([1.      , 0.999995]), array([ 0.,  4., 12.]), 2.5)
    >>> [law.quantile(share) for share in (0.0, 0.25, 0.5, 0.75)]
    [-6.0, -2.0, 0.0, 2.0]
    """

    edges: Floats = array_field()
    masses: Floats = array_field()

    @property
    def shares(self) -> Floats:
        """How likely T is even between −e and e, for every edge e but 0: a mixture of such laws is T's."""
        heights = self.masses / np.diff(self.edges)
        return np.asarray(-np.diff(np.append(heights, 0.0)) * self.edges[1:])

    def log_density(self, points: Floats, deviation: float) -> Floats:
        some = self.shares != 0
        width = self.edges[1:][some][:, np.newaxis]
        z, w = np.abs(points) / deviation, width / deviation
        # Where a difference would cancel it is the bell curve, to 1e-10 of itself.
        bell = np.exp(-(z**2) / 2) / (math.sqrt(2 * math.pi) * deviation)
        densities = np.where(w < 1e-5, bell, (ndtr(w - z) - ndtr(-w - z)) / (2 * width))
        with np.errstate(divide="ignore"):  # the logarithm of 0 is −∞
            return np.asarray(np.log(np.maximum(self.shares[some] @ densities, 0.0)))

    def reach(self, outside: float) -> float:  # noqa: ARG002 - nothing is outside
        return float(self.edges[-1])

    def half(self, deviation: float, outside: float) -> float:
        return self.reach(outside) + NORMAL_REACH * deviation

    def beyond(self, step: float) -> float:  # noqa: ARG002 - laws share one signature
        return 1.0

    def quantile(self, share: float) -> float:
        below = np.append(0.0, np.cumsum(self.masses))
        return float(np.sign(share - 0.5) * np.interp(abs(2 * share - 1), below / below[-1], self.edges))

    def transform(self, angular: Floats) -> Floats:
        return np.asarray(self.shares @ np.sinc(np.outer(self.edges[1:], angular) / math.pi))

    def damped_less_one(self, rates: Floats) -> Floats:
        # √π erf(x)/2x − 1 with x = w√c for numbers that are even up to w, by its series where that cancels.
        x = np.outer(self.edges[1:], np.sqrt(rates))
        safe = np.maximum(x, 1e-3)
        even = np.where(x < 1e-2, -(x**2) / 3 * (1 - x**2 * 0.3), math.sqrt(math.pi) / 2 * erf(safe) / safe - 1)
        return np.asarray(self.shares @ even)

    def widened(self, factor: float) -> Self:
        return evolve(self, edges=self.edges * factor)

    @property
    def mean_size(self) -> float:
        return float(self.masses @ (self.edges[:-1] + self.edges[1:])) / 2

    @property
    def variance(self) -> float:
        low, high = self.edges[:-1], self.edges[1:]
        return float(self.masses @ (low**2 + low * high + high**2)) / 3


LineLaw = LaplaceLine | StaircaseLine
"""A symmetric unimodal law T of one number."""

_TIMES: Final = np.exp(np.arange(-80.0, 80.0, 0.25))
"""Where `_expected_root` takes its integrand, which decays like e^{−|u|/2} and is analytic for |Im u| < π."""


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
