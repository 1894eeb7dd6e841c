"""The one place where a private row becomes numbers: as something that the reference has shown, whatever it holds.

All rules come from the reference table and from what the curator declares, so they are known before the private table
is opened. Each row is read by itself, in four steps, and every step but the first returns what the reference has:

1. a column gets the type that it has in the reference; what cannot be read so is missing;
2. a value of a column becomes a value of the reference's column, or stays between its ends (`ColumnReading`);
3. what an expression makes of a row stays between the ends of what it makes of reference rows (`RowReading`);
4. a row that breaks a sum which is the same for all reference rows is read as the nearest one (`LinearConstraints`).

Why that is sound is on one page: `docs/proofs/private_reading.md`.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Self, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from distpriv.engines.expressions import RowExpression
from distpriv.engines.total import TotalTable, is_number, is_text, text_of, texts_meaning
from distpriv.errors import InvalidInput, InvalidModel
from distpriv.framework.arrays import Floats
from distpriv.framework.queries import Number, Query
from distpriv.framework.tables import Table
from distpriv.guarantees.evidence import Evidence
from distpriv.modelling.model import QueryModel
from distpriv.modelling.reference import ReferenceTable, row_ends
from distpriv.releasing.accepted import Accepted, each_different

__all__ = [
    "ColumnReading",
    "LinearConstraints",
    "Readings",
    "RowReading",
    "RowsRead",
    "listed_evidence",
    "reading_evidence",
    "readings",
    "readings_of",
]

Column: TypeAlias = pa.ChunkedArray

MOST_VALUES = 10_000
"""A column of more numbers, dates or times than this is known by its least and its greatest."""

EXPECTED = 0.05
"""How many rows with unknown values a dataset is expected to have, above which they are read as they are."""

FLAT = 1e-12
"""A variance, in units of the square of the range, below which rows of the reference do not differ."""

OFF = 1e-6
"""How far, in units of the range, a row may be from what all others are without breaking a constraint."""


@frozen(kw_only=True, eq=False)
class ColumnReading:
    """How a column is read before an expression or a function sees it: as something that the reference has in it."""

    low: pa.Scalar | None
    """The least value, of a column of numbers, dates or times."""
    high: pa.Scalar | None
    known: Column | None
    """All values, in order where they have one; none of a column of too many numbers, dates or times."""
    otherwise: pa.Scalar
    """What a missing value counts as: the median of what is in order, or the most frequent of other values."""
    rare: pa.Array | Column
    """What unknown values count as where values have no order: those that the fewest rows have, one by its hash."""
    near: Column | None = None
    """What unknown values count as the nearest of, where values have an order; all known ones when not given."""
    as_they_are: bool = False
    """Whether unknown values stay: so many that only one row has them that a dataset is expected to have others."""
    nulls: bool
    """Whether the reference has nulls, so that a null stays one."""

    def read(self, values: Column) -> Column:
        """Return a column of known values, the nearest of them where they have an order, or between their ends.

        >>> def column(*values):
        ...     return pa.chunked_array([pa.array(values)])
        >>> ages = column(17.0, 37.0, 90.0)
        >>> ages = ColumnReading(low=ages[0], high=ages[2], known=ages, otherwise=ages[1], rare=[], nulls=False)
        >>> ages.read(column(None, 1e9, 40.5)).to_pylist()
        [37.0, 90.0, 37.0]
        >>> evolve(ages, known=None).read(column(None, 1e9, 40.5)).to_pylist()
        [37.0, 90.0, 40.5]
        >>> sexes = column("F", "M")
        >>> sexes = ColumnReading(low=None, high=None, known=sexes, otherwise=sexes[0], rare=sexes[1:], nulls=True)
        >>> sexes.read(column(None, "F", "unheard-of")).to_pylist()
        [None, 'F', 'M']
        """
        values = plain(values)
        if self.low is not None and self.high is not None:
            values = pc.if_else(pc.less(values, self.low), self.low, values)
            values = pc.if_else(pc.greater(values, self.high), self.high, values)
        if self.known is not None and not self.as_they_are:
            found = pc.or_(self.knows(values), pc.is_null(values))
            near = self.known if self.near is None else self.near
            instead = self._one_of_the_rare(values, found) if self.low is None else _nearest(values, near)
            values = pc.if_else(found, values, instead)
        return values if self.nulls else pc.fill_null(values, self.otherwise)

    def has(self, value: Column) -> bool:
        """Tell whether the reference has a value, or values on both sides of it."""
        if self.low is None or self.high is None:
            return self.known is None or bool(self.knows(value)[0].as_py())
        return bool(pc.and_(pc.greater_equal(value, self.low), pc.less_equal(value, self.high))[0].as_py())

    def knows(self, values: Column) -> Column:
        """Tell which values the reference has, also of types that Arrow does not compare."""
        try:
            return pc.is_in(values, self.known)
        except pa.ArrowNotImplementedError:
            texts = set(map(repr, () if self.known is None else self.known.to_pylist()))
            return pa.chunked_array([pa.array([repr(value) in texts for value in values.to_pylist()], pa.bool_())])

    def written(self, values: Column) -> Column:
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
        values = plain(values)
        if self.known is None or not is_text(self.known.type) or is_text(values.type):
            return values
        if not (is_number(values.type) or pa.types.is_boolean(values.type)):
            return values  # dates and times are written in one way
        meant = texts_meaning(self.known, values.type)
        return each_different(values, lambda value: meant.get(value, text_of(value)))

    def _one_of_the_rare(self, values: Column, found: Column) -> pa.Scalar | pa.Array:
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

    def beside(self, listed: set[Any]) -> Self:
        """Return how a column is read that tables are by, in cells of some levels: what the reference lacks is in none.

        It becomes the nearest of the levels that no table lists, or one of the rarest of them; where tables list all
        levels, one of these.
        """
        if self.known is None:
            return self
        unlisted = self.known.filter(pa.array([value not in listed for value in self.known.to_pylist()], pa.bool_()))
        if not len(unlisted):
            return evolve(self, as_they_are=False)
        if self.low is not None:
            usual = unlisted[(len(unlisted) - 1) // 2] if self.otherwise.as_py() in listed else self.otherwise
            return evolve(self, near=unlisted, otherwise=usual)
        rare = unlisted.filter(pc.is_in(unlisted, self.rare)) if len(self.rare) else unlisted[-1:]
        return evolve(self, otherwise=unlisted[0], rare=rare if len(rare) else unlisted[-1:])


@frozen(kw_only=True)
class RowReading:
    """Between what a number is held: the value of a row, or what a function returns."""

    low: float
    high: float
    otherwise: float
    """What counts where there is no finite number; of rows a value of the reference, so that it is on their lattice."""

    def read(self, values: Floats) -> Floats:
        """Return finite numbers between the least and the greatest, whatever is given.

        >>> RowReading(low=17, high=90, otherwise=37).read(np.array([np.nan, 1e9, 40.0, -np.inf]))
        array([37., 90., 40., 37.])
        """
        return np.clip(np.where(np.isfinite(values), values, self.otherwise), self.low, self.high)


@frozen(kw_only=True, eq=False)
class LinearConstraints:
    """Combinations of the values of a row that are the same for all rows of the reference.

    Counts of all levels of a column add up to the number of records in every dataset of the model, so noise need not
    hide their sum. A private row with a level that nobody counts would show in it.

    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> sums = np.full((2, 1), 0.5**0.5)
    >>> same = LinearConstraints(centre=rows.mean(axis=0), ranges=np.ones(2), constant=sums, rows=rows)
    >>> same.read(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.2]])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]
    """

    centre: Floats
    ranges: Floats
    constant: Floats
    """One combination a column, of values less the centre in units of their ranges: 0 for all rows of the reference."""
    rows: Floats
    """Rows of the reference, each once."""

    @classmethod
    def of(cls, tables: Sequence[ReferenceTable]) -> Self:
        """Return what all rows of some tables have alike."""
        strata = [stratum for table in tables for stratum in table.moments(next(iter(table.predicates), None)).values()]
        means = np.array([stratum.mean for stratum in strata])
        low, high = np.min([s.low for s in strata], axis=0), np.max([s.high for s in strata], axis=0)
        ranges = np.where(high > low, high - low, 1.0)
        apart = (means - means.mean(axis=0)) / ranges
        spread = sum((s.covariance for s in strata), np.zeros((len(ranges), len(ranges)))) / np.outer(ranges, ranges)
        values, vectors = np.linalg.eigh(spread + apart.T @ apart)
        rows = np.unique(np.concatenate([table.probe.numbers for table in tables], axis=1).T, axis=0)
        centre, constant = means.mean(axis=0), vectors[:, values <= FLAT]
        off = np.abs(((rows - centre) / ranges) @ constant).max(axis=0, initial=0.0)
        return cls(centre=centre, ranges=ranges, constant=constant[:, off <= OFF], rows=rows)

    def broken(self, values: Floats) -> NDArray[np.bool_]:
        """Tell which rows, one a column, break a constraint."""
        scaled = ((values.T - self.centre) / self.ranges) @ self.constant
        return np.asarray(np.abs(scaled).max(axis=1, initial=0.0) > OFF)

    def read(self, values: Floats) -> Floats:
        """Return the values of rows, one row a column; one that breaks a constraint as the nearest known one."""
        read = values.copy()
        odd = np.flatnonzero(self.broken(values))
        kinds, kind = np.unique(values[:, odd], axis=1, return_inverse=True)
        for number, row in enumerate(kinds.T):
            apart = np.abs((self.rows - row) / self.ranges).sum(axis=1)
            read[:, odd[kind.reshape(-1) == number]] = self.rows[int(apart.argmin())][:, None]
        return read


@frozen(kw_only=True, eq=False)
class RowsRead:
    """Private rows after each step; not to be printed."""

    written: Mapping[str, Column] = field(repr=False)
    """The columns that the query needs, as they came, spelled as the curator declares."""
    typed: Mapping[str, Column] = field(repr=False)
    """The same columns with the types of the reference, and nothing where a value does not have it."""
    columns: pa.Table = field(repr=False)
    """The same columns as they are read."""
    given: Floats = field(repr=False)
    """What expressions make of the columns, an expression a row."""
    held: Floats = field(repr=False)
    """The same between the ends that the reference shows."""
    values: Floats = field(repr=False)
    """The same as statistics see it: no row breaks a constraint."""


@frozen(kw_only=True)
class Readings:
    """How every row is read, for all statistics of a model."""

    query: Query
    records: int
    rows: tuple[tuple[RowExpression, RowReading], ...]
    """Of what SQL evaluates in every row, in order."""
    constraints: LinearConstraints
    """What all of these are alike in, for every row of the reference."""
    columns: Mapping[str, ColumnReading]
    """Of the columns that the query needs."""
    functions: Mapping[str, RowReading]
    """Of the numbers that functions return, by their names."""
    types: pa.Schema
    """The columns that the query needs, with the types of the reference table."""
    formats: tuple[str, ...]
    """How dates and times are written in the reference table, where they are text there."""
    secrets: tuple[str, ...]
    """The columns that the secrets read, in which a row must have a value."""
    tables: tuple[ReferenceTable, ...] = field(repr=False, eq=False)
    """What all of it is from."""

    def read(self, raw: Mapping[str, Column], accepted: Accepted, *, commas: bool = False) -> RowsRead:
        """Read private columns, by the names that the reference has.

        Args:
            raw: the columns that the query needs, as they are in the private table.
            accepted: what the curator declares of them.
            commas: whether a fraction may be written as 39,5.
        """
        written = {name: accepted.spelled(name, self.columns[name].written(raw[name])) for name in self.types.names}
        rows = max(map(len, written.values()), default=self.records)
        table = TotalTable.of(written, self.types, rows, self.formats, commas)
        typed = {name: accepted.filled(name, written[name], plain(table.columns[name])) for name in self.types.names}
        table = table.holding({name: self.columns[name].read(values) for name, values in typed.items()})
        given = np.array([table.values(expression) for expression, _ in self.rows]).reshape(-1, rows)
        held = np.array([row.read(values) for (_, row), values in zip(self.rows, given, strict=True)])
        values = self.constraints.read(held) if len(held) else given
        return RowsRead(written=written, typed=typed, columns=table.columns, given=given, held=held, values=values)

    def require(self, accepted: Accepted) -> None:
        """Refuse what a curator accepts unless it makes values of the reference out of others.

        Raises:
            InvalidInput: a column is not read, or the reference does not have what its values are to count as.
        """
        accepted.require_columns([*self.types.names, *self.secrets])
        for name in self.types.names:
            column, kind = self.columns[name], self.types.field(name).type
            for value in accepted.targets(name):
                typed = plain(TotalTable.of({"c": pa.array([value])}, pa.schema({"c": kind}), 1).columns["c"])
                if typed.null_count or not column.has(typed):
                    raise InvalidInput(
                        f"values of {name!r} cannot count as {value!r}, which the reference does not have: "
                        "give one that it has."
                    )


def readings_of(model: QueryModel) -> Readings:
    """Return how the rows of the private table are read, from the reference table alone.

    Raises:
        InvalidModel: the model was not made from rows.
    """
    query, simulator, records = model.query, model.simulator, model.provenance.records
    if query is None or records is None or simulator is None:
        raise InvalidModel("a release needs a model that was made from rows: make it with distpriv.model(…).")
    tables = list({id(table): table for table in simulator.tables.values()}.values())
    types = pa.schema([(name, _type_of(name, tables)) for name in tables[0].select.read_columns])
    columns = {name: _column_reading(name, types.field(name).type, tables, records) for name in types.names}
    listed = _listed_levels(query)
    return Readings(
        query=query,
        records=records,
        rows=_row_readings(query, tables),
        constraints=LinearConstraints.of(tables),
        columns={
            name: column.beside(listed[name.lower()]) if name.lower() in listed else column
            for name, column in columns.items()
        },
        functions=_function_readings(model, query),
        types=types,
        formats=_formats(tables),
        secrets=tuple(
            sorted({c for table in tables for e in table.predicates.values() for c in e.columns - e.guarded})
        ),
        tables=tuple(tables),
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


def _row_readings(query: Query, tables: Sequence[ReferenceTable]) -> tuple[tuple[RowExpression, RowReading], ...]:
    """Return between what every row value is held: what it is in the reference, and the median where there is none."""
    low, high = row_ends(query, tables)
    in_cells = {name for key, table in query.tables for name in table.parts(key).get("total", ())}
    found = []
    for k, (name, row) in enumerate(query.row_values):
        values = np.concatenate([table.probe.numbers[k] for table in tables])
        otherwise = low[k] if row.predicate else np.quantile(values, 0.5, method="lower")
        otherwise = 0.0 if name in in_cells else otherwise
        held = RowReading(low=float(low[k]), high=float(high[k]), otherwise=float(otherwise))
        found.append((tables[0].select.numbers[k], held))
    return tuple(found)


def _function_readings(model: QueryModel, query: Query) -> dict[str, RowReading]:
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
            found[number.name] = RowReading(
                low=float(low - reach), high=float(high + reach), otherwise=float(otherwise)
            )
    return found


def _formats(tables: Sequence[ReferenceTable]) -> tuple[str, ...]:
    """Return how dates and times are written in all tables, or say that it is not one way."""
    found = dict.fromkeys(text for table in tables for text in table.engine.formats)
    if len([text for text in found if "%H" not in text]) > 1:
        raise InvalidModel(
            f"the reference tables write dates in several ways, {', '.join(found)}: write them as 2024-01-31 in all."
        )
    return tuple(found)


def _type_of(name: str, tables: Sequence[ReferenceTable]) -> pa.DataType:
    """Return the type that a column has in the reference; a number with a fraction where tables differ."""
    kinds = [each.type for table in tables for each in table.engine.schema if each.name.lower() == name.lower()]
    return pa.float64() if len(set(kinds)) > 1 and all(map(is_number, kinds)) else kinds[0]


def _listed_levels(query: Query) -> dict[str, set[Any]]:
    """Return the levels that tables list, by the columns that they are by."""
    listed: dict[str, set[Any]] = {}
    for _, table in query.tables:
        for column, levels in zip(table.by, table.levels, strict=True):
            listed.setdefault(column.lower(), set()).update(levels or ())
    return listed


@frozen(kw_only=True, eq=False)
class _Seen:
    """What the usable rows of a reference table have in one column."""

    values: Column
    """Every value, of texts the most frequent first; or the least and the greatest of more than `MOST_VALUES`."""
    usual: Column
    """One value: the lower median, or the most frequent one; none where no row has any."""
    rare: Column
    """Values that the fewest rows have, where values have no order; none where they have."""
    unseen: float
    """About the share of rows whose value the reference lacks: that of its own rows whose value is theirs alone, in the
    stratum that has most of them."""
    nulls: bool
    ordered: bool
    """Whether it is of numbers, dates or times."""
    complete: bool = True
    """Whether every value is among the values."""


_known: "WeakKeyDictionary[ReferenceTable, Mapping[str, _Seen]]" = WeakKeyDictionary()


def _column_reading(name: str, kind: pa.DataType, tables: Sequence[ReferenceTable], records: int) -> ColumnReading:
    """Return how a column is read, from what it is in all tables; in the types that private values are read as.

    By Good and Turing, the share of rows with a value that the reference lacks is about that of its rows whose value is
    theirs alone, in the stratum that has most of them. Where a dataset of so many records has such rows now and then,
    they are part of the model's law, and reading them as others would change it, more in one scenario than in another.
    Rows that scenarios weigh may be any of those.
    """
    for table in tables:
        if table not in _known:
            _known[table] = _columns_seen(table)
    seen = [column for table in tables for own, column in _known[table].items() if own.lower() == name.lower()]
    values, usual, rare = (_together([getattr(c, what) for c in seen], kind) for what in ("values", "usual", "rare"))
    ordered = all(column.ordered for column in seen)
    ends = pc.min_max(values) if ordered else None
    if ordered:
        values = values.take(pc.sort_indices(values)).unique()
        values = pa.chunked_array([values])
    weighed = any(table.properties for table in tables)
    unknown = max((float(column.unseen > 0) if weighed else column.unseen) * records for column in seen)
    return ColumnReading(
        low=None if ends is None else ends["min"],
        high=None if ends is None else ends["max"],
        known=values if all(column.complete for column in seen) and len(values) else None,
        otherwise=usual[0] if len(usual) else pa.scalar(None, usual.type),
        rare=rare,
        as_they_are=unknown > EXPECTED,
        nulls=any(column.nulls for column in seen),
    )


def _columns_seen(table: ReferenceTable) -> Mapping[str, _Seen]:
    """Return what usable rows have in the columns that statistics read; medians are those of a sample."""
    engine, select = table.engine, table.select
    names = select.read_columns
    if not names:
        return {}
    sample = engine.sample(select.raw(), 10_000, 0)
    ordered = [name for name in names if is_ordered(engine.schema.field(name).type)]
    ends = engine.select(select.ends(ordered)) if ordered else None
    columns = {}
    for number, name in enumerate(names):
        if ends is None or name not in ordered:
            columns[name] = _seen_values(engine.select(select.counts(name)))
            continue
        k = ordered.index(name)
        low, high, nulls = (ends[f"{what}{k}"] for what in ("low", "high", "nulls"))
        counted = engine.select(select.counts(name, MOST_VALUES + 1))
        complete, present = counted.num_rows <= MOST_VALUES, sample[f"c{number}"].drop_null()
        columns[name] = _Seen(
            values=counted["v"] if complete else pa.chunked_array([*low.chunks, *high.chunks]),
            usual=present.take(pc.sort_indices(present)[(len(present) - 1) // 2 :][:1]) if len(present) else present,
            rare=counted["v"][:0],
            unseen=_unseen(counted) if complete else 1.0,
            nulls=bool(nulls[0].as_py()),
            ordered=True,
            complete=complete,
        )
    return columns


def _seen_values(counts: pa.Table) -> _Seen:
    """Return the values of a column from how often each is there; of the most frequent the first by its text."""
    present = counts.filter(pc.is_valid(counts["v"]))
    times, texts = present["n"].to_pylist(), list(map(str, present["v"].to_pylist()))
    in_order = sorted(range(len(times)), key=lambda k: (-times[k], texts[k]))
    rare = [k for k in in_order if times[k] == times[in_order[-1]]]
    values, usual, rarest = (present["v"].take(pa.array(k, pa.int64())) for k in (in_order, in_order[:1], rare))
    nulls = present.num_rows < counts.num_rows
    return _Seen(values=values, usual=usual, rare=rarest, unseen=_unseen(present), nulls=nulls, ordered=False)


def _unseen(counts: pa.Table) -> float:
    """Return the largest share of rows of a stratum whose value is theirs alone in the whole table."""
    rows = counts["n"].to_numpy()
    of_strata = [counts[name].to_numpy() for name in counts.column_names if name.startswith("p")]
    parts = [rows, *of_strata, *(rows - part for part in of_strata)]
    return max((float(part[rows == 1].sum() / part.sum()) for part in parts if part.sum()), default=0.0)


def is_ordered(kind: pa.DataType) -> bool:
    """Tell whether a column is of numbers, dates or times, which are known by the least and the greatest."""
    return is_number(kind) or bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind))


def plain(values: Column) -> Column:
    """Return categories as what they stand for."""
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def _together(several: Sequence[Column], kind: pa.DataType) -> Column:
    """Return the values of several tables one after the other, as private ones are read."""
    read = [plain(TotalTable.of({"c": each}, pa.schema({"c": kind}), len(each)).columns["c"]) for each in several]
    return pa.chunked_array([part for values in read for part in values.chunks], type=read[0].type)


def _hashed(value: object) -> int:
    """Return a number that is the same for the same value in every run."""
    return int.from_bytes(sha256(repr(value).encode("utf-8", "surrogatepass")).digest()[:8])


def _nearest(values: Column, known: Column) -> Column:
    """Return the nearest of known values in order, of two that are as near the lesser."""
    points, line = on_a_line(values), on_a_line(known)
    above = np.clip(np.searchsorted(line, points), min(1, len(line) - 1), len(line) - 1)
    below = np.maximum(above - 1, 0)
    gaps = [np.abs(points.astype(np.float64) - line[place].astype(np.float64)) for place in (below, above)]
    return known.take(pa.array(np.where(gaps[0] <= gaps[1], below, above)))


def on_a_line(values: Column) -> NDArray[Any]:
    """Return numbers, dates or times as numbers, whole ones exactly; where there is none, 0."""
    kind = pa.float64()
    if pa.types.is_temporal(values.type):
        kind = pa.int64() if values.type.bit_width == 64 else pa.int32()
    elif pa.types.is_integer(values.type):
        kind = pa.uint64() if values.type == pa.uint64() else pa.int64()
    return np.asarray(pc.fill_null(values.cast(kind), 0).to_numpy())
