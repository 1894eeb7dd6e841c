r"""Transport on the line: quantiles for all of the mass, cuts for all but some of it.

Differences of floats are rounded, but rounding never reverses an order. So the points within a given rounded distance
of x are an interval of the sorted y, and both its ends move up with x: everything below rests on that alone, and holds
to the last bit.
"""

from collections.abc import Callable

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from distpriv.distances.point_sets import Masses, PointSets, distance
from distpriv.framework.arrays import Rows

__all__ = ["LineTransport", "monotone_coupling"]

Prefix = Callable[[NDArray[np.intp], NDArray[np.intp]], NDArray[np.bool_]]


def monotone_coupling(sets: PointSets) -> tuple[Rows, Rows, Masses]:
    """Couple two laws on the line by their quantiles: first positions, second positions, and the mass of each pair.

    Both laws are cut at all of their cumulative masses, and the k-th piece of one goes to the k-th of the other.
    """
    x_order, y_order = np.argsort(sets.x[:, 0]), np.argsort(sets.y[:, 0])
    x_ends, y_ends = np.cumsum(sets.x_masses[x_order]), np.cumsum(sets.y_masses[y_order])
    ends = np.sort(np.concatenate([x_ends, y_ends]), kind="stable")  # which merges what is sorted already
    ends = ends[np.concatenate([[True], ends[1:] != ends[:-1]])]
    x_place, y_place = (np.searchsorted(own, ends, side="left") for own in (x_ends, y_ends))
    return x_order[x_place], y_order[y_place], np.diff(ends, prepend=0)


@frozen(eq=False)
class LineTransport:
    r"""How much mass can move within a radius on the line; both sets are sorted and have every point once.

    By max-flow and min-cut the mass of x that stays unmoved is the maximum over sets S of P(S) - Q(N(S)), N(S) the
    points of y within reach of S. Filling the gaps of S wherever the reaches of its points join does not enlarge N(S),
    so S is a union of runs a..b of consecutive points, a run being worth P(a..b) - Q(first of a .. last of b). Runs are
    chosen by going through the points in order, in or out of a run: a product of 2 × 2 matrices in which sums are
    maxima and products are sums. It is associative, so it is taken pair by pair, n products in all.
    """

    sets: PointSets

    def moved(self, radius: float) -> int:
        """The most mass that a coupling moves by at most the radius.

        >>> sets = PointSets.checked([1, 2, 100], [1, 2, 3, 100], [0.6, 0.2, 0.2], [0.4, 0.3, 0.2, 0.1], 1)
        >>> LineTransport(sets.merged()).moved(1.0), sets.total
        (9, 10)
        """
        first, last = self.reach(radius)
        before = np.concatenate([[0], np.cumsum(self.sets.x_masses)])
        below = np.concatenate([[0], np.cumsum(self.sets.y_masses)])
        enter = below[first] - before[:-1]
        leave = before[1:] - below[last]
        return int(before[-1]) - _product(np.maximum(enter + leave, 0), enter, leave, np.zeros_like(enter))

    def reach(self, radius: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """For every x, the first y within the radius, and the one after the last."""
        x, y = self.sets.x[:, 0], self.sets.y[:, 0]
        first = _length(lambda i, j: x[i] - y[j] > radius, np.searchsorted(y, x - radius, side="left"), len(y))
        last = _length(lambda i, j: y[j] - x[i] <= radius, np.searchsorted(y, x + radius, side="right"), len(y))
        return first, last

    def farthest(self) -> float:
        """The largest distance of any pair."""
        ends_x, ends_y = self.sets.x[[0, -1]], self.sets.y[[-1, 0]]
        return float(distance(ends_x, ends_y, self.sets.norm).max())


def _product(stay_out: Masses, enter: Masses, leave: Masses, stay_in: Masses) -> int:
    """The entry out → out of the product of all matrices [[stay_out, enter], [leave, stay_in]]."""
    while len(stay_out) > 1:
        # An odd one out waits at the end for the next pass.
        odd = [part[len(part) & ~1 :] for part in (stay_out, enter, leave, stay_in)]
        a, b, c, d = (part[: len(part) & ~1 : 2] for part in (stay_out, enter, leave, stay_in))
        e, f, g, h = (part[1::2] for part in (stay_out, enter, leave, stay_in))
        product = (
            np.maximum(a + e, b + g),
            np.maximum(a + f, b + h),
            np.maximum(c + e, d + g),
            np.maximum(c + f, d + h),
        )
        stay_out, enter, leave, stay_in = (
            np.concatenate([part, last]) for part, last in zip(product, odd, strict=True)
        )
    return int(stay_out[0])


def _length(holds: Prefix, guess: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """For every i, how many j satisfy a predicate that holds for a prefix of them; bisect where a guess is wrong."""
    every = np.arange(len(guess))
    right = (guess == size) | ~holds(every, np.minimum(guess, size - 1))
    right &= (guess == 0) | holds(every, np.maximum(guess - 1, 0))
    wrong = np.flatnonzero(~right)
    low, high = np.zeros_like(wrong), np.full_like(wrong, size)
    while (low < high).any():
        middle = np.minimum((low + high) // 2, size - 1)
        inside = holds(wrong, middle) & (low < high)
        low, high = np.where(inside, middle + 1, low), np.where(inside, high, np.minimum(middle, high))
    guess[wrong] = low
    return guess
