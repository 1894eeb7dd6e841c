"""What `benchmarks.scale` measures against: all rows in memory with pandas."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.scale_population import COLUMNS, HIGH, RECORDS, SECRET, Label
from distpriv.framework.arrays import Floats

__all__ = ["DATASETS", "SLICE", "exact_moments", "sampled_moments"]

DATASETS = 1000
"""How many datasets of each share the plain sampling procedure takes, as the paper does."""
SLICE = 20
"""How many of all of them are drawn; the time of the others is extrapolated."""


def exact_moments(path: Path, width: int) -> dict[str, Any]:
    """Compute what the exact model asks of its engine: counts, means, covariances and extremes by stratum."""
    values, high = _rows(path, width)
    strata = values.groupby(high)
    counts, means, covariances = strata.size(), strata.mean(), strata.cov()
    strata.min()
    strata.max()
    mean, variance = np.zeros(width), np.zeros(width)
    for side, size in _sizes(_shares()[0]).items():
        mean += size / RECORDS * means.loc[side].to_numpy()
        rows_left = 1 - size / counts.loc[side]
        variance += size / RECORDS**2 * rows_left * np.diagonal(covariances.loc[side].to_numpy())
    return {"mean": (_factors(width) * mean).tolist(), "variance": (_factors(width) ** 2 * variance).tolist()}


def sampled_moments(path: Path, width: int) -> dict[str, Any]:
    """Draw datasets with `DataFrame.sample` and evaluate them one by one; say how long all of them would take."""
    values, high = _rows(path, width)
    strata = {side: values[high == side] for side in (True, False)}
    clock, cpu = time.perf_counter(), time.process_time()
    for number in range(SLICE):
        share = _shares()[number % len(_shares())]
        parts = [strata[side].sample(size, random_state=number) for side, size in _sizes(share).items()]
        pd.concat(parts).mean().to_numpy() * _factors(width)
    left = (DATASETS * len(_shares()) - SLICE) / SLICE
    return {"more_wall": left * (time.perf_counter() - clock), "more_cpu": left * (time.process_time() - cpu)}


def _rows(path: Path, width: int) -> tuple[pd.DataFrame, "pd.Series[bool]"]:
    """Read the values of every statistic, predicates as true or false, and which incomes are high."""
    columns = COLUMNS[:width]
    frame = pd.read_parquet(path, columns=["income_class", *(column.name for column in columns)])
    high = frame.pop("income_class") == HIGH
    for column in columns:
        if isinstance(column, Label):
            frame[column.name] = (frame[column.name] == column.texts[0]).astype(np.float64)
    return frame, high


def _shares() -> tuple[float, ...]:
    assert SECRET.values is not None
    return SECRET.values


def _sizes(share: float) -> dict[bool, int]:
    """Return how many rows of each stratum a dataset has."""
    positives = round(share * RECORDS)
    return {True: positives, False: RECORDS - positives}


def _factors(width: int) -> Floats:
    """Return what the mean of each column is multiplied with: counts are sums."""
    return np.array([RECORDS if isinstance(column, Label) else 1 for column in COLUMNS[:width]], dtype=np.float64)
