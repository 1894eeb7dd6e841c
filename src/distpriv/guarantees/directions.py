"""Combinations of the released numbers that may tell scenarios apart although moments say that nothing does."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Pair
from distpriv.modelling.model import QueryModel
from distpriv.modelling.row_laws import RowLaws

__all__ = ["telling_directions"]

OUTLYING = 4
"""How many of the rows that lie farthest out are looked at, each along its own direction."""

ALIKE = 0.05
"""Rows that differ by no more than this share of each number are of one kind."""

SELDOM = 1e-9
"""Rows of which so many are drawn on average, or fewer, are as good as none."""

SAME = 1 - 1e-6
"""Directions whose cosine, in units of the noisy statistics, is larger are the same."""


def telling_directions(
    model: QueryModel, rows: RowLaws, noise: Floats, pair: Pair, frequencies: Iterable[Floats] = ()
) -> list[Floats]:
    r"""Return what may tell most: every statistic alone, the likelihood direction, peaks, outlying rows.

    Under Gaussian laws with one covariance the likelihood ratio of a pair is a function of
    :math:`d^\top (Σ + S)^{-1} y` alone. A single row at x is found, if at all, along :math:`(Σ + S)^{-1} x`.

    Args:
        model: the model.
        rows: the rows behind it.
        noise: the covariance S of the noise.
        pair: the scenarios that moments tell apart best.
        frequencies: directions along which the statistics repeat.
    """
    noisy = np.asarray(np.mean([model.distributions[name].covariance for name in pair], axis=0) + noise)
    units = np.sqrt(np.maximum(np.diag(noisy), 0.0))
    inverse = _inverse(noisy)
    moved = [model.mean_shift(pair), *_outlying(rows, inverse)]
    alone = np.eye(model.dimension)[units > 0]
    return _distinct([*alone, *(inverse @ move for move in moved), *frequencies], noisy)


def _outlying(rows: RowLaws, inverse: Floats) -> list[Floats]:
    """Return how far the rows that lie farthest out are from the mean of their stratum, no two of one kind."""
    most = {s: max(sizes.get(s, 0) for sizes in rows.drawn.values()) for s in range(len(rows.strata))}
    often = {s: rows.strata[s].shares * number > SELDOM for s, number in most.items() if number}
    deviations: Floats = np.concatenate([rows.strata[s].about_mean[which] for s, which in often.items()])
    distances = np.einsum("ri,ij,rj->r", deviations, inverse, deviations, optimize=True)
    farthest: list[Floats] = []
    for k in np.argsort(-distances)[: 50 * OUTLYING]:
        row = np.asarray(deviations[k])
        if len(farthest) < OUTLYING and not any(_alike(row, other) for other in farthest):
            farthest.append(row)
    return farthest


def _alike(row: Floats, other: Floats) -> bool:
    return bool((np.abs(row - other) <= ALIKE * np.abs(other)).all())


def _distinct(directions: Sequence[Floats], covariance: Floats) -> list[Floats]:
    """Return directions along which something varies, each once."""
    kept: list[Floats] = []
    for direction in directions:
        length = math.sqrt(max(float(direction @ covariance @ direction), 0.0))
        if length > 0 and all(abs(other @ covariance @ direction) < SAME * length for other in kept):
            kept.append(direction / length)
    return kept


def _inverse(covariance: Floats) -> Floats:
    units = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    units = np.where(units > 0, units, 1.0)
    return np.asarray(np.linalg.pinv(covariance / np.outer(units, units), rcond=1e-10) / np.outer(units, units))
