r"""The second-order law of sums over rows with Gaussian noise: saddlepoint densities and what they leave out.

With K(s) the logarithm of the moment generating function of F + Z, the density at x is

.. math:: q(x) = (2π)^{-m/2} |K''(ŝ)|^{-1/2} e^{K(ŝ) - ŝ^\top x} \, (1 + c_2(ŝ) + …), \qquad K'(ŝ) = x .

Without replacement K is the least of κ(λ, s) − kλ over the levels λ of all strata (`tilted_stratum`), and the density
has a factor for the number of rows: :math:`\prod_s \sqrt{N f (1-f) / κ_{λλ}}`. The proof is in
`docs/proofs/saddlepoint_check.md`.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Self

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats
from distpriv.modelling.bent_law import Bend
from distpriv.modelling.model import QueryModel
from distpriv.modelling.representatives import representatives
from distpriv.modelling.row_laws import RowLaws
from distpriv.modelling.tilted_stratum import TiltedStratum

__all__ = ["Saddlepoints", "TiltedLaw", "law_frame", "tilted_laws"]

Bools = NDArray[np.bool_]

ROUNDING = 1e-9
"""A variance, where 1 is that of the statistics, that keeps all matrices regular and hides nothing."""

SINGULAR = 1e-10
"""A direction with less than this share of the variance is one in which nothing varies."""

MOST_STEPS = 30
"""Newton steps after which there is no saddlepoint: the point is beyond what the rows can add up to."""

FULL = 2.0
"""By how much a full Newton step may change the logarithm of a row's weight."""

NOWHERE = -700.0
"""Logarithm of a density that is none; lines through the bulk still pass points far below e^-100, and need them."""

LEADING = 4
"""So many saddlepoints along a line lead to the next."""

CLOSE = 1e-4
"""Newton steps, in standard deviations, that are left out."""


@frozen(kw_only=True, eq=False)
class Saddlepoints:
    """Where K' is a point, for many points; what is found of q there."""

    tilts: Floats
    levels: tuple[Floats, ...]
    log_densities: Floats
    """log q; −∞ where there is no saddlepoint."""
    covariances: Floats
    """K''."""

    @property
    def found(self) -> Bools:
        """Which points have a saddlepoint."""
        return np.isfinite(self.log_densities)


@frozen(kw_only=True, eq=False)
class Step:
    """A Newton step at many points."""

    covariances: Floats
    levels: Sequence[Floats]
    squares: Floats
    """Of the length of the step, in standard deviations."""
    heights: Floats
    """K(s) − sᵀx, which is least at the saddlepoint."""
    log_densities: Floats
    """With what the last step would still change."""
    moves: Floats
    """Of the tilts."""
    rises: Sequence[Floats]
    """Of the levels."""


@frozen(kw_only=True, eq=False)
class TiltedLaw:
    """The law of a sum over rows of several strata, with Gaussian noise, under tilts."""

    strata: tuple[TiltedStratum, ...]
    mean: Floats
    noise: Floats
    """The covariance of what is Gaussian."""

    @classmethod
    def of(cls, strata: Sequence[TiltedStratum], mean: Floats, noise: Floats) -> Self:
        """Return the law of these strata with Gaussian noise of a covariance; what does not vary is in the mean."""
        return cls(strata=tuple(stratum for stratum in strata if stratum.variance > 0), mean=mean, noise=noise)

    @cached_property
    def radius(self) -> float:
        """How far the farthest row is from the mean of its stratum."""
        return max((stratum.radius for stratum in self.strata), default=0.0)

    @cached_property
    def covariance(self) -> Floats:
        """K'' without a tilt."""
        at = np.zeros((1, len(self.mean)))
        return np.asarray(self.noise + sum(stratum.pull(at, np.zeros(1)).profile[0] for stratum in self.strata))

    @cached_property
    def bend(self) -> Bend:
        """What skewness and kurtosis do to its bell curve."""
        return Bend(strata=self.strata)

    @cached_property
    def term_at_rest(self) -> float:
        """c₂ without a tilt."""
        at = self.saddlepoints(self.mean[np.newaxis], np.zeros((1, len(self.mean))))
        return self.second_order(at, 0)

    def saddlepoints(self, points: Floats, tilts: Floats, levels: Sequence[Floats] | None = None) -> Saddlepoints:
        """Return the saddlepoint of every point, sought from these tilts, and levels, by damped Newton steps."""
        known = levels is not None
        tilts, levels = tilts.copy(), [np.zeros(len(points)) for _ in self.strata] if levels is None else list(levels)
        logs, covariances = np.full(len(points), -np.inf), np.tile(self.noise, (len(points), 1, 1))
        left = np.arange(len(points))
        for round_ in range(MOST_STEPS):
            given = [level[left] for level in levels] if round_ or known else None
            step = self._step(points[left], tilts[left], given)
            covariances[left] = step.covariances
            for level, found in zip(levels, step.levels, strict=True):
                level[left] = found
            done = step.squares < CLOSE**2
            logs[left[done]] = step.log_densities[done]
            further = ~done & (step.heights > NOWHERE)
            left = left[further]
            if not len(left):
                break
            tilts[left] += step.moves[further]
            for level, move in zip(levels, step.rises, strict=True):
                level[left] += move[further]
        return Saddlepoints(tilts=tilts, levels=tuple(levels), log_densities=logs, covariances=covariances)

    def saddlepoints_along(self, lines: Sequence[Floats], tilts: Sequence[Floats]) -> list[Saddlepoints]:
        """Return the saddlepoints of points that move along lines by even steps, each sought from where others lead.

        Args:
            lines: where the points are, step after step.
            tilts: where their saddlepoints are sought as long as no others lead there.
        """
        found: dict[int, Saddlepoints] = {}
        for place in sorted(range(len(lines)), key=lambda place: abs(2 * place - len(lines) + 1)):
            near = sorted(found, key=lambda other: abs(other - place))[:LEADING]
            if len(near) < LEADING:
                found[place] = self.saddlepoints(lines[place], tilts[place])
                continue
            weights = _leading_to(place, near)
            known = np.logical_and.reduce([found[other].found for other in near])
            led = sum(weight * found[other].tilts for weight, other in zip(weights, near, strict=True))
            levels = [
                np.where(known, sum(weight * level for weight, level in zip(weights, several, strict=True)), 0.0)
                for several in zip(*(found[other].levels for other in near), strict=True)
            ]
            found[place] = self.saddlepoints(lines[place], np.where(known[:, np.newaxis], led, tilts[place]), levels)
        return [found[place] for place in range(len(lines))]

    def _step(self, points: Floats, tilts: Floats, levels: Sequence[Floats] | None) -> "Step":
        """Return a Newton step, short enough that the rows' weights do not change beyond what they tell of it."""
        pulls = [
            stratum.pull(tilts, None if levels is None else levels[which]) for which, stratum in enumerate(self.strata)
        ]
        covariances = sum((pull.profile for pull in pulls), np.tile(self.noise, (len(points), 1, 1)))
        missing = points - sum((pull.slope for pull in pulls), self.mean + tilts @ self.noise)
        moves: Floats = np.asarray(np.linalg.solve(covariances, missing[:, :, np.newaxis])[:, :, 0], dtype=np.float64)
        rises = [pull.next_level(moves) for pull in pulls]
        squares = sum((pull.surplus**2 / pull.number for pull in pulls), (moves * missing).sum(axis=1))
        heights = (tilts * (self.mean + tilts @ self.noise / 2 - points)).sum(axis=1)
        heights = sum((pull.value for pull in pulls), heights)
        far = self.radius * np.linalg.norm(moves, axis=1) + np.max(np.abs([*rises, np.zeros(len(points))]), axis=0)
        over = np.maximum(far, FULL)
        damping = FULL * np.log1p(over) / (math.log1p(FULL) * over)
        sizes = points.shape[1] * math.log(2 * math.pi) + np.linalg.slogdet(covariances)[1] + squares
        for stratum, pull in zip(self.strata, pulls, strict=True):
            sizes = sizes + np.log(pull.number / stratum.variance)
        return Step(
            covariances=covariances,
            levels=[pull.level for pull in pulls],
            squares=squares,
            heights=heights,
            log_densities=heights - sizes / 2,
            moves=moves * damping[:, np.newaxis],
            rises=[rise * damping for rise in rises],
        )

    def second_order(self, saddlepoints: Saddlepoints, which: int) -> float:
        """Return c₂ at one of the saddlepoints: by which share of itself q is too small, to the next order."""
        if not saddlepoints.found[which]:
            return math.inf
        root = np.linalg.inv(np.linalg.cholesky(saddlepoints.covariances[which]))
        parts = [
            _part(stratum, root, saddlepoints.tilts[which], float(level[which]))
            for stratum, level in zip(self.strata, saddlepoints.levels, strict=True)
        ]
        many = sum(len(part.three) for part in parts) > len(root) ** 2
        joint = sum(part.four @ part.lengths**2 for part in parts) / 8
        joint -= _third_by_statistics(parts, len(root)) if many else _third_by_rows(parts)
        return float(joint - sum(stratum.number_term for stratum in self.strata))


def _leading_to(place: int, near: Sequence[int]) -> list[float]:
    """Return how much each of several places counts in what a polynomial through them is at another.

    >>> _leading_to(3, [2, 1, 0])
    [3.0, -3.0, 1.0]
    """
    return [math.prod((place - other) / (one - other) for other in near if other != one) for one in near]


@frozen(kw_only=True, eq=False)
class Part:
    """The rows of a stratum in coordinates in which K'' is the unit matrix, and the cumulants of their numbers."""

    rows: Floats
    three: Floats
    four: Floats
    number: float

    @property
    def lengths(self) -> Floats:
        """Of the rows, squared, the number of rows counted as a coordinate."""
        return np.asarray(1 / self.number + (self.rows**2).sum(axis=1))


def _part(stratum: TiltedStratum, root: Floats, tilt: Floats, level: float) -> Part:
    two, three, four = stratum.cumulants(tilt, level)
    number = float(two.sum())
    return Part(rows=(stratum.values - two @ stratum.values / number) @ root.T, three=three, four=four, number=number)


def _third_by_statistics(parts: Sequence[Part], size: int) -> float:
    """Return ρ₁₃²/8 + ρ₂₃²/12 by sums over statistics, which are fewer than rows."""
    alone, crossed, vector, tensor = 0.0, 0.0, np.zeros(size), np.zeros((size * size, size))
    for part in parts:
        rows, three, number = part.rows, part.three, part.number
        alone += float(three @ part.lengths) ** 2 / number
        vector += (three * part.lengths) @ rows
        pairs = (rows[:, :, np.newaxis] * rows[:, np.newaxis, :]).reshape(len(rows), -1)
        tensor += pairs.T @ (three[:, np.newaxis] * rows)
        crossed += float(3 * ((three @ pairs) ** 2).sum() / number + 3 * ((three @ rows) ** 2).sum() / number**2)
        crossed += float(three.sum()) ** 2 / number**3
    return float((alone + vector @ vector) / 8 + (crossed + (tensor**2).sum()) / 12)


def _third_by_rows(parts: Sequence[Part]) -> float:
    """Return the same by the angles between all rows, which are fewer than pairs of statistics.

    With z_j the rows, a coordinate for each number among them,
    ρ₁₃² = Σ κ₃ⱼ κ₃ₖ |z_j|² (z_j·z_k) |z_k|² and ρ₂₃² = Σ κ₃ⱼ κ₃ₖ (z_j·z_k)³.
    """
    if not parts:
        return 0.0
    rows, three = np.concatenate([part.rows for part in parts]), np.concatenate([part.three for part in parts])
    angles, start = rows @ rows.T, 0
    for part in parts:
        own = slice(start, start + len(part.three))
        angles[own, own] += 1 / part.number
        start = own.stop
    alone = three * np.diag(angles)
    return float(alone @ angles @ alone / 8 + three @ angles**3 @ three / 12)


def tilted_laws(
    model: QueryModel,
    rows: RowLaws,
    noise: Floats,
    *,
    only: Collection[str] | None = None,
    moved: Mapping[str, Floats] | None = None,
) -> dict[str, TiltedLaw]:
    """Return the law of every scenario with Gaussian noise of a covariance, in coordinates of about unit variance.

    Directions in which nothing varies are left out.

    Args:
        model: the model of the statistics.
        rows: the rows that they are sums over.
        noise: the covariance of the noise.
        only: the scenarios to look at; all of them if not given.
        moved: by how much the statistics of some scenarios are moved.
    """
    turn = law_frame(model, noise)
    means = [stratum.mean for stratum in rows.strata]
    origin = np.mean([law.mean for law in model.distributions.values()], axis=0)
    standing = representatives(rows)
    cells = [(each.values @ turn, each.counts, turn.T @ each.inside @ turn) for each in standing]
    counts = [cell[1] * (rows.rows_of(which) / cell[1].sum()) for which, cell in enumerate(cells)]
    laws = {}
    for name, sizes in rows.drawn.items():
        if only is not None and name not in only:
            continue
        strata = {
            which: TiltedStratum.of(cells[which][0], counts[which], size, replacement=rows.replacement)
            for which, size in sizes.items()
            if size
        }
        mean = sum((size * means[which] for which, size in sizes.items()), (moved or {}).get(name, 0.0) - origin)
        inside = sum((stratum.variance * cells[which][2] for which, stratum in strata.items()), turn.T @ noise @ turn)
        laws[name] = TiltedLaw.of(list(strata.values()), mean @ turn, inside + ROUNDING * np.eye(len(inside)))
    return laws


def law_frame(model: QueryModel, noise: Floats) -> Floats:
    """Return columns that measure in standard deviations of noisy statistics, averaged over scenarios."""
    covariance = np.mean([law.covariance for law in model.distributions.values()], axis=0) + noise
    deviations = np.sqrt(np.diag(covariance))
    deviations = np.where(deviations > 0, deviations, 1.0)
    variances, axes = np.linalg.eigh(covariance / np.outer(deviations, deviations))
    varies = variances > SINGULAR * max(1.0, variances.max())
    return np.asarray(axes[:, varies] / np.sqrt(variances[varies]) / deviations[:, np.newaxis])
