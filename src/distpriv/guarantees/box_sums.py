r"""Bounds on the mean of a function of independent exponentials that increases in none of them.

Cut the cube of their quantiles into boxes. On a box the function is at most what it is at the lowest corner, so

.. math:: E[η(E_1, …, E_q)] ≤ \sum_{\text{boxes}} \mathrm{volume} · η(\text{lowest corner})

for any boxes whatever (`docs/proofs/laplace_bound.md`, 3 of the proof). They are cut where cutting lowers the sum
most, until it pays no more.
"""

import heapq
import math
from collections.abc import Callable, Iterable

import numpy as np
from attrs import field, frozen

from distpriv.framework.arrays import Floats

__all__ = ["mean_upper_bound"]

Corner = tuple[float, ...]

WORTHWHILE = 0.01
"""Boxes are cut until cutting every one of them once more would lower the sum by less than this share."""

AHEAD = 8
"""Of how many boxes, those cut next first, the corners are computed together: many cost little more than one."""


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

    @property
    def corners(self) -> list[Corner]:
        """The lowest corners of the quarters, which tell what cutting the halves would do to the sum."""
        return [
            _with(lower, axis, _middle(lower, upper, axis))
            for lower, upper in self.halves
            for axis in range(len(lower))
        ]


def mean_upper_bound(
    decreasing: Callable[[Floats], Floats], count: int, *, evaluations: int, enough: float = 0.0
) -> float:
    """Return an upper bound on the mean of a function of `count` independent standard exponentials.

    Args:
        decreasing: a function of rows of `count` numbers that has one value for each, not negative, and increases in
            none of them.
        count: how many exponentials; with none the function has one value.
        evaluations: about how many values the sum may be made of.
        enough: a bound as low as this need not be lowered further.

    >>> bound = mean_upper_bound(lambda e: np.exp(-e.sum(axis=1)), 1, evaluations=200)
    >>> 0.5 < bound < 0.52
    True
    """
    computed: dict[Corner, float] = {}
    used: set[Corner] = set()

    def compute(corners: Iterable[Corner]) -> None:
        new = [corner for corner in dict.fromkeys(corners) if corner not in computed]
        if new:
            computed.update(zip(new, decreasing(-np.log1p(-np.array(new))).tolist(), strict=True))

    def at(corner: Corner) -> float:
        compute([corner])
        used.add(corner)
        return computed[corner]

    lower, upper = (0.0,) * count, (1.0,) * count
    total = at(lower)
    boxes = [_box(at, lower, upper)] if count and total > enough else []
    left = sum(box.change for box in boxes)
    while total > enough and left < -WORTHWHILE * total and len(used) < evaluations:
        if not all(corner in computed for corner in boxes[0].corners):
            compute(corner for box in heapq.nsmallest(AHEAD, boxes) for corner in box.corners)
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
