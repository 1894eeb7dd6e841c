"""How much a command says: nothing but its exit code, what it found, or all that it does on the way."""

from contextvars import ContextVar
from typing import Annotated, Literal

import typer

from distpriv.errors import InvalidInput

__all__ = ["MANNER", "Manner", "Quiet", "Verbose"]

Manner = Literal["quiet", "usual", "verbose"]

MANNER: ContextVar[Manner] = ContextVar("MANNER", default="usual")
"""What was asked for; options set it before a command runs."""


def _quiet(asked: bool) -> bool:
    if asked:
        _set("quiet")
    return asked


def _verbose(asked: bool) -> bool:
    if asked:
        _set("verbose")
    return asked


def _set(manner: Manner) -> None:
    if MANNER.get() not in ("usual", manner):
        raise InvalidInput("a command cannot be quiet and verbose: give --quiet or --verbose.")
    MANNER.set(manner)


Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        envvar="DISTPRIV_QUIET",
        show_envvar=False,
        callback=_quiet,
        help="Print nothing but JSON if asked for, and refusals; the exit code tells.",
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        envvar="DISTPRIV_VERBOSE",
        show_envvar=False,
        callback=_verbose,
        help="Say on standard error what is done and how long it takes, also to a file or a pipe.",
    ),
]
