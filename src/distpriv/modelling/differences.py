"""Differences of the statistics of coupled datasets, without drawing what the datasets have in common.

Means differ by the swapped rows alone. How these are drawn depends on the common rows in one way only: a swapped row
that is common already gives way to another. So the common rows stay hidden, a uniform set of which nothing is asked
but whether a row is in it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats, Rows
from distpriv.framework.queries import Query
from distpriv.modelling.coupling import Swap, coupled_block, row_features
from distpriv.modelling.row_pool import RowPool
from distpriv.modelling.sampling import BLOCK_CELLS, block_size
from distpriv.modelling.streams import Stream, in_blocks

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    Moves = Floats | csr_array

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

SLACK = 1e-9
"""More than rounding changes the product of a chance and a number of rows."""

SPARSE = 0.1
"""Where rows move so small a share of the statistics, as those of tables do, nothing else is added up."""


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
        out, into = _compact(features[swap.out], features[swap.into])
        task = partial(_sums_block, out, into, swap, replacement, measure, swapped)
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


def _compact(out: "Moves", into: "Moves") -> "tuple[Moves, Moves]":
    """Return what rows move without the numbers that are 0, where nearly all are."""
    from scipy.sparse import csr_array

    if isinstance(out, csr_array) or isinstance(into, csr_array):
        return out, into
    if np.count_nonzero(out) + np.count_nonzero(into) > SPARSE * (out.size + into.size):
        return out, into
    return csr_array(out), csr_array(into)


def _sums_block(
    out: "Moves",
    into: "Moves",
    swap: Swap,
    replacement: bool,
    measure: Measure,
    swapped: Sequence[int],
    rng: np.random.Generator,
    draws: int,
) -> list[Floats]:
    """Draw the swapped rows of one block, add up how they differ, and measure the sums at each number of rows."""
    first, second = swap.swapped_rows(rng, (draws, swap.swapped))
    if not replacement:
        first = avoiding_hidden(rng, out.shape[0], swap.common_out, first)
        second = avoiding_hidden(rng, into.shape[0], swap.common_into, second)
    return sums_of_swapped(out, into, first, second, measure, swapped)


def sums_of_swapped(
    out: "Moves", into: "Moves", first: Rows, second: Rows, measure: Measure, swapped: Sequence[int]
) -> list[Floats]:
    """Add up how swapped rows differ, one pair of datasets a row, and measure the sums at each number of rows."""
    out, into = _compact(out, into)
    if not (isinstance(out, np.ndarray) and isinstance(into, np.ndarray)):
        return _sparse_sums(out, into, first, second, measure, swapped)
    difference = np.zeros((len(first), out.shape[1]))
    measured = {}
    for k in range(first.shape[1]):
        difference += out.take(first[:, k], axis=0)
        difference -= into.take(second[:, k], axis=0)
        if k + 1 in swapped:
            measured[k + 1] = measure(difference.copy())
    return [measured[count] for count in swapped]


def _sparse_sums(
    out: "Moves", into: "Moves", first: Rows, second: Rows, measure: Measure, swapped: Sequence[int]
) -> list[Floats]:
    """Add up the few numbers of each row that are not 0, as far as the next number of rows that is asked for."""
    difference = np.zeros((len(first), out.shape[1]))
    measured, start = {}, 0
    for end in sorted(set(swapped)):
        difference += _added(first[:, start:end], out)
        difference -= _added(second[:, start:end], into)
        measured[end], start = measure(difference.copy()), end
    return [measured[count] for count in swapped]


def _added(rows: Rows, moves: "Moves") -> Floats:
    """Return the sums of what the rows of every dataset, one dataset a row, move."""
    from scipy.sparse import csr_array

    ends = np.arange(len(rows) + 1) * rows.shape[1]
    chosen = csr_array((np.ones(rows.size), rows.ravel(), ends), shape=(len(rows), moves.shape[0]))
    return np.asarray((chosen @ csr_array(moves)).toarray())


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
    found)/(population − asked), where so many were asked about and so many of them found to be in it. When pick k has
    its turn, k picks are settled and asked = k + found, so that the chance is never above hidden/(population − k): a
    pick whose luck is above that, and that no pick before it is equal to, stays as it is.
    """
    luck = rng.random(picks.shape)
    doubtful = luck * (population - np.arange(picks.shape[1])) < hidden * (1 + SLACK)
    doubtful |= _repeated(picks)
    affected = np.flatnonzero(doubtful.any(axis=1))
    picks = picks.copy()
    picks[affected] = _one_by_one(rng, population, hidden, picks[affected], luck[affected], doubtful[affected])
    return picks


def _repeated(picks: Rows) -> NDArray[np.bool_]:
    """Tell which picks are equal to one before them in their row."""
    places = max(1, (picks.shape[1] - 1).bit_length())
    narrow = int(picks.max(initial=0)).bit_length() + places < 32  # which are sorted ten times as fast
    kind = np.int32 if narrow else np.int64
    ranked = np.sort((picks.astype(kind) << places) | np.arange(picks.shape[1], dtype=kind), axis=1)
    rows, after = np.nonzero(ranked[:, 1:] >> places == ranked[:, :-1] >> places)
    repeated = np.zeros(picks.shape, dtype=np.bool_)
    repeated[rows, ranked[rows, after + 1] & ((1 << places) - 1)] = True
    return repeated


def _one_by_one(
    rng: np.random.Generator, population: int, hidden: int, picks: Rows, luck: Floats, doubtful: NDArray[np.bool_]
) -> Rows:
    """Settle one doubtful pick after the other, in all datasets at once."""
    found = np.zeros(len(picks), dtype=np.int64)
    inside = np.full((len(picks), 1), -1, dtype=picks.dtype)
    for k in range(picks.shape[1]):
        left = np.flatnonzero(doubtful[:, k])
        tried, chance = picks[left, k], luck[left, k]
        while len(left):
            fresh = ~(picks[left, :k] == tried[:, np.newaxis]).any(axis=1)
            fresh &= ~(inside[left] == tried[:, np.newaxis]).any(axis=1)
            hit = fresh & (chance * (population - k - found[left]) < hidden - found[left])
            if hit.any() and found.max() + 1 == inside.shape[1]:
                inside = np.concatenate([inside, np.full_like(inside, -1)], axis=1)
            inside[left[hit], found[left[hit]]] = tried[hit]
            found[left[hit]] += 1
            settled = fresh & ~hit
            picks[left[settled], k] = tried[settled]
            # what was asked about just now is not asked about again
            doubtful[left[fresh], k + 1 :] |= picks[left[fresh], k + 1 :] == tried[fresh, np.newaxis]
            left = left[~settled]
            tried, chance = rng.integers(population, size=len(left)), rng.random(len(left))
    return picks
