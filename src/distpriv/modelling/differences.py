"""Differences of the statistics of coupled datasets, without drawing what the datasets have in common.

Means differ by the swapped rows alone. How these are drawn depends on the common rows in one way only: a swapped row
that is common already gives way to another. So the common rows stay hidden, a uniform set of which nothing is asked
but whether a row is in it.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from attrs import evolve

from distpriv.framework.arrays import Floats, Rows
from distpriv.framework.queries import Query
from distpriv.modelling.coupling import Swap, coupled_block, row_features
from distpriv.modelling.pools.row_pool import RowPool
from distpriv.modelling.sampling import BLOCK_CELLS, block_size
from distpriv.modelling.streams import Stream, in_blocks

__all__ = [
    "Measure",
    "avoiding_hidden",
    "measure_differences",
    "sums_block_size",
    "sums_of_swapped",
    "widest",
]

Measure = Callable[[Floats], Floats]
"""What is kept of differences of the statistics, given as an array of shape (draws, m)."""


def widest(swaps: Sequence[Swap]) -> Swap:
    """Return the swap whose differences serve all of these, if the strata have the rows for it.

    It keeps as many rows hidden as any of them has in common, and swaps as many as any does. Some of the hidden rows
    and the first of the swapped ones are then a valid draw for every one of them.
    """
    return evolve(
        swaps[0],
        common_out=max(swap.common_out for swap in swaps),
        common_into=max(swap.common_into for swap in swaps),
        swapped=max(swap.swapped for swap in swaps),
    )


def measure_differences(
    query: Query,
    pool: RowPool,
    swap: Swap,
    draws: int,
    stream: Stream,
    *,
    records: int,
    measure: Measure,
    swapped: Sequence[int],
    replacement: bool = False,
) -> list[Floats]:
    """Draw differences F(D_i) − F(D_j) and measure them: one array for each number of swapped rows.

    For means the first k swapped rows serve for scenarios that differ in k. Other queries are evaluated on both
    datasets, and `swapped` can only be the number of rows that these differ in.
    """
    task: Callable[[np.random.Generator, int], list[Floats]]
    if query.has_exact_moments:
        features = row_features(query, pool, records)
        task = partial(_sums_block, features[swap.out], features[swap.into], swap, replacement, measure, swapped)
        size = sums_block_size(swap.swapped)
    else:
        assert tuple(swapped) == (swap.swapped,)
        task = partial(_differences_block, query, pool, swap, replacement, measure)
        size = block_size(query, records)
    blocks = in_blocks(task, draws, size, stream)
    return [np.concatenate(parts) for parts in zip(*blocks, strict=True)]


def sums_block_size(swapped: int) -> int:
    """Return how many pairs of datasets make a block where only their swapped rows are drawn."""
    return max(1, min(32_768, BLOCK_CELLS // max(swapped, 1)))


def _sums_block(
    out: Floats,
    into: Floats,
    swap: Swap,
    replacement: bool,
    measure: Measure,
    swapped: Sequence[int],
    rng: np.random.Generator,
    draws: int,
) -> list[Floats]:
    """Draw the swapped rows of one block, add up how they differ, and measure the sums at each number of rows."""
    shape = (draws, swap.swapped)
    if swap.pairing is None:
        first, second = rng.integers(len(out), size=shape), rng.integers(len(into), size=shape)
    else:
        first, second = swap.pairing.draw(rng, shape)
    if not replacement:
        first = avoiding_hidden(rng, len(out), swap.common_out, first)
        second = avoiding_hidden(rng, len(into), swap.common_into, second)
    return sums_of_swapped(out, into, first, second, measure, swapped)


def sums_of_swapped(
    out: Floats, into: Floats, first: Rows, second: Rows, measure: Measure, swapped: Sequence[int]
) -> list[Floats]:
    """Add up how swapped rows differ, one pair of datasets a row, and measure the sums at each number of rows."""
    difference = np.zeros((len(first), out.shape[1]))
    measured = {}
    for k in range(first.shape[1]):
        difference += out.take(first[:, k], axis=0)
        difference -= into.take(second[:, k], axis=0)
        if k + 1 in swapped:
            measured[k + 1] = measure(difference.copy())
    return [measured[count] for count in swapped]


def _differences_block(
    query: Query,
    pool: RowPool,
    swap: Swap,
    replacement: bool,
    measure: Measure,
    rng: np.random.Generator,
    draws: int,
) -> list[Floats]:
    first, second = coupled_block(query, pool, swap, replacement, rng, draws)
    return [measure(first - second)]


def avoiding_hidden(rng: np.random.Generator, population: int, hidden: int, picks: Rows) -> Rows:
    """Redraw picks that are in a uniform set of `hidden` rows, or used already, until none is.

    The set is never drawn. Of a row not asked about before it is known that it is in the set with probability (hidden −
    found)/(population − asked), where so many were asked about and so many of them found to be in it.
    """
    chance = hidden / (population - np.arange(picks.shape[1]))
    luck = rng.random(picks.shape)
    ranked = np.sort(picks, axis=1)
    repeated = (ranked[:, 1:] == ranked[:, :-1]).any(axis=1)
    affected = np.flatnonzero(repeated | (luck < chance).any(axis=1))
    picks = picks.copy()
    picks[affected] = _one_by_one(rng, population, hidden, picks[affected], luck[affected])
    return picks


def _one_by_one(rng: np.random.Generator, population: int, hidden: int, picks: Rows, luck: Floats) -> Rows:
    """Settle one pick after the other, in all datasets at once."""
    draws, size = picks.shape
    asked = np.full((draws, size), -1)
    many, found = np.zeros(draws, dtype=np.int64), np.zeros(draws, dtype=np.int64)
    for k in range(size):
        left = np.arange(draws)
        tried, chance = picks[:, k], luck[:, k]
        while len(left):
            if many.max() == asked.shape[1]:
                asked = np.concatenate([asked, np.full((draws, size), -1)], axis=1)
            fresh = ~(asked[left] == tried[:, np.newaxis]).any(axis=1)
            inside = chance * (population - many[left]) < hidden - found[left]
            asked[left[fresh], many[left[fresh]]] = tried[fresh]
            many[left] += fresh
            found[left] += fresh & inside
            settled = fresh & ~inside
            picks[left[settled], k] = tried[settled]
            left = left[~settled]
            tried, chance = rng.integers(population, size=len(left)), rng.random(len(left))
    return picks
