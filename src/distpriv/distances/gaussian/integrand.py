r"""The integrand of :mod:`distpriv.distances.gaussian.divergence`, and bounds on it (`docs/proofs/exact_check.md`).

In the coordinates of :mod:`distpriv.distances.gaussian.axes`,

.. math:: \log g(s) = \sum_k \left(-\frac{s}{2} \log a_k + \frac12 \log w_k + \frac{s(1+s)}{2} b_k^2 w_k\right)
    - sε - \log s - \log(1+s), \qquad w_k = \frac{1}{1 - s(a_k-1)}.

Arrays have an axis for pairs, then one for coordinates (where there is one), then one for points. What is computed for
a pair does not depend on which other pairs are beside it, to the last bit: factors of complex products have names,
because NumPy multiplies large ones without a name in place, and rounds differently there.
"""

from functools import cached_property
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from distpriv.distances.gaussian.axes import CommonAxes
from distpriv.framework.arrays import Floats, Rows

__all__ = ["Complex", "Integrand", "Local"]

Complex = NDArray[np.complex128]
# Real on the real axis, where that is faster, and complex elsewhere.
Points = NDArray[Any]


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
