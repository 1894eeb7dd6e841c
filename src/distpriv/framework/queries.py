"""What is released: statistics of the rows, gathered into one query F with values in R^m.

A statistic says *what* is computed, in SQL text over the columns; engines and models decide how. Statistics
that are means of a row expression up to a known factor (`mean`, `proportion`, `count`, `total`) have
moments in closed form; the others are sampled.
"""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from distpriv.errors import InvalidQuery
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import as_written, items, real, whole

__all__ = [
    "FunctionOfRows",
    "Quantile",
    "Query",
    "RowMean",
    "Statistic",
    "Variance",
    "count",
    "function",
    "mean",
    "proportion",
    "quantile",
    "total",
    "variance",
]


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

    >>> hours = total("hours_per_week", bounds=(1, 99))
    >>> hours.size, hours.factor(100), hours.step(100, resolution=1), hours.record_sensitivity(100, 1, 99)
    (1, 100, 1.0, 98.0)
    """

    expression: str = field(converter=_text)
    predicate: bool = False
    summed: bool = False
    resolution: float | None = field(default=None, converter=_resolution)
    bounds: tuple[float, float] | None = field(default=None, converter=_bounds)

    @property
    def size(self) -> int:
        """How many numbers the statistic has."""
        return 1

    def factor(self, records: int) -> int:
        """Return what the mean over the rows is multiplied with."""
        return records if self.summed else 1

    def evaluate(self, rows: Floats) -> Floats:
        """Evaluate on datasets given along the last axis.

        >>> count("x > 0").evaluate(np.array([[0.0, 1.0], [1.0, 1.0]]))
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

    >>> spread = variance("age")
    >>> spread.size, spread.evaluate(np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]))
    (1, array([1., 0.]))
    >>> spread.step(10, resolution=1), spread.record_sensitivity(10, 20, 60)
    (0.011111111111111112, 160.0)
    """

    expression: str = field(converter=_text)
    resolution: float | None = field(default=None, converter=_resolution)

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

    >>> median = quantile("age", 0.5)
    >>> median.size, median.level, median.step(101, resolution=1), median.record_sensitivity(101, 20, 60)
    (1, 0.5, 1, 40.0)
    """

    expression: str = field(converter=_text)
    level: float = field(converter=_level)
    resolution: float | None = field(default=None, converter=_resolution)

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

        >>> quantile("x", 0.5).evaluate(np.array([3.0, 1.0, 2.0, 10.0]))
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

    >>> oldest = function(lambda rows: rows["age"].max(), columns=["age"])
    >>> oldest.columns, oldest.size, oldest.callable({"age": np.array([20, 61])}).item()
    (('age',), 1, 61)
    """

    callable: Callable[[Mapping[str, NDArray[Any]]], Any]
    columns: tuple[str, ...]
    size: int = 1
    named_by_number: bool = False
    resolution: float | None = field(default=None, converter=_resolution)


Statistic = RowMean | Variance | Quantile | FunctionOfRows


def mean(expression: str, *, resolution: float | None = None, bounds: tuple[float, float] | None = None) -> RowMean:
    """Return the mean of a row expression.

    Args:
        expression: SQL text over the columns, such as ``"age"`` or ``"capital_gain - capital_loss"``.
        resolution: the least amount by which two rows can differ (1 for whole numbers); found on the reference
            table when not given.
        bounds: the least and the greatest value a row can have, for mechanisms that need them.

    >>> import distpriv as dp
    >>> query, secret = dp.Query(age=dp.mean("age")), dp.Share("income = '>50K'", values=(0.45, 0.55))
    >>> dp.model(dp.datasets.adult(), query, secret, records=100).distributions["income = '>50K' @ 0.45"].mean.round(2)
    array([40.01])
    """
    return RowMean(expression=expression, resolution=resolution, bounds=bounds)


def total(expression: str, *, resolution: float | None = None, bounds: tuple[float, float] | None = None) -> RowMean:
    """Return the sum of a row expression over the records.

    Args:
        expression: SQL text over the columns, such as ``"hours_per_week"``.
        resolution: the least amount by which two rows can differ, as for `mean`.
        bounds: the least and the greatest value a row can have, as for `mean`.

    >>> import distpriv as dp
    >>> query, secret = dp.Query(hours=dp.total("hours_per_week")), dp.Share("sex = 'Female'", values=(0.4, 0.6))
    >>> dp.model(dp.datasets.adult(), query, secret, records=10).distributions["sex = 'Female' @ 0.4"].mean.round(1)
    array([404.9])
    """
    return RowMean(expression=expression, summed=True, resolution=resolution, bounds=bounds)


def count(predicate: str) -> RowMean:
    """Return the number of records for which a predicate holds.

    Args:
        predicate: SQL text over the columns that is true or false.

    >>> import distpriv as dp
    >>> query = dp.Query(never_married=dp.count("marital_status = 'Never-married'"))
    >>> model = dp.model(dp.datasets.adult(), query, dp.Share("income = '>50K'", values=(0.4, 0.5)), records=50)
    >>> model.distributions["income = '>50K' @ 0.4"].mean.round(2), model.steps
    (array([13.51]), array([1.]))
    """
    return RowMean(expression=predicate, predicate=True, summed=True, resolution=1, bounds=(0, 1))


def proportion(predicate: str) -> RowMean:
    """Return the share of records for which a predicate holds.

    Args:
        predicate: SQL text over the columns that is true or false.

    >>> import distpriv as dp
    >>> query = dp.Query(women=dp.proportion("sex = 'Female'"))
    >>> model = dp.model(dp.datasets.adult(), query, dp.Share("income = '>50K'", values=(0.4, 0.5)), records=50)
    >>> model.distributions["income = '>50K' @ 0.4"].mean.round(4), model.steps
    (array([0.2893]), array([0.02]))
    """
    return RowMean(expression=predicate, predicate=True, resolution=1, bounds=(0, 1))


def variance(expression: str, *, resolution: float | None = None) -> Variance:
    """Return the sample variance of a row expression (divisor n − 1); its law is sampled.

    Args:
        expression: SQL text over the columns, such as ``"age"``.
        resolution: the least amount by which two rows can differ, as for `mean`.

    >>> float(variance("age").evaluate(np.array([1.0, 2.0, 3.0])))
    1.0
    """
    return Variance(expression=expression, resolution=resolution)


def quantile(expression: str, level: float, *, resolution: float | None = None) -> Quantile:
    """Return a quantile of a row expression, interpolated linearly between neighbouring rows; its law is sampled.

    Args:
        expression: SQL text over the columns, such as ``"hours_per_week"``.
        level: between 0 and 1; the median is 0.5.
        resolution: the least amount by which two rows can differ, as for `mean`.

    >>> float(quantile("hours_per_week", 0.5).evaluate(np.array([30.0, 40.0, 50.0])))
    40.0
    """
    return Quantile(expression=expression, level=level, resolution=resolution)


def function(
    callable: Callable[[Mapping[str, NDArray[Any]]], Any],  # noqa: A002 - the name the public surface gives it
    columns: Iterable[str],
    *,
    size: int | None = None,
    resolution: float | None = None,
) -> FunctionOfRows:
    """Return any function of the rows, such as a median of ratios or a trained model's coefficients.

    Args:
        callable: gets ``{column: array}`` for one dataset, rows in random order, and returns a number or,
            with `size`, that many numbers. It runs in other processes; a lambda will do.
        columns: the columns it reads.
        size: how many numbers it returns; they are named ``key_1 … key_k`` after the query's key.
        resolution: the spacing of its values, if they are on a lattice; found on sampled values when not given.

    Raises:
        InvalidQuery: there is nothing to call, or no column to read.

    >>> import distpriv as dp
    >>> ends = dp.function(lambda rows: [rows["age"].min(), rows["age"].max()], columns=["age"], size=2)
    >>> dp.Query(age=ends).names
    ('age_1', 'age_2')
    """
    if not hasattr(callable, "__call__"):  # noqa: B004 - the builtin is shadowed by the parameter
        raise InvalidQuery(f"function() needs something to call, got {callable!r}: pass a Python function.")
    if not (names := items(columns)) or not all(isinstance(name, str) for name in names):
        raise InvalidQuery(f"function() needs the names of its columns, got {columns!r}: write columns=['age'].")
    wanted = 1 if size is None else whole("size", size, InvalidQuery, at_least=1, cure="count the numbers returned")
    return FunctionOfRows(
        callable=callable, columns=names, size=wanted, named_by_number=size is not None, resolution=resolution
    )


@frozen(init=False)
class Query:
    """The released statistics, by name and in order.

    Args:
        statistics: statistics by name, for names that are no keywords of Python.
        named: statistics by name.

    Raises:
        InvalidQuery: there is no statistic, one has no name, or two have the same.

    >>> query = Query(mean_age=mean("age"), never_married=count("marital_status = 'Never-married'"))
    >>> query.names, query.dimension, query.has_exact_moments
    (('mean_age', 'never_married'), 2, True)
    >>> Query({"median age": quantile("age", 0.5)}).has_exact_moments
    False
    """

    statistics: tuple[tuple[str, Statistic], ...]

    def __init__(
        self, statistics: Mapping[str, Statistic] | Iterable[tuple[str, Statistic]] = (), /, **named: Statistic
    ) -> None:
        pairs = tuple(statistics.items()) if isinstance(statistics, Mapping) else items(statistics)
        given = not isinstance(statistics, tuple | list | Mapping) or bool(statistics)
        if (given and not pairs) or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
            raise InvalidQuery(f"a query names its statistics, got {statistics!r}: write Query(mean_age=mean('age')).")
        self.__attrs_init__((*(tuple(pair) for pair in pairs), *named.items()))

    def __attrs_post_init__(self) -> None:
        if not self.statistics:
            raise InvalidQuery("a query needs at least one statistic: write Query(mean_age=mean('age')).")
        for name, statistic in self.statistics:
            if not isinstance(name, str) or not name:
                raise InvalidQuery(f"a statistic is named by text, got {name!r}: write Query(mean_age=mean('age')).")
            if not isinstance(statistic, Statistic):
                raise InvalidQuery(
                    f"statistic {name!r} is {statistic!r}: use mean, count, proportion, total, variance, quantile "
                    f"or function, as in {name}=mean('age')."
                )
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise InvalidQuery(f"two statistics are named {twice[0]!r}: give each its own name.")

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every released number, in order."""
        return tuple(
            f"{name}_{number + 1}" if isinstance(statistic, FunctionOfRows) and statistic.named_by_number else name
            for name, statistic in self.statistics
            for number in range(statistic.size)
        )

    @property
    def dimension(self) -> int:
        """How many numbers are released: m."""
        return sum(statistic.size for _, statistic in self.statistics)

    @property
    def has_exact_moments(self) -> bool:
        """Whether every statistic is a mean of a row expression, up to a factor."""
        return all(isinstance(statistic, RowMean) for _, statistic in self.statistics)
