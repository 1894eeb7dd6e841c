"""What a statistic of the rows is: its value on a dataset, the spacing of its values, what one record can do to it.

A statistic says *what* is computed, in SQL text over the columns; engines and models decide how. Those that are means
of a row expression up to a known factor have moments in closed form; the others are sampled.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from distpriv.errors import InvalidQuery
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import as_written, items, real

__all__ = ["FunctionOfRows", "Quantile", "RowMean", "Statistic", "Variance"]


def _level(value: object) -> float:
    return real("the level of a quantile", value, InvalidQuery, at_least=0, at_most=1, cure="the median is 0.5")


def _resolution(value: object) -> float | None:
    cure = "it is the least amount by which two values differ, 1 for whole numbers"
    return None if value is None else real("resolution", value, InvalidQuery, above=0, cure=cure)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidQuery(f"a statistic needs SQL text over the columns, got {value!r}: write it as in mean('age').")
    return value.strip()


def _bounds(value: object) -> tuple[float, float] | None:
    if value is None:
        return None
    if len(ends := items(value)) != 2:
        raise InvalidQuery(
            f"bounds must be two numbers, got {value!r}: give the least and the greatest value of a row."
        )
    cure = "give the least and the greatest value a row can have, as in (17, 90)"
    low, high = (real("a bound", end, InvalidQuery, cure=cure) for end in ends)
    if low > high:
        raise InvalidQuery(f"bounds must ascend, got ({low:g}, {high:g}): swap them.")
    return low, high


@frozen(kw_only=True)
class RowMean:
    """A mean of a row expression, times the number of records when `summed`.

    `predicate` marks an expression that is true or false, counted as 1 and 0. Made by `mean`, `total`, `count` and
    `proportion`.

    >>> import distpriv as dp
    >>> hours = dp.total("hours_per_week", bounds=(1, 99))
    >>> hours.size, hours.factor(100), hours.step(100, resolution=1), hours.record_sensitivity(100, 1, 99)
    (1, 100, 1.0, 98.0)
    """

    expression: str = field(converter=_text)
    """SQL text over the columns of one row."""
    predicate: bool = False
    """Whether the expression is true or false rather than a number."""
    summed: bool = False
    """Whether it is the sum over the records."""
    resolution: float | None = field(default=None, converter=_resolution)
    """The least amount by which two rows can differ; found on the reference table when None."""
    bounds: tuple[float, float] | None = field(default=None, converter=_bounds)
    """The least and the greatest value a row can have; those of the reference rows when None."""

    @property
    def size(self) -> int:
        """How many numbers the statistic has."""
        return 1

    def factor(self, records: int) -> int:
        """Return what the mean over the rows is multiplied with."""
        return records if self.summed else 1

    def evaluate(self, rows: Floats) -> Floats:
        """Evaluate on datasets given along the last axis.

        >>> import numpy as np
        >>> import distpriv as dp
        >>> dp.count("x > 0").evaluate(np.array([[0.0, 1.0], [1.0, 1.0]]))
        array([1., 2.])
        """
        return np.asarray(rows.sum(axis=-1) if self.summed else rows.mean(axis=-1), dtype=np.float64)

    def step(self, records: int, resolution: float) -> float:
        """Return the spacing of the statistic's values when rows are spaced by `resolution`."""
        return resolution * self.factor(records) / records

    def record_sensitivity(self, records: int, low: float, high: float) -> float:
        """Return how much one record between two bounds can move the statistic: its range, over n for a mean."""
        return (high - low) * self.factor(records) / records


@frozen(kw_only=True)
class Variance:
    """The sample variance of a row expression (divisor n − 1); made by `variance`.

    >>> import numpy as np
    >>> import distpriv as dp
    >>> spread = dp.variance("age")
    >>> spread.size, spread.evaluate(np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]))
    (1, array([1., 0.]))
    >>> spread.step(10, resolution=1), spread.record_sensitivity(10, 20, 60)
    (0.011111111111111112, 160.0)
    """

    expression: str = field(converter=_text)
    """SQL text over the columns of one row."""
    resolution: float | None = field(default=None, converter=_resolution)
    """The least amount by which two rows can differ; found on the reference table when None."""

    @property
    def size(self) -> int:
        """How many numbers the statistic has."""
        return 1

    def evaluate(self, rows: Floats) -> Floats:
        """Evaluate on datasets given along the last axis."""
        if rows.shape[-1] < 2:
            raise InvalidQuery(
                "a sample variance needs at least 2 records, got 1: release more records or a mean instead."
            )
        return np.asarray(rows.var(axis=-1, ddof=1), dtype=np.float64)

    def record_sensitivity(self, records: int, low: float, high: float) -> float:
        """Return how much one record can move the statistic.

        With r the mean of the other records, (n − 1) s² is a sum over them plus (n − 1)/n (x − r)².
        """
        return (high - low) ** 2 / records

    def step(self, records: int, resolution: float) -> float:
        """Return the spacing of the values: n Σx² − (Σx)² is a whole number of u², an even one if n is odd."""
        return (1 + records % 2) * resolution**2 / (records * max(records - 1, 1))


@frozen(kw_only=True)
class Quantile:
    """A quantile of a row expression, interpolated linearly between neighbouring rows; made by `quantile`.

    >>> import distpriv as dp
    >>> median = dp.quantile("age", 0.5)
    >>> median.size, median.level, median.step(101, resolution=1), median.record_sensitivity(101, 20, 60)
    (1, 0.5, 1, 40.0)
    """

    expression: str = field(converter=_text)
    """SQL text over the columns of one row."""
    level: float = field(converter=_level)
    """Between 0 and 1; 0.5 is the median."""
    resolution: float | None = field(default=None, converter=_resolution)
    """The least amount by which two rows can differ; found on the reference table when None."""

    @property
    def size(self) -> int:
        """How many numbers the statistic has."""
        return 1

    def _position(self, records: int) -> tuple[int, Fraction]:
        """Return the rank below the quantile and the exact fraction of the way to the next one."""
        position = as_written(self.level) * (records - 1)
        if abs(position - round(position)) <= Fraction(records, 10**12):  # a level that was computed, such as 1/3
            position = Fraction(round(position))
        return int(position), position - int(position)

    def evaluate(self, rows: Floats) -> Floats:
        """Evaluate on datasets given along the last axis.

        >>> import numpy as np
        >>> import distpriv as dp
        >>> dp.quantile("x", 0.5).evaluate(np.array([3.0, 1.0, 2.0, 10.0]))
        array(2.5)
        """
        below, fraction = self._position(rows.shape[-1])
        above = min(below + 1, rows.shape[-1] - 1)
        ranked = np.partition(rows, (below, above), axis=-1)
        low, high = ranked[..., below], ranked[..., above]
        return np.asarray(low + float(fraction) * (high - low), dtype=np.float64)

    def record_sensitivity(self, records: int, low: float, high: float) -> float:
        """Return how much one record can move the statistic.

        It moves every rank by one at most, so with x ≤ y ≤ z neighbouring in rank the quantile by at most
        (1 − p) (y − x) + p (z − y), which is the larger of p and 1 − p of the range.
        """
        fraction = self._position(records)[1]
        return float(max(fraction, 1 - fraction)) * (high - low)

    def step(self, records: int, resolution: float) -> float:  # noqa: ARG002 - statistics share one signature
        """Return the spacing of the values.

        Interpolation reaches between the rows' values, but neighbours in rank are often the same, and then it does not:
        coarser is the safe side.
        """
        return resolution


@frozen(kw_only=True)
class FunctionOfRows:
    """A Python function of the columns of one dataset, with one number or `size` numbers as its value; by `function`.

    >>> import numpy as np
    >>> import distpriv as dp
    >>> oldest = dp.function(lambda rows: rows["age"].max(), columns=["age"])
    >>> oldest.columns, oldest.size, oldest.callable({"age": np.array([20, 61])}).item()
    (('age',), 1, 61)
    """

    callable: Callable[[Mapping[str, NDArray[Any]]], Any]
    """Gets ``{column: array}`` for one dataset."""
    columns: tuple[str, ...]
    """The columns it reads."""
    size: int = 1
    """How many numbers it returns."""
    named_by_number: bool = False
    """Whether its numbers are named ``key_1 … key_k`` rather than by the key alone."""
    resolution: float | None = field(default=None, converter=_resolution)
    """The spacing of its values; found on sampled values when None."""
    version: str | None = None
    """What the function is known by, with its name, rather than by its code."""


Statistic = RowMean | Variance | Quantile | FunctionOfRows
