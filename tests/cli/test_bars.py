from rich.console import Console

from distpriv.cli.bars import progress_bars


def test_every_task_gets_one_bar_that_reaches_its_end() -> None:
    console = Console(record=True, width=100, force_terminal=True, quiet=True)
    with progress_bars(console) as progress:
        progress("one", 1, 2)
        progress("two", 3, 3)
        progress("one", 2, 2)
        bars = progress.__closure__  # type: ignore[attr-defined]
    tasks = next(cell.cell_contents for cell in bars if hasattr(cell.cell_contents, "tasks")).tasks
    assert [(task.description, task.completed, task.total) for task in tasks] == [("one", 2, 2), ("two", 3, 3)]
