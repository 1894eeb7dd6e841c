"""What the reference table has in its columns: public knowledge that every private value is held to."""

from collections.abc import Mapping
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from distpriv.engines.engine import Engine
from distpriv.engines.sql import RowSelect
from distpriv.engines.total import is_number
from distpriv.modelling.reference import ReferenceTable

__all__ = ["MOST_VALUES", "ColumnSeen", "columns_seen"]

MOST_VALUES = 10_000
"""A column of more numbers, dates or times than this is known by its least and its greatest."""


@frozen(kw_only=True, eq=False)
class ColumnSeen:
    """What the usable rows of a reference table have in one column."""

    values: pa.ChunkedArray
    """Every value, of texts the most frequent first; or the least and the greatest of more than `MOST_VALUES`."""
    usual: pa.ChunkedArray
    """One value: the lower median, or the most frequent one; none where no row has any."""
    rare: pa.ChunkedArray
    """Values that the fewest rows have, where values have no order; none where they have."""
    unseen: float
    """About the share of rows whose value the reference lacks: that of its own rows whose value is theirs alone, in the
    stratum that has most of them."""
    nulls: bool
    ordered: bool
    """Whether it is of numbers, dates or times."""
    complete: bool = True
    """Whether every value is among the values."""


_known: "WeakKeyDictionary[ReferenceTable, Mapping[str, ColumnSeen]]" = WeakKeyDictionary()


def columns_seen(table: ReferenceTable) -> Mapping[str, ColumnSeen]:
    """Return what usable rows have in the columns that statistics read, looked up once for a table."""
    if table not in _known:
        _known[table] = _columns_seen(table.engine, table.select)
    return _known[table]


def _columns_seen(engine: Engine, select: RowSelect) -> Mapping[str, ColumnSeen]:
    """Return the same; medians are those of a sample."""
    names = select.read_columns
    if not names:
        return {}
    sample = engine.sample(select.raw(), 10_000, 0)
    ordered = [name for name in names if _is_ordered(engine.schema.field(name).type)]
    ends = engine.select(select.ends(ordered)) if ordered else None
    columns = {}
    for number, name in enumerate(names):
        if ends is None or name not in ordered:
            columns[name] = _seen_values(engine.select(select.counts(name)))
            continue
        k = ordered.index(name)
        low, high, nulls = (ends[f"{what}{k}"] for what in ("low", "high", "nulls"))
        counted = engine.select(select.counts(name, MOST_VALUES + 1))
        some, complete = counted["v"], counted.num_rows <= MOST_VALUES
        columns[name] = ColumnSeen(
            values=some if complete else pa.chunked_array([*low.chunks, *high.chunks]),
            usual=_lower_median(sample[f"c{number}"]),
            rare=some[:0],
            unseen=_unseen(counted) if complete else 1.0,
            nulls=bool(nulls[0].as_py()),
            ordered=True,
            complete=complete,
        )
    return columns


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
    in_order = sorted(range(len(times)), key=lambda k: (-times[k], texts[k]))
    rare = [k for k in in_order if times[k] == times[in_order[-1]]]
    return ColumnSeen(
        values=present["v"].take(pa.array(in_order, pa.int64())),
        usual=present["v"].take(pa.array(in_order[:1], pa.int64())),
        rare=present["v"].take(pa.array(rare, pa.int64())),
        unseen=_unseen(present),
        nulls=present.num_rows < counts.num_rows,
        ordered=False,
    )


def _unseen(counts: pa.Table) -> float:
    """Return the largest share of rows of a stratum whose value is theirs alone in the whole table."""
    rows = counts["n"].to_numpy()
    of_strata = [counts[name].to_numpy() for name in counts.column_names if name.startswith("p")]
    parts = [rows, *of_strata, *(rows - part for part in of_strata)]
    return max((float(part[rows == 1].sum() / part.sum()) for part in parts if part.sum()), default=0.0)
