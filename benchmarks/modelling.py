"""How fast models are made, against a plain pandas loop and against the bare aggregate in DuckDB."""

import multiprocessing
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import combinations_with_replacement
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from paper.setting import paper_query

import distpriv as dp

ROWS = 10_000_000
BATCH = 1_000_000
COLUMNS = ("x0", "x1", "x2", "x3", "x4")
SUBSETS = 1000
INCOME = dp.Share("income = '>50K'", values=(0.45, 0.55))
QUERY = paper_query()


def seconds(work: Callable[[], object], repetitions: int = 5) -> float:
    """Return the median time of some repetitions, after one that does not count."""
    work()
    taken = []
    for _ in range(repetitions):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def plain_loop(frame: pd.DataFrame) -> list[tuple[np.ndarray, np.ndarray]]:
    """Model both scenarios as the paper does: sample subsets, compute the statistics, take mean and covariance."""
    high, low = frame[frame["income"] == ">50K"], frame[frame["income"] != ">50K"]
    moments = []
    for positives in (45, 55):
        values = []
        for _ in range(SUBSETS):
            subset = pd.concat([high.sample(positives), low.sample(100 - positives)])
            values.append(
                [
                    subset["age"].mean(),
                    subset["education_num"].mean(),
                    (subset["marital_status"] == "Never-married").sum(),
                    (subset["sex"] == "Female").sum(),
                    subset["hours_per_week"].mean(),
                ]
            )
        moments.append((np.mean(values, axis=0), np.cov(np.transpose(values))))
    return moments


def in_memory() -> None:
    """Compare the ways to model the Adult data."""
    adult = dp.datasets.adult()
    frame = adult.to_pandas()
    loop = seconds(lambda: plain_loop(frame))
    exact = seconds(lambda: dp.model(adult, QUERY, INCOME, records=100))
    sampled = seconds(lambda: dp.model(adult, QUERY, INCOME, records=100, method="sampling", draws=SUBSETS))
    print(f"Adult, plain pandas loop over 2 × {SUBSETS} subsets: {loop:.3f} s")
    print(f"Adult, exact model: {exact * 1e3:.1f} ms, {loop / exact:.0f} times faster than the loop")
    print(
        f"Adult, 2 × {SUBSETS} sampled subsets: {sampled * 1e3:.1f} ms, {loop / sampled:.0f} times faster than the loop"
    )


def write_population(path: Path) -> None:
    """Stream a large table of numbers to Parquet."""
    rng = np.random.default_rng(0)
    schema = pa.schema([(name, pa.float64()) for name in COLUMNS])
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(ROWS // BATCH):
            writer.write_table(pa.table(dict(zip(COLUMNS, rng.normal(50, 10, size=(5, BATCH)), strict=True))))


def bare_aggregate(path: Path) -> object:
    """Ask DuckDB for the same means and covariances by stratum, and nothing else."""
    covariances = [f"covar_samp({a}, {b})" for a, b in combinations_with_replacement(COLUMNS, 2)]
    wanted = ", ".join(["x0 > 55 AS s", "count(*)", *(f"avg({name})" for name in COLUMNS), *covariances])
    with duckdb.connect(":memory:") as connection:
        return connection.sql(f"SELECT {wanted} FROM read_parquet('{path}') GROUP BY s").fetchall()


def large_model(path: Path) -> dp.QueryModel:
    """Model five means on the large table."""
    query = dp.Query({name: dp.mean(name) for name in COLUMNS})
    return dp.model(path, query, dp.Share("x0 > 55", values=(0.3, 0.4)), records=1000)


def peak_memory(path: Path, answer: "multiprocessing.Queue[int]") -> None:
    """Report the peak memory of a process that does nothing but model the large table."""
    large_model(path)
    answer.put(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def on_disk() -> None:
    """Compare the exact model of a large file with the bare aggregate over it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "population.parquet"
        write_population(path)
        bare = seconds(lambda: bare_aggregate(path))
        exact = seconds(lambda: large_model(path))
        context = multiprocessing.get_context("spawn")
        answer = context.Queue()
        process = context.Process(target=peak_memory, args=(path, answer))
        process.start()
        peak = answer.get()
        process.join()
    print(f"{ROWS:,} rows × {len(COLUMNS)} columns, bare DuckDB aggregate: {bare:.2f} s")
    print(f"{ROWS:,} rows × {len(COLUMNS)} columns, exact model: {exact:.2f} s, {exact / bare:.2f} times the aggregate")
    print(f"{ROWS:,} rows × {len(COLUMNS)} columns, peak memory of the exact model: {peak / 1024:.0f} MB")


if __name__ == "__main__":
    in_memory()
    on_disk()
