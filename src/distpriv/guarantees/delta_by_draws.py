r"""δ from the rows themselves: exact tilted draws, importance weights without a density, and saddlepoint ratios.

.. math:: δ_{i \to j}(ε) = E_{Y \sim P_i} \bigl(1 - e^{ε - L(Y)}\bigr)_+, \qquad L = \log \frac{p_i}{p_j}

Y is drawn exactly, for any rows (`law.draws`); nothing that is likely can be missed. Only L is approximate: saddlepoint
densities to the second order (Daniels 1954, eq. 2.6; McCullagh 1987, eq. 6.15). What the approximation leaves out is
measured by :math:`E_j[e^L 1_A] = P_i(A)` for A = {L > ε}, with draws from both distributions. The same steps estimate δ
under Laplace noise along a line, where lines are drawn instead of points (`delta_by_lines`).
"""

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from distpriv.deadline import require_time
from distpriv.framework.arrays import Floats
from distpriv.law.cumulants import log_densities
from distpriv.law.draws import TiltedMixture
from distpriv.law.saddlepoint import Saddlepoints, TiltedLaw

__all__ = [
    "TINY",
    "AtPoints",
    "DrawSettings",
    "DrawnDelta",
    "Ratios",
    "delta_by_draws",
    "effective_number",
    "estimated",
    "mean_and_error",
    "surpassing",
]

TINY = 1e-300
"""Added to nothing where it is divided by."""


@frozen(kw_only=True)
class DrawSettings:
    """How δ is estimated; draws are points, or lines along which densities are integrated."""

    draws: int = 2400
    """Draws at which the ratio is computed; the standard error of δ is about 1.5/√draws of it."""
    fewer_draws: int = 800
    """The same where δ is far below what matters."""
    reverse_draws: int = 1200
    """Draws from the second distribution, by which the ratio's error is measured."""
    pilot_draws: int = 400
    """Draws in each round that chooses tilts."""
    pilots: int = 8
    """Pilots whose tilts are mixed where δ is rare, with twice as many tilts in each round."""
    rare: float = 1e-4
    """The δ that matters below which it is rare."""
    rounds: int = 8
    """Cross-entropy rounds at most (Rubinstein & Kroese 2004, section 3)."""
    rounds_there: int = 2
    """Rounds in which the level is ε itself, after which tilts are good enough."""
    recentred: int = 12
    """Tilts added in each round: the saddlepoints of draws that carry the pilot's mass."""
    remembered: int = 3
    """Rounds whose tilts are in the mixture, the latest with most of the draws."""
    shares: tuple[float, float, float] = (0.25, 0.2, 0.55)
    """Of the draws: untilted, under the first round's tilts, and recentred. Weights are at most 1/0.25."""
    shares_of_large: tuple[float, float, float] = (0.7, 0.2, 0.1)
    """The same where δ is large, so that untilted draws decide it."""
    large: float = 0.02
    """The δ from which on it is large."""
    enough_draws: float = 20.0
    """A level ε' ≤ ε is low enough for a round if its terms have this effective number of draws."""
    levels: int = 48
    """How many levels below ε are tried."""
    deviations: float = 2.5
    """Standard errors in the upper confidence bound: 0.6 % on a normal distribution."""
    powers: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
    """Moments E e^{sL} that bound δ where too few draws are above ε: s."""
    enough_for_moments: float = 40.0
    """The effective number of draws that a moment needs."""
    deviations_of_moments: float = 3.0
    """Standard errors in the bound by moments, which is the smallest of several."""
    moment_draws: int = 6000
    """Untilted draws for moments."""
    unseen: float = 5.0
    """The bound by moments is at least this over the draws: what none of them met is rarer, with a chance of 99.3 %."""
    far_below: float = 0.1
    """The share of the δ that matters below which fewer draws are enough."""
    folds: int = 5
    """Into how many parts draws fall for the regression on controls, which is of all others for each; 1 for none."""
    least_singular: float = 1e-6
    """The least singular value of the controls, as a share of the largest, that a regression uses."""
    largest_log: float = 300.0
    """The logarithm of a ratio that is as good as infinite."""
    seed: int = 20
    """Of all draws, so that whoever verifies a certificate finds the same δ."""


@frozen(kw_only=True)
class TiltSettings:
    """The first tilts, before any point is drawn; distances are in standard deviations of the statistics."""

    along: tuple[float, ...] = (-3.0, -1.5, 1.0, 2.0, 3.0, 4.0)
    """How far they move the mean along the shift."""
    aside: tuple[float, ...] = (1.5, 3.0)
    """How far they move it in random directions."""
    influential: int = 24
    """Kinds of rows, those that move the statistics farthest, towards which tilts pull."""
    visible: float = 0.25
    """By how much a row must move the statistics for a tilt of its own."""
    farthest: float = 6.0
    """By how much a tilt towards a row moves the mean at most."""


@frozen(kw_only=True)
class PointSettings:
    """At which points densities are computed to the second order."""

    many_statistics: int = 4
    """Statistics from which on second-order terms take longest, and are computed at a sample of the points."""
    sample: int = 480
    """How many points are in that sample, about."""
    near: float = 0.3
    """Second-order terms are computed where the first-order L is above ε less this, and at untilted points."""
    statistics_alike: float = 8.0
    """Of more statistics c₂ is a sum of several terms, this number in each; the third order is of their squares."""
    unknown: float = 1e4
    """L where one of the densities has no saddlepoint: such points count in full."""


Mean = Callable[[Floats], tuple[float, float]]
"""How the mean of values at all draws is computed, with its standard error."""

SETTINGS, TILTS, POINTS = DrawSettings(), TiltSettings(), PointSettings()


@frozen(kw_only=True)
class DrawnDelta:
    """An estimate of δ for one ordered pair, and what is known of its error."""

    epsilon: float
    """What was asked for, or a smaller ε where too few draws are above that one: δ is no smaller there."""
    delta: float
    standard_error: float
    """Of δ, from the finite number of draws."""
    normalisation: float
    """log E_j[e^L 1_A] − log P_i(A): by how much L is off, on average where it decides; 0 if it is right."""
    normalisation_error: float
    """One standard error of that."""
    upper_bound: float
    """δ with the second-order terms' margin, the measured error of L, and standard errors."""
    total_variation: float
    """An upper confidence bound on H_0."""
    draws: int


class Ratios(Protocol):
    """What is known of L at draws: what every draw loses, and estimates of means with their standard errors."""

    def level(self, weights: Floats, epsilon: float, settings: DrawSettings) -> float:
        """Return ε, or about the largest smaller level that enough of the draws are above; 0 if there is none."""

    def terms(self, level: float) -> Floats:
        """Return (1 − e^{ε' − L})₊ of every draw, without margins."""

    def moments(self, weights: Floats, epsilon: float, power: float, raised: float) -> tuple[float, float, float]:
        """Return the mean of min(1, C_s e^{s(L − ε)}), its error, and the effective number of draws behind it.

        (1 − e^{ε − L})₊ is never above it, with C_s = s^s/(1 + s)^{1 + s}.
        """

    def tilts_at(self, which: NDArray[np.int64], level: float) -> tuple[Floats, Floats]:
        """Return the tilts that centre both distributions where some draws decide."""

    def loss(self, weights: Floats, level: float, mean: Mean, raised: float | None = None) -> tuple[float, float]:
        """Return the mean of the terms; with L larger by its margin and by so much more if that is given."""

    def total_variation(self, weights: Floats, untilted: NDArray[np.bool_], mean: Mean) -> tuple[float, float]:
        """Return H_0, with margins."""

    def event(self, weights: Floats, level: float) -> tuple[float, float]:
        """Return P_i(A) by draws from the first distribution, of those at which both densities are known."""

    def image(self, weights: Floats, level: float) -> tuple[float, float]:
        """Return E_j[e^L 1_A] by draws from the second distribution, of those at which both densities are known."""


def delta_by_draws(
    first: TiltedLaw, second: TiltedLaw, epsilon: float, *, matters: float = 0.0, settings: DrawSettings = SETTINGS
) -> DrawnDelta:
    """Estimate H_ε(first ‖ second), with an upper bound.

    A δ far below what `matters` need not be known well.
    """
    return estimated(AtPoints(first=first, second=second), epsilon, matters, settings)


def estimated(scenarios: "AtPoints", epsilon: float, matters: float, settings: DrawSettings) -> DrawnDelta:
    """Return the estimate of H_ε from draws where δ is decided."""
    require_time()
    rng = np.random.default_rng(settings.seed)
    mixture, reverse, far_below = _recentred(scenarios, epsilon, matters, settings, rng)
    draws = settings.fewer_draws if far_below else settings.draws
    mixture = mixture.of_whole_draws(draws)
    points = mixture.draw(draws, rng)
    weights, untilted = mixture.weights(points), np.arange(draws) < round(mixture.shares[0] * draws)
    mean = _controlled(mixture, points, settings)
    ratios, level = scenarios.deciding(points, weights, epsilon, untilted, settings)
    delta, error = ratios.loss(weights, level, mean)
    chance, chance_error = ratios.event(weights, level)
    reverse_draws = settings.reverse_draws * draws // settings.draws
    reverse = reverse.of_whole_draws(reverse_draws)
    there = reverse.draw(reverse_draws, rng)
    image, image_error = scenarios.reverse(there, level).image(reverse.weights(there), level)
    off, off_error = 0.0, 0.0
    if max(image, chance) > 0:  # otherwise no draw is above the level
        off = math.log(max(image, TINY) / max(chance, TINY))
        off_error = math.hypot(chance_error / max(chance, TINY), image_error / max(image, TINY))
    shift = max(0.0, abs(off) - settings.deviations * off_error)
    bounded, bounded_error = ratios.loss(weights, level, mean, raised=shift)
    distance, distance_error = ratios.total_variation(weights, untilted, mean)
    largest = float((weights * ratios.terms(level)).max(initial=0.0))
    margin = settings.deviations * bounded_error + settings.deviations**2 * largest / draws
    drawn = DrawnDelta(
        epsilon=level,
        delta=delta,
        standard_error=error,
        normalisation=off,
        normalisation_error=off_error,
        upper_bound=min(1.0, bounded + margin + scenarios.outside),
        total_variation=min(1.0, distance + settings.deviations * distance_error + scenarios.outside),
        draws=draws,
    )
    rarest = settings.unseen / settings.moment_draws
    if level >= epsilon or drawn.upper_bound <= matters or matters <= rarest:
        return drawn
    return _by_moments(drawn, scenarios, epsilon, shift, rarest, settings, rng)


def _by_moments(
    drawn: DrawnDelta,
    scenarios: "AtPoints",
    epsilon: float,
    shift: float,
    rarest: float,
    settings: DrawSettings,
    rng: np.random.Generator,
) -> DrawnDelta:
    """Return the bound on δ by a moment of e^L where that is smaller (Abadi et al. 2016, theorem 2).

    Tilts do not reach everywhere: of many statistics L is a sum of many small terms, and may be large without any of
    them being so. Untilted draws give moments whichever terms these come from, but for what is rarer than the draws.
    """
    size = len(scenarios.first.mean)
    plain = TiltedMixture(of=scenarios.first, tilts=np.zeros((1, size)), shares=np.ones(1))
    points, weights = plain.draw(settings.moment_draws, rng), np.ones(settings.moment_draws)
    ratios, _ = scenarios.deciding(points, weights, drawn.epsilon, weights < 1, settings)
    for power in settings.powers:
        mean, error, effective = ratios.moments(weights, epsilon, power, shift)
        bound = max(mean + settings.deviations_of_moments * error, rarest)
        if effective >= settings.enough_for_moments and bound < drawn.upper_bound:
            drawn = evolve(drawn, epsilon=epsilon, delta=mean, standard_error=error, upper_bound=bound)
    return drawn


def surpassing(logs: Floats, epsilon: float, power: float) -> Floats:
    """Return min(1, C_s e^{s(L − ε)}).

    >>> logs = np.linspace(-3, 5, 99)
    >>> bool((lost(1.0 - logs) <= surpassing(logs, 1.0, 2.0)).all())
    True
    """
    logarithm = power * math.log(power) - (1 + power) * math.log1p(power)
    return np.exp(np.minimum(0.0, logarithm + power * (logs - epsilon)))


def _recentred(
    scenarios: "AtPoints", epsilon: float, matters: float, settings: DrawSettings, rng: np.random.Generator
) -> tuple[TiltedMixture, TiltedMixture, bool]:
    """Return mixtures that draw where δ is decided, of the first and of the second distribution, and a verdict.

    The verdict is whether δ is far below what matters. A small δ may be decided in several places, of which one pilot
    finds some: then the tilts of several pilots are mixed.
    """
    rare = 0 < matters < settings.rare
    settings = evolve(settings, recentred=2 * settings.recentred) if rare else settings
    pilots = [
        _pilot(scenarios, epsilon, matters, settings, rng, early=not rare)
        for _ in range(settings.pilots if rare else 1)
    ]
    plain = np.mean([pilot.shares[0] for pilot in pilots])
    shares = np.concatenate([[plain], *(pilot.shares[1:] / len(pilots) for pilot in pilots)])
    tilts, there = (
        np.concatenate([of_all[0][:1], *(tilts[1:] for tilts in of_all)])
        for of_all in ([pilot.tilts for pilot in pilots], [pilot.reverse for pilot in pilots])
    )
    return (
        TiltedMixture(of=scenarios.first, tilts=tilts, shares=shares),
        TiltedMixture(of=scenarios.second, tilts=there, shares=shares),
        all(pilot.far_below for pilot in pilots),
    )


@frozen(kw_only=True)
class _Pilot:
    """Tilts, none at first, with the share of the draws that each has."""

    tilts: Floats
    shares: Floats
    reverse: Floats
    """Tilts of the second distribution, with the same shares."""
    far_below: bool
    """Whether δ is far below what matters."""


def _pilot(
    scenarios: "AtPoints", epsilon: float, matters: float, settings: DrawSettings, rng: np.random.Generator, early: bool
) -> _Pilot:
    """Return the tilts that the cross-entropy method ends with, early where δ is far below what matters."""
    plain, *rest = settings.shares
    base = scenarios.first_tilts(rng)
    tilts, shares = base, np.array([plain, *np.full(len(base) - 1, sum(rest) / max(len(base) - 1, 1))])
    centres, reverse_centres, rounds_there, far_below = list[Floats](), list[Floats](), 0, False
    for _ in range(settings.rounds):
        mixture = TiltedMixture(of=scenarios.first, tilts=tilts, shares=shares)
        points = mixture.draw(settings.pilot_draws, rng)
        ratios, weights = scenarios.roughly(points), mixture.weights(points)
        level = ratios.level(weights, epsilon, settings)
        terms = weights * ratios.terms(level)
        if not terms.any():
            break
        picked = rng.choice(len(terms), size=settings.recentred, p=terms / terms.sum())
        own, other = ratios.tilts_at(picked, level)
        centres.append(own)
        reverse_centres.append(other)
        tilts, shares = _mixed(base, centres, settings.shares, settings)
        rounds_there += level >= epsilon
        mean, error = mean_and_error(terms)
        far_below = mean + settings.deviations * error < settings.far_below * matters
        if level >= epsilon and mean > settings.large:
            tilts, shares = _mixed(base, centres, settings.shares_of_large, settings)
            break
        if rounds_there >= settings.rounds_there or (far_below and early and len(centres) > 1):
            break
    there = np.concatenate([base, *reverse_centres[-settings.remembered :]])
    return _Pilot(tilts=tilts, shares=shares, reverse=there, far_below=far_below)


def _mixed(
    base: Floats, centres: Sequence[Floats], parts: tuple[float, float, float], settings: DrawSettings
) -> tuple[Floats, Floats]:
    """Return the first tilts and the latest of the others, and the share of the draws that each has."""
    plain, wide, recentred = parts
    last = min(len(centres), settings.remembered)
    ages = np.repeat(0.5 ** np.arange(last)[::-1], settings.recentred)
    even = np.full(len(base) - 1, wide / (len(base) - 1))
    return np.concatenate([base, *centres[-last:]]), np.concatenate([[plain], even, recentred * ages / ages.sum()])


def _towards_rows(law: TiltedLaw) -> list[Floats]:
    """Return tilts under which about one more row of a kind is drawn, of the kinds that move the statistics farthest.

    A row x is drawn k p_x times, and under the tilt θ = c C⁻¹x about e^{θᵀx} times as often.
    """
    inverse, most = np.linalg.inv(law.covariance), TILTS.influential
    towards = []
    for stratum in law.strata:
        squares = np.einsum("ki,ij,kj->k", stratum.values, inverse, stratum.values)
        expected = stratum.drawn * stratum.counts / stratum.counts.sum()
        for place in np.argsort(-squares * np.minimum(expected, 1), kind="stable")[:most]:
            if squares[place] > TILTS.visible**2:
                more = max(0.0, -math.log(expected[place])) + 1
                towards.append((more / squares[place], -squares[place], stratum.values[place] @ inverse))
    towards.sort(key=lambda entry: entry[1])
    return [min(more, TILTS.farthest / math.sqrt(-square)) * tilt for more, square, tilt in towards[:most]]


def lost(exponents: Floats) -> Floats:
    """Return (1 − e^x)₊."""
    return np.asarray(-np.expm1(np.minimum(0.0, exponents)))


def effective_number(terms: Floats) -> float:
    """Return the effective number of terms, (Σx)²/Σx²; 0 if all are 0."""
    squares = float((terms**2).sum())
    return float(terms.sum()) ** 2 / squares if squares > 0 else 0.0


def mean_and_error(values: Floats) -> tuple[float, float]:
    """Return the mean of independent values, and its standard error."""
    return float(values.mean()), float(values.std()) / math.sqrt(len(values))


def _controlled(mixture: TiltedMixture, points: Floats, settings: DrawSettings) -> Mean:
    """Return how the mean of values at points of a mixture is computed: with tilts along the shift as controls."""
    controls = mixture.controls(points, 1 + len(TILTS.along))
    return lambda values: controlled_mean(values, controls, settings)


def controlled_mean(values: Floats, controls: Floats, settings: DrawSettings = SETTINGS) -> tuple[float, float]:
    """Return the mean of values at points of a mixture, and its standard error, less what controls explain.

    Controls are regressed on the other folds only, so that the estimate has no bias however few points matter (Owen &
    Zhou 2000; Rubinstein & Marcus 1985). Where they explain nothing it is the plain mean.

    >>> rng = np.random.default_rng(0)
    >>> controls = rng.standard_normal((1000, 1))
    >>> mean, error = controlled_mean(5 + controls[:, 0] + 0.01 * rng.standard_normal(1000), controls)
    >>> bool(abs(mean - 5) < 4 * error < 0.002)
    True
    """
    plain = mean_and_error(values)
    if settings.folds == 1 or plain[1] == 0:
        return plain
    fold = np.random.default_rng(settings.seed).permutation(len(values)) % settings.folds
    rest = np.empty(len(values))
    for which in range(settings.folds):
        there, here = fold != which, fold == which
        centred = values[there] - values[there].mean()
        slopes = np.linalg.lstsq(controls[there], centred, rcond=settings.least_singular)[0]
        rest[here] = values[here] - controls[here] @ slopes
    controlled = mean_and_error(rest)
    return controlled if controlled[1] < plain[1] else plain


@frozen(kw_only=True, eq=False)
class AtPoints:
    """The two distributions of an ordered pair, and L at points drawn from them."""

    first: TiltedLaw
    second: TiltedLaw

    @property
    def outside(self) -> float:
        """The probability, of the first distribution, of what is not looked at, which counts in full."""
        return 0.0

    def first_tilts(self, rng: np.random.Generator) -> Floats:
        """Return no tilt, tilts along the shift, in random directions, and towards rows that move the sums far."""
        first, size, covariance = self.first, len(self.first.mean), self.first.covariance
        root = np.linalg.cholesky(covariance)
        shift = np.linalg.solve(covariance, first.mean - self.second.mean)
        length = np.linalg.norm(root.T @ shift)
        along = [] if length == 0 else [shift / length * distance for distance in TILTS.along]
        directions = rng.standard_normal((8 + min(2 * size, 24), size))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        distances = rng.choice(TILTS.aside, size=(len(directions), 1))
        aside = distances * directions @ np.linalg.inv(root)
        return np.array([np.zeros(size), *along, *aside, *_towards_rows(first)])

    def roughly(self, points: Floats) -> Ratios:
        """Return L to the first order."""
        return self._first_order(points)

    def deciding(
        self, points: Floats, weights: Floats, epsilon: float, untilted: NDArray[np.bool_], settings: DrawSettings
    ) -> tuple[Ratios, float]:
        """Return L to the second order, where it may be above a level and at untilted draws, and that level."""
        ratios = self._second_order(points, epsilon, untilted)
        level = ratios.level(weights, epsilon, settings)
        return ratios if level == epsilon else self._second_order(points, level, untilted), level

    def reverse(self, points: Floats, level: float) -> Ratios:
        """Return L to the second order at draws from the second distribution."""
        return self._second_order(points, level, np.zeros(len(points), dtype=bool))

    def _first_order(self, points: Floats) -> "_RatiosAtPoints":
        one = self.first.saddlepoints(points, self.first.normal_tilts(points))
        moved = np.where(one.known[:, np.newaxis], one.tilts - self.first.normal_tilts(points), 0.0)
        other = self.second.saddlepoints(points, self.second.normal_tilts(points) + moved)
        logs = [np.where(at.known, at.log_densities, -POINTS.unknown) for at in (one, other)]
        return _RatiosAtPoints(
            saddlepoints=(one, other),
            known=one.known & other.known,
            first_order=np.asarray(logs[0] - logs[1]),
            corrected=np.asarray(logs[0] - logs[1]),
            margins=np.zeros(len(points)),
            sample=np.ones(len(points), dtype=bool),
        )

    def _second_order(self, points: Floats, level: float, untilted: NDArray[np.bool_]) -> "_RatiosAtPoints":
        """Where a density is not known L is as large as it can be, which counts the point in full."""
        rough, size = self._first_order(points), len(self.first.mean)
        first_order = np.where(rough.known, rough.first_order, POINTS.unknown)
        corrected, margins, sample = first_order.copy(), rough.margins, rough.sample
        if size >= POINTS.many_statistics:
            sample = np.arange(len(points)) % -(-len(points) // POINTS.sample) == 0
        near = (first_order > level - POINTS.near) | untilted
        places = np.flatnonzero(rough.known & near & sample)
        if len(places):
            logs, terms = log_densities(self.first, rough.saddlepoints[0], places)
            other_logs, other_terms = log_densities(self.second, rough.saddlepoints[1], places)
            corrected[places] = logs - other_logs
            third_order = (terms**2 + other_terms**2) / max(1.0, size / POINTS.statistics_alike)
            margins[places] = np.abs(terms - other_terms) / 2 + third_order
        return evolve(rough, first_order=first_order, corrected=corrected, sample=sample)


@frozen(kw_only=True, eq=False)
class _RatiosAtPoints:
    """L at points: to the first order at all of them, to the second at a systematic sample."""

    saddlepoints: tuple[Saddlepoints, Saddlepoints]
    known: NDArray[np.bool_]
    """Whether both densities have a saddlepoint."""
    first_order: Floats
    corrected: Floats
    """To the second order where that is known."""
    margins: Floats
    """For the third order, at the same points."""
    sample: NDArray[np.bool_]

    def level(self, weights: Floats, epsilon: float, settings: DrawSettings) -> float:
        enough, highest = settings.enough_draws, np.sort(self.corrected)[::-1]
        ranks = np.geomspace(min(enough, len(highest)), len(highest), settings.levels).astype(int)
        lower = highest[np.unique(ranks) - 1]
        for level in [epsilon, *lower[(lower < epsilon) & (lower > 0)].tolist()]:
            if effective_number(weights * self.terms(level)) >= enough:
                return float(level)
        return 0.0

    def terms(self, level: float) -> Floats:
        return lost(level - self.corrected)

    def moments(self, weights: Floats, epsilon: float, power: float, raised: float) -> tuple[float, float, float]:
        logs = self.corrected + self.margins
        mean, error = self._mean(lambda log: weights * surpassing(log + raised, epsilon, power), logs, mean_and_error)
        return mean, error, effective_number(weights * surpassing(logs, epsilon, power))

    def tilts_at(self, which: NDArray[np.int64], level: float) -> tuple[Floats, Floats]:  # noqa: ARG002 - draws are points
        one, other = self.saddlepoints
        return one.tilts[which], other.tilts[which]

    def loss(self, weights: Floats, level: float, mean: Mean, raised: float | None = None) -> tuple[float, float]:
        if raised is None:
            return self._mean(lambda logs: weights * lost(level - logs), self.corrected, mean)
        return self._mean(lambda logs: weights * lost(level - logs - raised), self.corrected + self.margins, mean)

    def total_variation(self, weights: Floats, untilted: NDArray[np.bool_], mean: Mean) -> tuple[float, float]:
        """To the first order at all points; what the rest adds where it is known and weights are not needed."""
        rough = lost(-self.first_order)
        total, error = mean(weights * rough)
        more, more_error = mean_and_error((lost(-self.corrected - self.margins) - rough)[untilted & self.sample])
        return total + more, math.hypot(error, more_error)

    def event(self, weights: Floats, level: float) -> tuple[float, float]:
        return self._mean(lambda logs: weights * (self.known & (logs > level)), self.corrected, mean_and_error)

    def image(self, weights: Floats, level: float) -> tuple[float, float]:
        def image(logs: Floats) -> Floats:
            return weights * np.where(self.known & (logs > level), np.exp(np.minimum(logs, SETTINGS.largest_log)), 0.0)

        return self._mean(image, self.corrected, mean_and_error)

    def _mean(self, terms: Callable[[Floats], Floats], second_order: Floats, mean: Mean) -> tuple[float, float]:
        """Return the mean of a function of L, and its standard error, by two levels.

        All points tell the mean to the first order; what the second order adds has little variance, and a sample of the
        points tells it (Giles 2015, section 1.1).
        """
        fine = terms(second_order)
        if self.sample.all():
            return mean(fine)
        rough = terms(self.first_order)
        roughly, error = mean(rough)
        more, more_error = mean_and_error((fine - rough)[self.sample])
        return roughly + more, math.hypot(error, more_error)
