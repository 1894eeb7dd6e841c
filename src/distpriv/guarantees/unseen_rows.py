"""Rows that a reference lacks: how many there may be, where a guarantee rests on rows and not on moments."""

import math
from collections.abc import Mapping

from distpriv.guarantees.certificate import Assumption
from distpriv.modelling.model import QueryModel

__all__ = ["largest_unseen_share", "unseen_rows_assumptions"]

CONFIDENCE = 0.99
"""With what confidence a share is told."""


STATEMENT = "rows that the reference lacks move the statistics as those do that it has, and as often"


def largest_unseen_share(rows: int) -> float:
    """Return the share below which rows of a kind are that a sample of so many rows has none of: 4.6/N at 99 %.

    A kind with a larger share would have shown itself with a chance of 99 %: (1 − α)^N = 0.01.

    >>> round(largest_unseen_share(1000), 5)
    0.00459
    """
    return -math.expm1(math.log(1 - CONFIDENCE) / rows)


def unseen_rows_assumptions(model: QueryModel) -> tuple[Assumption, ...]:
    """Return that rows which a sample lacks are like those it has, and how many there may be; nothing of a population.

    Only rows in which coupled datasets differ can tell scenarios apart, so the chance that one of these is of a kind
    that the reference never shows is told as well, for the pair that differs in most rows.
    """
    if not model.strata:
        return ()
    several = [(s, largest_unseen_share(s.rows)) for s in model.strata]
    kinds = " and ".join(f"{s.rows:,} {s.kind} ({share:.2g} of all)" for s, share in several)
    chance = max(
        -math.expm1(sum(_moves(s.drawn, pair) * math.log1p(-share) for s, share in several))
        for pair in model.protected_pairs
    )
    if any(s.loads is not None for s in model.strata):
        return (
            Assumption(
                statement=STATEMENT,
                status="assumed",
                evidence=f"a sample is worth {', '.join(f'{s.rows:,} {s.kind}' for s in model.strata)}; how much "
                "weight rows that it never shows would have is not known",
            ),
        )
    return (
        Assumption(
            statement=STATEMENT,
            status="assumed",
            evidence=f"a sample has {kinds}: of any one kind of row that it never shows there are fewer, with a "
            f"confidence of {CONFIDENCE:.0%} each, and one of it is among those that coupled datasets differ in with a "
            f"chance of at most {chance:.2g}",
        ),
    )


def _moves(drawn: Mapping[str, int], pair: tuple[str, str]) -> int:
    return abs(drawn.get(pair[0], 0) - drawn.get(pair[1], 0))
