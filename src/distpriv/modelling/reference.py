"""The reference table: public rows that everything about the noise is computed from.

It is opened once for a query and its predicates: expressions are parsed, their types checked, and rows with gaps
refused or dropped. After that there are two ways to look at it: moments by stratum, in one pass inside the engine, and
the rows themselves, in memory.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NoReturn, Self, TypeVar

import numpy as np
import pyarrow as pa
from attrs import field, fields, frozen

from distpriv.engines.engine import Engine, engine_for
from distpriv.engines.expressions import RowExpression, parse_expression
from distpriv.engines.sql import STRATUM, RowSelect
from distpriv.engines.total import is_number, is_text
from distpriv.errors import (
    About,
    InvalidExpression,
    InvalidQuery,
    InvalidSecret,
    InvalidSource,
    MissingValues,
    about,
)
from distpriv.framework.arrays import Floats, array_field
from distpriv.framework.domains import did_you_mean
from distpriv.framework.queries import Query
from distpriv.framework.tilts import Tilt
from distpriv.modelling.drawing import Drawing, Missing
from distpriv.modelling.sampling import RowPool
from distpriv.modelling.tilting import checked_weights, row_weights

__all__ = [
    "ReadingSettings",
    "ReferenceTable",
    "StratumMoments",
    "different",
    "refuse_gaps",
    "refuse_mixed_types",
    "row_ends",
]

T = TypeVar("T")


@frozen(kw_only=True)
class ReadingSettings:
    """How many rows are held in memory. Samples are always the same ones, by the seed 0."""

    most_rows: int = 2_000_000
    """A table of no more rows is held as it is."""
    stratum_rows: int = 1_000_000
    """Of a larger table so many rows of each stratum are sampled."""
    probe_rows: int = 10_000
    """What first tells centres, spacings and kurtoses."""


READING = ReadingSettings()


@frozen(kw_only=True)
class StratumMoments:
    """What is known of the rows of one stratum: how many, mean, sample covariance (divisor N − 1), extremes."""

    rows: int
    mean: Floats = array_field()
    covariance: Floats = array_field()
    low: Floats = array_field()
    high: Floats = array_field()


@frozen(kw_only=True, slots=False, eq=False)
class ReferenceTable:
    """A table, opened for one query and the predicates of its secrets."""

    engine: Engine
    query: Query
    predicates: Mapping[str, RowExpression]
    properties: Mapping[str, RowExpression] = field(factory=dict)
    """What rows are weighed by."""
    weight: str | None = None
    """What each row counts, one of the properties; None where all rows count the same."""
    select: RowSelect
    kinds: tuple[pa.DataType, ...]
    """The types of the numbers."""
    _pools: dict[str | None, RowPool] = field(factory=dict, init=False, repr=False)
    _known: dict[str | None, Mapping[bool, StratumMoments]] = field(factory=dict, init=False, repr=False)
    _weights: dict[Tilt, Floats] = field(factory=dict, init=False, repr=False)

    @classmethod
    def open(
        cls,
        source: Any,
        query: Query,
        predicates: Iterable[str] = (),
        missing: Missing = "refuse",
        tilts: Iterable[Tilt] = (),
        weight: str | None = None,
    ) -> Self:
        """Open a source for a query, the predicates of its secrets, and what rows are weighed by."""
        engine = engine_for(source)
        checks: list[tuple[RowExpression, str, About, bool]] = []

        def parsed(text: str, where: str, what: About, *, predicate: bool) -> RowExpression:
            with about(*what):
                expression = parse_expression(text, engine.schema.names, where=where)
            checks.append((expression, where, what, predicate))
            return expression

        numbers = tuple(
            parsed(row.expression, f"statistic {name!r}", ("statistic", name), predicate=row.predicate)
            for name, row in query.row_values
        )
        strata = {text: parsed(text, "the secret", ("share", text), predicate=True) for text in predicates}
        weighed = {text: part for tilt in tilts for part in tilt.parts or (tilt,) for text in part.numbers}
        properties = {
            text: parsed(text, "the secret", ("property", tilt.what), predicate=False)
            for text, tilt in weighed.items()
            if text != weight
        }
        if weight is not None:
            properties[weight] = parsed(weight, "the weight", ("option", "weight"), predicate=False)
        select = RowSelect(
            dialect=engine.dialect,
            numbers=numbers,
            predicates=tuple(strata.values()),
            properties=tuple(properties.values()),
            columns=_columns_of_functions(query, engine),
            floating=frozenset(c.name for c in engine.schema if pa.types.is_floating(c.type)),
            drop_missing=missing == "drop",
            table=tuple(engine.schema.names),
        )
        kinds = engine.select(select.values()).schema.types if checks else []
        for check, kind in zip(checks, kinds, strict=True):
            _refuse_wrong_type(kind, *check)
        return cls(
            engine=engine,
            query=query,
            predicates=strata,
            properties=properties,
            weight=weight,
            select=select,
            kinds=tuple(kinds[: len(numbers)]),
        )

    def __getstate__(self) -> dict[str, Any]:
        """Keep what the table is, and nothing that was looked up in it, which is found again when it is needed."""
        names = [field.name for field in fields(type(self)) if field.init]
        return {**{name: self.__dict__[name] for name in names}, "_pools": {}, "_known": {}, "_weights": {}}

    @cached_property
    def probe(self) -> RowPool:
        """A uniform sample of some thousand rows, the same for the same table."""
        return self._pool(self.engine.sample(self.select.rows(), READING.probe_rows, 0))

    def gaps(self) -> list[list[tuple[int, int]]]:
        """Return for every predicate, or for the table without any, how many rows its strata have, and with gaps."""
        answers = [self.engine.select(self.select.gaps(e)).to_pylist() for e in self.select.predicates or (None,)]
        return [[(stratum["n"], stratum["gaps"]) for stratum in strata] for strata in answers]

    @cached_property
    def pool(self) -> RowPool:
        """Every usable row, in memory."""
        _refuse_no_rows(self)
        _refuse_missing(self)
        pool = self._pool(self.engine.select(self.select.rows()))
        _refuse_infinite(self, pool)
        for predicate in self.predicates:
            _refuse_one_sided(self, predicate, set(np.unique(pool.strata[predicate]).tolist()))
        _refuse_too_many_digits(self, pool.numbers.min(axis=1), pool.numbers.max(axis=1))
        return pool

    def pool_of(self, predicate: str | None) -> RowPool:
        """Return rows to draw a predicate's strata from: every usable row, or a uniform sample of each stratum.

        Only a table that is too large to be held has samples, one pair for every predicate.
        """
        if not self.is_sampled:
            return self.pool
        if predicate not in self._pools:
            select = self.select
            queries = [select.stratum(predicate, side) for side in (True, False)] if predicate else [select.rows()]
            sampled = pa.concat_tables(self.engine.sample(query, READING.stratum_rows, 0) for query in queries)
            self._pools[predicate] = self._pool(sampled)
            _refuse_infinite(self, self._pools[predicate])
        return self._pools[predicate]

    def weights(self, tilt: Tilt) -> Floats:
        """Return the weight of every row of the pool, with a sum of 1, under which a property has its value."""
        if tilt not in self._weights:
            self._refuse_samples(tilt.what, ("property", tilt.what))
            _ = self.base  # refuses weights that are none
            self._weights[tilt] = self.weights_of(tilt, self.pool)
        return self._weights[tilt]

    def weights_of(self, tilt: Tilt, pool: RowPool) -> Floats:
        """Return the same for rows of this table that are at hand."""
        numbers = np.array([pool.properties[text] for text in tilt.numbers])
        return row_weights(tilt, numbers, None if self.weight is None else pool.properties[self.weight])

    @cached_property
    def base(self) -> Floats | None:
        """What every row of the pool counts, with a sum of 1; None where all rows count the same."""
        if self.weight is None:
            return None
        self._refuse_samples(f"the weight {self.weight!r}", ("option", "weight"))
        counts = self.pool.properties[self.weight]
        strata = {
            f"rows where {text} is {'' if side else 'not '}satisfied": self.pool.positions(text, side)
            for text in self.predicates
            for side in (True, False)
        }
        return checked_weights(self.weight, counts, {"rows": np.arange(len(counts)), **strata})

    def _refuse_samples(self, what: str, whom: About) -> None:
        if self.is_sampled:
            raise InvalidSecret(
                f"{what} needs all rows of {self.engine.description} in memory to weigh them, and it has more than "
                f"{READING.most_rows:,}: give a random sample of so many of them as the reference.",
                about=whom,
            )

    @cached_property
    def is_sampled(self) -> bool:
        """Whether the table is too large to be held, so that rows in memory are a uniform sample of each stratum."""
        return self._rows > READING.most_rows

    @property
    def _rows(self) -> int:
        return sum(stratum.rows for stratum in self.moments(next(iter(self.predicates), None)).values())

    def whole_rows(self) -> tuple[pa.Table, RowPool]:
        """Return usable rows with all their columns, t0, t1, …, and what is read of them; a sample of a large table."""
        query = self.select.whole_rows()
        few = self._rows <= READING.stratum_rows
        rows = self.engine.select(query) if few else self.engine.sample(query, READING.stratum_rows, 0)
        return rows, self._pool(rows)

    def moments(self, predicate: str | None) -> Mapping[bool, StratumMoments]:
        """Return the moments of every number, by stratum of a predicate (of the whole table, under True, without)."""
        if predicate not in self._known:
            _refuse_no_rows(self)
            shifts = np.array([_round_centre(values[np.isfinite(values)]) for values in self.probe.numbers])
            expression = None if predicate is None else self.predicates[predicate]
            strata = self.engine.moments(self.select, shifts.tolist(), expression)
            _refuse_incomplete(self, strata)
            if predicate is not None:
                _refuse_one_sided(self, predicate, {stratum[STRATUM] for stratum in strata})
            moments = {bool(stratum[STRATUM]): _stratum_moments(stratum, shifts) for stratum in strata}
            _refuse_too_many_digits(self, *_extremes(moments.values()))
            self._known[predicate] = moments
        return self._known[predicate]

    def stratum_rows(self, predicate: str | None, satisfied: bool) -> int:
        """Return how many usable rows a stratum has."""
        if predicate not in self._known and "pool" in self.__dict__ and not self.is_sampled:
            return len(self.pool.positions(predicate, satisfied))
        return self.moments(predicate)[satisfied].rows

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the least and the greatest value of every number, over all usable rows."""
        if not self._known and "pool" in self.__dict__:
            return self.pool.numbers.min(axis=1), self.pool.numbers.max(axis=1)
        return _extremes((next(iter(self._known.values())) if self._known else self.moments(None)).values())

    def _pool(self, table: pa.Table) -> RowPool:
        names = [name for name in table.column_names if name.startswith("v")]
        numbers = np.array([table[name].to_numpy() for name in names], dtype=np.float64)
        return RowPool(
            size=table.num_rows,
            numbers=numbers.reshape(len(names), table.num_rows),
            columns={name: table[f"c{k}"].to_numpy() for k, name in enumerate(self.select.columns)},
            strata={
                text: np.asarray(table[f"p{k}"].fill_null(False).to_numpy(zero_copy_only=False), dtype=np.bool_)
                for k, text in enumerate(self.predicates)
            },
            properties={
                text: np.asarray(table[f"w{k}"].to_numpy(), dtype=np.float64) for k, text in enumerate(self.properties)
            },
        )


def different(values: Iterable[T]) -> list[T]:
    """Return each of several objects once, by what they are and not by what they equal."""
    return list({id(value): value for value in values}.values())


def _columns_of_functions(query: Query, engine: Engine) -> tuple[str, ...]:
    """Return the columns that functions read."""
    names = engine.schema.names
    for name, statistic in query.statistics:
        for column in statistic.columns:
            if column not in names:
                raise InvalidQuery(
                    f"there is no column {column!r}: {did_you_mean(column, names)}",
                    where=f"statistic {name!r}",
                    about=("statistic", name),
                )
    return tuple(dict.fromkeys(column for _, statistic in query.statistics for column in statistic.columns))


def _extremes(strata: Iterable[StratumMoments]) -> tuple[Floats, Floats]:
    several = list(strata)
    return np.min([s.low for s in several], axis=0), np.max([s.high for s in several], axis=0)


def _round_centre(values: Floats) -> float:
    """Return a number near the mean with so few digits that subtracting it from short decimals or integers is exact."""
    if not len(values):
        return 0.0
    with np.errstate(over="ignore"):
        spread = float(values.std())
    if not np.isfinite(spread):
        return 0.0
    quantum = 2.0 ** np.floor(np.log2(spread)) if spread > 0 else 0.0
    return float(quantum * np.round(values.mean() / quantum)) if quantum > 0 else float(values[0])


def _stratum_moments(stratum: dict[str, Any], shifts: Floats) -> StratumMoments:
    size = len(shifts)
    covariance = np.zeros((size, size))
    for k in range(size):
        for j in range(k + 1):
            covariance[j, k] = covariance[k, j] = stratum[f"s{j}_{k}"] or 0.0  # null for a single row
    read = {name: np.array([stratum[f"{name}{k}"] for k in range(size)]) + shifts for name in ("m", "low", "high")}
    return StratumMoments(rows=stratum["n"], mean=read["m"], covariance=covariance, low=read["low"], high=read["high"])


def _table(table: ReferenceTable) -> About:
    return "table", table.engine.description


def _refuse_no_rows(table: ReferenceTable) -> None:
    """Refuse a table that has none."""
    if table.probe.size == 0:
        left = " left without missing values in any of its columns" if table.select.drop_missing else ""
        raise InvalidSource(
            f"{table.engine.description} has no rows{left}: give a table with data in it.", about=_table(table)
        )


def _refuse_wrong_type(kind: pa.DataType, expression: RowExpression, where: str, what: About, predicate: bool) -> None:
    """Refuse a number that is none, or a predicate that is not true or false."""
    boolean = pa.types.is_boolean(kind)
    if boolean if predicate else is_number(kind):
        return
    cure = "use proportion or count" if boolean else "use a column of numbers, or count"
    cure = "write a comparison, such as \"sex = 'Female'\"" if predicate else cure
    raise InvalidExpression(
        f"{expression.text!r} is of type {kind}, not {'true or false' if predicate else 'a number'}: {cure}.",
        where=where,
        about=what,
    )


def _refuse_incomplete(table: ReferenceTable, strata: list[dict[str, Any]]) -> None:
    """Refuse nulls, NaN and infinities, all of which show in the aggregates."""
    if any(stratum["unusable"] or stratum[STRATUM] is None for stratum in strata):
        _refuse_missing(table)
    for stratum in strata:
        for k, (name, _) in enumerate(table.query.row_values):
            moments = [stratum[f"m{k}"], stratum[f"low{k}"], stratum[f"high{k}"], stratum[f"s{k}_{k}"] or 0.0]
            if not np.isfinite(moments).all():
                _not_finite(table, name)


def _refuse_missing(table: ReferenceTable) -> None:
    """Refuse null or NaN in a used column or value, by name and number."""
    counts = table.engine.select(table.select.missing()).to_pylist()[0]
    rows = {label: counts[f"missing{k}"] for k, label in enumerate(table.select.missing_tests)}

    def lacking(labels: Sequence[str]) -> str:
        return ", ".join(f"{label} ({rows[label]:,} of {counts['n']:,} rows)" for label in labels if rows[label])

    columns, values = lacking(list(table.select.column_tests)), lacking(list(table.select.value_tests))
    if columns or values:
        cure = (
            "mend them, or leave all rows out that have any in any column with missing='drop', which leaves out none "
            "of the private table's"
            if columns
            else "no row is left out for what an expression makes of it, so provide for such rows by COALESCE or ELSE"
        )
        raise MissingValues(
            f"{table.engine.description} has nulls or NaN in {columns or values}: {cure}.", about=_table(table)
        )


def _refuse_too_many_digits(table: ReferenceTable, low: Floats, high: Floats) -> None:
    """Refuse whole numbers and decimals that a floating-point number cannot hold to the last digit."""
    for (name, _), kind, least, greatest in zip(table.query.row_values, table.kinds, low, high, strict=True):
        digits = 0 if pa.types.is_integer(kind) else kind.scale if pa.types.is_decimal(kind) else None
        largest = max(abs(least), abs(greatest))
        if digits is not None and largest * 10.0**digits >= 2.0**53:
            raise InvalidSource(
                f"statistic {name!r} has values of up to {largest:.3g} in {table.engine.description}, more digits than "
                "arithmetic keeps: subtract a constant in its expression, or divide by one.",
                about=("statistic", name),
            )


def _refuse_infinite(table: ReferenceTable, pool: RowPool) -> None:
    """Refuse infinities in what SQL has for the rows, and in what functions read: the private table's are read else."""
    for name, values in pool.columns.items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise InvalidSource(
                f"column {name!r} of {table.engine.description} has infinite values: mend those rows, so that "
                "functions see finite numbers only.",
                about=_table(table),
            )
    for (name, _), values in zip(table.query.row_values, pool.numbers, strict=True):
        if not np.isfinite(values).all():
            _not_finite(table, name)


def _not_finite(table: ReferenceTable, name: str) -> NoReturn:
    raise InvalidSource(
        f"statistic {name!r} has values in {table.engine.description} that are infinite, or so large that their "
        "squares are: mend those rows, or change the expression so that it divides by nothing that is 0.",
        about=("statistic", name),
    )


def _refuse_one_sided(table: ReferenceTable, predicate: str, seen: set[bool]) -> None:
    """Refuse a predicate that is true of every row, or of none."""
    if len(seen) < 2:
        raise InvalidSecret(
            f"{predicate!r} is true of {'every' if True in seen else 'no'} row of {table.engine.description}, so one "
            "stratum is empty: check its spelling, or give a reference table with both kinds of rows.",
            about=("share", predicate),
        )


def refuse_gaps(tables: Sequence[ReferenceTable], drawing: Drawing, *, by_chance: float = 4.0) -> None:
    """Refuse to leave rows with gaps out where that may change scenarios in different ways.

    The private table keeps such rows, and reads what is usual in them: many in one scenario and few in another would
    show, and nothing of the rows that are left says how many there are. Shares of two strata that are fewer standard
    errors apart than `by_chance` are alike.
    """
    for table in tables if drawing.missing == "drop" else ():
        alone = len(tables) == 1 and not table.properties and table.predicates
        for strata in table.gaps():
            rows, gaps = np.array(strata, dtype=np.float64).reshape(-1, 2).T
            shares, share = gaps / rows, gaps.sum() / max(rows.sum(), 1.0)
            sampled = drawing.reference == "sample"
            error = by_chance * np.sqrt(share * (1 - share) * (1 / rows).sum()) if sampled else 0.0
            if not alone and gaps.any():
                wrong = "has rows with gaps, and scenarios have tables of their own or weigh rows"
            elif len(rows) and np.ptp(shares) > error:
                most, least = shares.max(), shares.min()
                wrong = f"has gaps in {most:.1%} of the rows on one side of the secret, in {least:.1%} on the other"
            else:
                continue
            raise MissingValues(
                f"{table.engine.description} {wrong}: such rows cannot be left out, as the private table keeps "
                "them and they would tell: do without missing='drop', and provide for gaps by COALESCE.",
                about=_table(table),
            )


def refuse_mixed_types(tables: Sequence[ReferenceTable]) -> None:
    """Refuse a column that statistics read as whole numbers in one table, say, and as fractions or texts in another."""
    before: dict[str, pa.DataType] = {}
    for table in tables:
        for name in table.select.read_columns:
            kind = table.engine.schema.field(name).type
            first = before.setdefault(name.lower(), kind)
            if _meaning(first) != _meaning(kind):
                raise InvalidSource(
                    f"column {name!r} is of type {first} in one table and {kind} in another, so that expressions mean "
                    "different things in them: give it one type in all tables.",
                    about=_table(table),
                )


def _meaning(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return _meaning(kind.value_type)
    if pa.types.is_integer(kind):
        return "whole"
    if pa.types.is_floating(kind):
        return "fraction"
    return "text" if is_text(kind) else str(kind)


def row_ends(query: Query, tables: Iterable[ReferenceTable]) -> tuple[Floats, Floats]:
    """Return the least and the greatest value of everything that SQL evaluates in a row.

    What a row adds to totals of one expression is alike in all cells of all tables: held to what each cell has seen, a
    row could count in one table for less than in another, and their sums would tell.
    """
    lows, highs = zip(*(table.extremes() for table in different(tables)), strict=True)
    low, high = np.min(lows, axis=0), np.max(highs, axis=0)
    expressions = {name: table.expression for key, table in query.tables for name in table.parts(key).get("total", ())}
    for expression in set(expressions.values()):
        together = [k for k, (key, _) in enumerate(query.row_values) if expressions.get(key, ...) == expression]
        low[together] = min(0.0, low[together].min())
        high[together] = max(0.0, high[together].max())
    return low, high
