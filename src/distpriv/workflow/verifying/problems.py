"""How a check tells what is wrong: the first of what it finds."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import ParamSpec

__all__ = ["Found", "first_problem", "found"]

P = ParamSpec("P")

Found = tuple[bool, str]
"""Whether a check is passed, and a sentence on it."""


def first_problem(problems: Callable[P, Iterator[str]]) -> Callable[P, str | None]:
    """Make of a function that yields what is wrong one that returns the first of it, if anything is."""

    @wraps(problems)
    def only(*args: P.args, **kwargs: P.kwargs) -> str | None:
        return next(problems(*args, **kwargs), None)

    return only


def found(problem: str | None, otherwise: str, introduced: str = "") -> Found:
    """Return that a check is passed, or else what is wrong, as a sentence."""
    return (True, otherwise) if problem is None else (False, f"{introduced}{problem}.")
