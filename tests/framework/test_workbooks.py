"""Workbooks: cells that no spreadsheet computes, the same bytes for the same cells, and read as they were written."""

import io
import struct
import zipfile
import zlib
from collections.abc import Callable

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.xml.constants import SHEET_MAIN_NS

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
    with pytest.raises(InvalidInput, match="which is never written here: give the file as it was written"):
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
    with pytest.raises(InvalidInput, match=r"'xl/_rels/workbook.xml.rels' with definitions"):
        read_workbook(written.getvalue())


SHEETS: dict[str, Sheet] = {"numbers": [["statistic", "holds"], ["age", True], [1.5, "assumed"]], "more": [["end"]]}
SHEET, STYLES, BOOK = "xl/worksheets/sheet1.xml", "xl/styles.xml", "xl/workbook.xml"
LINKS = "xl/_rels/workbook.xml.rels"
NUMBERED = '<numFmts><numFmt numFmtId="200" formatCode="0" /></numFmts>'
SPACE = 'xmlns:x="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main"'
FORGED = {
    "a format that shows another number": (STYLES, '<numFmts count="0" />', NUMBERED),
    "a built-in format": (STYLES, 'numFmtId="0" fontId="2"', 'numFmtId="14" fontId="2"'),
    "a font of signs": (STYLES, 'val="Calibri"', 'val="Wingdings"'),
    "white letters": (STYLES, 'theme="1"', 'rgb="FFFFFFFF"'),
    "letters too small to see": (STYLES, '<sz val="11" />', '<sz val="1" />'),
    "a cell alignment": (STYLES, 'xfId="0" /></cellXfs>', 'xfId="0"><alignment textRotation="90" /></xf></cellXfs>'),
    "conditional styles": (STYLES, "<colors>", "<dxfs><dxf><font /></dxf></dxfs><colors>"),
    "another theme": ("xl/theme/theme1.xml", 'lastClr="000000"', 'lastClr="FFFFFF"'),
    "a phonetic run": (SHEET, "<t>assumed</t>", "<t></t><rPh><t>assumed</t></rPh>"),
    "two texts": (SHEET, "<t>assumed</t>", "<t>assu</t><t>med</t>"),
    "rich text": (SHEET, "<t>assumed</t>", "<r><t>assumed</t></r>"),
    "two values": (SHEET, "</is></c>", "</is><v>1</v></c>"),
    "a value twice": (SHEET, "<v>1.5</v>", "<v>1.5</v><v>2.5</v>"),
    "a number that only Python reads": (SHEET, "<v>1.5</v>", "<v>0_1.5</v>"),
    "digits of another script": (SHEET, "<v>1.5</v>", "<v>1.\u0665</v>"),
    "a line counted in another script": (SHEET, '<row r="3">', '<row r="\u0663">'),
    "a line counted with zeros": (SHEET, '<row r="3">', '<row r="03">'),
    "a cell counted in another script": (SHEET, 'r="A3"', 'r="A\u0663"'),
    "a style counted in another script": (SHEET, 's="1"', 's="\u0661"'),
    "a text counted in another script": (SHEET, 't="n"><v>1.5</v>', 't="s"><v>\u0660</v>'),
    "a number of a comment's two sides": (SHEET, "<v>1.5</v>", "<v>1<!-- -->.5</v>"),
    "a number in a section of its own": (SHEET, "<v>1.5</v>", "<v><![CDATA[1.5]]></v>"),
    "an instruction": (SHEET, "<v>1.5</v>", "<v>1<?a?>.5</v>"),
    "fewer cells than there are": (SHEET, 'ref="A1:B3"', 'ref="A1:B2"'),
    "more cells than there are": (SHEET, 'ref="A1:B3"', 'ref="A1:C3"'),
    "cells that begin elsewhere": (SHEET, 'ref="A1:B3"', 'ref="B1:B3"'),
    "no word on where its cells are": (SHEET, '<dimension ref="A1:B3" />', ""),
    "a truth value that is none": (SHEET, "<v>1</v>", "<v>2</v>"),
    "text for a number": (SHEET, 't="n"><v>', 't="str"><v>'),
    "a formula": (SHEET, "<v>1.5</v>", "<f>1+1</f><v>1.5</v>"),
    "a cell in another row": (SHEET, 'r="A3"', 'r="A4"'),
    "a cell twice": (SHEET, 'r="B3"', 'r="A3"'),
    "a hidden row": (SHEET, '<row r="2">', '<row r="2" hidden="1">'),
    "a hidden column": (SHEET, "<sheetData>", '<cols><col min="1" max="2" hidden="1" /></cols><sheetData>'),
    "rows of no height": (SHEET, 'defaultRowHeight="15"', 'defaultRowHeight="0"'),
    "no zeros": (SHEET, "<sheetView ", '<sheetView showZeros="0" '),
    "merged cells": (SHEET, "</sheetData>", '</sheetData><mergeCells><mergeCell ref="A1:B3" /></mergeCells>'),
    "a filter": (SHEET, "</sheetData>", '</sheetData><autoFilter ref="A1:B3" />'),
    "a conditional format": (SHEET, "</sheetData>", '</sheetData><conditionalFormatting sqref="A1" />'),
    "a drawing": (SHEET, "</worksheet>", '<drawing id="rId1" /></worksheet>'),
    "an extension": (SHEET, "</worksheet>", f"<extLst><ext {SPACE}><x:a /></ext></extLst></worksheet>"),
    "loose text": (SHEET, "<sheetData>", "<sheetData>more"),
    "an encoding of its own": (SHEET, "<worksheet ", "<?xml version='1.0' encoding = 'latin-1'?><worksheet "),
    "an encoding behind a mark": (SHEET, "<worksheet ", "\ufeff<?xml version='1.0' encoding='latin-1'?><worksheet "),
    "a mark": (SHEET, "<worksheet ", "\ufeff<worksheet "),
    "a hidden sheet": (BOOK, 'state="visible"', 'state="hidden"'),
    "a sheet of the same name": (BOOK, 'name="more"', 'name="numbers"'),
    "a defined name": (BOOK, "<definedNames />", '<definedNames><definedName name="a">1</definedName></definedNames>'),
    "a link elsewhere": (LINKS, 'Target="styles.xml"', 'Target="other.xml"'),
    "a link outside": (LINKS, 'Target="styles.xml"', 'Target="styles.xml" TargetMode="External"'),
    "a sheet read as something else": ("[Content_Types].xml", "worksheet+xml", "chartsheet+xml"),
    "another author": ("docProps/core.xml", ">distpriv<", ">the statistical office<"),
}  # fmt: skip


def rezipped(content: bytes, changed: dict[str, bytes]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(written, "w") as new:
        for name in [*old.namelist(), *(name for name in changed if name not in old.namelist())]:
            new.writestr(name, changed[name] if name in changed else old.read(name))
    return written.getvalue()


@pytest.mark.parametrize(("part", "old", "new"), FORGED.values(), ids=FORGED)
def test_what_would_show_cells_otherwise_is_refused(part: str, old: str, new: str) -> None:
    content = workbook(SHEETS)
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        text = parts.read(part).decode()
    assert old in text
    forged = rezipped(content, {part: text.replace(old, new, 1).encode()})
    with pytest.raises(
        InvalidInput, match=r"^this (workbook has|is no workbook that can be read).*as it was written\.$"
    ):
        read_workbook(forged)


@pytest.mark.parametrize("name", ["xl/drawings/drawing1.xml", "xl/vbaProject.bin", "XL/styles.xml", "xl/media/a.png"])
def test_a_part_that_is_never_written_is_named(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"this workbook has a part '{name}', which is never written here"):
        read_workbook(rezipped(workbook(SHEETS), {name: b"x"}))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_part_that_is_there_twice_is_refused() -> None:
    written = io.BytesIO(workbook(SHEETS))
    with zipfile.ZipFile(written, "a") as parts:
        parts.writestr(SHEET, parts.read(SHEET))
    with pytest.raises(InvalidInput, match=f"this workbook has '{SHEET}' 2 times"):
        read_workbook(written.getvalue())


def test_a_part_in_utf_16_without_a_mark_is_refused() -> None:
    content = workbook(SHEETS)
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        text = parts.read(SHEET).decode()
    with pytest.raises(InvalidInput, match="an encoding of its own"):
        read_workbook(rezipped(content, {SHEET: text.encode("utf-16-le")}))


def with_shared_text(number: str, *, linked: bool = True) -> bytes:
    """Return a workbook with a text that a cell refers to by its number."""
    content = workbook({"a": [["x"], [0]]})
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        sheet, links = parts.read(SHEET).decode(), parts.read(LINKS).decode()
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings"
    link = f'<Relationship Type="{kind}" Target="sharedStrings.xml" Id="rId9" />' if linked else ""
    changed = {
        SHEET: sheet.replace('t="n"><v>0<', f't="s"><v>{number}<'),
        LINKS: links.replace("</Relationships>", f"{link}</Relationships>"),
        "xl/sharedStrings.xml": f'<sst xmlns="{SHEET_MAIN_NS}"><si><t>y</t></si></sst>',
    }
    return rezipped(content, {name: text.encode() for name, text in changed.items()})


def test_a_shared_text_is_counted_in_no_other_script() -> None:
    assert read_workbook(with_shared_text("0")) == {"a": [["x"], ["y"]]}
    with pytest.raises(InvalidInput, match="this workbook has text '\u0660' of 'v'"):
        read_workbook(with_shared_text("\u0660"))


def test_shared_texts_that_no_link_leads_to_are_refused() -> None:
    with pytest.raises(InvalidInput, match="texts of cells without a link"):
        read_workbook(with_shared_text("0", linked=False))


def test_a_sheet_that_the_workbook_does_not_list_is_refused() -> None:
    content = workbook(SHEETS)
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        sheet = parts.read(SHEET)
    with pytest.raises(InvalidInput, match="a sheet that it does not list, or lists twice"):
        read_workbook(rezipped(content, {"xl/worksheets/sheet3.xml": sheet}))


DIRECTORY, END = b"PK\x01\x02", b"PK\x05\x06"


def moved(content: bytes, before: bytes, more: bytes) -> bytes:
    """Put bytes before a record, and let the end say where the directory begins now."""
    place, start = content.index(before), content.index(DIRECTORY)
    start += len(more) if place <= start else 0
    size = content.index(END) + len(more) - start
    end = END + content[-18:-10] + struct.pack("<2LH", size, start, 0)
    return content[:place] + more + content[place : content.index(END)] + end


def altered(content: bytes, record: bytes, place: int, value: bytes) -> bytes:
    """Write something else at a place of the first record of a kind."""
    start = content.index(record) + place
    return content[:start] + value + content[start + len(value) :]


def repacked(content: bytes, *, comment: bytes = b"", note: bytes = b"", extra: bytes = b"") -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(written, "w") as new:
        for name in old.namelist():
            entry = zipfile.ZipInfo(name)
            entry.comment, entry.extra = note, extra
            new.writestr(entry, old.read(name))
        new.comment = comment
    return written.getvalue()


def with_more_packed(content: bytes, *, inside: bytes = b"", behind: bytes = b"") -> bytes:
    """Pack the last part, which is as long as before by its headings, with more bytes."""
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        entry, packer = parts.infolist()[-1], zlib.compressobj(wbits=-zlib.MAX_WBITS)
        packed = packer.compress(parts.read(entry) + inside) + packer.flush() + behind
    start, end = content.index(DIRECTORY) - entry.compress_size, content.index(DIRECTORY)
    forged = moved(content[:start] + packed[: end - start] + content[end:], DIRECTORY, packed[end - start :])
    for place in (forged.rindex(b"PK\x03\x04") + 18, forged.rindex(DIRECTORY) + 20):
        forged = forged[:place] + struct.pack("<L", len(packed)) + forged[place + 4 :]
    with zipfile.ZipFile(io.BytesIO(forged)) as parts:
        assert parts.testzip() is None
    return forged


def streamed(content: bytes) -> bytes:
    """Pack parts as where nothing can be written twice, with their sizes behind them."""

    class Stream(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def tell(self) -> int:
            raise OSError

    written = Stream()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(written, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return written.getvalue()


MORE = b"rows that nobody shall see"
PACKED = {
    "before its parts": lambda content: b"%PDF" + content,
    "after its end": lambda content: content + MORE,
    "before its directory": lambda content: moved(content, DIRECTORY, MORE),
    "before its end": lambda content: moved(content, END, MORE),
    "in a comment": lambda content: repacked(content, comment=MORE),
    "in a comment of a part": lambda content: repacked(content, note=MORE),
    "in an extra field": lambda content: repacked(content, extra=b"\x99\x99\x04\x00rows"),
    "behind a packed part": lambda content: with_more_packed(content, behind=MORE),
    "in a packed part": lambda content: with_more_packed(content, inside=MORE),
    "under another name": lambda content: altered(content, b"PK\x03\x04", 30, b"x"),
    "of another size": lambda content: altered(content, b"PK\x03\x04", 22, b"\xff"),
    "of another packed size": lambda content: altered(content, b"PK\x03\x04", 18, b"\xff"),
    "with another sum": lambda content: altered(content, b"PK\x03\x04", 14, b"\xff\xff\xff\xff"),
    "packed in another way": lambda content: altered(content, b"PK\x03\x04", 8, b"\x00"),
    "of another day": lambda content: altered(content, b"PK\x03\x04", 12, b"\xff"),
    "with a flag": lambda content: altered(content, b"PK\x03\x04", 6, b"\x02"),
    "with a flag in the directory": lambda content: altered(content, DIRECTORY, 8, b"\x02"),
    "on another disk": lambda content: altered(content, DIRECTORY, 34, b"\x01"),
    "one part less": lambda content: altered(content, END, 10, b"\x01"),
    "with sizes behind parts": streamed,
}


@pytest.mark.parametrize("packed", PACKED.values(), ids=PACKED)
def test_bytes_beside_those_of_the_parts_are_refused(packed: Callable[[bytes], bytes]) -> None:
    with pytest.raises(
        InvalidInput, match=r"^this (workbook has bytes beside those of its parts|is no workbook that can be read)"
    ):
        read_workbook(packed(workbook(SHEETS)))


def test_packing_the_same_parts_anew_changes_nothing() -> None:
    assert same_sheets(read_workbook(rezipped(workbook(SHEETS), {})), SHEETS)


def test_what_openpyxl_packs_by_itself_is_read() -> None:
    book = openpyxl.load_workbook(io.BytesIO(workbook(SHEETS)))
    written = io.BytesIO()
    book.save(written)
    assert same_sheets(read_workbook(written.getvalue()), SHEETS)
