"""A quantile of a row expression; its law is sampled."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from distpriv.errors import InvalidQuery
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import as_written, real
from distpriv.framework.statistics.statistic import Form, Statistic, resolution_of, text_of

__all__ = ["QUANTILE", "Quantile", "level_of", "quantile", "rank"]


def level_of(value: object) -> float:
    """Return a level between 0 and 1."""
    return real("the level of a quantile", value, InvalidQuery, at_least=0, at_most=1, cure="the median is 0.5")


def rank(level: float, records: int) -> tuple[int, Fraction]:
    """Return the rank below a quantile of so many records, and the exact fraction of the way to the next one.

    >>> rank(0.5, 4), rank(1, 3)
    ((1, Fraction(1, 2)), (2, Fraction(0, 1)))
    """
    position = as_written(level) * (records - 1)
    if abs(position - round(position)) <= Fraction(records, 10**12):  # a level that was computed, such as 1/3
        position = Fraction(round(position))
    return int(position), position - int(position)


@frozen(kw_only=True)
class Quantile(Statistic):
    """A quantile of a row expression, interpolated linearly between neighbouring rows; made by `quantile`.

    >>> import distpriv as dp
    >>> median = dp.quantile("age", 0.5)
    >>> median.size, median.level, median.steps(101, [1]), median.record_sensitivities(101, [(20, 60)])
    (1, 0.5, [1], [40.0])
    """

    expression: str = field(converter=text_of)
    """SQL text over the columns of one row."""
    level: float = field(converter=level_of)
    """Between 0 and 1; 0.5 is the median."""
    resolution: float | None = field(default=None, converter=resolution_of)
    """The least amount by which two rows can differ; found on the reference table when None."""

    @property
    def form(self) -> Form:
        return QUANTILE

    def evaluate(self, *values: NDArray[Any]) -> Floats:
        (rows,) = values
        below, fraction = rank(self.level, rows.shape[-1])
        above = min(below + 1, rows.shape[-1] - 1)
        ranked = np.partition(rows, (below, above), axis=-1)
        low, high = ranked[..., below], ranked[..., above]
        return np.asarray(low + float(fraction) * (high - low), dtype=np.float64)

    def record_sensitivities(self, records: int, bounds: Sequence[tuple[float, float]]) -> list[float]:
        """Return how much one record can move the statistic.

        It moves every rank by one at most, so with x ≤ y ≤ z neighbouring in rank the quantile by at most
        (1 − p) (y − x) + p (z − y), which is the larger of p and 1 − p of the range.
        """
        (low, high), fraction = bounds[0], rank(self.level, records)[1]
        return [float(max(fraction, 1 - fraction)) * (high - low)]

    def steps(self, records: int, resolutions: Sequence[float]) -> list[float]:  # noqa: ARG002 - all share one signature
        """Return the spacing of the values.

        Interpolation reaches between the rows' values, but neighbours in rank are often the same, and then it does not:
        coarser is the safe side.
        """
        return list(resolutions)


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


QUANTILE = Form(
    word="quantile",
    make=quantile,
    options=("level", "resolution"),
    needed={"level": ("does not say which quantile", "the median is quantile(…, 0.5)")},
    example="quantile(age, 0.5)",
)
