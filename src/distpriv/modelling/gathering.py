r"""Rare levels of tables, gathered into ``other`` until every cell can be expected to have a number of records.

Scenario θ draws :math:`n_{θs}` records from stratum s. With :math:`π_{sc}` the weight that rows in cell c have in
stratum s, :math:`\max_θ \sum_s n_{θs} π_{sc}` records are expected in the cell at most, by public rows alone. Levels
are gathered as a whole (global recoding, Hundepool et al. 2012, Statistical Disclosure Control, section 5.2), so that
a table stays rectangular: its sums are those of cells, and what ``other`` means does not change from row to row.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import frozen

from distpriv.engines.engine import engine_for
from distpriv.errors import InvalidQuery, about
from distpriv.framework.arrays import Floats, Rows
from distpriv.framework.queries import Query, mean
from distpriv.framework.scenarios import ProtectedScenarios, Scenario
from distpriv.framework.tables import OTHER, Table
from distpriv.modelling.drawing import Drawing
from distpriv.modelling.labels import seen_levels
from distpriv.modelling.simulator import RowSimulator, opened_tables

__all__ = ["Cells", "gathered"]

ROUNDING = 1e-9
"""A share of an expected number of records, or a difference of two, that is not told apart from rounding."""


def gathered(query: Query, source: Any, protected: ProtectedScenarios, drawing: Drawing) -> Query:
    """Return a query in whose tables the levels are gathered that `min_expected` calls rare.

    Args:
        query: what is asked.
        source: the reference; None where every scenario has a table of its own.
        protected: the scenarios that say how many records of which kind there are.
        drawing: how datasets are drawn.

    Raises:
        InvalidQuery: cells stay rare where one level is left beside the gathered ones.

    >>> import distpriv as dp
    >>> import pyarrow as pa
    >>> rows = pa.table({"fruit": ["fig", "apple", "plum", "apple"] * 9, "ripe": [True, False, True, True] * 9})
    >>> query = dp.Query(t=dp.table("count", by="fruit", min_expected=3))
    >>> table = gathered(query, rows, dp.Share("ripe", values=(0.5, 0.7)).protected(10), Drawing()).tables[0][1]
    >>> table.labels, table.min_expected
    ((('apple', 'other'),), None)
    """
    sources = {name: source if s.table is None else s.table for name, s in protected.scenarios.items()}
    found = {}
    for name, table in query.tables:
        if table.min_expected is not None:
            with about("statistic", name):
                found[name] = _gathered(name, table, sources, protected.scenarios, drawing)
    return query.with_tables(found) if found else query


def _gathered(
    name: str, table: Table, sources: Mapping[str, Any], scenarios: Mapping[str, Scenario], drawing: Drawing
) -> Table:
    engines = [engine_for(source) for source in {id(each): each for each in sources.values()}.values()]
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
    found = np.zeros((len(simulator.scenarios), len(numbers)))
    kind_of: dict[int, Rows] = {}
    for row, name in enumerate(simulator.scenarios):
        pool = simulator.pool(name)
        if id(pool) not in kind_of:
            kinds, back = np.unique(pool.numbers.T.astype(np.int64), axis=0, return_inverse=True)
            kind_of[id(pool)] = np.array([numbers[tuple(kind)] for kind in kinds.tolist()])[back.reshape(-1)]
        for stratum in simulator.strata(name):
            kinds = kind_of[id(pool)][stratum.rows]
            shares = np.bincount(kinds, weights=stratum.weights, minlength=len(numbers))
            found[row] += stratum.size * shares / max(float(shares.sum()), ROUNDING)
    return found


@frozen(kw_only=True, eq=False)
class Cells:
    """The combinations of levels that public rows have, by numbers.

    >>> cells = Cells(sizes=(4,), other=(False,), kinds=np.arange(4)[:, np.newaxis])
    >>> cells.rare_levels(np.array([[50.0, 4.0, 30.0, 2.0], [60.0, 3.0, 20.0, 3.0]]), least=5)
    [{1, 3}]
    """

    sizes: tuple[int, ...]
    """How many levels each column lists."""
    other: tuple[bool, ...]
    """Whether all other levels of a column count as one from the start."""
    kinds: Rows
    """One combination a row: the place of the level in each column, and the size of the column for one not listed."""

    def rare_levels(self, expected: Floats, least: float) -> list[set[int]] | None:
        """Return the levels of each column to gather, so that no cell is rare; None where that cannot be.

        Of the levels that have a rare cell the rarest joins the others of its column, until no cell is rare. Then each
        level that need not have been gathered is taken out again, the most common first.

        Args:
            expected: how many records of each kind each scenario expects, one scenario a row.
            least: a cell is rare if every scenario expects fewer.
        """
        gone: list[set[int]] = [set() for _ in self.sizes]
        levels = sorted(
            (round(float(expected[:, self.kinds[:, column] == level].sum(axis=1).max()), 9), column, level)
            for column, size in enumerate(self.sizes)
            for level in range(size)
        )
        while len(rare := self._rare(gone, expected, least)):
            able = (each for _, *each in levels if self._can_join(gone, rare, *each))
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
        return np.asarray(cells[records.max(axis=1) < least * (1 - ROUNDING)])

    def _can_join(self, gone: list[set[int]], rare: Rows, column: int, level: int) -> bool:
        """Tell whether gathering a level may help: it has a rare cell, or the gathered ones have, and one is left."""
        left = self.sizes[column] - len(gone[column])
        several = left > (1 if self.other[column] or gone[column] else 2)
        concerned = np.isin(rare[:, column], (level, self.sizes[column])).any()
        return several and level not in gone[column] and bool(concerned)
