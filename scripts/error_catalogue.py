"""Write docs/reference/errors.md: every error class, when it is raised, and what to do; its example is run.

Usage: python scripts/error_catalogue.py

All of it comes from the docstrings of distpriv.errors. An example that raises another class is refused.
"""

import inspect
import io
import re
from collections.abc import Iterable
from contextlib import chdir, redirect_stdout
from doctest import DocTestParser, Example
from pathlib import Path
from tempfile import TemporaryDirectory

from attrs import frozen

from distpriv import errors

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "errors.md"

INTRODUCTION = """\
# Errors

Everything distpriv refuses, and what to do about it. Every message says what is wrong, where, and what to do. Catch a
class to catch those below it too; the attribute `code` has the code. On the command line a refusal is one line on
standard error, with exit code 2 for wrong input and 1 otherwise. A failed audit, a bundle that does not verify and a
plan without a mechanism that holds are not errors: they are shown, with exit code 1.

This page is made by `scripts/error_catalogue.py` from the docstrings of `distpriv.errors`, whose examples it runs.

| code | class | below | raised when | what to do |
|---|---|---|---|---|
"""


@frozen(kw_only=True)
class CatalogueEntry:
    """What the page says about one class."""

    error: type[errors.DistprivError]
    when: str
    cure: str


def catalogue_entry(error: type[errors.DistprivError]) -> CatalogueEntry:
    """Return the entry of a class, or say what its docstring lacks.

    Raises:
        ValueError: the class has no docstring of its own, no cure, no example, or one that raises something else.
    """
    text = inspect.cleandoc(vars(error).get("__doc__") or "")
    found = re.fullmatch(r"(?P<when>.+?)\n\nCure: (?P<cure>.+?)\n\n(?P<example>>>> .+)", text, flags=re.DOTALL)
    if found is None:
        raise ValueError(f"{error.__name__} must say when it is raised, its cure after 'Cure: ', and an example.")
    raised = run(DocTestParser().get_examples(found["example"]))
    expected = None if error is errors.DistprivError else error  # the root is caught, never raised
    if raised is not expected:
        raise ValueError(f"the example of {error.__name__} raises {raised}: let its last line raise {expected}.")
    return CatalogueEntry(error=error, when=found["when"], cure=found["cure"])


def run(examples: Iterable[Example]) -> type[BaseException] | None:
    """Run examples in an empty folder, and return what the last one raised."""
    names: dict[str, object] = {"__name__": "__main__"}
    raised: type[BaseException] | None = None
    with TemporaryDirectory() as folder, chdir(folder), redirect_stdout(io.StringIO()):
        for example in examples:
            if raised is not None:
                raise ValueError(f"an example goes on after it has raised {raised.__name__}: end it there.")
            try:
                exec(compile(example.source, "example", "single"), names)
            except Exception as failure:
                raised = type(failure)
    return raised


def page() -> str:
    """Return the whole page."""
    return INTRODUCTION + "".join(_row(catalogue_entry(getattr(errors, name))) for name in _names())


def tree() -> str:
    """Return the tree as the module draws it."""
    drawn = [line for line in (errors.__doc__ or "").splitlines() if line.startswith("    ")]
    return inspect.cleandoc("\n".join(drawn))


def _row(entry: CatalogueEntry) -> str:
    base = entry.error.__bases__[0].__name__
    texts = [" ".join(text.split()).replace("|", "\\|").replace("[", "\\[") for text in (entry.when, entry.cure)]
    return f"| {entry.error.code} | `{entry.error.__name__}` | `{base}` | {' | '.join(texts)} |\n"


def _names() -> list[str]:
    """Return the names of all classes, in the order of the tree."""
    return [name for name in re.findall(r"\w+", tree()) if name in errors.__all__]


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    print(f"wrote {PAGE.name} with {len(_names())} errors")


if __name__ == "__main__":
    main()
