"""Values of a property to keep apart from each other: some, or those of a grid."""

from fractions import Fraction
from itertools import combinations
from math import floor

from attrs import frozen

from distpriv.errors import InvalidSecret
from distpriv.framework.domains import as_written, items, real
from distpriv.framework.scenarios import MOST_PAIRS

__all__ = ["ValuesApart"]

FINEST = Fraction(1, 10**12)
"""A step that is a smaller share of the values is lost where these are written down."""


@frozen(kw_only=True)
class ValuesApart:
    """Values of a property, and which of them are protected against each other.

    Either all of some values, or those of a grid that are at most `within` apart. Of a grid nothing is promised about
    values between its points.

    >>> grid = ValuesApart.given("mean(hours)", values=None, between=(36, 40), within=2, step=1)
    >>> grid.points, len(grid.pairs)
    ((36.0, 37.0, 38.0, 39.0, 40.0), 7)
    """

    values: tuple[float, ...] | None
    between: tuple[float, float] | None
    within: float | None
    step: float | None

    @classmethod
    def given(cls, name: str, *, values: object, between: object, within: object, step: object) -> "ValuesApart":
        """Return the values as they are given, or say what is wrong with them."""
        grid = [between, within, step]
        if (values is None) == (between is None) or any((part is None) != (between is None) for part in grid):
            raise InvalidSecret(
                f"{name} needs either values=(38, 42) or between=(36, 44) together with within=2 and step=1."
            )
        if values is not None:
            return cls(values=_distinct(name, values), between=None, within=None, step=None)
        if len(ends := items(between)) != 2:
            raise InvalidSecret(f"between must be two values of {name}, got {between!r}: write between=(36, 44).")
        low, high = (_value(name, end) for end in ends)
        if low >= high:
            raise InvalidSecret(f"between must ascend, got ({low:g}, {high:g}): write the smaller value first.")
        return cls(
            values=None,
            between=(low, high),
            within=real("within", within, InvalidSecret, above=0, cure=f"it is the largest difference of {name}"),
            step=real("step", step, InvalidSecret, above=0, cure="it is the distance of neighbouring values"),
        )._checked(name)

    def _checked(self, name: str) -> "ValuesApart":
        """Refuse a grid without pairs, and one with more than anyone means."""
        assert self.between is not None
        assert self.within is not None
        assert self.step is not None
        low, high = self.between
        count = floor((as_written(high) - as_written(low)) / as_written(self.step)) + 1
        reach = floor(as_written(self.within) / as_written(self.step))
        if count < 2 or reach < 1:
            raise InvalidSecret(
                f"no two values of {name} in between=({low:g}, {high:g}) with step={self.step:g} are at most within="
                f"{self.within:g} apart: give a smaller step."
            )
        if as_written(self.step) < FINEST * as_written(max(abs(low), abs(high))):
            raise InvalidSecret(
                f"a step of {self.step:g} is too small to tell values of {name} apart: give a larger one."
            )
        if count * reach > MOST_PAIRS:
            raise InvalidSecret(
                f"the range of {name} holds about {count * reach:,} pairs of values: give a larger step, or the values "
                "to keep apart as values=(…)."
            )
        return self

    @property
    def points(self) -> tuple[float, ...]:
        """All values, in ascending order."""
        if self.values is not None:
            return tuple(sorted(self.values))
        return tuple(float(point) for point in self._grid)

    @property
    def _grid(self) -> list[Fraction]:
        assert self.between is not None
        assert self.step is not None
        low, high, step = map(as_written, (*self.between, self.step))
        return [low + step * k for k in range(floor((high - low) / step) + 1)]

    @property
    def pairs(self) -> list[tuple[float, float]]:
        """The values that are protected against each other, the smaller first."""
        if self.values is not None:
            return list(combinations(self.points, 2))
        assert self.within is not None
        assert self.step is not None
        reach, points = floor(as_written(self.within) / as_written(self.step)), self.points
        return [(a, b) for k, a in enumerate(points) for b in points[k + 1 : k + reach + 1]]

    @property
    def in_words(self) -> str:
        """Which values there are, and what is hidden of them."""
        if self.values is not None:
            return f"whether it is {' or '.join(f'{value:.10g}' for value in self.values)}"
        assert self.between is not None
        low, high = self.between
        return (
            f"between {low:.10g} and {high:.10g} in steps of {self.step:.10g}, which of two values that are at most "
            f"{self.within:.10g} apart"
        )


def _value(name: str, value: object) -> float:
    return real(f"a value of {name}", value, InvalidSecret, cure="write a number, such as 38") + 0.0  # no −0


def _distinct(name: str, values: object) -> tuple[float, ...]:
    given = tuple(_value(name, value) for value in items(values))
    told_apart = {f"{value:.15g}" for value in given}  # as scenarios are named
    if len(told_apart) < 2 or len(told_apart) < len(given):
        raise InvalidSecret(f"values must be at least two different values of {name}, got {values!r}: write (38, 42).")
    return given
