"""Tables of Excel: the one sheet of a workbook that has rows, its first row the names of the columns."""

import warnings
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from typing import Any

import pyarrow as pa

from distpriv.errors import InvalidSource
from distpriv.extras import extra_needed

__all__ = ["SUFFIX", "workbook_table"]

SUFFIX = ".xlsx"
_ERRORS = frozenset(["#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A"])
"""What a formula has for a value where it has none."""

Row = tuple[Any, ...]


def workbook_table(file: str, *, as_text: bool = False) -> pa.Table:
    """Return the rows of a workbook; of formulas, what Excel computed when it was saved.

    Args:
        file: a file that ends in .xlsx.
        as_text: whether every value becomes text by itself, so that no row decides how another is read.

    Raises:
        InvalidSource: it is no workbook, no sheet or several have rows, or columns have no names of their own.
    """
    sheets = {name: rows for name, rows in _sheets(file) if rows}
    if len(sheets) != 1:
        found = "no sheet has rows" if not sheets else f"the sheets {', '.join(sheets)} have rows"
        raise InvalidSource(f"in {file!r} {found}: keep the table in one sheet, and others in other files.")
    (header, *rows) = next(iter(sheets.values()))
    names = [None if name is None else str(name).strip() for name in header]
    width = max((place for row in (header, *rows) for place, value in enumerate(row, 1) if value is not None))
    lowered = [(name or "").lower() for name in names[:width]]
    if "" in lowered or len(set(lowered)) < width:
        raise InvalidSource(
            f"the first row of {file!r} must have a name for each column, no two alike: write them, and nothing above."
        )
    columns = [[row[place] for row in rows] for place in range(width)]
    return pa.table([_column(column, as_text) for column in columns], names=names[:width])


def _sheets(file: str) -> Iterator[tuple[str, list[Row]]]:
    """Yield every sheet with its rows, without those that are empty."""
    with extra_needed("excel", f"the workbook {file!r}", InvalidSource):
        import openpyxl
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about formats and rules, which are not read
        try:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            for sheet in book.worksheets:
                rows = [tuple(map(_value, row)) for row in sheet.iter_rows(values_only=True)]
                width = max((len(row) for row in rows), default=0)
                full = [row + (None,) * (width - len(row)) for row in rows]
                yield sheet.title, [row for row in full if any(value is not None for value in row)]
            book.close()
        except Exception as failure:  # a broken archive fails in many ways
            raise InvalidSource(
                f"{file!r} cannot be read as a workbook ({type(failure).__name__}): save it anew as .xlsx, or as CSV."
            ) from failure


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return None if value in _ERRORS or not value.strip() else value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)  # Excel has one kind of number
    if isinstance(value, datetime) and value.time() == time():
        return value.date()
    return value


def _column(values: Sequence[Any], as_text: bool) -> pa.Array:
    """Return a column of the one type that all its values have, or else of text."""
    kinds = {type(value) for value in values if value is not None}
    if not as_text and kinds <= {int, float} and kinds:
        whole = kinds == {int} and all(value is None or abs(value) < 2**63 for value in values)
        return pa.array(values, pa.int64() if whole else pa.float64())
    if not as_text and kinds == {date, datetime}:
        moments = [datetime.combine(v, time()) if type(v) is date else v for v in values]
        return pa.array(moments, pa.timestamp("us"))
    if not as_text and len(kinds) == 1:
        return pa.array(values)
    return pa.array([None if value is None else _text(value) for value in values], pa.string())


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else str(value)
