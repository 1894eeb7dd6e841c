"""A few rows that stand for all rows of a stratum, so that a law can be tilted to many points.

Of up to three statistics near rows are put into cells, and what is inside of a cell counts as Gaussian. With more of
them cells would be as wide as the law itself, and hide its shape: there one row is drawn from each of many parts that
hold equally many, and the drawn ones are turned and stretched so that mean and covariance are those of all rows. Rows
that are far out stand for themselves, or if there are very many for others as far out. Where rows have few values, as
in a table of counts, each value stands for its rows, and nothing is left out. In either way nothing depends on units,
signs or chance.
"""

from heapq import heappop, heappush
from weakref import WeakKeyDictionary

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats, Rows
from distpriv.modelling.row_laws import RowLaws
from distpriv.modelling.stratum_rows import StratumRows
from distpriv.modelling.tilted_stratum import merged

__all__ = ["Representatives", "representatives"]

FEW_STATISTICS = 3
"""Of which cells are small."""

FEW, MANY, MANY_STATISTICS = 1024, 2048, 6
"""How many rows stand for all others, and for how many statistics there are the more of them."""

ALONE = 64
"""How many of the rows farthest out stand for themselves."""

FAR_OUT, FAR_OUT_OF_MANY, FAR_PARTS = 6.0, 2.0, 1024
"""From so many deviations of a row on it is far out, and from so many in each of many statistics; a quarter of all are
at most, by Chebyshev's inequality. How many may stand for those that are, beside the others."""

SEED = 41

SINGULAR = 1e-12
"""A direction with less than this share of the variance is one in which nothing varies."""

_known: WeakKeyDictionary[RowLaws, tuple["Representatives", ...]] = WeakKeyDictionary()


@frozen(kw_only=True, eq=False)
class Representatives:
    """Rows about the mean of their stratum, how many each stands for, and the covariance of what they leave out."""

    values: Floats
    counts: Floats
    inside: Floats


def representatives(rows: RowLaws) -> tuple[Representatives, ...]:
    """Return rows that stand for those of every stratum, found once for these rows."""
    if rows not in _known:
        _known[rows] = tuple(_standing_for(stratum) for stratum in rows.strata)
    return _known[rows]


def _standing_for(rows: StratumRows) -> Representatives:
    values, heavy = rows.about_mean, rows.shares * len(rows)
    size = values.shape[1]
    most = MANY if size >= MANY_STATISTICS else FEW
    kinds, counts = rows.kinds
    if len(kinds) <= most:
        return Representatives(values=values[kinds], counts=counts, inside=np.zeros((size, size)))
    deviations = np.sqrt(rows.variances)
    units = np.where(deviations > 0, deviations, 1.0)
    variances, axes = np.linalg.eigh((values / units).T @ (values / units * rows.shares[:, np.newaxis]))
    varies = variances > SINGULAR * max(float(variances.max()), np.finfo(float).tiny)
    white = (values / units) @ (axes[:, varies] / np.sqrt(variances[varies]))
    signs = np.where(rows.average(white**3) < 0, -1.0, 1.0)
    white, onto = white * signs, units[:, np.newaxis] * axes[:, varies] * (signs * np.sqrt(variances[varies]))
    if white.shape[1] <= FEW_STATISTICS:
        means, counts, inside = merged(white, most, None if rows.weights is None else heavy)
        return Representatives(values=means @ onto.T, counts=counts, inside=onto @ inside @ onto.T)
    lengths = (white**2).sum(axis=1)
    farthest = max(FAR_OUT**2, FAR_OUT_OF_MANY**2 * white.shape[1])
    near, far = np.flatnonzero(lengths < farthest), np.flatnonzero(lengths >= farthest)
    if rows.weights is None:
        chosen, counts = _one_of_each_part(white[near], min(most, len(near)))
    else:
        chosen, counts = _one_of_each_weight(white[near], most, heavy[near], heavy[near])
    out, numbers = _far_out(white[far], heavy[far])
    chosen, counts = np.concatenate([near[chosen], far[out]]), np.concatenate([counts, numbers])
    return Representatives(
        values=_like_all(white[chosen], counts) @ onto.T, counts=counts, inside=np.zeros((size, size))
    )


def _far_out(white: Floats, heavy: Floats) -> tuple[Rows, Floats]:
    """Return the numbers of the rows that stand for those far out, and how many each stands for."""
    _, kinds, place = np.unique(white, axis=0, return_index=True, return_inverse=True)
    often: Floats = np.bincount(place.ravel(), weights=heavy, minlength=len(kinds)).astype(np.float64)
    if len(kinds) <= FAR_PARTS:
        return kinds.astype(np.int64), often
    fourths = often * (white[kinds] ** 2).sum(axis=1) ** 2
    chosen, counts = _one_of_each_weight(white[kinds], FAR_PARTS, often, fourths)
    return kinds[chosen], counts


def _one_of_each_part(white: Floats, most: int) -> tuple[Rows, Floats]:
    """Return the numbers of the rows that stand for others, and how many each stands for.

    The rows are cut in two along the axis in which they vary most, the largest part first, until there are enough.
    """
    order = np.argsort(-(white**2).sum(axis=1), kind="stable")
    parts = [(-len(order) + ALONE, 0, order[ALONE:])]
    made = 1
    while len(parts) < most - ALONE:
        _, _, part = heappop(parts)
        half = len(part) // 2
        along = white[part, int(white[part].var(axis=0).argmax())]
        cut = part[np.argpartition(along, half)]
        heappush(parts, (-half, made, cut[:half]))
        heappush(parts, (half - len(cut), made + 1, cut[half:]))
        made += 2
    rng = np.random.default_rng(SEED)
    drawn = [int(part[rng.integers(len(part))]) for _, _, part in parts]
    counts = [len(part) for _, _, part in parts]
    return np.array([*order[:ALONE], *drawn]), np.array([*[1.0] * ALONE, *counts])


def _one_of_each_weight(white: Floats, most: int, heavy: Floats, counting: Floats) -> tuple[Rows, Floats]:
    """Return the same where rows have weights: parts are cut into halves that count the same, draws follow weights."""
    order = np.argsort(-((white**2).sum(axis=1) ** 2) * heavy, kind="stable")  # by what they add to fourth cumulants
    parts = [(-float(counting[order[ALONE:]].sum()), 0, order[ALONE:])] if len(order) > ALONE else []
    made = 1
    single: list[Rows] = []
    while parts and len(parts) + len(single) < most - ALONE:
        _, _, part = heappop(parts)
        if len(part) == 1:
            single.append(part)
            continue
        along = white[part, int(white[part].var(axis=0).argmax())]
        part = part[np.argsort(along, kind="stable")]
        reached = np.cumsum(counting[part])
        half = int(np.clip(np.searchsorted(reached, reached[-1] / 2) + 1, 1, len(part) - 1))
        for cut in (part[:half], part[half:]):
            heappush(parts, (-float(counting[cut].sum()), made, cut))
            made += 1
    rng = np.random.default_rng(SEED)
    every = [part for _, _, part in parts] + single
    drawn = [
        int(part[min(np.searchsorted(np.cumsum(heavy[part]), rng.random() * heavy[part].sum()), len(part) - 1)])
        for part in every
    ]
    return np.array([*order[:ALONE], *drawn]), np.array([*heavy[order[:ALONE]], *(heavy[part].sum() for part in every)])


def _like_all(values: Floats, counts: Floats) -> Floats:
    """Return rows with mean 0 and the unit covariance, as all rows have them."""
    weights = counts / counts.sum()
    about = values - weights @ values
    variances, axes = np.linalg.eigh(about.T @ (about * weights[:, np.newaxis]))
    if variances[0] <= SINGULAR * variances[-1]:
        return np.asarray(about)
    return np.asarray(about @ (axes / np.sqrt(variances)) @ axes.T)
