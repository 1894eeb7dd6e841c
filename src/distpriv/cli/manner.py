"""How much a command says: nothing but its exit code, what matters, the evidence, or everything that was tried."""

from contextvars import ContextVar
from typing import Annotated

import typer

from distpriv.errors import InvalidInput

__all__ = ["DETAIL", "Quiet", "Verbose"]

DETAIL: ContextVar[int] = ContextVar("DETAIL", default=0)
"""-1 with --quiet, 0 usually, 1 with -v, 2 with -vv; options set it before a command runs."""


def _quiet(asked: bool) -> bool:
    if asked:
        _set(-1)
    return asked


def _verbose(times: int) -> int:
    if times:
        _set(min(times, 2))
    return times


def _set(detail: int) -> None:
    if DETAIL.get() * detail < 0:
        raise InvalidInput("a command cannot be quiet and verbose: give --quiet or --verbose.")
    DETAIL.set(detail)


Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        envvar="DISTPRIV_QUIET",
        show_envvar=False,
        callback=_quiet,
        help="Print nothing but JSON and refusals; the exit code tells.",
    ),
]
Verbose = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        envvar="DISTPRIV_VERBOSE",
        show_envvar=False,
        callback=_verbose,
        help="Add the evidence with its codes; -vv adds every mechanism.",
    ),
]
