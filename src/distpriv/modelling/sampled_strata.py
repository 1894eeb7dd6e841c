"""The strata of a reference that is a sample: how many rows each has, and how much these vary.

A stratum of N rows tells its mean but for an error with covariance V/N, V that of one row. Datasets of all scenarios
are drawn from the same strata, so that one error moves the means of all of them, each by as many times as it has rows
of the stratum. All of this is in a few numbers, so that a bundle holds what a certificate allows for.
"""

from collections.abc import Mapping

import numpy as np

from distpriv.errors import InvalidModel, InvalidSecret
from distpriv.framework.arrays import Floats, correlations
from distpriv.framework.scenarios import Scenario
from distpriv.modelling.model import FEWEST_ROWS, NORMAL, OF_SAMPLED_LAWS, SampledStratum
from distpriv.modelling.simulator import DrawnStratum, RowSimulator
from distpriv.modelling.tilting import constraint_errors, effective_rows

__all__ = ["sampled_strata"]


def sampled_strata(
    simulator: RowSimulator, covariances: Mapping[str, Floats], *, exact: bool
) -> tuple[SampledStratum, ...]:
    """Return the strata that the datasets of all scenarios are drawn from; none if the reference is the population.

    Where statistics are no sums over rows, with `exact` moments, what a row adds is taken to vary as much in every
    stratum, so that together rows vary as the statistics do, whose `covariances` are by scenario.
    """
    if simulator.drawing.reference == "population":
        return ()
    families: dict[str, list[Scenario]] = {}
    for scenario in simulator.scenarios.values():
        if scenario.family is not None:
            families.setdefault(scenario.family, []).append(scenario)
    if (families or simulator.drawing.weight is not None) and not exact:
        tilts = [scenario.tilt for scenario in simulator.scenarios.values() if scenario.tilt is not None]
        raise InvalidModel(
            "what a sample leaves open of weighted rows is known of means, counts and totals only: release these, or "
            "say reference='population' if the reference rows are all that records may be.",
            about=("property", tilts[0].what) if tilts else ("option", "weight"),
        )
    loads: dict[str, Floats] = {}
    for scenarios in families.values():
        root = _root(np.concatenate([_influence(simulator, scenario).T for scenario in scenarios]))
        loads |= zip([scenario.name for scenario in scenarios], np.split(root, len(scenarios)), strict=True)
    strata = []
    for key, sizes in simulator.drawn().items():
        name = next(iter(sizes))
        if simulator.has_weights(name):
            _rows(simulator, key, name, exact=True)
            strata.append(_weighted_stratum(simulator, key, sizes, loads.get(name)))
            continue
        if exact:
            covariance, kurtoses = _moments_of_rows(simulator, key, name)
        else:
            of_rows = [covariances[scenario] / simulator.scenarios[scenario].records for scenario in sizes]
            covariance = np.asarray(np.mean(of_rows, axis=0))
            kurtoses = np.full(len(covariance), OF_SAMPLED_LAWS)
        strata.append(
            SampledStratum(
                kind=simulator.scenarios[name].kind_of_rows(key[2]),
                rows=_rows(simulator, key, name, exact=exact),
                covariance=covariance,
                kurtoses=kurtoses,
                drawn=dict(sizes),
            )
        )
    return tuple(strata)


def _rows(simulator: RowSimulator, stratum: DrawnStratum, name: str, *, exact: bool) -> int:
    """Return how many rows a stratum has, if they are more than one."""
    (_, predicate, side, _), scenario = stratum, simulator.scenarios[name]
    pool = None if exact else simulator.pool(name)
    table = simulator.tables[name]
    rows = table.stratum_rows(predicate, side) if pool is None else len(pool.positions(predicate, side))
    if rows < FEWEST_ROWS:
        raise InvalidSecret(
            f"the reference has {rows} of the {scenario.rows_in_words(side)} that scenario {name!r} draws from, and a "
            "sample of a single row tells nothing of how much others differ from it: give more rows, or say "
            "reference='population'.",
            about=("scenario", name) if predicate is None else ("share", predicate),
        )
    return rows


def _moments_of_rows(simulator: RowSimulator, stratum: DrawnStratum, name: str) -> tuple[Floats, Floats]:
    """Return the covariance of what a row adds, and its kurtoses among the rows of a probe."""
    (_, predicate, side, _), table = stratum, simulator.tables[name]
    records = simulator.scenarios[name].records
    moved = simulator.query.factors(records) / records
    seen = table.probe.numbers[:, table.probe.positions(predicate, side)].T
    return np.outer(moved, moved) * table.moments(predicate)[side].covariance, _kurtoses(seen)


def _weighted_stratum(
    simulator: RowSimulator, stratum: DrawnStratum, sizes: Mapping[str, int], loads: Floats | None
) -> SampledStratum:
    r"""Return a stratum of rows with weights: variances are known as an effective number of rows, 1/Σw², knows them.

    Where a column gives the weights, its mean is off by the sum over rows of :math:`w_i (x_i - μ)`, whether or not
    weights go with the statistics; `loads` are those of a property's values.
    """
    scenario = simulator.scenarios[next(iter(sizes))]
    of = simulator.rows_of(scenario.name, stratum[2])
    weights, centred = of.shares, of.about_mean
    kind, effective = scenario.kind_of_rows(stratum[2]), effective_rows(weights)
    rows = max(2, int(effective))
    squares = centred**2 / np.where(of.variances > 0, of.variances, 1.0)
    return SampledStratum(
        kind=kind,
        rows=rows,
        covariance=of.covariance * rows / (rows - 1),
        kurtoses=np.clip(1 + effective * (weights**2 @ (squares - 1) ** 2), NORMAL, max(NORMAL, rows)),
        drawn=dict(sizes),
        family=scenario.family or kind,
        loads=_root((weights[:, np.newaxis] * centred).T) if loads is None else loads,
    )


def _influence(simulator: RowSimulator, scenario: Scenario) -> Floats:
    r"""Return by how much each row of the reference moves the weighted mean of what one row adds, one row each.

    A row's weight and the tilt both depend on the sample. To the first order the weighted mean is off by a sum over
    rows of :math:`w_i (x_i - μ - B (g_i - t)) + B \dot t_i / N`, B the regression of x on g: the same rows for all
    values of a property, whose errors therefore go together. Where a column gives rows weights b, the last term has b
    in place of 1/N.
    """
    assert scenario.tilt is not None
    (stratum,), of = simulator.strata(scenario.name), simulator.rows_of(scenario.name, True)
    features, weights, rows = of.values, of.shares, stratum.rows
    pool, base = simulator.pool(scenario.name), simulator.tables[scenario.name].base
    numbers = np.array([pool.properties[text][rows] for text in scenario.tilt.numbers])
    counts = np.full(len(weights), 1 / len(weights)) if base is None else base[rows]
    away, changes = constraint_errors(scenario.tilt, numbers, counts)
    centred = features - weights @ features
    units, correlation = correlations((away.T * weights) @ away)
    inverse = np.linalg.pinv(correlation, rcond=1e-10, hermitian=True) / np.outer(units, units)
    slopes = inverse @ ((away.T * weights) @ centred)
    return np.asarray(weights[:, np.newaxis] * (centred - away @ slopes) + counts[:, np.newaxis] * (changes @ slopes))


def _root(influences: Floats) -> Floats:
    """Return R with RRᵀ = ΨΨᵀ, and as many columns as rows, whatever their units."""
    return np.asarray(np.linalg.qr(influences.T)[1], dtype=np.float64).T


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
