"""What can be wrong with reference tables, refused in a sentence that says where and what to do about it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pyarrow as pa

from distpriv.engines.expressions import RowExpression
from distpriv.engines.sql import STRATUM
from distpriv.engines.total import is_number, is_text
from distpriv.errors import About, InvalidExpression, InvalidSecret, InvalidSource, MissingValues
from distpriv.framework.arrays import Floats
from distpriv.modelling.drawing import Drawing
from distpriv.modelling.sampling import RowPool

if TYPE_CHECKING:
    from distpriv.modelling.reference import ReferenceTable

__all__ = [
    "refuse_gaps",
    "refuse_incomplete",
    "refuse_infinite",
    "refuse_missing",
    "refuse_mixed_types",
    "refuse_no_rows",
    "refuse_one_sided",
    "refuse_too_many_digits",
    "refuse_wrong_type",
]


def _of(table: "ReferenceTable") -> About:
    return "table", table.engine.description


def refuse_no_rows(table: "ReferenceTable") -> None:
    """Refuse a table that has none."""
    if table.probe.size == 0:
        left = " left without missing values in any of its columns" if table.select.drop_missing else ""
        raise InvalidSource(
            f"{table.engine.description} has no rows{left}: give a table with data in it.", about=_of(table)
        )


def refuse_wrong_type(kind: pa.DataType, expression: RowExpression, where: str, what: About, predicate: bool) -> None:
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


def refuse_incomplete(table: "ReferenceTable", strata: list[dict[str, Any]]) -> None:
    """Refuse nulls, NaN and infinities, all of which show in the aggregates."""
    if any(stratum["unusable"] or stratum[STRATUM] is None for stratum in strata):
        refuse_missing(table)
    for stratum in strata:
        for k, (name, _) in enumerate(table.query.row_values):
            moments = [stratum[f"m{k}"], stratum[f"low{k}"], stratum[f"high{k}"], stratum[f"s{k}_{k}"] or 0.0]
            if not np.isfinite(moments).all():
                _not_finite(table, name)


def refuse_missing(table: "ReferenceTable") -> None:
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
            f"{table.engine.description} has nulls or NaN in {columns or values}: {cure}.", about=_of(table)
        )


def refuse_too_many_digits(table: "ReferenceTable", low: Floats, high: Floats) -> None:
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


def refuse_infinite(table: "ReferenceTable", pool: RowPool) -> None:
    """Refuse infinities in what SQL has for the rows, and in what functions read: the private table's are read else."""
    for name, values in pool.columns.items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise InvalidSource(
                f"column {name!r} of {table.engine.description} has infinite values: mend those rows, so that "
                "functions see finite numbers only.",
                about=_of(table),
            )
    for (name, _), values in zip(table.query.row_values, pool.numbers, strict=True):
        if not np.isfinite(values).all():
            _not_finite(table, name)


def _not_finite(table: "ReferenceTable", name: str) -> NoReturn:
    raise InvalidSource(
        f"statistic {name!r} has values in {table.engine.description} that are infinite, or so large that their "
        "squares are: mend those rows, or change the expression so that it divides by nothing that is 0.",
        about=("statistic", name),
    )


def refuse_one_sided(table: "ReferenceTable", predicate: str, seen: set[bool]) -> None:
    """Refuse a predicate that is true of every row, or of none."""
    if len(seen) < 2:
        raise InvalidSecret(
            f"{predicate!r} is true of {'every' if True in seen else 'no'} row of {table.engine.description}, so one "
            "stratum is empty: check its spelling, or give a reference table with both kinds of rows.",
            about=("share", predicate),
        )


def refuse_gaps(tables: Sequence["ReferenceTable"], drawing: Drawing, *, by_chance: float = 4.0) -> None:
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
                about=_of(table),
            )


def refuse_mixed_types(tables: Sequence["ReferenceTable"]) -> None:
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
                    about=_of(table),
                )


def _meaning(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return _meaning(kind.value_type)
    if pa.types.is_integer(kind):
        return "whole"
    if pa.types.is_floating(kind):
        return "fraction"
    return "text" if is_text(kind) else str(kind)
