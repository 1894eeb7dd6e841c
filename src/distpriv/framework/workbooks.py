"""Workbooks that spreadsheets open: cells are numbers, truth values or text, and never a formula.

They are written by openpyxl, and the same for the same cells. What is in one is read here without openpyxl, so that
whoever verifies a release needs no extra.
"""

import io
import math
import re
import string
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TypeVar
from xml.etree import ElementTree

from distpriv.errors import InvalidInput
from distpriv.extras import extra_needed
from distpriv.framework.workbook_parts import NotOurs, require_plainly_packed, xml_of
from distpriv.framework.workbook_shape import require_ours

__all__ = ["Cell", "Sheet", "read_workbook", "require_workbooks", "same_sheets", "titled", "workbook"]

T = TypeVar("T")
Cell = str | float | bool | None
Sheet = Sequence[Sequence[Cell]]

LONGEST_TEXT = 32_767
"""Characters that a cell can hold."""

AS_TOLD = 1e-14
"""By which share a number in a workbook may differ from the one that was written."""

MOST_LINES = 100_000
"""More lines than any sheet of a release has."""

_BROKEN = (zipfile.BadZipFile, zlib.error, ElementTree.ParseError, NotImplementedError)
_CURE = "give the file as it was written."
_TRUTH = {"0": False, "1": True}
_EPOCH = (1980, 1, 1, 0, 0, 0)
_MODIFIED = re.compile(rb"(<dcterms:modified[^>]*>)[^<]*(</dcterms:modified>)")
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_NO_TITLE = re.compile(r"[\[\]:*?/\\]|^'|'$")
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_SHEETS, _TEXTS = "xl/worksheets/", "xl/sharedStrings.xml"
_LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def require_workbooks(what: str = "a workbook") -> None:
    """Say what to install where workbooks cannot be written."""
    with extra_needed("excel", what):
        import openpyxl  # noqa: F401


def workbook(sheets: Mapping[str, Sheet], time: str | None = None) -> bytes:
    """Return a workbook with these sheets, the first line of each in bold.

    Args:
        sheets: the lines of each sheet, by its name; one that no spreadsheet takes is changed as little as it needs.
        time: when it was made, in ISO format; a fixed day when not given, as its bytes shall not tell.
    """
    require_workbooks()
    from openpyxl import Workbook
    from openpyxl.styles import Font

    book = Workbook()
    book.remove(book.worksheets[0])
    for title, lines in zip(_titles(sheets), sheets.values(), strict=True):
        sheet = book.create_sheet(title)
        for row, line in enumerate(lines, 1):
            for column, value in enumerate(line, 1):
                cell = sheet.cell(row, column)
                cell.font = Font(bold=row == 1)
                if isinstance(value, str):
                    cell.value = _text(value)
                    cell.data_type = "s"  # whatever it begins with
                    cell.quotePrefix = True
                else:
                    cell.value = value
    made = datetime(2000, 1, 1) if time is None else datetime.fromisoformat(time).replace(tzinfo=None)
    book.properties.creator, book.properties.created = "distpriv", made
    written = io.BytesIO()
    book.save(written)
    return _always_the_same(written.getvalue(), made)


def read_workbook(content: bytes) -> dict[str, list[list[Cell]]]:
    """Return the sheets of a workbook, without empty cells at the ends of lines.

    Raises:
        InvalidInput: it is no workbook, or has anything in it that is never written here, such as a formula.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as parts:
            require_plainly_packed(parts, content)
            require_ours(parts)
            links = {each.get("Id"): each.get("Target", "") for each in xml_of(parts, "xl/_rels/workbook.xml.rels")}
            shared = _shared(parts, links)
            return {
                title: list(_lines(_sheet(parts, place), place, shared))
                for title, place in _places(parts, links).items()
            }
    except NotOurs as odd:
        raise InvalidInput(f"this workbook has {odd}, which is never written here: {_CURE}") from None
    except (*_BROKEN, KeyError, ValueError, IndexError, OSError, RuntimeError) as failure:
        raise InvalidInput(f"this is no workbook that can be read: {_CURE}") from failure


def same_sheets(one: Mapping[str, Sheet], other: Mapping[str, Sheet]) -> bool:
    """Tell whether workbooks hold the same, numbers as far as a workbook tells them, which is sixteen digits.

    >>> same_sheets({"a": [["x", 1 / 3]]}, {"a": [["x", 0.3333333333333333, None]]})
    True
    >>> same_sheets({"a": [[1]]}, {"a": [["1"]]}), same_sheets({"a": []}, {"b": []})
    (False, False)
    """
    if [*one] != [*other]:
        return False
    return all(_same_lines(_ended(one[title]), _ended(other[title])) for title in one)


def titled(sheets: Mapping[str, Sheet]) -> dict[str, Sheet]:
    """Return sheets under the names that they have in a workbook.

    >>> list(titled({"people/2026": [], "people:2026": [], "History": []}))
    ['people_2026', 'people_2026 (2)', 'History_']
    """
    return dict(zip(_titles(sheets), sheets.values(), strict=True))


def _ended(lines: Sheet) -> list[list[Cell]]:
    """Return lines without what is empty at their ends."""
    return _without_end([_without_end(line) for line in lines], empty=[])


def _same_lines(one: Sequence[Sequence[Cell]], other: Sequence[Sequence[Cell]]) -> bool:
    return [len(line) for line in one] == [len(line) for line in other] and all(
        _same(mine, theirs) for lines in zip(one, other, strict=True) for mine, theirs in zip(*lines, strict=True)
    )


def _same(one: Cell, other: Cell) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return _text(one) == _text(other)
    if isinstance(one, bool | str | None) or isinstance(other, bool | str | None):
        return one is other
    return math.isclose(one, other, rel_tol=AS_TOLD)


def _without_end(values: Sequence[T], empty: object = None) -> list[T]:
    found = list(values)
    while found and found[-1] == empty:
        found.pop()
    return found


def _titles(names: Mapping[str, Sheet]) -> list[str]:
    found: list[str] = []
    for name in names:
        title = plain = _NO_TITLE.sub("_", _NO_XML.sub("_", name))[:31].strip() or "sheet"
        title = f"{title}_" if title.casefold() == "history" else title  # Excel keeps this one for itself
        number = 2
        while title.casefold() in [each.casefold() for each in found]:
            title, number = f"{plain[:25]} ({number})", number + 1
        found.append(title)
    return found


def _text(value: str) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", value).replace("\r", "\N{REPLACEMENT CHARACTER}")[:LONGEST_TEXT]


def _always_the_same(content: bytes, made: datetime) -> bytes:
    """Return a workbook whose bytes do not tell when it was written."""
    again = io.BytesIO()
    stamp = f"{made:%Y-%m-%dT%H:%M:%SZ}".encode()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(again, "w", zipfile.ZIP_DEFLATED) as new:
        for name in sorted(old.namelist()):
            part = _MODIFIED.sub(rb"\g<1>" + stamp + rb"\g<2>", old.read(name))
            new.writestr(zipfile.ZipInfo(name, _EPOCH), part, zipfile.ZIP_DEFLATED)
    return again.getvalue()


def _shared(parts: zipfile.ZipFile, links: Mapping[str | None, str]) -> list[str]:
    """Return the texts that cells refer to by their numbers."""
    linked = any(link.endswith("sharedStrings.xml") for link in links.values())
    if linked != (_TEXTS in parts.namelist()):
        raise NotOurs("texts of cells without a link, or a link to none")
    return [_shown(each) for each in xml_of(parts, _TEXTS)] if linked else []


def _places(parts: zipfile.ZipFile, links: Mapping[str | None, str]) -> dict[str, str]:
    """Return the part of every sheet by its name."""
    sheets = list(xml_of(parts, "xl/workbook.xml").iter(f"{_MAIN}sheet"))
    places = [links[sheet.get(_LINK)].lstrip("/") for sheet in sheets]
    if sorted(places) != sorted(name for name in parts.namelist() if name.startswith(_SHEETS)):
        raise NotOurs("a sheet that it does not list, or lists twice")
    found = {str(sheet.get("name")): place for sheet, place in zip(sheets, places, strict=True)}
    if len(found) < len(sheets):
        raise NotOurs("two sheets of one name")
    return found


def _sheet(parts: zipfile.ZipFile, name: str) -> ElementTree.Element:
    """Return a sheet that says rightly where its cells are: there are readers that look nowhere else."""
    sheet = xml_of(parts, name)
    said = [each.get("ref") for each in sheet.iter(f"{_MAIN}dimension")]
    if said != [extent := _extent(sheet)]:
        raise NotOurs(f"cells in {extent} and {', '.join(map(str, said)) or 'nothing'} said of it in {name!r}")
    return sheet


def _extent(sheet: ElementTree.Element) -> str:
    """Return the first and the last column and line of cells, as openpyxl does."""
    cells = [cell.get("r", "") for cell in sheet.iter(f"{_MAIN}c")] or ["A1"]
    columns = sorted((cell.rstrip(string.digits) for cell in cells), key=lambda letters: (len(letters), letters))
    lines = sorted(int(cell.lstrip(string.ascii_uppercase)) for cell in cells)
    return f"{columns[0]}{lines[0]}:{columns[-1]}{lines[-1]}"


def _lines(sheet: ElementTree.Element, name: str, shared: Sequence[str]) -> Iterator[list[Cell]]:
    read = 0
    for line in sheet.iter(f"{_MAIN}row"):
        number = int(line.get("r", read + 1))
        if not read < number <= MOST_LINES:
            raise ValueError(name)
        yield from ([] for _ in range(number - read - 1))  # lines without a cell are not written
        read = number
        cells: list[Cell] = []
        for cell in line.iter(f"{_MAIN}c"):
            letters = cell.get("r", "").removesuffix(str(number))
            place = _column(letters)
            if place <= len(cells):
                raise NotOurs(f"a cell {letters}{number} that is not in order in {name!r}")
            cells += [None] * (place - 1 - len(cells))
            cells.append(_value(cell, shared))
        yield _without_end(cells)


def _column(letters: str) -> int:
    """Return the number of a column.

    >>> _column("A"), _column("AB")
    (1, 28)
    """
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    if not letters.isalpha() or number > 16_384:
        raise ValueError(letters)
    return number


def _value(cell: ElementTree.Element, shared: Sequence[str]) -> Cell:
    kind, value = cell.get("t", "n"), cell.findtext(f"{_MAIN}v")
    if len(cell) > 1 or (kind == "inlineStr") != (cell.find(f"{_MAIN}is") is not None):
        raise NotOurs(f"a cell {cell.get('r')} with two values, or of another kind than its value")
    if kind == "inlineStr":
        return _shown(cell[0])
    if value is None:
        return None
    if kind == "s" and not (value.isascii() and value.isdecimal()):
        raise NotOurs(f"a cell {cell.get('r')} with text {value[:100]!r}")
    return shared[int(value)] if kind == "s" else _TRUTH[value] if kind == "b" else float(value)


def _shown(text: ElementTree.Element) -> str:
    return text.findtext(f"{_MAIN}t") or ""
