"""What people wait for: an audit, a median and a regression, each against a plain loop over datasets in the same run.

Usage: python -m benchmarks.commands [audit] [median] [regression]

CPU time of one process, and no other is started. *Cold* is the first run in a new process, with what it has to load
besides distpriv and pandas; *warm* the second one. The plain loop draws a dataset with pandas and computes the same
statistics; some are timed, and one of them is the unit.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.processes import PROCESSES
from distpriv.workflow.release_policy import audit_policy

TARGET = dp.PrivacyTarget(epsilon=1.0, delta=1e-3)
RECORDS, LOOPS = 2000, 200
SHADOWS, RELEASES = 4000, 100_000
"""What the audit simulates unless told otherwise."""
INCOME = dp.Share("income = '>50K'", values=(0.45, 0.55))
POLICY = f"""\
[data]
reference = "adult.parquet"
private = "none.parquet"
id = "benchmark"
[release]
records = {RECORDS}
[release.statistics]
age = "mean(age)"
never_married = "count(marital_status = 'Never-married')"
hours = "mean(hours_per_week)"
[[protect]]
share = "income = '>50K'"
values = [0.45, 0.55]
[privacy]
epsilon = 1.0
delta = 1e-3
mechanisms = ["certified_gaussian"]
"""


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU time of some work in this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def plain_loop(statistics: Callable[[pd.DataFrame], object]) -> float:
    """Return the CPU time of one dataset, drawn and looked at with pandas."""
    frame = dp.datasets.adult().to_pandas()
    high, low = frame[frame["income"] == ">50K"], frame[frame["income"] != ">50K"]
    positives = int(0.45 * RECORDS)

    def loop() -> None:
        for _ in range(LOOPS):
            statistics(pd.concat([high.sample(positives), low.sample(RECORDS - positives)]))

    return cpu(loop) / LOOPS


def audit() -> tuple[Callable[[], object], Callable[[pd.DataFrame], object]]:
    """Return `distpriv audit` on a policy of so many records, and its statistics in pandas."""
    folder = Path(tempfile.mkdtemp())
    pq.write_table(dp.datasets.adult(), folder / "adult.parquet")
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    return (
        lambda: audit_policy(str(folder / "policy.toml"), releases=RELEASES),
        lambda rows: [
            rows["age"].mean(),
            (rows["marital_status"] == "Never-married").sum(),
            rows["hours_per_week"].mean(),
        ],
    )


def median() -> tuple[Callable[[], object], Callable[[pd.DataFrame], object]]:
    """Return a plan that draws datasets, of a median, and the median in pandas."""

    def work() -> object:
        query = dp.Query(age=dp.quantile("age", 0.5))
        model = dp.model(dp.datasets.adult(), query, INCOME, records=RECORDS)
        return dp.plan(model, TARGET, assurance="proved", mechanisms=["coupled_gaussian"]).mechanism

    return work, lambda rows: rows["age"].median()


def slopes(rows: Mapping[str, np.ndarray]) -> Floats:
    """Return the coefficients of hours on age and education, by least squares."""
    x = np.column_stack([np.ones(len(rows["age"])), rows["age"], rows["education_num"]])
    return np.asarray(np.linalg.lstsq(x, rows["hours_per_week"], rcond=None)[0])


def regression() -> tuple[Callable[[], object], Callable[[pd.DataFrame], object]]:
    """Return the same of a regression's coefficients, and the regression on a frame of pandas."""
    columns = ["age", "education_num", "hours_per_week"]

    def work() -> object:
        query = dp.Query(beta=dp.function(slopes, columns=columns, size=3))
        model = dp.model(dp.datasets.adult(), query, INCOME, records=RECORDS)
        return dp.plan(model, TARGET, assurance="proved", mechanisms=["coupled_gaussian"]).mechanism

    return work, lambda rows: slopes({name: rows[name].to_numpy(dtype=float) for name in columns})


CASES = {"audit": audit, "median": median, "regression": regression}


def show(name: str) -> None:
    """Print cold and warm times of one case, and how many datasets of the plain loop they are."""
    os.environ[PROCESSES] = "1"
    work, statistics = CASES[name]()
    times = {"cold": cpu(work), "warm": cpu(work)}
    unit = plain_loop(statistics)
    print(f"{name} of {RECORDS:,} records: a dataset of the plain loop takes {1e3 * unit:.2f} ms")
    for how, taken in times.items():
        print(f"{name}, {how}: {taken:.1f} s, as long as {taken / unit:,.0f} datasets of the plain loop")
    if name == "audit":
        loop = (SHADOWS + RELEASES) * unit
        print(f"audit of {SHADOWS + RELEASES:,} datasets, warm: {loop / times['warm']:.1f} times as fast as the loop")


def main() -> None:
    """Show every case that is asked for, each in a process of its own."""
    asked = sys.argv[1:] or list(CASES)
    if len(asked) == 1:
        show(asked[0])
        return
    for name in asked:
        subprocess.run([sys.executable, "-m", "benchmarks.commands", name], check=True)


if __name__ == "__main__":
    main()
