"""Secrets that are not shares: a mean, a quantile, a correlation or a mixture of the rows, by values to keep apart.

The scenario of a value is the law closest to the reference, in relative entropy, under which the property has it; its
records are drawn independently (`docs/concepts/other_secrets.md`).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve, frozen

from distpriv.errors import InvalidSecret
from distpriv.framework.domains import items, real
from distpriv.framework.scenarios import ProtectedScenarios, Scenario, closed_under_swapping
from distpriv.framework.tilts import Tilt, TiltKind
from distpriv.framework.two_tables import TwoTables
from distpriv.framework.values_apart import ValuesApart

__all__ = ["Correlation", "Mean", "Quantile", "Shift", "TiltedSecret"]


class _OfTheReference:
    """What a mean, a quantile and a correlation have in common: records are drawn from the reference, reweighted."""

    __slots__ = ()
    apart: ValuesApart

    @property
    def tables(self) -> Mapping[str, Any]:
        """Tables of its own: none, as records are drawn from the reference."""
        return {}

    @property
    def kind(self) -> TiltKind:
        """Which property it is."""
        return self._tilt.kind

    @property
    def named(self) -> tuple[str, ...]:
        """What errors may be about: the property, and the numbers that it is of."""
        return (self._tilt.what, *self._tilt.expressions)

    @property
    def _tilt(self) -> Tilt:
        """The property, at the first of its values."""
        raise NotImplementedError

    @property
    def in_words(self) -> str:
        """What is hidden."""
        return f"What {self._tilt.what} is among the records: {self.apart.in_words}."

    def protected(self, records: int) -> ProtectedScenarios:
        """Return the scenarios and pairs among datasets of so many records."""
        return _protected(self._tilt, self.apart, records)


@frozen(init=False)
class Mean(_OfTheReference):
    """The mean of a number over the records: whether it is one value or another.

    The scenario of a value weighs the reference rows, as little unevenly as it takes, so that their mean is that
    value, and draws records independently with these weights: their own mean is the value on average.

    Args:
        expression: SQL text over the columns of one row that is a number.
        values: at least two means, each protected against each.
        between: instead of values, the least and the greatest mean.
        within: together with `between`, how far apart two means may be that are protected against each other.
        step: together with `between`, the distance of neighbouring means; nothing is promised of means between them.

    Raises:
        InvalidSecret: it is not clear which number, values or pairs are meant.

    >>> import distpriv as dp
    >>> hours = dp.Mean("hours_per_week", values=(38, 42))
    >>> hours.in_words, hours.tables
    ('What mean(hours_per_week) is among the records: whether it is 38 or 42.', {})
    >>> hours.protected(records=100).pairs[0]
    ('mean(hours_per_week) @ 38', 'mean(hours_per_week) @ 42')
    >>> len(dp.Mean("hours_per_week", between=(36, 44), within=2, step=1).protected(records=100).pairs)
    30
    """

    expression: str
    """SQL text over the columns of one row."""
    apart: ValuesApart
    """The values, and which are protected against each other."""

    def __init__(
        self,
        expression: str,
        *,
        values: Iterable[float] | None = None,
        between: tuple[float, float] | None = None,
        within: float | None = None,
        step: float | None = None,
    ) -> None:
        text = _text("Mean", expression)
        apart = ValuesApart.given(f"mean({text})", values=values, between=between, within=within, step=step)
        self.__attrs_init__(expression=text, apart=apart)

    @property
    def _tilt(self) -> Tilt:
        return Tilt(kind="mean", expressions=(self.expression,), value=self.apart.points[0])


@frozen(init=False)
class Quantile(_OfTheReference):
    """A quantile of a number over the records: the value that a share of them is at most.

    The scenario of a value v draws records independently, with one weight for all reference rows at most v and another
    for all above it, so that a record is at most v with the probability asked for.

    Args:
        expression: SQL text over the columns of one row that is a number.
        level: the share of records that are at most the value, between 0 and 1; 0.5 for a median.
        values: at least two values of the quantile, each protected against each.
        between: instead of values, the least and the greatest one.
        within: together with `between`, how far apart two may be that are protected against each other.
        step: together with `between`, the distance of neighbouring values; nothing is promised of those between them.

    Raises:
        InvalidSecret: it is not clear which number, values or pairs are meant.

    >>> import distpriv as dp
    >>> dp.Quantile("age", 0.5, values=(35, 40)).in_words
    'What quantile(age, 0.5) is among the records: whether it is 35 or 40.'
    """

    expression: str
    """SQL text over the columns of one row."""
    level: float
    """The share of records that are at most the value."""
    apart: ValuesApart
    """The values, and which are protected against each other."""

    def __init__(
        self,
        expression: str,
        level: float,
        *,
        values: Iterable[float] | None = None,
        between: tuple[float, float] | None = None,
        within: float | None = None,
        step: float | None = None,
    ) -> None:
        text = _text("Quantile", expression)
        cure = "it is the share of records at most the value, and 0.5 for a median"
        level = real("the level of a quantile", level, InvalidSecret, above=0, below=1, cure=cure)
        name = f"quantile({text}, {level:.15g})"
        apart = ValuesApart.given(name, values=values, between=between, within=within, step=step)
        self.__attrs_init__(expression=text, level=level, apart=apart)

    @property
    def _tilt(self) -> Tilt:
        return Tilt(kind="quantile", expressions=(self.expression,), level=self.level, value=self.apart.points[0])


@frozen(init=False)
class Correlation(_OfTheReference):
    """How two numbers hang together over the records: their correlation.

    The scenario of a value weighs the reference rows, as little unevenly as it takes, so that their correlation is that
    value while means and variances of both numbers stay as they are in the reference.

    Args:
        first: SQL text over the columns of one row that is a number.
        second: another one.
        values: at least two correlations, each protected against each.
        between: instead of values, the least and the greatest one.
        within: together with `between`, how far apart two may be that are protected against each other.
        step: together with `between`, the distance of neighbouring values; nothing is promised of those between them.

    Raises:
        InvalidSecret: it is not clear which numbers, values or pairs are meant, or a value is not between −1 and 1.

    >>> import distpriv as dp
    >>> dp.Correlation("age", "education_num", values=(0.0, 0.1)).in_words
    'What correlation(age, education_num) is among the records: whether it is 0 or 0.1.'
    """

    first: str
    """SQL text over the columns of one row."""
    second: str
    """SQL text over the columns of one row."""
    apart: ValuesApart
    """The values, and which are protected against each other."""

    def __init__(
        self,
        first: str,
        second: str,
        *,
        values: Iterable[float] | None = None,
        between: tuple[float, float] | None = None,
        within: float | None = None,
        step: float | None = None,
    ) -> None:
        one, other = _text("Correlation", first), _text("Correlation", second)
        if one == other:
            raise InvalidSecret(f"the correlation of {one!r} with itself is always 1: name two different numbers.")
        name = f"correlation({one}, {other})"
        apart = ValuesApart.given(name, values=values, between=between, within=within, step=step)
        for value in apart.points:
            real(name, value, InvalidSecret, above=-1, below=1, cure="it is no correlation that rows vary at")
        self.__attrs_init__(first=one, second=other, apart=apart)

    @property
    def _tilt(self) -> Tilt:
        return Tilt(kind="correlation", expressions=(self.first, self.second), value=self.apart.points[0])


@frozen(init=False)
class Shift:
    """Which mixture of two tables the records are of: last year's and this year's, say.

    The scenario of a value v draws each record independently: from the second table with probability v, from the first
    otherwise, and any row of a table as likely as another.

    Args:
        first: a table, as any source of `distpriv.model`.
        second: another one, with the same columns.
        values: at least two shares of the second table, each protected against each; 0 is the first table alone.
        between: instead of values, the least and the greatest share.
        within: together with `between`, how far apart two shares may be that are protected against each other.
        step: together with `between`, the distance of neighbouring shares; nothing is promised of those between them.
        names: what the two tables are called.

    Raises:
        InvalidSecret: it is not clear which tables, shares or pairs are meant, or a share is not between 0 and 1.

    >>> import distpriv as dp
    >>> years = dp.Shift("last.parquet", "this.parquet", values=(0, 0.3), names=("last", "this"))
    >>> years.in_words
    'Which share of the records is of this, the rest being of last: whether it is 0 or 0.3.'
    >>> years.protected(records=100).pairs[0]
    ('mixture(last, this) @ 0', 'mixture(last, this) @ 0.3')
    """

    table: TwoTables
    """Both tables, one below the other."""
    names: tuple[str, str]
    """What the tables are called."""
    apart: ValuesApart
    """The shares of the second table, and which are protected against each other."""

    def __init__(
        self,
        first: Any,
        second: Any,
        *,
        values: Iterable[float] | None = None,
        between: tuple[float, float] | None = None,
        within: float | None = None,
        step: float | None = None,
        names: tuple[str, str] = ("first", "second"),
    ) -> None:
        if first is None or second is None:
            raise InvalidSecret("Shift needs two tables: write Shift('last.parquet', 'this.parquet', values=(0, 0.3)).")
        called = tuple(items(names))
        if len(called) != 2 or called[0] == called[1] or not all(isinstance(n, str) and n.strip() for n in called):
            raise InvalidSecret(f"names must be two different names, got {names!r}: write names=('last', 'this').")
        name = f"mixture({called[0]}, {called[1]})"
        apart = ValuesApart.given(name, values=values, between=between, within=within, step=step)
        for value in apart.points:
            cure = f"it is the share of records of {called[1]}, such as 0.3"
            real(f"a value of {name}", value, InvalidSecret, at_least=0, at_most=1, cure=cure)
        self.__attrs_init__(
            table=TwoTables(first=first, second=second), names=(called[0].strip(), called[1].strip()), apart=apart
        )

    @property
    def tables(self) -> Mapping[str, Any]:
        """Both tables, by what they are called."""
        return {self.names[0]: self.table.first, self.names[1]: self.table.second}

    @property
    def kind(self) -> TiltKind:
        """Which property it is."""
        return self._tilt.kind

    @property
    def named(self) -> tuple[str, ...]:
        """What errors may be about."""
        return (self._tilt.what, *self._tilt.numbers)

    @property
    def _tilt(self) -> Tilt:
        return Tilt(kind="mixture", expressions=self.names, value=self.apart.points[0])

    @property
    def in_words(self) -> str:
        """What is hidden."""
        first, second = self.names
        return f"Which share of the records is of {second}, the rest being of {first}: {self.apart.in_words}."

    def protected(self, records: int) -> ProtectedScenarios:
        """Return the scenarios and pairs among datasets of so many records."""
        return _protected(self._tilt, self.apart, records, self.table)


TiltedSecret = Mean | Quantile | Correlation | Shift


def _protected(like: Tilt, apart: ValuesApart, records: int, table: Any = None) -> ProtectedScenarios:
    scenarios = {value: Scenario.of_tilt(evolve(like, value=value), records, table) for value in apart.points}
    return ProtectedScenarios(
        scenarios={scenario.name: scenario for scenario in scenarios.values()},
        pairs=closed_under_swapping((scenarios[a].name, scenarios[b].name) for a, b in apart.pairs),
    )


def _text(kind: str, expression: object) -> str:
    if not isinstance(expression, str) or not expression.strip():
        raise InvalidSecret(f'{kind} needs a number as SQL text, got {expression!r}: write it as in "hours_per_week".')
    return expression.strip()
