"""The domain of a parameter, declared once: what is accepted, and what is said about everything else."""

import math
import unicodedata
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

from distpriv.errors import InvalidInput

__all__ = ["as_written", "did_you_mean", "is_control", "items", "one_of", "real", "whole", "yes_or_no"]


def real(
    name: str,
    value: object,
    error: type[InvalidInput],
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
    cure: str,
) -> float:
    """Return `value` as a finite float inside a range.

    >>> from distpriv.errors import InvalidTarget
    >>> real("delta", 2, InvalidTarget, at_least=0, below=1, cure="give 0.001, say")
    Traceback (most recent call last):
    distpriv.errors.InvalidTarget: delta must be at least 0 and below 1, got 2: give 0.001, say.
    """
    number = _as_float(value)
    limits = [
        ("at least", at_least, at_least is None or number >= at_least),
        ("above", above, above is None or number > above),
        ("at most", at_most, at_most is None or number <= at_most),
        ("below", below, below is None or number < below),
    ]
    if not math.isfinite(number) or not all(holds for _, _, holds in limits):
        domain = " and ".join(f"{words} {bound:g}" for words, bound, _ in limits if bound is not None)
        raise error(f"{name} must be {domain or 'a finite number'}, got {value!r}: {cure}.")
    return number


def whole(name: str, value: object, error: type[InvalidInput], *, at_least: int, cure: str) -> int:
    """Return `value` as an int no smaller than `at_least`; 3.0 is whole, 3.5, True and "3" are not."""
    number = _as_float(value)
    if not math.isfinite(number) or number != int(number) or number < at_least:
        raise error(f"{name} must be a whole number, at least {at_least}, got {value!r}: {cure}.")
    return value if isinstance(value, int) else int(number)


def items(value: object) -> tuple[Any, ...]:
    """Return what is in a list, a tuple or an array, and nothing for what is no such thing; text is one thing.

    >>> items([1, 2]), items("ab"), items(None)
    ((1, 2), (), ())
    """
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return ()
    try:
        return tuple(value)
    except TypeError:  # an array without dimensions says that it can be iterated, and cannot
        return ()


def yes_or_no(name: str, value: object, error: type[InvalidInput]) -> bool:
    """Return a bool that is one."""
    if not isinstance(value, bool):
        raise error(f"{name} must be True or False, got {value!r}.")
    return value


def one_of(name: str, value: object, choices: Iterable[str], error: type[InvalidInput]) -> str:
    """Return a word that is among the choices."""
    listed = list(choices)
    if not isinstance(value, str) or value not in listed:
        raise error(f"{name} must be {' or '.join(map(repr, listed))}, got {value!r}.")
    return value


def as_written(value: float) -> Fraction:
    """Return the decimal a float is written as, exactly.

    0.1 is the float nearest to one tenth; a person who writes 0.1 means one tenth.

    >>> as_written(0.1) * 3 == as_written(0.3)
    True
    """
    return Fraction(repr(float(value)))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the end of a message: the nearest known name, or all of them.

    >>> did_you_mean("agee", ["age", "income"])
    "did you mean 'age'?"
    """
    names = list(known)
    near = get_close_matches(word.lower(), [name.lower() for name in names], n=1, cutoff=0.6)
    if near:
        return f"did you mean {next(name for name in names if name.lower() == near[0])!r}?"
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return f"there are: {shown}."


def is_control(character: str) -> bool:
    """Tell whether a character is a control character other than tab and line end, or half of a surrogate pair."""
    return character not in "\t\n\r" and unicodedata.category(character) in ("Cc", "Cs")


def _as_float(value: object) -> float:
    """Return a real number as a float, and everything that is none as NaN."""
    if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__"):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
