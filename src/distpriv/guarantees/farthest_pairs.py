"""Pairs that can be worst: of shares of one predicate the farthest, where no nearer one is told apart better.

Scenarios of one predicate lie on a line, by how many records satisfy it. All partners of one scenario to one side are a
*row* of pairs, the farthest first. Where a bound is known that a pair's δ and those behind it in the row do not exceed,
and a δ as large was found already, none of these has to be computed (`docs/proofs/farthest_pairs.md`).
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Pair, Scenario

__all__ = ["Line", "Places", "farthest", "largest_of_rows", "lines_of", "rows_of_pairs"]

Places = NDArray[np.intp]
"""Positions of pairs in a list of them."""


@frozen(kw_only=True)
class Line:
    """Scenarios of one predicate, in the order of how many records satisfy it."""

    names: tuple[str, ...]
    positives: tuple[int, ...]
    reach: int
    """The largest difference of a protected pair, in records."""


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
    on = _on_lines(scenarios)
    found: dict[object, list[tuple[int, int]]] = {}
    for place, (first, second) in enumerate(pairs):
        moved = _moved(on, first, second)
        key = (first, moved > 0) if moved else place
        found.setdefault(key, []).append((-abs(moved), place))
    return [np.array([place for _, place in sorted(row)], dtype=np.intp) for row in found.values()]


def farthest(pairs: Sequence[Pair], scenarios: Mapping[str, Scenario]) -> list[int]:
    """Return the places of the pairs that are first in their rows, in order."""
    return sorted(int(row[0]) for row in rows_of_pairs(pairs, scenarios))


def lines_of(pairs: Sequence[Pair], scenarios: Mapping[str, Scenario]) -> list[Line]:
    """Return the lines that protected pairs lie on, with every scenario that is one of a pair.

    >>> import distpriv as dp
    >>> protected = dp.Share("x > 0", between=(0.4, 0.8), within=0.3).protected(records=10)
    >>> [(line.positives, line.reach) for line in lines_of(protected.pairs, protected.scenarios)]
    [((4, 5, 6, 7, 8), 3)]
    """
    on, reaches, found = _on_lines(scenarios), dict[object, int](), dict[object, dict[str, int]]()
    for first, second in pairs:
        if moved := _moved(on, first, second):
            line = on[first][0]
            reaches[line] = max(reaches.get(line, 0), abs(moved))
            names = found.setdefault(line, {})
            names[first], names[second] = on[first][1], on[second][1]
    return [
        Line(names=tuple(names), positives=tuple(of[name] for name in names), reach=reaches[line])
        for line, of in found.items()
        for names in [sorted(of, key=of.__getitem__)]
    ]


def _on_lines(scenarios: Mapping[str, Scenario]) -> dict[str, tuple[object, int]]:
    """Return for every scenario that is a share which line it is on, and how many records satisfy the predicate."""
    return {
        name: ((each.predicate, each.records, each.reference or id(each.table)), each.positives)
        for name, each in scenarios.items()
        if each.predicate is not None and each.tilt is None
    }


def _moved(on: Mapping[str, tuple[object, int]], first: str, second: str) -> int:
    """Return how many more records satisfy the predicate in the second scenario; 0 if they are on no one line."""
    one, other = on.get(first), on.get(second)
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

    >>> numbers = np.array([5.0, 3.0, 1.0, 4.0, 2.0])
    >>> computed = []
    >>> def exact(places):
    ...     computed.extend(places.tolist())
    ...     return numbers[places]
    >>> largest_of_rows([np.array([0, 1, 2]), np.array([3, 4])], exact, lambda places: numbers[places])
    (0, 5.0)
    >>> computed
    [0, 3]
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
