"""Several secrets at once: every combination of their values is one way the data may be, kept apart from all others."""

from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

from attrs import frozen

from distpriv.errors import InvalidSecret
from distpriv.framework.scenarios import MOST_PAIRS, Pair, ProtectedScenarios, Scenario, closed_under_swapping
from distpriv.framework.tilted_secrets import Correlation, Mean, Quantile
from distpriv.framework.tilts import Tilt

if TYPE_CHECKING:
    from distpriv.framework.secrets import Share

__all__ = ["Combinations"]


@frozen(init=False)
class Combinations:
    """All combinations of the values of several secrets, each protected against each.

    A list of secrets protects the values of each of them, the others being as in the reference. Here a scenario has a
    value of every one of them at once: it is the law of a record that is closest to the reference, in relative entropy,
    among those with all these values, and draws records independently. Shares are therefore those of the population
    that records come from, and those of the records on average. Two combinations are protected if each secret has the
    same value in both, or two that it protects against each other.

    Args:
        secrets: two or more of Share, Mean, Quantile and Correlation, of different properties.

    Raises:
        InvalidSecret: there are fewer than two secrets, or they cannot be combined.

    >>> import distpriv as dp
    >>> both = dp.Combinations(
    ...     dp.Share("sex = 'Female'", values=(0.3, 0.4)), dp.Mean("hours_per_week", values=(38, 42))
    ... )
    >>> protected = both.protected(records=100)
    >>> list(protected.scenarios)[0], len(protected.scenarios), len(protected.pairs)
    ("share(sex = 'Female') @ 0.3 and mean(hours_per_week) @ 38", 4, 12)
    >>> both.tables, both.named[0], len(both.secrets)
    ({}, "share(sex = 'Female') and mean(hours_per_week)", 2)
    >>> both.in_words[:78]
    "All of these at once. Which share of the records satisfies sex = 'Female': whe"
    """

    secrets: "tuple[Share | Mean | Quantile | Correlation, ...]"
    """What is combined."""

    def __init__(self, *secrets: "Share | Mean | Quantile | Correlation") -> None:
        for secret in secrets:
            if isinstance(secret, Combinations) or not callable(getattr(secret, "protected", None)) or secret.tables:
                raise InvalidSecret(
                    "combinations are of a Share, a Mean, a Quantile or a Correlation, whose rows are the reference's, "
                    f"got {type(secret).__name__}: give it beside them, in a list of secrets."
                )
        if len(secrets) < 2:
            raise InvalidSecret(
                "combinations need two secrets at least: write Combinations(Share(…), Mean(…)), or give the one alone."
            )
        self.__attrs_init__(secrets=tuple(secrets))

    @property
    def tables(self) -> Mapping[str, Any]:
        """Tables of its own: none, as records are drawn from the reference."""
        return {}

    @property
    def named(self) -> tuple[str, ...]:
        """What errors may be about: all properties at once, each of them, and the numbers that they are of."""
        each = [secret.named for secret in self.secrets]
        return (" and ".join(names[0] for names in each), *(name for names in each for name in names))

    @property
    def in_words(self) -> str:
        """What is hidden."""
        return " ".join(["All of these at once.", *(secret.in_words for secret in self.secrets)])

    def protected(self, records: int) -> ProtectedScenarios:
        """Return the scenarios and pairs among datasets of so many records.

        Raises:
            InvalidSecret: two are of one property, one fixes what another changes, or there are too many pairs.
        """
        each = [secret.protected(records) for secret in self.secrets]
        tilts = [{name: _tilt(scenario) for name, scenario in own.scenarios.items()} for own in each]
        _refuse_contradictions([next(iter(own.values())) for own in tilts])
        apart = [set(own.pairs) for own in each]
        chosen = list(product(*tilts))
        if len(chosen) ** 2 > 2 * MOST_PAIRS:
            raise InvalidSecret(
                f"{len(chosen):,} combinations have too many pairs: give fewer values, or some secrets beside them."
            )
        scenarios = {
            names: Scenario.of_tilt(Tilt.joint(own[name] for own, name in zip(tilts, names, strict=True)), records)
            for names in chosen
        }
        pairs = (
            (scenarios[one].name, scenarios[other].name)
            for one, other in combinations(chosen, 2)
            if all(pair in known or pair[0] == pair[1] for pair, known in zip(_places(one, other), apart, strict=True))
        )
        return ProtectedScenarios(
            scenarios={scenario.name: scenario for scenario in scenarios.values()}, pairs=closed_under_swapping(pairs)
        )


def _places(one: tuple[str, ...], other: tuple[str, ...]) -> Iterator[Pair]:
    return zip(one, other, strict=True)


def _tilt(scenario: Scenario) -> Tilt:
    found = scenario.as_tilt
    assert found is not None
    return found


def _refuse_contradictions(properties: list[Tilt]) -> None:
    """Refuse properties that cannot have values of their own: the same one twice, or a mean that a correlation keeps.

    Raises:
        InvalidSecret: there are such.
    """
    for one, other in combinations(properties, 2):
        if one.what == other.what:
            raise InvalidSecret(f"two of the combined secrets are about {one.what}: combine different ones.")
        for mean, kept in ((one, other), (other, one)):
            if mean.kind == "mean" and kept.kind == "correlation" and mean.expressions[0] in kept.expressions:
                raise InvalidSecret(
                    f"{kept.what} keeps the mean of {mean.expressions[0]} as it is in the reference, so that "
                    f"{mean.what} cannot have values of its own beside it: give the two as a list of secrets."
                )
