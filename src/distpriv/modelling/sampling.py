"""Datasets drawn from a pool of rows, and the query evaluated on them."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from distpriv.errors import InvalidQuery
from distpriv.framework.arrays import Floats, Rows
from distpriv.framework.queries import Query, Statistic
from distpriv.modelling.pools.row_pool import RowPool
from distpriv.modelling.streams import Stream, in_blocks

__all__ = ["Stratum", "distinct", "draw_rows", "evaluate", "evaluate_in_any_order", "sample_query"]

BLOCK_CELLS = 1_000_000
"""Rows drawn in one block: some 50 MB at five statistics."""


@frozen(kw_only=True)
class Stratum:
    """Rows of a pool, by position, and how many of them a dataset has."""

    rows: Rows
    size: int


def draw_rows(rng: np.random.Generator, strata: Sequence[Stratum], draws: int, *, replacement: bool) -> Rows:
    """Draw the rows of so many datasets: an array of positions, one dataset a row, strata one after the other."""
    return np.concatenate([_draw_stratum(rng, stratum, draws, replacement) for stratum in strata], axis=1)


def _draw_stratum(rng: np.random.Generator, stratum: Stratum, draws: int, replacement: bool) -> Rows:
    population = len(stratum.rows)
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
    ranked = np.sort(picks, axis=1)
    affected = np.flatnonzero((ranked[:, 1:] == ranked[:, :-1]).any(axis=1))
    while len(affected):
        some = picks[affected]
        order = np.argsort(some, axis=1, kind="stable")
        each = np.arange(len(some))[:, np.newaxis]
        ranked = some[each, order]
        repeated = np.zeros(some.shape, dtype=bool)
        repeated[each, order[:, 1:]] = ranked[:, 1:] == ranked[:, :-1]
        if 4 * picks.shape[1] >= population:
            some[repeated] = _unused(rng, population, some, repeated)
        else:
            some[repeated] = rng.integers(population, size=int(repeated.sum()))
        picks[affected] = some
        affected = affected[repeated.any(axis=1)]
    return picks


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
    """Draw datasets and evaluate the query on each: an array of shape (draws, m).

    Args:
        query: what to evaluate.
        pool: where the rows are.
        strata: which rows to draw from, and how many of each.
        draws: how many datasets.
        stream: the random numbers to draw with.
        replacement: whether a row may be drawn twice.
    """
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
