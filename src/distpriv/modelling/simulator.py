"""Datasets drawn from the reference rows behind a model."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from attrs import evolve, field, fields, frozen
from scipy.sparse import csr_array

from distpriv.errors import InvalidModel, InvalidSecret
from distpriv.framework.arrays import Floats, Rows
from distpriv.framework.queries import Query
from distpriv.framework.scenarios import Pair, Scenario
from distpriv.framework.tilts import Tilt
from distpriv.modelling.coupling import (
    MaximalCoupling,
    Measure,
    OrderedPairing,
    Pairing,
    Swap,
    coupled_block,
    differences_block,
    row_features,
    sums_block,
    unpaired_column,
    widest,
)
from distpriv.modelling.drawing import Drawing
from distpriv.modelling.reference import ReferenceTable, different, refuse_gaps, refuse_mixed_types
from distpriv.modelling.row_laws import RowLaws, StratumRows
from distpriv.modelling.sampling import (
    RowPool,
    Stratum,
    Stream,
    block_size,
    datasets_in_block,
    in_blocks,
    sample_block,
)
from distpriv.modelling.transport import RowPairing, along_their_main_axis, in_units_of_noise
from distpriv.progress import Progress, silent

__all__ = ["DrawnStratum", "RowSimulator", "opened_tables", "refuse_too_few_rows"]

DrawnStratum = tuple[int, str | None, bool, Tilt | None]
"""The id of a table, a predicate, whether rows satisfy it, and what gives them weights."""


@frozen(kw_only=True, slots=False)
class RowSimulator:
    """Draws datasets of every scenario; rows are loaded when first drawn from."""

    query: Query
    scenarios: Mapping[str, Scenario]
    tables: Mapping[str, ReferenceTable]
    """The reference table of each scenario."""
    drawing: Drawing
    processes: int | None = None
    progress: Progress = silent
    part: tuple[tuple[float, ...], int, int] | None = None
    """Which rows to draw from: a number of one of such shares of them, split by a seed; all when there is none."""
    _pairings: dict[str | None, RowPairing] = field(factory=dict, init=False, repr=False)
    _rows: dict[tuple[int, str | None, bool], Rows] = field(factory=dict, init=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Keep what is drawn from, and how: not who is told of progress, and nothing that goes by a place in memory."""
        names = [field.name for field in fields(type(self)) if field.init]
        return {**{name: self.__dict__[name] for name in names}, "progress": silent, "_pairings": {}, "_rows": {}}

    def split(self, shares: Sequence[float], seed: int) -> tuple[Self, ...]:
        """Return simulators that draw from shares of the rows of each stratum, no row in two of them."""
        return tuple(evolve(self, part=(tuple(shares), seed, number)) for number in range(len(shares)))

    @property
    def is_sampled(self) -> bool:
        """Whether some table is too large to be held, so that rows in memory are a uniform sample of each stratum."""
        return any(table.is_sampled for table in self.tables.values())

    @property
    def replacement(self) -> bool:
        """Whether the same row may be in a dataset twice."""
        return self.drawing.replacement

    def over(self, source: Any) -> Self:
        """Return a simulator of the same scenarios over a table for the shares, or tables by their scenarios' names."""
        sources = {}
        for name, scenario in self.scenarios.items():
            sources[name] = source[name] if isinstance(source, Mapping) and name in source else source
            if isinstance(sources[name], Mapping) or (scenario.table is not None and sources[name] is source):
                raise InvalidModel(f"scenario {name!r} has no table among the sources: give {{{name!r}: …}}.")
        return evolve(self, tables=opened_tables(sources, self.scenarios, self.query, self.drawing), part=None)

    def samples(self, scenario: str, draws: int, seed: int) -> Floats:
        """Draw datasets of a scenario and evaluate the query on each."""
        task = partial(sample_block, self.query, self.pool(scenario), self.strata(scenario), self.replacement)
        size = block_size(self.query, self.scenarios[scenario].records)
        return np.concatenate(in_blocks(task, draws, size, self.stream(scenario, seed)))

    def coupled_samples(self, pair: Pair, draws: int, seed: int, pairing: Pairing) -> tuple[Floats, Floats]:
        """Draw coupled datasets of two scenarios of one secret and evaluate the query on both."""
        task = partial(coupled_block, self.query, self.pool(pair[0]), self.coupling(pair, pairing))
        size = block_size(self.query, self.scenarios[pair[0]].records)
        blocks = in_blocks(task, draws, size, self.stream(" | ".join(pair), seed))
        return np.concatenate([first for first, _ in blocks]), np.concatenate([second for _, second in blocks])

    def measured_differences(
        self,
        pairs: Sequence[Pair],
        draws: int,
        seed: int,
        pairing: Pairing,
        measure: Measure,
        progress: Progress | None = None,
    ) -> list[Floats]:
        """Draw differences of coupled statistics and measure them, for every number of rows that the pairs differ in.

        Numbers ascend; the sign of a difference is that of the first pair. Of weighted rows a pair is by itself. Of
        means only the rows that differ count, and the first k swapped rows serve for scenarios that differ in k.
        """
        couplings = [self.coupling(pair, pairing) for pair in pairs]
        swaps = [coupling for coupling in couplings if isinstance(coupling, Swap)]
        coupling = widest(swaps) if swaps else couplings[0]
        task: Callable[[np.random.Generator, int], list[Floats]]
        if self.query.has_exact_moments:
            features = self.features(pairs[0][0])
            mostly_zero = np.count_nonzero(features) <= 0.1 * features.size  # as those of tables
            moves, swapped = csr_array(features) if mostly_zero else features, sorted({swap.swapped for swap in swaps})
            task = partial(sums_block, moves, coupling, measure, swapped)
            size = datasets_in_block(coupling.rows_drawn)
        else:
            task = partial(differences_block, self.query, self.pool(pairs[0][0]), coupling, measure)
            size = block_size(self.query, coupling.records)
        blocks = in_blocks(task, draws, size, self.stream(" | ".join(pairs[0]), seed, progress))
        return [np.concatenate(parts) for parts in zip(*blocks, strict=True)]

    def pool(self, name: str) -> RowPool:
        """Return the rows in memory that a scenario draws from."""
        return self.tables[name].pool_of(self.scenarios[name].predicate)

    def features(self, name: str) -> Floats:
        """Return the `row_features` of the rows in memory that a scenario draws from."""
        return row_features(self.query, self.pool(name), self.scenarios[name].records)

    def stream(self, name: str, seed: int, progress: Progress | None = None) -> Stream:
        """Return random numbers to draw with, and what runs slow queries elsewhere, if the tables are where it can."""
        return Stream(
            seed=seed,
            name=name,
            processes=self.processes,
            executors=next(iter(self.tables.values())).engine.executors,
            progress=progress or self.progress,
        )

    def difference_groups(self, pairs: Sequence[Pair]) -> list[tuple[Pair, ...]]:
        """Group pairs, one order of each, whose differences come from one set of draws.

        Those of means go by predicate, unless strata have too few rows for the widest swap of all; pairs of other
        statistics and of weighted rows are each by themselves.
        """
        groups: dict[object, list[Pair]] = {}
        ascending = (sorted(pair, key=lambda name: self.scenarios[name].order) for pair in pairs)
        for one, other in dict.fromkeys((one, other) for one, other in ascending):
            together = self.query.has_exact_moments and self.scenarios[one].tilt is None
            groups.setdefault(self.scenarios[one].predicate if together else (one, other), []).append((one, other))
        feasible: list[tuple[Pair, ...]] = []
        for group in groups.values():
            couplings = [self.coupling(pair, "independent") for pair in group]
            swaps = [coupling for coupling in couplings if isinstance(coupling, Swap)]
            at_once = self.replacement or not swaps or widest(swaps).has_room
            feasible += [tuple(group)] if at_once else [(pair,) for pair in group]
        return feasible

    def best_pairing(self, pair: Pair) -> Pairing:
        """Return by transport where rows can be near to each other, and independent elsewhere."""
        return "transport" if unpaired_column(self.query, self.pool(pair[0])) is None else "independent"

    def has_weights(self, name: str) -> bool:
        """Tell whether rows of a scenario are drawn with weights: a column's, or those that give a property a value."""
        return self.drawing.weight is not None or self.scenarios[name].tilt is not None

    def _shares_of(self, name: str, rows: Rows) -> Floats | None:
        """Return how likely each of some rows of a stratum is, where a column gives them weights."""
        if (base := self.tables[name].base) is None:
            return None
        if not (total := float(base[rows].sum())) > 0:
            raise InvalidModel(
                f"no row that scenario {name!r} could draw here has a weight above 0: give more rows.",
                about=("option", "weight"),
            )
        return np.asarray(base[rows] / total)

    def coupling(self, pair: Pair, pairing: Pairing) -> Swap | MaximalCoupling:
        """Return how datasets of two scenarios of one secret are coupled."""
        first, second = self._coupled(pair)
        if first.tilt is None:
            return self.swap(pair, pairing)
        (one,), (other,) = self.strata(pair[0]), self.strata(pair[1])
        assert one.weights is not None
        assert other.weights is not None
        transport = pairing == "transport"
        order = along_their_main_axis(self.features(pair[0])[one.rows]) if transport else None
        return MaximalCoupling.of(one.rows, one.weights, other.weights, second.records, order)

    def _coupled(self, pair: Pair) -> tuple[Scenario, Scenario]:
        first, second = (self.scenarios[name] for name in pair)
        if not first.couples_with(second) or self.tables[pair[0]] is not self.tables[pair[1]]:
            raise InvalidModel(
                f"the scenarios {pair[0]!r} and {pair[1]!r} are not shares of one predicate, or values of one "
                "property: only such pairs can be coupled."
            )
        return first, second

    def swap(self, pair: Pair, pairing: Pairing) -> Swap:
        """Return which rows two scenarios of one Share have in common and which they swap."""
        first, second = self._coupled(pair)
        assert first.tilt is None, "weighted rows are coupled record by record"
        for name in pair:
            self.strata(name)  # refuses to draw more rows than there are
        more = first.positives > second.positives
        common = dict(zip((True, False), map(min, first.sizes, second.sizes), strict=True))
        rows = {side: self._positions(first, side) for side in (True, False)}
        weights = {side: self._shares_of(pair[0], rows[side]) for side in (True, False)}
        return Swap(
            records=first.records,
            common_out=common[more],
            common_into=common[not more],
            swapped=first.swapped(second),
            out=rows[more],
            into=rows[not more],
            replacement=self.replacement,
            pairing=self._pairing(first, more, rows, weights) if pairing == "transport" else None,
            out_weights=weights[more],
            into_weights=weights[not more],
        )

    def _pairing(
        self, scenario: Scenario, side: bool, rows: Mapping[bool, Rows], weights: Mapping[bool, Floats | None]
    ) -> RowPairing | OrderedPairing:
        """Return the pairing of a stratum with the other one: of rows with weights in order, of others by transport."""
        features = self.features(scenario.name)
        one, other = weights[side], weights[not side]
        if one is not None and other is not None:
            along = along_their_main_axis(features)
            return OrderedPairing.of((along[rows[side]], one), (along[rows[not side]], other))
        if scenario.predicate not in self._pairings:
            sides = features[rows[True]], features[rows[False]]
            if self.query.has_exact_moments:
                positives = [s.positives for s in self.scenarios.values() if s.couples_with(scenario)]
                sides = in_units_of_noise(*sides, max(positives) - min(positives))
            self._pairings[scenario.predicate] = RowPairing.between(*sides)
        pairing = self._pairings[scenario.predicate]
        return pairing if side else RowPairing(first=pairing.second, second=pairing.first, units=pairing.units)

    def strata(self, name: str) -> list[Stratum]:
        """Return the rows of each stratum that a scenario draws from, and how many of them a dataset has."""
        scenario = self.scenarios[name]
        if scenario.tilt is not None:
            rows = self._positions(scenario, True)
            weights = self.tables[name].weights(scenario.tilt)[rows]
            return [Stratum(rows=rows, size=scenario.records, weights=weights / weights.sum())]
        sized = [(self._positions(scenario, side), size) for side, size in scenario.strata]
        strata = [Stratum(rows=rows, size=size, weights=self._shares_of(name, rows)) for rows, size in sized]
        if not self.replacement:
            place = "the reference table" if self.part is None else "a part of the table"
            refuse_too_few_rows(scenario, [len(stratum.rows) for stratum in strata], place)
        return strata

    def rows_of(self, name: str, satisfied: bool) -> StratumRows:
        """Return what each row of a stratum adds to the statistics of a scenario, and how likely it is to be drawn."""
        sides = [side for side, _ in self.scenarios[name].strata]
        stratum = self.strata(name)[sides.index(satisfied)]
        return StratumRows(values=self.features(name)[stratum.rows], weights=stratum.weights)

    def row_laws(self) -> RowLaws:
        """Return the rows behind statistics that are sums over rows; of large tables those that are held in memory."""
        return self._row_laws

    @cached_property
    def _row_laws(self) -> RowLaws:
        strata: list[StratumRows] = []
        populations: list[int] = []
        drawn: dict[str, dict[int, int]] = {name: {} for name in self.scenarios}
        for place, ((_, predicate, side, _), sizes) in enumerate(self.drawn().items()):
            name = next(iter(sizes))
            strata.append(self.rows_of(name, side))
            populations.append(self.tables[name].stratum_rows(predicate, side))
            for scenario, size in sizes.items():
                drawn[scenario][place] = size
        return RowLaws(strata=tuple(strata), drawn=drawn, replacement=self.replacement, populations=tuple(populations))

    def drawn(self) -> dict[DrawnStratum, dict[str, int]]:
        """Return how many rows of every stratum the datasets of each scenario have."""
        drawn: dict[DrawnStratum, dict[str, int]] = {}
        for name, scenario in self.scenarios.items():
            for side, size in scenario.strata:
                if size > 0:
                    key = id(self.tables[name]), scenario.predicate, side, scenario.tilt
                    drawn.setdefault(key, {})[name] = size
        return drawn

    def _positions(self, scenario: Scenario, satisfied: bool) -> Rows:
        """Return where the rows of a stratum are, those of this part only, and none that counts for nobody."""
        pool = self.pool(scenario.name)
        key = (id(pool), scenario.predicate, satisfied)
        if key not in self._rows:
            among = None
            if self.part is not None:
                shares, seed, number = self.part
                among = pool.parts(shares, seed)[number]
            rows, base = pool.positions(scenario.predicate, satisfied, among), self.tables[scenario.name].base
            self._rows[key] = rows if base is None else rows[base[rows] > 0]
        return self._rows[key]


def opened_tables(
    sources: Mapping[str, Any], scenarios: Mapping[str, Scenario], query: Query, drawing: Drawing
) -> Mapping[str, ReferenceTable]:
    """Open the source of every scenario, once for all that split it, for those that weigh it and for the others."""
    predicates = list(dict.fromkeys(s.predicate for s in scenarios.values() if s.predicate is not None))
    opened: dict[tuple[int, bool, bool], ReferenceTable] = {}
    tables = {}
    for name, scenario in scenarios.items():
        splits, weighs = scenario.predicate is not None, scenario.tilt is not None
        key = (id(sources[name]), splits, weighs)
        if key not in opened:
            same = [s for other, s in scenarios.items() if weighs and sources[other] is sources[name]]
            tilts = [s.tilt for s in same if s.tilt is not None]
            shares = dict.fromkeys(text for tilt in tilts for text in tilt.predicates)
            opened[key] = ReferenceTable.open(
                sources[name], query, predicates if splits else shares, drawing.missing, tilts, drawing.weight
            )
        tables[name] = opened[key]
    refuse_mixed_types(different(tables.values()))
    refuse_gaps(different(tables.values()), drawing)
    return tables


def refuse_too_few_rows(scenario: Scenario, rows: Sequence[int], place: str = "the reference table") -> None:
    """Refuse to draw more rows without replacement than each stratum has."""
    for (satisfied, wanted), there in zip(scenario.strata, rows, strict=True):
        if wanted > there:
            raise InvalidSecret(
                f"scenario {scenario.name!r} needs {wanted:,} {scenario.rows_in_words(satisfied)} and {place} has "
                f"{there:,}: give a larger table, fewer records, replacement=True, or reference='sample'.",
                about=("scenario", scenario.name) if scenario.predicate is None else ("share", scenario.predicate),
            )
