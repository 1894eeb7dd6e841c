"""Transport on the line: quantiles for all of the mass, a greedy sweep for all but some of it.

Differences of floats are rounded, but rounding never reverses an order. So the points within a given rounded distance
of x are an interval of the sorted y, and both its ends move up with x: the sweep rests on that alone, and is exact to
the last bit.
"""

import numpy as np
from attrs import frozen

from distpriv.distances.transport.point_sets import Masses, PointSets, distance
from distpriv.framework.arrays import Rows

__all__ = ["LineTransport", "monotone_coupling"]


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
    """How much mass can move within a radius on the line; both sets are sorted and have every point once."""

    sets: PointSets

    def moved(self, radius: float, required: int) -> tuple[int, int]:  # noqa: ARG002 - exact, whatever is required
        """Return the most mass that a coupling moves by at most the radius, as both a lower and an upper bound.

        The leftmost x gives to the leftmost y it reaches; what is to the left of its reach, no later x reaches either.

        >>> sets = PointSets.checked([1, 2, 100], [1, 2, 3, 100], [0.6, 0.2, 0.2], [0.4, 0.3, 0.2, 0.1], 1)
        >>> LineTransport(sets.merged()).moved(1.0, 9), sets.total
        ((9, 9), 10)
        """
        x, y = self.sets.x[:, 0].tolist(), self.sets.y[:, 0].tolist()
        left, room = self.sets.x_masses.tolist(), self.sets.y_masses.tolist()
        i = j = moved = 0
        while i < len(x) and j < len(y):
            if x[i] - y[j] > radius:
                j += 1
            elif y[j] - x[i] > radius:
                i += 1
            elif left[i] > room[j]:
                moved, left[i], j = moved + room[j], left[i] - room[j], j + 1
            else:
                moved, room[j], i = moved + left[i], room[j] - left[i], i + 1
        return moved, moved

    def farthest(self) -> float:
        """The largest distance of any pair."""
        ends_x, ends_y = self.sets.x[[0, -1]], self.sets.y[[-1, 0]]
        return float(distance(ends_x, ends_y, self.sets.norm).max())
