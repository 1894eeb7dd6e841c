"""The least radius within which enough mass can move.

How much can move depends on the radius only through the set of pairs within it, so it is a step function that jumps at
distances of pairs, and its least radius is one of them, to the last bit.
"""

import math

import numpy as np
from attrs import Factory, define, evolve
from scipy.spatial import cKDTree

from distpriv.distances.transport.flows import GraphTransport, LineTransport, monotone_coupling
from distpriv.distances.transport.point_sets import Masses, PointSets, distance
from distpriv.framework.arrays import Floats

__all__ = ["RadiusSearch"]


@define(eq=False)
class RadiusSearch:
    """Least radii on two laws; every answer narrows the search for the next."""

    transport: LineTransport | GraphTransport
    known: dict[float, tuple[int, float]] = Factory(dict)
    """Bounds on the mass that can move, by radius."""

    @classmethod
    def between(cls, sets: PointSets) -> "RadiusSearch":
        """Choose the line where there is one column, and the graph otherwise."""
        merged = sets.merged()
        return cls(LineTransport(merged) if sets.x.shape[1] == 1 else GraphTransport(merged))

    def least(self, required: int) -> float:
        """The least radius within which a coupling moves at least the required mass, which is above 0.

        >>> sets = PointSets.checked([1, 2, 100], [1, 2, 3, 100], [0.6, 0.2, 0.2], [0.4, 0.3, 0.2, 0.1], 1)
        >>> RadiusSearch.between(sets).least(9)
        1.0
        """
        if isinstance(self.transport, LineTransport):
            return self._on_the_line(self.transport, required)
        return self._in_the_graph(self.transport, required)

    def _on_the_line(self, line: LineTransport, required: int) -> float:
        """Bisect to neighbouring floats: the upper one is feasible, the lower is not, so a pair has that length.

        The bits of a float that is not negative are its place among all of them.
        """
        if self._suffices(0.0, required):
            return 0.0
        self._suffices(line.farthest(), required)
        low, high = (int(np.float64(radius).view(np.int64)) for radius in self._bracket(required))
        while high - low > 1:
            middle = (low + high) // 2
            enough = self._suffices(float(np.int64(middle).view(np.float64)), required)
            low, high = (low, middle) if enough else (middle, high)
        return float(np.int64(high).view(np.float64))

    def _in_the_graph(self, graph: GraphTransport, required: int) -> float:
        """Bracket the radius, starting at a guess, then bisect the distances of the pairs in between."""
        guess = _likely_radius(graph.sets, required)
        for radius in (guess * (1 + 1e-12), guess * (1 - 1e-12)):  # wider than the rounding of the guess
            low, high = self._bracket(required)
            if low < radius < high:
                self._suffices(radius, required)
        step = max(guess, graph.sets.span / 1024) / 20
        while math.isinf(self._bracket(required)[1]):
            self._suffices(min(max(guess, self._bracket(required)[0]) + step, graph.sets.span), required)
            step *= 2
        low, high = self._bracket(required)
        length = graph.pairs_within(high).length
        candidates = np.unique(length[length > low])
        first, last = 0, len(candidates) - 1
        while first < last:
            middle = (first + last) // 2
            enough = self._suffices(float(candidates[middle]), required)
            first, last = (first, middle) if enough else (middle + 1, last)
        return float(candidates[last])

    def _suffices(self, radius: float, required: int) -> bool:
        at_least, at_most = self.known.get(radius, (0, math.inf))
        if at_least < required <= at_most:
            at_least, at_most = self.known[radius] = self.transport.moved(radius, required)
        return at_least >= required

    def _bracket(self, required: int) -> tuple[float, float]:
        """The largest radius known to be too small, and the smallest known to suffice."""
        low = max((radius for radius, (_, at_most) in self.known.items() if at_most < required), default=-1.0)
        high = min((radius for radius, (at_least, _) in self.known.items() if at_least >= required), default=math.inf)
        return low, high


def _likely_radius(sets: PointSets, required: int) -> float:
    """A radius that much mass needs to reach its nearest neighbour, and all of it to agree in every column.

    It is where the search starts and proves nothing by itself. The tree sees coordinates scaled by a power of two to
    about 1, where squares neither overflow nor vanish.
    """
    scale = 2.0 ** -min(max(math.frexp(sets.span)[1], -1000), 1000)
    guesses = []
    for one, masses, other in ((sets.x, sets.x_masses, sets.y), (sets.y, sets.y_masses, sets.x)):
        nearest = np.asarray(cKDTree(other * scale).query(one * scale, p=sets.norm)[1])
        guesses.append(_quantile(distance(one, other[nearest], sets.norm), masses, required))
    if required == sets.total:
        for column in range(sets.x.shape[1]):
            along = evolve(sets, x=sets.x[:, [column]], y=sets.y[:, [column]])
            first, second, _ = monotone_coupling(along)
            guesses.append(float(np.abs(along.x[first] - along.y[second]).max()))
    return max(guesses)


def _quantile(values: Floats, masses: Masses, required: int) -> float:
    """The least of the values such that those up to it have the required mass."""
    order = np.argsort(values)
    return float(values[order][np.searchsorted(np.cumsum(masses[order]), required)])
