"""What a release removed of the public uncertainty, cell by cell: numbers that are shaded, never a shade alone."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest
from tests.browser import look
from tests.report.reader import Reader

import distpriv as dp
from distpriv.errors import InvalidInput
from distpriv.framework.tables import Table
from distpriv.releasing.released_tables import ReleasedTable
from distpriv.report import Page, render
from distpriv.report.heat_map import Heat, HeatMap, HeatRow, information_map

if TYPE_CHECKING:
    from playwright.sync_api import Browser

REGIONS = ["north", "south", "<b>west</b>"]
SEXES = ["F", "M"]
GAINED = (0.0, 0.04, 0.5, 0.999, 1.0)
COLUMNS = ("estimate", "low", "high", "noisy_value", "noise", "public_mean", "information")


def people(by: str | list[str], levels: dict[str, list[str]], empty: list[list[str]]) -> Table:
    return dp.table("count", by=by, levels=levels, empty=empty)


def shown() -> ReleasedTable:
    table = people(["region", "sex"], {"region": REGIONS, "sex": SEXES}, [["<b>west</b>", "M"]])
    rows = [{**dict.fromkeys(COLUMNS, 10.0), "information": gained} for gained in GAINED]
    return ReleasedTable(name="people", table=table, rows=(*rows, dict.fromkeys(COLUMNS, 0.0)))


def page(*tables: ReleasedTable) -> str:
    return render(Page(title="t", blocks=[information_map(table) for table in tables]))


def test_every_cell_says_its_share_and_a_structural_zero_that_it_is_one() -> None:
    found = information_map(shown())
    assert found.header == ("region", "F", "M")
    assert [row.labels for row in found.rows] == [("north",), ("south",), ("<b>west</b>",)]
    assert [[heat.share for heat in row.cells] for row in found.rows] == [[0.0, 0.04], [0.5, 0.999], [1.0, None]]
    assert [[heat.text for heat in row.cells] for row in found.rows] == [
        ["0 %", "4 %"],
        ["50 %", "> 99 %"],
        ["100 %", "zero"],
    ]


def test_the_page_has_number_title_and_shade_of_every_cell() -> None:
    html = page(shown())
    reader = Reader(html)
    assert "> 99 %" in reader.texts
    assert "south, M: > 99 % of the public uncertainty removed" in reader.values
    assert "<b>west</b>, M: a structural zero, nothing is released of it" in reader.values
    assert re.findall(r"--gained: ([0-9.]+)", html)[:5] == ["0.000", "0.040", "0.500", "0.999", "1.000"]
    assert ("b", ()) not in [tag for tag in reader.tags if tag[0] == "b"]


def test_a_table_by_one_column_is_one_row() -> None:
    table = people("sex", {"sex": SEXES}, [])
    rows = tuple({**dict.fromkeys(COLUMNS, 1.0), "information": 0.25} for _ in SEXES)
    found = information_map(ReleasedTable(name="t", table=table, rows=rows))
    assert found.header == ("F", "M")
    assert [row.labels for row in found.rows] == [()]
    html = page(ReleasedTable(name="t", table=table, rows=rows))
    assert "25 %" in Reader(html).texts
    assert "structural zero" in page(shown())
    assert "structural zero" not in html


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_is_between_0_and_1(share: float) -> None:
    with pytest.raises(InvalidInput, match="a share of uncertainty must be"):
        Heat(share=share, title="t")


def test_rows_have_a_cell_for_every_column() -> None:
    good = information_map(shown())
    with pytest.raises(InvalidInput, match="has 1 cells under 3 headers"):
        HeatMap(header=["region", "F", "M"], rows=[HeatRow((), [Heat(share=0.1, title="t")])], caption=good.caption)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "media", "scheme"),
    [(360, "screen", "light"), (1280, "screen", "dark"), (1280, "screen", "light"), (680, "print", "light")],
)
def test_nothing_is_wrong_with_it_in_a_browser(
    browser: "Browser", tmp_path: Path, width: int, media: Literal["screen", "print"], scheme: Literal["light", "dark"]
) -> None:
    path = tmp_path / "heat.html"
    path.write_text(page(shown()), encoding="utf-8")
    seen = look(browser, path, width, media=media, scheme=scheme)
    assert seen.faults == {}
    assert "zero" in seen.texts
    assert _least_contrast(browser, path, scheme) >= 4.5


def _least_contrast(browser: "Browser", path: Path, scheme: Literal["light", "dark"]) -> float:
    """Return the least contrast between the text of a cell and its shade, as WCAG measures it."""
    context = browser.new_context(color_scheme=scheme)
    tab = context.new_page()
    tab.goto(path.resolve().as_uri())
    pairs = tab.evaluate(
        """() => [...document.querySelectorAll('.heat td')].map(cell => {
            const style = getComputedStyle(cell), page = getComputedStyle(document.body);
            return [style.color, style.backgroundColor, page.backgroundColor];
        })"""
    )
    context.close()
    assert len(pairs) == 6
    return min(_contrast(*map(_numbers, triple)) for triple in pairs)


def _numbers(colour: str) -> list[float]:
    return [float(number) for number in re.findall(r"[0-9.]+", colour)]


def _contrast(ink: list[float], shade: list[float], paper: list[float]) -> float:
    alpha = shade[3] if len(shade) > 3 else 1.0
    behind = [alpha * one + (1 - alpha) * other for one, other in zip(shade[:3], paper[:3], strict=True)]
    lights = sorted(_luminance(colour) for colour in (ink[:3], behind))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _luminance(colour: list[float]) -> float:
    part = np.array(colour) / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
