r"""Pairs that can be worst: of shares of one predicate the farthest, unless a nearer one has a larger divergence.

Scenarios of one predicate lie on a line, by how many records satisfy it. All partners of one scenario to one side are a
*row* of pairs, the farthest first. Means are affine in the number of positives, and so are covariances if rows are
drawn with replacement: then H_ε(P_x ‖ P_y) of Gaussians grows as y moves away from x, and once a pair is below the
largest divergence so far, all behind it in its row are (`docs/proofs/farthest_pairs.md`).
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Pair, Scenario

__all__ = ["Places", "farthest", "largest_of_rows", "lines_of", "rows_of_pairs"]

Places = NDArray[np.intp]
"""Positions of pairs in a list of them."""


def rows_of_pairs(pairs: Sequence[Pair], scenarios: Mapping[str, Scenario]) -> list[Places]:
    """Return the places of all pairs in rows: one scenario's partners to one side, the farthest first.

    A pair of scenarios that are no shares of one predicate is a row of its own.

    >>> import distpriv as dp
    >>> protected = dp.Share("x > 0", between=(0.4, 0.8), within=0.3).protected(records=10)
    >>> rows = rows_of_pairs(protected.pairs, protected.scenarios)
    >>> [[protected.pairs[place] for place in row] for row in rows][0]
    [('x > 0 @ 0.4', 'x > 0 @ 0.7'), ('x > 0 @ 0.4', 'x > 0 @ 0.6'), ('x > 0 @ 0.4', 'x > 0 @ 0.5')]
    >>> len(protected.pairs), len(rows)
    (18, 8)
    """
    positions = _positions(scenarios)
    rows: dict[object, list[tuple[int, int]]] = {}
    for place, (first, second) in enumerate(pairs):
        distance = _distance(positions, first, second)
        key = (first, distance > 0) if distance else place
        rows.setdefault(key, []).append((-abs(distance), place))
    return [np.array([place for _, place in sorted(row)], dtype=np.intp) for row in rows.values()]


def farthest(pairs: Sequence[Pair], scenarios: Mapping[str, Scenario]) -> list[int]:
    """Return the places of the pairs that are first in their rows, in order."""
    return sorted(int(row[0]) for row in rows_of_pairs(pairs, scenarios))


def lines_of(pairs: Sequence[Pair], scenarios: Mapping[str, Scenario]) -> list[tuple[str, ...]]:
    """Return the scenarios of protected pairs on every line, by how many records satisfy the predicate.

    >>> import distpriv as dp
    >>> protected = dp.Share("x > 0", between=(0.4, 0.6), within=0.1).protected(records=10)
    >>> lines_of(protected.pairs, protected.scenarios)
    [('x > 0 @ 0.4', 'x > 0 @ 0.5', 'x > 0 @ 0.6')]
    """
    positions, lines = _positions(scenarios), dict[object, dict[str, int]]()
    for pair in pairs:
        if _distance(positions, *pair):
            for name in pair:
                line, positives = positions[name]
                lines.setdefault(line, {})[name] = positives
    return [tuple(sorted(names, key=names.__getitem__)) for names in lines.values()]


def _positions(scenarios: Mapping[str, Scenario]) -> dict[str, tuple[object, int]]:
    """Return for every scenario that is a share which line it is on, and how many records satisfy the predicate."""
    return {
        name: ((scenario.predicate, scenario.records, scenario.reference or id(scenario.table)), scenario.positives)
        for name, scenario in scenarios.items()
        if scenario.predicate is not None and scenario.tilt is None
    }


def _distance(positions: Mapping[str, tuple[object, int]], first: str, second: str) -> int:
    """Return how many more records satisfy the predicate in the second scenario; 0 if they are on no one line."""
    one, other = positions.get(first), positions.get(second)
    return 0 if one is None or other is None or one[0] != other[0] else other[1] - one[1]


def largest_of_rows(
    rows: Sequence[Places],
    exact: Callable[[Places], Floats],
    bound: Callable[[Places], Floats],
    known: float = -np.inf,
) -> tuple[int, float]:
    """Return the pair with the largest number, and that number, without computing those that cannot have it.

    Args:
        rows: the pairs in rows.
        exact: returns the numbers of some pairs.
        bound: returns, for some pairs, what neither they nor any pair behind them in their row exceed.
        known: a number that does not matter, nor any below: where all are, any pair may be returned.
    """
    place, best = -1, -np.inf
    new, depth = np.sort([row[0] for row in rows]), 1
    left = [row for row in rows if len(row) > 1]
    while len(new):
        numbers = exact(new)
        at = int(numbers.argmax())
        if numbers[at] > best or (numbers[at] == best and new[at] < place):
            place, best = int(new[at]), float(numbers[at])
        if not left:
            break
        limits = bound(np.array([row[depth] for row in left], dtype=np.intp))
        left = [row for row, limit in zip(left, limits, strict=True) if not limit <= max(best, known)]
        new = np.sort(np.concatenate([np.zeros(0, dtype=np.intp), *(row[depth : 2 * depth] for row in left)]))
        depth *= 2
        left = [row for row in left if len(row) > depth]
    return place, best
