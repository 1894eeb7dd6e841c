"""The sample variance of a row expression; its law is sampled."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from distpriv.errors import InvalidQuery
from distpriv.framework.arrays import Floats
from distpriv.framework.statistics.statistic import Form, Statistic, resolution_of, text_of

__all__ = ["VARIANCE", "Variance", "variance"]


@frozen(kw_only=True)
class Variance(Statistic):
    """The sample variance of a row expression (divisor n − 1); made by `variance`.

    >>> import numpy as np
    >>> import distpriv as dp
    >>> spread = dp.variance("age")
    >>> spread.size, spread.evaluate(np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]))
    (1, array([1., 0.]))
    >>> spread.steps(10, [1]), spread.record_sensitivities(10, [(20, 60)])
    ([0.011111111111111112], [160.0])
    """

    expression: str = field(converter=text_of)
    """SQL text over the columns of one row."""
    resolution: float | None = field(default=None, converter=resolution_of)
    """The least amount by which two rows can differ; found on the reference table when None."""

    @property
    def form(self) -> Form:
        return VARIANCE

    @property
    def least_records(self) -> int:
        return 2

    def evaluate(self, *values: NDArray[Any]) -> Floats:
        (rows,) = values
        if rows.shape[-1] < 2:
            raise InvalidQuery(
                "a sample variance needs at least 2 records, got 1: release more records or a mean instead."
            )
        return np.asarray(rows.var(axis=-1, ddof=1), dtype=np.float64)

    def record_sensitivities(self, records: int, bounds: Sequence[tuple[float, float]]) -> list[float]:
        """Return how much one record can move the statistic.

        With r the mean of the other records, (n − 1) s² is a sum over them plus (n − 1)/n (x − r)².
        """
        low, high = bounds[0]
        return [(high - low) ** 2 / records]

    def steps(self, records: int, resolutions: Sequence[float]) -> list[float]:
        """Return the spacing of the values: n Σx² − (Σx)² is a whole number of u², an even one if n is odd."""
        return [(1 + records % 2) * resolutions[0] ** 2 / (records * max(records - 1, 1))]


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


VARIANCE = Form(word="variance", make=variance, options=("resolution",), example="variance(age)")
