"""The least number that passes a test, where whatever is larger passes too."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["first_passing", "least_passing"]


T = TypeVar("T")


def first_passing(ascending: Sequence[T], passes: Callable[[T], bool]) -> T | None:
    """Return the first of several that passes, where all after it pass too; None if none does.

    The very first is tried before anything else, as that is what passes as a rule.

    >>> first_passing([1, 2, 3, 5, 8, 13], lambda x: x * x >= 9), first_passing([1, 2], lambda x: x > 2)
    (3, None)
    """
    if not ascending or passes(ascending[0]):
        return ascending[0] if ascending else None
    place = 1 + bisect_left(ascending[1:], True, key=passes)
    return ascending[place] if place < len(ascending) else None


def least_passing(passes: Callable[[float], bool], low: float, high: float, *, largest: float, within: float) -> float:
    """Return a number that passes, and is above one that does not by a share of at most `within`; ∞ if none does.

    Args:
        passes: the test.
        low: a number that need not be tried, at most `high`.
        high: where to begin; it is doubled until it passes.
        largest: the last number to try.
        within: how much larger than the least the answer may be.

    >>> least_passing(lambda x: x * x >= 9, 0.0, 1.0, largest=1e6, within=1e-9)
    3.0
    """
    while not passes(high):
        if high >= largest:
            return math.inf
        low, high = high, min(2 * high, largest)
    while high - low > within * high:
        middle = (low + high) / 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high
