"""From a table of rows to a model: exact moments where there is a closed form, sampling elsewhere."""

from collections.abc import Iterable, Iterator, Mapping
from numbers import Real
from typing import Any, TypeGuard

import numpy as np
from attrs import evolve, frozen

from distpriv.errors import InvalidModel, InvalidQuery
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import items, whole
from distpriv.framework.queries import Query
from distpriv.framework.scenarios import ProtectedScenarios
from distpriv.framework.secrets import Secret, across_references, protect
from distpriv.framework.tilts import Tilt
from distpriv.modelling.drawing import Drawing, Method, Missing, Reference
from distpriv.modelling.given import empirical_distribution
from distpriv.modelling.model import Provenance, QueryDistribution, QueryModel
from distpriv.modelling.reference import ReferenceTable, StratumMoments, different, row_ends
from distpriv.modelling.row_lattice import joint_lattice, resolution
from distpriv.modelling.sampled_strata import sampled_strata
from distpriv.modelling.simulator import RowSimulator, opened_tables, refuse_too_few_rows
from distpriv.modelling.tables import gathered, labelled
from distpriv.progress import Progress, silent

__all__ = ["dataset_moments", "exact_distribution", "model", "remodelled"]


def model(
    source: Any,
    query: Query,
    secret: Secret | Iterable[Secret],
    *,
    records: int,
    method: Method = "auto",
    replacement: bool | None = None,
    missing: Missing = "refuse",
    reference: Reference = "sample",
    draws: int = 5000,
    seed: int = 0,
    weight: str | None = None,
    robust: float | Iterable[Any] | None = None,
    processes: int | None = None,
    progress: Progress | None = None,
) -> QueryModel:
    """Model the released statistics under every scenario of one or several secrets.

    Args:
        source: the reference table: a path or glob of CSV or Parquet files, ``"duckdb:FILE?table=NAME"``, a DuckDB
            relation, ``"spark:MASTER?path=PATH"`` or ``"spark:MASTER?table=NAME"``, a Spark DataFrame, or a pandas,
            polars or pyarrow table; None when every secret brings tables of its own.
        query: the statistics to release.
        secret: what to protect: a Share, a Mean, a Quantile, a Correlation, Combinations of these, a Shift, Scenarios,
            or a list of them.
        records: how many records the private dataset has.
        method: "exact" or "sampling"; by default exact moments when every statistic is a mean of a row expression.
        replacement: whether the same reference row may be in a dataset twice. Records of the population behind a sample
            are independent, so that it may. Where the reference is the population itself it may not, unless rows have
            weights (a `weight`, or a Mean, a Quantile or a Correlation among the secrets), `robust` is a number, or
            True is given.
        missing: "refuse" nulls and NaN in used columns of the reference, or "drop" every row of it that has a null or
            NaN in any of its columns, used or not, so that no statistic chooses the rows that noise is made from. Rows
            of the private table are never dropped, and one without a value is read as the median of the reference's:
            so it is refused where one side of a share has more such rows, and beside weights and tables of scenarios.
        reference: what the reference rows are: a random "sample" of an endless population that records come from, so
            that records are independent, there may be more of them than rows, and noise allows for what so many rows
            leave open; or the "population" itself, exactly as it is.
        draws: how many datasets to sample per scenario, where sampling is used.
        seed: the same seed gives the same sampled numbers, on any number of processes.
        weight: a column, or a number as SQL text, that says how many people each reference row stands for, as surveys
            have it: rows are then drawn independently, in proportion to it. Private rows have none.
        robust: other public tables that the records may be like instead of the reference, any kind of source each:
            scenarios of all references are then protected from each other, so that the noise is for whichever is right.
            Or a number, such as 1e-7: the relative entropy that the law of a record may have to the one modelled,
            either way round and in every scenario, for which mechanisms make their noise and state what they promise
            (`exact_delta` and the like are of the law in the middle); or a list of tables and such a number.
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
    others = (robust,) if _is_number(robust) else items(robust)
    radii = [value for value in others if _is_number(value)]
    if len(radii) > 1:
        raise InvalidModel(f"robust has one number, the radius of a ball, got {radii}: give the largest alone.")
    drawing = Drawing(
        method=method,
        **({} if replacement is None else {"replacement": replacement}),
        missing=missing,
        reference=reference,
        draws=draws,
        seed=seed,
        weight=weight,
        robust=radii[0] if radii else None,
    )
    if method == "exact" and not query.has_exact_moments:
        tables = [name for name, table in query.tables if not table.adds_up]
        odd = [*tables, *(name for name, statistic in query.statistics if not statistic.is_mean)][0]
        raise InvalidModel(
            f"statistic {odd!r} is not a mean of a row expression: use method='sampling' for it.",
            about=("statistic", odd),
        )
    records = whole("records", records, InvalidModel, at_least=1, cure="it is the size of the private dataset")
    tables_besides = [value for value in others if not _is_number(value)] or (None if radii else robust)
    protected = protect(across_references(secret, tables_besides), records)
    if processes is not None:
        processes = whole("processes", processes, InvalidModel, at_least=1, cure="leave it out to use every core")
    return _modelled(
        source,
        query,
        protected,
        drawing.for_scenarios(protected, asked=replacement is not None),
        exact=method != "sampling" and query.has_exact_moments,
        processes=processes,
        progress=progress or silent,
    )


def _is_number(value: object) -> TypeGuard[Real]:
    return isinstance(value, Real) and not isinstance(value, bool)


def remodelled(model: QueryModel, query: Query) -> QueryModel:
    """Return a model of other statistics in the same scenarios, drawn from the same tables in the same way."""
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
        raise InvalidModel("the secret needs a reference table to draw records from: give it as the source.")
    sources = {name: source if s.table is None else s.table for name, s in protected.scenarios.items()}
    if not any(isinstance(table, Mapping) for table in sources.values()):  # which is refused below
        query = gathered(query, source, protected, drawing)
        query = labelled(query, different(sources.values()), drawing.missing)
    tables = opened_tables(sources, protected.scenarios, query, drawing)
    simulator = RowSimulator(
        query=query,
        scenarios=protected.scenarios,
        tables=tables,
        drawing=drawing,
        processes=processes,
        progress=progress,
    )
    law = exact_distribution if exact else _sampled_distribution
    distributions = {name: law(simulator, name) for name in protected.scenarios}
    strata = list(varying_strata(simulator))
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
            sources=tuple(dict.fromkeys(table.engine.description for table in tables.values())),
        ),
        query=query,
        scenarios=protected.scenarios,
        strata=sampled_strata(simulator, {name: of.covariance for name, of in distributions.items()}, exact=exact),
        simulator=simulator,
    )


def exact_distribution(simulator: RowSimulator, name: str) -> QueryDistribution:
    """Return the law of statistics that are means of rows in a scenario, by their exact moments."""
    scenario = simulator.scenarios[name]
    if simulator.has_weights(name):
        strata = [(size, simulator.rows_of(name, side)) for side, size in scenario.strata]
        mean = np.sum([size * rows.mean for size, rows in strata], axis=0)
        return QueryDistribution(
            mean=mean, covariance=np.sum([size * rows.covariance for size, rows in strata], axis=0)
        )
    moments = simulator.tables[name].moments(scenario.predicate)
    drawn = [(moments[satisfied], size) for satisfied, size in scenario.strata]
    if not simulator.replacement:
        refuse_too_few_rows(scenario, [stratum.rows for stratum, _ in drawn])
    factors = simulator.query.factors(scenario.records)
    mean, covariance = dataset_moments(drawn, factors, replacement=simulator.replacement)
    return QueryDistribution(mean=mean, covariance=covariance)


def dataset_moments(
    strata: Iterable[tuple[StratumMoments, float]], factors: Floats, *, replacement: bool
) -> tuple[Floats, Floats]:
    r"""Return mean and covariance of `factors` times the mean of all rows, with n_s rows drawn from stratum s.

    .. math:: μ = Σ_s \frac{n_s}{n} m_s, \qquad
              Σ = Σ_s \Bigl(\frac{n_s}{n}\Bigr)^2 \Bigl(1 - \frac{n_s}{N_s}\Bigr) \frac{S_s}{n_s}

    With replacement the rows are independent: no factor 1 − n_s/N_s, and the variance of one row has divisor N_s.
    """
    drawn = [(stratum, size) for stratum, size in strata if size > 0]
    records = sum(size for _, size in drawn)
    if not drawn:
        raise InvalidModel("a dataset needs at least one record: give records=100, say.")
    mean, covariance = np.zeros_like(factors), np.zeros((len(factors), len(factors)))
    for stratum, size in drawn:
        shrink = (stratum.rows - 1) / stratum.rows if replacement else 1 - size / stratum.rows
        mean += (size / records) * stratum.mean
        covariance += (size / records) ** 2 * (shrink * stratum.covariance / size)
    return factors * mean, np.outer(factors, factors) * covariance


def _sampled_distribution(simulator: RowSimulator, name: str) -> QueryDistribution:
    sampled = simulator.samples(name, simulator.drawing.draws, simulator.drawing.seed)
    return empirical_distribution(sampled, None, f"scenario {name!r}", sampled=True)


@frozen(kw_only=True)
class VaryingStrata:
    """Strata that the datasets of some scenarios vary by and by no others, seen through some or all of their rows."""

    values: list[Floats]
    """What SQL evaluates in the rows of each stratum, one number a row."""
    weights: list[Floats | None]
    """The probability of each of these rows, of each stratum; None where all are as likely."""
    drawn: dict[str, tuple[int, ...]]
    """How many rows of each stratum the datasets of each scenario have."""
    resolutions: list[float]
    """The spacing of the rows in every number; 0 for one that is continuous."""


def varying_strata(simulator: RowSimulator) -> Iterator[VaryingStrata]:
    """Yield the strata that scenarios draw from; one that is drawn in full without replacement does not vary."""
    groups: dict[tuple[int, str | None, tuple[bool, ...], Tilt | None], dict[str, tuple[int, ...]]] = {}
    for name, scenario in simulator.scenarios.items():
        table, sizes = simulator.tables[name], {side: size for side, size in scenario.strata if size > 0}
        if not simulator.replacement:
            sizes = {s: size for s, size in sizes.items() if size < table.stratum_rows(scenario.predicate, s)}
        key = (id(table), scenario.predicate, tuple(sizes), scenario.tilt)
        groups.setdefault(key, {})[name] = tuple(sizes.values())
    for (_, predicate, sides, tilt), drawn in groups.items():
        table = simulator.tables[next(iter(drawn))]
        counts = table.base if tilt is None else table.weights(tilt)
        seen = table.probe if counts is None else table.pool
        rows = [seen.positions(predicate, side) for side in sides]
        if counts is not None:
            rows = [own[counts[own] > 0] for own in rows]
        weights = [None if counts is None else counts[own] / counts[own].sum() for own in rows]
        values = [seen.numbers[:, own] for own in rows]
        resolutions = []
        for number, (_, row) in enumerate(simulator.query.row_values):
            of_strata = [stratum[number] for stratum in values]
            if row.predicate:
                resolutions.append(1.0)
            elif any(len(stratum) and np.ptp(stratum) > 0 for stratum in of_strata):
                resolutions.append(resolution(of_strata, list(drawn.values()), weights))
            else:  # the rows that are seen do not vary: the widest step that it could be
                moments = [table.moments(predicate)[side] for side in sides]
                resolutions.append(max((float(of.high[number] - of.low[number]) for of in moments), default=0.0))
        yield VaryingStrata(values=values, weights=weights, drawn=drawn, resolutions=resolutions)


def _steps(
    query: Query, strata: list[VaryingStrata], distributions: Mapping[str, QueryDistribution], records: int
) -> Floats:
    """Return the spacing of every released number: the coarser of what is declared and what the rows or values show."""
    units = [
        max([row.resolution or 0.0, *(varying.resolutions[number] for varying in strata)])
        for number, (_, row) in enumerate(query.row_values)
    ]
    points = [law.points for law in distributions.values() if law.points is not None]
    steps: list[float] = []

    def spacings(number: int) -> list[float]:
        return [resolution([of_scenario[:, number]], [[1]]) for of_scenario in points]

    for _, statistic, resolutions in query.by_rows(units):
        numbers = range(len(steps), len(steps) + statistic.size)
        # What is no sum over rows is spaced as its sampled values are, the coarsest of all scenarios.
        steps += statistic.steps(records, resolutions or [max(spacings(number)) for number in numbers])
    return np.array(steps)


def _with_lattices(
    query: Query, strata: list[VaryingStrata], distributions: Mapping[str, QueryDistribution], records: int
) -> dict[str, QueryDistribution]:
    """Add to every distribution the lattice of its datasets: rows of one stratum may replace each other."""
    lattices: dict[str, Floats] = {}
    declared = [row.resolution or 0.0 for _, row in query.row_values]
    for varying in strata:
        spacings = [unit or least for unit, least in zip(varying.resolutions, declared, strict=True)]
        units = np.concatenate([statistic.steps(records, own) for _, statistic, own in query.by_rows(spacings)])
        coarse = units > 0
        moves = [values.T * (query.factors(records) / records) for values in varying.values]
        steps = [np.round((of - of[:1])[:, coarse] / units[coarse]).astype(np.int64) for of in moves]
        basis = joint_lattice(steps, tuple(varying.drawn.values()), int(coarse.sum()), varying.weights)
        embedded = np.zeros((len(units), basis.shape[1]))
        embedded[coarse] = units[coarse, np.newaxis] * basis
        lattices |= dict.fromkeys(varying.drawn, embedded)
    return {name: evolve(law, lattice=lattices[name]) for name, law in distributions.items()}


def _record_sensitivities(query: Query, tables: Mapping[str, ReferenceTable], records: int) -> Floats:
    """Return how much one record can move each statistic, between declared bounds or those of the reference rows."""
    ends = []
    for (name, row), least, greatest in zip(query.row_values, *row_ends(query, tables.values()), strict=True):
        low, high = row.bounds or (float(least), float(greatest))
        if low > least or high < greatest:
            raise InvalidQuery(
                f"statistic {name!r} declares bounds ({low:g}, {high:g}), and the reference table has values"
                f" from {least:g} to {greatest:g}: widen them, or clip it with greatest and least.",
                about=("statistic", name),
            )
        ends.append((low, high))
    return np.concatenate([statistic.record_sensitivities(records, own) for _, statistic, own in query.by_rows(ends)])
