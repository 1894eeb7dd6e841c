"""The page as a file and in a notebook: self-contained, escaped, and the same each time."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.report.everything import NASTY, drawn, page_saying
from tests.report.reader import Reader

import distpriv as dp
from distpriv.framework.tables import Table
from distpriv.releasing.released_tables import ReleasedTable
from distpriv.report.result_page import HeatMap, render
from distpriv.report.text import printable

markup = st.lists(st.sampled_from(["<", ">", '"', "'", "&", "</style>", "<!--", "]]>", "{{", "%}", "$", "_", "x"]))


@pytest.mark.parametrize("notebook", [False, True])
@given(st.one_of(st.text(min_size=1), markup.map("".join), st.sampled_from(NASTY)))
@example("\x00\ud800\ufffe\u202e")
def test_no_text_anywhere_makes_a_tag_or_an_attribute(notebook: bool, text: str) -> None:
    plain, said = (Reader(_short(render(page_saying(each), notebook=notebook))) for each in ("Qqq", text))
    if printable(text).strip():
        assert said.tags == plain.tags
        shown = re.sub(r"(?<=\d)\u00a0(?=%)", " ", printable(text))
        assert "".join(said.texts) == "".join(plain.texts).replace("Qqq", shown)


def _short(html: str) -> str:
    """Return a page without the class of short cells, all that depends on a text."""
    return re.sub(r'(class="[^"]*) short"', r'\1"', html)


def test_a_page_asks_for_nothing_from_elsewhere_and_runs_nothing() -> None:
    for notebook in (False, True):
        html = render(page_saying("x", *drawn("x")), notebook=notebook)
        assert not re.search(r"://|url\((?!#)|@import|<script|javascript:| on\w+=| src=", html)
        tags = {tag for tag, _ in Reader(html).tags}
        assert not tags & {"script", "link", "img", "iframe", "object", "base", "form"}
    assert "default-src 'none'" in render(page_saying("x"))


def test_no_id_is_given_twice_and_every_one_that_is_used_is_given() -> None:
    html = render(page_saying("x", *drawn("x")))
    ids = re.findall(r'(?<=\s)id="([^"]*)"', html)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:url\(#|href="#)([^")]+)', html)) <= set(ids)


def test_no_line_ends_before_a_percent_sign_but_in_a_policy() -> None:
    html = render(page_saying("45 % of all"))
    assert html.count("45 % of all") == 1
    assert "<code>45 % of all</code>" in html


REGIONS, SEXES = ["north", "south", "<b>west</b>"], ["F", "M"]


def people(table: Table, *gained: float | None) -> ReleasedTable:
    """Return a released table whose cells gained so much."""
    columns = ("estimate", "low", "high", "noisy_value", "noise", "public_mean")
    rows = tuple({**dict.fromkeys(columns, 10.0), "information": each} for each in gained)
    return ReleasedTable(name="people", table=table, rows=rows)


def test_every_cell_says_what_was_learned_of_it_and_a_structural_zero_that_it_is_one() -> None:
    table = dp.table("count", by=["region", "sex"], levels={"region": REGIONS, "sex": SEXES}, empty=[[REGIONS[2], "M"]])
    found = HeatMap.of(people(table, 0.0, 0.04, 0.5, 0.999, 1.0, 0.0))
    assert list(found.header) == ["region", "F", "M"]
    assert [(labels, [heat.text for heat in cells]) for labels, cells in found.rows] == [
        (("north",), ["0 %", "4 %"]),
        (("south",), ["50 %", "> 99 %"]),
        (("<b>west</b>",), ["100 %", "zero"]),
    ]
    assert found.has_zeros
    assert found.rows[1][1][1].sentence == "south, M: > 99 % of the public uncertainty removed"
    assert found.rows[2][1][1].sentence == "<b>west</b>, M: a structural zero, nothing is released of it"


def test_a_table_by_one_column_is_one_row() -> None:
    found = HeatMap.of(people(dp.table("count", by="sex", levels={"sex": SEXES}), 0.25, 0.5))
    assert list(found.header) == SEXES
    assert [(labels, [heat.text for heat in cells]) for labels, cells in found.rows] == [((), ["25 %", "50 %"])]
    assert not found.has_zeros
