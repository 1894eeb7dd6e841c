"""What every statistic of the rows answers, so that nobody asks of which kind it is; and how a kind is written."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import field, frozen
from numpy.typing import NDArray

from distpriv.errors import InvalidQuery
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import items, real

__all__ = ["Form", "RowValue", "Statistic", "bounds_of", "resolution_of", "text_of"]


def text_of(value: object) -> str:
    """Return SQL text over the columns."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidQuery(f"a statistic needs SQL text over the columns, got {value!r}: write it as in mean('age').")
    return value.strip()


def resolution_of(value: object) -> float | None:
    """Return the least amount by which two values differ, if it is said."""
    cure = "it is the least amount by which two values differ, 1 for whole numbers"
    return None if value is None else real("resolution", value, InvalidQuery, above=0, cure=cure)


def bounds_of(value: object) -> tuple[float, float] | None:
    """Return the least and the greatest value that a row can have, if they are said."""
    if value is None:
        return None
    if len(ends := items(value)) != 2:
        raise InvalidQuery(
            f"bounds must be two numbers, got {value!r}: give the least and the greatest value of a row."
        )
    cure = "give the least and the greatest value a row can have, as in (17, 90)"
    low, high = (real("a bound", end, InvalidQuery, cure=cure) for end in ends)
    if low > high:
        raise InvalidQuery(f"bounds must ascend, got ({low:g}, {high:g}): swap them.")
    return low, high


@frozen(kw_only=True)
class RowValue:
    """A number that SQL has for every row, and what is known of it."""

    expression: str = field(converter=text_of)
    """SQL text over the columns of one row."""
    predicate: bool = False
    """Whether the expression is true or false, counted as 1 and 0, rather than a number."""
    resolution: float | None = field(default=None, converter=resolution_of)
    """The least amount by which two rows can differ; found on the reference table when None."""
    bounds: tuple[float, float] | None = field(default=None, converter=bounds_of)
    """The least and the greatest value a row can have; those of the reference rows when None."""


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


@frozen(kw_only=True)
class Statistic(ABC):
    """One or several numbers of a dataset: how they are computed, spaced, moved by one record, and written.

    A kind of statistic is a frozen class in a file of its own. It reads values that SQL has for every row
    (`row_values`), or whole columns in Python (`columns`). Models sample it, unless its numbers are means (`factors`).

    >>> import numpy as np
    >>> import distpriv as dp
    >>> women = dp.proportion("sex = 'F'")
    >>> women.text, women.form.word, women.to_dict()["kind"]
    ("proportion(sex = 'F')", 'proportion', 'proportion')
    >>> women.size, women.names("women"), women.columns, women.row_values == (women.row_of(0),), women.least_records
    (1, ('women',), (), True, 1)
    >>> women.evaluate(np.array([[0.0, 1.0], [1.0, 1.0]])), women.is_mean, women.factors(100), women.displayed(1.2, 100)
    (array([0.5, 1. ]), True, [1], 1.0)
    >>> women.steps(100, [1.0]), women.record_sensitivities(100, [(0, 1)])
    ([0.01], [0.01])
    """

    @property
    def size(self) -> int:
        """How many numbers the statistic has."""
        return 1

    @property
    def row_values(self) -> tuple[RowValue, ...]:
        """What SQL evaluates in every row: the texts that it is written with, unless it says otherwise."""
        resolution = getattr(self, "resolution", None)
        return tuple(RowValue(expression=getattr(self, text), resolution=resolution) for text in self.form.texts)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read as they are, in whatever way and order, so that nothing is known of the result."""
        return ()

    @property
    @abstractmethod
    def form(self) -> Form:
        """How it is written."""

    @abstractmethod
    def evaluate(self, *values: NDArray[Any]) -> Floats:
        """Evaluate on datasets given along the last axis.

        Args:
            values: one array for every row value, then one for every column; one that reads columns gets one dataset.

        Returns:
            One number for every dataset, or `size` numbers, along the last axis.
        """

    @abstractmethod
    def steps(self, records: int, resolutions: Sequence[float]) -> list[float]:
        """Return the spacing of every number; 0 for one that is continuous.

        Args:
            records: how many rows a dataset has.
            resolutions: the spacing of every row value; of every sampled number, where there is no row value.
        """

    @abstractmethod
    def record_sensitivities(self, records: int, bounds: Sequence[tuple[float, float]]) -> list[float]:
        """Return how much one record can move every number, with the bounds of every row value."""

    def factors(self, records: int) -> list[int] | None:  # noqa: ARG002 - for those that are means
        """Return what the numbers are of the means of their row values, one for each; None if they are no means."""
        return None

    @property
    def is_mean(self) -> bool:
        """Whether its numbers are means of its row values, up to factors, so that they have exact moments."""
        return self.factors(1) is not None

    @property
    def least_records(self) -> int:
        """How many records it needs."""
        return 1

    def names(self, key: str) -> tuple[str, ...]:
        """Return what its numbers are called: by the key of the query, and numbered if there are several."""
        return (key,) if self.size == 1 else tuple(f"{key}_{number + 1}" for number in range(self.size))

    def row_of(self, number: int) -> RowValue:
        """Return the row value by which it is told how one of the numbers is read: its own, or the last."""
        return self.row_values[min(number, len(self.row_values) - 1)]

    def displayed(self, value: float, records: int) -> float:  # noqa: ARG002 - for those that are counts
        """Return a released number as people expect to see it."""
        return value

    @property
    def text(self) -> str:
        """The statistic as a policy has it, the same for the same statistic."""
        return self.form.text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the statistic as a ledger has it."""
        return self.form.to_dict(self)


def _literal(value: float | tuple[float, ...]) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))})"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
