"""Moments by stratum from Arrow batches: what a task makes of its rows, and how the tasks' parts are put together.

This file is sent to Spark's workers as it is, so it needs nothing there but NumPy and pyarrow.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["PARTS", "SCHEMA", "parts_of", "put_together"]

AT_ONCE = 64
"""How many parts are held in memory before they are added up."""

_LISTS = ("mean", "products", "low", "high")
PARTS = ", ".join(["stratum boolean", "n bigint", "unusable bigint", *(f"{name} array<double>" for name in _LISTS)])
"""The columns of a part, as Spark writes a schema."""


def parts_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return, for every stratum in some batches, how many rows it has, and what its numbers come to.

    The first column is the stratum, the last tells whether a row is unusable, and all between them are numbers.
    """
    found: dict[bool, list[dict[str, Any]]] = {}
    for batch in batches:
        stratum = np.asarray(batch.column(0).fill_null(False).to_numpy(zero_copy_only=False), dtype=bool)
        unusable = batch.column(batch.num_columns - 1).to_numpy(zero_copy_only=False)
        numbers = [batch.column(k).to_numpy(zero_copy_only=False) for k in range(1, batch.num_columns - 1)]
        values = np.array(numbers, dtype=np.float64).reshape(len(numbers), batch.num_rows)
        for side in (True, False):
            chosen = stratum == side
            if chosen.any():
                parts = found.setdefault(side, [])
                parts.append(_part(values[:, chosen], int(unusable[chosen].sum())))
                if len(parts) == AT_ONCE:
                    found[side] = [_joined(parts)]
    for side, parts in found.items():
        part = _joined(parts)
        listed = {name: [value.ravel().tolist()] for name, value in part.items() if isinstance(value, np.ndarray)}
        yield pa.RecordBatch.from_pydict(
            {"stratum": [side], "n": [part["n"]], "unusable": [part["unusable"]], **listed}, schema=SCHEMA
        )


def put_together(table: pa.Table) -> list[dict[str, Any]]:
    """Return all parts of each stratum as one, named as the SELECT of moments names its columns.

    >>> batch = pa.RecordBatch.from_pydict({"stratum": [True] * 3, "v0": [1.0, 2.0, 6.0], "unusable": [0, 0, 0]})
    >>> parts = [part for half in (batch[:1], batch[1:]) for part in parts_of([half])]
    >>> put_together(pa.Table.from_batches(parts))
    [{'stratum': True, 'n': 3, 'unusable': 0, 'm0': 3.0, 'low0': 1.0, 'high0': 6.0, 's0_0': 7.0}]
    """
    strata: dict[bool, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        size = len(row["mean"])
        arrays = {name: np.array(row[name], dtype=np.float64) for name in ("mean", "low", "high")}
        products = np.array(row["products"], dtype=np.float64).reshape(size, size)
        part = {"n": row["n"], "unusable": row["unusable"], **arrays, "products": products}
        strata.setdefault(row["stratum"], []).append(part)
    return [_named(side, _joined(parts)) for side, parts in strata.items()]


_NUMBERS = pa.list_(pa.float64())
SCHEMA = pa.schema(
    [("stratum", pa.bool_()), ("n", pa.int64()), ("unusable", pa.int64())] + [(name, _NUMBERS) for name in _LISTS]
)


def _part(values: NDArray[np.float64], unusable: int) -> dict[str, Any]:
    with np.errstate(all="ignore"):
        mean = values.mean(axis=1)
        centred = values - mean[:, np.newaxis]
        return {
            "n": values.shape[1],
            "unusable": unusable,
            "mean": mean,
            "products": centred @ centred.T,
            "low": values.min(axis=1),
            "high": values.max(axis=1),
        }


def _joined(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Add up parts: products about the common mean are those about each mean, and those of the means themselves."""
    if len(parts) == 1:
        return parts[0]
    counts = np.array([part["n"] for part in parts], dtype=np.float64)
    means = np.array([part["mean"] for part in parts])
    with np.errstate(all="ignore"):
        mean = counts @ means / counts.sum()
        between = (means - mean) * np.sqrt(counts)[:, np.newaxis]
        return {
            "n": sum(part["n"] for part in parts),
            "unusable": sum(part["unusable"] for part in parts),
            "mean": mean,
            "products": np.sum([part["products"] for part in parts], axis=0) + between.T @ between,
            "low": np.min([part["low"] for part in parts], axis=0),
            "high": np.max([part["high"] for part in parts], axis=0),
        }


def _named(side: bool, part: dict[str, Any]) -> dict[str, Any]:
    named: dict[str, Any] = {"stratum": side, "n": part["n"], "unusable": part["unusable"]}
    for k in range(len(part["mean"])):
        named |= {f"m{k}": float(part["mean"][k]), f"low{k}": float(part["low"][k]), f"high{k}": float(part["high"][k])}
        covariances = part["products"][: k + 1, k] / (part["n"] - 1) if part["n"] > 1 else [None] * (k + 1)
        named |= {f"s{j}_{k}": None if s is None else float(s) for j, s in enumerate(covariances)}
    return named
