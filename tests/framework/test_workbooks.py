"""Workbooks: cells that no spreadsheet computes, the same bytes for the same cells, and read as they were written."""

import io
import zipfile

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distpriv.errors import InvalidInput
from distpriv.framework.workbooks import Cell, Sheet, read_workbook, same_sheets, titled, workbook

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(
    lambda text: text == text.strip()
)
CELLS: st.SearchStrategy[Cell] = st.one_of(
    TEXT, st.floats(-1e300, 1e300), st.integers(-(10**9), 10**9), st.booleans(), st.none()
)
FORMULAS = [
    "=1+1",
    "+1",
    "-1+2",
    "@SUM(A1)",
    '=HYPERLINK("http://evil.example")',
    "=cmd|' /C calc'!A0",
    "\t=1",
    "#REF!",
]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(CELLS, max_size=4), max_size=4))
def test_what_is_written_is_read_again(lines: list[list[Cell]]) -> None:
    sheets: dict[str, Sheet] = {"numbers": lines, "more": [["end"]]}
    assert same_sheets(read_workbook(workbook(sheets)), sheets)


@pytest.mark.parametrize("text", FORMULAS)
def test_no_text_becomes_a_formula_or_an_error(text: str) -> None:
    content = workbook({"a": [[text]]})
    cell = openpyxl.load_workbook(io.BytesIO(content))["a"]["A1"]
    assert (cell.value, cell.data_type, cell.quotePrefix) == (text, "s", True)


def test_the_same_cells_give_the_same_bytes() -> None:
    sheets: dict[str, Sheet] = {"a": [["x", 0.1]]}
    assert workbook(sheets, "2026-11-18T02:10:33+00:00") == workbook(sheets, "2026-11-18T02:10:33+00:00")


def test_names_that_no_spreadsheet_takes_are_changed_and_stay_apart() -> None:
    names = ["a" * 40, "a" * 41, "x/y", "x:y", "X?Y", "history", " "]
    found = list(titled({name: [] for name in names}))
    assert len({name.casefold() for name in found}) == len(names)
    assert all(0 < len(name) <= 31 for name in found)
    assert list(read_workbook(workbook({name: [] for name in names}))) == found


def test_a_formula_that_somebody_puts_in_is_refused() -> None:
    book = openpyxl.Workbook()
    book.worksheets[0]["A1"] = "=1+1"
    written = io.BytesIO()
    book.save(written)
    with pytest.raises(InvalidInput, match="no workbook that can be read"):
        read_workbook(written.getvalue())


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"x" * 100])
def test_what_is_no_workbook_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidInput, match="no workbook that can be read"):
        read_workbook(content)


def test_text_that_grows_when_it_is_read_is_refused() -> None:
    bomb = b'<!DOCTYPE x [<!ENTITY a "aaaa">]><Relationships>&a;</Relationships>'
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as parts:
        parts.writestr("xl/_rels/workbook.xml.rels", bomb)
    with pytest.raises(InvalidInput, match="no workbook that can be read"):
        read_workbook(written.getvalue())
