"""How time and memory grow with the rows, by measured points, and what that comes to for more rows than were tried."""

import math
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from attrs import frozen

__all__ = [
    "FITTED_FROM",
    "FLAT_FROM",
    "TINY",
    "Cluster",
    "Growth",
    "Point",
    "at_scale",
    "exponent",
    "growth",
    "points_of",
]

TINY = 1_000
"""So few rows that all the time is start-up."""
FITTED_FROM = {"duckdb": 1_000_000, "spark": 10_000_000}
"""The fewest rows that count for the exponent of time: below, start-up varies by more than the rows take."""
FLAT_FROM = 1_000_000
"""The fewest rows that count for the growth of memory."""

Clock = Literal["wall", "cpu"]


@frozen(kw_only=True)
class Point:
    """Repeated measurements of one way to model a population."""

    way: str
    rows: int
    width: int
    file_bytes: int
    wall: tuple[float, ...]
    """Seconds on the clock, of every repetition."""
    cpu: tuple[float, ...]
    """Seconds of CPU, of all processes and cores."""
    peak: tuple[int, ...]
    """The most bytes of memory at one time, of all processes."""
    load: tuple[float, ...]
    """The load of the machine just before: how many processes wanted a core, in the minute that had passed."""
    mean: tuple[float, ...] = ()
    """The means of all statistics at the first share; none where a way does not find them exactly."""
    variance: tuple[float, ...] = ()
    """Their variances."""

    def least(self, clock: Clock) -> float:
        """Return the time of the repetition that was disturbed least."""
        return min(self.wall if clock == "wall" else self.cpu)


def points_of(results: dict[str, Any]) -> list[Point]:
    """Return the points of results that were written down."""
    lists = ("wall", "cpu", "peak", "load", "mean", "variance")
    return [Point(**{**point, **{key: tuple(point[key]) for key in lists}}) for point in results["points"]]


@frozen(kw_only=True)
class Growth:
    """How one way grows with the rows: time as a power of them, and peak memory as a ratio."""

    way: str
    width: int
    start_up: float
    wall_exponent: float
    cpu_exponent: float
    memory_ratio: float
    """Peak memory of the most rows over that of FLAT_FROM rows."""
    largest: Point
    start: Point

    def core_seconds_a_row(self, clock: Clock, cores: int) -> float:
        """Return what a row takes of a core, start-up taken off: CPU time, or time on the clock times the cores."""
        seconds = self.largest.least(clock) - self.start.least(clock)
        return seconds * (cores if clock == "wall" else 1) / self.largest.rows


def exponent(rows: Iterable[float], seconds: Iterable[float]) -> float:
    """Return the k of seconds = c · rowsᵏ that is nearest in least squares of logarithms; NaN if seconds are below 0.

    >>> round(exponent([10, 100, 1000], [3, 30, 300]), 12)
    1.0
    """
    x, taken = np.log(np.fromiter(rows, dtype=np.float64)), np.fromiter(seconds, dtype=np.float64)
    if len(x) < 2:
        raise ValueError("an exponent needs at least two sizes: measure more of them.")
    if (taken <= 0).any():
        return math.nan
    y, centred = np.log(taken), x - x.mean()
    return float(centred @ y / (centred @ centred))


def growth(points: Iterable[Point], way: str, width: int) -> Growth:
    """Return how one way grows, from a point of TINY rows and those that count."""
    own = sorted((p for p in points if (p.way, p.width) == (way, width)), key=lambda p: p.rows)
    start = next(p for p in own if p.rows == TINY)
    fitted = [p for p in own if p.rows >= FITTED_FROM[way]]
    flat = next(p for p in own if p.rows >= FLAT_FROM)
    rows = [p.rows for p in fitted]

    def of(clock: Clock) -> float:
        return exponent(rows, [p.least(clock) - start.least(clock) for p in fitted])

    return Growth(
        way=way,
        width=width,
        start_up=start.least("wall"),
        wall_exponent=of("wall"),
        cpu_exponent=of("cpu"),
        memory_ratio=max(fitted[-1].peak) / max(flat.peak),
        largest=fitted[-1],
        start=start,
    )


@frozen(kw_only=True)
class Cluster:
    """What an extrapolation assumes of a cluster."""

    executors: int = 100
    cores: int = 4
    """Cores of each executor, as fast as those measured on."""
    task_bytes: int = 128 * 2**20
    """Bytes of the file that one task reads: Spark's default."""
    collect_rate: float = 1e8
    """Bytes a second at which the driver takes in what tasks have found."""


@frozen(kw_only=True)
class AtScale:
    """The arithmetic of one extrapolation."""

    file_bytes: float
    tasks: int
    waves: int
    """How often every core takes a task; the last time some have none."""
    scan_seconds: float
    collected_bytes: float
    collect_seconds: float
    start_up: float
    read_rate: float
    """Bytes a second that every executor must be able to read for the scan to be bound by its cores."""

    @property
    def seconds(self) -> float:
        """Start-up, scan and what is collected, one after the other."""
        return self.start_up + self.scan_seconds + self.collect_seconds


def at_scale(measured: Growth, rows: int, cluster: Cluster, *, clock: Clock, cores: int) -> AtScale:
    """Extrapolate to more rows on a cluster.

    Time for a row is that of the most rows measured, on `cores` cores. A task returns count, mean, extremes and
    products of m statistics for two strata, 8 bytes each.
    """
    file_bytes = rows * measured.largest.file_bytes / measured.largest.rows
    tasks = math.ceil(file_bytes / cluster.task_bytes)
    waves = math.ceil(tasks / (cluster.executors * cluster.cores))
    scan = waves * rows / tasks * measured.core_seconds_a_row(clock, cores)
    collected = 8.0 * tasks * 2 * (2 + 3 * measured.width + measured.width**2)
    return AtScale(
        file_bytes=file_bytes,
        tasks=tasks,
        waves=waves,
        scan_seconds=scan,
        collected_bytes=collected,
        collect_seconds=collected / cluster.collect_rate,
        start_up=measured.start_up,
        read_rate=file_bytes / cluster.executors / scan,
    )
