"""Points that decide δ: chosen evenly where one density exceeds e^ε times another, and what is summed over them."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Self

import numpy as np
from attrs import frozen
from scipy.special import logsumexp, ndtri

from distpriv.framework.arrays import Floats
from distpriv.modelling.tilted_law import Saddlepoints, TiltedLaw

__all__ = ["CANDIDATES", "Choice", "blurred", "largest_term", "normals", "ratio", "sticks"]

CANDIDATES = 8192
"""From how many points the ones that decide are chosen."""

SOFT = 0.1
"""Standard deviations of the log-ratio by which the border of what decides is blurred."""

LOOKED_AT = 4
"""At how many of the points c₂ is computed."""


def largest_term(law: TiltedLaw, found: Saddlepoints, held: Floats) -> float:
    """Return the largest |c₂| of a law at a few of the points, by how much of δ they hold."""
    if not held.any():
        return math.inf
    looked_at = np.searchsorted(np.cumsum(held), (np.arange(LOOKED_AT) + 0.5) / LOOKED_AT * held.sum())
    return max(abs(law.second_order(found, int(which))) for which in looked_at)


def ratio(exact: Floats, fitted: Floats) -> tuple[float, float]:
    """Return the ratio of two sums and its standard error, as a share of it, by leaving out every term once."""
    rest = fitted.sum() - fitted
    if not (rest > 0).all() or not exact.any():
        return 1.0, math.inf
    without = (exact.sum() - exact) / rest
    factor = float(exact.sum() / fitted.sum())
    return factor, float(without.std() * math.sqrt(len(exact) - 1) / factor)


def sticks(first: Floats, second: Floats, epsilon: float, chosen: Floats) -> Floats:
    """Return (q₁ − e^ε q₂)₊ over the density of the points, from logarithms."""
    possible = np.isfinite(first)
    above = np.where(possible, first, 0.0) - second - epsilon
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is infinite, and tells that nothing is known
        return np.asarray(np.where(possible, np.exp(first - chosen) * -np.expm1(-np.maximum(above, 0.0)), 0.0))


def blurred(first: Floats, second: Floats, epsilon: float) -> tuple[Floats, Floats]:
    """Return the log of (g₁ − e^ε g₂)₊ with a border that is no edge, and by how much the log-ratio is above ε.

    >>> found, above = blurred(np.array([0.0, 0.0, 0.0]), np.array([-9.0, -1.0, 4.0]), 1.0)
    >>> found.round(2).tolist(), above.tolist()
    ([-0.0, -1.17, -9.96], [8.0, 0.0, -5.0])
    """
    above = first - second - epsilon
    width = SOFT * above.std() + np.finfo(float).tiny
    share = -np.expm1(-width * np.logaddexp(0.0, above / width))
    return first + np.log(np.maximum(share, np.finfo(float).tiny)), above


@frozen(kw_only=True, eq=False)
class Choice:
    """Candidates, sorted, and the density by which some of them are chosen evenly."""

    candidates: Floats
    log_density: Floats
    """The logarithm of the density of those chosen."""
    held: Floats
    """How much of it is in each candidate and all before it."""

    @classmethod
    def of(
        cls, candidates: Floats, offered: Floats, kinds: Sequence[Floats], shares: Sequence[float], order: Floats
    ) -> Self:
        """Return what points are to be chosen from.

        Args:
            candidates: points, one a row.
            offered: the logarithm of the density of the candidates.
            kinds: logarithms of the densities to choose by, up to a factor.
            shares: how much of the chosen ones is by each of them.
            order: what they are sorted by before every so many is taken.
        """
        parts = [
            kind + math.log(share) - logsumexp(kind - offered) + math.log(len(offered))
            for kind, share in zip(kinds, shares, strict=True)
        ]
        chosen = logsumexp(parts, axis=0)
        sorted_ = np.argsort(order, kind="stable")
        held = np.cumsum(np.exp(chosen - offered)[sorted_])
        return cls(candidates=candidates[sorted_], log_density=chosen[sorted_], held=held)

    def points(self, size: int) -> tuple[Floats, Floats]:
        """Return so many of the candidates, and the logarithm of their density."""
        taken = np.searchsorted(self.held, (np.arange(size) + 0.5) / size * self.held[-1])
        return self.candidates[taken], self.log_density[taken]


@cache
def normals(dimension: int) -> Floats:
    """Return evenly spread standard normal points, always the same."""
    from scipy.stats import qmc

    uniform = qmc.Sobol(dimension, scramble=False).random(CANDIDATES)
    return np.asarray(ndtri(uniform + 0.5 / CANDIDATES))
