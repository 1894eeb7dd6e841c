r"""Rows so far out that one of them, however rare, may tell scenarios apart where no bell curve reaches.

A row at x, drawn np times on average, adds np of the density around μ + x to a bell curve that has
:math:`e^{-ρ^2/2}` of its height there, ρ the distance in deviations of the noisy statistics. From ρ of about 4 on that
may be most of the law although skewness and kurtosis hardly see it, and rows far out in several directions add up. So
the second-order term c₂ is looked at on the way to such rows, and beyond, where two of them would be
(`docs/proofs/saddlepoint_check.md`, "Rows far out").
"""

import math
from collections.abc import Sequence

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.framework.secrets import Pair
from distpriv.guarantees.bells import Bell
from distpriv.modelling.model import QueryModel
from distpriv.modelling.row_laws import RowLaws
from distpriv.modelling.stratum_rows import StratumRows
from distpriv.modelling.tilted_law import law_frame, tilted_laws

__all__ = ["far_rows_gate"]

FAR = 2.0
"""From so many deviations of the noisy statistics on, a row is far out."""

ON_THE_WAY = (0.7, 1.0, 1.4, 2.0)
"""Where c₂ is looked at, as shares of the way to the row: where it begins to show, where one is, and where two are."""

MOST_ROWS = 24
"""How many rows of a stratum are looked at."""

MOST_PAIRS = 12
"""How many pairs are looked at, no two of which differ in the same strata."""

NEGLIGIBLE = 0.01
"""Rows that one scenario has so many more of on average, as a share of the target's δ, add no more than that to it."""


@frozen(kw_only=True, eq=False)
class _FarRows:
    """The rows of a stratum that are far out, from its mean in deviations of the noisy statistics, nearest first."""

    moves: Floats
    chances: Floats
    """How likely each of them is to be the one that is drawn, equal rows counted together."""

    @classmethod
    def of(cls, rows: StratumRows, frame: Floats) -> "_FarRows":
        kinds, counts = rows.kinds
        moves = (rows.values[kinds] - rows.mean) @ frame
        lengths = np.linalg.norm(moves, axis=1)
        order = np.argsort(lengths, kind="stable")
        far = order[lengths[order] >= FAR]
        return cls(moves=moves[far], chances=counts[far] / counts.sum())

    @property
    def some(self) -> Floats:
        """Those that are drawn most often, and others spread over all distances."""
        often = np.argsort(-self.chances, kind="stable")[: MOST_ROWS // 2]
        spread = np.linspace(0, len(self.moves) - 1, MOST_ROWS // 2).round().astype(int)
        return np.asarray(self.moves[np.unique([*often, *spread])] if len(self.moves) else self.moves)


def far_rows_gate(model: QueryModel, rows: RowLaws, noise: Floats, epsilon: float, delta: float) -> float:
    """Return by how much the ratio of densities may be off on the way to rows far out; 0 where none of it matters.

    Args:
        model: the model of the statistics.
        rows: the rows that they are sums over.
        noise: the covariance of the Gaussian part of the noise, which is all that hides a row off the line of the rest.
        epsilon: ε ≥ 0.
        delta: the target's δ.
    """
    frame = law_frame(model, noise)
    far = [_FarRows.of(stratum, frame) for stratum in rows.strata]
    pairs = _told_apart(model, rows, far, epsilon, NEGLIGIBLE * delta)
    return max((_gate(model, rows, noise, pair, far, epsilon) for pair in pairs), default=0.0)


def _told_apart(
    model: QueryModel, rows: RowLaws, far: Sequence[_FarRows], epsilon: float, negligible: float
) -> list[Pair]:
    """Return ordered pairs whose first scenario has more rows far out, by e^ε: of each kind the one with most of them.

    With k and k′ rows of a stratum drawn, of which the share p is far out, that is Σ (k − e^ε k′)₊ p.
    """
    shares = np.array([stratum.chances.sum() for stratum in far])
    if not shares.any():
        return []
    drawn = {name: np.array([sizes.get(s, 0) for s in range(len(far))]) for name, sizes in rows.drawn.items()}
    found: dict[tuple[int, ...], tuple[float, Pair]] = {}
    for pair in model.protected_pairs:
        first, second = (drawn[name] for name in pair)
        more = float(np.maximum(first - math.exp(min(epsilon, 700.0)) * second, 0.0) @ shares)
        kind = tuple(np.flatnonzero((first > second) & (shares > 0)).tolist())
        if more > max(negligible, found.get(kind, (0.0, pair))[0]):
            found[kind] = (more, pair)
    worst = sorted(found.values(), key=lambda each: -each[0])
    return [pair for _, pair in worst[:MOST_PAIRS]]


def _gate(
    model: QueryModel, rows: RowLaws, noise: Floats, pair: Pair, far: Sequence[_FarRows], epsilon: float
) -> float:
    """Return the largest |c₂| of both laws at points where the ratio of densities is above e^ε, or may be."""
    laws = tilted_laws(model, rows, noise, only=pair)
    both = [laws[name] for name in pair]
    first, second = (rows.drawn[name] for name in pair)
    moves = np.concatenate([far[stratum].some for stratum, size in first.items() if size > second.get(stratum, 0)])
    points = both[0].mean + np.concatenate([share * moves for share in ON_THE_WAY])
    found = [law.saddlepoints(points, Bell.at_rest(law).tilts(points)) for law in both]
    worst = 0.0
    for which in range(len(points)):
        terms = [abs(law.second_order(at, which)) for law, at in zip(both, found, strict=True)]
        ratio = found[0].log_densities[which] - found[1].log_densities[which]
        if not ratio <= epsilon - sum(terms):  # nor is it known to be below where a density is not known
            worst = max(worst, *terms)
    return worst
