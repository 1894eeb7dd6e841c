"""δ of all protected pairs under noise along one line and Gaussian noise, f_θ taken as Gaussian."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Self

import numpy as np
from attrs import frozen

from distpriv.distances.line_laws import LaplaceLine, LineLaw
from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Pair
from distpriv.guarantees.line_delta import COARSE, FINE, ROUGH, Fineness, line_delta
from distpriv.guarantees.line_pairs import LinePair
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import GaussianNoise, Noise

__all__ = ["AtPair", "LineNoise", "worst_by"]

AtPair = Callable[[Pair], tuple[float, float]]
"""The ε of a pair, and a factor for its δ."""

ROUNDING = 1e-14
"""A part of a shift that is smaller than this share of what it was computed from is rounding."""

UNSEEN = 1e-10
"""Deviations of the statistics by which rounding may move them off the line: nobody could tell."""


@frozen(kw_only=True, eq=False, slots=False)
class LineNoise:
    """Noise of a law along an axis, and Gaussian noise beside it."""

    axis: Floats
    law: LineLaw
    gaussian: GaussianNoise

    @classmethod
    def of(cls, noise: Noise) -> Self | None:
        """Return noise as such; None where more than one axis has noise that is not Gaussian, or none has."""
        line = noise.line
        return None if line is None else cls(axis=line[0], law=line[1], gaussian=noise.gaussian)

    @cached_property
    def covariance(self) -> Floats:
        """That of all the noise."""
        return np.asarray(self.gaussian.covariance + self.law.variance * np.outer(self.axis, self.axis))

    def pair(self, model: QueryModel, pair: Pair) -> LinePair | None:
        """Return a pair of scenarios along the line; None where rounding leaves too little of it."""
        first, second = (model.distributions[name].covariance + self.gaussian.covariance for name in pair)
        return LinePair.of(model.mean_shift(pair), first, second, self.axis)

    def delta(self, model: QueryModel, pair: Pair, epsilon: float, fineness: Fineness = FINE) -> float:
        """Return a bound on H_ε of a pair, or an estimate; 1 where there is none."""
        if self._carries(model, pair, epsilon):
            return 0.0
        found = self.pair(model, pair)
        delta = None if found is None else line_delta(found, self.law, epsilon, fineness)
        return 1.0 if delta is None else delta

    def estimates(self, model: QueryModel, pairs: Sequence[Pair], epsilon: float) -> dict[Pair, float]:
        """Return about what δ is, for some pairs."""
        return {pair: self.delta(model, pair, epsilon, ROUGH) for pair in pairs}

    def worst_pair(self, model: QueryModel, at: AtPair) -> tuple[Pair, float]:
        """Return the ordered pair with the largest bound, and that bound, each pair at an ε and with a factor."""
        return worst_by(
            model.protected_pairs,
            at,
            coarse=lambda pair, epsilon: self.delta(model, pair, epsilon, COARSE),
            fine=lambda pair, epsilon: self.delta(model, pair, epsilon, FINE),
        )

    def _carries(self, model: QueryModel, pair: Pair, epsilon: float) -> bool:
        """Tell whether the scenarios differ by a shift along the line that Laplace noise hides at ε, and nothing else.

        Then the ratio of their densities is at most e^ε everywhere.
        """
        first, second = (model.distributions[name].covariance for name in pair)
        if not isinstance(self.law, LaplaceLine) or not np.array_equal(first, second):
            return False
        shift = model.mean_shift(pair)
        along = float(self.axis @ shift)
        off = np.abs(shift - along * self.axis)
        parallel = bool((off <= ROUNDING * (np.abs(shift) + np.abs(along * self.axis))).all())
        hidden = bool((off <= UNSEEN * np.sqrt(np.diag(first + self.gaussian.covariance))).all())
        return parallel and hidden and abs(along) <= self.law.scale * epsilon * (1 + 1e-12)


def worst_by(
    pairs: Sequence[Pair], at: AtPair, *, coarse: Callable[[Pair, float], float], fine: Callable[[Pair, float], float]
) -> tuple[Pair, float]:
    """Return the ordered pair with the largest bound, and that bound.

    All pairs are bounded coarsely, and those with the largest bounds finely until no other can be the worst.

    Args:
        pairs: ordered pairs of scenarios.
        at: the ε of a pair, and the factor of its δ.
        coarse: bounds δ of a pair at an ε.
        fine: the same, with more work.
    """
    coarsely = {pair: at(pair)[1] * coarse(pair, at(pair)[0]) for pair in pairs}
    worst, most = pairs[0], -1.0
    for pair in sorted(coarsely, key=lambda each: -coarsely[each]):
        if coarsely[pair] <= most:
            break
        epsilon, factor = at(pair)
        found = min(1.0, coarsely[pair], factor * fine(pair, epsilon))
        worst, most = (pair, found) if found > most else (worst, most)
    return worst, most
