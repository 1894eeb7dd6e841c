"""Pairing the rows of two strata so that paired rows are alike.

A pairing is a joint law of one row from each stratum with both marginals exactly uniform. Any such law makes a valid
coupling; optimal transport makes the pairs close. An assignment of 34,000 rows to 11,000 is out of reach, so pairs are
matched exactly inside small blocks, cut along other directions in each pass; the cost never rises.
"""

from typing import Self

import numpy as np
from attrs import frozen
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from distpriv.framework.arrays import Floats, Rows

__all__ = ["PairingSettings", "RowPairing", "along_their_main_axis", "in_units_of_noise"]


@frozen(kw_only=True)
class PairingSettings:
    """How long lists of rows may be, and how they are matched."""

    most_matched: int = 200_000
    """Longer lists are paired along one direction only, which is still a valid pairing."""
    most_copied: int = 60_000
    """Rows are repeated up to five times, into lists no longer than this."""
    passes: int = 10
    block_rows: int = 64


PAIRING = PairingSettings()


@frozen(kw_only=True, eq=False)
class RowPairing:
    """Pairs of positions (first, second), pair k with weight units[k] out of their sum.

    Weights are whole numbers: every first row has as many units as there are second rows, and the other way
    round, so the marginals are uniform to the last digit.
    """

    first: Rows
    second: Rows
    units: Rows

    @classmethod
    def between(cls, first: Floats, second: Floats, *, seed: int = 0) -> Self:
        """Pair the rows of two tables of features, one row of features each, to be close in L2."""
        if len(first) < len(second):
            swapped = cls.between(second, first, seed=seed)
            return cls(first=swapped.second, second=swapped.first, units=swapped.units)
        many, few = _equally_long(first, second)
        axis = _principal_axis(np.concatenate([first, second]))
        many, few = _sorted_along(many, first, axis), _sorted_along(few, second, axis)
        if len(many) <= PAIRING.most_matched:
            few = _matched(first[many], second[few], few, np.random.default_rng(seed))
        return cls(**_with_uniform_marginals(many, few, first @ axis, second @ axis))

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Rows, Rows]:
        """Draw independent pairs: an array of first positions and one of second positions."""
        ends = np.cumsum(self.units)
        pairs = np.searchsorted(ends, rng.integers(ends[-1], size=shape), side="right")
        return self.first[pairs], self.second[pairs]


def in_units_of_noise(first: Floats, second: Floats, swapped: int) -> tuple[Floats, Floats]:
    r"""Return both tables of features in the metric in which near pairs need the least noise.

    Noise of covariance :math:`S ∝ M^{1/2}`, M = E[ΔΔᵀ] over differences Δ of so many independent swapped pairs, has
    nearly the least trace that hides them, and what it must hide are lengths of :math:`S^{-1/2} Δ`.
    """
    shift = first.mean(axis=0) - second.mean(axis=0)
    spread = np.atleast_2d(np.cov(first.T, ddof=0)) + np.atleast_2d(np.cov(second.T, ddof=0))
    values, vectors = np.linalg.eigh(spread + swapped * np.outer(shift, shift))
    inside = values > 1e-12 * values.max()
    metric = vectors[:, inside] * values[inside] ** -0.25 if inside.any() else vectors
    return first @ metric, second @ metric


def along_their_main_axis(features: Floats) -> Floats:
    """Return where rows are along the axis in which they vary most, in units of their deviations."""
    deviations = features.std(axis=0)
    scaled = features / np.where(deviations > 0, deviations, 1.0)
    return np.asarray(scaled @ _principal_axis(scaled))


def _equally_long(first: Floats, second: Floats) -> tuple[Rows, Rows]:
    """Repeat the rows of both tables into lists of one length, as evenly as a short list can."""
    ratio = len(first) / len(second)
    copies = [c for c in range(1, 6) if c == 1 or c * len(first) <= PAIRING.most_copied]

    def unevenness(c: int) -> float:
        rest = (c * ratio) % 1
        return rest * (1 - rest) / (c * ratio)

    length = min(copies, key=unevenness) * len(first)
    many = np.repeat(np.arange(len(first)), length // len(first))
    few = (np.arange(length) * len(second)) // length
    return many, few


def _principal_axis(features: Floats) -> Floats:
    centred = features - features.mean(axis=0)
    return np.asarray(np.linalg.eigh(centred.T @ centred)[1][:, -1])


def _sorted_along(rows: Rows, features: Floats, axis: Floats) -> Rows:
    return rows[np.argsort((features @ axis)[rows], kind="stable")]


def _matched(many: Floats, few: Floats, few_rows: Rows, rng: np.random.Generator) -> Rows:
    """Return the few rows reordered so that the k-th goes with the k-th of many, at little total cost."""
    order = np.arange(len(few))
    for _ in range(PAIRING.passes):
        axis = rng.normal(size=many.shape[1])
        place = np.argsort((many + few[order]) @ axis, kind="stable")
        for start in range(0, len(place), PAIRING.block_rows):
            block = place[start : start + PAIRING.block_rows]
            cost = cdist(many[block], few[order[block]], "sqeuclidean")
            order[block] = order[block][linear_sum_assignment(cost)[1]]
    return few_rows[order]


def _with_uniform_marginals(many: Rows, few: Rows, many_along: Floats, few_along: Floats) -> dict[str, Rows]:
    """Give the pairs whole weights with exactly uniform marginals, and pair what is left over in order."""
    many_left = np.full(len(many_along), len(few_along))
    few_left = np.full(len(few_along), len(many_along))
    # A row in k pairs offers each of them at most its k-th part.
    units = np.minimum(
        many_left[many] // np.bincount(many, minlength=len(many_left))[many],
        few_left[few] // np.bincount(few, minlength=len(few_left))[few],
    )
    np.subtract.at(many_left, many, units)
    np.subtract.at(few_left, few, units)
    rest = _paired_in_order(many_left, few_left, many_along, few_along)
    first, second, weight = (np.concatenate(parts) for parts in zip((many, few, units), rest, strict=True))
    return {"first": first[weight > 0], "second": second[weight > 0], "units": weight[weight > 0]}


def _paired_in_order(many_left: Rows, few_left: Rows, many_along: Floats, few_along: Floats) -> tuple[Rows, Rows, Rows]:
    """Pair leftover units monotonically along the axis: cut both at all of their cumulative sums."""
    many_order = np.argsort(many_along, kind="stable")
    few_order = np.argsort(few_along, kind="stable")
    many_ends, few_ends = np.cumsum(many_left[many_order]), np.cumsum(few_left[few_order])
    cuts = np.union1d(many_ends, few_ends)
    cuts = cuts[cuts > 0]
    inside = cuts - 1
    return (
        many_order[np.searchsorted(many_ends, inside, side="right")],
        few_order[np.searchsorted(few_ends, inside, side="right")],
        np.diff(cuts, prepend=0),
    )
