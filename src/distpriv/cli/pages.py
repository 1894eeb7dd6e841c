"""The documentation that is installed with distpriv, page by page."""

import difflib
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown

from distpriv.errors import InvalidInput

__all__ = ["page_names", "show_page_text", "show_pages"]

INSTALLED = Path(__file__).parents[1] / "_pages"
IN_A_CLONE = Path(__file__).parents[3] / "docs"
INTRODUCTORY = ("start", "releasing", "reference/policy", "reference/cli", "comparison")
"""What a list of all pages begins with."""


def page_names() -> dict[str, Path]:
    """Return every page by its name, such as reference/policy.

    Raises:
        InvalidInput: distpriv was installed without its pages.
    """
    folder = INSTALLED if INSTALLED.is_dir() else IN_A_CLONE
    found = {path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.md"))}
    if not found:
        raise InvalidInput("distpriv was installed without its pages: install it from its wheel or a clone.")
    first = [name for name in INTRODUCTORY if name in found]
    return {name: found[name] for name in (*first, *(each for each in found if each not in first))}


def show_pages(console: Console) -> None:
    """List every page with its title."""
    pages = page_names()
    width = max(map(len, pages))
    for name, path in pages.items():
        print_plainly(console, f"{name.ljust(width)}  {_title(path)}")
    print_plainly(console, "\ndistpriv docs PAGE prints one of them; the last part of its name is enough.")


def show_page_text(console: Console, asked: str) -> None:
    """Print a page: set as text on a terminal, and as it is written to a file or a pipe.

    Raises:
        InvalidInput: there is no such page, or several.
    """
    text = _page(asked).read_text(encoding="utf-8")
    if console.is_terminal:
        console.print(Markdown(text))
    else:
        print_plainly(console, text.rstrip("\n"))


def print_plainly(console: Console, text: str) -> None:
    """Print text as it is."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _page(asked: str) -> Path:
    pages = page_names()
    name = asked.removeprefix("docs/").removesuffix(".md").strip("/").lower()
    found = [each for each in pages if each.lower() == name] or [
        each for each in pages if each.lower().rpartition("/")[2] == name
    ]
    if len(found) != 1:
        near = found or difflib.get_close_matches(name, pages, n=3, cutoff=0.4)
        cure = f"ask for {' or '.join(near)}" if near else "distpriv docs lists all of them"
        raise InvalidInput(f"there {'are several pages' if found else 'is no page'} {asked!r}: {cure}.")
    return pages[found[0]]


def _title(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    return next((line.removeprefix("# ") for line in lines if line.startswith("# ")), path.stem)
