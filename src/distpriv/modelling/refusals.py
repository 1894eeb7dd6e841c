"""What can be wrong with a reference table, refused in a sentence that says where and what to do about it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pyarrow as pa
from attrs import frozen

from distpriv.engines.engine import Engine
from distpriv.engines.sql import STRATUM, RowSelect
from distpriv.errors import About, InvalidExpression, InvalidQuery, InvalidSecret, InvalidSource, MissingValues
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import did_you_mean
from distpriv.framework.queries import Query
from distpriv.modelling.columns_seen import is_number
from distpriv.modelling.drawing import Drawing
from distpriv.modelling.sampling import RowPool

if TYPE_CHECKING:
    from distpriv.modelling.reference import ReferenceTable

__all__ = ["TableRefusals", "columns_of_functions", "refuse_gaps", "refuse_mixed_types", "vary_too_little"]


def _number_of_secret(text: str) -> tuple[str, About, bool]:
    return "the secret", ("property", text), False


@frozen(kw_only=True)
class TableRefusals:
    """What is refused of a table that was opened for a query: every method raises if it finds what it is named by."""

    engine: Engine
    query: Query
    select: RowSelect
    weight: str | None = None
    """What each row counts, where rows count differently."""

    @property
    def _itself(self) -> About:
        return "table", self.engine.description

    def no_rows(self, rows: int) -> None:
        """Refuse a table that has none."""
        if rows == 0:
            left = " left without missing values in any of its columns" if self.select.drop_missing else ""
            raise InvalidSource(
                f"{self.engine.description} has no rows{left}: give a table with data in it.", about=self._itself
            )

    def wrong_types(self, kinds: Sequence[pa.DataType]) -> None:
        """Refuse numbers that are none, and predicates that are not true or false."""
        wanted: list[tuple[str, About, bool]] = [
            (f"statistic {name!r}", ("statistic", name), row.predicate) for name, row in self.query.row_values
        ]
        wanted += [("the secret", ("share", expression.text), True) for expression in self.select.predicates]
        for text in (expression.text for expression in self.select.properties):
            weighs = text == self.weight
            wanted.append(("the weight", ("option", "weight"), False) if weighs else _number_of_secret(text))
        expressions = (*self.select.numbers, *self.select.predicates, *self.select.properties)
        for kind, (place, what, predicate), expression in zip(kinds, wanted, expressions, strict=True):
            if predicate and not pa.types.is_boolean(kind):
                raise InvalidExpression(
                    f"{expression.text!r} is of type {kind}, not true or false: write a comparison, such as "
                    "\"sex = 'Female'\".",
                    where=place,
                    about=what,
                )
            if not predicate and not is_number(kind):
                cure = "use proportion or count" if pa.types.is_boolean(kind) else "use a column of numbers, or count"
                raise InvalidExpression(
                    f"{expression.text!r} is of type {kind}, not a number: {cure}.", where=place, about=what
                )

    def incomplete(self, strata: list[dict[str, Any]]) -> None:
        """Refuse nulls, NaN and infinities, all of which show in the aggregates."""
        if any(stratum["unusable"] or stratum[STRATUM] is None for stratum in strata):
            self.missing()
        for stratum in strata:
            for k, (name, _) in enumerate(self.query.row_values):
                moments = [stratum[f"m{k}"], stratum[f"low{k}"], stratum[f"high{k}"], stratum[f"s{k}_{k}"] or 0.0]
                if not np.isfinite(moments).all():
                    self._not_finite(name)

    def missing(self) -> None:
        """Refuse null or NaN in a used column or value, by name and number."""
        counts = self.engine.select(self.select.missing()).to_pylist()[0]
        found = {label: counts[f"missing{k}"] for k, label in enumerate(self.select.missing_tests)}
        columns = _counted({label: found[label] for label in self.select.column_tests}, counts["n"])
        if columns:
            raise MissingValues(
                f"{self.engine.description} has nulls or NaN in {columns}: mend them, or leave all rows out that have "
                "any in any column with missing='drop', which leaves out none of the private table's.",
                about=self._itself,
            )
        values = _counted({label: found[label] for label in self.select.value_tests}, counts["n"])
        raise MissingValues(
            f"{self.engine.description} has nulls or NaN in {values}: no row is left out for what an expression makes "
            "of it, so provide for such rows by COALESCE or ELSE.",
            about=self._itself,
        )

    def too_many_digits(self, kinds: Sequence[pa.DataType], low: Floats, high: Floats) -> None:
        """Refuse whole numbers and decimals that a floating-point number cannot hold to the last digit."""
        for (name, _), kind, least, greatest in zip(self.query.row_values, kinds, low, high, strict=True):
            digits = 0 if pa.types.is_integer(kind) else kind.scale if pa.types.is_decimal(kind) else None
            largest = max(abs(least), abs(greatest))
            if digits is not None and largest * 10.0**digits >= 2.0**53:
                raise InvalidSource(
                    f"statistic {name!r} has values of up to {largest:.3g} in {self.engine.description}, more digits "
                    "than arithmetic keeps: subtract a constant in its expression, or divide by one.",
                    about=("statistic", name),
                )

    def infinite_numbers(self, pool: RowPool) -> None:
        """Refuse infinities in what SQL has for the rows."""
        for (name, _), values in zip(self.query.row_values, pool.numbers, strict=True):
            if not np.isfinite(values).all():
                self._not_finite(name)

    def infinite_columns(self, pool: RowPool) -> None:
        """Refuse infinities in what functions read, since the private table's are read as something else."""
        for name, values in pool.columns.items():
            if values.dtype.kind == "f" and not np.isfinite(values).all():
                raise InvalidSource(
                    f"column {name!r} of {self.engine.description} has infinite values: mend those rows, so that "
                    "functions see finite numbers only.",
                    about=self._itself,
                )

    def _not_finite(self, name: str) -> NoReturn:
        raise InvalidSource(
            f"statistic {name!r} has values in {self.engine.description} that are infinite, or so large that their "
            "squares are: mend those rows, or change the expression so that it divides by nothing that is 0.",
            about=("statistic", name),
        )

    def one_sided(self, predicate: str, seen: set[bool]) -> None:
        """Refuse a predicate that is true of every row, or of none."""
        if len(seen) < 2:
            word = "every" if True in seen else "no"
            raise InvalidSecret(
                f"{predicate!r} is true of {word} row of {self.engine.description}, so one stratum is empty: check its "
                "spelling, or give a reference table with both kinds of rows.",
                about=("share", predicate),
            )


def _counted(rows: Mapping[str, int], of: int) -> str:
    """Say where how many rows lack a value; nothing where none does."""
    return ", ".join(f"{label} ({count:,} of {of:,} rows)" for label, count in rows.items() if count)


def columns_of_functions(query: Query, engine: Engine) -> tuple[str, ...]:
    """Return the columns that functions read, each as the table spells it."""
    known = set(engine.schema.names)
    wanted = [(name, column) for name, statistic in query.statistics for column in statistic.columns]
    for name, column in wanted:
        if column not in known:
            raise InvalidQuery(
                f"there is no column {column!r}: {did_you_mean(column, engine.schema.names)}",
                where=f"statistic {name!r}",
                about=("statistic", name),
            )
    return tuple(dict.fromkeys(column for _, column in wanted))


def vary_too_little(query: Query | None, names: Sequence[str]) -> str:
    """Say which statistics vary too little for a normal approximation with any noise, every one of them, and the cure.

    >>> import distpriv as dp
    >>> table = dp.table("count", by="sex", levels={"sex": ["F", "M"]}, empty=[])
    >>> print(vary_too_little(dp.Query(people=table), ["people[F]"]))
    people[F] varies too little for a normal approximation, whatever the noise: gather rare levels of people with \
    min_expected, such as min_expected=5.
    """
    tables = [] if query is None else [key for key, each in query.tables if not {*each.names(key)}.isdisjoint(names)]
    in_cells = {name for key, each in (() if query is None else query.tables) for name in each.names(key)}
    plain = [name for name in names if name not in in_cells]
    cures = [f"gather rare levels of {', '.join(tables)} with min_expected, such as min_expected=5"] if tables else []
    cures += [f"leave {', '.join(plain)} out"] if plain else []
    verb = "varies" if len(names) == 1 else "vary"
    return (
        f"{', '.join(names)} {verb} too little for a normal approximation, whatever the noise: {', and '.join(cures)}."
    )


CHANCE = 4.0
"""How many standard errors apart the shares of two strata are not by chance."""


def refuse_gaps(tables: Mapping[str, "ReferenceTable"], drawing: Drawing) -> None:
    """Refuse to leave rows with gaps out where that may change scenarios in different ways.

    The private table keeps such rows, and reads what is usual in them: many in one scenario and few in another would
    show, and nothing of the rows that are left says how many there are.

    Raises:
        MissingValues: strata have different shares of such rows, beyond chance; or there are some, and scenarios have
            tables of their own or weigh rows.
    """
    if drawing.missing != "drop":
        return
    several = _different(tables)
    for table in several:
        strata = table.gaps()
        plain = len(several) == 1 and not table.properties and table.predicates
        if not plain and any(gaps for each in strata for _, gaps in each):
            raise _refusal(table, "has rows with gaps, and scenarios have tables of their own or weigh rows")
        for each in strata:
            _refuse_uneven(table, each, drawing)


def _refuse_uneven(table: "ReferenceTable", strata: Sequence[tuple[int, int]], drawing: Drawing) -> None:
    rows, gaps = np.array(strata, dtype=np.float64).reshape(-1, 2).T
    shares, share = gaps / rows, gaps.sum() / max(rows.sum(), 1.0)
    error = 0.0 if drawing.reference == "population" else CHANCE * np.sqrt(share * (1 - share) * (1 / rows).sum())
    if len(rows) and np.ptp(shares) > error:
        raise _refusal(
            table,
            f"has gaps in {shares.max():.1%} of the rows on one side of the secret, in {shares.min():.1%} on the other",
        )


def _refusal(table: "ReferenceTable", found: str) -> MissingValues:
    return MissingValues(
        f"{table.engine.description} {found}: such rows cannot be left out, as the private table keeps them and they "
        "would tell; do without missing='drop', and provide for gaps in what statistics read by COALESCE.",
        about=("table", table.engine.description),
    )


def refuse_mixed_types(tables: Mapping[str, "ReferenceTable"]) -> None:
    """Refuse a column that statistics read with types of different meanings in the tables of scenarios.

    Raises:
        InvalidSource: a column is of whole numbers in one table and of fractions or texts in another, say.
    """
    found: dict[str, tuple[str, pa.DataType]] = {}
    for table in _different(tables):
        for name in table.select.read_columns:
            kind = table.engine.schema.field(name).type
            _, before = found.setdefault(name.lower(), (name, kind))
            if _meaning(before) != _meaning(kind):
                raise InvalidSource(
                    f"column {name!r} is of type {before} in one table and {kind} in another, so that expressions mean "
                    "different things in them: give it one type in all tables.",
                    about=("table", table.engine.description),
                )


def _different(tables: Mapping[str, "ReferenceTable"]) -> "list[ReferenceTable]":
    return list({id(table): table for table in tables.values()}.values())


def _meaning(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return _meaning(kind.value_type)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "whole" if pa.types.is_integer(kind) else "fraction"
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return "text" if any(each(kind) for each in texts) else str(kind)
