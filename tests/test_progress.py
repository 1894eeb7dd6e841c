import sys
from io import StringIO
from types import SimpleNamespace

import pytest

from distpriv.progress import Clock, Progress, show_progress, silent


def test_silence_is_a_way_to_report_progress() -> None:
    progress: Progress = silent
    assert progress("sampling", 1, 2) is None  # type: ignore[func-returns-value]


def test_the_time_left_is_told_from_what_was_done_since_the_first_word() -> None:
    times = iter([0.0, 10.0, 20.0, 100.0, 101.0])
    clock = Clock(now=lambda: next(times))
    assert clock.left("a", 50, 100) is None
    assert clock.left("a", 60, 100) == 40.0
    assert clock.left("a", 100, 100) == 0.0
    assert clock.left("a", 10, 100) is None  # begun anew
    assert clock.left("a", 20, 100) == 8.0


def test_on_a_terminal_one_line_is_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = show_progress()
    for done in range(5):
        progress("planning", done, 4)
    lines = terminal.getvalue().split("\r\x1b[2K")[1:]
    assert lines == ["planning: 0 of 4", "planning: done\n"]  # the others came too soon after


def test_a_file_sees_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    file = StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    show_progress()("planning", 4, 4)
    assert file.getvalue() == ""


def test_in_a_notebook_what_is_below_the_cell_is_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    handle = SimpleNamespace(update=lambda data, **_: shown.append(data["text/plain"]))
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=lambda *_, **__: handle))
    progress = show_progress()
    progress("sampling", 1, 2)
    progress("sampling", 2, 2)
    assert shown == ["sampling: 1 of 2", "sampling: done"]
