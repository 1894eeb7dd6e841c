"""What tables of scenarios must have in common, for private rows are read in one way whichever they came about by."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from distpriv.errors import InvalidSource, MissingValues
from distpriv.modelling.drawing import Drawing
from distpriv.modelling.reference import ReferenceTable

__all__ = ["refuse_gaps", "refuse_mixed_types"]

CHANCE = 4.0
"""How many standard errors apart the shares of two strata are not by chance."""


def refuse_gaps(tables: Mapping[str, ReferenceTable], drawing: Drawing) -> None:
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


def _refuse_uneven(table: ReferenceTable, strata: Sequence[tuple[int, int]], drawing: Drawing) -> None:
    rows, gaps = np.array(strata, dtype=np.float64).reshape(-1, 2).T
    shares, share = gaps / rows, gaps.sum() / max(rows.sum(), 1.0)
    error = 0.0 if drawing.reference == "population" else CHANCE * np.sqrt(share * (1 - share) * (1 / rows).sum())
    if len(rows) and np.ptp(shares) > error:
        raise _refusal(
            table,
            f"has gaps in {shares.max():.1%} of the rows on one side of the secret, in {shares.min():.1%} on the other",
        )


def _refusal(table: ReferenceTable, found: str) -> MissingValues:
    return MissingValues(
        f"{table.engine.description} {found}: such rows cannot be left out, as the private table keeps them and they "
        "would tell; do without missing='drop', and provide for gaps in what statistics read by COALESCE.",
        about=("table", table.engine.description),
    )


def refuse_mixed_types(tables: Mapping[str, ReferenceTable]) -> None:
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


def _different(tables: Mapping[str, ReferenceTable]) -> list[ReferenceTable]:
    return list({id(table): table for table in tables.values()}.values())


def _meaning(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return _meaning(kind.value_type)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "whole" if pa.types.is_integer(kind) else "fraction"
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return "text" if any(each(kind) for each in texts) else str(kind)
