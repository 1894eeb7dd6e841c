"""What a private table is known by: a keyed hash of the values of every column, whatever their order.

Whoever has the key can tell whether two tables are the same; whoever has not learns nothing, since even a column of two
values cannot be guessed and tried.
"""

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from distpriv.engines.connections import of_memory
from distpriv.engines.engine import SOURCE, Engine
from distpriv.engines.total import is_text, raw_columns
from distpriv.errors import InvalidSource

__all__ = ["agree", "changed_columns", "fingerprint", "mostly_agree"]

AT_ONCE = 8
"""How many columns are held in memory at a time."""

ROWS = "rows"


def fingerprint(engine: Engine, records: int, key: bytes) -> dict[str, str]:
    """Return keyed hashes of the number of rows and of every column, under a keyed hash of the column's name.

    Raises:
        InvalidSource: the table does not have so many rows.

    >>> from distpriv.engines.engine import engine_for
    >>> one, other = engine_for(pa.table({"a": [1, 2], "b": ["x", None]})), engine_for(pa.table({"A": [2.0, 1.0]}))
    >>> first = fingerprint(one, 2, b"key")
    >>> len(first), agree(first, fingerprint(other, 2, b"key")), agree(first, fingerprint(other, 2, b"other key"))
    (3, True, False)
    """
    found = {ROWS: _hashed(key, ROWS, [str(records).encode()])}
    names = engine.schema.names
    for start in range(0, len(names), AT_ONCE):
        for name, column in raw_columns(engine, names[start : start + AT_ONCE]).items():
            if len(column) != records:
                raise InvalidSource("the table has another number of rows: give the right one.")
            folded = name.casefold()
            found[_hashed(key, "name", [folded.encode()])] = _hashed(key, f"values {folded}", _counted(column))
    return found


def agree(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Tell whether two fingerprints have a column in common, and everything that they have in common is the same.

    >>> agree({"rows": "3", "a": "1"}, {"rows": "3", "b": "1"})  # no column in common
    False
    """
    common = one.keys() & other.keys()
    return bool(common - {ROWS}) and all(hmac.compare_digest(one[name], other[name]) for name in common)


def mostly_agree(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Tell whether two tables are likely to be one: as many rows, and at least half of the common columns the same.

    Columns may have been added, renamed or recoded. Two tables that share few columns, one of them the same in both by
    chance, are taken for one as well; that is what an explicit new budget is for.

    >>> mostly_agree({"rows": "3", "a": "1", "b": "1"}, {"rows": "3", "a": "1", "b": "2"})
    True
    """
    common = one.keys() & other.keys()
    same = [name for name in common if hmac.compare_digest(one[name], other[name])]
    return ROWS in same and 2 * (len(same) - 1) >= len(common - {ROWS}) > 0


def changed_columns(
    names: Iterable[str], one: Mapping[str, str], other: Mapping[str, str], key: bytes
) -> tuple[str, ...]:
    """Return which of some columns two fingerprints with one key have in common, and not the same values of."""
    hashed = {name: _hashed(key, "name", [name.casefold().encode()]) for name in names}
    return tuple(name for name, own in hashed.items() if own in one and own in other and one[own] != other[own])


def _counted(column: pa.ChunkedArray) -> Iterator[bytes]:
    """Return every value of a column as text, and how often it is there, in the order of the texts.

    A whole number is written the same whatever its type; null, NaN and empty text are one value, as files write them.
    """
    with of_memory() as connection:
        connection.register(SOURCE, pa.table({"c": column}))
        query = (
            f"SELECT t, COUNT(*) AS n FROM (SELECT {_canonical(column.type)} AS t FROM {SOURCE}) GROUP BY t ORDER BY t"
        )
        counted = connection.sql(query).to_arrow_table()
    for text, number in zip(counted["t"].to_pylist(), counted["n"].to_pylist(), strict=True):
        written = text.encode()
        yield b"%d %d " % (number, len(written)) + written


def _canonical(kind: pa.DataType) -> str:
    """Return SQL for the text of a value: one that is never null, and the same for a number or its digits."""
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        text = _number("CAST(c AS DOUBLE)")
    elif is_text(kind):
        digits = "COALESCE(CAST(TRY_CAST(c AS HUGEINT) AS VARCHAR), c)"
        whole = f"CASE WHEN regexp_full_match(trim(c), '[+-]?[0-9]+') THEN {digits} END"
        truth = "CASE WHEN lower(c) IN ('true', 'false') THEN lower(c) END"
        text = f"COALESCE({whole}, {truth}, {_number('TRY_CAST(c AS DOUBLE)')}, NULLIF(c, 'nan'))"
    else:
        text = "CAST(c AS VARCHAR)"
    return f"COALESCE({text}, '')"


def _number(number: str) -> str:
    """Return SQL for the text of a number; none for NaN."""
    small = f"ABS({number}) < 9007199254740992 AND {number} = TRUNC({number})"
    whole = f"CASE WHEN {small} THEN CAST(CAST({number} AS BIGINT) AS VARCHAR) END"
    return f"COALESCE({whole}, NULLIF(CAST({number} AS VARCHAR), 'nan'))"


def _hashed(key: bytes, purpose: str, parts: Iterator[bytes] | list[bytes]) -> str:
    made = hmac.new(key, purpose.encode() + b"\0", hashlib.sha256)
    for part in parts:
        made.update(part)
    return made.hexdigest()
