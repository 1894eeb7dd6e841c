import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pymdownx.slugs import slugify
from tests.docs.code_blocks import FENCE
from tests.docs.pages import DOCS, PAGES, README, ROOT, name_of

LINK = re.compile(r"\]\(\s*<?([^()\s<>]*(?:\([^()\s]*\)[^()\s<>]*)*)>?(?:\s+\"[^\"]*\")?\s*\)")
DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s+(\S+)", re.MULTILINE)
HTML = re.compile(r"(?:href|src)=\"([^\"]+)\"")
HEADING = re.compile(r"^#{1,6} (.*?)(?: *\{ *#([\w-]+) *\})? *$", re.MULTILINE)
SLUG = slugify(case="lower")

ALL = [README, *(ROOT / f"{name}.md" for name in ("CONTRIBUTING", "CHANGELOG", "SECURITY")), *PAGES]


def prose(page: Path) -> str:
    """Return a page without its code."""
    return re.sub(r"(`+).+?\1", "", FENCE.sub("", page.read_text(encoding="utf-8")))


def links(text: str) -> list[str]:
    """Return where the links of a text lead."""
    return [*LINK.findall(text), *DEFINITION.findall(text), *HTML.findall(text)]


def anchors(page: Path) -> set[str]:
    """Return what a link into a page can name: headings, marks, and names documented from docstrings."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    found: set[str] = set(re.findall(r"(?:id|name)=\"([^\"]+)\"", text)) | set(re.findall(r"^::: (\S+)", text, re.M))
    for title, given in HEADING.findall(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        slug = given or SLUG(re.sub(r"[`*$\\]", "", plain), "-")
        number = 0
        while (name := f"{slug}_{number}" if number else slug) in found:
            number += 1
        found.add(name)
    return found


def fault(page: Path, link: str) -> str | None:
    """Return what is wrong with a link of a page."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        fine = parts.scheme in {"http", "https"} and "." in parts.netloc and not re.search(r"[\s<>]", link)
        return None if fine else "no address"
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.exists():
        return "no such file"
    if DOCS in page.parents and DOCS not in [target, *target.parents]:
        return "not on the site"
    if parts.fragment and unquote(parts.fragment) not in anchors(target):
        return "no such heading"
    return None


@pytest.mark.parametrize("page", ALL, ids=name_of)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    faults = {link: wrong for link in links(prose(page)) if (wrong := fault(page, link))}
    assert not faults


@pytest.mark.parametrize(
    ("link", "wrong"),
    [
        ("nothing.md", "no such file"),
        ("README.md#no-heading", "no such heading"),
        ("README.md#2-data-processing", None),
        ("lattice_trap.md#from-densities-to-ε-δ", None),
        ("../../README.md", "not on the site"),
        ("https://", "no address"),
        ("ftp://example.org", "no address"),
        ("https://example.org/a_(b)", None),
    ],
)
def test_a_link_that_leads_nowhere_is_found(link: str, wrong: str | None) -> None:
    page = DOCS / "proofs" / "wasserstein.md"
    assert links(f"see [this]({link}).") == [link]
    assert fault(page, link) == wrong


def test_links_in_code_are_none() -> None:
    (example,) = [page for page in PAGES if page.name == "distances.md" and page.parent.name == "proofs"]
    assert "wasserstein_inf(points" not in prose(example)
