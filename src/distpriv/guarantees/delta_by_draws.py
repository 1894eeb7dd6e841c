r"""δ from the rows themselves: exact tilted draws, importance weights without a density, and saddlepoint ratios.

.. math:: δ_{i \to j}(ε) = E_{Y \sim P_i} \bigl(1 - e^{ε - L(Y)}\bigr)_+, \qquad L = \log \frac{p_i}{p_j}

Y is drawn exactly, for any rows (`law.draws`); nothing that is likely can be missed. Only L is approximate: saddlepoint
densities to the second order (Daniels 1954, eq. 2.6; McCullagh 1987, eq. 6.15). What the approximation leaves out is
measured by :math:`E_j[e^L 1_A] = P_i(A)` for A = {L > ε}, with draws from both distributions.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats
from distpriv.law.cumulants import second_order_terms
from distpriv.law.draws import RowKinds, SumOfRows, TiltedMixture
from distpriv.law.saddlepoint import Saddlepoints, TiltedLaw

__all__ = [
    "DrawSettings",
    "DrawnDelta",
    "NoisySum",
    "controlled",
    "delta_by_draws",
    "effective_number",
    "first_tilts",
    "mean_and_error",
]


@frozen(kw_only=True)
class DrawSettings:
    """How δ is estimated."""

    draws: int = 2400
    """Points at which the ratio is computed; the standard error of δ is about 1.5/√draws of it."""
    fewer_draws: int = 800
    """The same where δ is far below what matters, or only compared with other estimates."""
    pilot_draws: int = 400
    """Points in each round that chooses tilts."""
    rounds: int = 8
    """Cross-entropy rounds at most (Rubinstein & Kroese 2004, section 3)."""
    rounds_there: int = 2
    """Rounds in which the level is ε itself, after which tilts are good enough."""
    recentred: int = 12
    """Tilts added in each round: the saddlepoints of points that carry the pilot's mass."""
    remembered: int = 3
    """Rounds whose tilts are in the mixture, the latest with most of the draws."""
    shares: tuple[float, float, float] = (0.25, 0.2, 0.55)
    """Of the draws: untilted, under the first round's tilts, and recentred. Weights are at most 1/0.25."""
    shares_of_large: tuple[float, float, float] = (0.7, 0.2, 0.1)
    """The same where δ is large, so that untilted draws decide it."""
    large: float = 0.02
    """The δ from which on it is large."""
    many_statistics: int = 16
    """Statistics from which on second-order terms are dear, and are computed at a sample of the points."""
    sample: int = 240
    """How many points are in that sample, about."""
    enough_points: float = 20.0
    """A level ε' ≤ ε is low enough for a round if its terms have this effective number of points."""
    influential: int = 24
    """Kinds of rows, those that move the statistics farthest, towards which the first tilts pull."""
    near: float = 0.3
    """Second-order terms are computed where the first-order L is above ε less this, and at untilted points."""
    statistics_alike: float = 8.0
    """Of more statistics c₂ is a sum of several terms, this number in each; the third order is of their squares."""
    deviations: float = 2.5
    """Standard errors in the upper confidence bound: 0.6 % on a normal distribution."""
    far_below: float = 0.1
    """The share of the δ that matters below which fewer draws are enough."""
    folds: int = 5
    """Into how many parts points fall for the regression on controls, which is of all others for each; 1 for none."""
    seed: int = 20
    """Of all draws, so that whoever verifies a certificate finds the same δ."""


DEFAULT = DrawSettings()


@frozen(kw_only=True)
class DrawnDelta:
    """An estimate of δ for one ordered pair, and what is known of its error."""

    epsilon: float
    """What was asked for, or a smaller ε where too few points are above that one: δ is no smaller there."""
    delta: float
    standard_error: float
    """Of δ, from the finite number of draws."""
    largest_share: float
    """The share of δ that one point has: large where tilts missed what decides δ."""
    normalisation: float
    """log E_j[e^L 1_A] − log P_i(A): by how much L is off, on average where it decides; 0 if it is right."""
    normalisation_error: float
    """One standard error of that."""
    upper_bound: float
    """δ with the second-order terms' margin, the measured error of L, and standard errors."""
    total_variation: float
    """An upper confidence bound on H_0."""
    draws: int


@frozen(kw_only=True, eq=False)
class NoisySum:
    """One scenario: a distribution that is drawn from, and its density by saddlepoints."""

    sums: SumOfRows
    density: TiltedLaw

    @classmethod
    def of(cls, density: TiltedLaw) -> "NoisySum":
        """Return the distribution whose density is given."""
        strata = [
            RowKinds(values=each.values, counts=each.counts, drawn=each.drawn, replacement=each.share == 0)
            for each in density.strata
        ]
        return cls(sums=SumOfRows(strata=strata, mean=density.mean, gaussian=density.noise), density=density)

    def densities(self, points: Floats, like: tuple["NoisySum", Saddlepoints] | None = None) -> Saddlepoints:
        """Return the saddlepoints of points, one a row, sought from where those of a like distribution are."""
        tilts = self.normal_tilts(points)
        if like is not None:
            other, at = like
            tilts += np.where(at.found[:, np.newaxis], at.tilts - other.normal_tilts(points), 0.0)
        return self.density.saddlepoints(points, tilts)

    def normal_tilts(self, points: Floats) -> Floats:
        """Return where saddlepoints would be if the distribution were normal."""
        return np.asarray((points - self.density.mean) @ np.linalg.inv(self.density.covariance))

    def second_order(self, at: Saddlepoints, which: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Return log p to the second order, and c₂, at some of the points."""
        places = np.flatnonzero(which)
        terms = np.clip(second_order_terms(self.density, at, places), LEAST_TERM, None)
        return _logs(at)[places] + np.log1p(terms), terms


def _logs(at: Saddlepoints) -> Floats:
    """Return log p to the leading order."""
    return np.where(at.found, at.log_densities, NOTHING)


NOTHING = -1e4
"""The logarithm of a density that has no saddlepoint."""

LEAST_TERM = -0.9
"""c₂ below which 1 + c₂ is no factor of a density."""


def delta_by_draws(
    first: NoisySum,
    second: NoisySum,
    epsilon: float,
    *,
    matters: float = 0.0,
    roughly: bool = False,
    settings: DrawSettings = DEFAULT,
) -> DrawnDelta:
    """Estimate H_ε(first ‖ second), with an upper bound.

    Args:
        first: the scenario that is drawn from.
        second: the other.
        epsilon: ε.
        matters: a δ far below this need not be known well.
        roughly: whether few draws are enough, as for a search.
        settings: how many draws, and how they are chosen.

    How many of 24 coins show heads, or of 20, with Gaussian noise of deviation 2:

    >>> from distpriv.law.tilted_stratum import TiltedStratum
    >>> def coins(drawn):
    ...     values = np.array([[-0.5], [0.5]])
    ...     stratum = TiltedStratum.of(values, np.ones(2), drawn, replacement=True)
    ...     return NoisySum.of(TiltedLaw.of([stratum], np.array([drawn / 2]), np.eye(1) * 4.0))
    >>> found = delta_by_draws(coins(24), coins(20), 0.5)
    >>> found.delta < found.upper_bound < 1.2 * found.delta
    True
    """
    rng = np.random.default_rng(settings.seed)
    mixture, starts, far_below = _recentred(first, second, epsilon, matters, settings, rng)
    draws = settings.fewer_draws if roughly or far_below else settings.draws
    mixture = mixture.of_whole_draws(draws)
    points = mixture.draw(draws, rng)
    weights, untilted = mixture.weights(points), np.arange(len(points)) < round(mixture.shares[0] * draws)
    ratios = _log_ratios(first, second, points, epsilon, settings, untilted)
    level = _level(weights, ratios.corrected, epsilon, settings.enough_points)
    if level < epsilon:
        ratios = _log_ratios(first, second, points, level, settings, untilted)
    terms = weights * _lost(level - ratios.corrected)
    mean = controlled(mixture, points, settings.folds, settings.seed)
    delta, error = ratios.mean(lambda logs: weights * _lost(level - logs), mean)
    off, off_error = 0.0, 0.0
    if not roughly:
        chance, chance_error = ratios.mean(lambda logs: weights * ratios.event(logs, level), mean_and_error)
        other = starts.of_whole_draws(draws // 2)
        there = other.draw(draws // 2, rng)
        weights_there, ratios_there = other.weights(there), _log_ratios(first, second, there, level, settings)
        image, image_error = ratios_there.mean(
            lambda logs: weights_there * ratios_there.event(logs, level) * np.exp(np.minimum(logs, LARGEST_LOG)),
            mean_and_error,
        )
        if max(image, chance) > 0:  # otherwise no point is above the level
            off = math.log(max(image, TINY) / max(chance, TINY))
            off_error = math.hypot(chance_error / max(chance, TINY), image_error / max(image, TINY))
    shift = max(0.0, abs(off) - settings.deviations * off_error)
    bounded, bounded_error = ratios.mean(lambda logs: weights * _lost(level - logs - shift), mean, raised=True)
    # To the first order at all points; what the rest adds at those where it is known and weights are not needed.
    rough = _lost(-ratios.first_order)
    apart, apart_error = mean(weights * rough)
    more, more_error = mean_and_error((_lost(-ratios.corrected - ratios.margins) - rough)[untilted & ratios.sample])
    largest = float(terms.max(initial=0.0))
    return DrawnDelta(
        epsilon=level,
        delta=delta,
        standard_error=error,
        largest_share=largest / max(float(terms.sum()), TINY),
        normalisation=off,
        normalisation_error=off_error,
        upper_bound=min(
            1.0, bounded + settings.deviations * bounded_error + settings.deviations**2 * largest / len(terms)
        ),
        total_variation=min(1.0, apart + more + settings.deviations * math.hypot(apart_error, more_error)),
        draws=draws,
    )


TINY = 1e-300

LARGEST_LOG = 300.0
"""The logarithm of a ratio that is as good as infinite."""


def _lost(exponents: Floats) -> Floats:
    """Return (1 − e^x)₊."""
    return np.asarray(-np.expm1(np.minimum(0.0, exponents)))


def effective_number(terms: Floats) -> float:
    """Return the effective number of terms, (Σx)²/Σx²; 0 if all are 0."""
    squares = float((terms**2).sum())
    return float(terms.sum()) ** 2 / squares if squares > 0 else 0.0


def mean_and_error(values: Floats) -> tuple[float, float]:
    """Return the mean of independent values, and its standard error."""
    return float(values.mean()), float(values.std()) / math.sqrt(len(values))


def controlled(
    mixture: TiltedMixture, points: Floats, folds: int, seed: int
) -> Callable[[Floats], tuple[float, float]]:
    """Return how the mean of values at points of a mixture is computed: with tilts along the shift as controls."""
    controls = mixture.controls(points, 1 + len(ALONG))
    return lambda values: controlled_mean(values, controls, folds, seed)


def controlled_mean(values: Floats, controls: Floats, folds: int, seed: int) -> tuple[float, float]:
    """Return the mean of values at points of a mixture, and its standard error, less what controls explain.

    Controls are regressed on the other folds only, so that the estimate has no bias however few points matter (Owen &
    Zhou 2000; Rubinstein & Marcus 1985). Where they explain nothing it is the plain mean.

    >>> rng = np.random.default_rng(0)
    >>> controls = rng.standard_normal((1000, 1))
    >>> mean, error = controlled_mean(5 + controls[:, 0] + 0.01 * rng.standard_normal(1000), controls, 5, 0)
    >>> bool(abs(mean - 5) < 4 * error < 0.002)
    True
    """
    plain = mean_and_error(values)
    if folds == 1 or plain[1] == 0:
        return plain
    fold = np.random.default_rng(seed).permutation(len(values)) % folds
    left = np.empty(len(values))
    for which in range(folds):
        there, here = fold != which, fold == which
        offset = values[there].mean()
        found = np.linalg.lstsq(controls[there], values[there] - offset, rcond=LEAST_SINGULAR)[0]
        left[here] = values[here] - controls[here] @ found
    controlled = mean_and_error(left)
    return controlled if controlled[1] < plain[1] else plain


LEAST_SINGULAR = 1e-6
"""The least singular value of the controls, as a share of the largest, that a regression uses."""


def _log_ratios(
    first: NoisySum,
    second: NoisySum,
    points: Floats,
    epsilon: float,
    settings: DrawSettings,
    also: NDArray[np.bool_] | None = None,
) -> "_LogRatios":
    """Return L to the first order, and to the second with a margin for the third at points where it may be above ε.

    Where a density is not known L is as large as it can be, which counts the point in full.
    """
    one = first.densities(points)
    other = second.densities(points, (first, one))
    known = one.found & other.found
    ratios = np.where(known, _logs(one) - _logs(other), -NOTHING)
    corrected, margins = ratios.copy(), np.zeros(len(points))
    near = known & (ratios > epsilon - settings.near)
    if also is not None:
        near |= known & also
    sample = np.ones(len(points), dtype=bool)
    if len(first.sums.mean) >= settings.many_statistics:
        sample = np.arange(len(points)) % -(-len(points) // settings.sample) == 0
    near &= sample
    if near.any():
        logs, terms = first.second_order(one, near)
        other_logs, other_terms = second.second_order(other, near)
        corrected[near] = logs - other_logs
        third_order = (terms**2 + other_terms**2) / max(1.0, len(first.sums.mean) / settings.statistics_alike)
        margins[near] = np.abs(terms - other_terms) / 2 + third_order
    return _LogRatios(first_order=ratios, corrected=corrected, margins=margins, sample=sample, known=known)


@frozen(kw_only=True, eq=False)
class _LogRatios:
    """L at points: to the first order at all of them, to the second at a systematic sample."""

    first_order: Floats
    corrected: Floats
    """To the second order where that is known."""
    margins: Floats
    """For the third order, at the same points."""
    sample: NDArray[np.bool_]
    known: NDArray[np.bool_]
    """Whether both densities have a saddlepoint."""

    def event(self, logs: Floats, level: float) -> NDArray[np.bool_]:
        """Return which points are in A = {L > level}, of those where both densities are known."""
        return np.asarray((logs > level) & self.known)

    def mean(
        self,
        terms: Callable[[Floats], Floats],
        mean: Callable[[Floats], tuple[float, float]],
        *,
        raised: bool = False,
    ) -> tuple[float, float]:
        """Return the mean of a function of L, and its standard error, by two levels.

        All points tell the mean to the first order; what the second order adds has little variance, and a sample of the
        points tells it (Giles 2015, section 1.1).

        Args:
            terms: the function.
            mean: how the mean of values at all points is computed.
            raised: whether L has the margin for the third order.
        """
        rough = terms(self.first_order)
        fine = terms(self.corrected + self.margins if raised else self.corrected)
        if self.sample.all():
            return mean(fine)
        found, error = mean(rough)
        more, more_error = mean_and_error((fine - rough)[self.sample])
        return found + more, math.hypot(error, more_error)


def _recentred(
    first: NoisySum, second: NoisySum, epsilon: float, matters: float, settings: DrawSettings, rng: np.random.Generator
) -> tuple[TiltedMixture, TiltedMixture, bool]:
    """Return mixtures that draw where δ is decided, of the first and of the second distribution, and a verdict.

    The verdict is whether δ is far below what matters.
    """
    plain, *rest = settings.shares
    base = first_tilts(first, second, settings.influential, rng)
    tilts, shares = base, np.array([plain, *np.full(len(base) - 1, sum(rest) / (len(base) - 1))])
    chosen, others, rounds_there, far_below = list[Floats](), list[Floats](), 0, False
    for _ in range(settings.rounds):
        mixture = TiltedMixture(of=first.sums, tilts=tilts, shares=shares)
        points = mixture.draw(settings.pilot_draws, rng)
        one = first.densities(points)
        other = second.densities(points, (first, one))
        ratios, weights = _logs(one) - _logs(other), mixture.weights(points)
        level = _level(weights, ratios, epsilon, settings.enough_points)
        terms = weights * _lost(level - ratios)
        if not terms.any():
            break
        picked = rng.choice(len(terms), size=settings.recentred, p=terms / terms.sum())
        chosen.append(one.tilts[picked])
        others.append(other.tilts[picked])
        tilts, shares = _mixed(base, chosen, settings.shares, settings)
        rounds_there += level >= epsilon
        mean, error = mean_and_error(terms)
        far_below = mean + settings.deviations * error < settings.far_below * matters
        if level >= epsilon and mean > settings.large:
            tilts, shares = _mixed(base, chosen, settings.shares_of_large, settings)
            break
        if rounds_there >= settings.rounds_there or (far_below and len(chosen) > 1):
            break
    there = np.concatenate([base, *others[-settings.remembered :]])
    return (
        TiltedMixture(of=first.sums, tilts=tilts, shares=shares),
        TiltedMixture(of=second.sums, tilts=there, shares=shares),
        far_below,
    )


def _mixed(
    base: Floats, chosen: Sequence[Floats], parts: tuple[float, float, float], settings: DrawSettings
) -> tuple[Floats, Floats]:
    """Return the first tilts and the latest of those that were chosen, and the share of the draws that each has."""
    plain, wide, recentred = parts
    last = min(len(chosen), settings.remembered)
    ages = np.repeat(0.5 ** np.arange(last)[::-1], settings.recentred)
    even = np.full(len(base) - 1, wide / (len(base) - 1))
    return np.concatenate([base, *chosen[-last:]]), np.concatenate([[plain], even, recentred * ages / ages.sum()])


def _level(weights: Floats, ratios: Floats, epsilon: float, enough: float) -> float:
    """Return ε, or about the largest smaller level that enough of the points are above; 0 if there is none."""
    highest = np.sort(ratios)[::-1]
    ranks = np.unique(np.geomspace(min(enough, len(highest)), len(highest), LEVELS).astype(int)) - 1
    for level in [epsilon, *(highest[ranks][(highest[ranks] < epsilon) & (highest[ranks] > 0)]).tolist()]:
        terms = weights * _lost(level - ratios)
        if effective_number(terms) >= enough:
            return float(level)
    return 0.0


LEVELS = 48
"""How many levels, between the highest ratio and 0, are tried."""


def first_tilts(first: NoisySum, second: NoisySum, influential: int, rng: np.random.Generator) -> Floats:
    """Return no tilt, tilts along the shift, in random directions, and towards rows that move the statistics far."""
    size, covariance = len(first.sums.mean), first.density.covariance
    root = np.linalg.cholesky(covariance)
    shift = np.linalg.solve(covariance, first.density.mean - second.density.mean)
    length = np.linalg.norm(root.T @ shift)
    along = [] if length == 0 else [shift / length * distance for distance in ALONG]
    directions = rng.standard_normal((8 + min(2 * size, 24), size))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    distances = rng.choice(ASIDE, size=(len(directions), 1))
    aside = distances * directions @ np.linalg.inv(root)
    return np.array([np.zeros(size), *along, *aside, *_towards_rows(first, influential)])


def _towards_rows(of: NoisySum, most: int) -> list[Floats]:
    """Return tilts under which about one more row of a kind is drawn, of the kinds that move the statistics farthest.

    A row x is drawn k p_x times, and under the tilt θ = c C⁻¹x about e^{θᵀx} times as often.
    """
    inverse = np.linalg.inv(of.density.covariance)
    found = []
    for stratum in of.density.strata:
        squares = np.einsum("ki,ij,kj->k", stratum.values, inverse, stratum.values)
        expected = stratum.drawn * stratum.counts / stratum.counts.sum()
        for place in np.argsort(-squares * np.minimum(expected, 1), kind="stable")[:most]:
            if squares[place] > VISIBLE**2:
                more = max(0.0, -math.log(expected[place])) + 1
                found.append((more / squares[place], -squares[place], stratum.values[place] @ inverse))
    found.sort(key=lambda each: each[1])
    return [min(more, FARTHEST / math.sqrt(-square)) * tilt for more, square, tilt in found[:most]]


ALONG, ASIDE = (-3.0, -1.5, 1.0, 2.0, 3.0, 4.0), (1.5, 3.0)
"""How far the first tilts move the mean, in standard deviations: along the shift, and elsewhere."""

VISIBLE, FARTHEST = 0.25, 6.0
"""Standard deviations by which a row must move the statistics for a tilt of its own, and that a tilt moves the mean."""
