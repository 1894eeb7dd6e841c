"""The `distpriv` command with one mechanism to plan with and a page that is not drawn: the same in all that is written.

Run as a program: everything is imported once, and every command is a fork of this process, which has no thread. Each
line that it reads is a JSON list of the folder, the files for what is said and refused, and the arguments; it answers
with the number of the process, and with how that ended.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from select import select
from typing import Self

__all__ = ["Commands", "Running"]

ROOT = Path(__file__).parents[2]
IMPORTED_ONCE = (
    "duckdb",
    "opendp.measurements",
    "pydantic.type_adapter",
    "rich.status",
    "scipy.stats",
    "sqlglot.dialects.duckdb",
    "distpriv.cli.output",
    "distpriv.workflow.release_policy",
)
"""What commands would import one by one otherwise."""


class Running:
    """A command that was started, as `subprocess` would show it."""

    def __init__(self, commands: "subprocess.Popen[str]") -> None:
        self._commands = commands
        self.pid = int(self._line())
        self.code: int | None = None

    def poll(self) -> int | None:
        """Return how it ended, if it did."""
        assert self._commands.stdout is not None
        ended = self.code is not None or select([self._commands.stdout], [], [], 0)[0]
        return self.wait() if ended else None

    def wait(self) -> int:
        """Return how it ended, once it has."""
        if self.code is None:
            self.code = int(self._line())
        return self.code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def _line(self) -> str:
        assert self._commands.stdout is not None
        return self._commands.stdout.readline()


class Commands:
    """Starts commands, one after the other."""

    def __init__(self, python_path: str) -> None:
        settings = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": python_path}
        line = [sys.executable, "-m", "tests.workflow.quick_command"]
        self._program = subprocess.Popen(
            line, cwd=ROOT, env=settings, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._program.communicate()

    def started(self, folder: Path, out: str, arguments: Sequence[str]) -> Running:
        """Start a command in a folder; what it says goes into files beside its bundle."""
        assert self._program.stdin is not None
        self._program.stdin.write(json.dumps([str(folder), f"{out}.said", f"{out}.refused", list(arguments)]) + "\n")
        self._program.stdin.flush()
        return Running(self._program)


def _run(folder: str, said: str, refused: str, arguments: list[str]) -> None:
    """Become the command, in a process that was forked for it."""
    code = 1
    try:
        os.chdir(folder)
        for name, descriptor in ((said, 1), (refused, 2)):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
        sys.argv = ["distpriv", *arguments]
        main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _answer(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    from tests.workflow.small import only

    from distpriv.cli.app import main

    for name in IMPORTED_ONCE:
        import_module(name)
    with only("certified_gaussian"):
        for line in iter(sys.stdin.readline, ""):
            child = os.fork()
            if not child:
                _run(*json.loads(line))
            _answer(child)
            _answer(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
