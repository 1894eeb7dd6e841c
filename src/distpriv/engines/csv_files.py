"""CSV files as people have them: how they are encoded, what separates values, and how fractions are written.

| a file | is read |
|---|---|
| in UTF-8, in Latin-1, in UTF-16 with its mark | as it is encoded |
| with semicolons, tabs or bars | by what separates the names of the first line |
| with fractions such as 39,5 | as numbers, where a comma does not separate values |
"""

import codecs
import csv
import gzip
from collections.abc import Callable, Sequence
from functools import partial
from glob import escape
from typing import IO, Any

import duckdb

from distpriv.engines.connections import literal
from distpriv.errors import InvalidSource

__all__ = ["SUFFIXES", "commas_in_fractions", "csv_scan", "sniffed"]

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
SEPARATORS = (",", ";", "\t", "|")
LONGEST_LINE = 1_000_000
"""Bytes in which the names of all columns must stand."""

AT_ONCE = 1 << 22
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")
_NO_LATIN = bytes(range(0x80, 0xA0))
"""Bytes that Windows has signs for, and Latin-1 none."""

Run = Callable[[str], duckdb.DuckDBPyRelation]


def csv_scan(files: Sequence[str], run: Run, *, as_text: bool) -> str:
    """Return the table function that reads CSV files.

    Args:
        files: the files, all with the same columns.
        run: runs SQL on a connection that reaches them.
        as_text: whether everything is left as text, so that no row decides how another is read.

    Raises:
        InvalidSource: a file is encoded in no way that is known, or fractions are written in two ways.
    """
    encoding = _encoding(files)
    listed = f"read_csv([{', '.join(literal(escape(file)) for file in files)}]{encoding}"
    if as_text:
        return f"{listed}{_as_text(files)})"
    if not commas_in_fractions(files):
        return f"{listed})"
    return f"{listed}{_fractions(partial(_columns, run, listed))})"


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


def _encoded(file: str) -> str:
    """Return how a file is encoded: by its mark, as UTF-8 if all of it is that, or else as Latin-1."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with _opened(file) as opened:
        if opened.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
        opened.seek(0)
        try:
            while part := opened.read(AT_ONCE):
                decoder.decode(part)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return _latin(opened)
    return "utf-8"


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
    first = {_header(file) for file in files}
    if len(first) > 1:
        raise InvalidSource("these files begin with other lines: give each of them the same columns in the same order.")
    line = first.pop()
    separator = _separator(line)
    names = next(csv.reader([line.rstrip("\r\n")], delimiter=separator))
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    ends = ", new_line = '\\r'" if line.endswith("\r") else ""
    written = f"delim = {literal(separator)}, quote = '\"', escape = '\"'{ends}"
    return f", auto_detect = false, header = true, skip = 0, {written}, columns = {{{columns}}}"


def _separator(line: str) -> str:
    return max(SEPARATORS, key=line.count)


def _header(file: str) -> str:
    """Return the first line of a CSV file with its end, which may be that of any system."""
    with _opened(file) as opened:
        start = opened.read(LONGEST_LINE)
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        text = start.decode("utf-16", errors="replace")
    else:
        line = start.partition(b"\n")[0]
        try:
            line.decode("utf-8-sig")
            text = start.decode("utf-8-sig", errors="replace")
        except UnicodeDecodeError:
            text = start.decode("latin-1")
    return text.splitlines(keepends=True)[0] if text else text


def _opened(file: str) -> IO[bytes]:
    opener: Any = gzip.open if file.lower().endswith(".gz") else open
    opened: IO[bytes] = opener(file, "rb")
    return opened
