"""CSV files as people have them: how they are encoded, what separates values, and how fractions are written.

| a file | is read |
|---|---|
| in UTF-8, in Latin-1, in UTF-16 with its mark | as it is encoded |
| with semicolons, tabs or bars | by what separates the names of the first line |
| with fractions such as 39,5 | as numbers, where a comma does not separate values |

Of a private file the mark and the first line alone decide. It is in UTF-8 unless it begins with the mark of UTF-16, and
bytes that are no UTF-8 are read by themselves, as Windows writes them: none of them says how another is read.
"""

import codecs
import csv
import gzip
import io
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from glob import escape
from typing import IO, Any

import duckdb

from distpriv.engines.connections import literal
from distpriv.errors import InvalidSource

__all__ = ["SUFFIXES", "commas_in_fractions", "csv_scan", "in_utf_8", "sniffed", "text_scan", "uneven_line"]

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
SEPARATORS = (",", ";", "\t", "|")
_NAMED = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
LONGEST_LINE = 1_000_000
"""Bytes in which the names of all columns must stand."""

AT_ONCE = 1 << 22
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")
_NO_LATIN = bytes(range(0x80, 0xA0))
"""Bytes that Windows has signs for, and Latin-1 none."""

_BY_THEMSELVES = "distpriv_bytes_by_themselves"
_FIRST_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?")
_MARKS_OF_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

Run = Callable[[str], duckdb.DuckDBPyRelation]


def csv_scan(files: Sequence[str], run: Run) -> str:
    """Return the table function that reads CSV files, each column as what all of its values are.

    Args:
        files: the files, all with the same columns.
        run: runs SQL on a connection that reaches them.

    Raises:
        InvalidSource: a file is encoded in no way that is known, has no names of its own for its columns, or fractions
            are written in two ways.
    """
    _, separator, end = _first_line(files)
    listed = f"read_csv({_listed(files)}{_encoding(files)}, header = true, skip = 0, {_dialect(separator, end)}"
    if not commas_in_fractions(files):
        return f"{listed})"
    return f"{listed}{_fractions(partial(_columns, run, listed))})"


def text_scan(files: Sequence[str]) -> str:
    """Return the table function that leaves everything in CSV files as text: no row decides how another is read.

    Args:
        files: the files as `in_utf_8` gives them, all with the same columns.

    Raises:
        InvalidSource: their first lines differ.
    """
    return f"read_csv({_listed(files)}{_as_text(files)})"


@contextmanager
def in_utf_8(files: Sequence[str]) -> Iterator[list[str]]:
    """Give the same files, or copies in UTF-8 of those that are in something else, which are gone afterwards."""
    others = [file for file in files if not _is_utf_8(file)]
    if not others:
        yield [*files]
        return
    with tempfile.TemporaryDirectory(prefix="distpriv-", ignore_cleanup_errors=True) as folder:
        copies = {file: _copied(file, os.path.join(folder, f"{place}.csv")) for place, file in enumerate(others)}
        yield [copies.get(file, file) for file in files]


def sniffed(file: str) -> str:
    """Return the table function that tells how a file is written."""
    return f"sniff_csv({literal(escape(file))}{_encoding([file])})"


def commas_in_fractions(files: Sequence[str]) -> bool:
    """Tell whether a fraction may be written with a comma: something else separates values."""
    return bool(files) and all(_separator(_header(file)) != "," for file in files)


def _encoding(files: Sequence[str]) -> str:
    """Return the option that says how files are encoded; none of UTF-8."""
    found = {_encoded(file) for file in files}
    if len(found) > 1:
        raise InvalidSource(f"these files are encoded as {' and as '.join(sorted(found))}: save all of them in UTF-8.")
    (encoding,) = found
    return "" if encoding == "utf-8" else f", encoding = {literal(encoding)}"


def _listed(files: Sequence[str]) -> str:
    return f"[{', '.join(literal(escape(file)) for file in files)}]"


def _encoded(file: str) -> str:
    """Return how a file is encoded: by its mark, as UTF-8 if all of it is that, or else as Latin-1."""
    with _opened(file) as opened:
        if opened.read(2) in _MARKS_OF_UTF_16:
            return "utf-16"
        if _is_utf_8(file):
            return "utf-8"
        return _latin(opened)


def _is_utf_8(file: str) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    with _opened(file) as opened:
        try:
            while part := opened.read(AT_ONCE):
                decoder.decode(part)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _copied(file: str, copy: str) -> str:
    """Write a file anew in UTF-8, and return where."""
    with _opened(file) as opened:
        encoding, errors = _decoding(opened.read(2))
        opened.seek(0)
        with (
            io.TextIOWrapper(opened, encoding, errors, newline="") as decoded,
            open(copy, "w", encoding="utf-8", newline="") as written,
        ):
            shutil.copyfileobj(decoded, written, AT_ONCE)
    return copy


def _decoding(start: bytes) -> tuple[str, str]:
    """Return what a file is decoded as that begins so, and what becomes of bytes that do not fit."""
    return ("utf-16", "replace") if start[:2] in _MARKS_OF_UTF_16 else ("utf-8", _BY_THEMSELVES)


def _by_themselves(failure: UnicodeError) -> tuple[str, int]:
    """Return bytes that are no UTF-8 as Windows reads them, which has all letters of Latin-1, and where they end."""
    assert isinstance(failure, UnicodeDecodeError)
    return failure.object[failure.start : failure.end].decode("cp1252", errors="replace"), failure.end


codecs.register_error(_BY_THEMSELVES, _by_themselves)


def _latin(opened: IO[bytes]) -> str:
    """Return Latin-1, or refuse a file with bytes that are no letter in it."""
    opened.seek(0)
    while part := opened.read(AT_ONCE):
        if len(part.translate(None, _NO_LATIN)) < len(part):
            raise InvalidSource(
                "it is neither in UTF-8 nor in Latin-1: save it in UTF-8, which spreadsheets offer as CSV UTF-8."
            )
    return "latin-1"


def _fractions(columns: Callable[[str], dict[str, str]]) -> str:
    """Return the option by which more columns are numbers: with a comma, where that makes some of them so."""
    option = ", decimal_separator = ','"
    points, commas = columns(""), columns(option)
    by_comma = [name for name in points if _is_number(commas.get(name)) and not _is_number(points[name])]
    by_point = [name for name in points if _is_number(points[name]) and not _is_number(commas.get(name))]
    if by_comma and by_point:
        raise InvalidSource(
            f"fractions are written with a comma in {', '.join(by_comma)} and with a point in {', '.join(by_point)}: "
            "write all of them with a point."
        )
    return option if by_comma else ""


def _columns(run: Run, listed: str, option: str) -> dict[str, str]:
    """Return the types of columns; none where files cannot be read so."""
    try:
        return {row[0]: row[1] for row in run(f"DESCRIBE SELECT * FROM {listed}{option})").fetchall()}
    except duckdb.Error:
        return {}


def _is_number(kind: str | None) -> bool:
    return kind is not None and kind.startswith(_NUMBERS)


def _as_text(files: Sequence[str]) -> str:
    """Return the options that leave everything in CSV files as text: their first line alone tells how to read them."""
    names, separator, end = _first_line(files)
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    written = _dialect(separator, end)
    return f", auto_detect = false, header = true, skip = 0, {written}, columns = {{{columns}}}"


def _dialect(separator: str, end: str) -> str:
    ends = ", new_line = '\\r'" if end == "\r" else ""
    return f"delim = {literal(separator)}, quote = '\"', escape = '\"'{ends}"


def _first_line(files: Sequence[str]) -> tuple[list[str], str, str]:
    """Return the names of the columns, what separates them, and how lines end."""
    first = {_header(file) for file in files}
    if len(first) > 1:
        raise InvalidSource("these files begin with other lines: give each of them the same columns in the same order.")
    line = first.pop()
    text = line.rstrip("\r\n")
    if not text.strip():
        raise InvalidSource("it is empty: give a file with the names of the columns on line 1, and rows below them.")
    separator = _separator(line)
    names = next(csv.reader([text], delimiter=separator))
    lowered = [name.strip().lower() for name in names]
    if "" in lowered:
        raise InvalidSource(f"line 1 has no name for column {lowered.index('') + 1}: give each column a name.")
    twice = [name for place, name in enumerate(names) if name.strip().lower() in lowered[:place]]
    if twice:
        raise InvalidSource(f"line 1 names the column {twice[0]!r} twice: give each column its own name.")
    return names, separator, line[len(text) :]


def uneven_line(files: Sequence[str]) -> str | None:
    """Say which line of CSV files has more or fewer values than the first has names, and what may be why; or nothing.

    Read only where a database refuses the files, since it takes time.
    """
    for file in files:
        with _opened(file) as opened:
            encoding, errors = _decoding(opened.read(2))
            opened.seek(0)
            with io.TextIOWrapper(opened, encoding, errors, newline="") as decoded:
                found = _uneven(decoded)
        if found is not None:
            return found if len(files) == 1 else f"{os.path.basename(file)}: {found}"
    return None


def _uneven(lines: Iterable[str]) -> str | None:
    separator, count, start = ",", 0, 0
    kept: list[str] = []

    def remembered() -> Iterator[str]:
        for line in lines:
            kept[:] = [*kept[-1:], line.removeprefix("\ufeff") if not kept else line]
            yield kept[-1]

    texts = remembered()
    first = next(texts, "")
    separator = _separator(first)
    count = len(next(csv.reader([first], delimiter=separator)))
    reader = csv.reader(texts, delimiter=separator, strict=True)
    while True:
        start = reader.line_num + 2
        try:
            row = next(reader, None)
        except csv.Error:
            return f"a quote that is opened on line {start} is never closed: close it, or write it twice"
        if row is None:
            return None
        values = len(row) - (len(row) == count + 1 and not row[-1])
        if row and values != count:
            has = f"line {start} has {values} value{'' if values == 1 else 's'}, and line 1 names {count} columns"
            other = next((s for s in SEPARATORS if s != separator and kept[-1].count(s) == count - 1 > 0), None)
            if other is not None:
                return f"{has}: it seems to be separated by {_NAMED[other]}, and line 1 by {_NAMED[separator]}"
            if count == 1:
                return f"line {start} has {values} values, and line 1 names one column: remove what is above the names"
            if values > count and separator == ",":
                return (
                    f"{has}: write fractions with a point and texts with a comma in quotes, or separate by semicolons"
                )
            return f"{has}: correct the line"


def _separator(line: str) -> str:
    return max(SEPARATORS, key=line.count)


def _header(file: str) -> str:
    """Return the first line of a CSV file with its end, which may be that of any system."""
    with _opened(file) as opened:
        start = opened.read(LONGEST_LINE)
    text = start.decode(*_decoding(start)).removeprefix("\ufeff")
    return _FIRST_LINE.match(text)[0]  # type: ignore[index]  # it matches whatever is there


def _opened(file: str) -> IO[bytes]:
    opener: Any = gzip.open if file.lower().endswith(".gz") else open
    opened: IO[bytes] = opener(file, "rb")
    return opened
