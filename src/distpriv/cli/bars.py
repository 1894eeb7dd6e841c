"""Progress bars for the command line."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TaskID, TextColumn
from rich.progress import Progress as Bars
from rich.text import Text

from distpriv.cli.manner import MANNER
from distpriv.planning.option import Option, Refusal, Skipped, Watch
from distpriv.progress import Clock, Progress, duration, in_words

__all__ = ["lines_as_found", "progress_bars"]


@contextmanager
def progress_bars(console: Console) -> Iterator[Progress]:
    """Show a bar for every task that reports progress, with about how long it still takes, gone when all is done.

    A file or a pipe sees none of it, unless a command is verbose: then it gets a line for every task and tenth of it.
    """
    if MANNER.get() == "verbose" and not console.is_terminal:
        yield _lines(console)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _TimeLeft())
    hidden = not console.is_terminal or MANNER.get() == "quiet"
    with Bars(*columns, console=console, transient=True, disable=hidden) as bars:
        known: dict[str, TaskID] = {}

        def report(task: str, done: int, total: int) -> None:
            if task not in known:
                known[task] = bars.add_task(task, total=total)
            bars.update(known[task], completed=done, total=total)

        yield report


class _TimeLeft(ProgressColumn):
    """About how long a task still takes, in words."""

    def render(self, task: Task) -> Text:
        """Return nothing until something has been done to tell by."""
        left = task.time_remaining
        return Text("" if left is None or task.finished else f"about {duration(left)} left", style="dim")


def _lines(console: Console) -> Progress:
    """Return what prints a line for every tenth of a task, with about how long it still takes."""
    clock, told = Clock(), dict[str, int]()

    def report(task: str, done: int, total: int) -> None:
        left, tenth = clock.left(task, done, total), 10 * done // max(total, 1)
        if told.get(task) != tenth:
            told[task] = tenth
            console.print(in_words(task, done, total, left), markup=False, highlight=False, soft_wrap=True)

    return report


def lines_as_found(console: Console) -> Watch:
    """Return what prints a line for every mechanism as soon as it is known; a file or a pipe sees none of it.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> watch = lines_as_found(Console(force_terminal=True, color_system=None, width=100))
    >>> plan = dp.plan(model, dp.PrivacyTarget(1, 0.001), mechanisms=["expected_value_gaussian"], watch=watch)
    expected_value_gaussian: 15.9% of the public uncertainty removed, kept, checked
    """

    def show(found: Option | Refusal | Skipped) -> None:
        manner = MANNER.get()
        if manner == "quiet" or (manner == "usual" and (not console.is_terminal or isinstance(found, Skipped))):
            return
        if isinstance(found, Skipped):
            said = f"not tried, as {found.reason}"
        elif isinstance(found, Refusal):
            said = f"does not apply: {found.reason}" if manner == "verbose" else "does not apply"
        else:
            certificate = found.mechanism.certificate
            kept = "kept" if certificate.holds else "not kept"
            said = f"{found.information:.1%} of the public uncertainty removed, {kept}, {certificate.assurance}"
        console.print(f"{found.name}: {said}", markup=False, highlight=False, soft_wrap=True)

    return show
