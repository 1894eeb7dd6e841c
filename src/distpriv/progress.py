"""How long work tells that it goes on: a Protocol, silent unless the caller says otherwise."""

from typing import Protocol

__all__ = ["Progress", "silent"]


class Progress(Protocol):
    """Called as work goes on; what it does with that is its own affair."""

    def __call__(self, task: str, done: int, total: int) -> None:
        """Take note that `done` of `total` steps of `task` are finished."""


def silent(task: str, done: int, total: int) -> None:
    """Say nothing."""
