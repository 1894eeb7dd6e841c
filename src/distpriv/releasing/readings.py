"""How a row of the private table is read: as something that the reference table has shown, whatever it holds.

Everything here comes from the reference table, so it is public, and known before the private table is opened.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen

from distpriv.engines.expressions import RowExpression
from distpriv.errors import InvalidModel
from distpriv.framework.arrays import Floats
from distpriv.framework.queries import Number, Query
from distpriv.framework.tables import Table
from distpriv.guarantees.evidence import Evidence
from distpriv.modelling.model import QueryModel
from distpriv.modelling.reference import ReferenceTable, row_ends
from distpriv.releasing.column_readings import ColumnReading, column_reading, type_of
from distpriv.releasing.columns_seen import MOST_VALUES
from distpriv.releasing.combined_readings import (
    CombinedReading,
    combined_reading,
    outside_of_cells,
)
from distpriv.releasing.ties import Ties

__all__ = [
    "Held",
    "Readings",
    "listed_evidence",
    "reading_evidence",
    "readings",
    "readings_of",
]


@frozen(kw_only=True)
class Held:
    """Between what a number is held: the value of a row, or what a function returns."""

    low: float
    high: float
    otherwise: float
    """What counts where there is no finite number; of rows a value of the reference, so that it is on their lattice."""

    def read(self, values: Floats) -> Floats:
        """Return finite numbers between the least and the greatest, whatever is given.

        >>> Held(low=17, high=90, otherwise=37).read(np.array([np.nan, 1e9, 40.0, -np.inf]))
        array([37., 90., 40., 37.])
        """
        return np.clip(np.where(np.isfinite(values), values, self.otherwise), self.low, self.high)


@frozen(kw_only=True)
class Readings:
    """How every row is read, for all statistics of a model."""

    query: Query
    records: int
    rows: tuple[tuple[RowExpression, Held], ...]
    """Of what SQL evaluates in every row, in order."""
    ties: Ties
    """What all of these are alike in, for every row of the reference."""
    columns: Mapping[str, ColumnReading]
    """Of the columns that the query needs."""
    functions: Mapping[str, Held]
    """Of the numbers that functions return, by their names."""
    types: pa.Schema
    """The columns that the query needs, with the types of the reference table."""
    formats: tuple[str, ...]
    """How dates and times are written in the reference table, where they are text there."""
    secrets: tuple[str, ...]
    """The columns that the secrets read, in which a row must have a value."""
    combined: CombinedReading | None = None
    """Of the columns that tables are by, together."""


def readings_of(model: QueryModel) -> Readings:
    """Return how the rows of the private table are read, from the reference table alone.

    Raises:
        InvalidModel: the model was not made from rows.
    """
    query, simulator, records = model.query, model.simulator, model.provenance.records
    if query is None or records is None or simulator is None:
        raise InvalidModel("a release needs a model that was made from rows: make it with distpriv.model(…).")
    tables = list({id(table): table for table in simulator.tables.values()}.values())
    types = pa.schema([(name, type_of(name, tables)) for name in tables[0].select.read_columns])
    columns = {name: column_reading(name, types.field(name).type, tables, records) for name in types.names}
    combined = combined_reading(query, tables, types.names)
    if combined is not None:
        columns = {name: outside_of_cells(combined, name, column) for name, column in columns.items()}
    return Readings(
        query=query,
        records=records,
        rows=_held_rows(query, tables),
        ties=Ties.of(tables),
        columns=columns,
        combined=combined,
        functions=_held_functions(model, query),
        types=types,
        formats=_formats(tables),
        secrets=tuple(
            sorted({c for table in tables for e in table.predicates.values() for c in e.columns - e.guarded})
        ),
    )


def readings(model: QueryModel) -> list[dict[str, Any]]:
    """Return, for every released number, between what a row is held and what it counts as if it has no value.

    A function sees columns rather than values of rows: what is said of it is between what its own number is held.

    >>> import distpriv as dp
    >>> secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    >>> readings(dp.model(dp.datasets.adult(), dp.Query(age=dp.mean("age")), secret, records=100))
    [{'statistic': 'age', 'low': 17.0, 'high': 90.0, 'otherwise': 37.0}]
    """
    return _listed(readings_of(model))


def _listed(how: Readings) -> list[dict[str, Any]]:
    listed = []
    for key, statistic, rows in how.query.by_rows(how.rows):
        held = {row: read for row, (_, read) in zip(statistic.row_values, rows, strict=True)}
        for place, name in enumerate(statistic.names(key)):
            read = how.functions.get(name) or held[statistic.row_of(place)]
            listed.append({"statistic": name, "low": read.low, "high": read.high, "otherwise": read.otherwise})
    return listed


def reading_evidence(model: QueryModel) -> Evidence:
    """Return the same for a certificate, with what functions see of their columns.

    >>> import distpriv as dp
    >>> secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    >>> query = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
    >>> facts = reading_evidence(dp.model(dp.datasets.adult(), query, secret, records=100)).facts
    >>> facts["numbers"], facts["conditions"]
    ([{'high': 90.0, 'low': 17.0, 'of': 'age', 'otherwise': 37.0}], ["sex = 'Female'"])
    """
    how = readings_of(model)
    functions = {column for _, statistic in how.query.statistics for column in statistic.columns}
    columns = [
        {"of": name, "otherwise": str(column.otherwise)}
        | ({} if column.low is None else {"low": str(column.low), "high": str(column.high)})
        for name, column in how.columns.items()
        if name in functions
    ]
    return listed_evidence(how.query, _listed(how), columns)


def listed_evidence(
    query: Query, listed: Sequence[Mapping[str, Any]], columns: Sequence[Mapping[str, Any]] = ()
) -> Evidence:
    """Return what `readings` returned for the statistics of a query as evidence, tables as a whole."""
    if len(listed) != query.dimension:
        raise InvalidModel(f"rows must be read for all {query.dimension} numbers of a query: {len(listed)} are listed.")
    by_name = {entry["statistic"]: entry for entry in listed}
    cells = {name for key, table in query.tables for name in table.names(key)} & set(by_name)
    facts: dict[str, list[Any]] = {name: [] for name in ("numbers", "results", "conditions", "constants", "totals")}
    for number, entry in zip(query.numbers, listed, strict=True):
        if number.name not in cells:
            kind, fact = _fact(number, entry)
            facts[kind] += [fact] if fact not in facts[kind] else []
    for key, table in query.tables:
        kind, fact = _table_fact(key, table, by_name)
        facts[kind] += [fact] if fact is not None and fact not in facts[kind] else []
    return Evidence.of(
        "DP110",
        levels=MOST_VALUES,
        combined=sorted({column for _, table in query.tables for column in table.by}),
        tables=[key for key, _ in query.tables],
        columns=columns,
        **facts,
    )


def _between(of: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"of": of, "low": entry["low"], "high": entry["high"], "otherwise": entry["otherwise"]}


def _table_fact(key: str, table: Table, entries: Mapping[str, Mapping[str, Any]]) -> tuple[str, dict[str, Any] | None]:
    """Return how what a table is of is read, which is the same in all cells; nothing where rows are only counted."""
    parts = table.parts(key)
    if not table.adds_up:
        of_rows = [entries[name] for name in parts[table.what] if name in entries]
        return "numbers", _between(str(table.expression), of_rows[0]) if of_rows else None
    totals = [entries[name] for name in parts.get("total", ()) if name in entries]
    if not totals:
        return "totals", None
    low, high = min(entry["low"] for entry in totals), max(entry["high"] for entry in totals)
    return "totals", {"of": str(table.expression), "low": low, "high": high, "table": key}


def _fact(number: Number, entry: Mapping[str, Any]) -> tuple[str, Any]:
    if number.statistic.columns:
        return "results", _between(entry["statistic"], entry)
    row = number.statistic.row_of(number.place)
    if not row.predicate:
        return "numbers", _between(row.expression, entry)
    if entry["low"] == entry["high"]:
        return "constants", {"of": row.expression, "value": "true" if entry["high"] else "false"}
    return "conditions", row.expression


def _formats(tables: Sequence[ReferenceTable]) -> tuple[str, ...]:
    """Return how dates and times are written in all tables, or say that it is not one way."""
    found = dict.fromkeys(text for table in tables for text in table.engine.formats)
    if len([text for text in found if "%H" not in text]) > 1:
        raise InvalidModel(
            f"the reference tables write dates in several ways, {', '.join(found)}: write them as 2024-01-31 in all."
        )
    return tuple(found)


def _held_rows(query: Query, tables: Sequence[ReferenceTable]) -> tuple[tuple[RowExpression, Held], ...]:
    """Return between what every row value is held: what it is in the reference, and the median where there is none."""
    low, high = row_ends(query, tables)
    in_cells = {name for key, table in query.tables for name in table.parts(key).get("total", ())}
    found = []
    for k, (name, row) in enumerate(query.row_values):
        values = np.concatenate([table.probe.numbers[k] for table in tables])
        otherwise = low[k] if row.predicate else np.quantile(values, 0.5, method="lower")
        otherwise = 0.0 if name in in_cells else otherwise
        held = Held(low=float(low[k]), high=float(high[k]), otherwise=float(otherwise))
        found.append((tables[0].select.numbers[k], held))
    return tuple(found)


def _held_functions(model: QueryModel, query: Query) -> dict[str, Held]:
    """Return between what every number of a function is held: its values in the model, and as much again beside them.

    Rows that the reference does not have could make a function return anything, and noise hides only what the model has
    shown. Where it fails or returns something else than a finite number, its median counts.
    """
    points = [law.points for law in model.distributions.values() if law.points is not None]
    found = {}
    for place, number in enumerate(query.numbers):
        if number.statistic.columns:
            values = np.concatenate([each[:, place] for each in points])
            low, high, reach = values.min(), values.max(), np.ptp(values)
            otherwise = np.quantile(values, 0.5, method="lower")
            found[number.name] = Held(low=float(low - reach), high=float(high + reach), otherwise=float(otherwise))
    return found
