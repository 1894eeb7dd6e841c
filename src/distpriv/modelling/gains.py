r"""Uncertainty removed: the share of each statistic's public variance that its estimate no longer has.

With C the covariance of public knowledge and E that of the estimates' errors the gain of statistic k is
:math:`1 - E_{kk}/C_{kk}`. A table counts as one statistic, :math:`1 - Σ E_{kk}/Σ C_{kk}` over its cells, and so do the
numbers of a histogram or of several quantiles; the headline is the mean over statistics.
"""

from collections.abc import Mapping, Sequence

from attrs import frozen

from distpriv.framework.queries import Query

__all__ = ["Gains", "gain", "members"]

Errors = Mapping[str, float]


def gain(estimate_error: float, public_error: float) -> float:
    """Return the share of the public variance that is removed; 0 where nothing was uncertain.

    >>> gain(1.0, 2.0), gain(2.0, 2.0), gain(0.0, 0.0)
    (0.75, 0.0, 0.0)
    """
    return min(1.0, max(0.0, 1.0 - (estimate_error / public_error) ** 2)) if public_error > 0 else 0.0


def members(query: Query | None, names: Sequence[str]) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return the numbers of every statistic by its name; those of a table in groups of one unit.

    >>> import distpriv as dp
    >>> by_sex = dp.table("count", by="sex", levels={"sex": ["F", "M"]}, empty=[])
    >>> query = dp.Query(age=dp.mean("age"), people=by_sex)
    >>> members(query, query.names)
    {'age': (('age',),), 'people': (('people[F]', 'people[M]'),)}
    """
    if query is None:
        return {name: ((name,),) for name in names}
    tables = {key: tuple(map(tuple, table.parts(key).values())) for key, table in query.tables}
    cells = {name for groups in tables.values() for group in groups for name in group}
    plain = {key: tuple((name,) for name in statistic.names(key)) for key, statistic in query.statistics}
    return {key: groups for key, groups in plain.items() if groups[0][0] not in cells} | tables


@frozen(kw_only=True)
class Gains:
    """The gain of every statistic, and their mean.

    >>> gains = Gains.of(None, {"age": 1.0, "revenue": 5.0}, {"age": 2.0, "revenue": 5.0})
    >>> gains.by_statistic, gains.mean, gains.least
    ({'age': 0.75, 'revenue': 0.0}, 0.375, 'revenue')
    """

    by_statistic: Mapping[str, float]

    @classmethod
    def of(cls, query: Query | None, estimate_errors: Errors, public_errors: Errors) -> "Gains":
        """Return the gains for these errors, by the names of the numbers."""

        def of_group(group: Sequence[str]) -> float:
            after, before = (
                sum(errors[name] ** 2 for name in group) ** 0.5 for errors in (estimate_errors, public_errors)
            )
            return gain(after, before)

        by_name = members(query, tuple(estimate_errors))
        return cls(
            by_statistic={key: sum(map(of_group, groups)) / len(groups) for key, groups in by_name.items() if groups}
        )

    @property
    def mean(self) -> float:
        """The mean over statistics."""
        return sum(self.by_statistic.values()) / max(len(self.by_statistic), 1)

    @property
    def least(self) -> str | None:
        """The statistic of which least is learned; none where there is only one."""
        return min(self.by_statistic, key=lambda key: self.by_statistic[key]) if len(self.by_statistic) > 1 else None
