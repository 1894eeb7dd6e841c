"""The strata that datasets are drawn from, seen through a sample of their rows: how far apart their values are."""

from functools import cached_property

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats, Rows
from distpriv.framework.queries import Query
from distpriv.framework.statistics import RowValue
from distpriv.framework.tilts import Tilt
from distpriv.modelling.reference import ReferenceTable
from distpriv.modelling.row_lattice import resolution
from distpriv.modelling.row_pool import RowPool
from distpriv.modelling.simulator import RowSimulator

__all__ = ["DrawnStrata", "drawn_strata"]


@frozen(kw_only=True, slots=False)
class DrawnStrata:
    """Strata of one table, and the scenarios whose datasets vary because of these strata and no others."""

    query: Query
    table: ReferenceTable
    predicate: str | None
    sides: tuple[bool, ...]
    """Which strata: those that satisfy the predicate, those that do not, or both."""
    scenarios: tuple[str, ...]
    sizes: tuple[tuple[int, ...], ...]
    """How many rows of each stratum the datasets of each scenario have."""
    tilt: Tilt | None = None
    """What gives rows their weights; None where all rows of a stratum are as likely."""

    @property
    def seen(self) -> RowPool:
        """The rows that are looked at: a probe, or all rows where they have weights."""
        return self.table.probe if self.tilt is None and self.table.weight is None else self.table.pool

    def rows(self) -> list[Rows]:
        """Return the positions, among those seen, of the rows of each stratum that can be drawn."""
        every = [self.seen.positions(self.predicate, side) for side in self.sides]
        base = self._chances
        return every if base is None else [rows[base[rows] > 0] for rows in every]

    @property
    def _chances(self) -> Floats | None:
        """What every row of the table counts, by a property's value or by a column."""
        return self.table.base if self.tilt is None else self.table.weights(self.tilt)

    @property
    def weights(self) -> list[Floats | None]:
        """The probability of each row seen, of each stratum; None where all are as likely."""
        base = self._chances
        return [None if base is None else base[rows] / base[rows].sum() for rows in self.rows()]

    @cached_property
    def resolutions(self) -> list[float]:
        """The spacing of the rows in every number that SQL evaluates; 0 for one that is continuous."""
        return [self._resolution(number, row) for number, (_, row) in enumerate(self.query.row_values)]

    def _resolution(self, number: int, row: RowValue) -> float:
        """Return the spacing of the rows; if the probe shows no variation at all, the widest it could be."""
        if row.predicate:
            return 1.0
        strata = [self.seen.numbers[number][rows] for rows in self.rows()]
        if any(len(values) and np.ptp(values) > 0 for values in strata):
            return resolution(strata, self.sizes, self.weights)
        moments = self.table.moments(self.predicate)
        return max((float(moments[side].high[number] - moments[side].low[number]) for side in self.sides), default=0.0)


def drawn_strata(simulator: RowSimulator) -> list[DrawnStrata]:
    """Return every set of strata that some scenario draws from; one that is drawn in full does not vary."""
    found: dict[tuple[int, str | None, tuple[bool, ...], Tilt | None], dict[str, tuple[int, ...]]] = {}
    for name, scenario in simulator.scenarios.items():
        table, predicate = simulator.tables[name], scenario.predicate
        rows = {side: table.stratum_rows(predicate, side) for side, _ in scenario.strata}
        sizes = {
            side: size for side, size in scenario.strata if size > 0 and (simulator.replacement or size < rows[side])
        }
        if scenario.tilt is not None:
            sizes = {True: scenario.records}
        found.setdefault((id(table), predicate, tuple(sizes), scenario.tilt), {})[name] = tuple(sizes.values())
    return [
        DrawnStrata(
            query=simulator.query,
            table=simulator.tables[next(iter(members))],
            predicate=predicate,
            sides=sides,
            scenarios=tuple(members),
            sizes=tuple(members.values()),
            tilt=tilt,
        )
        for (_, predicate, sides, tilt), members in found.items()
    ]
