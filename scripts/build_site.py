"""Build the documentation site of the folder it is started in; whatever is not right ends the build.

Usage: python -m scripts.build_site     (docs/ and zensical.toml to build/site)
"""

import logging
import re
import sys
import tomllib
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from zensical.main import cli

__all__ = ["built", "missing_files", "navigation_faults", "pages_in_navigation"]

CONFIGURATION = Path("zensical.toml")
REFERENCE = re.compile(r"<[^>]+\s(?:src|href)=\"([^\"]*)\"")


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


def missing_files(site: Path) -> list[str]:
    """Return every picture, style or page that a page of the site asks for and the site does not have."""
    found = []
    for page in sorted(site.rglob("*.html")):
        for address in REFERENCE.findall(page.read_text(encoding="utf-8")):
            path = unquote(urlsplit(unescape(address)).path)
            place = site / path.lstrip("/") if path.startswith("/") else page.parent / path
            if path and not urlsplit(address).scheme and not place.exists():
                found.append(f"{page.relative_to(site)} asks for {address}, which is not there")
    return found


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
    project = tomllib.loads(CONFIGURATION.read_text(encoding="utf-8"))["project"]
    return [*navigation_faults(Path()), *missing_files(Path(project["site_dir"])), *warnings.said]


if __name__ == "__main__":
    if found := built():
        sys.exit("\n".join(["the site is not right:", *found]))
