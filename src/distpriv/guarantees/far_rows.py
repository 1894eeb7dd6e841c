r"""Rows so far out that one of them, however rare, may tell scenarios apart where no bell curve reaches.

A row at x, drawn λ times on average, adds λ of the density around μ + x to a bell curve that has :math:`e^{-ρ^2/2}` of
its height there, ρ the distance in deviations of the noisy statistics. It stands out by :math:`λ e^{ρ^2/2}`,
although skewness and kurtosis hardly see it; rows in several directions add up; and where one scenario has more
of them, less than ε is left to hide the shift with. So the second-order term c₂ is looked at on the way to such rows,
and beyond, where two of them would be (`docs/proofs/saddlepoint_check.md`, "Rows far out").
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from attrs import frozen
from scipy.special import ndtr

from distpriv.framework.arrays import Floats
from distpriv.guarantees.bells import Bell
from distpriv.modelling.model import QueryModel
from distpriv.modelling.row_laws import RowLaws
from distpriv.modelling.stratum_rows import StratumRows
from distpriv.modelling.tilted_law import law_frame, tilted_laws
from distpriv.modelling.tilted_stratum import merged

__all__ = ["far_rows_gate"]

FAR = 0.5
"""From so many deviations of the noisy statistics on, a row is far out; nearer ones are as good as a bell curve."""

NEGLIGIBLE = 0.02
"""What is the case in fewer datasets than this share of the target's δ adds no more than that to it."""

ON_THE_WAY = (0.7, 1.0, 1.4, 2.0)
"""Where c₂ is looked at, as shares of the way to the row: where it begins to show, where one is, and where two are."""

LARGEST = 500.0
"""Exponents are cut off beyond this."""

MOST_PLACES, APART = 20, 0.25
"""At how many places c₂ of a scenario is looked at, of all that are as far on their way those where rows do most,
and how far they are apart at least."""

MOST_KINDS = 1000
"""So many kinds of rows far out are told apart, and so many places are compared."""

MOST_SCENARIOS = 32
"""In how many scenarios; where rows do more than that in another, nothing is known of it."""


@frozen(kw_only=True, eq=False)
class _FarRows:
    """Rows that are far out, from their mean in deviations of the noisy statistics, farthest first."""

    moves: Floats
    chances: Floats
    """How likely each of them is to be the one that is drawn; equal rows, and near ones of very many, are one."""

    @classmethod
    def of(cls, rows: StratumRows, frame: Floats) -> "_FarRows":
        kinds, counts = rows.kinds
        moves = (rows.values[kinds] - rows.mean) @ frame
        far = (np.linalg.norm(moves, axis=1) >= FAR) & (counts > 0)
        if not far.any():
            return cls(moves=np.zeros((0, frame.shape[1])), chances=np.zeros(0))
        moves, often, _ = merged(moves[far], MOST_KINDS, counts[far])
        order = np.argsort(-np.linalg.norm(moves, axis=1), kind="stable")
        return cls(moves=moves[order], chances=often[order] / counts.sum())

    def places(self, drawn: int, delta: float) -> list[tuple[Floats, Floats]]:
        """Return points on the way to the rows, from the mean, and how much each row does there for itself.

        A row that does not stand out where it is does so farther on: λ e^{ρ²/2 + ρt} is 1 at a distance of t beyond it.
        As far out as δ is decided, R, is looked at too. All that are as far on their way are together.
        """
        numbers, lengths = drawn * np.cumsum(self.chances), np.linalg.norm(self.moves, axis=1)
        farther_on = 1 + np.maximum(-np.log(numbers) / lengths**2 - 0.5, 0.0)
        farthest = math.sqrt(-2 * math.log(max(delta, np.finfo(float).tiny))) / lengths
        found = []
        for share in (*(np.full(len(lengths), each) for each in ON_THE_WAY), farther_on, farthest, farthest / 2):
            beyond = numbers * ndtr((1 - share) * lengths) + numbers**2 / 2 * ndtr((2 - share) * lengths)
            kept = beyond > NEGLIGIBLE * delta
            effects = drawn * self.chances * lengths**4 * np.exp(np.minimum(share * lengths**2, LARGEST))
            found.append((share[kept, np.newaxis] * self.moves[kept], effects[kept]))
        return found

    def effects(self, drawn: int, points: Floats) -> Floats:
        """Return about what all rows add to the fourth cumulant of the law that is tilted to each of some points."""
        fourths = drawn * self.chances * (self.moves**2).sum(axis=1) ** 2
        return np.asarray(np.exp(np.minimum(points @ self.moves.T, LARGEST)) @ fourths)


def far_rows_gate(model: QueryModel, rows: RowLaws, noise: Floats, delta: float) -> float:
    """Return the largest |c₂| on the way to rows far out that one scenario of a pair draws more of than the other.

    Args:
        model: the model of the statistics.
        rows: the rows that they are sums over.
        noise: the covariance of the Gaussian part of the noise, which is all that hides a row off the line of the rest.
        delta: the target's δ.
    """
    frame = law_frame(model, noise)
    far = [_FarRows.of(stratum, frame) for stratum in rows.strata]
    looks = []
    for name, strata in _with_more(model, rows, far):
        places, effects = _places({s: far[s] for s in strata}, rows.drawn[name], delta)
        if len(places):
            looks.append((float(effects.max()), name, places))
    looks.sort(key=lambda look: -look[0])
    if any(effect > NEGLIGIBLE for effect, _, _ in looks[MOST_SCENARIOS:]):
        return math.inf
    return max((_gate(model, rows, noise, name, places) for _, name, places in looks[:MOST_SCENARIOS]), default=0.0)


def _with_more(model: QueryModel, rows: RowLaws, far: Sequence[_FarRows]) -> list[tuple[str, tuple[int, ...]]]:
    """Return scenarios and the strata with rows far out of which they draw more than another of a protected pair.

    Of those that draw more of the same strata, the one that draws most of such rows.
    """
    shares = {s: float(stratum.chances.sum()) for s, stratum in enumerate(far) if len(stratum.moves)}
    found: dict[tuple[int, ...], tuple[float, str]] = {}
    for first, second in model.protected_pairs if shares else ():
        one, other = rows.drawn[first], rows.drawn[second]
        more = tuple(s for s in shares if one.get(s, 0) > other.get(s, 0))
        if more:
            found[more] = max(found.get(more, (0.0, first)), (sum(one[s] * shares[s] for s in more), first))
    return [(name, strata) for strata, (_, name) in found.items()]


def _places(far: Mapping[int, _FarRows], drawn: Mapping[int, int], delta: float) -> tuple[Floats, Floats]:
    """Return places apart from each other where rows do most, all of them together, and how much."""
    ways = zip(*(stratum.places(drawn[s], delta) for s, stratum in far.items()), strict=True)
    found = [_apart(far, drawn, *(np.concatenate(parts) for parts in zip(*way, strict=True))) for way in ways]
    points, effects = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return points, effects


def _apart(
    far: Mapping[int, _FarRows], drawn: Mapping[int, int], points: Floats, alone: Floats
) -> tuple[Floats, Floats]:
    """Return those of some points where all rows together do most, apart from each other, and how much they do."""
    points = points[np.argsort(-alone, kind="stable")[:MOST_KINDS]]
    effects = np.sum([stratum.effects(drawn[s], points) for s, stratum in far.items()], axis=0)
    left, chosen = np.argsort(-effects, kind="stable"), list[int]()
    while len(left) and len(chosen) < MOST_PLACES:
        chosen.append(int(left[0]))
        left = left[np.linalg.norm(points[left] - points[left[0]], axis=1) > APART]
    return points[chosen], effects[chosen]


def _gate(model: QueryModel, rows: RowLaws, noise: Floats, scenario: str, moves: Floats) -> float:
    """Return the largest |c₂| of a scenario's law at some places, from its mean."""
    law = tilted_laws(model, rows, noise, only=[scenario])[scenario]
    points = law.mean + moves
    found = law.saddlepoints(points, Bell.at_rest(law).tilts(points))
    return max(abs(law.second_order(found, which)) for which in range(len(points)))
