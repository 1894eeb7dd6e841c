"""Rows that could be: public ones, weighed so that their statistics are given, and drawn.

They are made of the reference and of numbers that were released, so they say nothing that these do not.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import whole
from distpriv.framework.queries import Query
from distpriv.framework.two_tables import SECOND
from distpriv.modelling.model import QueryModel
from distpriv.modelling.reference import ReferenceTable
from distpriv.modelling.tilting import tilted

__all__ = ["WHAT_SYNTHETIC_ROWS_ARE", "synthetic_rows"]

WHAT_SYNTHETIC_ROWS_ARE = (
    "These are rows of the public reference, drawn with weights that bring its statistics to released estimates; no "
    "row is of the private data, and nothing but these statistics was made to agree with it."
)
"""What goes with synthetic rows, as the metadata of their table."""


def synthetic_rows(
    model: QueryModel, means: Mapping[str, float], prior: Mapping[str, float], rows: int, seed: int
) -> pa.Table:
    """Draw rows of the reference with the weights that give its statistics these means.

    The weights are those of rows drawn as in the scenarios, on average, changed as little as it takes.

    Args:
        model: the model that knows the reference.
        means: what each statistic is to be on average.
        prior: the weight of each scenario, with a sum of 1.
        rows: how many to draw; the same row may be drawn several times.
        seed: the same seed gives the same rows.

    Raises:
        InvalidInput: a statistic is no mean or count of rows, or no weights give these means.

    >>> import distpriv as dp
    >>> query, secret = dp.Query(age=dp.mean("age")), dp.Share("income = '>50K'", values=(0.4, 0.6))
    >>> model = dp.model(dp.datasets.adult(), query, secret, records=100)
    >>> even = {name: 0.5 for name in model.distributions}
    >>> table = synthetic_rows(model, {"age": 50.0}, even, rows=20_000, seed=1)
    >>> table.num_rows, round(float(np.mean(table["age"].to_numpy())))
    (20000, 50)
    """
    rows = whole("rows", rows, InvalidInput, at_least=1, cure="it is how many rows to draw")
    seed = whole("seed", seed, InvalidInput, at_least=0, cure="the same seed gives the same rows")
    query, records = _of_means(model)
    tables = list(_weighed(model, prior))
    columns = {tuple(table.column_names) for table, _, _ in tables}
    if len(columns) > 1:
        raise InvalidInput(
            "the scenarios' tables have other columns, so no table could hold rows of all of them: give tables with "
            "the same columns to draw synthetic rows."
        )
    points = np.concatenate([numbers for _, numbers, _ in tables])
    wanted = np.array([means[name] for name in model.names]) / query.factors(records)
    weights = tilted(points, np.concatenate([weights for _, _, weights in tables]), wanted)
    if weights is None:
        shown = ", ".join(f"{name} = {means[name]:.6g}" for name in model.names)
        raise InvalidInput(
            f"no weights give the reference these statistics together, {shown}: use the estimates themselves, or a "
            "reference with rows on either side of them."
        )
    whole_table = pa.concat_tables([table for table, _, _ in tables], promote_options="permissive")
    picked = np.random.default_rng(seed).choice(len(weights), size=rows, p=weights)
    return whole_table.take(picked).replace_schema_metadata({"distpriv": WHAT_SYNTHETIC_ROWS_ARE})


def _of_means(model: QueryModel) -> tuple[Query, int]:
    """Return the query and the records of a model that rows can be weighed for."""
    query, records = model.query, model.provenance.records
    if query is None or records is None or model.simulator is None:
        raise InvalidInput("synthetic rows need a reference, and this model has none: make it with distpriv.model(…).")
    odd = next((name for name, statistic in query.statistics if not statistic.is_mean), None)
    if odd is not None:
        raise InvalidInput(
            f"statistic {odd!r} is no mean or count of rows, and only these can be met by weighing rows: release means "
            "and counts to draw synthetic rows."
        )
    return query, records


def _weighed(model: QueryModel, prior: Mapping[str, float]) -> Iterator[tuple[pa.Table, Floats, Floats]]:
    """Yield the tables that scenarios draw from: whole rows, what statistics read of them, and how often each comes."""
    assert model.simulator is not None
    tables = model.simulator.tables
    for table in {id(table): table for table in tables.values()}.values():
        rows, pool = table.whole_rows()
        weights = np.zeros(pool.size)
        for name, scenario in model.scenarios.items():
            if tables[name] is not table:
                continue
            if scenario.tilt is not None:
                weights += prior[name] * table.weights_of(scenario.tilt, pool)
                continue
            for satisfied, size in scenario.strata:
                stratum = pool.positions(scenario.predicate, satisfied)
                counts = np.ones(len(stratum)) if table.weight is None else pool.properties[table.weight][stratum]
                weights[stratum] += prior[name] * size / scenario.records * counts / max(counts.sum(), 1e-300)
        yield _as_they_are(table, rows), pool.numbers.T, weights


def _as_they_are(table: ReferenceTable, rows: pa.Table) -> pa.Table:
    """Return the columns of a table, by their own names."""
    names = table.engine.schema.names
    named = rows.select([f"t{k}" for k in range(len(names))]).rename_columns(names)
    return named.drop_columns([SECOND]) if SECOND in names else named
