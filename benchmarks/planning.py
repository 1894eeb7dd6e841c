"""How long plans of real tables take, and how much of the public uncertainty their releases remove.

Usage: python -m benchmarks.planning [--before FOLDER] [--level trust=gaussian] [NAME …]

The tables come with scikit-learn and, where it is installed, statsmodels. Each plan runs in a process of its own, which
is ended after 330 seconds. With ``--before``, the root of another checkout, the same plans are made by the code there
and told as ratios, both in one run; ``--assurance`` names the argument that this checkout calls ``assurance``.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import distpriv as dp

LEVEL = "assurance=checked"

LONGEST = 330.0
"""Seconds on a clock after which a plan is ended."""

SOURCES = {
    "diabetes": "sklearn.datasets:load_diabetes",
    "wine": "sklearn.datasets:load_wine",
    "breast cancer": "sklearn.datasets:load_breast_cancer",
    "iris": "sklearn.datasets:load_iris",
    "fair": "statsmodels.datasets.fair:load_pandas",
    "randhie": "statsmodels.datasets.randhie:load_pandas",
    "anes96": "statsmodels.datasets.anes96:load_pandas",
    "star98": "statsmodels.datasets.star98:load_pandas",
}
SIZES = ((1, 50), (1, 1000), (3, 1000), (6, 300), (12, 1000), (3, 100_000))
"""Numbers of statistics, and of records."""


def frame(name: str) -> Any:
    """Return a table by its name, with columns of numbers only."""
    module, function = SOURCES[name].split(":")
    load = getattr(import_module(module), function)
    found = (load(as_frame=True).frame if module.startswith("sklearn") else load().data).select_dtypes("number")
    return found.rename(columns=lambda column: f"c{list(found.columns).index(column)}").dropna()


def plan(name: str, statistics: int, records: int, level: str) -> dict[str, Any]:
    """Return how long a plan takes, of a processor, and what came of it."""
    rows = frame(name)
    hidden, *columns = sorted(rows.columns, key=lambda column: (-rows[column].nunique(), column))
    middle = float(rows[hidden].median())
    secret = dp.Share(f"{hidden} > {middle!r}", values=(0.4, 0.6))
    query = dp.Query({f"s{k}": dp.mean(column) for k, column in enumerate(columns[:statistics])})
    table = pa.Table.from_pandas(rows, preserve_index=False)
    started = time.process_time()
    model = dp.model(table, query, secret, records=records)
    word, value = level.split("=")
    make: Any = dp.plan
    made = make(model, dp.PrivacyTarget(epsilon=1.0, delta=1e-3), processes=1, **{word: value})
    seconds = time.process_time() - started
    chosen = made.chosen
    return {
        "seconds": seconds,
        "statistics": model.dimension,
        "mechanism": "none" if chosen is None else chosen.name,
        "information": 0.0 if chosen is None else chosen.information,
    }


def elsewhere(root: Path, case: tuple[str, int, int], level: str) -> dict[str, Any] | None:
    """Make a plan in a process of its own, by the code of a checkout; None if that is refused or takes too long."""
    names = [str(root / "src"), str(Path(__file__).parents[1])]
    code = f"import json; from benchmarks.planning import plan; print(json.dumps(plan(*{case!r}, {level!r})))"
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(names), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-c", code]
    try:
        ran = subprocess.run(command, env=settings, timeout=LONGEST, capture_output=True, text=True, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return None
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def cases(names: list[str], available: Callable[[str], bool]) -> Iterator[tuple[str, int, int]]:
    """Yield what to plan: a table, a number of statistics, a number of records."""
    for name in names:
        if not available(name):
            print(f"{name}: not measured, as {SOURCES[name].split('.')[0]} is not installed")
            continue
        columns = frame(name).shape[1] - 1
        yield from ((name, size, records) for size, records in SIZES if size <= columns)


def installed(name: str) -> bool:
    """Tell whether the package that a table comes with can be imported."""
    try:
        import_module(SOURCES[name].split(".")[0])
    except ImportError:
        return False
    return True


def main() -> None:
    """Print one line for each plan, and the longest and the median of all."""
    parser = argparse.ArgumentParser(description="Measure plans of real tables.")
    parser.add_argument("--before", type=Path)
    parser.add_argument("--level", default=LEVEL)
    parser.add_argument("names", nargs="*", default=list(SOURCES))
    asked = parser.parse_args()
    seconds: dict[bool, list[float]] = {True: [], False: []}
    print(f"{'table':<14}{'statistics':>11}{'records':>9}{'CPU s':>8}{'removed':>9}  mechanism")
    for case in cases(asked.names, installed):
        found = elsewhere(Path(__file__).parents[1], case, LEVEL)
        if found is None:
            print(f"{case[0]:<14}{case[1]:>11}{case[2]:>9,}  no plan")
            seconds[case[1] == 1].append(LONGEST)
            continue
        seconds[case[1] == 1].append(found["seconds"])
        line = f"{case[0]:<14}{case[1]:>11}{case[2]:>9,}{found['seconds']:>8.1f}{found['information']:>9.0%}"
        print(f"{line}  {found['mechanism']}{_ratio(asked, case, found)}", flush=True)
    for single, several in seconds.items():
        if several:
            what = "one statistic" if single else "several statistics"
            print(f"{what}: median {np.median(several):.1f} s, longest {max(several):.1f} s of a processor")


def _ratio(asked: argparse.Namespace, case: tuple[str, int, int], found: dict[str, Any]) -> str:
    if asked.before is None:
        return ""
    before = elsewhere(asked.before, case, asked.level)
    if before is None:
        return f"; before: no plan within {LONGEST:g} s"
    ratio = before["seconds"] / found["seconds"]
    return f"; before: {before['seconds']:.1f} s ({ratio:.1f} times), {before['information']:.0%} removed"


if __name__ == "__main__":
    main()
