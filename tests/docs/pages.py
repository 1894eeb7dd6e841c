"""The pages of the documentation."""

from pathlib import Path

__all__ = ["DOCS", "PAGES", "README", "ROOT", "name_of"]

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = sorted(DOCS.rglob("*.md"))


def name_of(page: Path) -> str:
    """Return what a page is called in the repository."""
    return page.relative_to(ROOT).as_posix()
