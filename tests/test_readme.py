import re
from pathlib import Path

import pytest

from distpriv import mechanisms

README = Path(__file__).parents[1] / "README.md"
DOCS = README.parent / "docs"


def run(page: Path) -> None:
    """Run the code of a page from top to bottom, as a reader would."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page.name, "exec"), names)


def test_the_code_of_the_readme_runs_as_written(capsys: pytest.CaptureFixture[str]) -> None:
    run(README)
    said = capsys.readouterr().out
    assert "the target (1, 0.001) holds" in said
    assert "no attack exceeded the claim" in said


@pytest.mark.slow
def test_so_does_that_of_the_page_about_how_much_noise(capsys: pytest.CaptureFixture[str]) -> None:
    run(DOCS / "how_much_noise.md")
    assert "> certified_laplace" in capsys.readouterr().out


PAGES = [README, README.parent / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_of_every_page_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert all((page.parent / link).exists() for link in links if not link.startswith("http")), links


def test_every_mechanism_has_its_proof() -> None:
    proofs = {page.stem for page in (DOCS / "proofs").glob("*.md")}
    assert set(mechanisms.__all__) <= proofs
