"""How the columns that tables are by are read together, so that no row breaks what all rows of the reference keep.

The cells of a table add up to the number of records in every dataset of the model, so noise need not hide their sum,
nor any other sum that is the same for all rows of the reference. A private row for which such a sum is another would
show in it. So it is read as one that the reference has; all other rows are read as they are.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats
from distpriv.framework.queries import Query
from distpriv.framework.tables import OTHER, Label, Table
from distpriv.modelling.reference import ReferenceTable
from distpriv.modelling.tables import combinations
from distpriv.releasing.column_readings import ColumnReading

__all__ = ["CombinedReading", "combined_reading", "outside_of_cells"]

Codes = NDArray[np.int64]
"""Of every row, in every column, which of the listed levels it has, or one more than the last for any other."""

FLAT = 1e-9
"""A direction in which rows of the reference differ by less, as a share of the most, is one in which they do not."""

OUTSIDE = 1e-6
"""The square of how far a row is from what the rows of the reference span, above which it is not rounding."""


@frozen(kw_only=True, eq=False)
class CombinedReading:
    """What tables tell of the rows of the reference: which levels they have together, the most frequent first."""

    columns: tuple[str, ...]
    tables: tuple[Table, ...]
    seen: tuple[tuple[Any, ...], ...]
    """The combinations of values that rows of the reference have in the columns, the most frequent first."""

    def read(self, values: Mapping[str, pa.ChunkedArray]) -> dict[str, pa.ChunkedArray]:
        """Return the columns, rows that would break a sum of cells as the nearest combination that the reference has.

        It is the one that agrees in the most columns, and of several the most frequent.

        >>> def column(*values):
        ...     return pa.chunked_array([pa.array(values)])
        >>> table = Table(what="count", expression=None, by=("sex", "pregnant"), levels=(("F", "M"), (False, True)),
        ...               empty=(("M", True),))
        >>> seen = (("M", False), ("F", False), ("F", True))
        >>> reading = CombinedReading(columns=("sex", "pregnant"), tables=(table,), seen=seen)
        >>> read = reading.read({"sex": column("F", "M", "M"), "pregnant": column(True, True, False)})
        >>> read["sex"].to_pylist(), read["pregnant"].to_pylist()
        (['F', 'M', 'M'], [True, False, False])
        """
        known = self._codes({name: [row[place] for row in self.seen] for place, name in enumerate(self.columns)})
        own = self._codes({name: values[name] for name in self.columns})
        kinds, back = np.unique(own, axis=0, return_inverse=True)
        odd = self._outside(self._features(np.unique(known, axis=0)), self._features(kinds))
        nearest = np.zeros(len(kinds), dtype=np.int64)
        for number in np.flatnonzero(odd):
            nearest[number] = (known == kinds[number]).sum(axis=1).argmax()
        moved, chosen = odd[back.reshape(-1)], nearest[back.reshape(-1)]
        return {
            name: pc.if_else(
                pa.array(moved), _column([row[place] for row in self.seen], values[name]).take(chosen), values[name]
            )
            for place, name in enumerate(self.columns)
        }

    def _codes(self, values: Mapping[str, Any]) -> Codes:
        return np.stack([_places(values[name], listed_levels(self.tables, name)) for name in self.columns], axis=1)

    def _features(self, codes: Codes) -> Floats:
        """Return, for every row, which cells of all tables it is in, and a one."""
        parts = [self._cells(table, codes) for table in self.tables]
        return np.concatenate([np.ones((len(codes), 1)), *parts], axis=1)

    def _cells(self, table: Table, codes: Codes) -> Floats:
        places = [[name.lower() for name in self.columns].index(column.lower()) for column in table.by]
        listed = [listed_levels(self.tables, self.columns[place]) for place in places]
        numbers = {cell: number for number, cell in enumerate(table.cells)}
        found = np.zeros((len(codes), len(numbers)))
        for row, code in enumerate(codes[:, places].tolist()):
            levels = [own[k] if k < len(own) else None for k, own in zip(code, listed, strict=True)]
            cell = numbers.get(_cell(table, levels))  # type: ignore[arg-type]
            if cell is not None:
                found[row, cell] = 1.0
        return found

    def _outside(self, known: Floats, rows: Floats) -> NDArray[np.bool_]:
        """Tell which rows are not in the span of the known ones: a sum that is the same for these is another there."""
        values, vectors = np.linalg.eigh(known.T @ known)
        free = vectors[:, values <= FLAT * values.max()]
        return np.asarray(np.square(rows @ free).sum(axis=1) > OUTSIDE)


def combined_reading(query: Query, tables: Sequence[ReferenceTable], spelled: Sequence[str]) -> CombinedReading | None:
    """Return how the columns of all tables of a query are read together, from the reference alone; none without any."""
    columns = _columns(query, spelled)
    if not columns:
        return None
    seen: Counter[tuple[Any, ...]] = Counter()
    for table in tables:
        seen += combinations(table.engine, columns, "drop" if table.select.drop_missing else "refuse")
    in_order = sorted(seen, key=lambda row: (-seen[row], list(map(str, row))))
    return CombinedReading(columns=columns, tables=tuple(own for _, own in query.tables), seen=tuple(in_order))


def outside_of_cells(reading: CombinedReading, name: str, column: ColumnReading) -> ColumnReading:
    """Return how a column is read that tables are by: what the reference lacks as a level that they do not list.

    As the nearest of these, or one of the rarest; where all levels are listed, as one of them.
    """
    if name not in reading.columns or column.known is None:
        return column
    place, listed = reading.columns.index(name), set(listed_levels(reading.tables, name))
    unlisted = [row[place] for row in reading.seen if row[place] not in listed]
    if not unlisted:
        return evolve(column, as_they_are=False)
    values = pa.array(list(dict.fromkeys(unlisted)), column.otherwise.type)
    if column.low is not None:
        return evolve(column, near=pa.chunked_array([values.take(pc.sort_indices(values))]), otherwise=values[0])
    rare = values.filter(pc.is_in(values, column.rare)) if len(column.rare) else values[-1:]
    return evolve(column, otherwise=values[0], rare=rare if len(rare) else values[-1:])


def listed_levels(tables: Sequence[Table], column: str) -> tuple[Label, ...]:
    """Return the levels of a column that any of the tables lists."""
    found = [
        label
        for table in tables
        for by, levels in zip(table.by, table.levels, strict=True)
        if by.lower() == column.lower()
        for label in levels or ()
    ]
    return tuple(dict.fromkeys(found))


def _cell(table: Table, levels: Sequence[Label | None]) -> tuple[Label | None, ...]:
    """Return the cell of a row with such levels, with nothing where a level is in no cell of the table."""
    return tuple(
        level if level is not None and level in (own or ()) else OTHER if column in table.other else None
        for column, level, own in zip(table.by, levels, table.levels, strict=True)
    )


def _columns(query: Query, spelled: Sequence[str]) -> tuple[str, ...]:
    wanted = {column.lower() for _, table in query.tables for column in table.by}
    return tuple(name for name in spelled if name.lower() in wanted)


def _column(values: Sequence[Any], like: pa.ChunkedArray) -> pa.Array:
    return pa.array(values, like.type)


def _places(values: Sequence[Hashable] | pa.ChunkedArray, listed: Sequence[Label]) -> Codes:
    """Return which of the listed levels every value is, or one more than the last."""
    numbers: dict[Any, int] = {label: number for number, label in enumerate(listed)}
    if not isinstance(values, pa.ChunkedArray):
        return np.array([numbers.get(value, len(listed)) for value in values], dtype=np.int64)
    different = values.unique()
    codes = np.array([numbers.get(value, len(listed)) for value in different.to_pylist()], dtype=np.int64)
    return np.asarray(codes[pc.index_in(values, value_set=different).to_numpy()])
