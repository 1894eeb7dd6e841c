from io import StringIO
from itertools import islice

from rich.console import Console

from distpriv.cli import elapsed
from distpriv.cli.manner import DETAIL


def test_a_pipe_gets_a_line_with_the_task_and_the_time_elapsed() -> None:
    watched = elapsed._Watched()
    watched("planning", 3, 17)
    assert watched.line.startswith("planning 3 of 17 · ")


def test_lines_become_rarer_so_that_an_hour_is_not_a_screen() -> None:
    waits = list(islice(elapsed._doubling(), 40))
    assert waits == sorted(waits)
    assert sum(1 for total in (sum(waits[:k]) for k in range(1, 40)) if total < 600) <= 15


def test_quick_and_quiet_commands_print_nothing() -> None:
    for detail in (0, -1):
        told, shown = DETAIL.set(detail), StringIO()
        with elapsed.reporting(Console(file=shown)) as progress:
            progress("planning", 1, 2)
        DETAIL.reset(told)
        assert shown.getvalue() == ""
