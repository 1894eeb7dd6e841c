"""Progress bars for the command line."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from distpriv.progress import Progress

__all__ = ["progress_bars"]


@contextmanager
def progress_bars(console: Console) -> Iterator[Progress]:
    """Show a bar for every task that reports progress, gone when all is done; a file or a pipe sees none of it."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        known: dict[str, int] = {}

        def report(task: str, done: int, total: int) -> None:
            if task not in known:
                known[task] = bars.add_task(task, total=total)
            bars.update(known[task], completed=done, total=total)  # type: ignore[arg-type]

        yield report
