"""How model, plan, release and verification of a table grow with its cells: seconds, and the most memory of each.

Usage: python -m benchmarks.tables [--pairs=2] [SECONDS [SIZE …]]

Every table is made in a process of its own, which is ended after so many seconds (300), so that one that takes too long
is a line like all others. Seconds are those of the clock and those of all processors together. At the end stands with
which power of the number of cells the seconds of processors grow: over all sizes, and from each to the next.

The table of 224 cells is one that people would publish: education, sex and marital status, 16 × 2 × 7, of which 202
occur. Those of other sizes have the most frequent of all combinations with occupations as well, and the rest.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from joblib.externals.loky import get_reusable_executor

import distpriv as dp
from distpriv.bundle import verify_bundle
from distpriv.workflow.plan_policy import plan_policy
from distpriv.workflow.release_policy import release_policy

SIZES = (10, 30, 100, 224, 300, 500)
PUBLISHED = (224, ("education", "sex", "marital_status"))
PAIRS = {2: "values = [0.2, 0.3]", 20: "between = [0.2, 0.3]\nwithin = 0.01"}
RECORDS = {2: 1000, 20: 100}
POLICY = """
[data]
reference = "reference.parquet"
private = "private.parquet"
id = "tables"
[release]
records = {records}
[release.tables.people]
count = true
by = {by}
[[protect]]
share = "income = '>50K'"
{pairs}
[privacy]
epsilon = 1.0
delta = 1e-3
[ledger]
create = true
"""


def with_cells(size: int) -> pa.Table:
    """Return the Adult data with a column of so many levels: the most frequent of all combinations, and the rest."""
    rows = dp.datasets.adult()
    columns = ["education", "sex", "marital_status", "occupation"]
    joined = pc.binary_join_element_wise(*(pc.fill_null(rows[name].cast(pa.string()), "?") for name in columns), "|")
    counts = sorted(pc.value_counts(joined.combine_chunks()).to_pylist(), key=lambda c: (-c["counts"], c["values"]))
    kept = pa.array([count["values"] for count in counts[: size - 1]])
    return rows.append_column("cell", pc.if_else(pc.is_in(joined, value_set=kept), joined, "rest"))


def processors() -> float:
    """Return how many seconds of processors this process and those that it started have used."""
    get_reusable_executor().shutdown(wait=True)  # what a process used is known when it has ended
    used = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def measured(what: str, work: Callable[[], Any]) -> Any:
    """Print how long some work takes and the most memory so far, and return what it gives."""
    start, before = time.perf_counter(), processors()
    found = work()
    clock, used = time.perf_counter() - start, processors() - before
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"    {what:8} {clock:8.2f} s  {used:8.2f} s of processors  {most:7.0f} MB", flush=True)
    with Path("seconds.json").open("a", encoding="utf-8") as file:
        file.write(json.dumps([what, used]) + "\n")
    return found


def one(size: int, pairs: int) -> None:
    """Take one table from rows to a verified bundle, in the folder that this runs in."""
    by = list(PUBLISHED[1]) if size == PUBLISHED[0] else ["cell"]
    rows, records = dp.datasets.adult() if size == PUBLISHED[0] else with_cells(size), RECORDS[pairs]
    pq.write_table(rows.slice(records), "reference.parquet")
    pq.write_table(rows.slice(0, records), "private.parquet")
    Path("policy.toml").write_text(
        POLICY.format(records=records, pairs=PAIRS[pairs], by=json.dumps(by)), encoding="utf-8"
    )
    query = dp.Query(people=dp.table("count", by=by))
    secret = (
        dp.Share("income = '>50K'", values=(0.2, 0.3))
        if pairs == 2
        else dp.Share("income = '>50K'", between=(0.2, 0.3), within=0.01)
    )
    measured("model", lambda: dp.model("reference.parquet", query, secret, records=records))
    planned = measured("plan", lambda: plan_policy("policy.toml"))
    chosen = planned.plan.chosen
    if chosen is None:
        print("    no mechanism holds", flush=True)
        return
    print(f"    {chosen.name}, {chosen.information:.0%} of the public uncertainty removed", flush=True)
    measured("release", lambda: dp.release(planned.plan, "private.parquet", ledger=None))
    measured("bundle", lambda: release_policy("policy.toml", out="bundle"))
    print("             (a release and its documents, with a plan of its own)", flush=True)
    measured("verify", lambda: verify_bundle("bundle"))


def run(size: int, pairs: int, limit: float) -> dict[str, float]:
    """Take one table from rows to a verified bundle in a process of its own; return seconds of processors by step."""
    command = [sys.executable, "-m", "benchmarks.tables", "--one", str(size), str(pairs)]
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as folder:
        try:
            subprocess.run(command, cwd=folder, timeout=limit, check=True, env={**os.environ, "PYTHONPATH": paths})
        except subprocess.TimeoutExpired:
            print(f"    ended after {limit:g} s", flush=True)
        seconds = Path(folder, "seconds.json")
        return dict(map(json.loads, seconds.read_text(encoding="utf-8").splitlines())) if seconds.exists() else {}


def growth(what: str, found: dict[int, dict[str, float]]) -> str:
    """Say with which power of the number of cells the seconds of a step grow."""
    known = [(size, seconds[what]) for size, seconds in sorted(found.items()) if what in seconds]
    if len(known) < 2:
        return f"    {what:8} too few sizes"
    sizes, seconds = np.log(np.array(known)).T
    powers = (np.diff(seconds) / np.diff(sizes)).tolist()
    steps = [f"{known[k][0]} to {known[k + 1][0]}: {power:.2f}" for k, power in enumerate(powers)]
    return f"    {what:8} {np.polyfit(sizes, seconds, 1)[0]:5.2f}  ({', '.join(steps)})"


def main(arguments: list[str]) -> None:
    """Run every table in a process of its own, and say how seconds grow."""
    chosen = [int(each.removeprefix("--pairs=")) for each in arguments if each.startswith("--pairs=")] or list(PAIRS)
    arguments = [each for each in arguments if not each.startswith("--pairs=")]
    limit = float(arguments[0]) if arguments else 300.0
    found: dict[int, dict[int, dict[str, float]]] = {pairs: {} for pairs in chosen}
    for size in map(int, arguments[1:]) if arguments[1:] else SIZES:
        for pairs in chosen:
            print(f"{size} cells, {pairs} pairs of {RECORDS[pairs]} records", flush=True)
            found[pairs][size] = run(size, pairs, limit)
    for pairs, by_size in found.items():
        print(f"the power of the number of cells that seconds grow with, {pairs} pairs", flush=True)
        for what in ("model", "plan", "release", "bundle", "verify"):
            print(growth(what, by_size), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(int(sys.argv[2]), int(sys.argv[3]))
    else:
        main(sys.argv[1:])
