"""How many people a reference row stands for: a weight from a survey, checked, and how few rows it may rest on."""

from collections.abc import Mapping

import numpy as np

from distpriv.errors import InvalidModel
from distpriv.framework.arrays import Floats, Rows

__all__ = ["checked_weights", "effective_rows", "fewest_rows"]

FEWEST, FEWEST_SHARE = 100, 0.1
"""Fewer effective rows carry a law by themselves: so many, or such a share of a smaller table."""


def effective_rows(weights: Floats) -> float:
    """Return how many rows of one weight are as many as these, which have a sum of 1: 1/Σw².

    >>> effective_rows(np.array([0.25, 0.25, 0.5]))
    2.6666666666666665
    """
    return float(1 / (weights @ weights))


def fewest_rows(rows: int) -> float:
    """Return how many effective rows are the fewest of so many.

    >>> fewest_rows(200), fewest_rows(5000)
    (20.0, 100)
    """
    return min(FEWEST, FEWEST_SHARE * rows)


def checked_weights(text: str, given: Floats, strata: Mapping[str, Rows]) -> Floats:
    """Return what every row counts, with a sum of 1, or say why it cannot be.

    A row that counts 0 is never drawn.

    Args:
        text: the column, or the SQL text, that weights come from.
        given: the weight of every row.
        strata: which rows there are to draw from, by what they are called.

    Raises:
        InvalidModel: a weight is infinite or below 0, or some rows have none, or few of them carry nearly all of it.

    >>> checked_weights("people", np.array([1.0, 1.0, 2.0]), {"rows": np.arange(3)})
    array([0.25, 0.25, 0.5 ])
    """
    if not np.isfinite(given).all():
        raise _refusal(text, "has values that are infinite", "mend those rows, or change the expression")
    if (given < 0).any():
        raise _refusal(
            text, f"is {float(given.min()):.6g} in a row", "give how many people a row stands for, 0 or more"
        )
    counts = given / max(float(given.max(initial=0.0)), 5e-324)
    for kind, rows in strata.items():
        some = counts[rows][counts[rows] > 0]
        if not len(some):
            raise _refusal(text, f"is 0 in all {kind}", "give rows that stand for somebody")
        effective, fewest = effective_rows(some / some.sum()), fewest_rows(len(some))
        if effective < fewest:
            raise _refusal(
                text,
                f"is so uneven that of {len(some):,} {kind} an effective number of {effective:.3g} would carry all, "
                f"and at least {fewest:.3g} are needed",
                "cap the largest weights, or give a reference with more rows",
            )
    return np.asarray(counts / counts.sum())


def _refusal(text: str, why: str, cure: str) -> InvalidModel:
    return InvalidModel(f"the weight {text!r} {why}: {cure}.", about=("option", "weight"))
