r"""Pairs of datasets of rows with two weightings, which have most rows in common.

With weights w and w′ of the same rows, a record is the same row in both datasets with a chance of
:math:`\sum_i \min(w_i, w'_i) = 1 - TV`, drawn in proportion to that minimum, and else one row in proportion to
:math:`(w - w')^+` and another to :math:`(w' - w)^+`. Each record then has its own law, and no coupling has more rows in
common: of n records, n · TV differ on average.
"""

from collections.abc import Callable
from functools import partial
from typing import Self

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats, Rows
from distpriv.framework.queries import Query
from distpriv.modelling.coupling import evaluate_pairs, row_features
from distpriv.modelling.differences import Measure, sums_block_size
from distpriv.modelling.row_pool import RowPool
from distpriv.modelling.sampling import WeightedDraw, block_size
from distpriv.modelling.streams import Stream, in_blocks

__all__ = ["WeightedSwap", "measure_weighted_differences", "sample_weighted"]


@frozen(kw_only=True, eq=False)
class WeightedSwap:
    """Two weightings of rows, coupled row by row."""

    records: int
    apart: float
    """The total variation of the two: the chance that a record is not the same row in both datasets."""
    common: WeightedDraw
    out: WeightedDraw
    """What the first dataset has where they differ."""
    into: WeightedDraw
    """What the second one has there."""
    paired: bool = False
    """Whether rows that differ are drawn in one order, the lowest with the lowest, instead of independently."""

    @classmethod
    def of(cls, rows: Rows, first: Floats, second: Floats, records: int, order: Floats | None = None) -> Self:
        """Return the maximal coupling of two weightings of rows.

        Args:
            rows: positions in a pool.
            first: the weights of one dataset's rows.
            second: those of the other's.
            records: how many rows a dataset has.
            order: numbers by which rows that differ are paired, the lowest with the lowest; independently without.

        >>> swap = WeightedSwap.of(np.arange(2), np.array([0.5, 0.5]), np.array([0.2, 0.8]), records=10)
        >>> round(swap.apart, 12)
        0.3
        """
        if order is not None:
            ascending = np.argsort(order, kind="stable")
            rows, first, second = rows[ascending], first[ascending], second[ascending]
        out, into = np.maximum(first - second, 0.0), np.maximum(second - first, 0.0)
        return cls(
            records=records,
            apart=float(min(1.0, (out.sum() + into.sum()) / 2)),
            common=WeightedDraw.of(rows, np.minimum(first, second)),
            out=WeightedDraw.of(rows, out),
            into=WeightedDraw.of(rows, into),
            paired=order is not None,
        )

    def differing(self, rng: np.random.Generator, count: int) -> tuple[Rows, Rows]:
        """Draw so many pairs of rows that differ."""
        luck = rng.random(count)
        return self.out.at(luck), self.into.at(luck if self.paired else rng.random(count))

    def draw(self, rng: np.random.Generator, draws: int) -> tuple[Rows, Rows]:
        """Draw the rows of so many pairs of datasets, one pair a row, each common row at one place in both."""
        shape = draws, self.records
        differ = rng.random(shape) < self.apart
        first = self.common.at(rng.random(shape)) if self.apart < 1 else np.zeros(shape, dtype=np.int64)
        second = first.copy()
        first[differ], second[differ] = self.differing(rng, int(differ.sum()))
        return first, second


def sample_weighted(
    query: Query, pool: RowPool, swap: WeightedSwap, draws: int, stream: Stream
) -> tuple[Floats, Floats]:
    """Draw coupled datasets and evaluate the query on both: two arrays of shape (draws, m)."""
    blocks = in_blocks(partial(_coupled_block, query, pool, swap), draws, block_size(query, swap.records), stream)
    return np.concatenate([first for first, _ in blocks]), np.concatenate([second for _, second in blocks])


def measure_weighted_differences(
    query: Query, pool: RowPool, swap: WeightedSwap, draws: int, stream: Stream, measure: Measure
) -> Floats:
    """Draw differences F(D_i) − F(D_j) and measure them; of means only the rows that differ are drawn."""
    task: Callable[[np.random.Generator, int], Floats]
    if query.has_exact_moments:
        task = partial(_sums_block, row_features(query, pool, swap.records), swap, measure)
        size = sums_block_size(max(1, round(2 * swap.records * swap.apart)))
    else:
        task, size = partial(_differences_block, query, pool, swap, measure), block_size(query, swap.records)
    return np.concatenate(in_blocks(task, draws, size, stream))


def _coupled_block(
    query: Query, pool: RowPool, swap: WeightedSwap, rng: np.random.Generator, draws: int
) -> tuple[Floats, Floats]:
    return evaluate_pairs(query, pool, *swap.draw(rng, draws), rng)


def _differences_block(
    query: Query, pool: RowPool, swap: WeightedSwap, measure: Measure, rng: np.random.Generator, draws: int
) -> Floats:
    first, second = _coupled_block(query, pool, swap, rng, draws)
    return measure(first - second)


def _sums_block(features: Floats, swap: WeightedSwap, measure: Measure, rng: np.random.Generator, draws: int) -> Floats:
    """Draw in how many records datasets differ, the rows there, and add up how these differ."""
    counts = rng.binomial(swap.records, swap.apart, size=draws)
    first, second = swap.differing(rng, int(counts.sum()))
    moved = features[first] - features[second]
    dataset = np.repeat(np.arange(draws), counts)
    sums = [np.bincount(dataset, weights=column, minlength=draws) for column in moved.T]
    return measure(np.column_stack(sums))
