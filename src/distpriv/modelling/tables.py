"""The labels of tables: what public tables have in the columns that a table is by, and what is declared."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen

from distpriv.engines.engine import Engine, engine_for
from distpriv.engines.expressions import parse_expression
from distpriv.engines.sql import RowSelect
from distpriv.engines.total import is_number, is_text
from distpriv.errors import InvalidExpression, InvalidQuery, MissingValues, about
from distpriv.framework.arrays import Floats, Rows
from distpriv.framework.domains import did_you_mean
from distpriv.framework.queries import Query, mean, quantile, variance
from distpriv.framework.scenarios import ProtectedScenarios, Scenario
from distpriv.framework.tables import MOST_CELLS, OTHER, Label, Table
from distpriv.modelling.drawing import Drawing, Missing
from distpriv.modelling.reference import different
from distpriv.modelling.simulator import RowSimulator, opened_tables

__all__ = ["Cells", "combinations", "gathered", "labelled", "seen_levels"]


def labelled(query: Query, sources: Iterable[Any], missing: Missing = "refuse") -> Query:
    """Return a query whose tables have the labels of public tables, where none are declared.

    Cells that no row of any of them is in are structural zeros. What counts as the quantile or the variance of a cell
    with too few rows is that of all their rows.

    >>> import distpriv as dp
    >>> rows = pa.table({"sex": ["F", "M", "M"], "grade": [2, 1, 2]})
    >>> labelled(dp.Query(grades=dp.table("count", by=["sex", "grade"])), [rows]).names
    ('grades[F, 2]', 'grades[M, 1]', 'grades[M, 2]')
    """
    if query.is_labelled:
        return query
    engines = [engine_for(source) for source in sources]
    tables = {}
    for name, table in query.tables:
        if not table.is_labelled:
            with about("statistic", name):
                tables[name] = _labelled(name, table, engines, missing)
    return query.with_tables(tables)


def combinations(engine: Engine, columns: Sequence[str], missing: Missing) -> Counter[tuple[Any, ...]]:
    """Return the combinations that usable rows have in some columns, each with how many rows have it."""
    names = [_spelled(column, engine) for column in columns]
    rows = engine.select(_select(engine, names, missing).combinations(names))
    values = [rows[f"c{k}"].to_pylist() for k in range(len(names))]
    return Counter(dict(zip(zip(*values, strict=True), rows["n"].to_pylist(), strict=True)))


def _select(engine: Engine, names: Sequence[str], missing: Missing) -> RowSelect:
    return RowSelect(
        dialect=engine.dialect,
        numbers=(),
        columns=tuple(names),
        floating=frozenset(c.name for c in engine.schema if pa.types.is_floating(c.type)),
        drop_missing=missing == "drop",
        table=tuple(engine.schema.names),
    )


def seen_levels(
    name: str, table: Table, engines: Sequence[Engine], missing: Missing
) -> tuple[list[list[Label]], Counter[tuple[Label, ...]]]:
    """Return the levels of each column of a table, and how many public rows have which of them together."""
    where = f"table {name!r}"
    seen: Counter[tuple[Label, ...]] = Counter()
    for engine in engines:
        _refuse_no_number(table, engine, where)
        _refuse_other_types(table, engine, where)
        rows = combinations(engine, table.by, missing)
        for column, values in zip(table.by, zip(*rows, strict=True), strict=True):
            if any(value is None for value in values):
                raise MissingValues(
                    f"{engine.description} has nulls in column {column!r}, which {where} is by: mend them, or leave "
                    "all rows out that have any in any column with missing='drop'."
                )
        seen += rows
    levels = [
        list(own) if own is not None else _in_order(name, column, {row[place] for row in seen})
        for place, (column, own) in enumerate(zip(table.by, table.levels, strict=True))
    ]
    return levels, seen


def _labelled(name: str, table: Table, engines: Sequence[Engine], missing: Missing) -> Table:
    levels, seen = seen_levels(name, table, engines, missing)
    empty: Sequence[Sequence[Label]] | None = table.empty
    if empty is None:
        used, cells = {_cell(row, table, levels) for row in seen}, prod(map(len, levels))
        few = cells <= MOST_CELLS or (cells <= 100 * MOST_CELLS and len(used - {None}) <= MOST_CELLS)
        own = zip(table.by, levels, strict=True)
        labels = [(*labels, *([OTHER] if column in table.other else [])) for column, labels in own]
        empty = [cell for cell in product(*labels) if cell not in used] if few else ()
    shaped = table.labelled(levels, empty)
    return shaped if shaped.is_labelled else shaped.labelled(levels, empty, otherwise=_spare(shaped, engines, missing))


def _spare(table: Table, engines: Sequence[Engine], missing: Missing) -> list[float]:
    """Return what counts where a dataset has too few rows of a cell: what all public rows of it come to."""
    whole = variance("x") if table.level is None else quantile("x", table.level)
    levels = [own or () for own in table.levels]
    values: dict[tuple[Label, ...], list[tuple[float, int]]] = {cell: [] for cell in table.cells}
    for engine in engines:
        for number, row, rows in _counted(engine, table, missing):
            if (cell := _cell(row, table, levels)) in values:
                values[cell].append((number, rows))
    otherwise = []
    for cell, unordered in values.items():
        counted = sorted(unordered)  # an engine has no order of its own, and sums of floats depend on it
        numbers = np.repeat([number for number, _ in counted], [rows for _, rows in counted])
        if len(numbers) < (least := 2 if table.level is None else 1):
            raise InvalidQuery(
                f"the reference has {len(numbers)} rows in the cell {list(cell)} of a table of {table.of}, and {least} "
                f"are needed to say what counts where a dataset has too few: gather rare levels with other=True, leave "
                "empty out so that such cells are structural zeros, or give otherwise."
            )
        otherwise.append(float(whole.evaluate(numbers)))
    return otherwise


def _counted(engine: Engine, table: Table, missing: Missing) -> Iterator[tuple[float, tuple[Label, ...], int]]:
    """Yield the numbers that usable rows have, with the levels of the rows and how many there are of them."""
    names = [_spelled(column, engine) for column in table.by]
    parsed = parse_expression(str(table.expression), engine.schema.names, where="a table")
    select = evolve(_select(engine, names, missing), numbers=(parsed,))
    rows = engine.select(select.counted_values(names))
    columns = [rows[f"c{k}"].to_pylist() for k in range(len(names))]
    for number, count, *row in zip(rows["v"].to_pylist(), rows["n"].to_pylist(), *columns, strict=True):
        if number is not None and math.isfinite(number):
            yield number, tuple(row), count


def _cell(row: Sequence[Label], table: Table, levels: Sequence[Sequence[Label]]) -> tuple[Label, ...] | None:
    """Return the cell that a row is in, if it is in one."""
    cell: list[Label] = []
    for column, value, own in zip(table.by, row, levels, strict=True):
        if value not in own and column not in table.other:
            return None
        cell.append(value if value in own else OTHER)
    return tuple(cell)


def _in_order(name: str, column: str, values: set[Label]) -> list[Label]:
    if len(values) > MOST_CELLS:
        raise InvalidQuery(
            f"column {column!r}, which table {name!r} is by, has {len(values):,} levels in the reference, and at most "
            f"{MOST_CELLS:,} cells can be published at once: use a column with fewer, or list the levels that matter "
            "and let other=True gather the rest."
        )
    return sorted(values)


def _spelled(column: str, engine: Engine) -> str:
    """Return a column as the table spells it."""
    names: list[str] = engine.schema.names
    same = [name for name in names if name.lower() == column.lower()]
    if not same:
        raise InvalidQuery(f"there is no column {column!r} to make a table by: {did_you_mean(column, names)}")
    return column if column in names else same[0]


def _refuse_no_number(table: Table, engine: Engine, where: str) -> None:
    """Refuse means and all else of what is no number, in the words of its expression rather than of its cells."""
    if table.expression is None:
        return
    parsed = parse_expression(table.expression, engine.schema.names, where=where)
    (kind,) = engine.select(RowSelect(dialect=engine.dialect, numbers=(parsed,)).values()).schema.types
    if not is_number(kind):
        raise InvalidExpression(
            f"{table.expression!r} is of type {kind}, not a number, so it has no {table.what}: use a column of "
            "numbers, or count.",
            where=where,
        )


def _refuse_other_types(table: Table, engine: Engine, where: str) -> None:
    for column, levels in zip(table.by, table.levels, strict=True):
        kind = engine.schema.field(_spelled(column, engine)).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        wanted = (
            str if is_text(kind) else bool if pa.types.is_boolean(kind) else int if pa.types.is_integer(kind) else None
        )
        if wanted is None:
            raise InvalidQuery(
                f"column {column!r}, which {where} is by, is of type {kind}: use a column of text, of whole numbers or "
                "of true and false, such as one of classes."
            )
        wrong = [label for label in levels or () if type(label) is not wanted]
        if wrong:
            raise InvalidQuery(
                f"column {column!r} of {where} is of type {kind}, and the level {wrong[0]!r} is not: write levels as "
                "the column has them."
            )


def gathered(query: Query, source: Any, protected: ProtectedScenarios, drawing: Drawing) -> Query:
    """Return a query in whose tables the levels are gathered that `min_expected` calls rare.

    >>> import distpriv as dp
    >>> rows = pa.table({"fruit": ["fig", "apple", "plum", "apple"] * 9, "ripe": [True, False, True, True] * 9})
    >>> query = dp.Query(t=dp.table("count", by="fruit", min_expected=3))
    >>> gathered(query, rows, dp.Share("ripe", values=(0.5, 0.7)).protected(10), Drawing()).tables[0][1].labels
    (('apple', 'other'),)
    """
    sources = {name: source if s.table is None else s.table for name, s in protected.scenarios.items()}
    tables = {}
    for name, table in query.tables:
        if table.min_expected is not None:
            with about("statistic", name):
                tables[name] = _gathered(name, table, sources, protected.scenarios, drawing)
    return query.with_tables(tables) if tables else query


def _gathered(
    name: str, table: Table, sources: Mapping[str, Any], scenarios: Mapping[str, Scenario], drawing: Drawing
) -> Table:
    engines = [engine_for(source) for source in different(sources.values())]
    levels, seen = seen_levels(name, table, engines, drawing.missing)
    other = {*table.other}
    for place, own in enumerate(levels):
        if OTHER in own and len(own) > 1:  # there cannot be two of that name
            levels[place] = [label for label in own if label != OTHER]
            other.add(table.by[place])
    places = [{label: place for place, label in enumerate(own)} for own in levels]
    kinds = {tuple(place.get(label, len(place)) for label, place in zip(row, places, strict=True)) for row in seen}
    cells = Cells(
        sizes=tuple(map(len, levels)),
        other=tuple(column in other for column in table.by),
        kinds=np.array(sorted(kinds), dtype=np.int64),
    )
    numbers = {column: mean(table.place(column, own)) for column, own in zip(table.by, levels, strict=True)}
    tables = opened_tables(sources, scenarios, Query(numbers), drawing)
    simulator = RowSimulator(query=Query(numbers), scenarios=scenarios, tables=tables, drawing=drawing)
    least = table.min_expected or 0.0
    gone = cells.rare_levels(_expected(simulator, cells), least)
    if gone is None:
        raise InvalidQuery(
            f"the levels of table {name!r} cannot be gathered so that {least:g} records are expected in every cell: "
            f"leave a column out of {', '.join(table.by)}, or give a smaller min_expected."
        )
    for column, own, rare in zip(table.by, levels, gone, strict=True):
        own[:] = [label for place, label in enumerate(own) if place not in rare]
        other |= {column} if rare else set()
    return table.gathered(levels, [column for column in table.by if column in other])


def _expected(simulator: RowSimulator, cells: "Cells") -> Floats:
    """Return how many records of each kind each scenario expects, one scenario a row."""
    numbers = {tuple(kind): number for number, kind in enumerate(cells.kinds.tolist())}
    expected = np.zeros((len(simulator.scenarios), len(numbers)))
    kind_of: dict[int, Rows] = {}
    for row, name in enumerate(simulator.scenarios):
        pool = simulator.pool(name)
        if id(pool) not in kind_of:
            kinds, back = np.unique(pool.numbers.T.astype(np.int64), axis=0, return_inverse=True)
            kind_of[id(pool)] = np.array([numbers[tuple(kind)] for kind in kinds.tolist()])[back.reshape(-1)]
        for stratum in simulator.strata(name):
            kinds = kind_of[id(pool)][stratum.rows]
            shares = np.bincount(kinds, weights=stratum.weights, minlength=len(numbers))
            expected[row] += stratum.size * shares / max(float(shares.sum()), 1e-9)
    return expected


@frozen(kw_only=True, eq=False)
class Cells:
    """The combinations of levels that public rows have, by numbers."""

    sizes: tuple[int, ...]
    """How many levels each column lists."""
    other: tuple[bool, ...]
    """Whether all other levels of a column count as one from the start."""
    kinds: Rows
    """One combination a row: the place of the level in each column, and the size of the column for one not listed."""

    def rare_levels(self, expected: Floats, least: float) -> list[set[int]] | None:
        """Return the levels of each column to gather, so that no cell is rare; None where that cannot be.

        A cell is rare if every scenario, a row of `expected`, expects fewer than `least` records. Of the levels that
        have a rare cell the rarest joins the others of its column, until no cell is rare. Then each level that need not
        have been gathered is taken out again, the most common first.
        """
        gone: list[set[int]] = [set() for _ in self.sizes]
        levels = sorted(
            (round(float(expected[:, self.kinds[:, column] == level].sum(axis=1).max()), 9), column, level)
            for column, size in enumerate(self.sizes)
            for level in range(size)
        )
        while len(rare := self._rare(gone, expected, least)):
            able = (place for _, *place in levels if self._can_join(gone, rare, *place))
            if (joins := next(able, None)) is None:
                return None
            gone[joins[0]].add(joins[1])
        for _, column, level in reversed(levels):
            without = [rare - {level} if place == column else rare for place, rare in enumerate(gone)]
            if level in gone[column] and not len(self._rare(without, expected, least)):
                gone = without
        return gone

    def _rare(self, gone: list[set[int]], expected: Floats, least: float) -> Rows:
        """Return the cells that are rare when some levels are gathered, one a row."""
        kinds, inside = self.kinds.copy(), np.ones(len(self.kinds), dtype=np.bool_)
        for column, (size, rare) in enumerate(zip(self.sizes, gone, strict=True)):
            kinds[np.isin(kinds[:, column], list(rare)), column] = size
            inside &= (kinds[:, column] < size) | self.other[column] | bool(rare)
        cells, back = np.unique(kinds[inside], axis=0, return_inverse=True)
        records = np.zeros((len(cells), len(expected)))
        np.add.at(records, back.reshape(-1), expected[:, inside].T)
        return np.asarray(cells[records.max(axis=1) < least * (1 - 1e-9)])

    def _can_join(self, gone: list[set[int]], rare: Rows, column: int, level: int) -> bool:
        """Tell whether gathering a level may help: it has a rare cell, or the gathered ones have, and one is left."""
        left = self.sizes[column] - len(gone[column])
        several = left > (1 if self.other[column] or gone[column] else 2)
        concerned = np.isin(rare[:, column], (level, self.sizes[column])).any()
        return several and level not in gone[column] and bool(concerned)
