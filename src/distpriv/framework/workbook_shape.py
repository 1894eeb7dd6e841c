"""What a workbook of ours is made of: which parts, elements and attributes, and what may stand in them.

A spreadsheet shows more than cells: formats that write every number as another, white letters, hidden sheets, pictures
on top. So nothing is let pass that is not listed here, and what is listed changes nothing about how cells are shown.
"""

import hashlib
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeVar
from xml.etree import ElementTree

from distpriv.framework.workbook_parts import NotOurs, xml_of

__all__ = ["require_ours"]

T = TypeVar("T")
Shape = Mapping[str, Mapping[str, str]]
"""What the value of each attribute is, and under no name the text, by the path of an element; a * may be repeated."""

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-"
_NUMBER = "[0-9]{1,9}"
_LINE = "[1-9][0-9]{0,6}"
_CELL = f"[A-Z]{{1,3}}{_LINE}"
_ANY = r"(?s:.*)"
_TIME = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"

_SHEET: Shape = {
    "worksheet": {},
    "worksheet/sheetPr": {},
    "worksheet/sheetPr/outlinePr": {"summaryBelow": "1", "summaryRight": "1"},
    "worksheet/sheetPr/pageSetUpPr": {},
    "worksheet/dimension": {"ref": f"{_CELL}:{_CELL}"},
    "worksheet/sheetViews": {},
    "worksheet/sheetViews/sheetView": {"workbookViewId": "0", "tabSelected": "[01]"},
    "worksheet/sheetViews/sheetView/selection": {"activeCell": "A1", "sqref": "A1"},
    "worksheet/sheetFormatPr": {"baseColWidth": "8", "defaultRowHeight": "15"},
    "worksheet/sheetData": {},
    "worksheet/sheetData/row*": {"r": _LINE},
    "worksheet/sheetData/row*/c*": {"r": _CELL, "s": _NUMBER, "t": "n|s|b|inlineStr"},
    "worksheet/sheetData/row*/c*/v": {"": r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?"},
    "worksheet/sheetData/row*/c*/is": {},
    "worksheet/sheetData/row*/c*/is/t": {_SPACE: "preserve", "": _ANY},
    "worksheet/pageMargins": dict.fromkeys(("left", "right", "top", "bottom", "header", "footer"), r"0\.75|1|0\.5"),
}
_STRINGS: Shape = {
    "sst": {"count": _NUMBER, "uniqueCount": _NUMBER},
    "sst/si*": {},
    "sst/si*/t": {_SPACE: "preserve", "": _ANY},
}
_FORMAT = {"numFmtId": "0", "fontId": _NUMBER, "fillId": "0", "borderId": "0", "pivotButton": "0", "xfId": "0"}
_STYLES: Shape = {
    "styleSheet": {},
    "styleSheet/numFmts": {"count": "0"},
    "styleSheet/fonts": {"count": _NUMBER},
    "styleSheet/fonts/font*": {},
    "styleSheet/fonts/font*/name": {"val": "Calibri"},
    "styleSheet/fonts/font*/family": {"val": "2"},
    "styleSheet/fonts/font*/color": {"theme": "1"},
    "styleSheet/fonts/font*/sz": {"val": "11"},
    "styleSheet/fonts/font*/scheme": {"val": "minor"},
    "styleSheet/fonts/font*/b": {"val": "[01]"},
    "styleSheet/fills": {"count": _NUMBER},
    "styleSheet/fills/fill*": {},
    "styleSheet/fills/fill*/patternFill": {"patternType": "none|gray125"},
    "styleSheet/borders": {"count": "1"},
    "styleSheet/borders/border": {},
    **{f"styleSheet/borders/border/{side}": {} for side in ("left", "right", "top", "bottom", "diagonal")},
    "styleSheet/cellStyleXfs": {"count": "1"},
    "styleSheet/cellStyleXfs/xf": _FORMAT,
    "styleSheet/cellXfs": {"count": _NUMBER},
    "styleSheet/cellXfs/xf*": {**_FORMAT, "quotePrefix": "[01]"},
    "styleSheet/cellStyles": {"count": "1"},
    "styleSheet/cellStyles/cellStyle": {"name": "Normal", "xfId": "0", "builtinId": "0", "hidden": "0"},
    "styleSheet/dxfs": {"count": "0"},
    "styleSheet/tableStyles": {"count": "0", "defaultTableStyle": "[A-Za-z0-9]+", "defaultPivotStyle": "[A-Za-z0-9]+"},
    "styleSheet/colors": {},
    "styleSheet/colors/indexedColors": {},
    "styleSheet/colors/indexedColors/rgbColor*": {"rgb": "[0-9A-F]{8}"},  # which no font of these refers to
}
_BOOK: Shape = {
    "workbook": {},
    "workbook/workbookPr": {},
    "workbook/workbookProtection": {},
    "workbook/bookViews": {},
    "workbook/bookViews/workbookView": {
        "visibility": "visible",
        "minimized": "0",
        "tabRatio": "600",
        "firstSheet": "0",
        "activeTab": "0",
        **dict.fromkeys(("showHorizontalScroll", "showVerticalScroll", "showSheetTabs", "autoFilterDateGrouping"), "1"),
    },
    "workbook/sheets": {},
    "workbook/sheets/sheet*": {
        "name": _ANY,
        "sheetId": _NUMBER,
        "state": "visible",
        f"{{{_OFFICE}/relationships}}id": "rId[0-9]+",
    },
    "workbook/definedNames": {},
    "workbook/calcPr": {"calcId": _NUMBER, "fullCalcOnLoad": "1"},
}
_LINKS: Shape = {
    "Relationships": {},
    "Relationships/Relationship*": {"Type": _ANY, "Target": _ANY, "Id": "rId[0-9]+"},
}
_TYPES: Shape = {
    "Types": {},
    "Types/Default*": {"Extension": "rels|xml", "ContentType": _ANY},
    "Types/Override*": {"PartName": _ANY, "ContentType": _ANY},
}
_CORE: Shape = {
    "coreProperties": {},
    "coreProperties/{http://purl.org/dc/elements/1.1/}creator": {"": "distpriv"},
    **{
        f"coreProperties/{{http://purl.org/dc/terms/}}{when}": {
            "{http://www.w3.org/2001/XMLSchema-instance}type": "dcterms:W3CDTF",
            "": _TIME,
        }
        for when in ("created", "modified")
    },
}
_APPLICATION: Shape = {
    "Properties": {},
    "Properties/Application": {"": "Microsoft Excel( Compatible / Openpyxl [0-9.]+)?"},
    "Properties/AppVersion": {"": "[0-9.]+"},
}

_THEME = "xl/theme/theme1.xml"
_THEMES = ("d15e8ebf78ef7b9720839d7ae8fdc81a7df5bc24706d8e137df61a5683c358d9",)
"""Digests of the themes that openpyxl writes, whose letters are black on white."""

_SHEETS = r"xl/worksheets/sheet[1-9][0-9]{0,4}\.xml"
_PARTS: Mapping[str, tuple[str, Shape]] = {
    r"\[Content_Types\]\.xml": (f"{_PACKAGE}/content-types", _TYPES),
    r"_rels/\.rels": (f"{_PACKAGE}/relationships", _LINKS),
    r"docProps/app\.xml": (f"{_OFFICE}/extended-properties", _APPLICATION),
    r"docProps/core\.xml": (f"{_PACKAGE}/metadata/core-properties", _CORE),
    r"xl/_rels/workbook\.xml\.rels": (f"{_PACKAGE}/relationships", _LINKS),
    r"xl/workbook\.xml": (_MAIN, _BOOK),
    r"xl/styles\.xml": (_MAIN, _STYLES),
    r"xl/sharedStrings\.xml": (_MAIN, _STRINGS),
    _SHEETS: (_MAIN, _SHEET),
}
"""The namespace and the shape of every part but the theme, by its name."""

_DEFAULTS = {"rels": f"{_TYPE}package.relationships+xml", "xml": "application/xml"}
_KINDS: Mapping[str, tuple[str, str]] = {
    r"xl/workbook\.xml": (
        f"{_OFFICE}/relationships/officeDocument",
        f"{_TYPE}officedocument.spreadsheetml.sheet.main+xml",
    ),
    r"docProps/core\.xml": (
        f"{_PACKAGE}/relationships/metadata/core-properties",
        f"{_TYPE}package.core-properties+xml",
    ),
    r"docProps/app\.xml": (
        f"{_OFFICE}/relationships/extended-properties",
        f"{_TYPE}officedocument.extended-properties+xml",
    ),
    r"xl/theme/theme1\.xml": (f"{_OFFICE}/relationships/theme", f"{_TYPE}officedocument.theme+xml"),
    _SHEETS: (f"{_OFFICE}/relationships/worksheet", f"{_TYPE}officedocument.spreadsheetml.worksheet+xml"),
    **{
        rf"xl/{name}\.xml": (f"{_OFFICE}/relationships/{name}", f"{_TYPE}officedocument.spreadsheetml.{name}+xml")
        for name in ("styles", "sharedStrings")
    },
}
"""By what a part is linked to, and as what it is read."""


def require_ours(parts: zipfile.ZipFile) -> None:
    """Refuse a workbook with anything in it that is never written here.

    Raises:
        NotOurs: it has something else; the message says what, and in which part.
    """
    for problem in _problems(parts):
        raise NotOurs(problem)


def _problems(parts: zipfile.ZipFile) -> Iterator[str]:
    for name, times in Counter(parts.namelist()).items():
        if times > 1:
            yield f"{name!r} {times} times"
        elif name == _THEME:
            if hashlib.sha256(parts.read(name)).hexdigest() not in _THEMES:
                yield f"another theme in {name!r}"
        elif (part := _matching(_PARTS, name)) is None:
            yield f"a part {name[:100]!r}"
        else:
            namespace, shape = part
            root = xml_of(parts, name)
            for problem in _elements(root, "", f"{{{namespace}}}", shape):
                yield f"{problem} in {name!r}"
            yield from _references(root, name)


def _elements(element: ElementTree.Element, parent: str, namespace: str, shape: Shape) -> Iterator[str]:
    """Say which elements and attributes a part has beyond its shape; text that none may have counts as one."""
    name = element.tag.removeprefix(namespace)
    path = next((path for path in (f"{parent}{name}", f"{parent}{name}*") if path in shape), None)
    if path is None:
        yield f"an element {name[:100]!r}"
        return
    allowed = shape[path]
    own = element.text or ""
    for attribute, value in [*element.attrib.items(), *([("", own)] if own.strip() or "" in allowed else [])]:
        if attribute not in allowed or not re.fullmatch(allowed[attribute], value):
            yield f"{attribute or 'text'} {value[:100]!r} of {name!r}"
    for tag, times in Counter(child.tag.removeprefix(namespace) for child in element).items():
        if times > 1 and f"{path}/{tag}*" not in shape:
            yield f"{times} times {tag[:100]!r} in one {name!r}"
    for child in element:
        if (child.tail or "").strip():
            yield f"text {str(child.tail)[:100]!r} of {name!r}"
        yield from _elements(child, f"{path}/", namespace, shape)


def _references(root: ElementTree.Element, name: str) -> Iterator[str]:
    """Say which links of a part lead elsewhere, and which parts are taken for something else."""
    for each in root:
        if name.endswith(".rels"):
            target = each.get("Target", "")
            place = target[1:] if target.startswith("/") else f"{name.partition('_rels/')[0]}{target}"
            if (_matching(_KINDS, place) or ("", ""))[0] != each.get("Type"):
                yield f"a link to {target[:100]!r} in {name!r}"
        elif name == "[Content_Types].xml":
            part = each.get("PartName", "/").removeprefix("/")
            kind = _DEFAULTS.get(each.get("Extension", "")) or (_matching(_KINDS, part) or ("", ""))[1]
            if kind != each.get("ContentType"):
                yield f"{part[:100]!r} as {each.get('ContentType', '')[:100]!r} in {name!r}"
    if name.endswith(".rels") and max(Counter(each.get("Id") for each in root).values(), default=1) > 1:
        yield f"two links of one name in {name!r}"


def _matching(by_pattern: Mapping[str, T], name: str) -> T | None:
    return next((found for pattern, found in by_pattern.items() if re.fullmatch(pattern, name)), None)
