"""What is released: statistics of the rows, gathered into one query F with values in R^m."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from attrs import frozen

from distpriv.errors import InvalidQuery
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import items
from distpriv.framework.statistics import (
    Quantile,
    RowMean,
    RowValue,
    Statistic,
    Variance,
    count,
    function,
    mean,
    proportion,
    quantile,
    total,
    variance,
)

__all__ = [
    "Number", "Quantile", "Query", "RowMean", "Statistic", "Variance", "count", "function", "mean", "proportion",
    "quantile", "total", "variance",
]  # fmt: skip

T = TypeVar("T")


@frozen(kw_only=True)
class Number:
    """One released number: its name, the statistic that it is of, and which of its numbers it is."""

    name: str
    statistic: Statistic
    place: int


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
    >>> query.names, query.dimension, query.has_exact_moments, query.has_functions
    (('mean_age', 'never_married'), 2, True, False)
    >>> [(number.name, number.place) for number in query.numbers], query.factors(100)
    ([('mean_age', 0), ('never_married', 0)], array([  1., 100.]))
    >>> [row.expression for _, row in query.row_values], query.in_order_of(["never_married", "mean_age"]).names
    (['age', "marital_status = 'Never-married'"], ('never_married', 'mean_age'))
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
        return tuple(number.name for number in self.numbers)

    @property
    def numbers(self) -> tuple["Number", ...]:
        """Every released number, in order."""
        return tuple(
            Number(name=name, statistic=statistic, place=place)
            for key, statistic in self.statistics
            for place, name in enumerate(statistic.names(key))
        )

    @property
    def dimension(self) -> int:
        """How many numbers are released: m."""
        return sum(statistic.size for _, statistic in self.statistics)

    @property
    def has_exact_moments(self) -> bool:
        """Whether every statistic is a mean of a row expression, up to a factor: swapped rows alone then move it."""
        return all(statistic.is_mean for _, statistic in self.statistics)

    @property
    def has_functions(self) -> bool:
        """Whether some statistic reads columns in Python, and so may depend on the order of the rows."""
        return any(statistic.columns for _, statistic in self.statistics)

    @property
    def row_values(self) -> tuple[tuple[str, RowValue], ...]:
        """What SQL evaluates in every row, each with the name of its statistic."""
        return tuple((name, row) for name, statistic in self.statistics for row in statistic.row_values)

    def factors(self, records: int) -> Floats:
        """Return what every number is of the mean of its row value, in a query that has exact moments."""
        return np.array([factor for _, s in self.statistics for factor in s.factors(records) or ()], dtype=np.float64)

    def by_rows(self, values: Iterable[T]) -> list[tuple[str, Statistic, list[T]]]:
        """Return every statistic, behind its name, with its own of what there is for each row value.

        >>> import distpriv as dp
        >>> query = dp.Query(ends=dp.function(max, columns=["age"]), age=dp.mean("age"), hours=dp.total("hours"))
        >>> [(name, own) for name, _, own in query.by_rows(["v0", "v1"])]
        [('ends', []), ('age', ['v0']), ('hours', ['v1'])]
        """
        each = iter(values)
        return [(name, statistic, [next(each) for _ in statistic.row_values]) for name, statistic in self.statistics]

    def in_order_of(self, names: Sequence[str]) -> "Query":
        """Return the same statistics in the order in which their numbers are named."""
        place = {name: number for number, name in enumerate(names)}
        query = Query(sorted(self.statistics, key=lambda named: place.get(named[1].names(named[0])[0], 0)))
        if query.names != tuple(names):
            raise InvalidQuery(
                f"{', '.join(names)} are not the numbers of the query: name each once, those of a statistic together."
            )
        return query
