"""Five real releases, and nothing on their pages that contradicts anything else there."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.browser import look
from tests.report.reader import Reader
from tests.workflow.five_pages import KINDS, ReadPage, released_page

from distpriv.framework.display import percent_at_most

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=KINDS)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, adult: pa.Table) -> ReadPage:
    return released_page(request.param, tmp_path_factory.mktemp(request.param), adult)


def test_the_verdict_comes_first_with_the_figure_of_all_releases(page: ReadPage) -> None:
    first = next(text for text in page.words if text.startswith("Certified: "))
    figure = percent_at_most(page.document["attacker"]["together"])
    assert figure in first
    assert ("all 2 releases" in first) == (page.kind == "second")
    assert page.words.index(first) < page.words.index("What was published")


def test_there_is_one_figure_of_an_attacker_and_the_undefended_one_is_not_below_it(page: ReadPage) -> None:
    attacker = page.document["attacker"]
    visible = re.sub(r"<details.*?</details>", "", page.file.read_text(encoding="utf-8"), flags=re.DOTALL)
    said = {float(found) for found in re.findall(r"(?:at most|≤) ([\d.]+)\s%", "\n".join(Reader(visible).texts))}
    allowed = {percent_at_most(attacker[key]) for key in ("together", "at_most")}
    assert {f"{each:g} %" for each in said} <= allowed
    assert attacker["undefended"] >= min(attacker["at_most"], attacker["together"])


def test_the_page_has_at_most_700_visible_words(page: ReadPage) -> None:
    visible = re.sub(r"<style.*?</style>|<svg.*?</svg>", "", page.file.read_text(encoding="utf-8"), flags=re.DOTALL)
    visible = re.sub(r"<details.*?<summary>(.*?)</summary>.*?</details>", r"\1", visible, flags=re.DOTALL)
    assert len(" ".join(Reader(visible).texts).split()) <= 700


def test_what_was_measured_has_its_error_beside_it(page: ReadPage) -> None:
    measured = re.findall(r"^([\d.]+) % ± ([\d.]+)$", page.text, flags=re.MULTILINE)
    assert len(measured) >= 2
    assert all(float(error) > 0 for _, error in measured)


def test_counts_are_whole_numbers_and_the_words_for_one_are_singular(page: ReadPage) -> None:
    assert not re.search(r"\b1 (numbers|records|releases|attacks)\b", page.text)
    start = page.words.index("What was published")
    published = page.words[start : page.words.index("What an attacker sees", start)]
    if page.kind == "table":
        cells = [word for word in published if "±" in word or word == "100"]
        assert cells
        assert all(re.fullmatch(r"\d+( ± \d+)?", word) for word in cells)
        assert sum(int(word.split(" ")[0]) for word in cells if "±" in word) == 100
    if page.kind == "coupled":
        place = published.index("never_married")
        assert all(re.fullmatch(r"\d+( (to|±) \d+)?", word) for word in published[place + 1 : place + 4])


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1000, "light")])
def test_the_page_has_two_curves_and_nothing_is_wrong_with_it(
    page: ReadPage, browser: "Browser", tmp_path: Path, width: int, scheme: str
) -> None:
    seen = look(browser, page.file, width, scheme="dark" if scheme == "dark" else "light", screenshots=tmp_path)
    assert seen.faults == {}
    assert seen.pictures == 2
