r"""The likelihood-ratio test of the one combination of the released numbers that tells most, by its exact law.

Where the statistics are sums over rows, the law of :math:`w^\top (F + Z)` is known exactly for every w
(`guarantees.projections`), so whoever looks at that combination alone decides by the ratio of two known densities, and
nobody decides better. A bell curve is not assumed: few rows that decide, or values that repeat, show as they are.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from attrs import evolve, frozen

from distpriv.auditing.attacks import AttackerView, BayesAttack, FittedAttack
from distpriv.framework.arrays import Floats, correlations
from distpriv.framework.scenarios import Pair
from distpriv.guarantees.delta_from_rows import rows_behind, standing_peaks
from distpriv.guarantees.projections import ProjectedLaws, projected_laws
from distpriv.modelling.model import QueryModel
from distpriv.modelling.row_laws import RowLaws
from distpriv.noise.laws import NoiseLaw

__all__ = ["ProjectionAttack", "log_ratio", "most_telling"]

NOTHING = 1e-9
"""An H_ε below this is rounding."""

COARSE = 0.02
"""The share of a combination's own deviation that an attack does not look below."""

OUTLYING = 4
"""How many of the rows that lie farthest out are looked at, each along its own direction."""

ALIKE = 0.05
"""Rows that differ by no more than this share of each number are of one kind."""

SELDOM = 1e-9
"""Rows of which so many are drawn on average, or fewer, are as good as none."""

SAME = 1 - 1e-6
"""Directions whose cosine, in units of the noisy statistics, is larger are the same."""


@frozen(kw_only=True)
class ProjectionAttack:
    """The exact likelihood ratio of the most telling combination; like Bayes where no law is known by rows."""

    name: str = "projection"
    knows_noise: bool = True

    def fit(self, view: AttackerView) -> FittedAttack:
        """Find the combination; shadows are not needed."""
        found = most_telling(view.model, view.noise, view.pair, view.epsilon)
        return BayesAttack().fit(view) if found is None else _ExactRatio(laws=found, pair=view.pair)


def most_telling(model: QueryModel, noise: NoiseLaw, pair: Pair, epsilon: float) -> ProjectedLaws | None:
    """Return the combination whose exact H_ε of a pair is the largest, in either order; none where no law is known.

    Where H_ε is next to nothing along all of them, as with Laplace noise, the total variation decides.
    """
    rows = rows_behind(model)
    if rows is None:
        return None
    directions = telling_directions(model, rows, noise.covariance, pair, standing_peaks(model, rows, noise))
    both = evolve(rows, drawn={name: rows.drawn[name] for name in pair})
    laws = [projected_laws(model, both, noise, direction, coarse=COARSE) for direction in directions]
    known = [law for law in laws if law is not None]
    level = epsilon if any(_told(law, pair, epsilon) > NOTHING for law in known) else 0.0
    return max(known, key=lambda law: _told(law, pair, level), default=None)


def _told(law: ProjectedLaws, pair: Pair, epsilon: float) -> float:
    return max(law.delta(pair, epsilon), law.delta(pair[::-1], epsilon))


@frozen(kw_only=True, eq=False)
class _ExactRatio:
    laws: ProjectedLaws
    pair: Pair

    def score(self, released: Floats) -> Floats:
        return log_ratio(self.laws, self.pair, released)


def log_ratio(laws: ProjectedLaws, pair: Pair, released: Floats) -> Floats:
    """Return by how much each release speaks for the first of a pair: the logarithm of the two densities' ratio."""
    size = len(laws.densities[pair[0]])
    along = np.mod(released @ laws.direction / laws.circle.circumference, 1.0)
    points, logs = np.arange(size + 1) / size, []
    for name in pair:
        density = laws.densities[name]
        likely = np.interp(along, points, np.append(density, density[0]))
        # Below such a share of the highest density a transform has no digit left.
        logs.append(np.log(np.maximum(likely, 0.0) + 1e-12 * density.max()))
    return np.asarray(logs[0] - logs[1])


def telling_directions(
    model: QueryModel, rows: RowLaws, noise: Floats, pair: Pair, frequencies: Iterable[Floats] = ()
) -> list[Floats]:
    r"""Return what may tell most: every statistic alone, the likelihood direction, peaks, outlying rows.

    Under Gaussian laws with one covariance the likelihood ratio of a pair is a function of
    :math:`d^\top (Σ + S)^{-1} y` alone. A single row at x is found, if at all, along :math:`(Σ + S)^{-1} x`.

    Args:
        model: the model.
        rows: the rows behind it.
        noise: the covariance S of the noise.
        pair: the scenarios that moments tell apart best.
        frequencies: directions along which the statistics repeat.
    """
    noisy = np.asarray(np.mean([model.distributions[name].covariance for name in pair], axis=0) + noise)
    units = np.sqrt(np.maximum(np.diag(noisy), 0.0))
    inverse = _inverse(noisy)
    moved = [model.mean_shift(pair), *_outlying(rows, inverse)]
    alone = np.eye(model.dimension)[units > 0]
    return _distinct([*alone, *(inverse @ move for move in moved), *frequencies], noisy)


def _outlying(rows: RowLaws, inverse: Floats) -> list[Floats]:
    """Return how far the rows that lie farthest out are from the mean of their stratum, no two of one kind."""
    most = {s: max(sizes.get(s, 0) for sizes in rows.drawn.values()) for s in range(len(rows.strata))}
    often = {s: rows.strata[s].shares * number > SELDOM for s, number in most.items() if number}
    deviations: Floats = np.concatenate([rows.strata[s].about_mean[which] for s, which in often.items()])
    distances = np.einsum("ri,ij,rj->r", deviations, inverse, deviations, optimize=True)
    farthest: list[Floats] = []
    for k in np.argsort(-distances)[: 50 * OUTLYING]:
        row = np.asarray(deviations[k])
        if len(farthest) < OUTLYING and not any(_alike(row, other) for other in farthest):
            farthest.append(row)
    return farthest


def _alike(row: Floats, other: Floats) -> bool:
    return bool((np.abs(row - other) <= ALIKE * np.abs(other)).all())


def _distinct(directions: Sequence[Floats], covariance: Floats) -> list[Floats]:
    """Return directions along which something varies, each once."""
    kept: list[Floats] = []
    for direction in directions:
        length = math.sqrt(max(float(direction @ covariance @ direction), 0.0))
        if length > 0 and all(abs(other @ covariance @ direction) < SAME * length for other in kept):
            kept.append(direction / length)
    return kept


def _inverse(covariance: Floats) -> Floats:
    units, scaled = correlations(covariance)
    return np.asarray(np.linalg.pinv(scaled, rcond=1e-10) / np.outer(units, units))
