"""The page as a file and in a notebook: self-contained, escaped, and the same each time."""

import re
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files

import numpy as np
import pytest
from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st
from tests.report.everything import NASTY, drawn, page_saying
from tests.report.reader import Reader

import distpriv as dp
from distpriv.framework.tables import Table
from distpriv.releasing.released_tables import ReleasedTable
from distpriv.report.page import Page, heat_rows, notebook_view, render
from distpriv.report.text import printable

markup = st.lists(st.sampled_from(["<", ">", '"', "'", "&", "</style>", "<!--", "]]>", "{{", "%}", "$", "_", "x"]))


@pytest.mark.parametrize("view", [render, notebook_view])
@given(st.one_of(st.text(min_size=1), markup.map("".join), st.sampled_from(NASTY)))
@example("\x00\ud800\ufffe\u202e")
def test_no_text_anywhere_makes_a_tag_or_an_attribute(view: Callable[[Page], str], text: str) -> None:
    plain, said = (Reader(view(page_saying(each))) for each in ("Qqq", text))
    if printable(text).strip():
        assert said.tags == plain.tags
        shown = re.sub(r"(?<=\d)\u00a0(?=%)", " ", printable(text))
        assert "".join(said.texts) == "".join(plain.texts).replace("Qqq", shown)


def test_a_page_asks_for_nothing_from_elsewhere_and_runs_nothing() -> None:
    for view in (render, notebook_view):
        html = view(page_saying("x", *drawn("x")))
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
    found = heat_rows(people(table, 0.0, 0.04, 0.5, 0.999, 1.0, 0.0))
    assert found == [
        (("north",), [(0.0, "0 %"), (0.04, "4 %")]),
        (("south",), [(0.5, "50 %"), (0.999, "> 99 %")]),
        (("<b>west</b>",), [(1.0, "100 %"), (None, "zero")]),
    ]
    page = page_saying("x")
    html = render(evolve(page, tables=[(page.tables[0][0], people(table, *[0.5] * 6))]))
    assert len(page.facts) == [tag for tag, _ in Reader(html).tags].count("b")
    assert "<b>west</b>" in Reader(html).texts


def test_a_table_by_one_column_is_one_row() -> None:
    found = heat_rows(people(dp.table("count", by="sex", levels={"sex": SEXES}), 0.25, 0.5))
    assert found == [((), [(0.25, "25 %"), (0.5, "50 %")])]


def test_text_stands_out_from_its_paper_in_light_and_dark() -> None:
    css = (files("distpriv.report") / "templates" / "page.css").read_text(encoding="utf-8")
    schemes = [each for each in re.findall(r":root \{(.*?)\}", css, flags=re.DOTALL) if "--paper" in each]
    assert len(schemes) == 2
    for scheme in schemes:
        colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", scheme))
        for text, paper in (
            *((text, paper) for text in ("ink", "muted", "accent") for paper in ("paper", "shade", "note-shade")),
            *((text, paper) for text in ("ink", "good") for paper in ("paper", "good-shade")),
            *((text, paper) for text in ("ink", "bad") for paper in ("paper", "bad-shade")),
        ):
            assert _contrast(colours[text], colours[paper]) >= 4.5, (text, paper)


def _contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG measures it."""
    values = np.array([[int(colour[k : k + 2], 16) for k in (1, 3, 5)] for colour in (one, other)]) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    dark, light = sorted(linear @ [0.2126, 0.7152, 0.0722] + 0.05)
    return float(light / dark)


def test_importing_the_commands_and_the_report_loads_nothing_that_few_of_them_need() -> None:
    code = "import distpriv.cli.output, distpriv.report.page, distpriv.workflow.release_policy, sys\n"
    code += "print({'matplotlib', 'jinja2', 'sklearn', 'scipy.stats'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
