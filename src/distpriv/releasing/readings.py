"""How a row of the private table is read: as something that the reference table has shown, whatever it holds.

Everything here comes from the reference table, so it is public, and known before the private table is opened.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from distpriv.engines.expressions import RowExpression
from distpriv.engines.total import TotalTable
from distpriv.errors import InvalidModel
from distpriv.framework.arrays import Floats
from distpriv.framework.queries import FunctionOfRows, Query, RowMean
from distpriv.guarantees.certificate import Assumption
from distpriv.modelling.model import QueryModel
from distpriv.modelling.reference import ReferenceTable

__all__ = [
    "ColumnReading",
    "FunctionReading",
    "Readings",
    "RowReading",
    "reading_assumption",
    "reading_words",
    "readings",
    "readings_of",
]


@frozen(kw_only=True)
class RowReading:
    """How the value that a row has for a statistic is read."""

    expression: RowExpression
    low: float
    high: float
    otherwise: float
    """What a row counts as that has no finite value; a value of some reference row, so that it is on their lattice."""

    def read(self, values: Floats) -> Floats:
        """Return finite numbers between the least and the greatest, whatever is given.

        >>> from distpriv.engines.expressions import parse_expression
        >>> age = parse_expression("age", ["age"], where="")
        >>> RowReading(expression=age, low=17, high=90, otherwise=37).read(np.array([np.nan, 1e9, 40.0, -np.inf]))
        array([37., 90., 40., 37.])
        """
        return np.clip(np.where(np.isfinite(values), values, self.otherwise), self.low, self.high)


@frozen(kw_only=True, eq=False)
class ColumnReading:
    """How a column is read before an expression or a function sees it: as something that the reference has in it."""

    low: pa.Scalar | None
    """The least value, of a column of numbers, dates or times."""
    high: pa.Scalar | None
    known: pa.ChunkedArray | None
    """All values, of any other column."""
    otherwise: pa.Scalar
    """The median of what is in order, or the most frequent of other values."""
    nulls: bool
    """Whether the reference has nulls, so that a null stays one."""

    def read(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return a column of values between the least and the greatest, or among those that are known.

        >>> def column(*values):
        ...     return pa.chunked_array([pa.array(values)])
        >>> ages = column(17, 90, 37)
        >>> ages = ColumnReading(low=ages[0], high=ages[1], known=None, otherwise=ages[2], nulls=False)
        >>> ages.read(column(None, 10**9, 40)).to_pylist()
        [37, 90, 40]
        >>> sexes = column("F", "M")
        >>> sexes = ColumnReading(low=None, high=None, known=sexes, otherwise=sexes[0], nulls=True)
        >>> sexes.read(column(None, "M", "unheard-of")).to_pylist()
        [None, 'M', 'F']
        """
        values, none = _plain(values), pa.scalar(None, self.otherwise.type)
        if self.known is not None:
            found = pc.or_(_among(values, self.known), pc.is_null(values))
            values = pc.if_else(found, values, self.otherwise)
        else:
            if pa.types.is_floating(values.type) and math.isfinite(self._reach()):
                values = pc.if_else(pc.is_finite(values), values, none)
            values = pc.if_else(pc.less(values, self.low), self.low, values)
            values = pc.if_else(pc.greater(values, self.high), self.high, values)
        return values if self.nulls else pc.fill_null(values, self.otherwise)

    def _reach(self) -> float:
        """Return how far a column of numbers goes; not a number where no row has one."""
        ends = [end.as_py() for end in (self.low, self.high) if end is not None]
        return max((math.nan if end is None else abs(end) for end in ends), default=math.nan)


@frozen(kw_only=True)
class FunctionReading:
    """How a number that a function returns is read.

    It is held to the range of the values that it had in the model, and as much again on either side: rows that the
    reference does not have could make a function return anything, and noise hides only what the model has shown.
    """

    low: float
    high: float
    otherwise: float
    """The median, for a function that fails or returns something else than finite numbers."""


@frozen(kw_only=True)
class Readings:
    """How every row is read, for all statistics of a model."""

    query: Query
    records: int
    numbers: tuple[RowReading, ...]
    """Of the statistics that are SQL, in order."""
    columns: Mapping[str, ColumnReading]
    """Of the columns that the query needs."""
    functions: tuple[FunctionReading, ...]
    """Of the numbers that functions return, in order."""
    types: pa.Schema
    """The columns that the query needs, with the types of the reference table."""
    secrets: tuple[str, ...]
    """The columns that the secrets read, in which a row must have a value."""


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
    return Readings(
        query=query,
        records=records,
        numbers=_row_readings(query, tables),
        columns={name: _column_reading(name, types.field(name).type, tables) for name in types.names},
        functions=_function_readings(model, query),
        types=types,
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
    how = readings_of(model)
    numbers, functions = iter(how.numbers), iter(how.functions)
    each = [
        next(functions) if isinstance(statistic, FunctionOfRows) else next(numbers)
        for _, statistic in how.query.statistics
        for _ in range(statistic.size)
    ]
    return [
        {"statistic": name, "low": read.low, "high": read.high, "otherwise": read.otherwise}
        for name, read in zip(how.query.names, each, strict=True)
    ]


def reading_assumption(model: QueryModel) -> Assumption:
    """Return the same in words, for a certificate.

    >>> import distpriv as dp
    >>> secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    >>> query = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
    >>> reading_assumption(dp.model(dp.datasets.adult(), query, secret, records=100)).evidence
    "columns are held to values that the reference has; age is held between 17 and 90, and counts as 37 where a row has
    none; sex = 'Female' counts as not so where a row does not tell"
    """
    how = readings_of(model)
    words = reading_words(how.query, readings(model))
    functions = {c for _, each in how.query.statistics if isinstance(each, FunctionOfRows) for c in each.columns}
    for name, column in how.columns.items():
        if name not in functions:
            continue
        held = "" if column.low is None else f"is held between {column.low} and {column.high}, and "
        words += f"; what functions see of {name} {held}counts as {column.otherwise} where a row has none"
    return Assumption(
        statement=READ,
        status="proved",
        evidence=words,
    )


READ = "every row of the private table is read as a value that the reference table or the query allows"
"""What a certificate says of how rows are read."""


HELD = "columns are held to values that the reference has"
"""What is said of the columns that statistics read."""


def reading_words(query: Query, listed: Sequence[Mapping[str, Any]]) -> str:
    """Say what `readings` returned for the statistics of a query, and that columns are held too."""
    if len(listed) != query.dimension:
        raise InvalidModel(f"rows must be read for all {query.dimension} numbers of a query: {len(listed)} are listed.")
    said = [HELD]
    entries = iter(listed)
    for _, statistic in query.statistics:
        for _ in range(statistic.size):
            entry = next(entries)
            if isinstance(statistic, FunctionOfRows):
                said.append(
                    f"{entry['statistic']} is held between {entry['low']:.6g} and {entry['high']:.6g}, and is "
                    f"{entry['otherwise']:.6g} where its function has no number"
                )
            elif isinstance(statistic, RowMean) and statistic.predicate and entry["low"] == entry["high"]:
                so = "so" if entry["high"] else "not so"
                said.append(f"{statistic.expression} counts as {so} in every row, as in the reference")
            elif isinstance(statistic, RowMean) and statistic.predicate:
                said.append(f"{statistic.expression} counts as not so where a row does not tell")
            else:
                said.append(
                    f"{statistic.expression} is held between {entry['low']:.10g} and {entry['high']:.10g}, and counts "
                    f"as {entry['otherwise']:.10g} where a row has none"
                )
    return "; ".join(dict.fromkeys(said))


def _row_readings(query: Query, tables: Sequence[ReferenceTable]) -> tuple[RowReading, ...]:
    ends = [table.extremes() for table in tables]
    low, high = np.min([low for low, _ in ends], axis=0), np.max([high for _, high in ends], axis=0)
    statistics = [statistic for _, statistic in query.statistics if not isinstance(statistic, FunctionOfRows)]
    found = []
    for k, statistic in enumerate(statistics):
        predicate = isinstance(statistic, RowMean) and statistic.predicate
        values = np.concatenate([table.probe.numbers[k] for table in tables])
        least, greatest = float(low[k]), float(high[k])
        otherwise = least if predicate else float(np.quantile(values, 0.5, method="lower"))
        found.append(RowReading(expression=tables[0].numbers[k], low=least, high=greatest, otherwise=otherwise))
    return tuple(found)


def _column_reading(name: str, kind: pa.DataType, tables: Sequence[ReferenceTable]) -> ColumnReading:
    """Return how a column is read, from what it is in all tables; in the types that private values are read as."""
    seen = [column for table in tables for known, column in table.columns_seen.items() if known.lower() == name.lower()]
    values = pa.chunked_array([part for column in seen for part in _as_read(column.values, kind).chunks])
    usual = pa.chunked_array([part for column in seen for part in _as_read(column.usual, kind).chunks])
    ordered = all(column.ordered for column in seen)
    ends = pc.min_max(values) if ordered else None
    return ColumnReading(
        low=None if ends is None else ends["min"],
        high=None if ends is None else ends["max"],
        known=None if ordered else values,
        otherwise=usual[0] if len(usual) else pa.scalar(None, usual.type),
        nulls=any(column.nulls for column in seen),
    )


def _as_read(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return _plain(TotalTable.of({"c": values}, pa.schema({"c": kind}), len(values)).columns["c"])


def _plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def _among(values: pa.ChunkedArray, known: pa.ChunkedArray) -> pa.ChunkedArray:
    """Tell which values are known, also of types that Arrow does not compare."""
    try:
        return pc.is_in(values, known)
    except pa.ArrowNotImplementedError:
        texts = set(map(repr, known.to_pylist()))
        return pa.chunked_array([pa.array([repr(value) in texts for value in values.to_pylist()], pa.bool_())])


def _function_readings(model: QueryModel, query: Query) -> tuple[FunctionReading, ...]:
    points = [law.points for law in model.distributions.values() if law.points is not None]
    places = np.flatnonzero(
        [isinstance(statistic, FunctionOfRows) for _, statistic in query.statistics for _ in range(statistic.size)]
    )
    values = [np.concatenate([each[:, place] for each in points]) for place in places]
    return tuple(
        FunctionReading(
            low=float(each.min() - np.ptp(each)),
            high=float(each.max() + np.ptp(each)),
            otherwise=float(np.quantile(each, 0.5, method="lower")),
        )
        for each in values
    )


def _type_of(name: str, tables: Sequence[ReferenceTable]) -> pa.DataType:
    """Return the type that a column has in the reference; a number with a fraction where tables differ."""
    kinds = [field.type for table in tables for field in table.engine.schema if field.name.lower() == name.lower()]
    return pa.float64() if len(set(kinds)) > 1 and all(map(_is_number, kinds)) else kinds[0]


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
