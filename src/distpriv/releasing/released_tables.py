"""Released tables: what their cells are estimated to be, with sums of rows and columns, in every form they are shown.

Everything is computed from released and public numbers (post-processing). Sums are those of the cells, never numbers
with noise of their own, so that a table adds up.
"""

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Self

import numpy as np
from attrs import evolve, frozen

from distpriv.framework.display import decimals, number_text, rounded, whole_parts, with_half
from distpriv.framework.queries import Query
from distpriv.framework.spreadsheets import as_text, has_separators
from distpriv.framework.tables import Label, Table
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import HALF_WIDTH, Estimate, PublicKnowledge
from distpriv.releasing.projection import possible

__all__ = ["TOTAL", "ReleasedTable", "released_tables", "table_files"]

TOTAL = "total"
"""What sums of rows and columns are called."""

COUNTED = ("estimate", "low", "high", "noisy_value", "noise", "public_mean", "information")
AVERAGED = ("estimate", "low", "high", "count", "total", "public_mean", "information")

SURE = 2.0
"""How many standard errors the count of a group must be above 0 for its mean to be shown."""

ROUNDING = 1e-12
"""A share of the largest variance below which nothing was uncertain."""


@frozen(kw_only=True)
class ReleasedTable:
    """One table of a release: its cells in order, with what is known of each."""

    name: str
    table: Table
    rows: tuple[Mapping[str, float | None], ...]
    """What is known of every cell, structural zeros among them; the last column of the table changes fastest."""

    @property
    def cells(self) -> list[tuple[Label, ...]]:
        """The labels of every cell, in the order of the rows."""
        return list(product(*self.table.labels))

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the rows with the labels of their cells."""
        return [{"cell": list(cell), **row} for cell, row in zip(self.cells, self.rows, strict=True)]

    @classmethod
    def from_dict(cls, name: str, table: Table, written: Iterable[Mapping[str, Any]]) -> Self:
        """Return what `to_dict` wrote down."""
        rows = tuple({key: value for key, value in row.items() if key != "cell"} for row in written)
        return cls(name=name, table=table, rows=rows)

    def long(self) -> tuple[list[str], list[list[Any]]]:
        """Return the names of the columns, and a row for every cell: its labels and its numbers."""
        keys = AVERAGED if self.table.what == "mean" else COUNTED
        rows = [[*cell, *(row[key] for key in keys)] for cell, row in zip(self.cells, self.rows, strict=True)]
        return [*self.table.by, *keys], rows

    def wide(self) -> tuple[list[str], list[list[Any]]]:
        """Return the estimates with the levels of the last column side by side, and the sums of rows and columns.

        The sum of a table of means is the mean of all that is summed; quantiles and variances have none.
        """
        *down, across = self.table.labels
        if not self.table.adds_up:
            found = [row["estimate"] for row in self.rows]
            cut = [found[start : start + len(across)] for start in range(0, len(found), len(across))]
            return [*self.table.by[:-1], *map(str, across)], [
                [*cell, *row] for cell, row in zip(product(*down), cut, strict=True)
            ]
        parts = self._parts()
        sums = [np.concatenate([part, part.sum(axis=-1, keepdims=True)], axis=-1) for part in parts]
        flat = [part.reshape(-1, len(across) + 1) for part in sums]
        flat = [np.vstack([part, part.sum(axis=0)]) if down else part for part in flat]
        shown = self._shown(flat)
        heads = [list(cell) for cell in product(*down)] + ([[TOTAL, *[""] * (len(down) - 1)]] if down else [])
        names = [*self.table.by[:-1], *map(str, across), TOTAL]
        return names, [[*head, *row] for head, row in zip(heads, shown, strict=True)]

    def in_words(self) -> tuple[list[str], list[list[str]]]:
        """Return the wide table with text in its cells: estimates with half of their 95 % intervals, and sums."""
        shown = self.as_shown()
        names, rows = shown.wide()
        moved = [
            abs((new["estimate"] or 0) - (old["estimate"] or 0)) for new, old in zip(shown.rows, self.rows, strict=True)
        ]
        halves, labels, across = self._halves(), len(self.table.by) - 1, self.table.shape[-1]
        lines = []
        for place, row in enumerate(rows):
            cells = [str(label) for label in row[:labels]]
            for column, value in enumerate(row[labels:]):
                number = place * across + column
                inner = column < across and number < len(halves)
                cells.append(self._in_words(value, halves[number], moved[number]) if inner else self._in_words(value))
            lines.append(cells)
        return names, lines

    def _in_words(self, value: float | None, half: float | None = None, moved: float = 0.0) -> str:
        if value is None:
            return "too few" if self.table.adds_up else "none"
        if self.table.what == "count":
            return with_half(round(value), half + moved if half else 0.0)
        return with_half(value, half) if half else number_text(value, self._least_half)

    def as_shown(self) -> Self:
        """Return the table with rounded numbers: counts are whole, and the sums of counts and totals stay sums."""
        unit = 1.0 if self.table.what == "count" else 10.0 ** -decimals(self._least_half)
        whole = whole_parts([float(row["estimate"] or 0.0) / unit for row in self.rows])
        rows = []
        for row, half, units in zip(self.rows, self._halves(), whole, strict=True):
            new = {key: None if value is None else rounded(float(value), half or 0.0) for key, value in row.items()}
            if self.table.what in ("count", "total") and row["estimate"] is not None:
                new["estimate"] = units if unit == 1 else round(units * unit, decimals(self._least_half))
            if self.table.what == "count":
                new |= {"low": math.floor(row["low"] or 0.0), "high": math.ceil(row["high"] or 0.0)}
            rows.append(new | {key: row[key] for key in ("information", "noise") if key in row})
        return evolve(self, rows=tuple(rows))

    @property
    def _least_half(self) -> float:
        """The smallest half-width of a cell, by which totals are rounded."""
        return min((half for half in self._halves() if half), default=0.0)

    def csv(self, *, wide: bool) -> str:
        """Return comma-separated values; labels that a spreadsheet would take for a formula are marked as text."""
        shown = self.as_shown()
        names, rows = shown.wide() if wide else shown.long()
        text = io.StringIO()
        every = [names, *rows]
        separated = any(isinstance(value, str) and has_separators(value) for row in every for value in row)
        writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if separated else csv.QUOTE_MINIMAL)
        for row in every:
            writer.writerow(
                ["" if value is None else as_text(value) if isinstance(value, str) else value for value in row]
            )
        return text.getvalue()

    def _parts(self) -> list[Any]:
        """Return what adds up, as arrays: the estimates, or the counts and totals of means."""
        keys = ("total", "count") if self.table.what == "mean" else ("estimate",)
        return [np.array([float(row[key] or 0.0) for row in self.rows]).reshape(self.table.shape) for key in keys]

    def _shown(self, parts: Sequence[Any]) -> list[list[float | None]]:
        if self.table.what != "mean":
            return [row.tolist() for row in parts[0]]
        totals, counts = parts
        shown = [
            [None if count <= 0 else total / count for total, count in zip(*pair, strict=True)]
            for pair in zip(totals.tolist(), counts.tolist(), strict=True)
        ]
        told = np.array([row["estimate"] is not None for row in self.rows]).reshape(-1, self.table.shape[-1])
        for place, row in enumerate(told.tolist()):
            shown[place][: len(row)] = [
                value if known else None for value, known in zip(shown[place], row, strict=False)
            ]
        return shown

    def _halves(self) -> list[float | None]:
        """Return half of the interval of every cell."""
        return [
            None if row["low"] is None or row["high"] is None else (row["high"] - row["low"]) / 2 for row in self.rows
        ]


def released_tables(
    query: Query, model: QueryModel, known: PublicKnowledge, found: Estimate, values: Mapping[str, float],
    noise: Mapping[str, float],
) -> dict[str, ReleasedTable]:  # fmt: skip
    """Return the tables of a release.

    Args:
        query: what was asked.
        model: the law of its statistics.
        known: what is public, of these statistics in the model's order.
        found: the estimates of all statistics, with the covariance of their errors.
        values: the noisy values, by name.
        noise: the standard deviation of the noise, by name.
    """
    kinds = {number.name: number.statistic.row_of(number.place).predicate for number in query.numbers}
    errors = np.sqrt(np.maximum(np.diag(found.covariance), 0.0))
    counts = np.array([kinds[name] for name in found.names])
    adjusted = possible(found.values, errors, known.covariance, counts)
    numbers = _Numbers(
        place={name: place for place, name in enumerate(found.names)},
        linear=found.values,
        covariance=found.covariance,
        adjusted=adjusted,
        public=known.mean,
        uncertain=known.covariance,
        values=values,
        noise=noise,
    )
    records = model.provenance.records or 0
    return {
        name: ReleasedTable(name=name, table=table, rows=_rows(name, table, numbers, records))
        for name, table in query.tables
    }


def table_files(tables: Iterable[ReleasedTable]) -> dict[str, str]:
    """Return the CSV files of tables, a long and a wide one of each, by names that every system takes."""
    files: dict[str, str] = {}
    for number, each in enumerate(tables, start=1):
        name = each.name if re.fullmatch(r"[A-Za-z0-9_-]{1,60}", each.name) else str(number)
        taken = {file.casefold() for file in files}
        while {f"table_{name}.csv".casefold(), f"table_{name}_wide.csv".casefold()} & taken:
            name += f"_{number}"
        files[f"table_{name}.csv"] = each.csv(wide=False)
        files[f"table_{name}_wide.csv"] = each.csv(wide=True)
    return files


@frozen(kw_only=True, eq=False)
class _Numbers:
    """Everything that rows are made of."""

    place: Mapping[str, int]
    linear: Any
    covariance: Any
    adjusted: Any
    public: Any
    uncertain: Any
    """The covariance of what was known without any release."""
    values: Mapping[str, float]
    noise: Mapping[str, float]

    def information(self, places: Sequence[int], weights: Sequence[float]) -> float:
        """Return the share of the public variance of a combination that the release removed, between 0 and 1.

        That of a mean by group is of total − ratio · count with the public ratio, to which its error is proportional.
        """
        both, along = np.ix_(places, places), np.array(weights)
        before, after = (float(along @ matrix[both] @ along) for matrix in (self.uncertain, self.covariance))
        least = ROUNDING * float(np.diag(self.uncertain).max(initial=0.0))
        return min(max(1.0 - after / before, 0.0), 1.0) if before > least else 0.0


def _rows(name: str, table: Table, numbers: _Numbers, records: int) -> tuple[dict[str, float | None], ...]:
    parts = table.parts(name)
    at = {cell: place for place, cell in enumerate(table.cells)}
    rows = []
    for cell in product(*table.labels):
        own = {word: names[at[cell]] for word, names in parts.items()} if cell in at else None
        if table.what == "mean":
            rows.append(_mean_row(own, numbers))
        else:
            rows.append(_row(None if own is None else own[table.what], numbers, records, table))
    return tuple(rows)


def _row(name: str | None, numbers: _Numbers, records: int, table: Table) -> dict[str, float | None]:
    if name is None:
        return {**dict.fromkeys(COUNTED, 0.0 if table.adds_up else None), "information": 0.0}
    place = numbers.place[name]
    least = 0.0 if table.what in ("count", "variance") else -math.inf
    most = float(records) if table.what == "count" else math.inf
    value, linear = max(float(numbers.adjusted[place]), least), float(numbers.linear[place])
    half = HALF_WIDTH * math.sqrt(max(float(numbers.covariance[place, place]), 0.0))
    low, high = (min(max(end, least), most) for end in (linear - half, linear + half))
    figures = (
        value, min(low, value), max(high, value), numbers.values[name], numbers.noise[name],
        float(numbers.public[place]), numbers.information([place], [1.0]),
    )  # fmt: skip
    return dict(zip(COUNTED, figures, strict=True))


def _mean_row(names: Mapping[str, str] | None, numbers: _Numbers) -> dict[str, float | None]:
    """Return the ratio of a total to a count, with the interval that their errors together leave.

    To the first order its error is (e_total − ratio · e_count) / count, which needs a count that is well above 0.
    """
    if names is None:
        return {**dict.fromkeys(AVERAGED), "count": 0.0, "total": 0.0, "information": 0.0}
    count, total = numbers.place[names["count"]], numbers.place[names["total"]]
    size, summed = float(numbers.linear[count]), float(numbers.linear[total])
    expected = float(numbers.public[count])
    public = float(numbers.public[total]) / expected if expected > 0 else None
    shared = {
        "count": float(numbers.adjusted[count]),
        "total": float(numbers.adjusted[total]),
        "public_mean": public,
        "information": numbers.information([count, total], [-(public or 0.0), 1.0]),
    }
    spread = math.sqrt(max(float(numbers.covariance[count, count]), 0.0))
    if size <= SURE * spread or size <= 0:
        return {**dict.fromkeys(AVERAGED), **shared}
    ratio = summed / size
    weights = np.array([-ratio, 1.0])
    both = numbers.covariance[np.ix_([count, total], [count, total])]
    half = HALF_WIDTH * math.sqrt(max(float(weights @ both @ weights), 0.0)) / size
    return {"estimate": ratio, "low": ratio - half, "high": ratio + half, **shared}
