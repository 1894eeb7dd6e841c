"""Datasets drawn from a pool of rows, and the query evaluated on them."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from distpriv.errors import InvalidQuery
from distpriv.framework.arrays import Floats, Rows
from distpriv.framework.queries import Query, Statistic
from distpriv.modelling.row_pool import RowPool
from distpriv.modelling.streams import Stream, in_blocks

__all__ = ["Stratum", "WeightedDraw", "distinct", "draw_rows", "evaluate", "evaluate_in_any_order", "sample_query"]

BLOCK_CELLS = 1_000_000
"""Rows drawn in one block: some 50 MB at five statistics."""


@frozen(kw_only=True)
class Stratum:
    """Rows of a pool, by position, and how many of them a dataset has."""

    rows: Rows
    size: int
    weights: Floats | None = None
    """The probability of each row, which are then drawn independently; None where all are as likely."""


@frozen(kw_only=True, eq=False)
class WeightedDraw:
    """Draws of rows in proportion to weights."""

    rows: Rows
    ends: Floats
    """Cumulative weights, of rows that have any."""

    @classmethod
    def of(cls, rows: Rows, weights: Floats) -> Self:
        """Return draws in proportion to weights; rows of none are never drawn.

        >>> WeightedDraw.of(np.array([7, 8, 9]), np.array([1.0, 0.0, 3.0])).at(np.array([0.0, 0.24, 0.26, 0.99]))
        array([7, 7, 9, 9])
        """
        some = weights > 0
        return cls(rows=rows[some], ends=np.cumsum(weights[some]))

    def at(self, luck: Floats) -> Rows:
        """Return the rows at some shares of all weight, in order."""
        if not luck.size:
            return np.zeros(luck.shape, dtype=np.int64)
        place = np.searchsorted(self.ends, luck * self.ends[-1], side="right")
        return np.asarray(self.rows[np.minimum(place, len(self.rows) - 1)])


def draw_rows(rng: np.random.Generator, strata: Sequence[Stratum], draws: int, *, replacement: bool) -> Rows:
    """Draw the rows of so many datasets: an array of positions, one dataset a row, strata one after the other."""
    return np.concatenate([_draw_stratum(rng, stratum, draws, replacement) for stratum in strata], axis=1)


def _draw_stratum(rng: np.random.Generator, stratum: Stratum, draws: int, replacement: bool) -> Rows:
    population = len(stratum.rows)
    if stratum.weights is not None:
        return WeightedDraw.of(stratum.rows, stratum.weights).at(rng.random((draws, stratum.size)))
    if replacement:
        return stratum.rows[rng.integers(population, size=(draws, stratum.size))]
    if 4 * stratum.size >= population:
        shuffled = rng.permuted(np.broadcast_to(stratum.rows, (draws, population)), axis=1)
        return shuffled[:, : stratum.size]
    return stratum.rows[distinct(rng, population, rng.integers(population, size=(draws, stratum.size)))]


def distinct(rng: np.random.Generator, population: int, picks: Rows) -> Rows:
    """Redraw repeated picks, keeping the leftmost, until no dataset has the same row twice.

    If the picks are independent and uniform, or the leftmost are drawn without replacement and the rest
    are, the result is uniform without replacement, in order: nothing here looks at which row is which, so every
    permutation of the population leaves the law as it is, and those act transitively on ordered distinct picks.
    """
    picks = picks.copy()
    affected = np.arange(len(picks))
    while len(affected):
        some = picks[affected]
        dataset, place = _repeated(some, population)
        if 4 * picks.shape[1] >= population and len(dataset):
            repeated = np.zeros(some.shape, dtype=bool)
            repeated[dataset, place] = True
            some[repeated] = _unused(rng, population, some, repeated)
        else:
            some[dataset, place] = rng.integers(population, size=len(dataset))
        again = np.unique(dataset)
        picks[affected[again]] = some[again]
        affected = affected[again]
    return picks


def _repeated(picks: Rows, population: int) -> tuple[Rows, Rows]:
    """Return which datasets have a pick that stands farther left already, and where, dataset by dataset.

    A pick and its place are sorted as one number, which takes a fraction of the time of sorting places by picks.
    """
    bits = int(picks.shape[1]).bit_length()
    keys: NDArray[Any] = picks.astype(np.uint32 if population << bits < 2**32 else np.int64)
    keys <<= bits
    keys |= np.arange(picks.shape[1], dtype=keys.dtype)
    keys.sort(axis=1)
    ranked = keys >> bits
    dataset, rank = np.nonzero(ranked[:, 1:] == ranked[:, :-1])
    place = (keys[dataset, rank + 1] & ((1 << bits) - 1)).astype(np.int64)
    order = np.lexsort((place, dataset))
    return dataset[order], place[order]


def _unused(rng: np.random.Generator, population: int, picks: Rows, repeated: NDArray[np.bool_]) -> Rows:
    """Draw rows for the repeated picks, dataset by dataset, without replacement from those that are not picked."""
    picked = np.zeros((len(picks), population), dtype=bool)
    np.put_along_axis(picked, picks, True, axis=1)
    shuffled = rng.permuted(np.broadcast_to(np.arange(population), picked.shape), axis=1)
    unpicked_first = np.argsort(np.take_along_axis(picked, shuffled, axis=1), axis=1, kind="stable")
    drawn = np.take_along_axis(shuffled, unpicked_first, axis=1)
    dataset, _ = np.nonzero(repeated)
    return np.asarray(drawn[dataset, (np.cumsum(repeated, axis=1) - 1)[repeated]])


def evaluate(query: Query, pool: RowPool, rows: Rows) -> Floats:
    """Evaluate the query on datasets given by the positions of their rows, one dataset a row."""
    released = []
    for name, statistic, numbers in query.by_rows(pool.numbers):
        if statistic.columns:
            read = [*numbers, *(pool.columns[column] for column in statistic.columns)]
            found = np.stack([_call(name, statistic, [values[dataset] for values in read]) for dataset in rows])
        else:
            found = statistic.evaluate(*(values.take(rows) for values in numbers))
        released.append(found.reshape(len(rows), statistic.size))
    return np.concatenate(released, axis=1)


def evaluate_in_any_order(query: Query, pool: RowPool, rng: np.random.Generator, rows: Rows) -> Floats:
    """Evaluate the query on datasets whose rows are put in random order, where that may matter."""
    return evaluate(query, pool, rng.permuted(rows, axis=1) if query.has_functions else rows)


def sample_query(
    query: Query,
    pool: RowPool,
    strata: Sequence[Stratum],
    draws: int,
    stream: Stream,
    *,
    replacement: bool = False,
) -> Floats:
    """Draw datasets and evaluate the query on each: an array of shape (draws, m)."""
    task = partial(_sample_block, query, pool, tuple(strata), replacement)
    records = sum(stratum.size for stratum in strata)
    return np.concatenate(in_blocks(task, draws, block_size(query, records), stream))


def block_size(query: Query, records: int) -> int:
    """Return how many datasets make a block; functions are slow, so theirs are small."""
    if query.has_functions:
        return 32
    return max(1, min(8192, BLOCK_CELLS // records))


def _sample_block(
    query: Query,
    pool: RowPool,
    strata: Sequence[Stratum],
    replacement: bool,
    rng: np.random.Generator,
    draws: int,
) -> Floats:
    return evaluate_in_any_order(query, pool, rng, draw_rows(rng, strata, draws, replacement=replacement))


def _call(name: str, statistic: Statistic, dataset: Sequence[NDArray[Any]]) -> Floats:
    """Call the user's function on one dataset and check what it returns."""
    try:
        value = statistic.evaluate(*dataset)
    except Exception as failure:
        raise InvalidQuery(
            f"the function of statistic {name!r} failed on a dataset of {len(dataset[0])} rows with "
            f"{type(failure).__name__}: {failure}; it must return {_wanted(statistic)} for every dataset.",
            about=("statistic", name),
        ) from failure
    if value.size != statistic.size or not np.isfinite(value).all():
        raise InvalidQuery(
            f"the function of statistic {name!r} returned {value.tolist()!r}: it must return {_wanted(statistic)} for "
            "every dataset.",
            about=("statistic", name),
        )
    return value.reshape(statistic.size)


def _wanted(statistic: Statistic) -> str:
    return "one finite number" if statistic.size == 1 else f"{statistic.size} finite numbers"
