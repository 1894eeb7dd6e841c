"""How time and memory of the exact model grow with the rows, on DuckDB and on Spark, and what pandas takes.

Usage: python -m benchmarks.scale [--largest 1e7] [--out docs/images/scale.json] [--folder FOLDER] [--ways duckdb]

Populations are written to a temporary folder and removed when they are measured, unless a folder is given. Every
measurement is made in an interpreter of its own. What the file of results has already is not measured again.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from attrs import asdict

from benchmarks.scale_growth import FITTED_FROM, FLAT_FROM, TINY, Point, growth, points_of
from benchmarks.scale_population import write_population
from benchmarks.scale_task import WAYS

ROOT = Path(__file__).parents[1]
SIZES = (TINY, 100_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000)
WIDTHS = (5, 20)
COMPARED = 10_000_000
"""The rows at which pandas and plain sampling are measured."""
COMPARED_SQL = 1_000_000
"""The rows at which Spark's own covariances are measured, which take too long for more."""
ENOUGH_SECONDS, MOST_REPETITIONS = 40.0, 7
"""A measurement is repeated until it has taken so long altogether, or so often."""
INTERVAL = 0.1
"""Seconds between two looks at the memory of all processes."""


def measured_once(way: str, path: Path, width: int) -> dict[str, Any]:
    """Run one measurement in a fresh interpreter, and watch how much memory it and all that it starts have."""
    load = os.getloadavg()[0]
    command = [sys.executable, "-m", "benchmarks.scale_task", way, str(path), str(width)]
    peak = 0
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            peak = max(peak, _memory_of_tree(process.pid))
            try:
                process.wait(INTERVAL)
            except subprocess.TimeoutExpired:
                continue
        assert process.stdout is not None
        answer = process.stdout.read()
    if process.returncode:
        raise SystemExit(f"{way} failed on {path.name}: see what it wrote above.")
    found: dict[str, Any] = json.loads(answer.splitlines()[-1])
    return {**found, "peak": max(peak, found["own_peak"]), "load": load}


def _memory_of_tree(pid: int) -> int:
    """Return the resident memory of a process and its descendants; pages that they share count for each of them."""
    total = 0
    try:
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    for member in family:
        try:
            total += member.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


def measured(way: str, path: Path, rows: int, width: int) -> Point:
    """Measure one way until that has taken long enough."""
    runs: list[dict[str, Any]] = []
    while len(runs) < MOST_REPETITIONS and sum(run["wall"] for run in runs) < ENOUGH_SECONDS:
        runs.append(measured_once(way, path, width))
    return Point(
        way=way,
        rows=rows,
        width=width,
        file_bytes=path.stat().st_size,
        wall=tuple(_rounded(run["wall"] + run.get("more_wall", 0.0)) for run in runs),
        cpu=tuple(_rounded(run["cpu"] + run.get("more_cpu", 0.0)) for run in runs),
        peak=tuple(run["peak"] for run in runs),
        load=tuple(round(run["load"], 1) for run in runs),
        mean=tuple(runs[-1].get("mean", ())),
        variance=tuple(runs[-1].get("variance", ())),
    )


def ways_for(rows: int) -> list[str]:
    """Return what is measured at a size."""
    engines = ["duckdb", "spark"] if has_spark() else ["duckdb"]
    if rows == COMPARED_SQL and "spark" in engines:
        return [*engines, "covar_samp"]
    return engines + (["pandas", "sampling"] if rows == COMPARED else [])


def has_spark() -> bool:
    """Tell whether Spark can be started here."""
    return find_spec("pyspark") is not None and shutil.which("java") is not None


def refuse_disagreement(points: Iterable[Point]) -> None:
    """Refuse to publish times of ways that do not come to the same moments of the same rows."""
    known: dict[tuple[int, int], Point] = {}
    for point in points:
        if point.mean:
            first = known.setdefault((point.rows, point.width), point)
            for key in ("mean", "variance"):
                if not np.allclose(getattr(point, key), getattr(first, key), rtol=1e-8, atol=0):
                    raise SystemExit(f"{point.way} has another {key} than {first.way} of {point.rows:,} rows.")


@contextmanager
def population(rows: int, width: int, folder: Path | None) -> Iterator[Path]:
    """Write a population, in a temporary folder or in one where it stays and may be already."""
    with tempfile.TemporaryDirectory() as passing:
        path = (folder or Path(passing)) / f"population-{rows}-{width}.parquet"
        if not path.exists():
            unfinished = path.with_suffix(".unfinished")
            write_population(unfinished, rows, width)
            unfinished.rename(path)
        yield path


def run(sizes: Iterable[int], only: Iterable[str], points: list[Point], out: Path | None, folder: Path | None) -> None:
    """Measure every size and width that is not among the points yet; append them, and write them down."""
    done = {(p.way, p.rows, p.width) for p in points}
    for rows in sizes:
        for width in WIDTHS:
            ways = [way for way in ways_for(rows) if way in only and (way, rows, width) not in done]
            if not ways:
                continue
            with population(rows, width, folder) as path:
                for way in ways:
                    points.append(measured(way, path, rows, width))
                    _tell(points[-1])
                    refuse_disagreement(points)
                    if out is not None:
                        out.write_text(written(results(points)), encoding="utf-8")


def results(points: Iterable[Point]) -> dict[str, Any]:
    """Return all points with the machine they were measured on."""
    names = ("duckdb", "pandas", "numpy", "pyarrow", *(("pyspark",) if has_spark() else ()))
    machine = {
        "system": platform.system(),
        "cores": psutil.cpu_count(),
        "memory": psutil.virtual_memory().total,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in names}},
    }
    return {"machine": machine, "points": [asdict(point) for point in points]}


def read_points(out: Path | None) -> list[Point]:
    """Return the points of a file of results; none if there is no such file."""
    if out is None or not out.exists():
        return []
    return points_of(json.loads(out.read_text(encoding="utf-8")))


def written(found: dict[str, Any]) -> str:
    """Return results as JSON, a line for each point."""
    points = ",\n  ".join(json.dumps(point) for point in found["points"])
    return f'{{\n "machine": {json.dumps(found["machine"])},\n "points": [\n  {points}\n ]\n}}\n'


def _tell(point: Point) -> None:
    print(
        f"{point.way:10} {point.rows:>11,} rows × {point.width:2} columns: {point.least('wall'):8.2f} s, "
        f"{point.least('cpu'):8.2f} s of CPU, {max(point.peak) / 2**20:6,.0f} MB, {len(point.wall)} runs",
        flush=True,
    )


def _rounded(seconds: float) -> float:
    return round(seconds, 3)


def main() -> None:
    """Measure, and print how time and memory grow."""
    parser = argparse.ArgumentParser(description="Measure how the exact model grows with the rows.")
    parser.add_argument("--largest", type=float, default=1e7, help="the most rows; 1e8 takes about an hour")
    parser.add_argument("--out", type=Path, help="a JSON file for the results, added to if it is there")
    parser.add_argument("--folder", type=Path, help="an existing folder for the populations, where they stay")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS), help="what to measure")
    given = parser.parse_args()
    if not has_spark():
        print("no Spark here: it needs pip install 'distpriv[spark]' and Java")
    points = read_points(given.out)
    run([rows for rows in SIZES if rows <= given.largest], given.ways, points, given.out, given.folder)
    for way in ("duckdb", "spark"):
        for width in WIDTHS:
            if len({p.rows for p in points if (p.way, p.width) == (way, width) and p.rows >= FITTED_FROM[way]}) > 1:
                found = growth(points, way, width)
                print(
                    f"{way}, {width} columns: time grows as rows to the {found.wall_exponent:.3f} (CPU time "
                    f"{found.cpu_exponent:.3f}), peak memory {found.memory_ratio:.2f} times as much at "
                    f"{found.largest.rows:,} rows as at {FLAT_FROM:,}"
                )


if __name__ == "__main__":
    main()
