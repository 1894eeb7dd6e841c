"""Quantiles and variances of the rows of a group, whose number is random; their laws are sampled.

A dataset may have too few rows of a group. What counts then is a number that is part of the statistic, so that it is
public, written down with it, and the same for every dataset.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from distpriv.errors import InvalidQuery
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import real
from distpriv.framework.statistics.quantiles import level_of, rank
from distpriv.framework.statistics.statistic import Form, RowValue, Statistic, resolution_of, text_of

__all__ = ["GROUP_QUANTILE", "GROUP_VARIANCE", "GroupQuantile", "GroupVariance", "group_quantile", "group_variance"]


def _otherwise(value: object) -> float:
    cure = "it is what counts where nobody is in the group, such as that of the reference"
    return real("what counts for an empty group", value, InvalidQuery, cure=cure)


def _spread(value: object) -> float:
    cure = "it is what counts where fewer than two are in the group, such as the variance of the reference"
    return real("what counts for a group of fewer than two", value, InvalidQuery, at_least=0, cure=cure)


@frozen(kw_only=True)
class _OfAGroup(Statistic):
    """A number of a row expression among the rows of a group."""

    expression: str = field(converter=text_of)
    """SQL text over the columns of one row."""
    group: str = field(converter=text_of)
    """SQL text that is true of the rows of the group."""
    resolution: float | None = field(default=None, converter=resolution_of)
    """The least amount by which two rows can differ; found on the reference table when None."""

    @property
    def row_values(self) -> tuple[RowValue, ...]:
        number = RowValue(expression=self.expression, resolution=self.resolution)
        return number, RowValue(expression=self.group, predicate=True)


@frozen(kw_only=True)
class GroupQuantile(_OfAGroup):
    """A quantile of a row expression among the rows of a group; made by `group_quantile`.

    >>> women = group_quantile("hours", "sex = 'F'", 0.5, 40)
    >>> hours, member = np.array([[20.0, 30.0, 60.0], [10.0, 20.0, 30.0]]), np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    >>> women.evaluate(hours, member), women.text
    (array([25., 40.]), "group_quantile(hours, sex = 'F', 0.5, 40)")
    >>> women.steps(100, [1, 1]), women.record_sensitivities(100, [(1, 30), (0, 1)])
    ([1], [39.0])
    """

    level: float = field(converter=level_of)
    """Between 0 and 1; 0.5 is the median."""
    otherwise: float = field(converter=_otherwise)
    """What counts where a dataset has no row of the group."""

    @property
    def form(self) -> Form:
        return GROUP_QUANTILE

    def evaluate(self, *values: NDArray[Any]) -> Floats:
        rows, member = values
        counts, gathered = _members(rows, member)
        gathered.sort(axis=1)
        sizes, which = np.unique(counts, return_inverse=True)
        ranks = [rank(self.level, max(size, 1)) for size in sizes.tolist()]
        below = np.array([place for place, _ in ranks])[which]
        fraction = np.array([float(part) for _, part in ranks])[which]
        each, above = np.arange(len(counts)), np.minimum(below + 1, np.maximum(counts, 1) - 1)
        low, high = (np.where(counts > 0, gathered[each, place], self.otherwise) for place in (below, above))
        return np.asarray((low + fraction * (high - low)).reshape(rows.shape[:-1]), dtype=np.float64)

    def steps(self, records: int, resolutions: Sequence[float]) -> list[float]:  # noqa: ARG002 - all share one signature
        """Return the spacing of the values: that of the rows, as of a quantile of all of them."""
        return [resolutions[0]]

    def record_sensitivities(self, records: int, bounds: Sequence[tuple[float, float]]) -> list[float]:  # noqa: ARG002
        """Return how much one record can move it: the whole range, as a group may have one record, and then none."""
        low, high = bounds[0]
        return [float(max(high, self.otherwise) - min(low, self.otherwise))]


@frozen(kw_only=True)
class GroupVariance(_OfAGroup):
    """The sample variance of a row expression among the rows of a group; made by `group_variance`.

    >>> women = group_variance("hours", "sex = 'F'", 9)
    >>> hours, member = np.array([[20.0, 30.0, 60.0], [10.0, 20.0, 30.0]]), np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    >>> women.evaluate(hours, member), women.text
    (array([50.,  9.]), "group_variance(hours, sex = 'F', 9)")
    >>> women.steps(100, [2, 1]), women.record_sensitivities(100, [(0, 10), (0, 1)])
    ([2.0], [50.0])
    """

    otherwise: float = field(converter=_spread)
    """What counts where a dataset has fewer than two rows of the group."""

    @property
    def form(self) -> Form:
        return GROUP_VARIANCE

    def evaluate(self, *values: NDArray[Any]) -> Floats:
        rows, member = values
        inside = member > 0.5
        counts = inside.sum(axis=-1)
        means = np.where(inside, rows, 0.0).sum(axis=-1) / np.maximum(counts, 1)
        squares = np.where(inside, rows - means[..., np.newaxis], 0.0) ** 2
        found = squares.sum(axis=-1) / np.maximum(counts - 1, 1)
        return np.asarray(np.where(counts > 1, found, self.otherwise), dtype=np.float64)

    def steps(self, records: int, resolutions: Sequence[float]) -> list[float]:  # noqa: ARG002 - all share one signature
        """Return the spacing of the values where it is coarsest: in a group of two, half of the square of the rows'."""
        return [resolutions[0] ** 2 / 2]

    def record_sensitivities(self, records: int, bounds: Sequence[tuple[float, float]]) -> list[float]:  # noqa: ARG002
        """Return how much one record can move it: from 0 to the largest there is, that of two records at the ends."""
        low, high = bounds[0]
        return [float(max((high - low) ** 2 / 2, self.otherwise))]


def group_quantile(
    expression: str, group: str, level: float, otherwise: float, *, resolution: float | None = None
) -> GroupQuantile:
    """Return a quantile of a row expression among the rows of a group, as a cell of a table has it.

    Args:
        expression: SQL text over the columns, such as ``"hours_per_week"``.
        group: SQL text that is true of the rows of the group, such as ``"sex = 'Female'"``.
        level: between 0 and 1; the median is 0.5.
        otherwise: what counts where a dataset has no such row.
        resolution: the least amount by which two rows can differ, as for `mean`.

    >>> float(group_quantile("hours", "night", 0.5, 40).evaluate(np.array([30.0, 50.0]), np.array([0.0, 1.0])))
    50.0
    """
    return GroupQuantile(expression=expression, group=group, level=level, otherwise=otherwise, resolution=resolution)


def group_variance(expression: str, group: str, otherwise: float, *, resolution: float | None = None) -> GroupVariance:
    """Return the sample variance of a row expression among the rows of a group, as a cell of a table has it.

    Args:
        expression: SQL text over the columns, such as ``"hours_per_week"``.
        group: SQL text that is true of the rows of the group, such as ``"sex = 'Female'"``.
        otherwise: what counts where a dataset has fewer than two such rows.
        resolution: the least amount by which two rows can differ, as for `mean`.

    >>> float(group_variance("hours", "night", 9).evaluate(np.array([30.0, 50.0]), np.array([0.0, 1.0])))
    9.0
    """
    return GroupVariance(expression=expression, group=group, otherwise=otherwise, resolution=resolution)


def _members(rows: NDArray[Any], member: NDArray[Any]) -> tuple[NDArray[np.int64], Floats]:
    """Return how many rows of the group each dataset has, and their values, one dataset a row, filled up with ∞."""
    inside = np.atleast_2d(member > 0.5).reshape(-1, member.shape[-1])
    values = np.atleast_2d(rows).reshape(inside.shape)
    counts = inside.sum(axis=1)
    gathered = np.full((len(inside), int(counts.max(initial=1))), np.inf)
    datasets, _ = np.nonzero(inside)
    gathered[datasets, (np.cumsum(inside, axis=1) - 1)[inside]] = values[inside]
    return counts, gathered


_LACK = "does not say what counts for an empty group"
GROUP_QUANTILE = Form(
    word="group_quantile",
    make=group_quantile,
    texts=("expression", "group"),
    options=("level", "otherwise", "resolution"),
    needed={
        "level": ("does not say which quantile", "the median is group_quantile(…, …, 0.5, …)"),
        "otherwise": (_LACK, "write it last, as in group_quantile(age, sex = 'Female', 0.5, 37)"),
    },
    example="group_quantile(age, sex = 'Female', 0.5, 37)",
)
GROUP_VARIANCE = Form(
    word="group_variance",
    make=group_variance,
    texts=("expression", "group"),
    options=("otherwise", "resolution"),
    needed={"otherwise": (_LACK, "write it last, as in group_variance(age, sex = 'Female', 170)")},
    example="group_variance(age, sex = 'Female', 170)",
)
