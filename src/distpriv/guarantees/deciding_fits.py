"""Gaussians that fit both laws of a pair where it is decided."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from attrs import frozen

from distpriv.framework.secrets import Pair
from distpriv.guarantees.bells import Bell, deciding, hockey_stick
from distpriv.modelling.tilted_law import TiltedLaw

__all__ = ["Fit", "fit_of", "fits_of", "fitted_delta"]

ROUNDS = 8
"""Of fitting Gaussians where the ones before decide."""

SETTLED = 0.1
"""Standard deviations by which a round may move the point that decides, if it is the last."""

LEAST = 0.1
"""A factor 1 + c₂ that is smaller means nothing."""

APART = 1.0
"""Standard deviations from which on two points that decide are not the same."""


@frozen(kw_only=True, eq=False)
class Fit:
    """The Gaussians that fit both laws of an ordered pair where it is decided, and around which points that is."""

    pair: Pair
    bells: tuple[Bell, Bell]
    terms: tuple[float, float]
    """c₂ of both there."""
    around: Bell
    asked: float
    """ε."""
    settled: bool
    """Whether they decide where they were fitted."""
    mirrored: bool
    """Whether they were sought on the other side of the first law's mean."""

    @property
    def largest_term(self) -> float:
        """The larger c₂ of both, up to its sign; infinite where rounds did not settle."""
        return max(map(abs, self.terms)) if self.settled else math.inf

    @property
    def factors(self) -> tuple[float, float]:
        """1 + c₂ of both."""
        return max(1 + self.terms[0], LEAST), max(1 + self.terms[1], LEAST)

    @property
    def epsilon(self) -> float:
        """The ε for the leading order that is ε with the second."""
        return self.asked + math.log(self.factors[1] / self.factors[0])

    @cached_property
    def delta(self) -> float:
        """δ of the fitted Gaussians."""
        return self.factors[0] * hockey_stick(*self.bells, self.epsilon)


def fits_of(laws: Mapping[str, TiltedLaw], pair: Pair, epsilon: float) -> list[Fit]:
    """Return what fits where a pair is decided: there may be such points on both sides of the first law's mean."""
    first, other = (fit_of(laws, pair, epsilon, mirrored=mirrored) for mirrored in (False, True))
    apart = float(np.linalg.norm(first.around.mean - other.around.mean)) > APART
    return [first, other] if other.settled and (apart or not first.settled) else [first]


def fitted_delta(fits: Sequence[Fit]) -> float:
    """Return δ of a pair by all that fits it."""
    return sum(fit.delta for fit in fits)


def fit_of(laws: Mapping[str, TiltedLaw], pair: Pair, epsilon: float, *, mirrored: bool) -> Fit:
    """Return the Gaussians that fit where they decide; those of the moments if rounds do not settle."""
    first, second = (laws[name] for name in pair)
    rest = Bell.at_rest(first), Bell.at_rest(second)
    bells, around = rest, deciding(*rest, epsilon)
    point, stride = 2 * rest[0].mean - around.mean if mirrored else around.mean, 1.0
    for _ in range(ROUNDS):
        found = [
            law.saddlepoints(point[np.newaxis], bell.tilts(point[np.newaxis]))
            for law, bell in zip((first, second), bells, strict=True)
        ]
        if not all(each.found[0] for each in found):
            point = (point + rest[0].mean) / 2
            continue
        bells = Bell.touching(found[0], point), Bell.touching(found[1], point)
        around = deciding(*bells, epsilon)
        move = stride * (around.mean - point)
        point, stride = point + move, 0.7 * stride
        if np.linalg.norm(move) < SETTLED:
            terms = first.second_order(found[0], 0), second.second_order(found[1], 0)
            return Fit(
                pair=pair, bells=bells, terms=terms, around=around, asked=epsilon, settled=True, mirrored=mirrored
            )
    terms = first.term_at_rest, second.term_at_rest
    around = deciding(*rest, epsilon)
    return Fit(pair=pair, bells=rest, terms=terms, around=around, asked=epsilon, settled=False, mirrored=mirrored)
