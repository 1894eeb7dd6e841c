"""How time and memory of the exact model grow with the rows, on DuckDB and on Spark.

Usage: python -m benchmarks.scale [LARGEST]     (ten million rows when not given)

Every measurement is made in an interpreter of its own. Without PySpark or Java the Spark part is left out.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import psutil

from benchmarks.scale_population import RECORDS, SECRET, query_of, write_population

SIZES = (1_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
WIDTHS = (5, 20)
INTERVAL = 0.1
"""Seconds between two readings of the memory."""


def sources(path: Path) -> dict[str, str]:
    """Return how each engine is given a file."""
    has_spark = find_spec("pyspark") is not None and shutil.which("java") is not None
    return {"DuckDB": str(path)} | ({"Spark": f"spark:local[{psutil.cpu_count()}]?path={path}"} if has_spark else {})


def make(source: str, width: int) -> None:
    """Make the exact model and print what that took: seconds on the clock, and of CPU with all processes started."""
    started = time.perf_counter()
    import distpriv as dp

    dp.model(source, query_of(width), SECRET, records=RECORDS, method="exact")
    wall = time.perf_counter() - started
    own = psutil.Process()
    cpu = sum(sum(process.cpu_times()[:4]) for process in (own, *own.children(recursive=True)))
    print(json.dumps([wall, cpu]))


def measured(source: str, width: int) -> tuple[float, float, int]:
    """Return seconds on the clock, seconds of CPU and the peak of resident memory of one model."""
    command = [sys.executable, "-m", "benchmarks.scale", source, str(width)]
    peak = 0
    with subprocess.Popen(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            peak = max(peak, _memory(process.pid))
            time.sleep(INTERVAL)
        assert process.stdout is not None
        wall, cpu = json.loads(process.stdout.read().splitlines()[-1])
    return wall, cpu, peak


def _memory(pid: int) -> int:
    """Return the resident memory of a process and its descendants; shared pages count for each of them."""
    total = 0
    try:
        process = psutil.Process(pid)
        for member in (process, *process.children(recursive=True)):
            total += member.memory_info().rss
    except psutil.NoSuchProcess:
        pass
    return total


def main(largest: int = 10_000_000) -> None:
    """Print one line for each size, width and engine."""
    for rows in (size for size in SIZES if size <= largest):
        for width in WIDTHS:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "population.parquet"
                write_population(path, rows, width)
                for engine, source in sources(path).items():
                    wall, cpu, peak = measured(source, width)
                    print(
                        f"{rows:>11,} rows, {width:2} columns, {engine:6}: {wall:7.2f} s, {cpu:7.2f} s of CPU, "
                        f"{peak / 1e6:6,.0f} MB",
                        flush=True,
                    )


if __name__ == "__main__":
    if len(sys.argv) == 3:
        make(sys.argv[1], int(sys.argv[2]))
    else:
        main(*(int(float(size)) for size in sys.argv[1:]))
