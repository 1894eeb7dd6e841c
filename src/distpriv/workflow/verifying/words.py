"""Whether two texts say the same: word by word, and their numbers but for rounding."""

import math
import re

from distpriv.guarantees.certificate import Assumption

__all__ = ["same_assumption", "same_words"]

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])")

CLOSE = 0.02
"""By which share numbers may differ that are shown with two or three digits."""

TRACE = 1e-9
"""Numbers below this are shown for their size alone."""


def same_words(one: str, other: str) -> bool:
    """Tell whether two texts are the same but for the last digits of their numbers.

    >>> same_words("an error of 1.23e-05 in 4 steps", "an error of 1.24e-05 in 4 steps")
    True
    >>> same_words("δ = 0.01, by moments", "δ = 0.02, by moments"), same_words("proved", "assumed")
    (False, False)
    """
    if one == other:
        return True
    if _NUMBER.split(one) != _NUMBER.split(other):
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(_same_number(first, second) for first, second in pairs)


def _same_number(one: str, other: str) -> bool:
    first, second = (float(text.replace(",", "")) for text in (one, other))
    if {"e", "."}.isdisjoint(one + other) or not first or not second:
        return one == other
    if 0 < first < TRACE and 0 < second < TRACE:
        return abs(math.log(first / second)) <= CLOSE * abs(math.log(first)) / 2
    few = len(re.sub(r"e.*|\D", "", one).lstrip("0")) < 3  # two digits are shown of very small numbers
    return math.isclose(first, second, rel_tol=0.11 if few and "e" in one else CLOSE)


def same_assumption(one: Assumption, other: Assumption) -> bool:
    """Tell whether two assumptions are the same but for the last digits of their numbers."""
    return (
        one.status == other.status
        and same_words(one.statement, other.statement)
        and same_words(one.evidence, other.evidence)
    )
