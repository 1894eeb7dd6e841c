"""Write PACKAGE.md, what a package index shows: the README without links into the repository, which lead nowhere there.

Usage: python -m scripts.package_page
"""

import re
from pathlib import Path

__all__ = ["PAGE", "package_text"]

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "PACKAGE.md"

PICTURE = re.compile(r"^!\[([^\]]*)\]\((?!https?:)[^)]*\)\n\n", re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)[^)]*\)")
EMPTY = re.compile(r"\s\((?:why|how much|details)\)")
"""Brackets that held nothing but a link."""


def package_text(readme: str) -> str:
    r"""Return a README whose relative links are plain words and whose pictures are left out.

    >>> package_text("![A curve.](a.svg)\n\nIt holds ([why](docs/why.md)), see the [site](https://example.org/).")
    'It holds, see the [site](https://example.org/).\n'
    """
    text = EMPTY.sub("", LINK.sub(r"\1", PICTURE.sub("", readme)))
    text = text.replace("## Where to go next\n", "## What the documentation has\n")
    return text.rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(package_text((ROOT / "README.md").read_text(encoding="utf-8")), encoding="utf-8")
