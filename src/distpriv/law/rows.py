"""A few weighted kinds of rows that stand for all rows of a stratum, to tilt their distribution to many points.

Equal rows are one kind: a table of counts loses nothing. Of up to three statistics near rows are put into cells, and
what is inside of a cell counts as Gaussian. With more of them cells would be as wide as the distribution itself: there
one row is drawn from each of many parts that hold equally many, and the drawn ones are turned and stretched so that
mean and covariance are those of all rows. Influential rows, far from the others, stay as they are. In either way
nothing depends on units, signs or chance.
"""

from heapq import heappop, heappush
from typing import Self
from weakref import WeakKeyDictionary

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats, Rows
from distpriv.modelling.row_laws import RowLaws, StratumRows

__all__ = ["QuantisationSettings", "QuantisedRows", "quantised"]


@frozen(kw_only=True)
class QuantisationSettings:
    """How rows are gathered into kinds."""

    kinds: int = 512
    """Kinds of a stratum, about; more cost time in proportion."""
    kinds_of_many: int = 1024
    """The same for `many_statistics` and more."""
    many_statistics: int = 6
    most_in_cells: int = 3
    """Statistics up to which near rows are gathered in cells."""
    alone: int = 64
    """Rows with the largest share in fourth cumulants that are kinds of their own."""
    influential: float = 6.0
    """Standard deviations from the mean from which on a row is influential; by Chebyshev one in 36 is at most."""
    influential_of_many: float = 2.0
    """The same in each of many statistics."""
    influential_kinds: int = 512
    """Kinds that influential rows have beside the others."""
    finest_cell: float = 1 / 64
    """Width of the first cells tried, in standard deviations of a row; they double until there are few enough."""
    singular: float = 1e-12
    """A direction with less than this share of the variance is one in which nothing varies."""
    seed: int = 41


SETTINGS = QuantisationSettings()


@frozen(kw_only=True, eq=False)
class QuantisedRows:
    """Kinds of rows about the mean of their stratum, how many rows each stands for, and the covariance left out."""

    values: Floats
    counts: Floats
    inside: Floats
    mean: Floats
    """Of all rows of the stratum."""

    def mapped(self, matrix: Floats, shift: Floats) -> Self:
        """Return the rows of another population: deviations from the mean times a matrix, and the mean shifted."""
        return type(self)(
            values=self.values @ matrix.T,
            counts=self.counts,
            inside=matrix @ self.inside @ matrix.T,
            mean=self.mean + shift,
        )


_known: WeakKeyDictionary[RowLaws, tuple[QuantisedRows, ...]] = WeakKeyDictionary()


def quantised(rows: RowLaws) -> tuple[QuantisedRows, ...]:
    """Return kinds of rows that stand for those of every stratum, found once for these rows."""
    if rows not in _known:
        _known[rows] = tuple(_kinds(stratum, SETTINGS) for stratum in rows.strata)
    return _known[rows]


def _kinds(rows: StratumRows, of: QuantisationSettings) -> QuantisedRows:
    values, heavy = rows.about_mean, rows.shares * len(rows)
    size = values.shape[1]
    most = of.kinds_of_many if size >= of.many_statistics else of.kinds
    kinds, counts = rows.kinds
    nothing = np.zeros((size, size))
    if len(kinds) <= most:
        return QuantisedRows(values=values[kinds], counts=counts, inside=nothing, mean=rows.mean)
    deviations = np.sqrt(rows.variances)
    units = np.where(deviations > 0, deviations, 1.0)
    variances, axes = np.linalg.eigh((values / units).T @ (values / units * rows.shares[:, np.newaxis]))
    varies = variances > of.singular * max(float(variances.max()), np.finfo(float).tiny)
    white = (values / units) @ (axes[:, varies] / np.sqrt(variances[varies]))
    signs = np.where(rows.average(white**3) < 0, -1.0, 1.0)
    white, onto = white * signs, units[:, np.newaxis] * axes[:, varies] * (signs * np.sqrt(variances[varies]))
    if white.shape[1] <= of.most_in_cells:
        means, counts, inside = _cells(white, most, heavy, of)
        return QuantisedRows(values=means @ onto.T, counts=counts, inside=onto @ inside @ onto.T, mean=rows.mean)
    lengths = (white**2).sum(axis=1)
    farthest = max(of.influential**2, of.influential_of_many**2 * white.shape[1])
    near, far = np.flatnonzero(lengths < farthest), np.flatnonzero(lengths >= farthest)
    chosen, counts = _one_of_each_part(white[near], most, heavy[near], heavy[near], of)
    out, numbers = _influential(white[far], heavy[far], of)
    chosen, counts = np.concatenate([near[chosen], far[out]]), np.concatenate([counts, numbers])
    values = _like_all(white[chosen], counts, of.singular) @ onto.T
    return QuantisedRows(values=values, counts=counts, inside=nothing, mean=rows.mean)


def _cells(values: Floats, most: int, heavy: Floats, of: QuantisationSettings) -> tuple[Floats, Floats, Floats]:
    """Return cells of near rows by their mean, how many rows each has, and the covariance that is inside of them.

    Rows far from all others stay alone, however wide the cells.
    """
    width = of.finest_cell * values.std(axis=0)
    while True:
        _, cell = np.unique(np.round(values / width), axis=0, return_inverse=True)
        cell = cell.ravel()
        if cell.max() < most:
            break
        width = width * 2
    totals = np.maximum(np.bincount(cell, weights=heavy), np.finfo(float).tiny)
    means = np.column_stack([np.bincount(cell, weights=column * heavy) / totals for column in values.T])
    inside = values - means[cell]
    return means, totals, (inside.T * heavy) @ inside / heavy.sum()


def _influential(white: Floats, heavy: Floats, of: QuantisationSettings) -> tuple[Rows, Floats]:
    """Return the numbers of the rows that stand for those far out, and how many each stands for."""
    _, kinds, place = np.unique(white, axis=0, return_index=True, return_inverse=True)
    often: Floats = np.bincount(place.ravel(), weights=heavy, minlength=len(kinds)).astype(np.float64)
    if len(kinds) <= of.influential_kinds:
        return kinds.astype(np.int64), often
    fourths = often * (white[kinds] ** 2).sum(axis=1) ** 2
    chosen, counts = _one_of_each_part(white[kinds], of.influential_kinds, often, fourths, of)
    return kinds[chosen], counts


def _one_of_each_part(
    white: Floats, most: int, heavy: Floats, counting: Floats, of: QuantisationSettings
) -> tuple[Rows, Floats]:
    """Return the numbers of the rows that stand for others, and how many each stands for.

    The rows are cut in two along the axis in which they vary most, the heaviest part first, until there are enough.
    """
    order = np.argsort(-((white**2).sum(axis=1) ** 2) * heavy, kind="stable")  # by what they add to fourth cumulants
    first, rest = order[: of.alone], order[of.alone :]
    parts, made, single = [(-float(counting[rest].sum()), 0, rest)] if len(rest) else [], 1, list[Rows]()
    while parts and len(parts) + len(single) < most - of.alone:
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
    rng = np.random.default_rng(of.seed)
    every = [part for _, _, part in parts] + single
    drawn = [
        int(part[min(np.searchsorted(np.cumsum(heavy[part]), rng.random() * heavy[part].sum()), len(part) - 1)])
        for part in every
    ]
    return np.array([*first, *drawn]), np.array([*heavy[first], *(heavy[part].sum() for part in every)])


def _like_all(values: Floats, counts: Floats, singular: float) -> Floats:
    """Return rows with mean 0 and the unit covariance, as all rows have them."""
    weights = counts / counts.sum()
    about = values - weights @ values
    variances, axes = np.linalg.eigh(about.T @ (about * weights[:, np.newaxis]))
    if variances[0] <= singular * variances[-1]:
        return np.asarray(about)
    return np.asarray(about @ (axes / np.sqrt(variances)) @ axes.T)
