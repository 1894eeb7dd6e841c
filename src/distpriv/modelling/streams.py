"""Random draws in blocks: the same numbers for a seed, wherever and in how many processes they are drawn.

Draws come in blocks of a size that depends on the problem alone, each block with random numbers of its own.
"""

import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from time import perf_counter
from typing import TypeVar

import numpy as np
from attrs import frozen
from joblib import Parallel, delayed

from distpriv.deadline import require_time
from distpriv.engines.engine import Executors
from distpriv.processes import tied, usable_processes
from distpriv.progress import Progress, silent

__all__ = ["Stream", "in_blocks", "run_blocks"]

WORTH_STARTING = 2.0
"""Seconds of remaining work from which starting processes pays."""

B = TypeVar("B")
T = TypeVar("T")


@frozen(kw_only=True)
class Stream:
    """Random numbers for one purpose, and who may help to draw with them."""

    seed: int
    name: str
    """What is drawn; other names of the same seed are independent."""
    processes: int | None = None
    """How many to use; as many as there are cores when not given."""
    executors: Executors | None = None
    """What runs slow work, instead of processes."""
    progress: Progress = silent
    """Told after every block."""


def in_blocks(task: Callable[[np.random.Generator, int], T], draws: int, size: int, stream: Stream) -> list[T]:
    """Run a task that draws so many datasets block by block."""
    sizes = [min(size, draws - start) for start in range(0, draws, size)]
    return run_blocks(task, sizes, sizes, stream)


def run_blocks(
    task: Callable[[np.random.Generator, B], T], blocks: Sequence[B], sizes: Sequence[int], stream: Stream
) -> list[T]:
    """Run a task on every block, here, in processes or on executors, whichever is faster, with the same result."""
    key = zlib.crc32(stream.name.encode())
    seeds = [np.random.SeedSequence(stream.seed, spawn_key=(key, number)) for number in range(len(blocks))]
    jobs = list(zip(seeds, blocks, strict=True))
    started = perf_counter()
    results = [_run(task, jobs[0])]
    seconds_left = (perf_counter() - started) * (len(jobs) - 1)
    rest = _rest(task, jobs[1:], seconds_left, stream)
    draws, done = sum(sizes), sizes[0]
    stream.progress(stream.name, done, draws)
    for result, size in zip(rest, sizes[1:], strict=True):
        require_time()
        results.append(result)
        done += size
        stream.progress(stream.name, done, draws)
    return results


def _rest(
    task: Callable[[np.random.Generator, B], T],
    jobs: Sequence[tuple[np.random.SeedSequence, B]],
    seconds_left: float,
    stream: Stream,
) -> Iterable[T]:
    """Run the other jobs where that is fastest."""
    workers = min(stream.processes or usable_processes(), len(jobs))
    if stream.executors is not None and seconds_left > WORTH_STARTING:
        return stream.executors(partial(_run, task), jobs)
    if workers > 1 and seconds_left > WORTH_STARTING:
        found: Iterable[T] = Parallel(n_jobs=workers, return_as="generator", **tied())(
            delayed(_run)(task, job) for job in jobs
        )
        return found
    return (_run(task, job) for job in jobs)


def _run(task: Callable[[np.random.Generator, B], T], job: tuple[np.random.SeedSequence, B]) -> T:
    seed, block = job
    return task(np.random.Generator(np.random.PCG64(seed)), block)
