"""What is released: statistics of the rows, gathered into one query F with values in R^m."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from attrs import field, frozen

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
from distpriv.framework.tables import Table, expanded, table

__all__ = [
    "Number", "Quantile", "Query", "RowMean", "Statistic", "Table", "Variance", "count", "function", "mean",
    "proportion", "quantile", "table", "total", "variance",
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
    """The released statistics, by name and in order; those of tables come behind all others.

    Args:
        statistics: statistics and tables by name, for names that are no keywords of Python.
        named: statistics and tables by name.

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
    >>> people = dp.Query(people=dp.table("count", by="sex"))
    >>> known = dp.table("count", by="sex", levels={"sex": ["F"]}, empty=[])
    >>> people.is_labelled, people.with_tables({"people": known}).names
    (False, ('people[F]',))
    """

    statistics: tuple[tuple[str, Statistic], ...]
    """Pairs of a name and a statistic, with one for every number of a table."""
    tables: tuple[tuple[str, Table], ...] = field(default=(), repr=False)
    """Pairs of a name and a table, which says what some of the statistics have to do with each other."""

    def __init__(
        self,
        statistics: Mapping[str, Statistic | Table] | Iterable[tuple[str, Statistic | Table]] = (),
        /,
        **named: Statistic | Table,
    ) -> None:
        pairs = tuple(statistics.items()) if isinstance(statistics, Mapping) else items(statistics)
        given = not isinstance(statistics, tuple | list | Mapping) or bool(statistics)
        if (given and not pairs) or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
            raise InvalidQuery(f"a query names its statistics, got {statistics!r}: write Query(mean_age=mean('age')).")
        every = (*(tuple(pair) for pair in pairs), *named.items())
        tables = tuple(pair for pair in every if isinstance(pair[1], Table))
        plain = tuple(pair for pair in every if not isinstance(pair[1], Table))
        self.__attrs_init__((*plain, *expanded(tables)), tables)

    def __attrs_post_init__(self) -> None:
        if not self.statistics and not self.tables:
            raise InvalidQuery("a query needs at least one statistic: write Query(mean_age=mean('age')).")
        for name, statistic in (*self.tables, *self.statistics):
            if not isinstance(name, str) or not name:
                raise InvalidQuery(f"a statistic is named by text, got {name!r}: write Query(mean_age=mean('age')).")
            if not isinstance(statistic, Statistic | Table):
                raise InvalidQuery(
                    f"statistic {name!r} is {statistic!r}: use mean, count, proportion, total, variance, quantile, "
                    f"function or table, as in {name}=mean('age')."
                )
        times = Counter([*(number.name for number in self._numbers()), *(name for name, _ in self.tables)])
        twice = sorted(name for name, often in times.items() if often > 1)
        if twice:
            raise InvalidQuery(f"two statistics are named {twice[0]!r}: give each its own name.")

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every released number, in order."""
        return tuple(number.name for number in self.numbers)

    @property
    def numbers(self) -> tuple["Number", ...]:
        """Every released number, in order."""
        for name, each in self.tables:
            if not each.is_labelled:
                each.statistics(name)  # which refuses
        return self._numbers()

    def _numbers(self) -> tuple["Number", ...]:
        return tuple(
            Number(name=name, statistic=statistic, place=place)
            for key, statistic in self.statistics
            for place, name in enumerate(statistic.names(key))
        )

    @property
    def dimension(self) -> int:
        """How many numbers are released: m."""
        return len(self.numbers)

    @property
    def is_labelled(self) -> bool:
        """Whether the cells of all tables are known."""
        return all(each.is_labelled for _, each in self.tables)

    def with_tables(self, tables: Mapping[str, Table]) -> "Query":
        """Return the same query with what is known of some of its tables."""
        own = {name for key, each in self.tables if each.is_labelled for name in each.names(key)}
        plain = [pair for pair in self.statistics if pair[0] not in own]
        return Query([*plain, *((name, tables.get(name, each)) for name, each in self.tables)])

    @property
    def has_exact_moments(self) -> bool:
        """Whether every statistic is a mean of a row expression, up to a factor: swapped rows alone then move it."""
        return all(each.adds_up for _, each in self.tables) and all(each.is_mean for _, each in self.statistics)

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
        ordered = sorted(self.statistics, key=lambda named: place.get(named[1].names(named[0])[0], 0))
        query = self._with(ordered)
        if query.names != tuple(names):
            raise InvalidQuery(
                f"{', '.join(names)} are not the numbers of the query: name each once, those of a statistic together."
            )
        return query

    def _with(self, statistics: Iterable[tuple[str, Statistic]]) -> "Query":
        """Return a query of these statistics, in their order, with the same tables."""
        query = Query.__new__(Query)
        query.__attrs_init__(tuple(statistics), self.tables)
        return query
