"""One measurement of `benchmarks.scale`, in an interpreter of its own.

Usage: python -m benchmarks.scale_task WAY FILE WIDTH

Prints one line of JSON: seconds on the clock, seconds of CPU of this process and of all that it started, the most
memory that this process alone had, and what the way found out.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil


def exact_model(source: str, width: int) -> dict[str, Any]:
    """Make the exact model of a source; return mean and variance of every statistic at the first share."""
    import distpriv as dp
    from benchmarks.scale_population import RECORDS, SECRET, query_of

    model = dp.model(source, query_of(width), SECRET, records=RECORDS, method="exact")
    law = next(iter(model.distributions.values()))
    return {"mean": law.mean.tolist(), "variance": law.covariance.diagonal().tolist()}


def with_duckdb(path: Path, width: int) -> dict[str, Any]:
    """Make the exact model on DuckDB."""
    return exact_model(str(path), width)


def with_spark(path: Path, width: int) -> dict[str, Any]:
    """Make the exact model on Spark, with every core of this machine."""
    return exact_model(f"spark:local[{psutil.cpu_count()}]?path={path}", width)


def with_covar_samp(path: Path, width: int) -> dict[str, Any]:
    """Ask Spark for the same moments by one SELECT with a COVAR_SAMP for each pair of statistics."""
    from benchmarks.scale_population import SECRET, query_of
    from distpriv.modelling.reference import ReferenceTable

    source = f"spark:local[{psutil.cpu_count()}]?path={path}"
    table = ReferenceTable.open(source, query_of(width), (SECRET.predicate,))
    table.engine.select(table.select.moments([0.0] * width, table.predicates[SECRET.predicate]))
    return {}


def with_pandas(path: Path, width: int) -> dict[str, Any]:
    """Compute the same moments with pandas."""
    from benchmarks.scale_pandas import exact_moments

    return exact_moments(path, width)


def with_sampling(path: Path, width: int) -> dict[str, Any]:
    """Sample datasets one by one, the plain way, and extrapolate."""
    from benchmarks.scale_pandas import sampled_moments

    return sampled_moments(path, width)


WAYS: dict[str, Callable[[Path, int], dict[str, Any]]] = {
    "duckdb": with_duckdb,
    "spark": with_spark,
    "covar_samp": with_covar_samp,
    "pandas": with_pandas,
    "sampling": with_sampling,
}


def cpu_seconds() -> float:
    """Return the CPU time of this process and of all that it started, those that have ended included."""
    own = psutil.Process()
    return float(sum(sum(process.cpu_times()[:4]) for process in (own, *own.children(recursive=True))))


def peak_memory() -> int:
    """Return the most resident memory in bytes that this program had.

    On Linux the counter of `getrusage` goes on from the process that started this one; that of /proc begins anew.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return next(1024 * int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main(way: str, file: str, width: str) -> None:
    """Measure one way and print what it took."""
    started = time.perf_counter()
    found = WAYS[way](Path(file), int(width))
    wall = time.perf_counter() - started
    print(json.dumps({"wall": wall, "cpu": cpu_seconds(), "own_peak": peak_memory(), **found}))


if __name__ == "__main__":
    main(*sys.argv[1:])
