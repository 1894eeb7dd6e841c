r"""Pairs that can be worst: of shares of one predicate the farthest, where no nearer one is told apart better.

Scenarios of one predicate lie on a line, by how many records satisfy it. All partners of one scenario to one side are a
*row* of pairs, the farthest first. Where a bound is known that a pair's δ and those behind it in the row do not exceed,
and a δ as large was found already, none of these has to be computed (`docs/proofs/farthest_pairs.md`).

Of Gaussian scenarios whose mean and covariance are affine in the number of positives, H_ε(P_x ‖ P_y) grows as y moves
away from x: nearer pairs need no check. Rows drawn without replacement bend the covariances by λ(1 − λ)t²Q, Q ⪰ 0, and
that costs κ of ε; what rounding leaves of either counts as total variation.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Self

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Pair, Scenario
from distpriv.guarantees.exact_delta import along_noise
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import GaussianNoise

__all__ = ["Bend", "Line", "Places", "bend_of", "farthest", "largest_of_rows", "lines_of", "rows_of_pairs"]

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
    rows: dict[object, list[tuple[int, int]]] = {}
    for place, (first, second) in enumerate(pairs):
        moved = _moved(on, first, second)
        key = (first, moved > 0) if moved else place
        rows.setdefault(key, []).append((-abs(moved), place))
    return [np.array([place for _, place in sorted(row)], dtype=np.intp) for row in rows.values()]


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
    on, reaches, lines = _on_lines(scenarios), dict[object, int](), dict[object, dict[str, int]]()
    for first, second in pairs:
        if moved := _moved(on, first, second):
            line = on[first][0]
            reaches[line] = max(reaches.get(line, 0), abs(moved))
            names = lines.setdefault(line, {})
            names[first], names[second] = on[first][1], on[second][1]
    return [
        Line(names=tuple(names), positives=tuple(of[name] for name in names), reach=reaches[line])
        for line, of in lines.items()
        for names in [sorted(of, key=of.__getitem__)]
    ]


def _on_lines(scenarios: Mapping[str, Scenario]) -> dict[str, tuple[object, int]]:
    """Return for every scenario that is a share which line it is on, and how many records satisfy the predicate."""
    return {
        name: ((scenario.predicate, scenario.records, scenario.reference or id(scenario.table)), scenario.positives)
        for name, scenario in scenarios.items()
        if scenario.predicate is not None and scenario.tilt is None
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


@frozen(kw_only=True)
class Bend:
    """How much less a nearer pair is told apart than a farther one, but for what is named here.

    With z beyond y as seen from x: H_ε(P_x ‖ P_y) ≤ H_{ε − narrowed}(P_x ‖ P_z) + e^ε · moved.
    """

    narrowed: float = 0.0
    """κ, by how much smaller ε is."""
    moved: float = 0.0
    """The total variation that the rest of the law is worth; infinite where nothing is known."""

    @property
    def is_known(self) -> bool:
        """Whether there is a bound at all."""
        return math.isfinite(self.narrowed + self.moved)


def bend_of(model: QueryModel, noise: GaussianNoise, lines: Sequence[Line]) -> Bend:
    """Return what nearer pairs on any of these lines may cost."""
    bends = [_bend(model, noise, line) for line in lines if len(line.names) > 2]
    return Bend(
        narrowed=max((bend.narrowed for bend in bends), default=0.0),
        moved=max((bend.moved for bend in bends), default=0.0),
    )


def _bend(model: QueryModel, noise: GaussianNoise, line: Line) -> Bend:
    """Return what nearer pairs on one line may cost, by the mean and covariance that fit it best."""
    laws, unknown = _Whitened.of(model, noise, line), Bend(narrowed=math.inf, moved=math.inf)
    if laws is None:
        return unknown
    length, size = line.positives[-1] - line.positives[0], laws.means.shape[1]
    along, reach = (np.array(line.positives, dtype=float) - line.positives[0]) / length, line.reach / length
    moved = float(np.linalg.norm(_rest(along, laws.means, 1)[0], axis=1).max()) + laws.lost_of_means
    rest, fitted = _rest(along, laws.covariances.reshape(len(along), -1), 2)
    bent = np.linalg.eigvalsh(-fitted[2].reshape(size, size))  # Q, by how much it is concave
    curved, convex = (float(np.maximum(sign * bent, 0.0).sum()) for sign in (1, -1))
    uneven = 2 * float(np.linalg.norm(rest, axis=1).max()) + reach**2 / 4 * convex + laws.lost
    if curved * reach**2 <= laws.lost:  # as straight as can be told
        uneven, curved = uneven + reach**2 / 4 * curved, 0.0
    if not uneven <= laws.least / 2:  # the proof ends there
        return unknown
    return Bend(
        narrowed=(curved + laws.lost) * reach**2 / 8 / laws.least if curved else 0.0,
        moved=math.hypot(uneven / laws.least, 2 * moved / math.sqrt(laws.least)) / 2,
    )


def _rest(along: Floats, values: Floats, degree: int) -> tuple[Floats, Floats]:
    """Return what a polynomial leaves of values along a line, and its coefficients."""
    powers = along[:, np.newaxis] ** np.arange(degree + 1)
    fitted = np.asarray(np.linalg.lstsq(powers, values, rcond=None)[0], dtype=np.float64)
    return np.asarray(values - powers @ fitted), fitted


@frozen(kw_only=True, eq=False)
class _Whitened:
    """Laws along a line with their noise, in units in which the mean covariance is 1."""

    means: Floats
    covariances: Floats
    least: float
    """The least variance of any of them along any direction."""
    lost: float
    """What rounding may have done to a covariance, 10⁻¹³ of the largest number that it was made of."""
    lost_of_means: float

    @classmethod
    def of(cls, model: QueryModel, noise: GaussianNoise, line: Line) -> Self | None:
        """Return the laws, or nothing where one of them does not vary along some direction, or hardly."""
        laws, rounded = [model.distributions[name] for name in line.names], 1e-13
        shifts = np.array([law.mean - laws[0].mean for law in laws])
        own = np.array([law.covariance for law in laws])
        axes, covariances = along_noise(noise, own)
        units = np.sqrt(np.maximum(np.diag(covariances.mean(axis=0)), 0.0))
        if not (units > 0).all():
            return None
        values, vectors = np.linalg.eigh(covariances.mean(axis=0) / np.outer(units, units))
        if not values[0] > rounded:
            return None
        whitening = (vectors / np.sqrt(values)).T / units
        turned = whitening @ covariances @ whitening.T
        turned = (turned + turned.swapaxes(1, 2)) / 2
        went_in = np.abs(axes).T @ np.abs(own) @ np.abs(axes) / np.outer(units, units)
        lost = rounded * len(units) * (1 + float(went_in.max())) / float(values[0])
        lost_of_means = (
            rounded * len(units) * float((np.abs(shifts) @ np.abs(axes) / units).max()) / math.sqrt(values[0])
        )
        least = float(np.linalg.eigvalsh(turned).min()) - lost
        if not least > 0:
            return None
        means = shifts @ axes @ whitening.T
        return cls(means=means, covariances=turned, least=least, lost=lost, lost_of_means=lost_of_means)
