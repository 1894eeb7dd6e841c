"""A private table to try a studio with: rows of the embedded table, so that nobody's secrets are needed."""

from typing import TYPE_CHECKING

from distpriv.engines.engine import SOURCE, engine_for
from distpriv.engines.expressions import parse_expression
from distpriv.errors import InvalidInput
from distpriv.studio.draft import Draft

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["example_rows"]


def example_rows(table: "pa.Table", draft: Draft) -> "pa.Table":
    """Return as many rows as a draft asks for, with a share in the middle of the two that it hides.

    Rows are taken evenly from the table, so that the same draft has the same example.
    """
    assert draft.secret is not None
    engine = engine_for(table)
    condition = parse_expression(draft.secret.share, engine.schema.names, where="what to hide")
    flags = engine.select(f"SELECT ({condition.sql(engine.dialect)}) AS flag FROM {SOURCE}")["flag"]
    positions: dict[bool, list[int]] = {True: [], False: []}
    for position, flag in enumerate(flags.to_pylist()):
        positions[bool(flag)].append(position)
    wanted = round(sum(draft.secret.values) / 2 * draft.records)
    chosen = [*_evenly(positions[True], wanted), *_evenly(positions[False], draft.records - wanted)]
    return table.take(sorted(chosen))


def _evenly(positions: list[int], count: int) -> list[int]:
    if count > len(positions):
        raise InvalidInput(
            f"the embedded table has {len(positions)} such rows, and {count} are needed: ask for fewer records."
        )
    return [positions[k * len(positions) // count] for k in range(count)]
