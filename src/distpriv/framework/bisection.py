"""The least number that passes a test, where whatever is larger passes too."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

__all__ = ["first_passing", "least_crossing", "least_passing"]


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


def least_crossing(
    excess: Callable[[float], float],
    start: float,
    *,
    least: float,
    largest: float,
    within: float,
    enough: float = 0.0,
) -> float:
    """Return about the least positive number at which a falling function is at most 0; ∞ if it is above 0 everywhere.

    Brent's method on the logarithm of the number, for functions that are smooth there and take long.

    Args:
        excess: the function, such as the logarithm of δ over its target.
        start: where a bracket begins; its steps grow.
        least: no smaller number is tried.
        largest: no larger one.
        within: the relative accuracy of the number.
        enough: values from −enough to 0 end the search as well.

    >>> round(least_crossing(lambda x: 2 - 3 * x, 8.0, least=1e-3, largest=1e3, within=1e-9), 6)
    0.666667
    """
    from scipy.optimize import brentq  # the vocabulary itself loads no SciPy

    bottom, top = math.log(least), math.log(largest)
    passing: list[float] = []

    @cache
    def at(logarithm: float) -> float:
        value = excess(math.exp(logarithm))
        if value <= 0:
            passing.append(logarithm)
        return 0.0 if -enough <= value <= 0 else min(max(value, -5.0), 5.0)  # so that secants are of use

    low = high = math.log(start)
    step = 0.05
    while at(high) > 0:
        if high >= top:
            return math.inf
        low, high, step = high, min(high + step, top), min(2 * step, 3.0)
    while at(low) <= 0 and low > bottom and at(high) < 0:
        low, high, step = max(low - step, bottom), low, min(2 * step, 3.0)
    if at(low) > 0 > at(high):
        brentq(at, low, high, xtol=within, rtol=1e-15)
    return math.exp(min(passing))
