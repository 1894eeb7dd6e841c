"""What is released: statistics of the rows, gathered into one query F with values in R^m."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import frozen
from numpy.typing import NDArray

from distpriv.errors import InvalidQuery
from distpriv.framework.domains import items, whole
from distpriv.framework.statistics import FunctionOfRows, Quantile, RowMean, Statistic, Variance

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

    >>> import distpriv as dp
    >>> import numpy as np
    >>> float(dp.variance("age").evaluate(np.array([1.0, 2.0, 3.0])))
    1.0
    """
    return Variance(expression=expression, resolution=resolution)


def quantile(expression: str, level: float, *, resolution: float | None = None) -> Quantile:
    """Return a quantile of a row expression, interpolated linearly between neighbouring rows; its law is sampled.

    Args:
        expression: SQL text over the columns, such as ``"hours_per_week"``.
        level: between 0 and 1; the median is 0.5.
        resolution: the least amount by which two rows can differ, as for `mean`.

    >>> import distpriv as dp
    >>> import numpy as np
    >>> float(dp.quantile("hours_per_week", 0.5).evaluate(np.array([30.0, 40.0, 50.0])))
    40.0
    """
    return Quantile(expression=expression, level=level, resolution=resolution)


def function(
    callable: Callable[[Mapping[str, NDArray[Any]]], Any],  # noqa: A002 - the name the public surface gives it
    columns: Iterable[str],
    *,
    size: int | None = None,
    resolution: float | None = None,
    version: str | None = None,
) -> FunctionOfRows:
    """Return any function of the rows, such as a median of ratios or a trained model's coefficients.

    Args:
        callable: gets ``{column: array}`` for one dataset, rows in random order, and returns a number or,
            with `size`, that many numbers. It runs in other processes; a lambda will do.
        columns: the columns it reads.
        size: how many numbers it returns; they are named ``key_1 … key_k`` after the query's key.
        resolution: the spacing of its values, if they are on a lattice; found on sampled values when not given.
        version: what a ledger knows the function by, together with its name; give another one whenever the function
            changes. By default it is known by its code and all that the code works with: captured values, defaults,
            functions that it calls, versions of libraries.

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
    if version is not None and (not isinstance(version, str) or not version.strip()):
        raise InvalidQuery(f"the version of a function is text, got {version!r}: write version='1'.")
    return FunctionOfRows(
        callable=callable,
        columns=names,
        size=wanted,
        named_by_number=size is not None,
        resolution=resolution,
        version=version,
    )


@frozen(init=False)
class Query:
    """The released statistics, by name and in order.

    Args:
        statistics: statistics by name, for names that are no keywords of Python.
        named: statistics by name.

    Raises:
        InvalidQuery: there is no statistic, one has no name, or two have the same.

    >>> import distpriv as dp
    >>> query = dp.Query(mean_age=dp.mean("age"), never_married=dp.count("marital_status = 'Never-married'"))
    >>> query.names, query.dimension, query.has_exact_moments
    (('mean_age', 'never_married'), 2, True)
    >>> dp.Query({"median age": dp.quantile("age", 0.5)}).has_exact_moments
    False
    """

    statistics: tuple[tuple[str, Statistic], ...]
    """Pairs of a name and a statistic."""

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
