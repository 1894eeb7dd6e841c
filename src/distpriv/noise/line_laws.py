r"""Laws of one number, which noise has along an axis: Laplace or a staircase; with a Gaussian number added."""

import math
from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from attrs import evolve, field, frozen
from scipy.special import erf, erfcx, log_ndtr, ndtr

from distpriv.framework.arrays import Floats, array_field

__all__ = ["NORMAL_REACH", "LaplaceLine", "LineLaw", "StaircaseLine"]

NORMAL_REACH = 7.04
"""A standard normal number is beyond that, on one side, with a probability of no more than 1e-12."""


@frozen(kw_only=True)
class LineLaw(ABC):
    """A symmetric unimodal law T of one number."""

    @abstractmethod
    def log_density(self, points: Floats, deviation: float) -> Floats:
        """Return the logarithm of the density of T + N(0, deviation²), deviation > 0; −∞ where it underflows."""

    @abstractmethod
    def reach(self, outside: float) -> float:
        """Return a number that |T| exceeds with no more than this probability."""

    def half(self, deviation: float, outside: float) -> float:
        """Return how far points must go so that the last ones stand for all beyond, but for this probability.

        Points that go as far for a law do for narrower ones.
        """
        return self.reach(outside) + NORMAL_REACH * deviation

    def beyond(self, step: float) -> float:  # noqa: ARG002 - laws share one signature
        """Return how many points of a lattice the last one stands for."""
        return 1.0

    @abstractmethod
    def quantile(self, share: float) -> float:
        """Return the number that T is below with this probability."""

    @abstractmethod
    def transform(self, angular: Floats) -> Floats:
        """Return E e^{itT}."""

    @abstractmethod
    def damped_less_one(self, rates: Floats) -> Floats:
        """Return E e^{−cT²} − 1 for every rate c ≥ 0."""

    @abstractmethod
    def widened(self, factor: float) -> Self:
        """Return the law of `factor` times the number."""

    @property
    @abstractmethod
    def mean_size(self) -> float:
        """E |T|."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """E T²."""


@frozen(kw_only=True)
class LaplaceLine(LineLaw):
    """T ~ Lap(scale).

    >>> law = LaplaceLine(scale=2.0)
    >>> law.log_density(np.array([0.0, 4.0]), 1e-6).round(3), round(law.reach(math.exp(-3)), 9), law.variance
    (array([-1.386, -3.386]), 6.0, 8.0)
    >>> law.transform(np.array([0.5])), law.widened(2.0), round(law.quantile(0.25), 2), law.mean_size
    (array([0.5]), LaplaceLine(scale=4.0), -1.39, 2.0)
    """

    scale: float = field(converter=float)

    def log_density(self, points: Floats, deviation: float) -> Floats:
        inside, z = deviation / self.scale, np.abs(points) / deviation
        # e^{c²/2 − cz} Φ(z − c), c the deviation over the scale, is e^{−z²/2} erfcx((c − z)/√2)/2: nothing cancels.
        with np.errstate(over="ignore"):  # where z is beyond c the other form is taken
            bell = np.log(erfcx((inside - z) / math.sqrt(2)) / 2) - z**2 / 2
        near = np.where(z < inside, bell, inside * (inside / 2 - z) + log_ndtr(z - inside))
        far = np.log(erfcx((inside + z) / math.sqrt(2)) / 2) - z**2 / 2
        return np.asarray(np.logaddexp(near, far) - math.log(2 * self.scale))

    def reach(self, outside: float) -> float:
        return -self.scale * math.log(outside)

    def half(self, deviation: float, outside: float) -> float:
        # Beyond 9 deviations and deviation²/scale the density is exponential to the last digit: there one point stands
        # for all. For all narrower laws, points to 13.5 deviations reach as far as that, or as the law itself.
        exponential = deviation * max(9 + deviation / self.scale, 13.5)
        return min(self.reach(outside) + NORMAL_REACH * deviation, exponential)

    def beyond(self, step: float) -> float:
        return -1 / math.expm1(-step / self.scale)

    def quantile(self, share: float) -> float:
        return math.copysign(self.scale * math.log(2 * min(share, 1 - share)), share - 0.5)

    def transform(self, angular: Floats) -> Floats:
        return np.asarray(1 / (1 + (self.scale * angular) ** 2))

    def damped_less_one(self, rates: Floats) -> Floats:
        # √π x erfcx(x) − 1 with x = 1/(2b√c), by its series where that cancels.
        with np.errstate(over="ignore", divide="ignore"):
            x = 1 / (2 * self.scale * np.sqrt(rates))
            y = 1 / (2 * x**2)
            series = -y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y)))
        return np.where(x > 200, series, math.sqrt(math.pi) * x * erfcx(np.minimum(x, 200.0)) - 1.0)

    def widened(self, factor: float) -> Self:
        return evolve(self, scale=self.scale * factor)

    @property
    def mean_size(self) -> float:
        return self.scale

    @property
    def variance(self) -> float:
        return 2 * self.scale**2


@frozen(kw_only=True)
class StaircaseLine(LineLaw):
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
