"""What is protected: a property of the whole dataset, by the scenarios that must look alike."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import combinations
from math import ceil, floor
from typing import Any

from attrs import field, frozen

from distpriv.errors import InvalidSecret
from distpriv.framework.domains import as_written, items, real
from distpriv.framework.scenarios import Pair, ProtectedScenarios, Scenario, checked_pairs, closed_under_swapping

__all__ = ["Pair", "Scenarios", "Secret", "Share", "checked_pairs", "protect"]

MOST_PAIRS = 100_000
"""More pairs than anyone means to protect; a model of them would not fit in memory either."""


def _share(value: object) -> float:
    return real("a share", value, InvalidSecret, at_least=0, at_most=1, cure="write 45 % as 0.45")


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
    >>> share = dp.Share("income = '>50K'", values=(0.45, 0.55))
    >>> share.in_words, share.tables
    ("Which share of the records satisfies income = '>50K': whether it is 45 % or 55 %.", {})
    >>> [scenario.positives for scenario in share.protected(records=100).scenarios.values()]
    [45, 55]
    >>> share.protected(records=100).pairs
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
        cure = "it is the largest difference of shares to hide"
        self.__attrs_init__(
            predicate=predicate.strip(),
            values=None if values is None else _distinct_shares(values),
            between=None if between is None else _range_of_shares(between),
            within=None if within is None else real("within", within, InvalidSecret, above=0, at_most=1, cure=cure),
        )

    @property
    def tables(self) -> Mapping[str, Any]:
        """Tables of its own: none, as records are drawn from the reference."""
        return {}

    @property
    def in_words(self) -> str:
        """What is hidden."""
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
            pairs=closed_under_swapping((names[a], names[b]) for a, b in chosen),
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
    >>> either = dp.Scenarios({"boom": "a.parquet", "bust": "b.parquet"})
    >>> either.in_words, either.protected(records=10).pairs
    ('Which of these the data come from: boom or bust.', (('boom', 'bust'), ('bust', 'boom')))
    >>> either.protected(records=10).scenarios["boom"].records
    10
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
        """What is hidden."""
        pairs = sorted({tuple(sorted(pair)) for pair in self.pairs})
        return "Which of these the data come from: " + "; ".join(f"{one} or {other}" for one, other in pairs) + "."

    def protected(self, records: int) -> ProtectedScenarios:
        """Return the scenarios and pairs among datasets of so many records."""
        scenarios = {name: Scenario(name=name, table=table, sizes=(records,)) for name, table in self.tables.items()}
        return ProtectedScenarios(scenarios=scenarios, pairs=closed_under_swapping(self.pairs))


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
    return ProtectedScenarios(scenarios=scenarios, pairs=closed_under_swapping(pairs))


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
