"""How long the paper's protocol takes, against plain pandas on a slice of it in the same run.

The plain way draws each dataset with `DataFrame.sample`, computes its statistics column by column, and fits a model
from 1000 of them for each scenario, Δp and repetition, as the paper describes. Its time is that of a slice, times how
many datasets the whole protocol has: those of every fitted model once, and shadows and tests.

`distpriv reproduce --protocol paper` is timed too. *Cold* is the command in a folder that holds nothing, with all that
it has to load; *warm* the same command again, which finds its results there.
"""

import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import pandas as pd

import distpriv as dp
from distpriv.experiments import repetitions
from distpriv.experiments.properties import GAPS, PROPERTIES
from distpriv.experiments.runs import EXPERIMENTS, run
from distpriv.experiments.setting import RECORDS, Setting

SLICE = 200
"""Datasets that the plain way draws; the rest is extrapolated."""
OWN = tuple(name for name in EXPERIMENTS if name != "beyond")


def plain_statistics(positives: pd.DataFrame, negatives: pd.DataFrame, share: float, seed: int) -> list[float]:
    """Draw one dataset and return the paper's five statistics."""
    count = round(share * RECORDS)
    rows = pd.concat(
        [positives.sample(count, random_state=seed), negatives.sample(RECORDS - count, random_state=seed + 1)],
        ignore_index=True,
    )
    return [
        rows["age"].mean(),
        rows["education_num"].mean(),
        (rows["marital_status"] == "Never-married").sum(),
        (rows["sex"] == "Female").sum(),
        rows["hours_per_week"].mean(),
    ]


def plain_seconds_a_dataset() -> float:
    """Return how long the plain way takes for one dataset, the fit included."""
    table = dp.datasets.adult().to_pandas()
    modelling = table.sample(frac=1, random_state=0).iloc[20_000:]
    high = modelling["income"] == ">50K"
    positives, negatives = modelling[high], modelling[~high]
    started = time.perf_counter()
    samples = pd.DataFrame([plain_statistics(positives, negatives, 0.45, 2 * k) for k in range(SLICE)])
    samples.mean()
    samples.cov()
    return (time.perf_counter() - started) / SLICE


def command_seconds(out: str, setting: Setting) -> tuple[float, float]:
    """Return how long the command takes by the clock, and of CPU with the processes that it starts."""
    given = [] if setting.processes is None else ["--processes", str(setting.processes)]
    command = [sys.executable, "-m", "distpriv", "reproduce", "--protocol", "paper", "--out", out, *given]
    started, before = time.perf_counter(), os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - started, cpu


def datasets(setting: Setting) -> int:
    """Return how many datasets the protocol has."""
    fitted = len(PROPERTIES) * 2 * len(GAPS) * setting.subsets
    return setting.repetitions * (fitted + setting.shadows + setting.tests)


def main() -> None:
    """Time both and print the ratio."""
    setting = Setting(protocol="paper", processes=int(sys.argv[1]) if len(sys.argv) > 1 else None)
    run("table_1", setting)
    started = time.perf_counter()
    for secret in PROPERTIES:
        repetitions.repeated(secret, setting)
    drawn = time.perf_counter() - started
    results = [run(name, setting) for name in OWN]
    whole = drawn + sum(result.seconds or 0.0 for result in results)
    plain = np.median([plain_seconds_a_dataset() for _ in range(3)])
    count = datasets(setting)
    print(f"datasets of the protocol: {count:,}; the plain way takes {1e3 * plain:.2f} ms each: {plain * count:,.0f} s")
    print(f"ours: {drawn:.1f} s for the same datasets and fits, {plain * count / drawn:,.0f} times as fast")
    print(
        f"ours with all tables, figures, exact δ and lattice attacks: {whole:.1f} s, {plain * count / whole:,.0f} times"
    )
    with tempfile.TemporaryDirectory() as out:
        for how in ("cold", "warm"):
            clock, cpu = command_seconds(out, setting)
            print(
                f"the command with the mechanisms beyond the paper, {how}: {clock:.1f} s, {cpu:.1f} s of CPU, "
                f"{plain * count / cpu:,.1f} times as fast as the plain way's datasets alone"
            )
    agreeing, compared = sum(r.agreeing for r in results), sum(len(r.comparisons) for r in results)
    print(f"{agreeing} of {compared} published numbers are within three standard errors")


if __name__ == "__main__":
    main()
