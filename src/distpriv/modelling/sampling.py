"""Datasets drawn from rows in memory, block by block, and the query evaluated on them."""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from attrs import field, frozen
from joblib import Parallel, delayed
from numpy.typing import NDArray

from distpriv.deadline import require_time
from distpriv.errors import InvalidQuery
from distpriv.framework.arrays import Floats, Rows
from distpriv.processes import tied, usable_processes
from distpriv.progress import Progress, silent

if TYPE_CHECKING:
    from distpriv.engines.engine import Executors
    from distpriv.framework.queries import Query, Statistic

__all__ = [
    "RowPool",
    "SamplingSettings",
    "Stratum",
    "Stream",
    "WeightedDraw",
    "block_size",
    "datasets_in_block",
    "distinct",
    "draw_rows",
    "evaluate",
    "in_blocks",
    "sample_block",
]

T = TypeVar("T")


@frozen(kw_only=True)
class SamplingSettings:
    """How work is cut into blocks, and where they run; none of it changes a law, and blocks say which numbers."""

    worth_starting: float = 2.0
    """Seconds of remaining work from which starting processes pays."""
    block_rows: int = 1_000_000
    """Rows drawn in one block: some 50 MB at five statistics."""
    datasets: int = 8192
    """Datasets of a block at most."""
    datasets_added_up: int = 32_768
    """Datasets at most of a block whose rows are only added up."""
    datasets_of_functions: int = 32
    """Functions are slow, so their blocks are small."""


SAMPLING = SamplingSettings()


@frozen(kw_only=True)
class Stream:
    """Random numbers for one purpose, and who may help to draw with them."""

    seed: int
    name: str
    """What is drawn; other names of the same seed are independent."""
    processes: int | None = None
    """How many to use; as many as there are cores when not given."""
    executors: "Executors | None" = None
    """What runs slow work, instead of processes."""
    progress: Progress = silent
    """Told after every block."""


def in_blocks(task: Callable[[np.random.Generator, int], T], draws: int, size: int, stream: Stream) -> list[T]:
    """Run a task that draws so many datasets, each block of them with random numbers of its own.

    Blocks run here, in processes or on executors, whichever is faster, with the same result.
    """
    sizes = [min(size, draws - start) for start in range(0, draws, size)]
    key = zlib.crc32(stream.name.encode())
    seeds = [np.random.SeedSequence(stream.seed, spawn_key=(key, number)) for number in range(len(sizes))]
    run = partial(_run, task)
    first, *rest = zip(seeds, sizes, strict=True)
    started = perf_counter()
    results, done = [run(first)], sizes[0]
    seconds_left = (perf_counter() - started) * len(rest)
    stream.progress(stream.name, done, draws)
    for result, count in zip(_where_fastest(run, rest, seconds_left, stream), sizes[1:], strict=True):
        require_time()
        results.append(result)
        done += count
        stream.progress(stream.name, done, draws)
    return results


Job = tuple[np.random.SeedSequence, int]


def _where_fastest(run: Callable[[Job], T], jobs: Sequence[Job], seconds: float, stream: Stream) -> Iterable[T]:
    workers = min(stream.processes or usable_processes(), len(jobs))
    if stream.executors is not None and seconds > SAMPLING.worth_starting:
        return stream.executors(run, jobs)
    if workers > 1 and seconds > SAMPLING.worth_starting:
        results: Iterable[T] = Parallel(n_jobs=workers, return_as="generator", **tied())(delayed(run)(j) for j in jobs)
        return results
    return map(run, jobs)


def _run(task: Callable[[np.random.Generator, int], T], job: Job) -> T:
    seed, draws = job
    return task(np.random.Generator(np.random.PCG64(seed)), draws)


@frozen(kw_only=True)
class RowPool:
    """Rows in memory, to draw datasets from."""

    size: int
    """How many rows there are."""
    numbers: Floats
    """What each statistic that SQL evaluates has of every row, one statistic a row."""
    columns: Mapping[str, NDArray[Any]]
    """What functions read, by column."""
    strata: Mapping[str, NDArray[np.bool_]]
    """Which rows satisfy each predicate."""
    properties: Mapping[str, Floats] = field(factory=dict)
    """The numbers that rows are weighed by, by expression."""

    def positions(self, predicate: str | None, satisfied: bool = True, among: Rows | None = None) -> Rows:
        """Return where the rows of a stratum are, of all rows or of those `among`; with no predicate, all of these."""
        rows = np.arange(self.size) if among is None else among
        return rows if predicate is None else np.asarray(rows[self.strata[predicate][rows] == satisfied])

    def parts(self, shares: Sequence[float], seed: int) -> list[Rows]:
        """Return random shares of the rows of every stratum, but for one row, no row in two of them."""
        alike = np.zeros(self.size, dtype=np.int64)
        for satisfied in self.strata.values():
            alike = np.unique(2 * alike + ~satisfied, return_inverse=True)[1]
        order = np.argsort(alike, kind="stable")
        rng, split = np.random.default_rng(seed), []
        for rows in np.split(order, np.flatnonzero(np.diff(alike[order])) + 1):
            ends = np.round(np.cumsum(shares) * len(rows)).astype(np.int64)
            split.append(np.split(rng.choice(rows, size=ends[-1], replace=False), ends[:-1]))
        return [np.concatenate(pieces) for pieces in zip(*split, strict=True)]


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
    rows, shape = stratum.rows, (draws, stratum.size)
    if stratum.weights is not None:
        return WeightedDraw.of(rows, stratum.weights).at(rng.random(shape))
    if not replacement and 4 * stratum.size >= len(rows):
        return rng.permuted(np.broadcast_to(rows, (draws, len(rows))), axis=1)[:, : stratum.size]
    picks = rng.integers(len(rows), size=shape)
    return rows[picks if replacement else distinct(rng, len(rows), picks)]


def distinct(rng: np.random.Generator, population: int, picks: Rows) -> Rows:
    """Redraw repeated picks, keeping the leftmost, until no dataset has the same row twice.

    If picks are independent and uniform, or the leftmost are drawn without replacement and the rest are, the result is
    uniform without replacement, in order: nothing here looks at which row is which, so every permutation of the
    population leaves the law as it is, and those act transitively on ordered distinct picks.
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


def evaluate(query: "Query", pool: RowPool, rows: Rows) -> Floats:
    """Evaluate the query on datasets given by the positions of their rows, one dataset a row."""
    released = []
    for name, statistic, numbers in query.by_rows(pool.numbers):
        if statistic.columns:
            read = [*numbers, *(pool.columns[column] for column in statistic.columns)]
            values = np.stack([_call(name, statistic, [column[dataset] for column in read]) for dataset in rows])
        else:
            values = statistic.evaluate(*(column.take(rows) for column in numbers))
        released.append(values.reshape(len(rows), statistic.size))
    return np.concatenate(released, axis=1)


def block_size(query: "Query", records: int) -> int:
    """Return how many datasets make a block."""
    if query.has_functions:
        return SAMPLING.datasets_of_functions
    return max(1, min(SAMPLING.datasets, SAMPLING.block_rows // records))


def datasets_in_block(rows: int) -> int:
    """Return how many datasets, or pairs of them, make a block where so many rows of each are drawn and added up."""
    return max(1, min(SAMPLING.datasets_added_up, SAMPLING.block_rows // max(rows, 1)))


def sample_block(
    query: "Query",
    pool: RowPool,
    strata: Sequence[Stratum],
    replacement: bool,
    rng: np.random.Generator,
    draws: int,
) -> Floats:
    """Draw datasets and evaluate the query on each: an array of shape (draws, m)."""
    rows = draw_rows(rng, strata, draws, replacement=replacement)
    return evaluate(query, pool, rng.permuted(rows, axis=1) if query.has_functions else rows)


def _call(name: str, statistic: "Statistic", dataset: Sequence[NDArray[Any]]) -> Floats:
    """Call the user's function on one dataset and check what it returns."""
    wanted = "one finite number" if statistic.size == 1 else f"{statistic.size} finite numbers"
    try:
        value = statistic.evaluate(*dataset)
    except Exception as failure:
        raise InvalidQuery(
            f"the function of statistic {name!r} failed on a dataset of {len(dataset[0])} rows with "
            f"{type(failure).__name__}: {failure}; it must return {wanted} for every dataset.",
            about=("statistic", name),
        ) from failure
    if value.size != statistic.size or not np.isfinite(value).all():
        raise InvalidQuery(
            f"the function of statistic {name!r} returned {value.tolist()!r}: it must return {wanted} for every "
            "dataset.",
            about=("statistic", name),
        )
    return value.reshape(statistic.size)
