"""Build the documentation site of the folder it is started in; whatever is not right ends the build.

Usage: python -m scripts.build_site     (docs/ and zensical.toml to build/site)
"""

import logging
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zensical.main import cli

__all__ = ["built", "navigation_faults", "pages_in_navigation"]

CONFIGURATION = Path("zensical.toml")


def pages_in_navigation(entries: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the path of every page, in order."""
    for entry in entries:
        for place in entry.values():
            if isinstance(place, str):
                yield place
            else:
                yield from pages_in_navigation(place)


def navigation_faults(root: Path) -> list[str]:
    """Return which pages are missing, and which cannot be reached; Zensical says nothing about either."""
    project = tomllib.loads((root / CONFIGURATION).read_text(encoding="utf-8"))["project"]
    docs = root / project["docs_dir"]
    named = list(pages_in_navigation(project["nav"]))
    there = {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")}
    return [
        *(f"{page} is in the navigation and not in {docs.name}/" for page in named if page not in there),
        *(f"{docs.name}/{page} is not in the navigation of {CONFIGURATION}" for page in sorted(there - set(named))),
        *(f"{page} is in the navigation twice" for page in sorted(set(named)) if named.count(page) > 1),
    ]


class Warnings(logging.Handler):
    """Everything that a library warned of; what reads docstrings does not end the build by itself."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Remember it."""
        self.said.append(record.getMessage())


def built() -> list[str]:
    """Build the site, and return what is wrong with it."""
    warnings = Warnings()
    logging.getLogger().addHandler(warnings)
    try:
        cli.main(["build", "--strict", "--clean"], standalone_mode=False)
    except RuntimeError as failure:
        warnings.said.append(str(failure))
    return [*navigation_faults(Path()), *warnings.said]


if __name__ == "__main__":
    if found := built():
        sys.exit("\n".join(["the site is not right:", *found]))
