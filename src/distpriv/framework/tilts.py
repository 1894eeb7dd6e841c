"""A property of the rows and a value of it: the law closest to the reference under which it has that value."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self, get_args

from attrs import frozen

from distpriv.errors import InvalidInput
from distpriv.framework.two_tables import SECOND

__all__ = ["Tilt", "TiltKind"]

TiltKind = Literal["mean", "quantile", "correlation", "mixture", "share", "joint"]
"""Which property of the rows has the value; of a mixture it is the share of rows of the second of two tables, of a
share that of rows that satisfy a predicate, and a joint one is several properties at once."""


@frozen(kw_only=True)
class Tilt:
    """Rows drawn independently, with the weights nearest to even ones under which a property has a value.

    >>> hours = Tilt(kind="mean", expressions=("hours_per_week",), value=38.0)
    >>> hours.what, hours.in_words, hours.key
    ('mean(hours_per_week)', 'mean(hours_per_week) is 38', 'mean(hours_per_week) @ 38')
    >>> Tilt(kind="quantile", expressions=("age",), level=0.5, value=40.0).key
    'quantile(age, 0.5) @ 40'
    >>> Tilt.from_dict(hours.to_dict()) == hours
    True
    >>> both = Tilt.joint([hours, Tilt(kind="share", expressions=("age > 40",), value=0.5)])
    >>> both.what, both.key, Tilt.from_dict(both.to_dict()) == both
    ('mean(hours_per_week) and share(age > 40)', 'mean(hours_per_week) @ 38 and share(age > 40) @ 0.5', True)
    """

    kind: TiltKind
    expressions: tuple[str, ...] = ()
    """SQL text over the columns of one row, one or two for a correlation; of a mixture what its tables are called."""
    value: float = 0.0
    level: float | None = None
    """Of a quantile: which share of the rows is at most the value."""
    parts: tuple["Tilt", ...] = ()
    """Of a joint one: the properties and their values, which all hold at once."""

    @classmethod
    def joint(cls, parts: Iterable["Tilt"]) -> Self:
        """Return several properties with a value each, all at once."""
        return cls(kind="joint", parts=tuple(parts))

    @property
    def numbers(self) -> tuple[str, ...]:
        """SQL text of the numbers that rows are weighed by."""
        if self.kind == "joint":
            return tuple(text for part in self.parts for text in part.numbers)
        if self.kind == "share":
            return (f"CASE WHEN {self.expressions[0]} THEN 1 ELSE 0 END",)
        return (SECOND,) if self.kind == "mixture" else self.expressions

    @property
    def predicates(self) -> tuple[str, ...]:
        """SQL text that is true or false of a row, of shares."""
        return tuple(each.expressions[0] for each in (self, *self.parts) if each.kind == "share")

    @property
    def order(self) -> tuple[float, ...]:
        """What orders the values of one property, or of several at once."""
        return tuple(part.value for part in self.parts) if self.kind == "joint" else (self.value,)

    @property
    def what(self) -> str:
        """What has the value, as it is written."""
        if self.kind == "joint":
            return " and ".join(part.what for part in self.parts)
        named = [*self.expressions, *([] if self.level is None else [f"{self.level:.15g}"])]
        return f"{self.kind}({', '.join(named)})"

    @property
    def in_words(self) -> str:
        """What holds of the rows."""
        if self.kind == "joint":
            return " and ".join(part.in_words for part in self.parts)
        if self.kind == "mixture":
            return f"a share of {self.value:.15g} is of {self.expressions[1]} and the rest of {self.expressions[0]}"
        return f"{self.what} is {self.value:.15g}"

    @property
    def key(self) -> str:
        """The name of its scenario."""
        if self.kind == "joint":
            return " and ".join(part.key for part in self.parts)
        return f"{self.what} @ {self.value:.15g}"

    def same_property(self, other: "Tilt | None") -> bool:
        """Tell whether another is about the same property, with whatever value."""
        return other is not None and self.what == other.what

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, lists and text."""
        if self.kind == "joint":
            return {"kind": self.kind, "parts": [part.to_dict() for part in self.parts]}
        return {"kind": self.kind, "expressions": list(self.expressions), "value": self.value, "level": self.level}

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Self:
        """Return what `to_dict` wrote down."""
        if written["kind"] not in get_args(TiltKind):
            raise InvalidInput(
                f"there is no property {written['kind']!r}: it is one of {', '.join(get_args(TiltKind))}."
            )
        if written["kind"] == "joint":
            return cls.joint(cls.from_dict(part) for part in written["parts"])
        level = written["level"]
        return cls(
            kind=written["kind"],
            expressions=tuple(written["expressions"]),
            value=float(written["value"]),
            level=None if level is None else float(level),
        )
