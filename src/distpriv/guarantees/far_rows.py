r"""Rows so far out that one of them, however rare, may tell scenarios apart where no bell curve reaches.

A row at x, drawn λ times on average, adds λ of the density around μ + x to a bell curve that has :math:`e^{-ρ^2/2}` of
its height there, ρ the distance in deviations of the noisy statistics. It stands out by :math:`λ e^{ρ^2/2}`,
although skewness and kurtosis hardly see it; rows in several directions add up; and where one scenario has more
of them, less than ε is left to hide the shift with. So the second-order term c₂ is looked at on the way to such rows,
and beyond, where two of them would be (`docs/proofs/saddlepoint_check.md`, "Rows far out").
"""

import math
from collections.abc import Sequence

import numpy as np
from attrs import frozen
from scipy.special import ndtr

from distpriv.framework.arrays import Floats
from distpriv.guarantees.bells import Bell
from distpriv.modelling.model import QueryModel
from distpriv.modelling.row_laws import RowLaws
from distpriv.modelling.stratum_rows import StratumRows
from distpriv.modelling.tilted_law import law_frame, tilted_laws

__all__ = ["far_rows_gate"]

FAR = 0.5
"""From so many deviations of the noisy statistics on, a row is far out; nearer ones are as good as a bell curve."""

NEGLIGIBLE = 0.02
"""What is the case in fewer datasets than this share of the target's δ adds no more than that to it."""

ON_THE_WAY = (0.7, 1.0, 1.4, 2.0)
"""Where c₂ is looked at, as shares of the way to the row: where it begins to show, where one is, and where two are."""

MOST_PLACES, MOST_SCENARIOS = 120, 12
"""At how many places c₂ of a scenario is looked at, those whose rows stand out most, and in how many scenarios."""


@frozen(kw_only=True, eq=False)
class _FarRows:
    """Rows that are far out, from their mean in deviations of the noisy statistics, farthest first."""

    moves: Floats
    chances: Floats
    """How likely each of them is to be the one that is drawn, equal rows counted together."""

    @classmethod
    def of(cls, rows: StratumRows, frame: Floats) -> "_FarRows":
        kinds, counts = rows.kinds
        moves = (rows.values[kinds] - rows.mean) @ frame
        lengths = np.linalg.norm(moves, axis=1)
        order = np.argsort(-lengths, kind="stable")
        far = order[lengths[order] >= FAR]
        return cls(moves=moves[far], chances=counts[far] / counts.sum())

    def places(self, drawn: int, delta: float) -> tuple[Floats, Floats]:
        """Return points on the way to the rows, from the mean, and the logarithm of how much each row does there.

        A row that does not stand out where it is does so farther on: λ e^{ρ²/2 + ρt} is 1 at a distance of t beyond it.
        As far out as δ is decided, at R, it adds about λ ρ⁴ e^{ρR} to the fourth cumulant.
        """
        often = self.chances > 0
        moves, numbers = self.moves[often], drawn * np.cumsum(self.chances)[often]
        lengths, farthest = np.linalg.norm(moves, axis=1), math.sqrt(-2 * math.log(delta))
        farther_on = 1 + np.maximum(-np.log(numbers) / lengths**2 - 0.5, 0.0)
        weighs = np.log(drawn * self.chances[often]) + 4 * np.log(lengths) + lengths * farthest
        points, heights = [np.zeros((0, moves.shape[1]))], [np.zeros(0)]
        ways = [*(np.full(len(moves), each) for each in ON_THE_WAY), farther_on, farthest / lengths]
        for share in ways:
            beyond = numbers * ndtr((1 - share) * lengths) + numbers**2 / 2 * ndtr((2 - share) * lengths)
            kept = beyond > NEGLIGIBLE * delta
            points.append(share[kept, np.newaxis] * moves[kept])
            heights.append(weighs[kept])
        return np.concatenate(points), np.concatenate(heights)


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
    gates = [
        _gate(model, rows, noise, name, [far[s].places(rows.drawn[name][s], delta) for s in strata])
        for name, strata in _with_more(model, rows, far)
    ]
    return max(gates, default=0.0)


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
    worst = sorted(found.items(), key=lambda each: -each[1][0])[:MOST_SCENARIOS]
    return [(name, strata) for strata, (_, name) in worst]


def _gate(
    model: QueryModel, rows: RowLaws, noise: Floats, scenario: str, places: Sequence[tuple[Floats, Floats]]
) -> float:
    """Return the largest |c₂| of a scenario's law at those of the places whose rows stand out most."""
    moves, heights = (np.concatenate(parts) for parts in zip(*places, strict=True))
    chosen = np.argsort(-heights, kind="stable")[:MOST_PLACES]
    if not len(chosen):
        return 0.0
    law = tilted_laws(model, rows, noise, only=[scenario])[scenario]
    points = law.mean + moves[chosen]
    found = law.saddlepoints(points, Bell.at_rest(law).tilts(points))
    return max(abs(law.second_order(found, which)) for which in range(len(points)))
