"""How a kind of statistic is written: by the same word and the same names in a policy and in a ledger."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

if TYPE_CHECKING:
    from distpriv.framework.statistics.statistic import Statistic

__all__ = ["Form"]


@frozen(kw_only=True)
class Form:
    """How a kind of statistic is written: SQL first, then numbers, as in ``quantile(age, 0.5, resolution = 1)``.

    Every name is that of an argument of `make`, and of an attribute of what it makes.
    """

    word: str
    """What it is called, in a text and as the ``kind`` in a ledger."""
    make: Callable[..., "Statistic"]
    """Gets the texts in order and the options by name."""
    example: str
    """One as it is written, for messages."""
    texts: tuple[str, ...] = ("expression",)
    """The arguments that are SQL over the columns of one row."""
    options: tuple[str, ...] = ()
    """The arguments that are numbers."""
    needed: Mapping[str, tuple[str, str]] = field(factory=dict)
    """Options that must be given, without their names if need be: what a text does without one, and the cure."""
    implied: tuple[str, ...] = ()
    """What the word says already, so that only ledgers hold it."""

    def text(self, statistic: "Statistic") -> str:
        """Return a statistic as a policy has it."""
        parts = [str(getattr(statistic, name)) for name in self.texts]
        for name in self.options:
            value = getattr(statistic, name)
            if value is not None:
                parts.append(_literal(value) if name in self.needed else f"{name} = {_literal(value)}")
        return f"{self.word}({', '.join(parts)})"

    def to_dict(self, statistic: "Statistic") -> dict[str, Any]:
        """Return a statistic as a ledger has it."""
        values = {name: getattr(statistic, name) for name in (*self.texts, *self.options, *self.implied)}
        return {"kind": self.word, **{k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}}

    def from_dict(self, values: Mapping[str, Any]) -> "Statistic":
        """Return the statistic that a ledger has."""
        return self.make(
            *(values.get(name) for name in self.texts), **{name: values.get(name) for name in self.options}
        )


def _literal(value: float | tuple[float, ...]) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))})"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
