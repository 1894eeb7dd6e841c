import re
from pathlib import Path

import pytest
from tests.docs.code_blocks import Block, PageRun, blocks_of, commands_of
from tests.docs.pages import DOCS, PAGES, README, name_of

import distpriv as dp

HEAVY = re.compile(
    r"^\$ distpriv (plan|release|audit|demo)"
    r"|\b(plan|audit|least_epsilon|certified_laplace|coupled_gaussian)\(",
    re.MULTILINE,
)
"""What tries every mechanism or many attacks, and takes seconds."""


def is_slow(page: Path) -> bool:
    """Tell whether the code of a page takes long."""
    code = "\n".join(block.code for block in blocks_of(page) if block.language != "text")
    return bool(HEAVY.search(code)) or code.count("certified_gaussian(") > 1


NOTEBOOK = DOCS / "examples" / "notebook.md"
"""Its code is that of a notebook, cell by cell, which tests/examples/test_notebook.py runs."""


def parameters() -> list[object]:
    """Return every page with code as a parameter."""
    pages = [page for page in PAGES if any(blocks_of(page)) and page != NOTEBOOK]
    return [pytest.param(page, id=name_of(page), marks=[pytest.mark.slow] * is_slow(page)) for page in pages]


def run(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> PageRun:
    """Run a page from top to bottom in an empty folder."""
    monkeypatch.chdir(folder)
    running = PageRun(folder=folder)
    for block in blocks_of(page):
        running.run(block)
    return running


@pytest.mark.parametrize("page", parameters())
def test_the_code_of_a_page_runs_as_written(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(page, tmp_path, monkeypatch)


@pytest.mark.slow
def test_the_code_of_the_readme_ends_with_a_release_that_is_certified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = run(README, tmp_path, monkeypatch).names
    released = [value for value in names.values() if isinstance(value, dp.Release)]
    assert released
    assert all(release.certificate.holds for release in released)


def test_pages_that_plan_or_attack_are_slow_and_others_are_not() -> None:
    slow = {name_of(page) for page in PAGES if is_slow(page)}
    assert {"docs/howto/publish.md", "docs/howto/audit.md", "docs/examples/census.md"} <= slow
    assert not {"docs/concepts/other_secrets.md", "docs/proofs/distances.md"} & slow


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PageRun:
    """A page in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return PageRun(folder=tmp_path)


def block(language: str, code: str) -> Block:
    """Return a block of no page."""
    return Block(language=language, code=code, place="here")


def test_blocks_of_a_page_share_names_and_folder(running: PageRun) -> None:
    running.run(block("python", "from pathlib import Path\nPath('number.txt').write_text('12')\ntwelve = 12\n"))
    running.run(block("pycon", ">>> twelve + 1\n13\n>>> more = twelve\n"))
    running.run(block("python", "assert more == 12\n"))
    running.run(block("console", "$ cat number.txt\n12\n"))
    running.run(block("toml", "# policy.toml\n[data]\n"))
    assert (running.folder / "policy.toml").read_text(encoding="utf-8").endswith("[data]\n")


@pytest.mark.parametrize(
    ("language", "code", "reason"),
    [
        ("python", "assert 1 == 2, 'not so'\n", "not so"),
        ("pycon", ">>> 1 + 1\n3\n", "Expected"),
        ("console", "$ echo 12\n13\n", "the page shows"),
        ("console", "$ false\n", "ended with 1"),
        ("console", "$ distpriv plan nothing.toml\n", "ended with 2"),
        ("console", "$ echo 'distpriv: no'\ndistpriv: no\n", "ended with 0"),
        ("console", "distpriv plan\n", "after a dollar"),
        ("toml", "[data]\n", "first line of a toml block"),
        ("", "x = 1\n", "is called text"),
        ("rust", "x = 1\n", "is called text"),
    ],
)
def test_code_that_does_not_do_what_it_shows_is_found(running: PageRun, language: str, code: str, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        running.run(block(language, code))


def test_dots_stand_for_anything_and_a_refusal_may_be_shown(running: PageRun) -> None:
    running.run(block("console", "$ seq 5\n1\n...\n5\n$ distpriv plan nothing.toml\ndistpriv: ...nothing.toml...\n"))
    assert list(commands_of("$ a \\\n  b\n1\n\n2\n$ c\n")) == [("a    b", "1\n\n2"), ("c", "")]
