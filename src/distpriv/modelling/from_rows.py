"""From a table of rows to a model: exact moments where there is a closed form, sampling elsewhere."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from attrs import evolve

from distpriv.errors import InvalidModel, InvalidQuery
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import whole
from distpriv.framework.queries import Query
from distpriv.framework.scenarios import ProtectedScenarios
from distpriv.framework.secrets import Secret, protect
from distpriv.modelling.drawing import Drawing, Method, Missing, Reference
from distpriv.modelling.drawn_strata import DrawnStrata, drawn_strata
from distpriv.modelling.exact_moments import dataset_moments
from distpriv.modelling.given import empirical_distribution
from distpriv.modelling.model import Provenance, QueryDistribution, QueryModel
from distpriv.modelling.reference import ReferenceTable
from distpriv.modelling.row_lattice import joint_lattice, resolution
from distpriv.modelling.sampled_strata import sampled_strata
from distpriv.modelling.simulator import RowSimulator, opened_tables, refuse_too_few_rows
from distpriv.progress import Progress, silent

__all__ = ["model", "remodelled"]


def model(
    source: Any,
    query: Query,
    secret: Secret | Iterable[Secret],
    *,
    records: int,
    method: Method = "auto",
    replacement: bool = False,
    missing: Missing = "refuse",
    reference: Reference = "sample",
    draws: int = 5000,
    seed: int = 0,
    pool: int | None = None,
    key: str | None = None,
    processes: int | None = None,
    progress: Progress | None = None,
) -> QueryModel:
    """Model the released statistics under every scenario of one or several secrets.

    Args:
        source: the reference table: a path or glob of CSV or Parquet files, ``"duckdb:FILE?table=NAME"``, a DuckDB
            relation, ``"spark:MASTER?path=PATH"`` or ``"spark:MASTER?table=NAME"``, a Spark DataFrame, or a pandas,
            polars or pyarrow table; None when every secret brings tables of its own.
        query: the statistics to release.
        secret: what to protect: a Share, Scenarios, or a list of them.
        records: how many records the private dataset has.
        method: "exact" or "sampling"; by default exact moments when every statistic is a mean of a row expression.
        replacement: whether the same reference row may be in a dataset twice.
        missing: "refuse" nulls and NaN in used columns of the reference, or "drop" every row of it that has a null or
            NaN in any of its columns, used or not, so that no statistic chooses the rows that noise is made from. Rows
            of the private table are never dropped, and one without a value is read as the median of the reference's.
        reference: what the reference rows are: a random "sample" of the population that records come from, so that
            noise allows for what so many rows leave open, or the "population" itself, exactly as it is.
        draws: how many datasets to sample per scenario, where sampling is used.
        seed: the same seed gives the same sampled numbers, on any number of processes.
        pool: how many rows of each stratum to hold in memory, chosen at random, where datasets have to be drawn; by
            default all rows of a table of up to two million, and a million of each stratum of a larger one.
        key: a column with another whole number or text in every row, to choose those rows by; the same rows are then
            chosen on every engine, in whatever order the table is read.
        processes: how many processes slow functions may use; every core when not given.
        progress: told as sampling goes on.

    >>> import distpriv as dp
    >>> model = dp.model(
    ...     dp.datasets.adult(),
    ...     dp.Query(mean_age=dp.mean("age"), never_married=dp.count("marital_status = 'Never-married'")),
    ...     dp.Share("income = '>50K'", values=(0.45, 0.55)),
    ...     records=100,
    ... )
    >>> model.distributions["income = '>50K' @ 0.45"].mean.round(4)
    array([40.0149, 25.2857])
    >>> model.steps
    array([0.01, 1.  ])
    """
    if not isinstance(query, Query):
        raise InvalidModel(f"query must be a Query, got {query!r}: write Query(mean_age=mean('age')).")
    drawing = Drawing(
        method=method,
        replacement=replacement,
        missing=missing,
        reference=reference,
        draws=draws,
        seed=seed,
        pool=pool,
        key=key,
    )
    if method == "exact" and not query.has_exact_moments:
        odd = next(name for name, statistic in query.statistics if not statistic.is_mean)
        raise InvalidModel(
            f"statistic {odd!r} is not a mean of a row expression: use method='sampling' for it.",
            about=("statistic", odd),
        )
    records = whole("records", records, InvalidModel, at_least=1, cure="it is the size of the private dataset")
    if processes is not None:
        processes = whole("processes", processes, InvalidModel, at_least=1, cure="leave it out to use every core")
    return _modelled(
        source,
        query,
        protect(secret, records),
        drawing,
        exact=method != "sampling" and query.has_exact_moments,
        processes=processes,
        progress=progress or silent,
    )


def remodelled(model: QueryModel, query: Query) -> QueryModel:
    """Return a model of other statistics in the same scenarios, drawn from the same tables in the same way.

    Raises:
        InvalidModel: the model was not made from rows.
    """
    simulator = model.simulator
    if simulator is None:
        raise InvalidModel("other statistics need rows, and this model has none: make it with distpriv.model(…).")
    shares = [name for name, scenario in model.scenarios.items() if scenario.table is None]
    return _modelled(
        simulator.tables[shares[0]].engine if shares else None,
        query,
        ProtectedScenarios(scenarios=model.scenarios, pairs=model.protected_pairs),
        model.provenance.drawing,
        exact=query.has_exact_moments,
        processes=simulator.processes,
        progress=simulator.progress,
    )


def _modelled(
    source: Any,
    query: Query,
    protected: ProtectedScenarios,
    drawing: Drawing,
    *,
    exact: bool,
    processes: int | None,
    progress: Progress,
) -> QueryModel:
    """Model a query in given scenarios, with exact moments or by sampling."""
    records = protected.records
    if source is None and any(scenario.table is None for scenario in protected.scenarios.values()):
        raise InvalidModel("a Share needs a reference table to draw its records from: give it as the source.")
    sources = {name: source if s.table is None else s.table for name, s in protected.scenarios.items()}
    tables = opened_tables(sources, protected.scenarios, query, drawing)
    simulator = RowSimulator(
        query=query,
        scenarios=protected.scenarios,
        tables=tables,
        drawing=drawing,
        processes=processes,
        progress=progress,
    )
    law = _exact_distribution if exact else _sampled_distribution
    distributions = {name: law(simulator, name) for name in protected.scenarios}
    strata = drawn_strata(simulator)
    return QueryModel(
        names=query.names,
        distributions=_with_lattices(query, strata, distributions, records) if exact else distributions,
        protected_pairs=protected.pairs,
        steps=_steps(query, strata, distributions, records),
        record_sensitivities=_record_sensitivities(query, tables, records),
        provenance=Provenance(
            method="exact moments" if exact else "sampling",
            records=records,
            drawing=drawing,
            draws=None if exact else drawing.draws,
            pools=() if exact else simulator.pools(),
            sources=tuple(dict.fromkeys(table.engine.description for table in tables.values())),
        ),
        query=query,
        scenarios=protected.scenarios,
        strata=sampled_strata(simulator, {name: of.covariance for name, of in distributions.items()}, exact=exact),
        simulator=simulator,
    )


def _exact_distribution(simulator: RowSimulator, name: str) -> QueryDistribution:
    scenario = simulator.scenarios[name]
    moments = simulator.tables[name].moments(scenario.predicate)
    strata = [(moments[satisfied], size) for satisfied, size in scenario.strata]
    if not simulator.replacement:
        refuse_too_few_rows(scenario, [stratum.rows for stratum, _ in strata])
    factors = simulator.query.factors(scenario.records)
    mean, covariance = dataset_moments(strata, factors, replacement=simulator.replacement)
    return QueryDistribution(mean=mean, covariance=covariance)


def _sampled_distribution(simulator: RowSimulator, name: str) -> QueryDistribution:
    sampled = simulator.samples(name, simulator.drawing.draws, simulator.drawing.seed)
    return empirical_distribution(sampled, None, f"scenario {name!r}", sampled=True)


def _steps(
    query: Query, strata: list[DrawnStrata], distributions: Mapping[str, QueryDistribution], records: int
) -> Floats:
    """Return the spacing of every released number: the coarser of what is declared and what the rows or values show."""
    found = [
        max([row.resolution or 0.0, *(drawn.resolutions[place] for drawn in strata)])
        for place, (_, row) in enumerate(query.row_values)
    ]
    steps: list[float] = []
    for _, statistic, resolutions in query.by_rows(found):
        numbers = range(len(steps), len(steps) + statistic.size)
        steps += statistic.steps(records, resolutions or [_step_of_values(distributions, number) for number in numbers])
    return np.array(steps)


def _step_of_values(distributions: Mapping[str, QueryDistribution], column: int) -> float:
    """Return the spacing of sampled values of one released number, the coarsest of all scenarios."""
    sampled = [d.points[:, column] for d in distributions.values() if d.points is not None]
    return max(resolution([values], [[1]]) for values in sampled)


def _with_lattices(
    query: Query, strata: list[DrawnStrata], distributions: Mapping[str, QueryDistribution], records: int
) -> dict[str, QueryDistribution]:
    """Add to every law the lattice that its datasets live on: rows of one stratum may replace each other."""
    lattices: dict[str, Floats] = {}
    for drawn in strata:
        declared = [row.resolution or 0.0 for _, row in query.row_values]
        found = [unit or least for unit, least in zip(drawn.resolutions, declared, strict=True)]
        units = np.concatenate([statistic.steps(records, own) for _, statistic, own in query.by_rows(found)])
        coarse = units > 0
        moves = drawn.table.probe.numbers.T * (query.factors(records) / records)
        steps = [np.round((moves[rows] - moves[rows[:1]])[:, coarse] / units[coarse]) for rows in drawn.rows()]
        basis = joint_lattice([rows.astype(np.int64) for rows in steps], drawn.sizes, int(coarse.sum()))
        embedded = np.zeros((len(units), basis.shape[1]))
        embedded[coarse] = units[coarse, np.newaxis] * basis
        lattices |= dict.fromkeys(drawn.scenarios, embedded)
    return {name: evolve(law, lattice=lattices[name]) for name, law in distributions.items()}


def _record_sensitivities(query: Query, tables: Mapping[str, ReferenceTable], records: int) -> Floats:
    """Return how much one record can move each statistic, between declared bounds or those of the reference rows."""
    extremes = [table.extremes() for table in {id(table): table for table in tables.values()}.values()]
    low, high = np.min([low for low, _ in extremes], axis=0), np.max([high for _, high in extremes], axis=0)
    ends = []
    for (name, row), least, greatest in zip(query.row_values, low.tolist(), high.tolist(), strict=True):
        bounds = row.bounds or (least, greatest)
        if bounds[0] > least or bounds[1] < greatest:
            raise InvalidQuery(
                f"statistic {name!r} declares bounds ({bounds[0]:g}, {bounds[1]:g}), and the reference table has values"
                f" from {least:g} to {greatest:g}: widen them, or clip it with greatest and least.",
                about=("statistic", name),
            )
        ends.append(bounds)
    return np.concatenate([statistic.record_sensitivities(records, own) for _, statistic, own in query.by_rows(ends)])
