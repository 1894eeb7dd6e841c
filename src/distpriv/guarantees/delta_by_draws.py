r"""δ from the rows themselves: exact tilted draws, importance weights without a density, and saddlepoint ratios.

.. math:: δ_{i \to j}(ε) = E_{Y \sim P_i} \bigl(1 - e^{ε - L(Y)}\bigr)_+, \qquad L = \log \frac{p_i}{p_j}

Y is drawn exactly, whatever the rows are (`law.draws`); nothing that is likely can be missed. Only L is approximate:
saddlepoint densities to the second order (Daniels 1954, eq. 2.6; McCullagh 1987, eq. 6.15), under noise along a line
integrated over that line. What the approximation leaves out is measured by :math:`E_j[e^L 1_A] = P_i(A)` for
A = {L > ε}, with draws from both distributions.
"""

import math
from collections.abc import Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy.special import logsumexp

from distpriv.framework.arrays import Floats
from distpriv.law.cumulants import second_order_terms
from distpriv.law.draws import LaplaceLine, RowKinds, SumOfRows, TiltedMixture
from distpriv.modelling.tilted_law import Saddlepoints, TiltedLaw

__all__ = ["DrawSettings", "DrawnDelta", "NoisySum", "delta_by_draws"]


@frozen(kw_only=True)
class DrawSettings:
    """How δ is estimated."""

    draws: int = 4000
    """Points at which the ratio is computed; the standard error of δ is about 1.5/√draws of it."""
    pilot_draws: int = 600
    """Points in each round that chooses tilts."""
    rounds: int = 4
    """Cross-entropy rounds (Rubinstein & Kroese 2004, section 3)."""
    recentred: int = 12
    """Tilts added in each round: the saddlepoints of points that carry the pilot's mass."""
    shares: tuple[float, float, float] = (0.25, 0.2, 0.55)
    """Of the draws: untilted, under the first round's tilts, and recentred. Weights are at most 1/0.25."""
    enough_points: float = 20.0
    """A level ε' ≤ ε is low enough for a round if its terms have this effective number of points."""
    near: float = 0.3
    """Second-order terms are computed where the first-order L is above ε less this."""
    nodes: int = 11
    """Chebyshev nodes along the line of the noise, on which log-densities are interpolated."""
    half_width: float = 6.0
    """Half the interval of these nodes, in standard deviations along the line."""
    steepest: float = 0.97
    """The largest b|θᵀw| of a tilt: at 1 the tilted Laplace noise has no distribution."""
    deviations: float = 2.5
    """Standard errors in the upper confidence bound: 0.6 % on a normal distribution."""
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


@frozen(kw_only=True, eq=False)
class NoisySum:
    """One scenario: a distribution that is drawn from, and its density by saddlepoints."""

    sums: SumOfRows
    density: TiltedLaw
    """Without the noise along a line."""

    @classmethod
    def of(cls, density: TiltedLaw, line: LaplaceLine | None = None) -> "NoisySum":
        """Return the distribution whose density is given, with noise along a line added to it."""
        strata = [
            RowKinds(values=each.values, counts=each.counts, drawn=each.drawn, replacement=each.share == 0)
            for each in density.strata
        ]
        sums = SumOfRows(strata=strata, mean=density.mean, gaussian=density.noise, line=line)
        return cls(sums=sums, density=density)

    @property
    def covariance(self) -> Floats:
        """The covariance, with all noise."""
        line = self.sums.line
        if line is None:
            return self.density.covariance
        return np.asarray(self.density.covariance + 2 * line.scale**2 * np.outer(line.axis, line.axis))

    def densities(self, points: Floats, settings: DrawSettings) -> "_Densities":
        """Return the density at points, one a row."""
        inverse = np.linalg.inv(self.density.covariance)
        line = self.sums.line
        if line is None:
            at = self.density.saddlepoints(points, (points - self.density.mean) @ inverse)
            return _Densities(law=self.density, nodes=[at], quadrature=None)
        width = 1 / math.sqrt(line.axis @ inverse @ line.axis)
        centres = (points - self.density.mean) @ (inverse @ line.axis) * width**2
        pull = width**2 / line.scale  # by which e^{-|t|/b} moves the mode of a normal density along the line
        modes = np.sign(centres) * np.maximum(np.abs(centres) - pull, 0.0)
        nodes = np.cos(np.pi * (np.arange(settings.nodes)[::-1] + 0.5) / settings.nodes)
        places = [modes + settings.half_width * width * node for node in nodes]
        lines = [points - place[:, np.newaxis] * line.axis for place in places]
        at_nodes = self.density.saddlepoints_along(lines, [(each - self.density.mean) @ inverse for each in lines])
        quadrature = _Quadrature.of(nodes, modes, settings.half_width * width, line.scale)
        return _Densities(law=self.density, nodes=at_nodes, quadrature=quadrature)


FINE = 241
"""Points of the trapezoid rule along an interval of twelve standard deviations: twenty in each."""


@frozen(kw_only=True, eq=False)
class _Quadrature:
    """∫ e^{−|t|/b} g(y − t w) dt / 2b from log g at Chebyshev nodes, by interpolation."""

    matrix: Floats
    """From values at nodes to values at the fine points."""
    log_weights: Floats
    """Of every fine point, for every line."""

    @classmethod
    def of(cls, nodes: Floats, centres: Floats, half: float, scale: float) -> "_Quadrature":
        fine = np.linspace(-1.0, 1.0, FINE)
        degree = len(nodes) - 1
        matrix = np.polynomial.chebyshev.chebvander(fine, degree) @ np.linalg.inv(
            np.polynomial.chebyshev.chebvander(nodes, degree)
        )
        step = half * (fine[1] - fine[0])
        distances = np.abs(centres[:, np.newaxis] + half * fine)
        return cls(matrix=matrix, log_weights=-distances / scale + math.log(step / (2 * scale)))

    def log_integrals(self, logs: Floats) -> Floats:
        return np.asarray(logsumexp(logs @ self.matrix.T + self.log_weights, axis=1))

    def means(self, logs: Floats, values: Floats) -> Floats:
        """Return the means of what has values at nodes, over the distribution along the line."""
        terms = logs @ self.matrix.T + self.log_weights
        chances = np.exp(terms - logsumexp(terms, axis=1, keepdims=True))
        return np.asarray(np.einsum("bn,nbm->bm", chances @ self.matrix, values))


@frozen(kw_only=True, eq=False)
class _Densities:
    """Saddlepoint densities at points; under noise along a line at nodes of that line."""

    law: TiltedLaw
    nodes: Sequence[Saddlepoints]
    quadrature: _Quadrature | None

    @property
    def _logs(self) -> Floats:
        return np.array([np.where(at.found, at.log_densities, NOTHING) for at in self.nodes]).T

    def logs(self) -> Floats:
        """Return log p to the leading order."""
        return self._logs[:, 0] if self.quadrature is None else self.quadrature.log_integrals(self._logs)

    def tilts(self) -> Floats:
        """Return −∇ log p, which is the saddlepoint."""
        if self.quadrature is None:
            return self.nodes[0].tilts
        return self.quadrature.means(self._logs, np.array([at.tilts for at in self.nodes]))

    def second_order(self, which: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Return log p to the second order, and c₂, at some of the points."""
        places = np.flatnonzero(which)
        terms = np.array([second_order_terms(self.law, at, places) for at in self.nodes]).T
        terms = np.clip(terms, LEAST_TERM, None)
        if self.quadrature is None:
            return self._logs[places, 0] + np.log1p(terms[:, 0]), terms[:, 0]
        some = _Quadrature(matrix=self.quadrature.matrix, log_weights=self.quadrature.log_weights[places])
        logs = self._logs[places]
        means = some.means(logs, terms.T[:, :, np.newaxis])[:, 0]
        return some.log_integrals(logs + np.log1p(terms)), means


NOTHING = -1e4
"""The logarithm of a density that has no saddlepoint."""

LEAST_TERM = -0.9
"""c₂ below which 1 + c₂ is no factor of a density."""


def delta_by_draws(first: NoisySum, second: NoisySum, epsilon: float, settings: DrawSettings = DEFAULT) -> DrawnDelta:
    """Estimate H_ε(first ‖ second), with an upper bound.

    How many of 24 coins show heads, or of 20, with Gaussian noise of deviation 2:

    >>> from distpriv.modelling.tilted_stratum import TiltedStratum
    >>> def coins(drawn):
    ...     values = np.array([[-0.5], [0.5]])
    ...     stratum = TiltedStratum.of(values, np.ones(2), drawn, replacement=True)
    ...     return NoisySum.of(TiltedLaw.of([stratum], np.array([drawn / 2]), np.eye(1) * 4.0))
    >>> found = delta_by_draws(coins(24), coins(20), 0.5)
    >>> found.delta < found.upper_bound < 1.2 * found.delta
    True
    """
    rng = np.random.default_rng(settings.seed)
    mixture, starts = _recentred(first, second, epsilon, settings, rng)
    points = mixture.draw(settings.draws, rng)
    weights = mixture.weights(points)
    logs, margins = _log_ratios(first, second, points, epsilon, settings)
    level = _level(weights, logs, epsilon, settings.enough_points)
    if level < epsilon:
        logs, margins = _log_ratios(first, second, points, level, settings)
        epsilon = level
    terms = weights * _lost(epsilon - logs)
    delta, error = _mean(terms)
    inside = weights * (logs > epsilon)
    chance, chance_error = _mean(inside)
    other = TiltedMixture(of=second.sums, tilts=_bounded(second, starts, settings), shares=mixture.shares)
    there = other.draw(settings.draws, rng)
    logs_there, _ = _log_ratios(first, second, there, epsilon, settings)
    image, image_error = _mean(other.weights(there) * np.where(logs_there > epsilon, np.exp(logs_there), 0.0))
    off, off_error = 0.0, 0.0  # both are 0 where no point is above ε
    if max(image, chance) > 0:
        off = math.log(max(image, TINY) / max(chance, TINY))
        off_error = math.hypot(chance_error / max(chance, TINY), image_error / max(image, TINY))
    shift = max(0.0, abs(off) - settings.deviations * off_error)
    bounded, bounded_error = _mean(weights * _lost(epsilon - logs - margins - shift))
    largest = float(terms.max(initial=0.0))
    return DrawnDelta(
        epsilon=epsilon,
        delta=delta,
        standard_error=error,
        largest_share=largest / max(float(terms.sum()), TINY),
        normalisation=off,
        normalisation_error=off_error,
        upper_bound=min(
            1.0, bounded + settings.deviations * bounded_error + settings.deviations**2 * largest / len(terms)
        ),
    )


TINY = 1e-300


def _lost(exponents: Floats) -> Floats:
    """Return (1 − e^x)₊."""
    return np.asarray(-np.expm1(np.minimum(0.0, exponents)))


def _mean(values: Floats) -> tuple[float, float]:
    return float(values.mean()), float(values.std()) / math.sqrt(len(values))


def _bounded(of: NoisySum, tilts: Floats, settings: DrawSettings) -> Floats:
    return tilts if of.sums.line is None else of.sums.line.bounded(tilts, settings.steepest)


def _log_ratios(
    first: NoisySum, second: NoisySum, points: Floats, epsilon: float, settings: DrawSettings
) -> tuple[Floats, Floats]:
    """Return L, to the second order where it may be above ε, and a margin for the third order there."""
    one, other = first.densities(points, settings), second.densities(points, settings)
    ratios = one.logs() - other.logs()
    margins = np.zeros(len(points))
    near = ratios > epsilon - settings.near
    if near.any():
        (logs, terms), (other_logs, other_terms) = one.second_order(near), other.second_order(near)
        ratios[near] = logs - other_logs
        margins[near] = np.abs(terms - other_terms) / 2 + terms**2 + other_terms**2
    return ratios, margins


def _recentred(
    first: NoisySum, second: NoisySum, epsilon: float, settings: DrawSettings, rng: np.random.Generator
) -> tuple[TiltedMixture, Floats]:
    """Return a mixture that draws where δ is decided, and the tilts that draw the second distribution there."""
    plain, wide, found = settings.shares
    tilts = _bounded(first, _first_tilts(first, second, rng), settings)
    shares = np.array([plain, *np.full(len(tilts) - 1, (wide + found) / (len(tilts) - 1))])
    base, chosen, others = tilts, [], []
    for _ in range(settings.rounds):
        mixture = TiltedMixture(of=first.sums, tilts=tilts, shares=shares)
        points = mixture.draw(settings.pilot_draws, rng)
        one, other = first.densities(points, settings), second.densities(points, settings)
        ratios, weights = one.logs() - other.logs(), mixture.weights(points)
        level = _level(weights, ratios, epsilon, settings.enough_points)
        terms = weights * _lost(level - ratios)
        if not terms.any():
            break
        picked = rng.choice(len(terms), size=settings.recentred, p=terms / terms.sum())
        chosen.append(_bounded(first, one.tilts()[picked], settings))
        others.append(_bounded(second, other.tilts()[picked], settings))
        ages = np.repeat(0.5 ** np.arange(len(chosen))[::-1], settings.recentred)
        tilts = np.concatenate([base, *chosen])
        even = np.full(len(base) - 1, wide / (len(base) - 1))
        shares = np.concatenate([[plain], even, found * ages / ages.sum()])
    return TiltedMixture(of=first.sums, tilts=tilts, shares=shares), np.concatenate([base, *others])


def _level(weights: Floats, ratios: Floats, epsilon: float, enough: float) -> float:
    """Return ε, or the largest smaller level that enough of the points are above; 0 if there is none."""
    levels = np.linspace(epsilon, 0.0, LEVELS).tolist()
    for level in levels:
        terms = weights * _lost(level - ratios)
        if terms.sum() ** 2 >= enough * (terms**2).sum() > 0:
            return float(level)
    return 0.0


LEVELS = 33
"""How many levels from ε down to 0 are tried."""


def _first_tilts(first: NoisySum, second: NoisySum, rng: np.random.Generator) -> Floats:
    """Return no tilt, tilts along the shift, and some in random directions, in standard deviations."""
    size, found = len(first.sums.mean), []
    for covariance in [first.covariance, *([first.density.covariance] if first.sums.line else [])]:
        root = np.linalg.cholesky(covariance)
        shift = np.linalg.solve(covariance, first.density.mean - second.density.mean)
        length = np.linalg.norm(root.T @ shift)
        along = [] if length == 0 else [shift / length * distance for distance in ALONG]
        directions = rng.standard_normal((8 + 2 * size, size))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        distances = rng.choice(ASIDE, size=(len(directions), 1))
        found += [*along, *(distances * directions @ np.linalg.inv(root))]
    return np.array([np.zeros(size), *found])


ALONG, ASIDE = (-3.0, -1.5, 1.0, 2.0, 3.0, 4.0), (1.5, 3.0)
"""How far the first tilts move the mean, in standard deviations: along the shift, and elsewhere."""
