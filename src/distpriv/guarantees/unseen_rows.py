"""Rows that a reference lacks: how many there may be, where a guarantee rests on rows and not on moments."""

import math
from collections.abc import Mapping

from distpriv.guarantees.evidence import Evidence
from distpriv.modelling.model import QueryModel

__all__ = ["largest_unseen_share", "unseen_rows_evidence"]

CONFIDENCE = 0.99
"""With what confidence a share is told."""


def largest_unseen_share(rows: int) -> float:
    """Return the share below which rows of a kind are that a sample of so many rows has none of: 4.6/N at 99 %.

    A kind with a larger share would have shown itself with a chance of 99 %: (1 − α)^N = 0.01.

    >>> round(largest_unseen_share(1000), 5)
    0.00459
    """
    return -math.expm1(math.log(1 - CONFIDENCE) / rows)


def unseen_rows_evidence(model: QueryModel) -> tuple[Evidence, ...]:
    """Return that rows which a sample lacks are like those it has, and how many there may be; nothing of a population.

    Only rows in which coupled datasets differ can tell scenarios apart, so the chance that one of these is of a kind
    that the reference never shows is told as well, for the pair that differs in most rows.
    """
    if not model.strata:
        return ()
    rows = {stratum.kind: stratum.rows for stratum in model.strata}
    if any(stratum.loads is not None for stratum in model.strata):  # the weight of rows it lacks is not known
        return (Evidence.of("DP313", rows=rows, shares=None, chance=None, confidence=None),)
    shares = {stratum.kind: largest_unseen_share(stratum.rows) for stratum in model.strata}
    chance = max(
        -math.expm1(sum(_moves(s.drawn, pair) * math.log1p(-largest_unseen_share(s.rows)) for s in model.strata))
        for pair in model.protected_pairs
    )
    return (Evidence.of("DP313", rows=rows, shares=shares, chance=chance, confidence=CONFIDENCE),)


def _moves(drawn: Mapping[str, int], pair: tuple[str, str]) -> int:
    return abs(drawn.get(pair[0], 0) - drawn.get(pair[1], 0))
