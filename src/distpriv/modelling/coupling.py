"""Pairs of datasets that differ only in the rows they must differ in.

Two Share scenarios with n₁ and n₁′ rows that satisfy the predicate share all but k = |n₁ − n₁′| rows: draw the
common rows once, and k rows of each stratum on top. Both datasets then have their own scenario's law, and
the difference of the released statistics is the work of the k swapped rows alone.
"""

from functools import partial
from typing import Literal, Self

import numpy as np
from attrs import frozen

from distpriv.errors import InvalidModel
from distpriv.framework.arrays import Floats, Rows
from distpriv.framework.queries import Query
from distpriv.modelling.row_pool import RowPool
from distpriv.modelling.sampling import Stratum, WeightedDraw, block_size, distinct, draw_rows, evaluate
from distpriv.modelling.streams import Stream, in_blocks
from distpriv.modelling.transport import RowPairing

__all__ = [
    "AnyPairing",
    "CoupledRows",
    "OrderedPairing",
    "Pairing",
    "Swap",
    "coupled_block",
    "draw_coupled_rows",
    "evaluate_coupled",
    "evaluate_pairs",
    "row_features",
    "sample_coupled",
    "unpaired_column",
]

Pairing = Literal["independent", "transport"]
"""How the swapped rows of the two datasets go together."""


@frozen(kw_only=True)
class Swap:
    """Two datasets of one size: the first has k more rows of stratum `out`, the second k more of stratum `into`."""

    common_out: int
    common_into: int
    swapped: int
    out: Rows
    into: Rows
    pairing: "AnyPairing | None" = None
    """The joint law of a swapped pair, by position in `out` and `into`; independent when there is none."""
    out_weights: Floats | None = None
    """How likely each row of `out` is; None where all are as likely."""
    into_weights: Floats | None = None

    def swapped_rows(self, rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Rows, Rows]:
        """Draw rows that differ, by position in `out` and `into`, each with its own law."""
        if self.pairing is not None:
            return self.pairing.draw(rng, shape)
        return _places(rng, len(self.out), self.out_weights, shape), _places(
            rng, len(self.into), self.into_weights, shape
        )


@frozen(kw_only=True, eq=False)
class OrderedPairing:
    """Pairs of rows of two strata that have weights: the lowest with the lowest, each as likely as its weight."""

    first: WeightedDraw
    second: WeightedDraw

    @classmethod
    def of(cls, first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> Self:
        """Pair two strata, given by numbers to order their rows by and by the weights of these.

        >>> few, many = (np.array([2.0, 1.0]), np.array([0.5, 0.5])), (np.array([5.0, 7.0]), np.array([0.9, 0.1]))
        >>> first, second = OrderedPairing.of(few, many).draw(np.random.default_rng(0), (1, 1000))
        >>> bool((first[second == 1] == 0).all()), round(float((second == 1).mean()), 1)
        (True, 0.1)
        """
        orders = [np.argsort(along, kind="stable") for along, _ in (first, second)]
        one, other = (
            WeightedDraw.of(order, weights[order]) for order, (_, weights) in zip(orders, (first, second), strict=True)
        )
        return cls(first=one, second=other)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Rows, Rows]:
        """Draw independent pairs: an array of first positions and one of second positions."""
        luck = rng.random(shape)
        return self.first.at(luck), self.second.at(luck)


AnyPairing = RowPairing | OrderedPairing
"""A joint law of one row of each of two strata, each with its own law."""


def _places(rng: np.random.Generator, population: int, weights: Floats | None, shape: tuple[int, int]) -> Rows:
    if weights is None:
        return rng.integers(population, size=shape)
    return WeightedDraw.of(np.arange(population), weights).at(rng.random(shape))


@frozen(kw_only=True, eq=False)
class CoupledRows:
    """Positions of rows, one pair of datasets a row: those in both, those of the first only, of the second only."""

    common: Rows
    first_only: Rows
    second_only: Rows

    @property
    def first(self) -> Rows:
        """The rows of the first dataset."""
        return np.concatenate([self.common, self.first_only], axis=1)

    @property
    def second(self) -> Rows:
        """The rows of the second dataset, each common row where the first dataset has it."""
        return np.concatenate([self.common, self.second_only], axis=1)


def draw_coupled_rows(rng: np.random.Generator, swap: Swap, draws: int, *, replacement: bool) -> CoupledRows:
    """Draw pairs of datasets from a coupling of two Share scenarios."""
    if swap.pairing is None:
        drawn = Stratum(rows=swap.out, size=swap.common_out + swap.swapped, weights=swap.out_weights)
        out = draw_rows(rng, [drawn], draws, replacement=replacement)
        drawn = Stratum(rows=swap.into, size=swap.common_into + swap.swapped, weights=swap.into_weights)
        into = draw_rows(rng, [drawn], draws, replacement=replacement)
    else:
        first, second = swap.pairing.draw(rng, (draws, swap.swapped))
        out = _with_common(rng, swap.out, swap.common_out, first, replacement, swap.out_weights)
        into = _with_common(rng, swap.into, swap.common_into, second, replacement, swap.into_weights)
    return CoupledRows(
        common=np.concatenate([out[:, : swap.common_out], into[:, : swap.common_into]], axis=1),
        first_only=out[:, swap.common_out :],
        second_only=into[:, swap.common_into :],
    )


def _with_common(
    rng: np.random.Generator, rows: Rows, common: int, swapped: Rows, replacement: bool, weights: Floats | None
) -> Rows:
    """Draw common rows to stand before the swapped ones; a swapped row that is used already gives way to another.

    Each swapped row is uniform whatever its partner is, so `distinct` leaves the dataset's own law exactly that of
    drawing without replacement.
    """
    positions = Stratum(rows=np.arange(len(rows)), size=common, weights=weights)
    picks = np.concatenate([draw_rows(rng, [positions], len(swapped), replacement=replacement), swapped], axis=1)
    return rows[picks if replacement else distinct(rng, len(rows), picks)]


def sample_coupled(
    query: Query,
    pool: RowPool,
    swap: Swap,
    draws: int,
    stream: Stream,
    *,
    replacement: bool = False,
) -> tuple[Floats, Floats]:
    """Draw coupled datasets and evaluate the query on both: two arrays of shape (draws, m)."""
    task = partial(coupled_block, query, pool, swap, replacement)
    records = swap.common_out + swap.common_into + swap.swapped
    blocks = in_blocks(task, draws, block_size(query, records), stream)
    return np.concatenate([first for first, _ in blocks]), np.concatenate([second for _, second in blocks])


def coupled_block(
    query: Query, pool: RowPool, swap: Swap, replacement: bool, rng: np.random.Generator, draws: int
) -> tuple[Floats, Floats]:
    """Draw one block of coupled datasets and evaluate the query on both."""
    return evaluate_coupled(query, pool, draw_coupled_rows(rng, swap, draws, replacement=replacement), rng)


def evaluate_coupled(query: Query, pool: RowPool, rows: CoupledRows, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Evaluate the query on both datasets of every pair, their rows in one random order where that may matter."""
    return evaluate_pairs(query, pool, rows.first, rows.second, rng)


def evaluate_pairs(
    query: Query, pool: RowPool, first: Rows, second: Rows, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Evaluate the query on pairs of datasets by the positions of their rows, in one random order for both."""
    if query.has_functions:
        order = rng.permuted(np.broadcast_to(np.arange(first.shape[1]), first.shape), axis=1)
        first, second = np.take_along_axis(first, order, axis=1), np.take_along_axis(second, order, axis=1)
    return evaluate(query, pool, first), evaluate(query, pool, second)


def row_features(query: Query, pool: RowPool, records: int) -> Floats:
    """Return, for every row, numbers in which rows are alike that move the query alike.

    Means are taken in the units of the released statistic; other queries by standard deviations of what they read.
    """
    if query.has_exact_moments:
        return np.asarray(pool.numbers.T * (query.factors(records) / records))
    text = unpaired_column(query, pool)
    if text is not None:
        raise InvalidModel(
            f"rows cannot be paired by transport over {text!r}, which is not a number: use pairing='independent'."
        )
    features = np.array([*pool.numbers, *pool.columns.values()], dtype=np.float64)
    spread = features.std(axis=1)[:, np.newaxis]
    return np.asarray((features / np.where(spread > 0, spread, 1.0)).T)


def unpaired_column(query: Query, pool: RowPool) -> str | None:
    """Return a column in which rows cannot be near to each other, for it has no numbers; None if there is none."""
    if query.has_exact_moments:
        return None
    text = sorted(name for name, column in pool.columns.items() if not np.issubdtype(column.dtype, np.number))
    return text[0] if text else None
