"""What is protected: ways the data may have been generated, and the pairs of them that must look alike."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import combinations
from math import ceil, floor
from typing import Any, Self

from attrs import field, frozen

from distpriv.errors import InvalidSecret
from distpriv.framework.domains import as_written, did_you_mean, items, real

__all__ = ["Pair", "ProtectedScenarios", "Scenario", "Scenarios", "Secret", "Share", "protect"]

Pair = tuple[str, str]
"""An ordered protected pair (θ_i, θ_j), by the names of its scenarios."""

MOST_PAIRS = 100_000
"""More pairs than anyone means to protect; a model of them would not fit in memory either."""


def _share(value: object) -> float:
    return real("a share", value, InvalidSecret, at_least=0, at_most=1, cure="write 45 % as 0.45")


def _within(value: object) -> float:
    cure = "it is the largest difference of shares to hide"
    return real("within", value, InvalidSecret, above=0, at_most=1, cure=cure)


@frozen(kw_only=True)
class Scenario:
    """One way the data may have been generated: so many rows, drawn from each stratum of a table.

    >>> from distpriv.framework.secrets import Scenario
    >>> women = Scenario.of_share("sex = 'Female'", positives=45, records=100)
    >>> women.name, women.predicate, women.strata, women.positives
    ("sex = 'Female' @ 0.45", "sex = 'Female'", ((True, 45), (False, 55)), 45)
    >>> boom = Scenario(name="boom", table="a.parquet", sizes=(100,))
    >>> boom.records, boom.strata
    (100, ((True, 100),))
    """

    name: str
    """The scenario's name, the same on every engine."""
    table: Any = field(default=None, eq=id, repr=False)
    """Its own table; None where rows are drawn from the reference."""
    predicate: str | None = None
    """SQL text that is true or false of a row and splits the table in two; None where all rows are one stratum."""
    sizes: tuple[int, ...]
    """How many rows are drawn from each stratum, from those that satisfy the predicate first."""

    @classmethod
    def of_share(cls, predicate: str, positives: int, records: int) -> Self:
        """Return the scenario in which exactly so many of the records satisfy the predicate.

        >>> from distpriv.framework.secrets import Scenario
        >>> Scenario.of_share("age > 30", positives=4, records=10).name
        'age > 30 @ 0.4'
        """
        name = f"{predicate} @ {positives / records:.15g}"
        return cls(name=name, predicate=predicate, sizes=(positives, records - positives))

    @classmethod
    def from_dict(cls, name: str, written: Mapping[str, Any], records: int) -> Self:
        """Return the scenario that `to_dict` wrote down; of a table of its own nothing is known but that it is one.

        >>> from distpriv.framework.secrets import Scenario
        >>> few = Scenario.of_share("age > 30", positives=4, records=10)
        >>> few.to_dict(), Scenario.from_dict(few.name, few.to_dict(), records=10) == few
        ({'share': 'age > 30', 'positives': 4}, True)
        """
        if written["share"] is None:
            return cls(name=name, table=name, sizes=(records,))
        positives = written["positives"]
        return cls(name=name, predicate=written["share"], sizes=(positives, records - positives))

    def to_dict(self) -> dict[str, Any]:
        """Return for JSON what is public of a scenario besides its name and the number of records.

        >>> from distpriv.framework.secrets import Scenario
        >>> Scenario(name="boom", table="a.parquet", sizes=(10,)).to_dict()
        {'share': None, 'positives': None}
        """
        return {"share": self.predicate, "positives": self.positives if self.predicate else None}

    @property
    def records(self) -> int:
        """How many records there are."""
        return sum(self.sizes)

    @property
    def positives(self) -> int:
        """How many records are drawn from the first stratum, the one that satisfies the predicate."""
        return self.sizes[0]

    @property
    def strata(self) -> tuple[tuple[bool, int], ...]:
        """Whether each stratum satisfies the predicate, and how many rows are drawn from it."""
        return tuple(zip((True, False), self.sizes, strict=False))

    def rows_in_words(self, satisfied: bool) -> str:
        """Return what the rows of a stratum are.

        >>> from distpriv.framework.secrets import Scenario
        >>> Scenario.of_share("age > 30", positives=2, records=5).rows_in_words(False)
        'rows where age > 30 is not satisfied'
        """
        return f"rows where {self.predicate} is {'' if satisfied else 'not '}satisfied" if self.predicate else "rows"

    def couples_with(self, other: "Scenario") -> bool:
        """Tell whether both draw from the strata of one predicate, so that datasets may share all but some rows.

        >>> from distpriv.framework.secrets import Scenario
        >>> old, rich = (Scenario.of_share(text, positives=4, records=10) for text in ("age > 30", "income > 9"))
        >>> old.couples_with(old), old.couples_with(rich)
        (True, False)
        """
        return self.predicate is not None and self.predicate == other.predicate and self.table is other.table

    def swapped(self, other: "Scenario") -> int:
        """Return in how many records coupled datasets of the two differ: all, if they cannot be coupled.

        >>> from distpriv.framework.secrets import Scenario
        >>> few, many = (Scenario.of_share("age > 30", positives=k, records=10) for k in (4, 7))
        >>> few.swapped(many), few.swapped(Scenario(name="boom", table="a.parquet", sizes=(10,)))
        (3, 10)
        """
        return abs(self.positives - other.positives) if self.couples_with(other) else self.records

    def draws_as(self, other: "Scenario | None") -> bool:
        """Tell whether a scenario draws as many rows of the same strata as another, from whatever tables.

        >>> from distpriv.framework.secrets import Scenario
        >>> boom, bust = (Scenario(name=name, table=f"{name}.csv", sizes=(10,)) for name in ("boom", "bust"))
        >>> boom.draws_as(bust), boom.draws_as(Scenario.of_share("age > 30", positives=4, records=10))
        (True, False)
        """
        return other is not None and (self.predicate, self.sizes) == (other.predicate, other.sizes)


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


@frozen(init=False)
class Share:
    """The share of records that satisfy a predicate.

    Either some values to keep apart from each other, or all attainable shares in a range that are
    at most `within` apart.

    Args:
        predicate: SQL text over the columns of one row that is true or false.
        values: at least two shares, each protected against each.
        between: instead of values, the least and the greatest share.
        within: together with `between`, how far apart two shares may be that are protected against each other.

    Raises:
        InvalidSecret: a share is not between 0 and 1, or it is not clear which pairs are meant.

    >>> import distpriv as dp
    >>> dp.Share("income = '>50K'", values=(0.45, 0.55)).protected(records=100).pairs
    (("income = '>50K' @ 0.45", "income = '>50K' @ 0.55"), ("income = '>50K' @ 0.55", "income = '>50K' @ 0.45"))
    >>> len(dp.Share("income = '>50K'", between=(0.3, 0.7), within=0.1).protected(records=100).pairs)
    710
    """

    predicate: str
    """SQL text that is true or false of a row."""
    values: tuple[float, ...] | None
    """The shares to keep apart from each other; None for a range."""
    between: tuple[float, float] | None
    """The least and the greatest share; None for given values."""
    within: float | None
    """How far apart two shares of the range may be that are protected against each other."""

    def __init__(
        self,
        predicate: str,
        *,
        values: Iterable[float] | None = None,
        between: tuple[float, float] | None = None,
        within: float | None = None,
    ) -> None:
        if not isinstance(predicate, str) or not predicate.strip():
            raise InvalidSecret(
                f"Share needs a predicate as SQL text, got {predicate!r}: write it as in \"income = '>50K'\"."
            )
        if (values is None) == (between is None) or (between is None) != (within is None):
            raise InvalidSecret(
                f"Share({predicate!r}) needs either values=(0.45, 0.55) or between=(0.3, 0.7) together with within=0.1."
            )
        self.__attrs_init__(
            predicate=predicate.strip(),
            values=None if values is None else _distinct_shares(values),
            between=None if between is None else _range_of_shares(between),
            within=None if within is None else _within(within),
        )

    @property
    def tables(self) -> Mapping[str, Any]:
        """Tables of its own: none, as records are drawn from the reference.

        >>> import distpriv as dp
        >>> dp.Share("income = '>50K'", values=(0.45, 0.55)).tables
        {}
        """
        return {}

    @property
    def in_words(self) -> str:
        """What is hidden.

        >>> import distpriv as dp
        >>> dp.Share("income = '>50K'", values=(0.45, 0.55)).in_words
        "Which share of the records satisfies income = '>50K': whether it is 45 % or 55 %."
        """
        what = f"Which share of the records satisfies {self.predicate}"
        if self.values is not None:
            return f"{what}: whether it is {' or '.join(map(_percent, self.values))}."
        assert self.between is not None
        assert self.within is not None
        low, high = map(_percent, self.between)
        return f"{what}, between {low} and {high}: which of two values that are at most {_percent(self.within)} apart."

    def protected(self, records: int) -> ProtectedScenarios:
        """Return the scenarios and pairs among datasets of so many records.

        Raises:
            InvalidSecret: so many records cannot have such a share.

        >>> import distpriv as dp
        >>> [scenario.positives for scenario in dp.Share("x > 0", values=(0.4, 0.6)).protected(10).scenarios.values()]
        [4, 6]
        """
        if self.values is not None:
            counts = sorted({_attained(value, records, self.predicate) for value in self.values})
            chosen = list(combinations(counts, 2))
        else:
            assert self.between is not None
            assert self.within is not None
            low, high = (_records_with(end, records) for end in self.between)
            reach = floor(_records_with(self.within, records))
            counts = list(range(ceil(low), floor(high) + 1))
            if len(counts) * reach > MOST_PAIRS:
                raise InvalidSecret(
                    f"the range of Share({self.predicate!r}) holds about {len(counts) * reach:,} pairs of shares that "
                    f"{records} records can have: give the shares to keep apart as values=(…) instead."
                )
            chosen = [(a, b) for a in counts for b in range(a + 1, min(a + reach, counts[-1]) + 1)]
        if not chosen:
            raise InvalidSecret(
                f"no two shares that {records} records can have lie in between={self.between} and within={self.within} "
                f"of each other: shares come in steps of 1/{records}, so widen one of the two."
            )
        scenarios = [Scenario.of_share(self.predicate, positives=c, records=records) for c in counts]
        names = dict(zip(counts, (scenario.name for scenario in scenarios), strict=True))
        return ProtectedScenarios(
            scenarios={scenario.name: scenario for scenario in scenarios},
            pairs=_closed_under_swapping((names[a], names[b]) for a, b in chosen),
        )


@frozen(init=False)
class Scenarios:
    """Any ways the data may have been generated, each given by a table to draw the records from.

    Args:
        tables: the source of each scenario, by name.
        pairs: the pairs to protect; every two scenarios when not given.

    Raises:
        InvalidSecret: there are fewer than two tables, or a pair names none of them.

    >>> import distpriv as dp
    >>> dp.Scenarios({"boom": "a.parquet", "bust": "b.parquet"}).protected(records=10).pairs
    (('boom', 'bust'), ('bust', 'boom'))
    """

    tables: Mapping[str, Any] = field(eq=lambda tables: {name: id(table) for name, table in tables.items()})
    """The source of each scenario, by name."""
    pairs: tuple[Pair, ...]
    """The protected pairs, both orders of each."""

    def __init__(self, tables: Mapping[str, Any], pairs: Iterable[Pair] | None = None) -> None:
        named = isinstance(tables, Mapping) and all(isinstance(k, str) and v is not None for k, v in tables.items())
        if not named or len(tables) < 2:
            raise InvalidSecret("Scenarios needs at least two named tables: write Scenarios({'boom': …, 'bust': …}).")
        chosen = tuple(combinations(tables, 2)) if pairs is None else pairs
        self.__attrs_init__(tables=dict(tables), pairs=checked_pairs(chosen, tables))

    @property
    def in_words(self) -> str:
        """What is hidden.

        >>> import distpriv as dp
        >>> dp.Scenarios({"boom": "a.csv", "bust": "b.csv"}).in_words
        'Which of these the data come from: boom or bust.'
        """
        pairs = sorted({tuple(sorted(pair)) for pair in self.pairs})
        return "Which of these the data come from: " + "; ".join(f"{one} or {other}" for one, other in pairs) + "."

    def protected(self, records: int) -> ProtectedScenarios:
        """Return the scenarios and pairs among datasets of so many records.

        >>> import distpriv as dp
        >>> dp.Scenarios({"boom": "a.csv", "bust": "b.csv"}).protected(10).scenarios["boom"].records
        10
        """
        scenarios = {name: Scenario(name=name, table=table, sizes=(records,)) for name, table in self.tables.items()}
        return ProtectedScenarios(scenarios=scenarios, pairs=_closed_under_swapping(self.pairs))


Secret = Share | Scenarios


def protect(secrets: Secret | Iterable[Secret], records: int) -> ProtectedScenarios:
    """Return one set of scenarios and protected pairs for one secret or several.

    >>> income = Share("income = '>50K'", values=(0.4, 0.5))
    >>> len(protect([income, income, Share("sex = 'Female'", values=(0.4, 0.5))], records=10).pairs)
    4
    """
    several = (secrets,) if isinstance(secrets, Secret) else items(secrets)
    if not several or not all(isinstance(secret, Secret) for secret in several):
        raise InvalidSecret(
            f"a secret is a Share or Scenarios, or a list of them, got {secrets!r}: write "
            "Share(\"income = '>50K'\", values=(0.45, 0.55))."
        )
    scenarios: dict[str, Scenario] = {}
    pairs: list[Pair] = []
    for secret in several:
        protected = secret.protected(records)
        for name, scenario in protected.scenarios.items():
            if scenarios.setdefault(name, scenario) != scenario:
                raise InvalidSecret(f"two secrets have a scenario named {name!r}: rename one of them.")
        pairs.extend(protected.pairs)
    return ProtectedScenarios(scenarios=scenarios, pairs=_closed_under_swapping(pairs))


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
    return _closed_under_swapping(chosen)


def _closed_under_swapping(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    return tuple(dict.fromkeys(ordered for a, b in pairs for ordered in ((a, b), (b, a))))


def _percent(share: float) -> str:
    return f"{100 * share:.10g} %"


def _distinct_shares(values: object) -> tuple[float, ...]:
    if not (given := items(values)):
        raise InvalidSecret(f"values must be at least two shares, got {values!r}: write values=(0.45, 0.55).")
    shares = tuple(_share(value) for value in given)
    if len(set(shares)) < 2 or len(set(shares)) < len(shares):
        raise InvalidSecret(f"values must be at least two different shares, got {shares}: write values=(0.45, 0.55).")
    return shares


def _range_of_shares(between: object) -> tuple[float, float]:
    if len(ends := items(between)) != 2:
        raise InvalidSecret(f"between must be two shares, got {between!r}: write between=(0.3, 0.7).")
    low, high = _share(ends[0]), _share(ends[1])
    if low >= high:
        raise InvalidSecret(f"between must ascend, got ({low}, {high}): write the smaller share first.")
    return low, high


def _attained(share: float, records: int, predicate: str) -> int:
    """Return how many of the records make up the share, or say that none do."""
    exact = _records_with(share, records)
    low, high = floor(exact), ceil(exact)
    if low < high:
        raise InvalidSecret(
            f"{records} records cannot have a share of {share} with {predicate}: give one of the nearest, "
            f"{low / records:.15g} ({low} records) or {high / records:.15g} ({high} records)."
        )
    return low


def _records_with(share: float, records: int) -> Fraction:
    """Return how many records make up a share, whole where only rounding keeps it from being so.

    A share that was computed (1/3, 0.1 + 0.2) is off by rounding; one that is meant is off by more.
    """
    exact = as_written(share) * records
    nearest = round(exact)
    return Fraction(nearest) if abs(exact - nearest) <= Fraction(records, 10**12) else exact
