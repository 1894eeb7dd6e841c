"""A population like a census, of any size, streamed to Parquet block by block.

Every block of every column has a random stream of its own, keyed by the seed. So a smaller population is the
beginning of a larger one, and a narrower one its first columns.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from attrs import frozen
from numpy.typing import NDArray

import distpriv as dp
from distpriv.framework.queries import Statistic

__all__ = ["BLOCK", "COLUMNS", "RECORDS", "SECRET", "query_of", "write_population"]

BLOCK = 1_000_000
"""Rows that are in memory at a time."""
ROW_GROUP = 250_000
"""Rows that a reader takes at a time: small enough for four cores to share a block."""
HIGH, LOW = ">50K", "<=50K"
HIGH_SHARE = 0.25
RECORDS = 100
SECRET = dp.Share(f"income_class = '{HIGH}'", values=(0.2, 0.3))


@frozen(kw_only=True)
class Whole:
    """A whole number between two others, about normal; larger by so much where the income is high."""

    name: str
    mean: float
    spread: float
    low: int
    high: int
    shift: float = 0.0

    kind = pa.int16()

    @property
    def statistic(self) -> Statistic:
        """The mean of the column."""
        return dp.mean(self.name)

    def draw(self, rng: np.random.Generator, high: NDArray[np.bool_]) -> pa.Array:
        """Draw the column for rows whose income is high or not."""
        values = rng.standard_normal(len(high), dtype=np.float32)
        values *= np.float32(self.spread)
        values += np.where(high, np.float32(self.mean + self.shift), np.float32(self.mean))
        return pa.array(np.clip(np.rint(values), self.low, self.high).astype(np.int16))


@frozen(kw_only=True)
class Amount:
    """An amount of money with cents, log-normal and so skewed; larger by a factor where the income is high."""

    name: str
    median: float
    spread: float
    factor: float = 1.0

    kind = pa.float64()

    @property
    def statistic(self) -> Statistic:
        """The mean of the column."""
        return dp.mean(self.name)

    def draw(self, rng: np.random.Generator, high: NDArray[np.bool_]) -> pa.Array:
        """Draw the column for rows whose income is high or not."""
        values = np.exp(self.spread * rng.standard_normal(len(high)))
        values *= np.where(high, self.median * self.factor, self.median)
        return pa.array(np.rint(values * 100.0) / 100.0)


@frozen(kw_only=True)
class Label:
    """One text of a few; the first is more common, by so much, where the income is high."""

    name: str
    texts: tuple[str, ...]
    shares: tuple[float, ...]
    shift: float = 0.0

    kind = pa.dictionary(pa.int8(), pa.string())

    @property
    def statistic(self) -> Statistic:
        """How many records have the first text."""
        return dp.count(f"{self.name} = '{self.texts[0]}'")

    def draw(self, rng: np.random.Generator, high: NDArray[np.bool_]) -> pa.Array:
        """Draw the column for rows whose income is high or not."""
        uniform = rng.random(len(high), dtype=np.float32) - np.where(high, np.float32(self.shift), np.float32(0.0))
        ends = np.cumsum(self.shares[:-1]).astype(np.float32)
        return _dictionary(np.searchsorted(ends, uniform, side="right"), self.texts)


Column = Whole | Amount | Label

COLUMNS: tuple[Column, ...] = (
    Whole(name="age", mean=38, spread=13, low=17, high=90, shift=6),
    Whole(name="education_years", mean=10, spread=2.5, low=1, high=16, shift=1.6),
    Whole(name="hours_per_week", mean=39, spread=12, low=1, high=99, shift=5),
    Amount(name="savings", median=4_000.0, spread=1.1, factor=3.0),
    Label(name="marital_status", texts=("Married", "Never-married", "Divorced"), shares=(0.4, 0.4, 0.2), shift=0.3),
    Label(name="sex", texts=("Female", "Male"), shares=(0.5, 0.5), shift=-0.1),
    Whole(name="children", mean=1, spread=1.3, low=0, high=9),
    Whole(name="rooms", mean=4, spread=1.5, low=1, high=12, shift=1),
    Amount(name="rent", median=700.0, spread=0.5, factor=1.4),
    Label(name="tenure", texts=("Owner", "Tenant", "Other"), shares=(0.45, 0.5, 0.05), shift=0.2),
    Whole(name="commute_minutes", mean=28, spread=18, low=0, high=180, shift=3),
    Whole(name="cars", mean=1, spread=0.8, low=0, high=5, shift=0.5),
    Label(name="work_class", texts=("Private", "Public", "Self-employed"), shares=(0.7, 0.2, 0.1), shift=-0.05),
    Label(name="region", texts=("North", "South", "East", "West"), shares=(0.3, 0.3, 0.2, 0.2)),
    Whole(name="household_size", mean=3, spread=1.5, low=1, high=12),
    Amount(name="energy_bill", median=90.0, spread=0.4, factor=1.2),
    Whole(name="years_at_address", mean=9, spread=8, low=0, high=60, shift=2),
    Label(name="heating", texts=("Gas", "Electric", "Wood", "District", "None"), shares=(0.5, 0.25, 0.1, 0.1, 0.05)),
    Label(name="insured", texts=("Yes", "No"), shares=(0.85, 0.15), shift=0.08),
    Whole(name="weeks_worked", mean=44, spread=10, low=0, high=52, shift=3),
)  # fmt: skip
"""What the population knows of each person, besides a number and the class of the income."""


def query_of(width: int) -> dp.Query:
    """Return one statistic of each of the first columns."""
    return dp.Query({column.name: column.statistic for column in COLUMNS[:width]})


def write_population(path: Path, rows: int, width: int, *, seed: int = 0) -> None:
    """Write so many rows of a number, the class of the income and the first columns; a block at a time in memory."""
    columns = COLUMNS[:width]
    schema = pa.schema(
        [("id", pa.int64()), ("income_class", Label.kind), *((column.name, column.kind) for column in columns)]
    )
    with pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        use_dictionary=[column.name for column in schema if column.name != "id" and column.type != Amount.kind],
        column_encoding={"id": "DELTA_BINARY_PACKED"},
        store_schema=False,
    ) as writer:
        for first in range(0, rows, BLOCK):
            drawn = min(BLOCK, rows - first)
            writer.write_table(
                pa.table(_block(columns, first // BLOCK, seed), schema=schema).slice(0, drawn), row_group_size=ROW_GROUP
            )


def _block(columns: Sequence[Column], number: int, seed: int) -> list[pa.Array]:
    """Draw a whole block, however much of it is written."""
    streams = (np.random.default_rng((seed, number, place)) for place in range(len(columns) + 1))
    high = next(streams).random(BLOCK) < HIGH_SHARE
    first = number * BLOCK
    drawn: list[Any] = [pa.array(np.arange(first, first + BLOCK)), _dictionary(~high, (HIGH, LOW))]
    return drawn + [column.draw(rng, high) for column, rng in zip(columns, streams, strict=True)]


def _dictionary(codes: NDArray[Any], texts: Sequence[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int8)), pa.array(texts))
