"""What the reference table has in its columns: public knowledge that every private value is held to."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from distpriv.engines.engine import Engine
from distpriv.engines.sql import RowSelect

__all__ = ["MOST_VALUES", "ColumnSeen", "columns_seen", "is_number"]

MOST_VALUES = 10_000
"""A column of more numbers, dates or times than this is known by its least and its greatest."""


@frozen(kw_only=True, eq=False)
class ColumnSeen:
    """What the usable rows of a reference table have in one column."""

    values: pa.ChunkedArray
    """Every value, or the least and the greatest of more numbers, dates or times than `MOST_VALUES`."""
    usual: pa.ChunkedArray
    """One value: the lower median, or the most frequent one; none where no row has any."""
    nulls: bool
    ordered: bool
    """Whether it is of numbers, dates or times."""
    complete: bool = True
    """Whether every value is among the values."""


def columns_seen(engine: Engine, select: RowSelect, seed: int) -> Mapping[str, ColumnSeen]:
    """Return what usable rows have in the columns that statistics read; medians are those of a sample."""
    names = select.read_columns
    if not names:
        return {}
    sample = engine.sample(select.raw(), 10_000, seed)
    ordered = [name for name in names if _is_ordered(engine.schema.field(name).type)]
    ends = engine.select(select.ends(ordered)) if ordered else None
    found = {}
    for number, name in enumerate(names):
        if ends is None or name not in ordered:
            found[name] = _seen_values(engine.select(select.counts(name)))
            continue
        k = ordered.index(name)
        low, high, nulls = (ends[f"{what}{k}"] for what in ("low", "high", "nulls"))
        some = engine.select(select.some_values(name, MOST_VALUES + 1))["v"]
        complete = len(some) <= MOST_VALUES
        found[name] = ColumnSeen(
            values=some if complete else pa.chunked_array([*low.chunks, *high.chunks]),
            usual=_lower_median(sample[f"c{number}"]),
            nulls=bool(nulls[0].as_py()),
            ordered=True,
            complete=complete,
        )
    return found


def _is_ordered(kind: pa.DataType) -> bool:
    """Tell whether a column is of numbers, dates or times, which are known by the least and the greatest."""
    return is_number(kind) or bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind))


def _lower_median(values: pa.ChunkedArray) -> pa.ChunkedArray:
    present = values.drop_null()
    return present.take(pc.sort_indices(present)[(len(present) - 1) // 2 :][:1]) if len(present) else present


def _seen_values(counts: pa.Table) -> ColumnSeen:
    """Return the values of a column from how often each is there; of the most frequent the first by its text."""
    present = counts.filter(pc.is_valid(counts["v"]))
    times, texts = present["n"].to_pylist(), list(map(str, present["v"].to_pylist()))
    usual = sorted(range(len(times)), key=lambda k: (-times[k], texts[k]))[:1]
    return ColumnSeen(
        values=present["v"],
        usual=present["v"].take(pa.array(usual, pa.int64())),
        nulls=present.num_rows < counts.num_rows,
        ordered=False,
    )


def is_number(kind: pa.DataType) -> bool:
    """Tell whether a column is of numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
