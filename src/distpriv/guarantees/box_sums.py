r"""Bounds on the mean of a function of independent exponentials that increases in none of them.

Cut the cube of their quantiles into boxes. On a box the function is at most what it is at the lowest corner, so

.. math:: E[η(E_1, …, E_q)] ≤ \sum_{\text{boxes}} \mathrm{volume} · η(\text{lowest corner})

for any boxes whatever. They are cut where cutting lowers the sum most, until it pays no more.
"""

import heapq
import math
from collections.abc import Callable

import numpy as np
from attrs import field, frozen

from distpriv.framework.arrays import Floats

__all__ = ["mean_upper_bound"]

Corner = tuple[float, ...]

WORTHWHILE = 0.01
"""Boxes are cut until cutting every one of them once more would lower the sum by less than this share."""


@frozen(order=True)
class _Box:
    """A box of quantiles and the cut that pays most, the best cut first in order."""

    change: float
    """What the cut does to the sum: never more than 0 but for rounding."""
    lower: Corner
    upper: Corner
    axis: int = field(order=False)

    @property
    def halves(self) -> tuple[tuple[Corner, Corner], tuple[Corner, Corner]]:
        """The lower and the upper half, each by its lowest and highest corner."""
        middle = _middle(self.lower, self.upper, self.axis)
        return (self.lower, _with(self.upper, self.axis, middle)), (_with(self.lower, self.axis, middle), self.upper)


def mean_upper_bound(
    decreasing: Callable[[Floats], float], count: int, *, evaluations: int, enough: float = 0.0
) -> float:
    """Return an upper bound on the mean of a function of `count` independent standard exponentials.

    Args:
        decreasing: a function of an array of `count` numbers, not negative, that increases in none of them.
        count: how many exponentials; with none the function has one value.
        evaluations: about how often the function may be called.
        enough: a bound as low as this need not be lowered further.

    >>> bound = mean_upper_bound(lambda e: float(np.exp(-e.sum())), 1, evaluations=200)
    >>> 0.5 < bound < 0.52
    True
    """
    known: dict[Corner, float] = {}

    def at(corner: Corner) -> float:
        if corner not in known:
            known[corner] = decreasing(-np.log1p(-np.array(corner)))
        return known[corner]

    lower, upper = (0.0,) * count, (1.0,) * count
    total = at(lower)
    boxes = [_box(at, lower, upper)] if count and total > enough else []
    left = sum(box.change for box in boxes)
    while total > enough and left < -WORTHWHILE * total and len(known) < evaluations:
        best = heapq.heappop(boxes)
        halves = [_box(at, *corners) for corners in best.halves]
        total += best.change
        left += sum(half.change for half in halves) - best.change
        for half in halves:
            heapq.heappush(boxes, half)
    return min(total, at(lower))


def _box(at: Callable[[Corner], float], lower: Corner, upper: Corner) -> _Box:
    here = at(lower)
    tried = [at(_with(lower, k, _middle(lower, upper, k))) for k in range(len(lower))]
    axis = int(np.argmin(tried))
    volume = math.prod(high - low for low, high in zip(lower, upper, strict=True))
    return _Box(volume / 2 * (tried[axis] - here), lower, upper, axis)


def _middle(lower: Corner, upper: Corner, axis: int) -> float:
    return (lower[axis] + upper[axis]) / 2


def _with(corner: Corner, axis: int, value: float) -> Corner:
    return (*corner[:axis], value, *corner[axis + 1 :])
