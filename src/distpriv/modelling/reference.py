"""The reference table: public rows that everything about the noise is computed from.

It is opened once for a query and its predicates: expressions are parsed, their types checked, and rows with
nothing in them refused or dropped. After that there are two ways to look at it: moments by stratum, in
one pass inside the engine, and the rows themselves, in memory.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, field, frozen

from distpriv.engines.engine import Engine, engine_for
from distpriv.engines.expressions import RowExpression, parse_expression
from distpriv.engines.sql import STRATUM, RowSelect
from distpriv.errors import InvalidExpression, InvalidQuery, InvalidSecret, InvalidSource, MissingValues
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import did_you_mean
from distpriv.framework.queries import FunctionOfRows, Query
from distpriv.modelling.drawing import Missing
from distpriv.modelling.exact_moments import StratumMoments
from distpriv.modelling.pools.holding import Holding, hash_below
from distpriv.modelling.pools.row_pool import RowPool

__all__ = ["ColumnSeen", "ReferenceTable"]

PROBE_SEED = 0
"""The probe is part of how the table is read, not of a simulation: the same table gives the same probe."""


@frozen(kw_only=True, eq=False)
class ColumnSeen:
    """What the usable rows of a reference table have in one column."""

    values: pa.ChunkedArray
    """The least and the greatest value where values are in order; every value elsewhere."""
    usual: pa.ChunkedArray
    """One value: the lower median, or the most frequent one; none where no row has any."""
    nulls: bool
    ordered: bool


@frozen(kw_only=True, slots=False, eq=False)
class ReferenceTable:
    """A table, opened for one query and the predicates of its secrets."""

    engine: Engine
    query: Query
    numbers: tuple[RowExpression, ...]
    predicates: Mapping[str, RowExpression]
    select: RowSelect
    holding: Holding = field(factory=Holding)
    _pools: dict[str | None, RowPool] = field(factory=dict, init=False, repr=False)
    _known: dict[str | None, Mapping[bool, StratumMoments]] = field(factory=dict, init=False, repr=False)

    @classmethod
    def open(
        cls,
        source: Any,
        query: Query,
        predicates: Iterable[str] = (),
        missing: Missing = "refuse",
        holding: Holding | None = None,
    ) -> Self:
        """Open a source for a query and the predicates of its secrets.

        Raises:
            InvalidInput: of the kind that fits, when the source, an expression or the rows cannot be used.
        """
        engine = engine_for(source)
        numbers = tuple(
            parse_expression(statistic.expression, engine.schema.names, where=f"statistic {name!r}")
            for name, statistic in query.statistics
            if not isinstance(statistic, FunctionOfRows)
        )
        parsed = {text: parse_expression(text, engine.schema.names, where="the secret") for text in predicates}
        holding = holding or Holding()
        _refuse_wrong_key(holding.key, engine)
        select = RowSelect(
            dialect=engine.dialect,
            numbers=numbers,
            predicates=tuple(parsed.values()),
            columns=_columns_of_functions(query, engine),
            floating=frozenset(c.name for c in engine.schema if pa.types.is_floating(c.type)),
            drop_missing=missing == "drop",
            table=tuple(engine.schema.names),
            key=holding.key,
        )
        table = cls(engine=engine, query=query, numbers=numbers, predicates=parsed, select=select, holding=holding)
        table._refuse_wrong_types()
        return table

    @cached_property
    def _types(self) -> list[pa.DataType]:
        """The types of all numbers and predicates, as the engine tells them."""
        if not self.numbers and not self.predicates:
            return []
        return list(self.engine.select(self.select.values()).schema.types)

    @property
    def kinds(self) -> list[pa.DataType]:
        """The types of the numbers."""
        return self._types[: len(self.numbers)]

    @cached_property
    def probe(self) -> RowPool:
        """A uniform sample of some thousand rows, the same for the same table."""
        return self._pool(self.engine.sample(self.select.rows(), 10_000, PROBE_SEED))

    @cached_property
    def columns_seen(self) -> Mapping[str, "ColumnSeen"]:
        """What usable rows have in the columns that statistics read."""
        names = self.select.read_columns
        if not names:
            return {}
        sample = self.engine.sample(self.select.raw(), 10_000, PROBE_SEED)
        ordered = [name for name in names if _is_ordered(self.engine.schema.field(name).type)]
        ends = self.engine.select(self.select.ends(ordered)) if ordered else None
        found = {}
        for number, name in enumerate(names):
            if ends is None or name not in ordered:
                found[name] = _seen_values(self.engine.select(self.select.counts(name)))
                continue
            k = ordered.index(name)
            low, high, nulls = (ends[f"{what}{k}"] for what in ("low", "high", "nulls"))
            found[name] = ColumnSeen(
                values=pa.chunked_array([*low.chunks, *high.chunks]),
                usual=_lower_median(sample[f"c{number}"]),
                nulls=bool(nulls[0].as_py()),
                ordered=True,
            )
        return found

    @cached_property
    def pool(self) -> RowPool:
        """Every usable row, in memory."""
        self._refuse_no_rows()
        counts = self.engine.select(self.select.missing()).to_pylist()[0]
        if any(count for key, count in counts.items() if key != "n"):
            self._refuse_missing()
        pool = self._pool(self.engine.select(self.select.ordered_rows()))
        self._refuse_infinite_columns(pool)
        for k, name in enumerate(self._sql_names()):
            if not np.isfinite(pool.numbers[k]).all():
                self._refuse_not_finite(name)
        for predicate in self.predicates:
            self._refuse_one_sided(predicate, set(np.unique(pool.strata[predicate]).tolist()))
        self._refuse_too_many_digits(pool.numbers.min(axis=1), pool.numbers.max(axis=1))
        return pool

    def pool_of(self, predicate: str | None) -> RowPool:
        """Return rows to draw a predicate's strata from: every usable row, or a uniform sample of each stratum.

        Only a table that is too large to be held has samples, one pair for every predicate.
        """
        if predicate not in self._pools:
            held = self.held(predicate)
            self._pools[predicate] = self.pool if held is None else self._sampled(predicate, held)
        return self._pools[predicate]

    def held(self, predicate: str | None) -> int | None:
        """Return how many rows of each stratum are held; nothing where all of them are.

        If the strata of one predicate are samples, those of all are: noise is calibrated on all of them in one way.
        """
        each = [self.moments(text).values() for text in dict.fromkeys([*self.predicates, predicate])]
        found = [self.holding.held([stratum.rows for stratum in strata]) for strata in each]
        return next((rows for rows in found if rows is not None), None)

    def holding_for(self, purpose: str, seed: int) -> Self:
        """Return the same table with other pools, which are independent of those of this one."""
        table = evolve(self, holding=evolve(self.holding, purpose=purpose, seed=seed))
        table._known.update(self._known)
        table.__dict__.update({name: value for name, value in self.__dict__.items() if name in ("probe", "pool")})
        return table

    def _sampled(self, predicate: str | None, held: int) -> RowPool:
        """Return the rows of each stratum whose hashes come first, in the order of these."""
        moments = self.moments(predicate)
        counts = {side: moments[side].rows for side in (True, False) if side in moments}
        spare = 0.0
        while True:
            spare = 2 * spare + 6 * held**0.5 + 20
            below = {side: hash_below((held + spare) / count) for side, count in counts.items()}
            query = self.select.hashed(self.engine.row_number, self.holding.salt(predicate), predicate, below)
            table = self.engine.select(query).sort_by("h")
            strata = self._pool(table).positions
            places = [strata(predicate, side) for side in counts]
            self._refuse_changed(counts, {side: len(p) for side, p in zip(counts, places, strict=True)}, below)
            if all(len(p) >= min(held, n) for p, n in zip(places, counts.values(), strict=True)):
                break
        self._refuse_ambiguous_key(table["h"])
        pool = self._pool(table.take(np.concatenate([place[:held] for place in places])))
        self._refuse_infinite_columns(pool)
        return evolve(pool, populations=dict(counts))

    def moments(self, predicate: str | None) -> Mapping[bool, StratumMoments]:
        """Return the moments of every number, by stratum of a predicate (of the whole table, under True, without)."""
        if predicate not in self._known:
            self._known[predicate] = self._moments(predicate)
        return self._known[predicate]

    def stratum_rows(self, predicate: str | None, satisfied: bool) -> int:
        """Return how many usable rows a stratum has."""
        if predicate not in self._known and "pool" in self.__dict__:
            return len(self.pool.positions(predicate, satisfied))
        return self.moments(predicate)[satisfied].rows

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the least and the greatest value of every number, over all usable rows."""
        if not self._known and "pool" in self.__dict__:
            return self.pool.numbers.min(axis=1), self.pool.numbers.max(axis=1)
        return _extremes((next(iter(self._known.values())) if self._known else self.moments(None)).values())

    def _moments(self, predicate: str | None) -> Mapping[bool, StratumMoments]:
        self._refuse_no_rows()
        shifts = np.array([_round_centre(values[np.isfinite(values)]) for values in self.probe.numbers])
        expression = None if predicate is None else self.predicates[predicate]
        strata = self.engine.moments(self.select, shifts.tolist(), expression)
        self._refuse_if_incomplete(strata)
        if predicate is not None:
            self._refuse_one_sided(predicate, {stratum[STRATUM] for stratum in strata})
        moments = {bool(stratum[STRATUM]): _stratum_moments(stratum, shifts) for stratum in strata}
        self._refuse_too_many_digits(*_extremes(moments.values()))
        return moments

    def _refuse_no_rows(self) -> None:
        if self.probe.size == 0:
            left = " left without missing values in any of its columns" if self.select.drop_missing else ""
            raise InvalidSource(f"{self.engine.description} has no rows{left}: give a table with data in it.")

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
        )

    def _sql_names(self) -> list[str]:
        return [name for name, statistic in self.query.statistics if not isinstance(statistic, FunctionOfRows)]

    def _refuse_wrong_types(self) -> None:
        """Check that numbers are numbers and predicates true or false, by asking the engine for their types."""
        if not self.numbers and not self.predicates:
            return
        wants_predicate = [
            getattr(statistic, "predicate", False)
            for _, statistic in self.query.statistics
            if not isinstance(statistic, FunctionOfRows)
        ] + [True] * len(self.predicates)
        places = [f"statistic {name!r}" for name in self._sql_names()] + ["the secret"] * len(self.predicates)
        for kind, predicate, place, expression in zip(
            self._types, wants_predicate, places, (*self.numbers, *self.predicates.values()), strict=True
        ):
            if predicate and not pa.types.is_boolean(kind):
                raise InvalidExpression(
                    f"{place}: {expression.text!r} is of type {kind}, not true or false: write a comparison, such as "
                    "\"sex = 'Female'\"."
                )
            if not predicate and not _is_number(kind):
                cure = "use proportion or count" if pa.types.is_boolean(kind) else "use a column of numbers, or count"
                raise InvalidExpression(f"{place}: {expression.text!r} is of type {kind}, not a number: {cure}.")

    def _refuse_if_incomplete(self, strata: list[dict[str, Any]]) -> None:
        """Refuse nulls, NaN and infinities, all of which show in the aggregates."""
        if any(stratum["unusable"] or stratum[STRATUM] is None for stratum in strata):
            self._refuse_missing()
        for stratum in strata:
            for k, name in enumerate(self._sql_names()):
                moments = [stratum[f"m{k}"], stratum[f"low{k}"], stratum[f"high{k}"], stratum[f"s{k}_{k}"] or 0.0]
                if not np.isfinite(moments).all():
                    self._refuse_not_finite(name)

    def _refuse_missing(self) -> None:
        """Refuse null or NaN in a used column or value, by name and number."""
        counts = self.engine.select(self.select.missing()).to_pylist()[0]
        found = {label: counts[f"missing{k}"] for k, label in enumerate(self.select.missing_tests)}
        columns = _counted({label: found[label] for label in self.select.column_tests}, counts["n"])
        if columns:
            raise MissingValues(
                f"{self.engine.description} has nulls or NaN in {columns}: mend them, or leave all rows out that have "
                "any in any column with missing='drop', which leaves out none of the private table's."
            )
        values = _counted({label: found[label] for label in self.select.value_tests}, counts["n"])
        raise MissingValues(
            f"{self.engine.description} has nulls or NaN in {values}: no row is left out for what an expression makes "
            "of it, so provide for such rows by COALESCE or ELSE."
        )

    def _refuse_too_many_digits(self, low: Floats, high: Floats) -> None:
        """Refuse whole numbers and decimals that a floating-point number cannot hold to the last digit."""
        for name, kind, least, greatest in zip(self._sql_names(), self.kinds, low, high, strict=True):
            digits = 0 if pa.types.is_integer(kind) else kind.scale if pa.types.is_decimal(kind) else None
            largest = max(abs(least), abs(greatest))
            if digits is not None and largest * 10.0**digits >= 2.0**53:
                raise InvalidSource(
                    f"statistic {name!r} has values of up to {largest:.3g} in {self.engine.description}, more digits "
                    "than arithmetic keeps: subtract a constant in its expression, or divide by one."
                )

    def _refuse_infinite_columns(self, pool: RowPool) -> None:
        """Refuse infinities in what functions read, since the private table's are read as something else."""
        for name, values in pool.columns.items():
            if values.dtype.kind == "f" and not np.isfinite(values).all():
                raise InvalidSource(
                    f"column {name!r} of {self.engine.description} has infinite values: mend those rows, so that "
                    "functions see finite numbers only."
                )

    def _refuse_not_finite(self, name: str) -> None:
        raise InvalidSource(
            f"statistic {name!r} has values in {self.engine.description} that are infinite, or so large that their "
            "squares are: mend those rows, or change the expression so that it divides by nothing that is 0."
        )

    def _refuse_changed(self, counts: Mapping[bool, int], read: Mapping[bool, int], below: Mapping[bool, str]) -> None:
        """Refuse a table that has other rows than were counted, where all of a stratum were read."""
        for side, count in counts.items():
            if below[side] == hash_below(1.0) and read[side] != count:
                raise InvalidSource(
                    f"{self.engine.description} has {read[side]:,} rows where it had {count:,} before: give a table "
                    "that does not change while it is read."
                )

    def _refuse_ambiguous_key(self, hashes: pa.ChunkedArray) -> None:
        in_order = hashes.combine_chunks()
        if pc.any(pc.equal(in_order[1:], in_order[:-1])).as_py():
            raise InvalidSource(
                f"the key {self.holding.key!r} has the same value in several rows of {self.engine.description}: name a "
                "column that tells rows apart, or no key."
            )

    def _refuse_one_sided(self, predicate: str, seen: set[bool]) -> None:
        if len(seen) < 2:
            word = "every" if True in seen else "no"
            raise InvalidSecret(
                f"{predicate!r} is true of {word} row of {self.engine.description}, so one stratum is empty: check its "
                "spelling, or give a reference table with both kinds of rows."
            )


def _counted(rows: Mapping[str, int], of: int) -> str:
    """Say where how many rows lack a value; nothing where none does."""
    return ", ".join(f"{label} ({count:,} of {of:,} rows)" for label, count in rows.items() if count)


def _columns_of_functions(query: Query, engine: Engine) -> tuple[str, ...]:
    """Return the columns that functions read, each as the table spells it."""
    known = set(engine.schema.names)
    wanted = [
        (name, column)
        for name, statistic in query.statistics
        if isinstance(statistic, FunctionOfRows)
        for column in statistic.columns
    ]
    for name, column in wanted:
        if column not in known:
            raise InvalidQuery(
                f"statistic {name!r}: there is no column {column!r}: {did_you_mean(column, engine.schema.names)}"
            )
    return tuple(dict.fromkeys(column for _, column in wanted))


def _refuse_wrong_key(key: str | None, engine: Engine) -> None:
    """Refuse a key that is no column, or whose values engines may write in different ways."""
    if key is None:
        return
    names = engine.schema.names
    if key not in names:
        raise InvalidSource(f"there is no column {key!r} in {engine.description} for a key: {did_you_mean(key, names)}")
    kind = engine.schema.field(key).type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if not text and not pa.types.is_integer(kind):
        raise InvalidSource(f"the key {key!r} is of type {kind}: name a column of whole numbers or of text.")


def _is_ordered(kind: pa.DataType) -> bool:
    """Tell whether a column is of numbers, dates or times, which are known by the least and the greatest."""
    return _is_number(kind) or bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind))


def _lower_median(values: pa.ChunkedArray) -> pa.ChunkedArray:
    present = values.drop_null()
    return present.take(pc.sort_indices(present)[(len(present) - 1) // 2 :][:1]) if len(present) else present


def _seen_values(counts: pa.Table) -> ColumnSeen:
    """Return the values of a column from how often each is there; of the most frequent the first by its text."""
    present = counts.filter(pc.is_valid(counts["v"]))
    times, texts = present["n"].to_pylist(), list(map(str, present["v"].to_pylist()))
    usual = sorted(range(len(times)), key=lambda k: (-times[k], texts[k]))[:1]
    return ColumnSeen(
        values=present["v"],
        usual=present["v"].take(pa.array(usual, pa.int64())),
        nulls=present.num_rows < counts.num_rows,
        ordered=False,
    )


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


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
