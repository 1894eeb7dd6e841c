"""Ways the data may have been generated, and the pairs of them that must look alike."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

from attrs import field, frozen

from distpriv.errors import InvalidSecret
from distpriv.framework.domains import did_you_mean, items
from distpriv.framework.tilts import Tilt

__all__ = ["MOST_PAIRS", "Pair", "ProtectedScenarios", "Scenario", "checked_pairs", "closed_under_swapping"]

MOST_PAIRS = 100_000
"""More pairs than anyone means to protect; a model of them would not fit in memory either."""

Pair = tuple[str, str]
"""An ordered protected pair (θ_i, θ_j), by the names of its scenarios."""


@frozen(kw_only=True)
class Scenario:
    """One way the data may have been generated: so many rows, drawn from each stratum of a table, or with weights.

    >>> from distpriv.framework.scenarios import Scenario
    >>> women = Scenario.of_share("sex = 'Female'", positives=45, records=100)
    >>> women.name, women.predicate, women.strata, women.positives, women.order
    ("sex = 'Female' @ 0.45", "sex = 'Female'", ((True, 45), (False, 55)), 45, (45,))
    >>> boom = Scenario(name="boom", table="a.parquet", sizes=(100,))
    >>> boom.records, boom.strata, boom.to_dict()
    (100, ((True, 100),), {'share': None, 'positives': None})
    >>> women.to_dict(), Scenario.from_dict(women.name, women.to_dict(), records=100) == women
    ({'share': "sex = 'Female'", 'positives': 45}, True)
    >>> women.rows_in_words(False)
    "rows where sex = 'Female' is not satisfied"
    >>> women.kind_of_rows(True), boom.kind_of_rows(True)
    ("rows where sex = 'Female' is satisfied", 'rows of boom')

    Datasets of two shares of one predicate can have all but some rows in common:

    >>> more = Scenario.of_share("sex = 'Female'", positives=55, records=100)
    >>> (women.couples_with(more), women.swapped(more)), (women.couples_with(boom), women.swapped(boom))
    ((True, 10), (False, 100))
    >>> bust = Scenario(name="bust", table="b.parquet", sizes=(100,))
    >>> boom.as_tilt, women.as_tilt.key
    (None, "share(sex = 'Female') @ 0.45")
    >>> boom.draws_as(bust), boom.draws_as(women)
    (True, False)

    Weighted rows are drawn independently; those of two values of a property can be coupled, and all of them may differ:

    >>> from distpriv.framework.tilts import Tilt
    >>> few, many = (Scenario.of_tilt(Tilt(kind="mean", expressions=("age",), value=v), 100) for v in (38.0, 40.0))
    >>> few.name, few.kind_of_rows(True), few.couples_with(many), few.swapped(many), few.draws_as(many)
    ('mean(age) @ 38', 'rows weighed so that mean(age) is 38', True, 100, False)
    >>> Scenario.from_dict(few.name, few.to_dict(), records=100) == few, few.family, women.family
    (True, 'mean(age)', None)
    """

    name: str
    """The scenario's name, the same on every engine."""
    table: Any = field(default=None, eq=id, repr=False)
    """Its own table; None where rows are drawn from the reference."""
    predicate: str | None = None
    """SQL text that is true or false of a row and splits the table in two; None where all rows are one stratum."""
    sizes: tuple[int, ...]
    """How many rows are drawn from each stratum, from those that satisfy the predicate first."""
    tilt: Tilt | None = None
    """Which property the weights of the rows give which value; None where all rows of a stratum are as likely."""
    reference: int = 0
    """Which of several references its rows are of, from 2 on; 0 where there is one, or it has a table of its own."""

    @classmethod
    def of_tilt(cls, tilt: Tilt, records: int, table: Any = None) -> Self:
        """Return the scenario in which so many records are drawn independently, and a property has a value."""
        return cls(name=tilt.key, table=table, sizes=(records,), tilt=tilt)

    @classmethod
    def of_share(cls, predicate: str, positives: int, records: int) -> Self:
        """Return the scenario in which exactly so many of the records satisfy the predicate."""
        name = f"{predicate} @ {positives / records:.15g}"
        return cls(name=name, predicate=predicate, sizes=(positives, records - positives))

    @classmethod
    def from_dict(cls, name: str, written: Mapping[str, Any], records: int) -> Self:
        """Return the scenario that `to_dict` wrote down; of a table of its own nothing is known but that it is one."""
        number = int(written.get("reference", 0))
        other: dict[str, Any] = {"reference": number, "table": f"reference {number}"} if number else {}
        if written.get("tilt") is not None:
            return cls(name=name, sizes=(records,), tilt=Tilt.from_dict(written["tilt"]), **other)
        if written["share"] is None:
            return cls(name=name, table=name, sizes=(records,))
        positives = written["positives"]
        return cls(name=name, predicate=written["share"], sizes=(positives, records - positives), **other)

    def to_dict(self) -> dict[str, Any]:
        """Return for JSON what is public of a scenario besides its name and the number of records."""
        return {
            "share": self.predicate,
            "positives": self.positives if self.predicate else None,
            **({} if self.tilt is None else {"tilt": self.tilt.to_dict()}),
            **({"reference": self.reference} if self.reference else {}),
        }

    @property
    def as_tilt(self) -> Tilt | None:
        """What holds of its rows, where they are the reference's: a property's value, or a share on average."""
        if self.tilt is not None or self.predicate is None or self.table is not None:
            return self.tilt
        return Tilt(kind="share", expressions=(self.predicate,), value=self.positives / self.records)

    @property
    def family(self) -> str | None:
        """Of rows with a property's weights: the property, and of which reference the rows are."""
        return None if self.tilt is None else f"{self.tilt.what}{self._of_reference}"

    @property
    def _of_reference(self) -> str:
        return f" of reference {self.reference}" if self.reference else ""

    @property
    def records(self) -> int:
        """How many records there are."""
        return sum(self.sizes)

    @property
    def positives(self) -> int:
        """How many records are drawn from the first stratum, the one that satisfies the predicate."""
        return self.sizes[0]

    @property
    def order(self) -> tuple[float, ...]:
        """What orders the scenarios of one secret: the values of its property."""
        return (self.positives,) if self.tilt is None else self.tilt.order

    @property
    def strata(self) -> tuple[tuple[bool, int], ...]:
        """Whether each stratum satisfies the predicate, and how many rows are drawn from it."""
        return tuple(zip((True, False), self.sizes, strict=False))

    def rows_in_words(self, satisfied: bool) -> str:
        """Return what the rows of a stratum are."""
        which = f"rows{self._of_reference}"
        if self.tilt is not None:
            return f"{which} weighed so that {self.tilt.in_words}"
        return f"{which} where {self.predicate} is {'' if satisfied else 'not '}satisfied" if self.predicate else which

    def kind_of_rows(self, satisfied: bool) -> str:
        """Return what the rows of a stratum are, by the name of the scenario where it has a table of its own."""
        return self.rows_in_words(satisfied) if self.predicate or self.tilt else f"rows of {self.name}"

    def couples_with(self, other: "Scenario") -> bool:
        """Tell whether both draw from the strata of one predicate, or weigh one table by one property."""
        of_one = self.reference == other.reference and (self.reference > 0 or self.table is other.table)
        if self.tilt is not None:
            return self.tilt.same_property(other.tilt) and of_one
        return self.predicate is not None and self.predicate == other.predicate and of_one

    def swapped(self, other: "Scenario") -> int:
        """Return in how many records coupled datasets of the two differ at most: all unless shares of one predicate."""
        shares = self.tilt is None and self.couples_with(other)
        return abs(self.positives - other.positives) if shares else self.records

    def draws_as(self, other: "Scenario | None") -> bool:
        """Tell whether a scenario draws as many rows of the same strata as another, from whatever tables."""
        if other is None:
            return False
        drawn = (other.predicate, other.sizes, other.tilt, other.reference)
        return (self.predicate, self.sizes, self.tilt, self.reference) == drawn


@frozen(kw_only=True)
class ProtectedScenarios:
    """Θ and Ψ: the scenarios by name, and the protected pairs, closed under swapping and without duplicates.

    >>> import distpriv as dp
    >>> protected = dp.Share("x > 0", values=(0.4, 0.5, 0.6)).protected(records=10)
    >>> list(protected.scenarios), len(protected.pairs), protected.records
    (['x > 0 @ 0.4', 'x > 0 @ 0.5', 'x > 0 @ 0.6'], 6, 10)
    """

    scenarios: Mapping[str, Scenario]
    """Θ, by name."""
    pairs: tuple[Pair, ...]
    """Ψ, both orders of each pair."""

    @property
    def records(self) -> int:
        """How many records every dataset has."""
        return next(iter(self.scenarios.values())).records


def checked_pairs(pairs: Iterable[Any], known: Iterable[str]) -> tuple[Pair, ...]:
    """Return protected pairs of known scenarios, closed under swapping, or say which one is wrong."""
    names = list(known)
    chosen = []
    for given in items(pairs):
        pair = items(given)
        if len(pair) != 2:
            raise InvalidSecret(f"a protected pair is two names of scenarios, got {given!r}: write ('boom', 'bust').")
        for name in pair:
            if not isinstance(name, str) or name not in names:
                raise InvalidSecret(f"pairs names an unknown scenario {name!r}: {did_you_mean(str(name), names)}")
        if pair[0] == pair[1]:
            raise InvalidSecret(f"the pair {pair!r} protects a scenario from itself: pair it with another one.")
        chosen.append((pair[0], pair[1]))
    if not chosen:
        raise InvalidSecret("there is no protected pair: name at least one, as in pairs=[('boom', 'bust')].")
    return closed_under_swapping(chosen)


def closed_under_swapping(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """Return pairs in both orders, each once."""
    return tuple(dict.fromkeys(ordered for a, b in pairs for ordered in ((a, b), (b, a))))
