r"""The hockey-stick divergence of any two Gaussians, with a bound on its own error.

Let L be the log-likelihood ratio and K(s) = E₁[exp(sL)]. Because ∫ e^{sε} (1 - e^{ε-L})₊ dε = e^{sL} / (s(s+1)),

.. math:: H_ε = \frac{1}{2πi} \int_{c-i∞}^{c+i∞} g(s) \, ds, \qquad g(s) = \frac{K(s) e^{-sε}}{s (s+1)},

for every c > 0 with K(c) finite. In the coordinates of :mod:`distpriv.distances.gaussian_axes`,

.. math:: \log K(s) = \sum_k -\frac{s}{2} \log a_k - \frac12 \log(1 - s(a_k-1)) + \frac{s(1+s) b_k^2}{2 (1 - s(a_k-1))}.

g is analytic off the real axis, and on it between 0 and 1/(max a - 1). The contour crosses it there, at the saddle
point c, and bends to where g decays: s(u) = c + κ (sin(φ + iu) - sin φ), a vertical line for φ = 0 and a branch of a
hyperbola otherwise. κ = (d²/ds² log g(c))^{-1/2} is the width of the saddle; no singularity is nearer to c than κ/√2.

**Why the error is sound.** Cut the contour at u = ±U and let F(u) = g(s(u)) s'(u) / 2πi.

* *Tail.* From s(U) continue along the vertical line. On it |1 - s(a-1)| increases, |s(1+s)| ≥ (Im s)², and the real
  part of s(1+s)/(1 - s(a-1)), a constant plus a/(a-1)² · Re 1/(1 - s(a-1)), decreases or, where it is below its
  limit, rises to it. So both tails together are at most |g(s) s(1+s)| e^{rise} / (π Im s) at s = s(U).
* *Discretisation.* By the residues of tan(πu/h), the midpoint rule of step h on [-U, U] differs from the integral by
  at most the integral of |F(u)| e^{-2π|Im u|/h} / (1 - e^{-2πy/h}) over the sides of the rectangle with corners
  ±U ± iy, in which F is analytic: s(u) meets the real axis within 0.57 κ of c. A side is cut into cells; in a cell
  |F| is at most its value in the middle times the exponential of a Taylor step of log g, whose first derivative is
  taken there and whose second is bounded term by term.
* *Rounding.* What rounding does to a, b (measured by :class:`CommonAxes`) and to the sums moves log g by at most
  `_Integrand.sensitivity`: a first-order bound, doubled.

The first two are theorems, evaluated in floating point; the third is a first-order bound with a factor 2 to spare.
"""

import math
from functools import cached_property
from typing import Final

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike, NDArray

from distpriv.distances.gaussian import require_epsilon
from distpriv.distances.gaussian_axes import CommonAxes, common_axes

__all__ = ["HockeyStick", "gaussian_hockey_stick"]

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
Points = Array | Complex

# (φ, y): straight, to the left, to the right. Angles stay below π/4, where exp(s²) still decays.
TILTS: Final = ((0.0, 0.6), (-0.39, 0.385), (0.39, 0.385))
# The step is chosen so that e^{-2πy/h} = e^{-50}.
DECAY: Final = 50.0
LONGEST: Final = 20.0
# A contour whose error is below this share of its value ends the search for a better one.
GOOD_ENOUGH: Final = 1e-11
# Beyond this the first-order bound on rounding is no bound.
LARGEST_NOISE: Final = 0.01
UNIT: Final = float(np.finfo(float).eps)
TINY: Final = float(np.finfo(float).tiny)


@frozen(kw_only=True)
class HockeyStick:
    """A computed divergence: the truth lies within `error` of `value`."""

    value: float = field(converter=float)
    error: float = field(converter=float)

    @property
    def upper_bound(self) -> float:
        """A number that the truth does not exceed."""
        return min(1.0, self.value + self.error)


def gaussian_hockey_stick(
    epsilon: float, mean_difference: ArrayLike, covariance_1: ArrayLike, covariance_2: ArrayLike
) -> HockeyStick:
    r"""The hockey-stick divergence of N(μ₁, C₁) from N(μ₂, C₂), the least δ of the ordered pair at ε.

    .. math:: H_ε = \int (p_1 - e^ε p_2)_+

    If the covariances have different ranges, or μ₁ - μ₂ lies outside the common range, one law gives no mass to the
    support of the other. That support and its complement are then certain under one law and impossible under the
    other, so H_ε = 1 in both directions. :mod:`distpriv.distances.gaussian_axes` says what counts as singular.

    Args:
        epsilon: The privacy parameter ε ≥ 0.
        mean_difference: μ₁ - μ₂.
        covariance_1: C₁, symmetric and positive semidefinite.
        covariance_2: C₂, likewise.

    Returns:
        The value with a bound on its error. Where rounding leaves nothing to be known, value and error are both 1.

    Raises:
        InvalidInput: If ε is negative or infinite, shapes do not fit, or a matrix is no covariance.

    >>> round(gaussian_hockey_stick(0.0, [0.0], [[1.0]], [[4.0]]).value, 12)
    0.322674568835
    """
    require_epsilon(epsilon)
    with np.errstate(all="ignore"):  # what overflows, far from the saddle or in a variance lost, is never chosen
        axes = common_axes(mean_difference, covariance_1, covariance_2)
        if axes is None:
            return HockeyStick(value=1.0, error=0.0)
        if not axes.excess.any() and not axes.shift.any():
            return HockeyStick(value=0.0, error=0.0)
        if not axes.noise < LARGEST_NOISE:
            return HockeyStick(value=1.0, error=1.0)
        return _best(_Integrand(float(epsilon), axes))


@frozen(eq=False)
class _Integrand:
    """log g(s), its derivatives, and how far rounding may move it; s is an array, on or above the real axis."""

    epsilon: float
    axes: CommonAxes

    @cached_property
    def ratio(self) -> Array:
        """The a_k."""
        return np.exp(self.axes.log_ratio)

    @cached_property
    def squared_shift(self) -> Array:
        """The b_k²."""
        return np.square(self.axes.shift)

    @cached_property
    def rate(self) -> float:
        """The part of -log K(s) + sε that is linear in s."""
        return self.epsilon + float(self.axes.log_ratio.sum()) / 2

    def resolvent(self, s: Complex) -> Complex:
        """1 / (1 - s (a_k - 1)), one column per axis."""
        return np.asarray(1.0 / (1.0 - np.multiply.outer(s, self.axes.excess)))

    def log(self, s: Complex) -> Complex:
        """The logarithm of g(s); the logarithm is taken axis by axis, where its principal branch is the right one."""
        w = self.resolvent(s)
        quadratic = s * (1 + s) * (w @ self.squared_shift) + np.log(w).sum(axis=-1)
        return np.asarray(quadratic / 2 - s * self.rate - np.log(s) - np.log(1 + s))

    def slope(self, s: Complex) -> Complex:
        """d/ds log g(s)."""
        excess, w = self.axes.excess, self.resolvent(s)
        quadratic = (1 + 2 * s) * (w @ self.squared_shift) + s * (1 + s) * (w**2 @ (excess * self.squared_shift))
        return np.asarray((quadratic + w @ excess) / 2 - self.rate - 1 / s - 1 / (1 + s))

    def curvature_bound(self, s: Complex, radius: Array) -> Array:
        """A bound on |d²/ds² log g| within a radius of s: Σ (a-1)²|w|²/2 + a b²|w|³ + 1/|s|² + 1/|1+s|²."""
        excess = np.abs(self.axes.excess)
        nearest = 1.0 / np.abs(self.resolvent(s)) - np.multiply.outer(radius, excess)
        w = np.where(nearest > 0, 1.0 / nearest, np.inf)
        poles = [np.maximum(np.abs(pole) - radius, 0.0) ** -2.0 for pole in (s, 1 + s)]
        return np.asarray(w**2 @ (excess**2 / 2) + w**3 @ (self.ratio * self.squared_shift) + sum(poles))

    def tail_bound(self, s: Complex) -> Array:
        """A bound on the logarithm of ∫ |g| along the vertical line from s upwards."""
        w, excess = self.resolvent(s).real, self.axes.excess
        limit = -w * self.ratio * self.squared_shift / np.where(w < 0, excess, 1.0) ** 2
        rise = np.where(w < 0, limit, 0.0).sum(axis=-1) / 2
        return np.asarray(self.log(s).real + rise + np.log(np.abs(s * (1 + s)) / s.imag))

    def sensitivity(self, s: Complex) -> Array:
        """Twice a first-order bound on the change of log g(s) when a, b and all sums are perturbed by rounding."""
        w, size, size_1 = np.abs(self.resolvent(s)), np.abs(s), np.abs(1 + s)
        determinants = size * (1 + w * self.ratio).sum(axis=-1) + size_1 * (1 + w).sum(axis=-1)
        pull = w**2 @ (self.ratio * self.squared_shift) * size + w**2 @ self.squared_shift * size_1
        moved = w @ np.abs(self.axes.shift * self.axes.shift_noise)
        sums = 8 * UNIT * ((1 + size) * (self.epsilon + np.abs(self.axes.log_ratio).sum()) + np.abs(np.log(s)))
        relative = (self.axes.noise + 8 * UNIT) * (determinants + size * size_1 * pull)
        return np.asarray(relative + 2 * size * size_1 * moved + 2 * sums)


@frozen(eq=False)
class _Hyperbola:
    """The contour s(u) = c + κ (sin(φ + iu) - sin φ)."""

    vertex: float
    scale: float
    tilt: float

    def point(self, u: Points) -> Complex:
        return np.asarray(self.vertex + self.scale * (np.sin(self.tilt + 1j * u) - math.sin(self.tilt)))

    def speed(self, u: Points) -> Complex:
        """ds/du."""
        return np.asarray(1j * self.scale * np.cos(self.tilt + 1j * u))

    def reach(self, u: Points, radius: Array) -> tuple[Array, Array]:
        """Bounds on |s(v) - s(u)| and |s'(v)| for all v within a radius of u, by the addition theorems."""
        cosine, sine = np.abs(np.cos(self.tilt + 1j * u)), np.abs(np.sin(self.tilt + 1j * u))
        distance = cosine * np.sinh(radius) + sine * (np.cosh(radius) - 1)
        return self.scale * distance, self.scale * (cosine * np.cosh(radius) + sine * np.sinh(radius))


def _best(integrand: _Integrand) -> HockeyStick:
    """The estimate with the least error: zero, or one of three contours through the saddle point."""
    vertex = _saddle_point(integrand)
    best = _zero(integrand, vertex)
    if best.error <= TINY:
        return best
    scale = float(integrand.curvature_bound(vertex, np.zeros(1))[0]) ** -0.5
    for tilt, half_width in TILTS:
        curve = _Hyperbola(float(vertex[0].real), scale, tilt)
        estimate = _along(integrand, curve, half_width)
        if estimate.error < best.error:
            best = estimate
        if best.error < GOOD_ENOUGH * best.value:
            break
    return best


def _real_points(integrand: _Integrand, logits: Array) -> Complex:
    """Points of the strip 0 < s < 1/(max a - 1), dense at both of its ends."""
    return np.asarray(1.0 / (np.exp(-logits) + max(0.0, integrand.axes.excess.max())) + 0j)


def _saddle_point(integrand: _Integrand) -> Complex:
    """Where log g, which is convex on the strip, is least; any point near it will do."""
    low, high = -340.0, 340.0
    for _ in range(5):
        logits = np.linspace(low, high, 65)
        points = _real_points(integrand, logits)
        least = int(np.fmin(np.where(_inside(integrand, points), integrand.log(points).real, np.inf), np.inf).argmin())
        low, high = logits[max(least - 1, 0)], logits[min(least + 1, 64)]
    return points[least : least + 1]


def _inside(integrand: _Integrand, points: Complex) -> NDArray[np.bool_]:
    return np.asarray((integrand.resolvent(points).real > 0).all(axis=-1))


def _zero(integrand: _Integrand, vertex: Complex) -> HockeyStick:
    """Zero, with the Chernoff bound H_ε ≤ K(s) e^{-sε} / (1 + s) as its error, for the best s of a grid.

    It decides where L is bounded and ε above its maximum: then the bound falls as fast as rounding lets it.
    """
    points = np.concatenate([vertex, _real_points(integrand, np.linspace(-7.0, 45.0, 209))])
    bounds = (integrand.log(points) + np.log(points)).real + integrand.sensitivity(points)
    logarithm = np.where(_inside(integrand, points) & ~np.isnan(bounds), bounds, 0.0).min(initial=0.0)
    return HockeyStick(value=0.0, error=math.exp(logarithm) + TINY)


def _along(integrand: _Integrand, curve: _Hyperbola, half_width: float) -> HockeyStick:
    """The midpoint rule on one contour, cut where the tail is negligible or the phase turns too fast for the step."""
    step = 2 * math.pi * half_width / DECAY
    middles: Array = np.arange(0.5, LONGEST / step) * step
    ends = curve.point(middles + step / 2)
    peak = float(integrand.log(np.array([curve.vertex + 0j]))[0].real)
    tails = np.exp(integrand.tail_bound(ends) - peak)
    turning = np.abs(integrand.slope(ends) * curve.speed(middles + step / 2))
    stops = ~(tails > 1e-17 * curve.scale) | ~(turning < 0.9 * 2 * math.pi / step)
    count = int(np.append(stops, True).argmax())
    middles, tail = middles[: count + 1], tails[min(count, len(tails) - 1)]
    points = curve.point(middles)
    terms = np.exp(integrand.log(points) - peak) * curve.speed(middles)
    rounding = step * float(np.abs(terms) @ np.expm1(integrand.sensitivity(points)))
    sides = _sides(integrand, curve, middles, half_width, peak)
    factor = float(np.exp(peak)) / math.pi
    value = factor * step * float(terms.imag.sum())
    return HockeyStick(value=min(max(value, 0.0), 1.0), error=factor * (tail + sides + rounding) + TINY)


def _sides(integrand: _Integrand, curve: _Hyperbola, middles: Array, half_width: float, peak: float) -> float:
    """A bound on ∫ |F| e^{-2π|Im u|/h} over the upper, lower and right side of the rectangle around the nodes."""
    step = 2 * middles[0]
    cells = 4 * math.ceil(half_width / step)
    width = half_width / cells
    heights = (np.arange(-cells, cells) + 0.5) * width
    u = np.concatenate([middles + 1j * half_width, middles - 1j * half_width, len(middles) * step + 1j * heights])
    radius = np.repeat([step / 2, width / 2], [2 * len(middles), 2 * cells])
    depth = np.concatenate([np.full(2 * len(middles), half_width), np.abs(heights) - width / 2])
    distance, speed = curve.reach(u, radius)
    s = curve.point(u)
    variation = np.abs(integrand.slope(s)) * distance + integrand.curvature_bound(s, distance) * distance**2 / 2
    kernel = np.exp(-2 * math.pi / step * depth) / (1 - math.exp(-DECAY))
    return float((np.exp(integrand.log(s).real - peak + variation) * speed) @ (kernel * 2 * radius))
