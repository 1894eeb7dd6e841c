"""What is protected: a property of the whole dataset, by the scenarios that must look alike."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import combinations
from math import ceil, floor
from numbers import Integral
from typing import Any

from attrs import field, frozen

from distpriv.errors import InvalidSecret
from distpriv.framework.across_references import AcrossReferences
from distpriv.framework.combinations import Combinations
from distpriv.framework.domains import as_written, items, real, yes_or_no
from distpriv.framework.scenarios import (
    MOST_PAIRS,
    Pair,
    ProtectedScenarios,
    Scenario,
    checked_pairs,
    closed_under_swapping,
)
from distpriv.framework.tilted_secrets import Correlation, Mean, Quantile, Shift, TiltedSecret
from distpriv.framework.tilts import Tilt

__all__ = [
    "AcrossReferences",
    "Combinations",
    "Correlation",
    "Mean",
    "Pair",
    "Quantile",
    "Scenarios",
    "Secret",
    "Share",
    "Shift",
    "TiltedSecret",
    "across_references",
    "checked_pairs",
    "protect",
    "taken_shares",
]


def _share(value: object) -> float:
    return real("a share", value, InvalidSecret, at_least=0, at_most=1, cure="write 45 % as 0.45")


@frozen(init=False)
class Share:
    """The share of records that satisfy a predicate.

    Either some values to keep apart from each other, as shares or as numbers of records, or all attainable shares in a
    range that are at most `within` apart, or those of them that lie on a grid.

    Args:
        predicate: SQL text over the columns of one row that is true or false.
        values: at least two shares, each protected against each.
        positives: instead of values, in how many records it is true, each number protected against each.
        between: instead of values, the least and the greatest share.
        within: together with `between`, how far apart two shares may be that are protected against each other.
        step: together with `between`, the distance of neighbouring shares of a grid, from the least on; nothing is
            promised of shares between them.
        nearest: take the nearest share, or step, that so many records can have, instead of refusing one that they
            cannot; the larger of two that are as near. Scenarios are named by what is taken.

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
    >>> counted = dp.Share("income = '>50K'", positives=(400, 600))
    >>> list(counted.protected(records=999).scenarios), counted.in_words.partition(": ")[2]
    (["income = '>50K' @ 0.4004004004004", "income = '>50K' @ 0.600600600600601"], 'whether 400 or 600 of them do.')
    >>> len(dp.Share("income = '>50K'", between=(0.3, 0.7), within=0.1, step=0.05).protected(records=100).pairs)
    30
    >>> about = dp.Share("income = '>50K'", values=(0.4, 0.6), nearest=True)
    >>> [scenario.positives for scenario in about.protected(records=999).scenarios.values()]
    [400, 599]
    >>> print(about.taken(records=999))
    Of 999 records the nearest is taken: 400 (40.04 %) for 40 % and 599 (59.96 %) for 60 %.
    """

    predicate: str
    """SQL text that is true or false of a row."""
    values: tuple[float, ...] | None
    """The shares to keep apart from each other; None for numbers of records or a range."""
    positives: tuple[int, ...] | None
    """The numbers of records to keep apart from each other; None for shares or a range."""
    between: tuple[float, float] | None
    """The least and the greatest share; None for given values."""
    within: float | None
    """How far apart two shares of the range may be that are protected against each other."""
    step: float | None
    """The distance of neighbouring shares of the range; None for all that so many records can have."""
    nearest: bool
    """Whether the nearest share, or step, is taken where so many records cannot have it."""

    def __init__(
        self,
        predicate: str,
        *,
        values: Iterable[float] | None = None,
        positives: Iterable[int] | None = None,
        between: tuple[float, float] | None = None,
        within: float | None = None,
        step: float | None = None,
        nearest: bool = False,
    ) -> None:
        if not isinstance(predicate, str) or not predicate.strip():
            raise InvalidSecret(
                f"Share needs a predicate as SQL text, got {predicate!r}: write it as in \"income = '>50K'\"."
            )
        ways = [each is not None for each in (values, positives, between)]
        if sum(ways) != 1 or (between is None) != (within is None) or (step is not None and between is None):
            raise InvalidSecret(
                f"Share({predicate!r}) needs either values=(0.45, 0.55), or positives=(45, 55), or between=(0.3, 0.7) "
                "together with within=0.1, and step=0.05 if wanted."
            )
        if yes_or_no("nearest", nearest, InvalidSecret) and values is None and step is None:
            raise InvalidSecret(
                f"nearest=True of Share({predicate!r}) goes with values=(0.45, 0.55) or with a step: numbers of "
                "records, and ranges without a step, are taken as they are, so leave it out."
            )
        cure = "it is the largest difference of shares to hide"
        apart = "it is the distance of neighbouring shares"
        self.__attrs_init__(
            predicate=predicate.strip(),
            values=None if values is None else _distinct_shares(values),
            positives=None if positives is None else _distinct_numbers(positives),
            between=None if between is None else _range_of_shares(between),
            within=None if within is None else real("within", within, InvalidSecret, above=0, at_most=1, cure=cure),
            step=None if step is None else real("step", step, InvalidSecret, above=0, at_most=1, cure=apart),
            nearest=nearest,
        )

    @property
    def tables(self) -> Mapping[str, Any]:
        """Tables of its own: none, as records are drawn from the reference."""
        return {}

    @property
    def named(self) -> tuple[str, ...]:
        """What errors may be about where it is combined with others: the share, and the number that it is of.

        >>> import distpriv as dp
        >>> dp.Share("age > 40", values=(0.45, 0.55)).named
        ('share(age > 40)', 'CASE WHEN age > 40 THEN 1 ELSE 0 END')
        """
        tilt = Tilt(kind="share", expressions=(self.predicate,))
        return (tilt.what, *tilt.numbers)

    @property
    def in_words(self) -> str:
        """What is hidden."""
        what = f"Which share of the records satisfies {self.predicate}"
        if self.values is not None:
            return f"{what}: whether it is {' or '.join(map(_percent, self.values))}{self._or_near}."
        if self.positives is not None:
            return f"{what}: whether {' or '.join(f'{number:,}' for number in self.positives)} of them do."
        assert self.between is not None
        assert self.within is not None
        low, high = map(_percent, self.between)
        steps = "" if self.step is None else f" in steps of {_percent(self.step)}{self._or_near}"
        apart = _percent(self.within)
        return f"{what}, between {low} and {high}{steps}: which of two values that are at most {apart} apart."

    @property
    def _or_near(self) -> str:
        return ", or the nearest that there is" if self.nearest else ""

    def taken(self, records: int) -> str:
        """Return which shares are taken for those that so many records cannot have; nothing where they can have all."""
        if not self.nearest:
            return ""
        asked = (self.values or ()) if self.step is None else (self.step,)
        said = [
            f"{number:,} ({_percent(number / records, 4)}) for {_percent(value)}"
            for value in asked
            if (number := self._taken_for(value, records)) != _records_with(value, records)
        ]
        what = "nearest" if self.step is None else "nearest step"
        return f"Of {records:,} records the {what} is taken: {' and '.join(said)}." if said else ""

    def protected(self, records: int) -> ProtectedScenarios:
        """Return the scenarios and pairs among datasets of so many records.

        Raises:
            InvalidSecret: so many records cannot have such a share, and the nearest is not asked for, or is another's.
        """
        counts, chosen = self._of_a_range(records) if self.between is not None else self._of_values(records)
        scenarios = [Scenario.of_share(self.predicate, positives=c, records=records) for c in counts]
        names = dict(zip(counts, (scenario.name for scenario in scenarios), strict=True))
        return ProtectedScenarios(
            scenarios={scenario.name: scenario for scenario in scenarios},
            pairs=closed_under_swapping((names[a], names[b]) for a, b in chosen),
        )

    def _of_values(self, records: int) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the numbers of records that are given, and every two of them."""
        for number in self.positives or ():
            if number > records:
                raise InvalidSecret(
                    f"{number} of {records} records cannot satisfy {self.predicate}: give numbers of at most {records}."
                )
        counts = sorted(self.positives or (self._taken_for(value, records) for value in self.values or ()))
        if len(set(counts)) < len(counts):
            raise InvalidSecret(
                f"of {records} records the nearest to two of the shares {self.values} of {self.predicate} is the same "
                "number: give shares that are farther apart, or more records."
            )
        return counts, list(combinations(counts, 2))

    def _taken_for(self, share: float, records: int) -> int:
        """Return how many records stand for a share or step: as many as make it up, or the nearest if that is asked."""
        if self.nearest:
            number = floor(_records_with(share, records) + Fraction(1, 2))
            return number if self.step is None else max(1, number)
        return _attained(share, records, self.predicate)

    def _of_a_range(self, records: int) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the numbers of records of a range or its grid, and every two that are protected."""
        assert self.between is not None
        assert self.within is not None
        low, high = (_records_with(end, records) for end in self.between)
        stride = 1 if self.step is None else self._stride(self.step, records)
        reach = floor(_records_with(self.within, records)) // stride
        counts = list(range(ceil(low), floor(high) + 1, stride))
        if len(counts) * reach > MOST_PAIRS:
            raise InvalidSecret(
                f"the range of Share({self.predicate!r}) holds about {len(counts) * reach:,} pairs of shares that "
                f"{records} records can have: give a step, such as {_handy_step(self.within, records):.15g}, or the "
                "shares to keep apart as values=(…) instead."
            )
        chosen = [(a, b) for k, a in enumerate(counts) for b in counts[k + 1 : k + reach + 1]]
        if not chosen:
            steps = f"1/{records}" if stride == 1 else f"{stride}/{records}"
            raise InvalidSecret(
                f"no two shares that {records} records can have lie in between={self.between} and within={self.within} "
                f"of each other: shares come in steps of {steps}, so widen one of the two."
            )
        return counts, chosen

    def _stride(self, step: float, records: int) -> int:
        """Return how many records a step is."""
        if self.nearest:
            return self._taken_for(step, records)
        exact = _records_with(step, records)
        if exact != floor(exact) or exact < 1:
            low, high = max(1, floor(exact)), floor(exact) + 1
            raise InvalidSecret(
                f"a step of {step:g} is no whole number of {records} records: give one of the nearest, "
                f"{low / records:.15g} or {high / records:.15g}, or say nearest=True."
            )
        return floor(exact)


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


Secret = Share | Scenarios | TiltedSecret | Combinations | AcrossReferences


_WITH_TABLES = Scenarios | Shift | AcrossReferences


def across_references(secrets: Secret | Iterable[Secret], robust: object) -> tuple[Secret, ...]:
    """Return secrets that are hidden across references too, or say why there are none.

    Raises:
        InvalidSecret: robust is no list of tables, or a secret brings tables of its own.
    """
    if robust is None:
        return _several(secrets)
    others = items(robust)
    if not others or any(table is None for table in others):
        raise InvalidSecret(
            f"robust must be a list of other tables, or a relative entropy such as 1e-7, got {robust!r}: write "
            "robust=['other.parquet']."
        )
    several = _several(secrets)
    for secret in several:
        if isinstance(secret, Scenarios | Shift):
            raise InvalidSecret(
                f"robust is about a reference that may be wrong, and {type(secret).__name__} brings tables of its own: "
                "leave it out, or add the other tables to those."
            )
    return tuple(
        AcrossReferences(secret=secret, others=tuple(others)) if not isinstance(secret, _WITH_TABLES) else secret
        for secret in several
    )


def _several(secrets: Secret | Iterable[Secret]) -> tuple[Secret, ...]:
    """Return one secret or several as several, or say that these are none."""
    several = (secrets,) if isinstance(secrets, Secret) else items(secrets)
    if not several or not all(isinstance(secret, Secret) for secret in several):
        raise InvalidSecret(
            "a secret is a Share, a Mean, a Quantile, a Correlation, Combinations of these, a Shift or Scenarios, or a "
            "list of them, got "
            f"{secrets!r}: write "
            "Share(\"income = '>50K'\", values=(0.45, 0.55))."
        )
    return several


def protect(secrets: Secret | Iterable[Secret], records: int) -> ProtectedScenarios:
    """Return one set of scenarios and protected pairs for one secret or several.

    >>> income = Share("income = '>50K'", values=(0.4, 0.5))
    >>> len(protect([income, income, Share("sex = 'Female'", values=(0.4, 0.5))], records=10).pairs)
    4
    """
    scenarios: dict[str, Scenario] = {}
    pairs: list[Pair] = []
    for secret in _several(secrets):
        protected = secret.protected(records)
        for name, scenario in protected.scenarios.items():
            if scenarios.setdefault(name, scenario) != scenario:
                raise InvalidSecret(f"two secrets have a scenario named {name!r}: rename one of them.")
        pairs.extend(protected.pairs)
    return ProtectedScenarios(scenarios=scenarios, pairs=closed_under_swapping(pairs))


def taken_shares(secrets: Iterable[Secret], records: int) -> list[str]:
    """Return which shares are taken for those that so many records cannot have, a sentence for each such secret.

    >>> exact, about = (Share("age > 40", values=(0.2, 0.4), nearest=nearest) for nearest in (False, True))
    >>> taken_shares([exact, about], records=10), taken_shares([about], records=8)
    ([], ['Of 8 records the nearest is taken: 2 (25 %) for 20 % and 3 (37.5 %) for 40 %.'])
    """
    plain = (secret.secret if isinstance(secret, AcrossReferences) else secret for secret in secrets)
    said = (secret.taken(records) for secret in plain if isinstance(secret, Share))
    return [sentence for sentence in said if sentence]


def _percent(share: float, digits: int = 10) -> str:
    return f"{100 * share:.{digits}g} %"


def _distinct_shares(values: object) -> tuple[float, ...]:
    if not (given := items(values)):
        raise InvalidSecret(f"values must be at least two shares, got {values!r}: write values=(0.45, 0.55).")
    shares = tuple(_share(value) for value in given)
    if len(set(shares)) < 2 or len(set(shares)) < len(shares):
        raise InvalidSecret(f"values must be at least two different shares, got {shares}: write values=(0.45, 0.55).")
    return shares


def _distinct_numbers(positives: object) -> tuple[int, ...]:
    given = items(positives)
    whole = all(isinstance(each, Integral) and not isinstance(each, bool) and int(each) >= 0 for each in given)
    if not whole or len(set(given)) < 2 or len(set(given)) < len(given):
        raise InvalidSecret(
            f"positives must be at least two different numbers of records, got {positives!r}: write positives=(45, 55)."
        )
    return tuple(int(each) for each in given)


def _handy_step(within: float, records: int) -> float:
    """Return a step of which a few are as far apart as is protected."""
    return max(1, floor(_records_with(within, records)) // 4) / records


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
            f"{low / records:.15g} ({low} records) or {high / records:.15g} ({high} records), or numbers of records as "
            "positives, or say nearest=True."
        )
    return low


def _records_with(share: float, records: int) -> Fraction:
    """Return how many records make up a share, whole where only rounding keeps it from being so.

    A share that was computed (1/3, 0.1 + 0.2) is off by rounding; one that is meant is off by more.
    """
    exact = as_written(share) * records
    nearest = round(exact)
    return Fraction(nearest) if abs(exact - nearest) <= Fraction(records, 10**12) else exact
