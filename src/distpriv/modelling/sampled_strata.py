"""The strata of a reference that is a sample: how many rows each has, and how much these vary.

A stratum of N rows tells its mean but for an error with covariance V/N, V that of one row. Datasets of all scenarios
are drawn from the same strata, so that one error moves the means of all of them, each by as many times as it has rows
of the stratum. All of this is in a few numbers, so that a bundle holds what a certificate allows for.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats, array_field
from distpriv.framework.scenarios import Scenario
from distpriv.modelling.simulator import RowSimulator

__all__ = ["NORMAL", "OF_SAMPLED_LAWS", "SampledStratum", "drawn_rows", "row_covariance", "sampled_strata"]

Stratum = tuple[Hashable, str | None, bool]
"""A table, a predicate, and whether rows satisfy it."""

OF_SAMPLED_LAWS = 9.0
"""The kurtosis that is taken for rows whose statistics are no sums over rows: that of an exponential law."""

NORMAL = 3.0
"""The kurtosis of a normal law: what rows are too few to tell, and the least that is taken."""


@frozen(kw_only=True)
class SampledStratum:
    """Rows of the reference that datasets are drawn from, seen as a sample of more such rows.

    >>> stratum = SampledStratum(kind="rows", rows=400, covariance=[[4.0]], kurtoses=[3.0], drawn={"a": 40, "b": 60})
    >>> stratum.error
    array([[0.01]])
    >>> SampledStratum.from_dict(stratum.to_dict()) == stratum
    True
    """

    kind: str
    """What rows they are, in words."""
    rows: int
    """How many the reference has: N."""
    covariance: Floats = array_field()
    """V, the covariance of what one row adds to the statistics."""
    kurtoses: Floats = array_field()
    """Of what a row adds to each statistic, at least 3: the relative variance of its variance is κ − 1 over N."""
    drawn: Mapping[str, int]
    """How many such rows the datasets of each scenario have."""

    @property
    def error(self) -> Floats:
        """The covariance of the error of the mean of what one row adds: V/N."""
        return np.asarray(self.covariance / self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, lists and text."""
        return {
            "kind": self.kind,
            "rows": self.rows,
            "covariance": self.covariance.tolist(),
            "kurtoses": self.kurtoses.tolist(),
            "drawn": dict(self.drawn),
        }

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Self:
        """Return the stratum that `to_dict` wrote down."""
        return cls(**{name: written[name] for name in ("kind", "rows", "covariance", "kurtoses", "drawn")})


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
    tables, replacement = simulator.tables, simulator.replacement
    drawn = drawn_rows(simulator.scenarios, {name: id(table) for name, table in tables.items()})
    rows = {key: tables[next(iter(sizes))].stratum_rows(*key[1:]) for key, sizes in drawn.items()}
    each: dict[str, list[tuple[int, int]]] = {name: [] for name in covariances}
    for key, sizes in drawn.items():
        for name, size in sizes.items():
            each[name].append((size, rows[key]))
    strata = []
    for key, sizes in drawn.items():
        _, predicate, side = key
        scenario, table = simulator.scenarios[next(iter(sizes))], tables[next(iter(sizes))]
        if exact:
            moved = simulator.query.factors(scenario.records) / scenario.records
            covariance = np.outer(moved, moved) * table.moments(predicate)[side].covariance
            kurtoses = _kurtoses(table.probe.numbers[:, table.probe.positions(predicate, side)].T)
        else:
            covariance = row_covariance({name: covariances[name] for name in sizes}, each, replacement=replacement)
            kurtoses = np.full(len(covariance), OF_SAMPLED_LAWS)
        kind = scenario.kind_of_rows(side)
        strata.append(
            SampledStratum(kind=kind, rows=rows[key], covariance=covariance, kurtoses=kurtoses, drawn=dict(sizes))
        )
    return tuple(strata)


def drawn_rows(scenarios: Mapping[str, Scenario], tables: Mapping[str, Hashable]) -> dict[Stratum, dict[str, int]]:
    """Return how many rows of every stratum the datasets of each scenario have.

    Args:
        scenarios: by name.
        tables: what tells the table of each scenario from those of others.
    """
    drawn: dict[Stratum, dict[str, int]] = {}
    for name, scenario in scenarios.items():
        for side, size in scenario.strata:
            if size > 0:
                drawn.setdefault((tables[name], scenario.predicate, side), {})[name] = size
    return drawn


def row_covariance(
    covariances: Mapping[str, Floats], drawn: Mapping[str, Sequence[tuple[int, int]]], *, replacement: bool
) -> Floats:
    """Return the covariance of what one row adds, if rows of all strata vary alike, and together as statistics do.

    Args:
        covariances: those of the statistics in some scenarios.
        drawn: how many rows of how many the datasets of each scenario have, for every stratum.
        replacement: whether a row may be drawn twice; if not, drawing most rows of a stratum leaves little to vary.
    """
    found = []
    for name, covariance in covariances.items():
        varying = sum(size if replacement else size * (1 - size / rows) for size, rows in drawn[name])
        found.append(covariance / max(varying, 1.0))
    return np.asarray(np.mean(found, axis=0))


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
