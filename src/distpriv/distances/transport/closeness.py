r"""How far all of the mass must move, or all but δ of it: W∞ and (W, δ)-closeness of two weighted point sets.

.. math:: W_∞(P, Q) = \min_π \max \{ \|x - y\| : π(x, y) > 0 \}

over all couplings π is the sensitivity of the Wasserstein mechanism (Theorem 3.1); the approximate one (Theorem 3.2)
lets δ of the mass move farther. By Strassen's theorem a coupling that moves all but δ of the mass by at most W exists
exactly if the pairs within W carry a flow of 1 - δ. Both are exact for the points given; as statements about the laws
that points were sampled from they are estimates.
"""

import math

import numpy as np
from attrs import Factory, define, evolve
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from distpriv.distances.transport.flows import (
    GraphTransport,
    LineTransport,
    monotone_coupling,
)
from distpriv.distances.transport.point_sets import Masses, PointSets, distance, forgiven_mass
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import as_written, items

__all__ = ["closeness_profile", "closeness_radius", "wasserstein_inf"]


def wasserstein_inf(
    x: ArrayLike,
    y: ArrayLike,
    x_weights: ArrayLike | None = None,
    y_weights: ArrayLike | None = None,
    norm: float = 1,
) -> float:
    r"""The least W such that some coupling moves all of the mass by at most W.

    On the line it is the largest difference of quantiles. In several dimensions it is the least distance of a pair such
    that the pairs up to it carry all of the mass, found by maximum flow in whole numbers. The result is
    the distance of one of the pairs, to the last bit.

    Args:
        x: Points of the first law, of shape (n,) or (n, m).
        y: Points of the second law.
        x_weights: Probabilities, which mean the decimals they are written as; None for equal ones. A sum that
            misses 1 by no more than 1e-9 is taken for rounding, and divided out exactly.
        y_weights: Likewise.
        norm: The ground metric: 1, 2 or ``math.inf``.

    Raises:
        InvalidInput: If the points or weights cannot be used, or a point with mass is at infinity.

    Figure 1 of the paper:

    >>> import distpriv as dp
    >>> dp.distances.wasserstein_inf([1, 2, 3, 100], [1, 2, 3, 100], [0.6, 0.2, 0, 0.2], [0.4, 0.3, 0.2, 0.1])
    97.0
    """
    sets = _finite(PointSets.checked(x, y, x_weights, y_weights, norm))
    if sets.x.shape[1] > 1:
        return RadiusSearch.between(sets).least(sets.total)
    first, second, _ = monotone_coupling(sets)
    return float(distance(sets.x[first], sets.y[second], sets.norm).max())


def closeness_radius(
    x: ArrayLike,
    y: ArrayLike,
    delta: float,
    x_weights: ArrayLike | None = None,
    y_weights: ArrayLike | None = None,
    norm: float = 1,
) -> float:
    r"""The least W such that some coupling moves all but δ of the mass by at most W.

    The result is the distance of one of the pairs, to the last bit; it is 0 exactly if the laws are within δ in total
    variation, and W∞ for δ = 0.

    Args:
        x: Points of the first law. A point with an infinite coordinate is far from everything, itself included: its
            mass counts into δ.
        y: Points of the second law.
        delta: The mass that may move farther, 0 ≤ δ < 1; it means the decimal it is written as.
        x_weights: As for :func:`wasserstein_inf`.
        y_weights: Likewise.
        norm: Likewise.

    Raises:
        InvalidInput: If the points, weights or δ cannot be used, or more than δ of the mass is at infinity.

    Figure 1 of the paper:

    >>> import distpriv as dp
    >>> dp.distances.closeness_radius([1, 2, 3, 100], [1, 2, 3, 100], 0.1, [0.6, 0.2, 0, 0.2], [0.4, 0.3, 0.2, 0.1])
    1.0
    """
    return float(closeness_profile(x, y, [delta], x_weights, y_weights, norm)[0])


def closeness_profile(
    x: ArrayLike,
    y: ArrayLike,
    deltas: ArrayLike,
    x_weights: ArrayLike | None = None,
    y_weights: ArrayLike | None = None,
    norm: float = 1,
) -> Floats:
    """The closeness radius for each of many δ, which never increases in δ; cheaper than one by one.

    Takes the arguments of :func:`closeness_radius`. What one search learns about a radius is kept for the others.

    >>> import distpriv as dp
    >>> points, one, other = [1, 2, 3, 100], [0.6, 0.2, 0, 0.2], [0.4, 0.3, 0.2, 0.1]
    >>> dp.distances.closeness_profile(points, points, [0, 0.1, 0.3], one, other)
    array([97.,  1.,  0.])
    """
    if np.ndim(deltas) != 1:
        raise InvalidInput(
            f"deltas must be a list of δ, but is {deltas!r:.60}; call closeness_radius for a single one."
        )
    wanted = [forgiven_mass(delta) for delta in items(deltas)]
    sets = PointSets.checked(x, y, x_weights, y_weights, norm)
    required = [sets.total - int(as_written(delta) * sets.total) for delta in wanted]
    if sets.total - sets.lost < max(required, default=0):
        raise InvalidInput(
            f"delta must be at least the mass at infinity, {sets.lost / sets.total:.6g}, but is {min(wanted)}; "
            "raise it or remove infinite points."
        )
    search = RadiusSearch.between(sets)
    # From small radii to large, so that no graph is larger than it must be.
    radius = {mass: search.least(mass) for mass in sorted(set(required))}
    return np.array([radius[mass] for mass in required])


def _finite(sets: PointSets) -> PointSets:
    if sets.lost:
        raise InvalidInput(
            "x and y must be finite, but a point with mass is at infinity, so W∞ is infinite; remove it, or allow for "
            "its mass with closeness_radius."
        )
    return sets


@define(eq=False)
class RadiusSearch:
    """Least radii within which enough mass can move; every answer narrows the search for the next.

    How much can move depends on the radius only through the set of pairs within it, so it is a step function that jumps
    at distances of pairs, and its least radius is one of them, to the last bit.
    """

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
