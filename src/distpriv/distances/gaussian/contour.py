r"""The contour integral of :mod:`distpriv.distances.gaussian.divergence`: its integrand, its contours, and its error.

In the coordinates of :class:`CommonAxes`,

.. math:: \log g(s) = \sum_k \left(-\frac{s}{2} \log a_k + \frac12 \log w_k + \frac{s(1+s)}{2} b_k^2 w_k\right)
    - sε - \log s - \log(1+s), \qquad w_k = \frac{1}{1 - s(a_k-1)}.

`docs/proofs/exact_check.md`, "The error", says why the midpoint rule and its error are sound. Arrays have an axis for
pairs, then one for coordinates (where there is one), then one for points. What is computed for a pair does not depend
on which other pairs are beside it, to the last bit: factors of complex products have names, because NumPy multiplies
large ones without a name in place, and rounds differently there.
"""

import math
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats, Rows, rows_of

__all__ = ["CommonAxes", "Complex", "Contours", "Integrand", "Local", "Saddles", "least_error"]

Complex = NDArray[np.complex128]
Points = NDArray[Any]
"""Real on the real axis, where that is faster, and complex elsewhere."""


@frozen(kw_only=True)
class Rule:
    """How the midpoint rule is laid out; any choice is sound, as what it misses is bounded."""

    tilts: tuple[tuple[float, float], ...] = ((0.0, 0.6), (-0.39, 0.385), (0.39, 0.385))
    """(φ, y) of the contours: straight, to the left, to the right; below π/4, where exp(s²) still decays."""
    decay: float = 50.0
    """The step h is such that e^{-2πy/h} = e^{-decay}."""
    longest: float = 20.0
    """How far a contour goes at most."""
    shortest: int = 48
    """How many nodes are tried at first; if these do not suffice, twice as many."""
    good_enough: float = 1e-10
    """A contour whose error is below this share of its value ends the search for a better one."""


RULE = Rule()
_TINY = float(np.finfo(float).tiny)


@frozen(kw_only=True, eq=False)
class CommonAxes:
    """N(b, diag(a)) and N(0, I): two Gaussians in coordinates that whiten the second and diagonalise the first.

    Of many pairs, each has a row.

    Attributes:
        excess: a - 1, accurate also where the covariances nearly agree.
        log_ratio: log a, accurate also where they differ by orders of magnitude.
        shift: b, up to signs.
        noise: A bound on rounding: the matrices given are diag(a) and I up to relative perturbations of this norm.
        shift_noise: A bound on the rounding of every entry of b.
    """

    excess: Floats
    log_ratio: Floats
    shift: Floats
    noise: Floats
    shift_noise: Floats

    def rows(self, chosen: Rows | NDArray[np.bool_]) -> "CommonAxes":
        """The axes of some of the pairs."""
        return rows_of(self, chosen)


@frozen(eq=False)
class Integrand:
    """log g of every pair."""

    epsilon: Floats
    axes: CommonAxes

    def rows(self, chosen: Rows | NDArray[np.bool_]) -> "Integrand":
        """The integrands of some of the pairs."""
        return Integrand(self.epsilon[chosen], self.axes.rows(chosen))

    def at(self, s: Points) -> "Local":
        """The integrand at points of each pair's own, on or above the real axis."""
        return Local(self, s)

    def real_points(self, logits: Floats) -> Floats:
        """Points of the strip 0 < s < 1/(max a - 1), dense at both of its ends."""
        return np.asarray(1.0 / (np.exp(-logits) + np.maximum(self.axes.excess.max(axis=1, keepdims=True), 0.0)))

    @cached_property
    def excess(self) -> Floats:
        """The a_k - 1, for each point."""
        return self.axes.excess[:, :, np.newaxis]

    @cached_property
    def ratio(self) -> Floats:
        """The a_k."""
        return np.exp(self.axes.log_ratio)

    @cached_property
    def squared_shift(self) -> Floats:
        """The b_k²."""
        return np.square(self.axes.shift)

    @cached_property
    def rate(self) -> Floats:
        """The part of -log K(s) + sε that is linear in s."""
        return np.asarray(self.epsilon + self.axes.log_ratio.sum(axis=1) / 2)[:, np.newaxis]


@frozen(eq=False)
class Local:
    """log g, its derivative, bounds on both, and how far rounding may move it, at given points."""

    integrand: Integrand
    s: Points

    @cached_property
    def resolvent(self) -> Points:
        """The w_k."""
        w = self.s[:, np.newaxis, :] * self.integrand.excess  # overwritten: fresh memory costs more than arithmetic
        np.subtract(1.0, w, out=w)
        return np.asarray(np.divide(1.0, w, out=w))

    @cached_property
    def size(self) -> Floats:
        """The |w_k|."""
        return np.abs(self.resolvent)

    @cached_property
    def product(self) -> Points:
        """The product s (1 + s)."""
        above = 1 + self.s
        return np.asarray(self.s * above)

    @cached_property
    def pull(self) -> Points:
        """Σ b_k² w_k."""
        return _weighted(self.integrand.squared_shift, self.resolvent)

    @cached_property
    def log_modulus(self) -> Floats:
        """The logarithm of |g|."""
        growth = (self.product * self.pull).real + np.log(self.size).sum(axis=1)
        return np.asarray(growth / 2 - self.s.real * self.integrand.rate - np.log(np.abs(self.product)))

    @cached_property
    def phase(self) -> Floats:
        """The argument of g, summed factor by factor: that of the product would be wrong by multiples of π."""
        s = self.s
        turned = (self.product * self.pull).imag + np.angle(self.resolvent).sum(axis=1)
        return np.asarray(turned / 2 - s.imag * self.integrand.rate - np.angle(s) - np.angle(1 + s))

    @cached_property
    def slope(self) -> Points:
        """d/ds log g(s)."""
        s, axes, squared = self.s, self.integrand.axes, self.integrand.squared_shift
        bend = _weighted(axes.excess * squared, self.resolvent * self.resolvent)
        twice = 1 + 2 * s
        quadratic = twice * self.pull + self.product * bend + _weighted(axes.excess, self.resolvent)
        return np.asarray(quadratic / 2 - self.integrand.rate - 1 / s - 1 / (1 + s))

    @cached_property
    def inside(self) -> NDArray[np.bool_]:
        """Whether a real point is in the strip after rounding."""
        return np.asarray((self.resolvent.real > 0).all(axis=1))

    def curvature_bound(self, radius: Floats) -> Floats:
        """A bound on |d²/ds² log g| within a radius of s: Σ (a-1)²|w|²/2 + a b²|w|³ + 1/|s|² + 1/|1+s|²."""
        integrand, excess = self.integrand, np.abs(self.integrand.axes.excess)
        w = radius[:, np.newaxis, :] * excess[:, :, np.newaxis]
        np.subtract(1.0 / self.size, w, out=w)
        np.divide(1.0, np.maximum(w, 0.0, out=w), out=w)
        square = w * w
        axes = _weighted(excess**2 / 2, square)
        axes += _weighted(integrand.ratio * integrand.squared_shift, np.multiply(square, w, out=w))
        poles = (np.square(1.0 / np.maximum(np.abs(pole) - radius, 0.0)) for pole in (self.s, 1 + self.s))
        return np.asarray(axes + sum(poles))

    @cached_property
    def tail_bound(self) -> Floats:
        """A bound on the logarithm of ∫ |g| along the vertical line from s upwards."""
        integrand, w = self.integrand, self.resolvent.real
        bound = self.log_modulus + np.log(np.abs(self.product) / self.s.imag)
        if (w < 0).any():
            limits = (integrand.ratio * integrand.squared_shift)[:, :, np.newaxis] / np.square(integrand.excess)
            bound += np.where(w < 0, -w * limits, 0.0).sum(axis=1) / 2
        return np.asarray(bound)

    @cached_property
    def sensitivity(self) -> Floats:
        """Twice a first-order bound on the change of log g(s) when a, b and all sums are perturbed by rounding."""
        integrand, axes, w, unit = self.integrand, self.integrand.axes, self.size, float(np.finfo(float).eps)
        size, size_1 = np.abs(self.s), np.abs(1 + self.s)
        count, square = w.shape[1], w * w
        determinants = size * (count + _weighted(integrand.ratio, w)) + size_1 * (count + w.sum(axis=1))
        pull = _weighted(integrand.ratio * integrand.squared_shift, square) * size
        pull = pull + _weighted(integrand.squared_shift, square) * size_1
        moved = _weighted(np.abs(axes.shift * axes.shift_noise), w)
        linear = (integrand.epsilon + np.abs(axes.log_ratio).sum(axis=1))[:, np.newaxis]
        sums = 8 * unit * ((1 + size) * linear + np.hypot(np.log(size), np.angle(self.s)))
        relative = (axes.noise + 8 * unit)[:, np.newaxis] * (determinants + size * size_1 * pull)
        return np.asarray(relative + 2 * size * size_1 * moved + 2 * sums)


def _weighted(weights: Floats, values: Points) -> Points:
    """Sum over coordinates; the real and imaginary parts of complex values are weighed as neighbouring reals."""
    sums: Floats = weights[:, np.newaxis, :] @ values.view(np.float64)
    return sums[:, 0, :].view(values.dtype)


def least_error(integrand: Integrand) -> Floats:
    """The values and errors of all pairs, in two rows: zero, or one of three contours, whichever has the least error.

    One after the other is tried, for pairs that need a better one. The truth is in the error of zero, so zero is never
    better than a contour that is good enough.
    """
    saddles = Saddles.of(integrand)
    best = np.repeat([[0.0], [1.0]], len(saddles.vertex), axis=1)
    straight, left, right = (partial(_along, *tilt) for tilt in RULE.tilts)
    zero, zero_at_vertex = partial(_chernoff, np.linspace(-7.0, 45.0, 208)), partial(_chernoff, None)
    attempts: tuple[Callable[[Saddles], Floats], ...] = (zero_at_vertex, straight, zero, left, right)
    for attempt in attempts:
        poor = np.flatnonzero((best[1] > _TINY) & ~(best[1] < RULE.good_enough * best[0]))
        if not len(poor):
            break
        computed = attempt(saddles.rows(poor))
        better = computed[1] < best[1, poor]
        best[:, poor[better]] = computed[:, better]
    return best


@frozen(eq=False)
class Saddles:
    """Where each log g is least on the strip, how wide it is there, and how high."""

    integrand: Integrand
    vertex: Floats
    scale: Floats
    peak: Floats

    @classmethod
    def of(cls, integrand: Integrand, rounds: int = 5) -> Self:
        """Find where log g, which is convex on the strip, stops falling: in rounds that divide an interval by 32.

        Any point near it will do.
        """
        low, high = np.full((2, len(integrand.epsilon), 1), [[[-340.0]], [[340.0]]])
        rows, parts = np.arange(len(low))[:, np.newaxis], np.linspace(0.0, 1.0, 33)
        for _ in range(rounds):
            logits = low + (high - low) * parts
            here = integrand.at(integrand.real_points(logits))
            falls = here.inside & (here.slope < 0)
            last = np.where(falls.all(axis=1), len(parts) - 1, falls.argmin(axis=1))[:, np.newaxis]
            low, high = logits[rows, np.maximum(last - 1, 0)], logits[rows, np.maximum(last, 1)]
        vertex = integrand.real_points(low)
        here = integrand.at(vertex)
        return cls(integrand, vertex, here.curvature_bound(np.zeros_like(vertex)) ** -0.5, here.log_modulus)

    def rows(self, chosen: Rows) -> "Saddles":
        """The saddles of some of the pairs, in ascending order."""
        if len(chosen) == len(self.vertex):  # positions ascend, so these are all
            return self
        return Saddles(self.integrand.rows(chosen), self.vertex[chosen], self.scale[chosen], self.peak[chosen])


def _chernoff(logits: Floats | None, saddles: Saddles) -> Floats:
    """Zero, with the Chernoff bound H_ε ≤ K(s) e^{-sε} / (1 + s) as its error, at the vertex or the best s of a grid.

    It decides where L is bounded and ε above its maximum: then the bound falls as fast as rounding lets it.
    """
    points = saddles.vertex if logits is None else saddles.integrand.real_points(logits)
    here = saddles.integrand.at(points)
    bounds = here.log_modulus + np.log(points) + here.sensitivity
    least = np.where(here.inside & ~np.isnan(bounds), bounds, 0.0).min(axis=1, initial=0.0)
    return np.stack([np.zeros_like(least), np.exp(least) + _TINY])


@frozen(eq=False)
class Contours:
    """The curves s(u) = c + κ (sin(φ + iu) - sin φ), with the vertex c and the scale κ of each pair.

    They are analytic in u = x + iy for |y| up to the half width, and sin(φ + iu) = sin(φ - y + ix).
    """

    saddles: Saddles
    tilt: float
    half_width: float
    step: float

    def points(self, x: Floats, y: Floats | float = 0.0) -> Complex:
        """The points s(x + iy)."""
        angle = self.tilt - y
        across = np.sin(angle) * np.cosh(x) - math.sin(self.tilt)
        return np.asarray(self.saddles.vertex + self.saddles.scale * (across + 1j * (np.cos(angle) * np.sinh(x))))

    def speed(self, x: Floats) -> Complex:
        """ds/du."""
        across = math.sin(self.tilt) * np.sinh(x)
        return np.asarray(self.saddles.scale * (across + 1j * (math.cos(self.tilt) * np.cosh(x))))

    def reach(self, x: Floats, y: Floats, radius: Floats) -> tuple[Floats, Floats]:
        """Bounds on |s(v) - s(u)| and |s'(v)| for all v within a radius of u, by the addition theorems."""
        angle, grown = self.tilt - y, np.square(np.sinh(x))
        cosine, sine = np.sqrt(np.square(np.cos(angle)) + grown), np.sqrt(np.square(np.sin(angle)) + grown)
        distance = cosine * np.sinh(radius) + sine * (np.cosh(radius) - 1)
        return self.saddles.scale * distance, self.saddles.scale * (cosine * np.cosh(radius) + sine * np.sinh(radius))


def _along(tilt: float, half_width: float, saddles: Saddles) -> Floats:
    """The midpoint rule, cut where the tail is negligible or the phase turns too fast for the step."""
    step = 2 * math.pi * half_width / RULE.decay
    contours = Contours(saddles, tilt, half_width, step)
    computed, left = np.empty((2, len(saddles.vertex))), np.arange(len(saddles.vertex))
    most = math.ceil(RULE.longest / step - 0.5)
    for start, stop in _blocks(most):
        some = evolve(contours, saddles=saddles.rows(left))
        stops, tails = _ends(some, step * np.arange(start + 1.0, stop + 1.0))
        stops[:, most - 1 - start :] = True
        ends = np.flatnonzero(stops.any(axis=1))
        if len(ends):
            last = stops[ends].argmax(axis=1)
            computed[:, left[ends]] = _midpoint_rule(
                evolve(some, saddles=some.saddles.rows(ends)), start + last + 1, stop, tails[ends, last]
            )
            left = np.delete(left, ends)
        if not len(left):
            break
    return computed


def _blocks(most: int) -> Iterator[tuple[int, int]]:
    """Cut nodes, or a few more, into pieces of a multiple of 8, each as long as all before it.

    A processor takes up to 8 numbers at a time and may round what is left over differently.
    """
    start, stop = 0, RULE.shortest
    while start < most:
        yield start, min(stop, 8 * math.ceil(most / 8))
        start, stop = stop, 2 * stop


def _ends(contours: Contours, x: Floats) -> tuple[NDArray[np.bool_], Floats]:
    """Where a contour had better end, and its tail from there."""
    saddles = contours.saddles
    here = saddles.integrand.at(contours.points(x))
    tails = np.exp(here.tail_bound - saddles.peak)
    speed = contours.speed(x)
    turning = np.abs(here.slope * speed)
    return ~(tails > 1e-17 * saddles.scale) | ~(turning < 0.9 * 2 * math.pi / contours.step), tails


def _midpoint_rule(contours: Contours, nodes: Rows, length: int, tail: Floats) -> Floats:
    """The integral, each contour with its number of nodes, all no more than a length; and its error."""
    saddles, step = contours.saddles, contours.step
    middles: Floats = np.arange(0.5, length) * step
    used = np.arange(length) < nodes[:, np.newaxis]
    here = saddles.integrand.at(contours.points(middles))
    height, speed = np.exp(here.log_modulus - saddles.peak + 1j * here.phase), contours.speed(middles)
    terms = np.where(used, height * speed, 0.0)
    rounding = np.where(used, np.abs(terms) * np.expm1(here.sensitivity), 0.0).sum(axis=1) * step
    sides = _sides(contours, middles, used, nodes.astype(float) * step)
    factor = np.exp(saddles.peak[:, 0]) / math.pi
    value = factor * step * terms.imag.sum(axis=1)
    return np.stack([np.clip(value, 0.0, 1.0), factor * (tail + sides + rounding) + _TINY])


def _sides(contours: Contours, middles: Floats, used: NDArray[np.bool_], ends: Floats) -> Floats:
    """A bound on ∫ |F| e^{-2π|Im u|/h} over the upper, lower and right side of the rectangle around the nodes."""
    saddles, step, half_width, length = contours.saddles, contours.step, contours.half_width, len(middles)
    cells = 4 * math.ceil(half_width / step)
    width = half_width / cells
    heights = (np.arange(-cells, cells) + 0.5) * width
    right = np.repeat(ends[:, np.newaxis], 2 * cells, axis=1)
    x = np.concatenate([np.broadcast_to(np.tile(middles, 2), (len(ends), 2 * length)), right], axis=1)
    y = np.concatenate([np.repeat([half_width, -half_width], length), heights])
    on_side = np.concatenate([used, used, np.ones_like(right, dtype=bool)], axis=1)
    radius = np.repeat([step / 2, width / 2], [2 * length, 2 * cells])
    depth = np.concatenate([np.full(2 * length, half_width), np.abs(heights) - width / 2])
    distance, speed = contours.reach(x, y, radius)
    here = saddles.integrand.at(contours.points(x, y))
    variation = np.abs(here.slope) * distance + here.curvature_bound(distance) * distance**2 / 2
    kernel = np.exp(-2 * math.pi / step * depth) / (1 - math.exp(-RULE.decay)) * 2 * radius
    terms = np.exp(here.log_modulus - saddles.peak + variation) * speed * kernel
    return np.asarray(np.where(on_side, terms, 0.0).sum(axis=1))
