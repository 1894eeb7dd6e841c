"""How much mass can move within a radius: by a sweep on the line, by maximum flow in several dimensions.

Differences of floats are rounded, but rounding never reverses an order. On the line the points within a given rounded
distance of x are therefore an interval of the sorted y, and both its ends move up with x: the sweep rests on that
alone, and is exact to the last bit.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_flow

from distpriv.distances.transport.point_sets import Masses, PointSets, distance
from distpriv.framework.arrays import Floats, Rows

__all__ = ["Flow", "GraphTransport", "LineTransport", "Pairs", "monotone_coupling", "pairs_within"]

CAPACITY_BITS: Final = 30
"""SciPy's flow has 32-bit capacities, and adds those of an edge and of its reverse."""


def monotone_coupling(sets: PointSets) -> tuple[Rows, Rows, Masses]:
    """Couple two laws on the line by their quantiles: first positions, second positions, and the mass of each pair.

    Both laws are cut at all of their cumulative masses, and the k-th piece of one goes to the k-th of the other.
    """
    x_order, y_order = np.argsort(sets.x[:, 0]), np.argsort(sets.y[:, 0])
    x_ends, y_ends = np.cumsum(sets.x_masses[x_order]), np.cumsum(sets.y_masses[y_order])
    ends = np.unique(np.concatenate([x_ends, y_ends]))
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


@frozen(eq=False)
class Pairs:
    """Pairs of points, row by row: the positions of both and their distance."""

    x: NDArray[np.int32]
    y: NDArray[np.int32]
    length: Floats

    def within(self, radius: float) -> "Pairs":
        """Those of them that are at most so far apart."""
        near = self.length <= radius
        return Pairs(self.x[near], self.y[near], self.length[near])


def pairs_within(sets: PointSets, radius: float, *, together: int = 2**18) -> Pairs:
    """All pairs at most `radius` apart, ordered by x, then y; `together` is about how many are measured at once."""
    rows, parts = max(1, together // len(sets.y)), []
    for start in range(0, len(sets.x), rows):
        length = distance(sets.x[start : start + rows, np.newaxis], sets.y, sets.norm)
        x, y = np.nonzero(length <= radius)
        parts.append(((x + start).astype(np.int32), y.astype(np.int32), length[x, y]))
    return Pairs(*(np.concatenate(part) for part in zip(*parts, strict=True)))


@define(eq=False)
class GraphTransport:
    """How much mass can move within a radius; remembers the pairs of the largest radius asked for."""

    sets: PointSets
    pairs: Pairs | None = None
    radius: float = field(default=-1.0)

    def moved(self, radius: float, required: int) -> tuple[int, int]:
        """Bounds on the most mass that a coupling moves by at most the radius, close enough to compare with `required`.

        >>> sets = PointSets.checked([[0, 0], [9, 9]], [[0, 1], [9, 5]], None, None, 1)
        >>> GraphTransport(sets).moved(3.0, 2), sets.total
        ((1, 1), 2)
        """
        supply, demand = self.sets.x_masses, self.sets.y_masses
        for flow, bits in _flows(self.pairs_within(radius), supply, demand):
            at_least = int(flow.mass.sum()) << bits
            at_most = at_least + ((len(supply) + len(demand)) << bits if bits else 0)
            if at_least >= required or at_most < required:
                break
        return at_least, at_most

    def pairs_within(self, radius: float) -> Pairs:
        """All pairs at most so far apart."""
        if self.pairs is None or radius > self.radius:
            self.pairs, self.radius = pairs_within(self.sets, radius), radius
        return self.pairs.within(radius)


@frozen(eq=False)
class Flow:
    """The mass that flows along some pairs; the places of the pairs increase."""

    place: NDArray[np.int64]
    mass: Masses

    def plus(self, other: "Flow") -> "Flow":
        """The sum of two flows, without the pairs in which nothing is left."""
        place, back = np.unique(np.concatenate([self.place, other.place]), return_inverse=True)
        mass = _sums(back, np.concatenate([self.mass, other.mass]), len(place))
        return Flow(place[mass != 0], mass[mass != 0])


def _flows(pairs: Pairs, supply: Masses, demand: Masses) -> Iterator[tuple[Flow, int]]:
    r"""Maximum flows for the masses without their last k bits, and k, until k is 0.

    Masses beyond 30 bits are taken a few bits at a time, from the top. If the flow is maximal for the masses without
    their last k bits, some cut of as many units is full; with these bits it holds fewer than :math:`2^k` units more per
    point, so what is missing is at most :math:`(n+m) 2^k`, and no capacity above that matters. With steps such that
    this fits, one more flow in the residual graph makes the flow maximal again, and in the end exact.
    """
    points = len(supply) + len(demand)
    bits = max(0, max(int(supply.sum()), int(demand.sum())).bit_length() - CAPACITY_BITS)
    flow = Flow(np.zeros(0, dtype=np.int64), supply[:0])
    largest = 2**CAPACITY_BITS - 1
    while True:
        left = (supply >> bits) - _sums(pairs.x[flow.place], flow.mass, len(supply))
        room = (demand >> bits) - _sums(pairs.y[flow.place], flow.mass, len(demand))
        flow = flow.plus(_residual_flow(pairs, flow, left, room, largest))
        yield flow, bits
        if bits == 0:
            return
        step = min(bits, CAPACITY_BITS - points.bit_length())
        bits -= step
        flow = Flow(flow.place, flow.mass << step)
        largest = points << step


def _residual_flow(pairs: Pairs, flow: Flow, left: Masses, room: Masses, largest: int) -> Flow:
    """A maximum flow on top of another, in which nothing can exceed `largest`."""
    n, m = len(left), len(room)
    source, sink = n + m, n + m + 1
    tail = np.concatenate([pairs.x, pairs.y[flow.place] + n, np.full(n, source), np.arange(n, n + m)])
    head = np.concatenate([pairs.y + n, pairs.x[flow.place], np.arange(n), np.full(m, sink)])
    limited = [np.minimum(part, largest).astype(np.int32) for part in (flow.mass, left, room)]
    capacity = np.concatenate([np.full(len(pairs.x), largest, dtype=np.int32), *limited])
    graph = coo_array((capacity, (tail, head)), shape=(n + m + 2, n + m + 2)).tocsr()
    maximal = maximum_flow(graph, source, sink).flow[:n, n : n + m].tocoo()
    used = np.flatnonzero(maximal.data)
    # Pairs are in the order of x, then y, so a pair is found by its place in that order.
    key = maximal.row[used].astype(np.int64) * m + maximal.col[used]
    place = np.searchsorted(pairs.x.astype(np.int64) * m + pairs.y, key)
    return Flow(place, maximal.data[used].astype(flow.mass.dtype))


def _sums(places: NDArray[Any], masses: Masses, size: int) -> Masses:
    sums = np.zeros(size, dtype=masses.dtype)
    np.add.at(sums, places, masses)
    return sums
