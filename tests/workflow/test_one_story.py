"""Five real releases, and nothing on their pages that contradicts anything else there."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.browser import look
from tests.workflow.five_pages import KINDS, ReadPage, released_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=KINDS)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, adult: pa.Table) -> ReadPage:
    return released_page(request.param, tmp_path_factory.mktemp(request.param), adult)


def percent(text: str) -> float:
    return float(text) / 100


def test_the_first_sentence_is_the_verdict_in_the_policys_own_words(page: ReadPage) -> None:
    first = next(text for text in page.words if text.startswith("The promise is"))
    said = {
        "laplace": "The promise is kept: ε = 1 and δ = 0.01, so that nobody is right more than 73.4 times in 100.",
        "coupled": "The promise is kept: ε = 1 and δ = 0.01, so that nobody is right more than 73.4 times in 100.",
        "median": "The promise is kept: ε = 1 and δ = 0.01, so that nobody is right more than 73.4 times in 100.",
        "table": "The promise is kept: nobody is right more than 60 times in 100.",
        "second": "The promise is kept: nobody is right more than 70 times in 100, from both releases of this dataset "
        "together.",
    }
    assert first == said[page.kind]
    assert page.words.index(first) < page.words.index("What was published")


def test_before_and_after_are_of_one_law_and_after_is_not_above_before(page: ReadPage) -> None:
    pairs = re.findall(r"([\d.]+) % → ([\d.]+) %", page.text)
    assert pairs
    for before, after in pairs:
        assert float(after) <= float(before)
        assert percent(before) == pytest.approx(page.document["attacker"]["undefended"], abs=0.001)


def test_a_promise_above_the_models_figure_is_called_a_ceiling(page: ReadPage) -> None:
    attacker = page.document["attacker"]
    above = min(attacker["at_most"], attacker["together"]) > attacker["undefended"]
    assert ("That is a ceiling" in page.text) == above
    assert above == (page.kind == "coupled")
    for cell in re.findall(r"^([\d.]+) %$", page.text_beside_heat_maps, flags=re.MULTILINE):
        assert percent(cell) <= attacker["undefended"] + 0.001


def test_only_what_may_be_used_keeps_the_target_and_none_of_it_has_less_error_than_the_choice(page: ReadPage) -> None:
    rows = _option_rows(page)
    kept = [row for row in rows if row[-3] == "yes"]
    chosen = next(row for row in rows if row[0] == page.document["mechanism"])
    assert chosen in kept
    assert all(float(row[2]) >= float(chosen[2]) for row in kept)
    assert all(row[-2] in ("checked", "proved") for row in kept)


def _option_rows(page: ReadPage) -> list[list[str]]:
    html = page.file.read_text(encoding="utf-8")
    table = html[html.index("All ways side by side") :]
    table = table[: table.index("</table>")]
    rows = re.findall(r"<tr.*?</tr>", table[table.index("<tbody>") :], flags=re.DOTALL)
    cells = [
        [re.sub(r"<span.*?</span>|<[^>]*>", "", cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in rows
    ]
    return cells[1:]  # the first is the public mean


def test_what_was_measured_has_its_error_beside_it(page: ReadPage) -> None:
    measured = re.findall(r"^([\d.]+) % ± ([\d.]+)$", page.text, flags=re.MULTILINE)
    assert len(measured) >= 4
    assert all(float(error) > 0 for _, error in measured)
    assert "± is how far a measured figure may be off by chance" in page.text


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
        assert all(re.fullmatch(r"\d+( to \d+)?", word) for word in published[place + 1 : place + 6])


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1000, "light")])
def test_the_page_has_two_curves_and_nothing_is_wrong_with_it(
    page: ReadPage, browser: "Browser", tmp_path: Path, width: int, scheme: str
) -> None:
    seen = look(browser, page.file, width, scheme="dark" if scheme == "dark" else "light", screenshots=tmp_path)
    assert seen.faults == {}
    assert seen.pictures == 4
