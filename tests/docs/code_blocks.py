"""Running the code of a page as its reader would: every block from top to bottom, in one empty folder.

| block | is |
|---|---|
| `python` | executed; all blocks of a page share their names |
| `pycon` | a doctest, with the same names |
| `console`, `sh` | commands after `$ `; output shown below one is compared, and `...` stands for anything |
| `toml` | written to the file that its first line names, as in `# policy.toml` |
| `json` | read |
| `text` | not code |

Nothing else is a block. A command must succeed, unless the output shown has a line that begins with `distpriv: ` or
`FAILED`; then it must not.
"""

import doctest
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import Factory, frozen

import distpriv

__all__ = ["Block", "PageRun", "blocks_of"]

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<code>.*?)^(?P=indent)```[ ]*$", re.DOTALL | re.MULTILINE
)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FILE_NAME = re.compile(r"# (?P<name>[\w.-]+\.toml)\b")
REFUSAL = re.compile(r"^(distpriv: |FAILED)", re.MULTILINE)
LIMIT = 600
"""Seconds that a command may take: a page that hangs must not hang the tests."""


@frozen(kw_only=True)
class Block:
    """One fenced block of a page."""

    language: str
    code: str
    place: str
    """Page and line, for messages."""


def blocks_of(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        indent = found["indent"]
        code = "".join(line.removeprefix(indent) for line in found["code"].splitlines(keepends=True))
        line = text.count("\n", 0, found.start()) + 1
        yield Block(language=found["language"].strip(), code=code, place=f"{page.name}:{line}")


@frozen(kw_only=True)
class PageRun:
    """A page being run in a folder, which must be the working directory."""

    folder: Path
    names: dict[str, Any] = Factory(lambda: {"__name__": "__main__"})

    def run(self, block: Block) -> None:
        """Run a block."""
        match block.language:
            case "python":
                exec(compile(block.code, block.place, "exec"), self.names)
            case "pycon":
                self._doctest(block)
            case "console" | "sh":
                for command, shown in commands_of(block.code):
                    self._command(command, shown, block.place)
            case "toml":
                self._file(block)
            case "json":
                json.loads(block.code)
            case "text":
                pass
            case other:
                raise AssertionError(f"{block.place}: a block is called {other!r}; what cannot be run is called text")

    def _doctest(self, block: Block) -> None:
        test = doctest.DocTestParser().get_doctest(block.code, self.names, block.place, None, None)
        said: list[str] = []
        outcome = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append, clear_globs=False)
        self.names.update(test.globs)
        assert outcome.failed == 0, "".join(said)

    def _command(self, command: str, shown: str, place: str) -> None:
        ended = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=LIMIT,
        )
        refused = REFUSAL.search(shown) is not None
        assert refused == (ended.returncode != 0), (
            f"{place}: $ {command}\nended with {ended.returncode}\n{ended.stdout}"
        )
        if shown:
            checker = doctest.OutputChecker()
            same = checker.check_output(f"{shown}\n", ended.stdout, FLAGS)
            assert same, f"{place}: $ {command}\nprinted\n{ended.stdout}\nand the page shows\n{shown}"

    def _environment(self) -> dict[str, str]:
        """Return where `distpriv` and `python` are those under test."""
        tools = self.folder.parent / f"{self.folder.name}-tools"
        if not tools.exists():
            tools.mkdir()
            for name, arguments in (("distpriv", "-m distpriv "), ("python", "")):
                tool = tools / name
                tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments}"$@"\n', encoding="utf-8")
                tool.chmod(0o755)
        source = str(Path(distpriv.__file__).parents[1])
        return os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": source, "COLUMNS": "120"}

    def _file(self, block: Block) -> None:
        named = FILE_NAME.match(block.code)
        assert named, f"{block.place}: the first line of a toml block is its file, as in # policy.toml"
        tomllib.loads(block.code)
        (self.folder / named["name"]).write_text(block.code, encoding="utf-8")


def commands_of(code: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a console block, each with the output that is shown."""
    text = code.replace("\\\n", " ")
    assert text.startswith("$ "), f"a console block begins with a command after a dollar, not with {text[:20]!r}"
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command.strip(), shown.strip("\n")
