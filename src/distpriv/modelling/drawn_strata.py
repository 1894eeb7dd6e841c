"""The strata that datasets are drawn from, seen through a sample of their rows: how far apart their values are."""

from functools import cached_property

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Rows
from distpriv.framework.queries import Query
from distpriv.framework.statistics import RowValue
from distpriv.modelling.reference import ReferenceTable
from distpriv.modelling.row_lattice import resolution
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

    def rows(self) -> list[Rows]:
        """Return the positions, in the table's probe, of the rows of each stratum."""
        return [self.table.probe.positions(self.predicate, side) for side in self.sides]

    @cached_property
    def resolutions(self) -> list[float]:
        """The spacing of the rows in every number that SQL evaluates; 0 for one that is continuous."""
        return [self._resolution(number, row) for number, (_, row) in enumerate(self.query.row_values)]

    def _resolution(self, number: int, row: RowValue) -> float:
        """Return the spacing of the rows; if the probe shows no variation at all, the widest it could be."""
        if row.predicate:
            return 1.0
        strata = [self.table.probe.numbers[number][rows] for rows in self.rows()]
        if any(len(values) and np.ptp(values) > 0 for values in strata):
            return resolution(strata, self.sizes)
        moments = self.table.moments(self.predicate)
        return max((float(moments[side].high[number] - moments[side].low[number]) for side in self.sides), default=0.0)


def drawn_strata(simulator: RowSimulator) -> list[DrawnStrata]:
    """Return every set of strata that some scenario draws from; one that is drawn in full does not vary."""
    found: dict[tuple[int, str | None, tuple[bool, ...]], dict[str, tuple[int, ...]]] = {}
    for name, scenario in simulator.scenarios.items():
        table, predicate = simulator.tables[name], scenario.predicate
        rows = {side: table.stratum_rows(predicate, side) for side, _ in scenario.strata}
        sizes = {
            side: size for side, size in scenario.strata if size > 0 and (simulator.replacement or size < rows[side])
        }
        found.setdefault((id(table), predicate, tuple(sizes)), {})[name] = tuple(sizes.values())
    return [
        DrawnStrata(
            query=simulator.query,
            table=simulator.tables[next(iter(members))],
            predicate=predicate,
            sides=sides,
            scenarios=tuple(members),
            sizes=tuple(members.values()),
        )
        for (_, predicate, sides), members in found.items()
    ]
