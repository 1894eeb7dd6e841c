"""Means of a row expression, up to a known factor: their moments have a closed form."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats
from distpriv.framework.statistics.statistic import Form, RowValue, Statistic, bounds_of, resolution_of, text_of

__all__ = ["MEANS", "RowMean", "count", "mean", "proportion", "total"]


@frozen(kw_only=True)
class RowMean(Statistic):
    """A mean of a row expression, times the number of records when `summed`.

    `predicate` marks an expression that is true or false, counted as 1 and 0. Made by `mean`, `total`, `count` and
    `proportion`.

    >>> import distpriv as dp
    >>> hours = dp.total("hours_per_week", bounds=(1, 99))
    >>> hours.size, hours.factors(100), hours.steps(100, [1]), hours.record_sensitivities(100, [(1, 99)])
    (1, [100], [1.0], [98.0])
    """

    expression: str = field(converter=text_of)
    """SQL text over the columns of one row."""
    predicate: bool = False
    """Whether the expression is true or false rather than a number."""
    summed: bool = False
    """Whether it is the sum over the records."""
    resolution: float | None = field(default=None, converter=resolution_of)
    """The least amount by which two rows can differ; found on the reference table when None."""
    bounds: tuple[float, float] | None = field(default=None, converter=bounds_of)
    """The least and the greatest value a row can have; those of the reference rows when None."""

    @property
    def row_values(self) -> tuple[RowValue, ...]:
        return (
            RowValue(
                expression=self.expression, predicate=self.predicate, resolution=self.resolution, bounds=self.bounds
            ),
        )

    @property
    def form(self) -> Form:
        return MEANS[self.predicate, self.summed]

    def factors(self, records: int) -> list[int]:
        """Return what the mean over the rows is multiplied with."""
        return [records if self.summed else 1]

    def evaluate(self, *values: NDArray[Any]) -> Floats:
        (rows,) = values
        return np.asarray(rows.sum(axis=-1) if self.summed else rows.mean(axis=-1), dtype=np.float64)

    def steps(self, records: int, resolutions: Sequence[float]) -> list[float]:
        """Return the spacing of the statistic's values when rows are spaced by a resolution."""
        return [resolutions[0] * self.factors(records)[0] / records]

    def record_sensitivities(self, records: int, bounds: Sequence[tuple[float, float]]) -> list[float]:
        """Return how much one record between two bounds can move the statistic: its range, over n for a mean."""
        low, high = bounds[0]
        return [(high - low) * self.factors(records)[0] / records]

    def displayed(self, value: float, records: int) -> float:
        """Return a count as a whole number from 0 to n, a proportion from 0 to 1, and everything else as it is."""
        if not self.predicate:
            return value
        return round(min(max(value, 0.0), records)) if self.summed else min(max(value, 0.0), 1.0)


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


_KNOWN = ("resolution", "bounds")
MEANS = {
    (False, False): Form(word="mean", make=mean, options=_KNOWN, example="mean(age)"),
    (False, True): Form(word="total", make=total, options=_KNOWN, example="total(hours_per_week)"),
    (True, True): Form(word="count", make=count, implied=_KNOWN, example="count(sex = 'Female')"),
    (True, False): Form(word="proportion", make=proportion, implied=_KNOWN, example="proportion(sex = 'Female')"),
}
"""How means are written, by whether they are of a predicate, and whether they are summed."""
