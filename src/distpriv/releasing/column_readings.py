"""How a column of the private table is read, before an expression or a function sees it."""

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from distpriv.engines.total import TotalTable
from distpriv.framework.arrays import Floats
from distpriv.modelling.columns_seen import is_number
from distpriv.modelling.reference import ReferenceTable

__all__ = ["ColumnReading", "column_reading", "type_of"]


@frozen(kw_only=True, eq=False)
class ColumnReading:
    """How a column is read before an expression or a function sees it: as something that the reference has in it."""

    low: pa.Scalar | None
    """The least value, of a column of numbers, dates or times."""
    high: pa.Scalar | None
    known: pa.ChunkedArray | None
    """All values, in order where they have one; none of a column of too many numbers, dates or times."""
    otherwise: pa.Scalar
    """The median of what is in order, or the most frequent of other values."""
    nulls: bool
    """Whether the reference has nulls, so that a null stays one."""

    def read(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return a column of known values, the nearest of them where they have an order, or between their ends.

        >>> def column(*values):
        ...     return pa.chunked_array([pa.array(values)])
        >>> ages = column(17.0, 37.0, 90.0)
        >>> ages = ColumnReading(low=ages[0], high=ages[2], known=ages, otherwise=ages[1], nulls=False)
        >>> ages.read(column(None, 1e9, 40.5)).to_pylist()
        [37.0, 90.0, 37.0]
        >>> from attrs import evolve
        >>> evolve(ages, known=None).read(column(None, 1e9, 40.5)).to_pylist()
        [37.0, 90.0, 40.5]
        >>> sexes = column("F", "M")
        >>> sexes = ColumnReading(low=None, high=None, known=sexes, otherwise=sexes[0], nulls=True)
        >>> sexes.read(column(None, "M", "unheard-of")).to_pylist()
        [None, 'M', 'F']
        """
        values = _plain(values)
        if self.low is not None and self.high is not None:
            values = self._between_ends(values)
        if self.known is not None:
            found = pc.or_(_among(values, self.known), pc.is_null(values))
            instead = self.otherwise if self.low is None else _nearest(values, self.known)
            values = pc.if_else(found, values, instead)
        return values if self.nulls else pc.fill_null(values, self.otherwise)

    def _between_ends(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        if pa.types.is_floating(values.type) and math.isfinite(self._reach()):
            values = pc.if_else(pc.is_finite(values), values, pa.scalar(None, values.type))
        values = pc.if_else(pc.less(values, self.low), self.low, values)
        return pc.if_else(pc.greater(values, self.high), self.high, values)

    def _reach(self) -> float:
        """Return how far a column of numbers goes; not a number where no row has one."""
        ends = [end.as_py() for end in (self.low, self.high) if end is not None]
        return max((math.nan if end is None else abs(end) for end in ends), default=math.nan)


def column_reading(name: str, kind: pa.DataType, tables: Sequence[ReferenceTable]) -> ColumnReading:
    """Return how a column is read, from what it is in all tables; in the types that private values are read as."""
    seen = [column for table in tables for known, column in table.columns_seen.items() if known.lower() == name.lower()]
    values = pa.chunked_array([part for column in seen for part in _as_read(column.values, kind).chunks])
    usual = pa.chunked_array([part for column in seen for part in _as_read(column.usual, kind).chunks])
    ordered = all(column.ordered for column in seen)
    ends = pc.min_max(values) if ordered else None
    if ordered:
        values = values.take(pc.sort_indices(values)).unique()
    return ColumnReading(
        low=None if ends is None else ends["min"],
        high=None if ends is None else ends["max"],
        known=values if all(column.complete for column in seen) and len(values) else None,
        otherwise=usual[0] if len(usual) else pa.scalar(None, usual.type),
        nulls=any(column.nulls for column in seen),
    )


def _as_read(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return _plain(TotalTable.of({"c": values}, pa.schema({"c": kind}), len(values)).columns["c"])


def _plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def _nearest(values: pa.ChunkedArray, known: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the nearest of known values in order, of two that are as near the lesser."""
    points, line = _on_a_line(values), _on_a_line(known)
    above = np.clip(np.searchsorted(line, points), 1, len(line) - 1) if len(line) > 1 else np.zeros(len(points), int)
    below = np.maximum(above - 1, 0)
    chosen = np.where(np.abs(points - line[below]) <= np.abs(line[above] - points), below, above)
    return known.take(pa.array(chosen))


def _on_a_line(values: pa.ChunkedArray) -> Floats:
    """Return numbers, dates or times as numbers; where there is none, 0."""
    if pa.types.is_temporal(values.type):
        values = values.cast(pa.int32() if values.type.bit_width == 32 else pa.int64())
    return np.asarray(pc.fill_null(values.cast(pa.float64()), 0.0).to_numpy(), dtype=np.float64)


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
