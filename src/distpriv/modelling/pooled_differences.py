"""Differences of coupled datasets of a large table's strata, drawn from pools.

They are those of `differences.py` for swapped rows that are drawn independently. Within a round the pairs of datasets
are independent, of each other and of the pilot; rounds use the same rows again.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Self

import numpy as np
from attrs import evolve, frozen

from distpriv.framework.arrays import Floats, Rows
from distpriv.framework.queries import Query
from distpriv.modelling.coupling import CoupledRows, Swap, evaluate_coupled, row_features
from distpriv.modelling.differences import Measure, moved_by_swapped_rows, sums_of_swapped
from distpriv.modelling.pools import StratumPool
from distpriv.modelling.row_pool import RowPool
from distpriv.modelling.sampling import BLOCK_CELLS, block_size
from distpriv.modelling.streams import Stream, run_blocks

__all__ = ["PooledSwap"]

Picks = tuple[Rows, Rows]
"""Rows of the two strata, one pair of datasets a row: those swapped first, the common ones after them."""


@frozen(kw_only=True)
class PooledSwap:
    """Two scenarios' strata, as pools, and how many of their rows a pair of datasets needs to be known."""

    query: Query
    pool: RowPool
    swapped: int
    out: StratumPool
    into: StratumPool
    replacement: bool

    @classmethod
    def of(
        cls,
        query: Query,
        pool: RowPool,
        swap: Swap,
        *,
        out_is_positive: bool,
        positives: Sequence[tuple[int, ...]],
        records: int,
        replacement: bool,
    ) -> Self:
        """Return how to draw the differences of a swap.

        Of means nothing but the swapped rows need be known. The pilots of all swaps of one predicate see the same rows,
        so that no test draws upon what another one's pilot has seen.

        Args:
            query: the statistics.
            pool: samples of the strata.
            swap: how many rows datasets swap and have in common, and where in the pool those of each stratum are.
            out_is_positive: whether the first stratum is the one that satisfies the predicate.
            positives: how many rows satisfy it in the two scenarios of every pair of the predicate.
            records: how many rows a dataset has.
            replacement: whether a row may be in a dataset twice.
        """
        assert pool.populations is not None
        means = moved_by_swapped_rows(query)
        largest = {True: max(map(max, positives)), False: records - min(map(min, positives))}
        widest = max(max(pair) - min(pair) for pair in positives)
        sides = ((swap.out, swap.common_out, out_is_positive), (swap.into, swap.common_into, not out_is_positive))
        out, into = (
            StratumPool(
                rows=rows,
                population=pool.populations[side],
                size=swap.swapped if means else swap.swapped + common,
                pilot_size=widest if means else largest[side],
            )
            for rows, common, side in sides
        )
        return cls(query=query, pool=pool, swapped=swap.swapped, out=out, into=into, replacement=replacement)

    @property
    def datasets(self) -> int | None:
        """How many pairs of datasets can be drawn that are independent, the pilot's among them; nothing if any."""
        limits = [limit for limit in (self.out.datasets, self.into.datasets) if limit is not None]
        return min(limits, default=None)

    def measured(
        self,
        number: int,
        pilot: int,
        draws: int,
        stream: Stream,
        *,
        records: int,
        measure: Measure,
        swapped: Sequence[int],
    ) -> list[Floats]:
        """Draw differences of a round, or of the pilot, which is round 0, and measure them, as `measure_differences`.

        Args:
            number: which round, from 1, or 0 for the pilot.
            pilot: how many pairs of datasets the pilot has.
            draws: how many the round has; the pilot has its own number.
            stream: the random numbers to draw with, the same for pilot and rounds.
            records: how many rows a dataset has.
            measure: what is kept of differences.
            swapped: for which numbers of swapped rows to measure.
        """
        picks = tuple(
            stratum.round(number, pilot, draws, seed=stream.seed, stream=side, replacement=self.replacement)
            if number
            else stratum.pilot(pilot, seed=stream.seed, stream=side, replacement=self.replacement)
            for side, stratum in (("out", self.out), ("into", self.into))
        )
        count = len(picks[0])
        task: Callable[[np.random.Generator, Picks], list[Floats]]
        if moved_by_swapped_rows(self.query):
            task = partial(_sums_block, row_features(self.query, self.pool, records), measure, swapped)
            size = max(1, min(32_768, BLOCK_CELLS // max(self.swapped, 1)))
        else:
            task = partial(_datasets_block, self.query, self.pool, self.swapped, measure)
            size = block_size(self.query, records)
        blocks = [(picks[0][start : start + size], picks[1][start : start + size]) for start in range(0, count, size)]
        if number:
            stream = evolve(stream, name=f"{stream.name} | round {number}")
        found = run_blocks(task, blocks, [len(out) for out, _ in blocks], stream)
        return [np.concatenate(parts) for parts in zip(*found, strict=True)]


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
