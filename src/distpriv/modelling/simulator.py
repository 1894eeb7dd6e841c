"""Datasets drawn from the reference rows behind a model."""

from collections.abc import Mapping, Sequence

from attrs import field, frozen

from distpriv.errors import InvalidModel, InvalidSecret
from distpriv.framework.arrays import Floats
from distpriv.framework.queries import Query
from distpriv.framework.secrets import Pair, ShareScenario, TableScenario
from distpriv.modelling.coupling import Pairing, Swap, row_features, sample_coupled, unpaired_column
from distpriv.modelling.differences import Measure, measure_differences, moved_by_swapped_rows, widest
from distpriv.modelling.reference import ReferenceTable
from distpriv.modelling.sampling import Stratum, sample_query
from distpriv.modelling.transport import RowPairing, in_units_of_noise
from distpriv.progress import Progress, silent

__all__ = ["RowSimulator", "refuse_too_few_rows"]


@frozen(kw_only=True)
class RowSimulator:
    """Draws datasets of every scenario; rows are loaded when first drawn from."""

    query: Query
    scenarios: Mapping[str, ShareScenario | TableScenario]
    tables: Mapping[str, ReferenceTable]
    """The reference table of each scenario."""
    replacement: bool = False
    processes: int | None = None
    progress: Progress = silent
    _pairings: dict[str, RowPairing] = field(factory=dict, init=False, repr=False)

    def samples(self, scenario: str, draws: int, seed: int) -> Floats:
        """Draw datasets of a scenario and evaluate the query on each."""
        return sample_query(
            self.query,
            self.tables[scenario].pool,
            self._strata(scenario),
            draws,
            seed=seed,
            stream=scenario,
            replacement=self.replacement,
            processes=self.processes,
            progress=self.progress,
        )

    def coupled_samples(self, pair: Pair, draws: int, seed: int, pairing: Pairing) -> tuple[Floats, Floats]:
        """Draw coupled datasets of two scenarios of one Share and evaluate the query on both."""
        return sample_coupled(
            self.query,
            self.tables[pair[0]].pool,
            self.swap(pair, pairing),
            draws,
            seed=seed,
            stream=f"{pair[0]} | {pair[1]}",
            replacement=self.replacement,
            processes=self.processes,
            progress=self.progress,
        )

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

        Numbers ascend; the sign of a difference is that of the first pair.
        """
        swaps = [self.swap(pair, pairing) for pair in pairs]
        return measure_differences(
            self.query,
            self.tables[pairs[0][0]].pool,
            widest(swaps),
            draws,
            records=self.scenarios[pairs[0][0]].records,
            measure=measure,
            swapped=sorted({swap.swapped for swap in swaps}),
            seed=seed,
            stream=f"{pairs[0][0]} | {pairs[0][1]}",
            replacement=self.replacement,
            processes=self.processes,
            progress=progress or self.progress,
        )

    def difference_groups(self, pairs: Sequence[Pair]) -> list[tuple[Pair, ...]]:
        """Group pairs, one order of each, whose differences come from one set of draws: means, by predicate."""
        groups: dict[object, list[Pair]] = {}
        for one, other in dict.fromkeys(tuple(sorted(pair, key=self._positives)) for pair in pairs):
            predicate = getattr(self.scenarios[one], "predicate", None)
            together = moved_by_swapped_rows(self.query)
            groups.setdefault(predicate if together else (one, other), []).append((one, other))
        return [part for group in groups.values() for part in self._feasible(group)]

    def _feasible(self, group: list[Pair]) -> list[tuple[Pair, ...]]:
        """Return the group as one, or pair by pair where the strata have too few rows for the widest swap of all."""
        wide = widest([self.swap(pair, "independent") for pair in group])
        room = min(len(wide.out) - wide.common_out, len(wide.into) - wide.common_into)
        return [tuple(group)] if self.replacement or wide.swapped <= room else [(pair,) for pair in group]

    def _positives(self, name: str) -> int:
        scenario = self.scenarios[name]
        return scenario.positives if isinstance(scenario, ShareScenario) else 0

    def best_pairing(self, pair: Pair) -> Pairing:
        """Return by transport where rows can be near to each other, and independent elsewhere."""
        pool = self.tables[pair[0]].pool
        return "transport" if unpaired_column(self.query, pool) is None else "independent"

    def swap(self, pair: Pair, pairing: Pairing) -> Swap:
        """Return which rows two scenarios of one Share have in common and which they swap."""
        first, second = (self.scenarios[name] for name in pair)
        same_share = isinstance(first, ShareScenario) and isinstance(second, ShareScenario)
        if not same_share or first.predicate != second.predicate:  # type: ignore[union-attr]
            raise InvalidModel(
                f"the scenarios {pair[0]!r} and {pair[1]!r} are not shares of one predicate: no coupling."
            )
        assert isinstance(first, ShareScenario)
        assert isinstance(second, ShareScenario)
        for name in pair:
            self._strata(name)
        pool = self.tables[pair[0]].pool
        fewer, more = sorted((first.positives, second.positives))
        first_has_more = first.positives > second.positives
        positives, negatives = pool.positions(first.predicate), pool.positions(first.predicate, satisfied=False)
        common_positives, common_negatives = fewer, first.records - more
        return Swap(
            common_out=common_positives if first_has_more else common_negatives,
            common_into=common_negatives if first_has_more else common_positives,
            swapped=more - fewer,
            out=positives if first_has_more else negatives,
            into=negatives if first_has_more else positives,
            pairing=self._pairing(first, first_has_more) if pairing == "transport" else None,
        )

    def _pairing(self, scenario: ShareScenario, positives_first: bool) -> RowPairing:
        """Return the pairing of the strata, found once for each predicate."""
        pool = self.tables[scenario.name].pool
        if scenario.predicate not in self._pairings:
            features = row_features(self.query, pool, scenario.records)
            sides = features[pool.positions(scenario.predicate)], features[pool.positions(scenario.predicate, False)]
            if moved_by_swapped_rows(self.query):
                sides = in_units_of_noise(*sides, self._largest_swap(scenario.predicate))
            self._pairings[scenario.predicate] = RowPairing.between(*sides)
        found = self._pairings[scenario.predicate]
        return found if positives_first else RowPairing(first=found.second, second=found.first, units=found.units)

    def _largest_swap(self, predicate: str) -> int:
        shares = [s for s in self.scenarios.values() if isinstance(s, ShareScenario) and s.predicate == predicate]
        return max(s.positives for s in shares) - min(s.positives for s in shares)

    def _strata(self, name: str) -> list[Stratum]:
        scenario, pool = self.scenarios[name], self.tables[name].pool
        if isinstance(scenario, TableScenario):
            strata = [Stratum(rows=pool.positions(None), size=scenario.records)]
        else:
            strata = [
                Stratum(rows=pool.positions(scenario.predicate, True), size=scenario.positives),
                Stratum(rows=pool.positions(scenario.predicate, False), size=scenario.records - scenario.positives),
            ]
        if not self.replacement:
            for stratum, label in zip(strata, ("satisfied", "not satisfied"), strict=False):
                refuse_too_few_rows(scenario, label, stratum.size, len(stratum.rows))
        return strata


def refuse_too_few_rows(scenario: ShareScenario | TableScenario, stratum: str, wanted: int, rows: int) -> None:
    """Refuse to draw more rows without replacement than there are."""
    if wanted > rows:
        of = f"rows where {scenario.predicate} is {stratum}" if isinstance(scenario, ShareScenario) else "rows"
        raise InvalidSecret(
            f"scenario {scenario.name!r} needs {wanted:,} {of} and the reference table has {rows:,}: give a larger "
            "table, fewer records, or replacement=True."
        )
