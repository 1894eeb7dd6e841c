"""Tables that spreadsheets open: names in them are text, whatever is in them."""

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence

__all__ = ["as_text", "has_separators", "table_text"]

_SIGNS = frozenset("=+-@\N{MINUS SIGN}")
_SEPARATORS = re.compile("([,;|\t\r\n\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029\uff0c\uff1b\uff5c])")
_UNSEEN_LETTERS = frozenset("\u115f\u1160\u3164\uffa0")
"""Fillers of the Hangul alphabet: letters to Unicode, blanks to the eye."""


def table_text(head: Sequence[str], rows: Iterable[tuple[str, Sequence[float]]]) -> str:
    """Return a table of names and numbers as comma-separated values.

    >>> print(table_text(["statistic", "value"], [("=age", [41.5])]), end="")
    statistic,value
    '=age,41.5
    """
    text = io.StringIO()
    plain = csv.writer(text, lineterminator="\n")
    quoted = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    plain.writerow(head)
    for name, numbers in rows:
        (quoted if has_separators(name) else plain).writerow([as_text(name), *numbers])
    return text.getvalue()


def as_text(name: str) -> str:
    """Return a name with an apostrophe before all that a spreadsheet might take for a formula.

    A spreadsheet may take another separator for that of the table, drop what cannot be seen, and read full-width
    signs as the usual ones: so every part between separators is looked at, from its first letter or digit on.

    >>> as_text("age"), as_text("=1+1"), as_text("a; ＝1+1")
    ('age', "'=1+1", "a;' ＝1+1")
    """
    return "".join(f"'{part}" if _begins_a_formula(part) else part for part in _SEPARATORS.split(name))


def has_separators(name: str) -> bool:
    """Tell whether a spreadsheet might end a cell, or a row, in the middle of a name that is not in quotes."""
    return _SEPARATORS.search(name) is not None


def _begins_a_formula(part: str) -> bool:
    for character in part:
        if unicodedata.normalize("NFKC", character)[:1] in _SIGNS:
            return True
        if character == "'" or (character.isalnum() and character not in _UNSEEN_LETTERS):
            return False
    return False
