"""The lattice that the statistics live on: counts are whole, means of whole numbers are multiples of 1/n.

Noise that is fine against that lattice can be rounded away, so every model knows the step of each statistic: declared,
or the coarsest spacing of reference rows on which most datasets lie. Coarser is the safe side: a few odd rows among
many must not hide the lattice of all the others.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats, Rows

__all__ = ["integer_basis", "joint_lattice", "resolution", "spacing"]


@frozen(kw_only=True)
class LatticeSettings:
    """How a lattice is looked for that a few odd rows do not hide."""

    most: float = 0.55
    """The share of datasets that makes a lattice theirs."""
    groups: int = 20
    """Groups of rows of which some have no odd row in them, for the spacing of one statistic."""
    group_rows: int = 8
    """Rows of such a group."""
    joint_groups: int = 8
    """The same groups for a joint lattice, which has more rows the more statistics there are."""


SETTINGS: Final = LatticeSettings()


def spacing(samples: Iterable[Floats]) -> float:
    """Return the largest u such that inside each sample, or stratum, all differences are multiples of u; else 0.

    >>> spacing([np.array([0.5, 1.5, 4.5])]), spacing([np.array([0.0, 4.0]), np.array([1.0, 7.0])])
    (1.0, 2.0)
    """
    given = [np.asarray(sample) for sample in samples if len(sample)]
    gaps = np.concatenate([sample - sample.min() for sample in given] or [np.zeros(0)])
    if all((sample == np.round(sample)).all() and np.abs(sample).max() < 2.0**53 for sample in given):
        return float(np.gcd.reduce(gaps.astype(np.int64), initial=0))
    widest = float(gaps.max(initial=0.0))
    rounding = max([1e-9 * widest, *(_rounding(values) for values in given)])
    gaps = np.unique(gaps[gaps > rounding])
    if not len(gaps):
        return 0.0
    while True:
        # Euclid's algorithm on all gaps at once: what the smallest leaves over replaces the others.
        # Below such a share of the range no spacing is looked for: noise of 1 % of the standard deviation covers it.
        candidate = gaps[0]
        if candidate < 1e-5 * widest:
            return 0.0
        rest = np.abs(gaps - candidate * np.round(gaps / candidate))
        rest = rest[rest > rounding]
        if not len(rest):
            break
        gaps = np.unique(np.append(rest, candidate))
    # The widest gap is a whole multiple: dividing it gives the spacing with the least rounding.
    return float(widest / np.round(widest / candidate))


def _rounding(values: Floats) -> float:
    """Return by how much values may be off what they stand for: more if all of them are single-precision numbers."""
    largest = float(np.abs(values).max())
    single = largest < np.finfo(np.float32).max and (values.astype(np.float32) == values).all()
    return 8 * largest * float(np.finfo(np.float32 if single else np.float64).eps)


Weights = Sequence[Floats | None]
"""The probability of each row of every stratum; None where all are as likely."""


def resolution(strata: Sequence[Floats], sizes: Sequence[Sequence[int]], weights: Weights | None = None) -> float:
    """Return the coarsest spacing of rows on which most of some scenario's datasets lie; 0 if there is none.

    Of every scenario, `sizes` has how many rows of each stratum its datasets have.

    >>> few_odd_ones = np.append(np.arange(300.0), 0.5)
    >>> resolution([few_odd_ones], [[10]]), resolution([few_odd_ones], [[1000]])
    (1.0, 0.5)
    """
    chances = weights or [None] * len(strata)
    for unit in _candidates(strata, chances):
        on_lattice = np.log([_largest_coset(*of, unit) for of in zip(strata, chances, strict=True)])
        if (np.array(sizes) @ on_lattice).max() >= np.log(SETTINGS.most):
            return unit
    return 0.0


def _candidates(strata: Sequence[Floats], weights: Weights) -> list[float]:
    """Return the spacings of all rows, and of groups so small that some have no odd row in them, the coarsest first."""
    rng, groups, size = np.random.default_rng(0), SETTINGS.groups, SETTINGS.group_rows
    mixed = [
        values[rng.permutation(len(values))[: groups * size]]  # rows may come sorted
        if chances is None
        else values[rng.choice(len(values), size=groups * size, p=chances)]
        for values, chances in zip(strata, weights, strict=True)
    ]
    units = {spacing(values[k * size : (k + 1) * size] for values in mixed) for k in range(groups)}
    return sorted((unit for unit in units | {spacing(strata)} if unit > 0), reverse=True)


def _largest_coset(values: Floats, chances: Floats | None, unit: float) -> float:
    """Return the share of values that lie on one and the same lattice of this spacing."""
    if not len(values):
        return 1.0
    within = min(max(1e-5, 2 * _rounding(values) / unit), 0.05)
    remainders = ((values - values.min()) / unit) % 1.0
    order = np.argsort(remainders, kind="stable")
    remainders = remainders[order]
    around = np.concatenate([remainders, remainders + 1.0])
    reached = np.searchsorted(around, remainders + 2 * within, side="right")
    if chances is None:
        return float((reached - np.arange(len(remainders))).max() / len(values))
    heavy = chances[order]
    before = np.concatenate([[0.0], np.cumsum(np.concatenate([heavy, heavy]))])
    return float(np.clip((before[reached] - before[: len(remainders)]).max(), np.finfo(float).tiny, 1.0))


def joint_lattice(
    strata: Sequence[Rows],
    sizes: Sequence[Sequence[int]],
    width: int,
    weights: Weights | None = None,
) -> Floats:
    """Return a basis, as columns, of the coarsest lattice on which most of some scenario's datasets lie.

    It has the rank that all rows together have. Small groups of rows are tried, so that some of them are without odd
    rows; what they generate counts only if enough of all rows lie on it. Rows are in whole numbers of steps.
    """
    finest = integer_basis(np.concatenate([np.zeros((1, width), dtype=np.int64), *(rows[:100] for rows in strata)]))
    if finest.shape[1] < width or _volume(finest) > 1:
        finest = integer_basis(np.concatenate([np.zeros((1, width), dtype=np.int64), *strata]))
    coarser = {}
    chances = weights or [None] * len(strata)
    rng = np.random.default_rng(0)
    for _ in range(SETTINGS.joint_groups if strata and all(len(rows) for rows in strata) else 0):
        group = [
            rows[rng.choice(len(rows), size=min(max(fewest, width + 4), 30), p=own)]
            for rows, fewest, own in zip(strata, np.min(sizes, axis=0), chances, strict=True)
        ]
        basis = integer_basis(np.concatenate([chosen - chosen[:1] for chosen in group]))
        if basis.shape == finest.shape and _volume(basis) > _volume(finest) * (1 + 1e-9):
            coarser[basis.tobytes()] = basis
    for basis in sorted(coarser.values(), key=_volume, reverse=True):
        on_lattice = np.log([_share_on(basis, *of) for of in zip(strata, chances, strict=True)])
        if (np.array(sizes) @ on_lattice).max() >= np.log(SETTINGS.most):
            return basis
    return finest


def _volume(basis: Floats) -> float:
    return float(np.sqrt(max(np.linalg.det(basis.T @ basis), 0.0)))


def _share_on(basis: Floats, rows: Rows, chances: Floats | None) -> float:
    """Return the share of rows that lie on one and the same copy of a lattice."""
    coordinates = rows @ np.linalg.pinv(basis).T
    outside = np.abs(rows - coordinates @ basis.T).max(axis=1, initial=0.0) > 1e-6
    cosets = np.where(outside[:, np.newaxis], -1.0, np.round(coordinates % 1.0, 4) % 1.0)
    _, copy, counts = np.unique(cosets, axis=0, return_inverse=True, return_counts=True)
    if chances is None:
        return float(counts.max() / len(rows))
    return float(np.clip(np.bincount(copy.ravel(), weights=chances).max(), np.finfo(float).tiny, 1.0))


def integer_basis(vectors: Rows) -> Floats:
    """Return a basis, as columns, of the lattice that integer vectors generate."""
    width = vectors.shape[1]
    pivots: dict[int, list[int]] = {}
    for vector in vectors.tolist() if len(vectors) < 500 else np.unique(vectors, axis=0).tolist():
        _insert(pivots, vector)  # whole numbers of any size: an overflow would be unsafe
        if len(pivots) == width and all(abs(pivots[k][k]) == 1 for k in pivots):
            return np.eye(width)
    for column in sorted(pivots, reverse=True):
        pivots[column] = _reduced(pivots, pivots[column], column)
    return np.array([pivots[k] for k in sorted(pivots)], dtype=np.float64).reshape(len(pivots), width).T


def _insert(pivots: dict[int, list[int]], vector: list[int]) -> None:
    """Bring a vector into echelon form with the others, by Euclid's algorithm column by column."""
    for column in range(len(vector)):
        if not vector[column]:
            continue
        if column not in pivots:
            pivots[column] = _reduced(pivots, vector, column)
            return
        pivot = pivots[column]
        while vector[column]:
            pivot, vector = vector, _less(pivot, pivot[column] // vector[column], vector)
        pivots[column] = _reduced(pivots, pivot, column)
        vector = _reduced(pivots, vector, column)


def _reduced(pivots: dict[int, list[int]], vector: list[int], column: int) -> list[int]:
    """Subtract the pivots of later columns, so that entries stay small."""
    for later in sorted(k for k in pivots if k > column):
        times = vector[later] // pivots[later][later]
        if times:
            vector = _less(vector, times, pivots[later])
    return vector


def _less(one: list[int], times: int, other: list[int]) -> list[int]:
    return [a - times * b for a, b in zip(one, other, strict=True)]
