"""Differences of coupled datasets of a large table, of whose strata only samples are held.

They are those of `differences.py` for swapped rows that are drawn independently. `held_stratum.py` says what the pilot
and rounds are.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Self

import numpy as np
from attrs import evolve, frozen

from distpriv.framework.arrays import Floats, Rows
from distpriv.framework.queries import Query
from distpriv.framework.scenarios import Pair, Scenario
from distpriv.modelling.coupling import CoupledRows, evaluate_coupled, row_features
from distpriv.modelling.differences import Measure, sums_block_size, sums_of_swapped, widest
from distpriv.modelling.pools.held_stratum import HeldStratum
from distpriv.modelling.pools.row_pool import RowPool
from distpriv.modelling.sampling import block_size
from distpriv.modelling.simulator import RowSimulator
from distpriv.modelling.streams import run_blocks
from distpriv.progress import Progress

__all__ = ["HeldSwap"]

Picks = tuple[Rows, Rows]
"""Rows of the two strata, one pair of datasets a row: those swapped first, the common ones after them."""


@frozen(kw_only=True)
class HeldSwap:
    """Pairs of scenarios whose differences come from one set of draws, and the strata they are drawn from."""

    rows: RowSimulator
    pairs: Sequence[Pair]
    swapped: int
    """In how many rows the datasets of these pairs differ at most."""
    out: HeldStratum
    into: HeldStratum

    @classmethod
    def of(cls, rows: RowSimulator, pairs: Sequence[Pair]) -> Self:
        """Return how to draw the differences of pairs; of means nothing but the swapped rows need be drawn."""
        first, second = (rows.scenarios[name] for name in pairs[0])
        swap = widest([rows.swap(pair, "independent") for pair in pairs])
        populations, pilot = rows.pool(first.name).populations, _pilot_sizes(rows, first)
        assert populations is not None
        means, out_is_positive = rows.query.has_exact_moments, first.positives > second.positives
        sides = ((swap.out, swap.common_out, out_is_positive), (swap.into, swap.common_into, not out_is_positive))
        out, into = (
            HeldStratum(
                rows=held,
                population=populations[side],
                size=swap.swapped if means else swap.swapped + common,
                pilot_size=pilot[side],
            )
            for held, common, side in sides
        )
        return cls(rows=rows, pairs=pairs, swapped=swap.swapped, out=out, into=into)

    @property
    def datasets(self) -> int | None:
        """How many pairs of datasets can be drawn that are independent, the pilot's among them; None if any number."""
        limits = [limit for limit in (self.out.datasets, self.into.datasets) if limit is not None]
        return min(limits, default=None)

    def measured(
        self, number: int, pilot: int, draws: int, seed: int, measure: Measure, progress: Progress | None = None
    ) -> list[Floats]:
        """Draw differences of a round, or of the pilot, and measure them for every number of swapped rows, ascending.

        Rounds are numbered from 1, the pilot is 0, and all have one seed.
        """
        out, into = (
            stratum.test_round(number, pilot, draws, seed=seed, name=side, replacement=self.rows.replacement)
            if number
            else stratum.pilot(pilot, seed=seed, name=side, replacement=self.rows.replacement)
            for side, stratum in (("out", self.out), ("into", self.into))
        )
        task, size = self._task(measure)
        blocks = [(out[start : start + size], into[start : start + size]) for start in range(0, len(out), size)]
        stream = self.rows.stream(" | ".join(self.pairs[0]), seed, progress)
        if number:
            stream = evolve(stream, name=f"{stream.name} | round {number}")
        found = run_blocks(task, blocks, [len(first) for first, _ in blocks], stream)
        return [np.concatenate(parts) for parts in zip(*found, strict=True)]

    def _task(self, measure: Measure) -> tuple[Callable[[np.random.Generator, Picks], list[Floats]], int]:
        """Return what measures a block of pairs of datasets, and how many make a block."""
        query, scenarios = self.rows.query, self.rows.scenarios
        pool, records = self.rows.pool(self.pairs[0][0]), scenarios[self.pairs[0][0]].records
        if not query.has_exact_moments:
            return partial(_datasets_block, query, pool, self.swapped, measure), block_size(query, records)
        swapped = sorted({scenarios[one].swapped(scenarios[other]) for one, other in self.pairs})
        features = row_features(query, pool, records)
        return partial(_sums_block, features, measure, swapped), sums_block_size(self.swapped)


def _pilot_sizes(rows: RowSimulator, scenario: Scenario) -> Mapping[bool, int]:
    """Return how many rows of each stratum any pair of the scenario's predicate needs, of those that noise is for."""
    named = rows.protected or product(rows.scenarios, repeat=2)
    pairs = [[rows.scenarios[name] for name in pair] for pair in named]
    pairs = [pair for pair in pairs if all(member.couples_with(scenario) for member in pair)]
    if rows.query.has_exact_moments:
        return dict.fromkeys((True, False), max(one.swapped(other) for one, other in pairs))
    positives, negatives = zip(*(member.sizes for pair in pairs for member in pair), strict=True)
    return {True: max(positives), False: max(negatives)}


def _sums_block(
    features: Floats, measure: Measure, swapped: Sequence[int], rng: np.random.Generator, picks: Picks
) -> list[Floats]:
    del rng  # means do not depend on the order of rows
    return sums_of_swapped(features, features, *picks, measure, swapped)


def _datasets_block(
    query: Query, pool: RowPool, swapped: int, measure: Measure, rng: np.random.Generator, picks: Picks
) -> list[Floats]:
    out, into = picks
    rows = CoupledRows(
        common=np.concatenate([out[:, swapped:], into[:, swapped:]], axis=1),
        first_only=out[:, :swapped],
        second_only=into[:, :swapped],
    )
    first, second = evaluate_coupled(query, pool, rows, rng)
    return [measure(first - second)]
