r"""Two Gaussian scenarios under noise along one line, reduced to that line.

The release is :math:`μ_θ + W + a w`: the noise T along w and what is Gaussian along it are in a, and W is Gaussian and
independent of a. Written by the first scenario's own W, the second has the density of the first with f_j(a + b) in the
place of f_i(a), times :math:`e^{-κ}`, where b is linear and κ quadratic in W (`docs/proofs/line_noise.md`, 1).
"""

import math
from typing import Self

import numpy as np
from attrs import field, frozen

from distpriv.framework.arrays import Floats, array_field, completed

__all__ = ["LinePair"]

LARGEST_CONDITION = 1e9
"""Matrices of correlations that are worse conditioned leave κ unknown."""

ROUNDING = 64 * np.finfo(float).eps
"""By how much of itself, times the condition, κ may be off."""


@frozen(kw_only=True)
class LinePair:
    """κ = `base` + Σ (`squares`_k g_k² + `slopes`_k g_k) and b = `shift` + Σ `moves`_k g_k, the g_k standard normal."""

    first: float = field()
    """s_i, the deviation of the Gaussian part of a in the first scenario."""
    second: float = field()
    shift: float = field()
    moves: Floats = array_field()
    squares: Floats = array_field()
    slopes: Floats = array_field()
    error: float = field()
    """How far κ may be off by rounding."""

    @classmethod
    def of(cls, shift: Floats, first: Floats, second: Floats, axis: Floats) -> Self | None:
        """Return the pair; None where rounding would leave too little of it.

        Args:
            shift: μ_i − μ_j.
            first: A_i, the covariance of the first scenario with the Gaussian part of the noise.
            second: A_j.
            axis: w.
        """
        units = np.sqrt(np.diag(first))
        if not (units > 0).all():
            return None
        correlations = [matrix / np.outer(units, units) for matrix in (first, second)]
        values = [np.linalg.eigvalsh(matrix) for matrix in correlations]
        condition = max(float(of[-1] / of[0]) if of[0] > 0 else math.inf for of in values)
        if condition > LARGEST_CONDITION:
            return None
        factor = np.linalg.cholesky(correlations[0])
        w, d = np.linalg.solve(factor, np.column_stack([axis, shift]) / units[:, np.newaxis]).T
        half = np.linalg.solve(factor, correlations[1])
        precision = np.linalg.inv(np.linalg.solve(factor, half.T))
        along = precision @ w
        own = 1 / float(w @ along)
        across = precision - own * np.outer(along, along)
        beside = completed(np.asarray(w / np.linalg.norm(w))[:, np.newaxis])[:, 1:]
        ratios, turned = np.linalg.eigh(beside.T @ across @ beside)
        beside = beside @ turned
        return cls(
            first=1 / float(np.linalg.norm(w)),
            second=math.sqrt(own),
            shift=own * float(along @ d),
            moves=own * (beside.T @ along),
            squares=(ratios - 1) / 2,
            slopes=beside.T @ across @ d,
            error=ROUNDING * condition,
        )

    @property
    def base(self) -> float:
        """The constant in κ, by E e^{−κ} = 1: what both scenarios have in common weighs the same in both."""
        return float(self.log_moments(np.array([-1.0]))[0])

    @property
    def spread(self) -> float:
        """The standard deviation of κ."""
        return math.sqrt(float((2 * self.squares**2 + self.slopes**2).sum()))

    @property
    def moved(self) -> float:
        """The standard deviation of b."""
        return float(np.linalg.norm(self.moves))

    def log_moments(self, powers: Floats) -> Floats:
        """Return log E e^{s(κ − base)} for every s; infinite where there is none."""
        left = 1 - 2 * np.outer(powers, self.squares)
        possible = (left > 0).all(axis=1)
        left = np.where(left > 0, left, 1.0)
        found = (np.outer(powers, self.slopes) ** 2 / left - np.log(left)).sum(axis=1) / 2
        return np.asarray(np.where(possible, found, math.inf))

    def quantile_bounds(self, outside: float) -> tuple[float, float]:
        """Return what κ − base is below, and above, with no more than this probability each, by Chernoff's bound."""
        return -self._above(outside, -1.0), self._above(outside, 1.0)

    def _above(self, outside: float, sign: float) -> float:
        largest = float((sign * self.squares).max(initial=0.0))
        end = min(1 / (2 * largest) if largest > 0 else math.inf, 1e3 / max(self.spread, 1e-300))
        powers = end * np.append(np.geomspace(1e-4, 0.9, 80), 1 - np.geomspace(1e-6, 0.1, 30))
        return float(((self.log_moments(sign * powers) - math.log(outside)) / powers).min())
