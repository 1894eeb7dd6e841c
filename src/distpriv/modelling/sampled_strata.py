"""The strata of a reference that is a sample: how many rows each has, and how much these vary.

A stratum of N rows tells its mean but for an error with covariance V/N, V that of one row. Datasets of all scenarios
are drawn from the same strata, so that one error moves the means of all of them, each by as many times as it has rows
of the stratum. All of this is in a few numbers, so that a bundle holds what a certificate allows for.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from distpriv.errors import InvalidModel, InvalidSecret
from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Scenario
from distpriv.modelling.coupling import row_features
from distpriv.modelling.model import FEWEST_ROWS, NORMAL, OF_SAMPLED_LAWS, SampledStratum
from distpriv.modelling.moments import weighted_covariance
from distpriv.modelling.sampling import Stratum as RowsDrawn
from distpriv.modelling.simulator import RowSimulator
from distpriv.modelling.tilting import constraint_errors, effective_rows

__all__ = [
    "row_covariance",
    "sampled_strata",
]


def sampled_strata(
    simulator: RowSimulator, covariances: Mapping[str, Floats], *, exact: bool
) -> tuple[SampledStratum, ...]:
    """Return the strata that the datasets of all scenarios are drawn from; none if the reference is the population.

    Args:
        simulator: what draws datasets.
        covariances: those of the statistics, by scenario.
        exact: whether statistics are sums over rows, whose moments are known; otherwise what a row adds is taken to
            vary as much in every stratum, so that together rows vary as the statistics do.
    """
    if simulator.drawing.reference == "population":
        return ()
    tables = simulator.tables
    drawn = simulator.drawn()
    rows = {
        key: tables[name].stratum_rows(key[1], key[2]) if exact else len(simulator.pool(name).positions(key[1], key[2]))
        for key, (name, *_) in drawn.items()
    }
    records = {name: scenario.records for name, scenario in simulator.scenarios.items()}
    weighted = weighted_strata(simulator, exact=exact)
    strata = []
    for key, sizes in drawn.items():
        _, predicate, side, tilt = key
        scenario, table = simulator.scenarios[next(iter(sizes))], tables[next(iter(sizes))]
        if rows[key] < FEWEST_ROWS:
            raise InvalidSecret(
                f"the reference has {rows[key]} of the {scenario.rows_in_words(side)} that scenario {scenario.name!r} "
                "draws from, and a sample of a single row tells nothing of how much others differ from it: give more "
                "rows, or say reference='population'.",
                about=("scenario", scenario.name) if predicate is None else ("share", predicate),
            )
        if tilt is not None:
            strata.append(weighted[scenario.name])
            continue
        if simulator.drawing.weight is not None:
            strata.append(_counted_stratum(simulator, scenario, side, sizes))
            continue
        if exact:
            moved = simulator.query.factors(scenario.records) / scenario.records
            covariance = np.outer(moved, moved) * table.moments(predicate)[side].covariance
            kurtoses = _kurtoses(table.probe.numbers[:, table.probe.positions(predicate, side)].T)
        else:
            covariance = row_covariance({name: covariances[name] for name in sizes}, records)
            kurtoses = np.full(len(covariance), OF_SAMPLED_LAWS)
        kind = scenario.kind_of_rows(side)
        strata.append(
            SampledStratum(kind=kind, rows=rows[key], covariance=covariance, kurtoses=kurtoses, drawn=dict(sizes))
        )
    return tuple(strata)


def weighted_strata(simulator: RowSimulator, *, exact: bool) -> dict[str, SampledStratum]:
    r"""Return what a sample leaves open of weighted rows, by scenario.

    A row's weight and the tilt both depend on the sample. To the first order the weighted mean is off by a sum over
    rows of :math:`w_i (x_i - μ - B (g_i - t)) + B \dot t_i / N`, B the regression of x on g: the same rows for all
    values of a property, whose errors therefore go together. Variances are known as an effective number of rows,
    :math:`1/\sum w_i^2`, knows them. Where a column gives rows weights b, the last term has b in place of 1/N.

    Raises:
        InvalidModel: statistics are no sums over rows.
    """
    families: dict[str, list[Scenario]] = {}
    for scenario in simulator.scenarios.values():
        if scenario.family is not None:
            families.setdefault(scenario.family, []).append(scenario)
    if (families or simulator.drawing.weight is not None) and not exact:
        raise InvalidModel(
            "what a sample leaves open of weighted rows is known of means, counts and totals only: release these, or "
            "say reference='population' if the reference rows are all that records may be.",
            about=("property", _property(next(iter(families.values())))) if families else ("option", "weight"),
        )
    found = {}
    for family, scenarios in families.items():
        influences = [_influence(simulator, scenario) for scenario in scenarios]
        root = _root(np.concatenate([each.T for each in influences]))
        loads = np.split(root, len(scenarios))
        for scenario, own in zip(scenarios, loads, strict=True):
            found[scenario.name] = _weighted_stratum(simulator, scenario, family, own)
    return found


def _property(scenarios: Sequence[Scenario]) -> str:
    assert scenarios[0].tilt is not None
    return scenarios[0].tilt.what


def _root(influences: Floats) -> Floats:
    """Return R with RRᵀ = ΨΨᵀ, and as many columns as rows, whatever their units."""
    return np.asarray(np.linalg.qr(influences.T)[1], dtype=np.float64).T


def _influence(simulator: RowSimulator, scenario: Scenario) -> Floats:
    """Return by how much each row of the reference moves the weighted mean of what one row adds, one row each."""
    assert scenario.tilt is not None
    features, weights, numbers = _weighted_rows(simulator, scenario)
    base = simulator.tables[scenario.name].base
    counts = np.full(len(weights), 1 / len(weights)) if base is None else base
    away, changes = constraint_errors(scenario.tilt, numbers, counts)
    centred = features - weights @ features
    square = (away.T * weights) @ away
    units = np.sqrt(np.maximum(np.diag(square), 0.0))
    units = np.where(units > 0, units, 1.0)
    inverse = np.linalg.pinv(square / np.outer(units, units), rcond=1e-10, hermitian=True) / np.outer(units, units)
    slopes = inverse @ ((away.T * weights) @ centred)
    return np.asarray(weights[:, np.newaxis] * (centred - away @ slopes) + counts[:, np.newaxis] * (changes @ slopes))


def _counted_stratum(
    simulator: RowSimulator, scenario: Scenario, side: bool, drawn: Mapping[str, int]
) -> SampledStratum:
    r"""Return what a sample leaves open of a stratum whose rows have a column's weights.

    Its mean is off by the sum over rows of :math:`w_i (x_i - μ)`, whether or not weights go with the statistics.
    """
    stratum = simulator.stratum(scenario.name, side)
    features = row_features(simulator.query, simulator.pool(scenario.name), scenario.records)[stratum.rows]
    weights, kind = _probabilities(stratum), scenario.kind_of_rows(side)
    loads = _root((weights[:, np.newaxis] * (features - weights @ features)).T)
    return _described(kind, features, weights, drawn, kind, loads)


def _weighted_stratum(simulator: RowSimulator, scenario: Scenario, family: str, loads: Floats) -> SampledStratum:
    features, weights, _ = _weighted_rows(simulator, scenario)
    drawn = {scenario.name: scenario.records}
    return _described(scenario.kind_of_rows(True), features, weights, drawn, family, loads)


def _described(
    kind: str, features: Floats, weights: Floats, drawn: Mapping[str, int], family: str, loads: Floats
) -> SampledStratum:
    effective = effective_rows(weights)
    rows = max(2, int(effective))
    centred = features - weights @ features
    variances = weights @ centred**2
    squares = centred**2 / np.where(variances > 0, variances, 1.0)
    kurtoses = 1 + effective * (weights**2 @ (squares - 1) ** 2)
    return SampledStratum(
        kind=kind,
        rows=rows,
        covariance=weighted_covariance(centred, weights) * rows / (rows - 1),
        kurtoses=np.clip(kurtoses, NORMAL, max(NORMAL, rows)),
        drawn=dict(drawn),
        family=family,
        loads=loads,
    )


def _weighted_rows(simulator: RowSimulator, scenario: Scenario) -> tuple[Floats, Floats, Floats]:
    """Return what each row adds to the statistics, its weight, and the numbers that it is weighed by."""
    assert scenario.tilt is not None
    pool = simulator.pool(scenario.name)
    (stratum,) = simulator.strata(scenario.name)
    numbers = np.array([pool.properties[text][stratum.rows] for text in scenario.tilt.numbers])
    return row_features(simulator.query, pool, scenario.records)[stratum.rows], _probabilities(stratum), numbers


def _probabilities(stratum: RowsDrawn) -> Floats:
    assert stratum.weights is not None
    return stratum.weights


def row_covariance(covariances: Mapping[str, Floats], records: Mapping[str, int]) -> Floats:
    """Return the covariance of what one row adds, if rows of all strata vary alike, and together as statistics do.

    Args:
        covariances: those of the statistics in some scenarios.
        records: how many rows the datasets of each scenario have.
    """
    return np.asarray(np.mean([covariance / records[name] for name, covariance in covariances.items()], axis=0))


def _kurtoses(rows: Floats) -> Floats:
    """Return the kurtosis of each column of rows, at least that of a normal law.

    >>> _kurtoses(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [1.0, 9.0]]))
    array([3., 3.])
    """
    if not len(rows):
        return np.full(rows.shape[1], NORMAL)
    centred = rows - rows.mean(axis=0)
    variances = (centred**2).mean(axis=0)
    fourth = (centred**4).mean(axis=0) / np.where(variances > 0, variances, 1.0) ** 2
    return np.asarray(np.maximum(fourth, NORMAL))
