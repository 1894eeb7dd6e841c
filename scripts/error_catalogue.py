"""Write docs/reference/errors.md: every error class, when it is raised, an example that was run, and the cure.

Usage: python scripts/error_catalogue.py

All of it comes from the code: the tree and the texts from the docstrings of distpriv.errors, the messages from running
their examples, the exit codes from the command line.
"""

import inspect
import io
import re
from collections.abc import Iterable
from contextlib import chdir, redirect_stdout
from doctest import DocTestParser, Example
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill
from traceback import format_exception_only

from attrs import frozen

from distpriv import errors
from distpriv.cli.app import exit_code

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "errors.md"

WIDTH = 120

INTRODUCTION = """\
# Errors

Everything distpriv refuses to do, and how to get on. This page is made by `scripts/error_catalogue.py` from the
docstrings of `distpriv.errors`; its examples were run, and the messages are as they came.

Every message is one sentence: what was wrong, where, and what to do. Catch a class to catch those below it too.

"""

COMMAND_LINE = """\
## On the command line

A refusal is one line on standard error, `distpriv:` and the message, and nothing on standard output. The exit code is 2
for wrong input, which is `InvalidInput` and everything below it, and 1 for what was refused although the input is
right. An audit that fails, a bundle that does not verify and a plan without a mechanism that holds are no errors: they
are shown as they are, with exit code 1.

"""

COMMAND_EXAMPLE = """\
>>> import subprocess, sys
>>> command = [sys.executable, "-m", "distpriv", "plan", "nowhere.toml"]
>>> done = subprocess.run(command, capture_output=True, encoding="utf-8")
>>> done.returncode, done.stdout
>>> print(done.stderr, end="")
"""


@frozen(kw_only=True)
class CatalogueEntry:
    """What the page says about one class."""

    error: type[errors.DistprivError]
    when: str
    cure: str
    session: str
    """The example as Python showed it."""

    @property
    def exit_code(self) -> int:
        """What the command line ends with."""
        return exit_code(self.error("a message"))


def catalogue_entry(error: type[errors.DistprivError]) -> CatalogueEntry:
    """Return the entry of a class, or say what its docstring lacks.

    Raises:
        ValueError: the class has no docstring of its own, no cure, no example, or one that raises something else.
    """
    text = inspect.cleandoc(vars(error).get("__doc__") or "")
    found = re.fullmatch(r"(?P<when>.+?)\n\nCure: (?P<cure>.+?)\n\n(?P<example>>>> .+)", text, flags=re.DOTALL)
    if found is None:
        raise ValueError(f"{error.__name__} must say when it is raised, its cure after 'Cure: ', and an example.")
    session, raised = run(DocTestParser().get_examples(found["example"]))
    expected = None if error is errors.DistprivError else error  # the root is caught, never raised
    if raised is not expected:
        raise ValueError(f"the example of {error.__name__} raises {raised}: let its last line raise {expected}.")
    return CatalogueEntry(error=error, when=found["when"], cure=found["cure"], session=session)


def run(examples: Iterable[Example]) -> tuple[str, type[BaseException] | None]:
    """Run examples in an empty folder; return them with what came of each, and what the last one raised."""
    lines: list[str] = []
    names: dict[str, object] = {"__name__": "__main__"}
    raised: type[BaseException] | None = None
    with TemporaryDirectory() as folder, chdir(folder):
        for example in examples:
            if raised is not None:
                raise ValueError(f"an example goes on after it has raised {raised.__name__}: end it there.")
            first, *more = example.source.splitlines()
            lines += [f">>> {first}", *(f"... {line}" for line in more)]
            shown = io.StringIO()
            try:
                with redirect_stdout(shown):
                    exec(compile(example.source, "example", "single"), names)
            except Exception as failure:
                raised = type(failure)
                lines += ["Traceback (most recent call last):", *"".join(format_exception_only(failure)).splitlines()]
            lines += shown.getvalue().splitlines()
    return "\n".join(lines), raised


def page() -> str:
    """Return the whole page."""
    entries = [catalogue_entry(getattr(errors, name)) for name in _names()]
    command = run(DocTestParser().get_examples(COMMAND_EXAMPLE))[0]
    beginning = [f"{INTRODUCTION}```text\n{tree()}\n```\n", COMMAND_LINE + _pycon(command)]
    return "\n".join([*beginning, *(_section(entry) for entry in entries)])


def tree() -> str:
    """Return the tree as the module draws it."""
    drawn = [line for line in (errors.__doc__ or "").splitlines() if line.startswith("    ")]
    return inspect.cleandoc("\n".join(drawn))


def _section(entry: CatalogueEntry) -> str:
    bases = " and a ".join(f"`{base.__name__}`" for base in entry.error.__bases__)
    below = ", ".join(f"[`{name}`](#{name.lower()})" for name in _names() if _base(name) is entry.error)
    kinds = f"A kind of {bases}{f', with {below} below it' if below else ''}."
    place = f"Code {entry.error.code}. {kinds} Exit code {entry.exit_code}."
    return (
        f"## {entry.error.__name__}\n\n{fill(entry.when, WIDTH)}\n\n{_pycon(entry.session)}\n"
        f"{fill(f'**Cure:** {entry.cure}', WIDTH)}\n\n{fill(place, WIDTH)}\n"
    )


def _names() -> list[str]:
    """Return the names of all classes, in the order of the tree."""
    return [name for name in re.findall(r"\w+", tree()) if name in errors.__all__]


def _base(name: str) -> type:
    base: type = getattr(errors, name).__bases__[0]
    return base


def _pycon(session: str) -> str:
    return f"```pycon\n{session}\n```\n"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    print(f"wrote {PAGE.name} with {len(_names())} errors")


if __name__ == "__main__":
    main()
