r"""Pairs of datasets of two scenarios that differ only in the rows they must differ in.

Two Share scenarios with n₁ and n₁′ rows that satisfy the predicate share all but k = |n₁ − n₁′| rows: draw the common
rows once, and k rows of each stratum on top. Of two weightings w and w′ of the same rows a record is the same row with
probability :math:`\sum_i \min(w_i, w'_i) = 1 - TV`, and no coupling has more records in common. Either way both
datasets have their own scenario's distribution, and the statistics differ because of the differing rows alone.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from attrs import evolve, frozen
from scipy.sparse import csr_array

from distpriv.errors import InvalidModel
from distpriv.framework.arrays import Floats, Rows
from distpriv.modelling.sampling import (
    RowPool,
    Stratum,
    WeightedDraw,
    distinct,
    draw_rows,
    evaluate,
)
from distpriv.modelling.transport import RowPairing

if TYPE_CHECKING:
    from distpriv.framework.queries import Query

__all__ = [
    "Coupling",
    "MaximalCoupling",
    "Measure",
    "OrderedPairing",
    "Pairing",
    "Swap",
    "coupled_block",
    "differences_block",
    "row_features",
    "row_sums",
    "sums_block",
    "unpaired_column",
    "widest",
]

Pairing = Literal["independent", "transport"]
"""How the differing rows of the two datasets go together."""

Measure = Callable[[Floats], Floats]
"""What is recorded of differences of the statistics, given as an array of shape (draws, m)."""

Differing = tuple[Rows, Rows, Rows]
"""Where the rows of each dataset end in the two lists that follow, then the rows of the first and of the second."""


@frozen(kw_only=True, eq=False)
class OrderedPairing:
    """Pairs of rows with weights: the lowest with the lowest, or independent of each other."""

    first: WeightedDraw
    second: WeightedDraw
    ordered: bool = True

    @classmethod
    def of(cls, first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> Self:
        """Pair two strata, given by numbers to order their rows by and by the weights of these.

        >>> few, many = (np.array([2.0, 1.0]), np.array([0.5, 0.5])), (np.array([5.0, 7.0]), np.array([0.9, 0.1]))
        >>> first, second = OrderedPairing.of(few, many).draw(np.random.default_rng(0), (1, 1000))
        >>> bool((first[second == 1] == 0).all()), round(float((second == 1).mean()), 1)
        (True, 0.1)
        """
        return cls(first=_in_order(*first), second=_in_order(*second))

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Rows, Rows]:
        """Draw independent pairs: an array of first rows and one of second rows."""
        luck = rng.random(shape)
        return self.first.at(luck), self.second.at(luck if self.ordered else rng.random(shape))


def _in_order(along: Floats, weights: Floats) -> WeightedDraw:
    order = np.argsort(along, kind="stable")
    return WeightedDraw.of(order, weights[order])


@frozen(kw_only=True)
class Swap:
    """Two datasets of one size: the first has k more rows of stratum `out`, the second k more of stratum `into`."""

    records: int
    common_out: int
    common_into: int
    swapped: int
    out: Rows
    into: Rows
    replacement: bool
    pairing: RowPairing | OrderedPairing | None = None
    """The joint distribution of a swapped pair, by position in `out` and `into`; independent when there is none."""
    out_weights: Floats | None = None
    """The probability of each row of `out`; None where all are as likely."""
    into_weights: Floats | None = None

    @property
    def has_room(self) -> bool:
        """Whether both strata have enough rows to draw all of them without replacement."""
        room = min(len(self.out) - self.common_out, len(self.into) - self.common_into)
        return self.swapped <= room

    @property
    def rows_drawn(self) -> int:
        """How many rows `differing` draws: without replacement the common ones too, which the others must avoid."""
        return self.swapped if self.replacement else self.common_out + self.common_into + self.swapped

    def draw(self, rng: np.random.Generator, draws: int) -> tuple[Rows, Rows]:
        """Draw the rows of so many pairs of datasets, one pair a row, the common ones first."""
        out, into = self._strata(rng, draws)
        common = [out[:, : self.common_out], into[:, : self.common_into]]
        return np.hstack([*common, out[:, self.common_out :]]), np.hstack([*common, into[:, self.common_into :]])

    def differing(self, rng: np.random.Generator, draws: int, counts: Sequence[int]) -> Iterator[Differing]:
        """Draw the swapped rows of so many pairs of datasets, as many more as each of the ascending counts wants."""
        drawn = evolve(self, common_out=0, common_into=0) if self.replacement else self
        out, into = drawn._strata(rng, draws)
        out, into, start = out[:, drawn.common_out :], into[:, drawn.common_into :], 0
        for count in counts:
            ends = np.arange(draws + 1) * (count - start)
            yield ends, out[:, start:count].ravel(), into[:, start:count].ravel()
            start = count

    def _strata(self, rng: np.random.Generator, draws: int) -> tuple[Rows, Rows]:
        """Draw the rows of both strata, common ones before swapped ones."""
        first, second = (None, None) if self.pairing is None else self.pairing.draw(rng, (draws, self.swapped))
        out = self._stratum(rng, draws, self.out, self.out_weights, self.common_out, first)
        return out, self._stratum(rng, draws, self.into, self.into_weights, self.common_into, second)

    def _stratum(
        self, rng: np.random.Generator, draws: int, rows: Rows, weights: Floats | None, common: int, paired: Rows | None
    ) -> Rows:
        """Draw the rows of one stratum; a paired row that is used already gives way to another, as uniform as it is."""
        size = common + (self.swapped if paired is None else 0)
        positions = Stratum(rows=np.arange(len(rows)), size=size, weights=weights)
        picks = draw_rows(rng, [positions], draws, replacement=self.replacement)
        if paired is not None:
            picks = np.hstack([picks, paired])
            picks = picks if self.replacement else distinct(rng, len(rows), picks)
        return rows[picks]


def widest(swaps: Sequence[Swap]) -> Swap:
    """Return the swap whose differing rows serve all of these: of common and swapped rows as many as any of them."""
    return evolve(
        swaps[0],
        common_out=max(swap.common_out for swap in swaps),
        common_into=max(swap.common_into for swap in swaps),
        swapped=max(swap.swapped for swap in swaps),
    )


@frozen(kw_only=True, eq=False)
class MaximalCoupling:
    """Two weightings of the same rows, coupled record by record."""

    records: int
    total_variation: float
    """The total variation of the two: the probability that a record is not the same row in both datasets."""
    common: WeightedDraw
    different: OrderedPairing
    """What the two datasets have where they differ."""

    @classmethod
    def of(cls, rows: Rows, first: Floats, second: Floats, records: int, order: Floats | None = None) -> Self:
        """Return the maximal coupling of two weightings of rows; those that differ are paired by `order`, if given."""
        if order is not None:
            ascending = np.argsort(order, kind="stable")
            rows, first, second = rows[ascending], first[ascending], second[ascending]
        out, into = np.maximum(first - second, 0.0), np.maximum(second - first, 0.0)
        return cls(
            records=records,
            total_variation=float(min(1.0, (out.sum() + into.sum()) / 2)),
            common=WeightedDraw.of(rows, np.minimum(first, second)),
            different=OrderedPairing(
                first=WeightedDraw.of(rows, out), second=WeightedDraw.of(rows, into), ordered=order is not None
            ),
        )

    @property
    def rows_drawn(self) -> int:
        """How many rows `differing` draws on average, of both datasets."""
        return max(1, round(2 * self.records * self.total_variation))

    def draw(self, rng: np.random.Generator, draws: int) -> tuple[Rows, Rows]:
        """Draw the rows of so many pairs of datasets, one pair a row, each common row at one place in both."""
        shape = draws, self.records
        differ = rng.random(shape) < self.total_variation
        first = self.common.at(rng.random(shape)) if self.total_variation < 1 else np.zeros(shape, dtype=np.int64)
        second = first.copy()
        first[differ], second[differ] = self.different.draw(rng, (int(differ.sum()),))
        return first, second

    def differing(self, rng: np.random.Generator, draws: int, _: Sequence[int] = ()) -> Iterator[Differing]:
        """Draw in how many records datasets differ, and the rows there; there is one such number for a pair."""
        ends = np.append(0, np.cumsum(rng.binomial(self.records, self.total_variation, size=draws)))
        yield ends, *self.different.draw(rng, (int(ends[-1]),))


Coupling = Swap | MaximalCoupling
"""A joint distribution of two datasets, each with the distribution of its own scenario."""


def coupled_block(
    query: "Query", pool: RowPool, coupling: Coupling, rng: np.random.Generator, draws: int
) -> tuple[Floats, Floats]:
    """Evaluate the query on both datasets of every pair, their rows in one random order where that may matter."""
    first, second = coupling.draw(rng, draws)
    if query.has_functions:
        order = rng.permuted(np.broadcast_to(np.arange(first.shape[1]), first.shape), axis=1)
        first, second = np.take_along_axis(first, order, axis=1), np.take_along_axis(second, order, axis=1)
    return evaluate(query, pool, first), evaluate(query, pool, second)


def differences_block(
    query: "Query", pool: RowPool, coupling: Coupling, measure: Measure, rng: np.random.Generator, draws: int
) -> list[Floats]:
    """Evaluate the query on both datasets of every pair, and measure the differences."""
    first, second = coupled_block(query, pool, coupling, rng, draws)
    return [measure(first - second)]


def sums_block(
    moves: Floats | csr_array,
    coupling: Coupling,
    measure: Measure,
    swapped: Sequence[int],
    rng: np.random.Generator,
    draws: int,
) -> list[Floats]:
    """Draw the rows that differ, add up how they do, and measure the sums at each number of rows."""
    difference, measured = np.zeros((draws, moves.shape[1])), []
    for ends, first, second in coupling.differing(rng, draws, swapped):
        difference += row_sums(moves, first, ends) - row_sums(moves, second, ends)
        measured.append(measure(difference.copy()))
    return measured


def row_sums(moves: Floats | csr_array, rows: Rows, ends: Rows) -> Floats:
    """Return the sum of what the rows of every dataset move: of the rows from one end to the next.

    >>> row_sums(np.array([[1.0], [10.0]]), np.array([0, 1, 1]), np.array([0, 1, 3])).ravel()
    array([ 1., 20.])
    """
    chosen: Any = csr_array((np.ones(rows.size), rows, ends), shape=(len(ends) - 1, moves.shape[0]))
    sums = chosen @ moves
    return np.asarray(sums if isinstance(sums, np.ndarray) else sums.toarray())


def row_features(query: "Query", pool: RowPool, records: int) -> Floats:
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


def unpaired_column(query: "Query", pool: RowPool) -> str | None:
    """Return a column in which rows cannot be near to each other, for it has no numbers; None if there is none."""
    texts = (name for name, column in pool.columns.items() if not np.issubdtype(column.dtype, np.number))
    return None if query.has_exact_moments else min(texts, default=None)
