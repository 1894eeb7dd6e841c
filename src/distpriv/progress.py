"""How long work tells that it goes on: a Protocol, silent unless the caller says otherwise."""

import sys
from collections.abc import Callable
from importlib import import_module
from time import monotonic
from typing import Any, Protocol

from attrs import field, frozen

__all__ = ["Clock", "Progress", "duration", "in_words", "show_progress", "silent"]

AGAIN_AFTER = 0.2
"""Seconds between two looks at the same task; nobody reads faster."""


class Progress(Protocol):
    """Called as work goes on; what it does with that is its own affair."""

    def __call__(self, task: str, done: int, total: int) -> None:
        """Take note that `done` of `total` steps of `task` are finished."""


def silent(task: str, done: int, total: int) -> None:
    """Say nothing."""


@frozen
class Clock:
    """When tasks began, and so when they may end.

    Steps are taken for equally long, which draws are and mechanisms are not: of planning it is a rough guess.

    >>> times = iter([0.0, 30.0])
    >>> clock = Clock(now=lambda: next(times))
    >>> clock.left("sampling", 0, 100), clock.left("sampling", 25, 100)
    (None, 90.0)
    """

    now: Callable[[], float] = monotonic
    _began: dict[str, tuple[float, int]] = field(factory=dict, init=False)

    def left(self, task: str, done: int, total: int) -> float | None:
        """Return about how many seconds a task still takes; None where nothing has been done yet to tell by."""
        now = self.now()
        if task not in self._began or done < self._began[task][1]:
            self._began[task] = now, done
        began, at = self._began[task]
        return None if done <= at else (now - began) * (total - done) / (done - at)


def in_words(task: str, done: int, total: int, left: float | None) -> str:
    """Say how far a task is.

    >>> in_words("sampling", 1200, 5000, 94.2)
    'sampling: 1,200 of 5,000, about 2 min left'
    >>> in_words("planning", 17, 17, 0.0), in_words("planning", 1, 17, 8.4), in_words("planning", 0, 17, None)
    ('planning: done', 'planning: 1 of 17, about 9 s left', 'planning: 0 of 17')
    """
    if done >= total:
        return f"{task}: done"
    about = "" if left is None else f", about {duration(left)} left"
    return f"{task}: {done:,} of {total:,}{about}"


def show_progress() -> Progress:
    """Return what shows progress with about how long it still takes: below a cell of a notebook, or on a terminal.

    Give it to `dp.model`, `dp.plan` and `dp.audit` as `progress`.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> only = ["expected_value_gaussian"]
    >>> dp.plan(model, dp.PrivacyTarget(1, 0.001), mechanisms=only, progress=dp.show_progress()).chosen.name
    'expected_value_gaussian'
    """
    return _Shown(write=_in_a_notebook() or _on_a_terminal)


@frozen
class _Shown:
    """One line that is written over, at most so many times a second."""

    write: Callable[[str, bool], None]
    clock: Clock = field(factory=Clock)
    _last: dict[str, float] = field(factory=dict, init=False)

    def __call__(self, task: str, done: int, total: int) -> None:
        """Write how far a task is, unless that was written just now."""
        left, now = self.clock.left(task, done, total), self.clock.now()
        if done < total and now - self._last.get(task, float("-inf")) < AGAIN_AFTER:
            return
        self._last[task] = now
        self.write(in_words(task, done, total, left), done >= total)


def duration(seconds: float) -> str:
    """Return a time in words, rounded up.

    >>> duration(0.2), duration(61), duration(7300)
    ('1 s', '2 min', '2 h 2 min')
    """
    whole = int(seconds) + (seconds > int(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes = -(-whole // 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _on_a_terminal(line: str, ended: bool) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[2K{line}" + ("\n" if ended else ""))
        sys.stderr.flush()


def _in_a_notebook() -> Callable[[str, bool], None] | None:
    """Return what writes below the cell that runs; None where there is no notebook."""
    python = sys.modules.get("IPython")
    shell: Any = None if python is None else python.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    display: Any = import_module("IPython.display").display
    handle: Any = display({"text/plain": ""}, raw=True, display_id=True)

    def write(line: str, _: bool) -> None:
        handle.update({"text/plain": line}, raw=True)

    return write
