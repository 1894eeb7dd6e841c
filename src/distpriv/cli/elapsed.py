"""Progress on standard error with the time elapsed; steps differ too much in length to estimate the time left."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

from attrs import define, field
from rich.console import Console

from distpriv.cli.manner import DETAIL
from distpriv.progress import Progress, duration, silent

__all__ = ["reporting"]

FIRST_LINE = 2.0
"""Seconds before a pipe gets its first line; each wait is twice as long as the last, up to a minute."""
LONGEST_WAIT = 60.0


@define
class _Watched:
    """The task that goes on, and since when."""

    began: float = field(factory=monotonic)
    task: str = "working"
    done: int = 0
    total: int = 0

    def __call__(self, task: str, done: int, total: int) -> None:
        """Take note of progress."""
        self.task, self.done, self.total = task, done, total

    @property
    def line(self) -> str:
        """The task, how far it is, and the time since the command began."""
        steps = f" {self.done:,} of {self.total:,}" if self.total > 1 else ""
        return f"{self.task}{steps} · {duration(monotonic() - self.began)}"


@contextmanager
def reporting(console: Console) -> Iterator[Progress]:
    """Show what goes on until it ends: one line that is written over on a terminal, few plain lines in a pipe."""
    if DETAIL.get() < 0:
        yield silent
        return
    watched = _Watched()
    if console.is_terminal:
        with console.status("working") as status, _every(lambda: 0.5, lambda: status.update(watched.line)):
            yield watched
        return
    waits = iter(_doubling())
    with _every(waits.__next__, lambda: console.print(watched.line, markup=False, highlight=False, soft_wrap=True)):
        yield watched


def _doubling() -> Iterator[float]:
    wait = FIRST_LINE
    while True:
        yield wait
        wait = min(2 * wait, LONGEST_WAIT)


@contextmanager
def _every(wait: Callable[[], float], act: Callable[[], object]) -> Iterator[None]:
    """Act again and again in the background, after each wait."""
    ended = Event()

    def run() -> None:
        while not ended.wait(wait()):
            act()

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
