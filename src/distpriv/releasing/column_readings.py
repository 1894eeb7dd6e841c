"""How a column of the private table is read, before an expression or a function sees it."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from numpy.typing import NDArray

from distpriv.engines.total import TotalTable, is_number, is_text, text_of, texts_meaning
from distpriv.modelling.reference import ReferenceTable
from distpriv.releasing.columns_seen import ColumnSeen, columns_seen

__all__ = ["ColumnReading", "column_reading", "type_of"]

EXPECTED = 0.05
"""How many rows with unknown values a dataset is expected to have, above which they are read as they are."""


@frozen(kw_only=True, eq=False)
class ColumnReading:
    """How a column is read before an expression or a function sees it: as something that the reference has in it."""

    low: pa.Scalar | None
    """The least value, of a column of numbers, dates or times."""
    high: pa.Scalar | None
    known: pa.ChunkedArray | None
    """All values, in order where they have one; none of a column of too many numbers, dates or times."""
    otherwise: pa.Scalar
    """What a missing value counts as: the median of what is in order, or the most frequent of other values."""
    rare: pa.Array | pa.ChunkedArray
    """What unknown values count as where values have no order: those that the fewest rows have, one by its hash."""
    near: pa.ChunkedArray | None = None
    """What unknown values count as the nearest of, where values have an order; all known ones when not given."""
    as_they_are: bool = False
    """Whether unknown values stay: so many that only one row has them that a dataset is expected to have others."""
    nulls: bool
    """Whether the reference has nulls, so that a null stays one."""

    def read(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return a column of known values, the nearest of them where they have an order, or between their ends.

        >>> def column(*values):
        ...     return pa.chunked_array([pa.array(values)])
        >>> ages = column(17.0, 37.0, 90.0)
        >>> ages = ColumnReading(low=ages[0], high=ages[2], known=ages, otherwise=ages[1], rare=[], nulls=False)
        >>> ages.read(column(None, 1e9, 40.5)).to_pylist()
        [37.0, 90.0, 37.0]
        >>> from attrs import evolve
        >>> evolve(ages, known=None).read(column(None, 1e9, 40.5)).to_pylist()
        [37.0, 90.0, 40.5]
        >>> sexes = column("F", "M")
        >>> sexes = ColumnReading(low=None, high=None, known=sexes, otherwise=sexes[0], rare=sexes[1:], nulls=True)
        >>> sexes.read(column(None, "F", "unheard-of")).to_pylist()
        [None, 'F', 'M']
        """
        values = _plain(values)
        if self.low is not None and self.high is not None:
            values = self._between_ends(values)
        if self.known is not None:
            found = pc.or_(_among(values, self.known), pc.is_null(values))
            near = self.known if self.near is None else self.near
            instead = self._one_of_the_rare(values, found) if self.low is None else _nearest(values, near)
            values = values if self.as_they_are else pc.if_else(found, values, instead)
        return values if self.nulls else pc.fill_null(values, self.otherwise)

    def written(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return a private column as texts where it has those in the reference, whatever type it came as.

        A program that reads a file makes truth values of True and False, and numbers of codes, where one other text
        among them leaves all of them texts. Each becomes the most frequent text of the reference that means it.

        >>> texts = pa.chunked_array([pa.array(["False", "True", "unknown", "01"])])
        >>> members = ColumnReading(low=None, high=None, known=texts, otherwise=texts[0], rare=texts[2:], nulls=True)
        >>> members.written(pa.chunked_array([[True, False, None]])).to_pylist()
        ['True', 'False', None]
        >>> members.written(pa.chunked_array([[1.0, 7.0, 2.5]])).to_pylist()
        ['01', '7', '2.5']
        """
        values = _plain(values)
        if self.known is None or not is_text(self.known.type) or is_text(values.type):
            return values
        if not (is_number(values.type) or pa.types.is_boolean(values.type)):
            return values  # dates and times are written in one way
        meant = texts_meaning(self.known, values.type)
        different = values.unique()
        nothing = different.is_null(nan_is_null=True).to_pylist()
        texts = [
            None if gone else meant.get(each, text_of(each))
            for each, gone in zip(different.to_pylist(), nothing, strict=True)
        ]
        places = pc.index_in(values, value_set=different)
        return pa.chunked_array([pa.array(texts, pa.string()).take(places.combine_chunks())])

    def _one_of_the_rare(self, values: pa.ChunkedArray, found: pa.ChunkedArray) -> pa.Scalar | pa.Array:
        """Return what unknown values count as: what a reference lacks is like what it has but once.

        The most frequent value would gather them all, and where they are many, as in a column of a thousand countries,
        say what is told by being none of the usual ones.
        """
        if not len(self.rare):
            return self.otherwise
        chosen = np.zeros(len(values), dtype=np.int64)
        for row in np.flatnonzero(~found.to_numpy()):
            chosen[row] = _hashed(values[int(row)].as_py()) % len(self.rare)
        return self.rare.take(pa.array(chosen))

    def _between_ends(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        values = pc.if_else(pc.less(values, self.low), self.low, values)
        return pc.if_else(pc.greater(values, self.high), self.high, values)


def column_reading(name: str, kind: pa.DataType, tables: Sequence[ReferenceTable], records: int) -> ColumnReading:
    """Return how a column is read, from what it is in all tables; in the types that private values are read as.

    By Good and Turing, the share of rows with a value that the reference lacks is about that of its rows whose value is
    theirs alone, in the stratum that has most of them. Where a dataset of so many records has such rows now and then,
    they are part of the model's law, and reading them as others would change it, more in one scenario than in another.
    Rows that scenarios weigh may be any of those.
    """
    seen = [
        column for table in tables for known, column in columns_seen(table).items() if known.lower() == name.lower()
    ]
    values = _together([column.values for column in seen], kind)
    usual = _together([column.usual for column in seen], kind)
    rare = _together([column.rare for column in seen], kind)
    ordered = all(column.ordered for column in seen)
    ends = pc.min_max(values) if ordered else None
    if ordered:
        values = values.take(pc.sort_indices(values)).unique()
    return ColumnReading(
        low=None if ends is None else ends["min"],
        high=None if ends is None else ends["max"],
        known=values if all(column.complete for column in seen) and len(values) else None,
        otherwise=usual[0] if len(usual) else pa.scalar(None, usual.type),
        rare=rare,
        as_they_are=_unknown_ones(seen, tables, records) > EXPECTED,
        nulls=any(column.nulls for column in seen),
    )


def _unknown_ones(seen: Sequence[ColumnSeen], tables: Sequence[ReferenceTable], records: int) -> float:
    """Return how many rows with unknown values a dataset is expected to have at most."""
    weighed = any(table.properties for table in tables)
    return max((float(column.unseen > 0) if weighed else column.unseen) * records for column in seen)


def _together(several: Sequence[pa.ChunkedArray], kind: pa.DataType) -> pa.ChunkedArray:
    """Return the values of several tables one after the other, as private ones are read."""
    read = [_as_read(values, kind) for values in several]
    return pa.chunked_array([part for values in read for part in values.chunks], type=read[0].type)


def _as_read(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return _plain(TotalTable.of({"c": values}, pa.schema({"c": kind}), len(values)).columns["c"])


def _hashed(value: object) -> int:
    """Return a number that is the same for the same value in every run."""
    return int.from_bytes(sha256(repr(value).encode("utf-8", "surrogatepass")).digest()[:8])


def _plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def _nearest(values: pa.ChunkedArray, known: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the nearest of known values in order, of two that are as near the lesser."""
    points, line = _on_a_line(values), _on_a_line(known)
    above = np.clip(np.searchsorted(line, points), min(1, len(line) - 1), len(line) - 1)
    below = np.maximum(above - 1, 0)
    gaps = [np.abs(points.astype(np.float64) - line[place].astype(np.float64)) for place in (below, above)]
    return known.take(pa.array(np.where(gaps[0] <= gaps[1], below, above)))


def _on_a_line(values: pa.ChunkedArray) -> NDArray[Any]:
    """Return numbers, dates or times as numbers, whole ones exactly; where there is none, 0."""
    kind = pa.float64()
    if pa.types.is_temporal(values.type):
        kind = pa.int64() if values.type.bit_width == 64 else pa.int32()
    elif pa.types.is_integer(values.type):
        kind = pa.uint64() if values.type == pa.uint64() else pa.int64()
    return np.asarray(pc.fill_null(values.cast(kind), 0).to_numpy())


def _among(values: pa.ChunkedArray, known: pa.ChunkedArray) -> pa.ChunkedArray:
    """Tell which values are known, also of types that Arrow does not compare."""
    try:
        return pc.is_in(values, known)
    except pa.ArrowNotImplementedError:
        texts = set(map(repr, known.to_pylist()))
        return pa.chunked_array([pa.array([repr(value) in texts for value in values.to_pylist()], pa.bool_())])


def type_of(name: str, tables: Sequence[ReferenceTable]) -> pa.DataType:
    """Return the type that a column has in the reference; a number with a fraction where tables differ."""
    kinds = [field.type for table in tables for field in table.engine.schema if field.name.lower() == name.lower()]
    return pa.float64() if len(set(kinds)) > 1 and all(map(is_number, kinds)) else kinds[0]
