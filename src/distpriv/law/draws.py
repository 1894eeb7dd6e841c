r"""Exact draws of sums over rows with noise, exponentially tilted, and importance weights that need no density.

Under a tilt θ rows are drawn with chances :math:`\propto p_x e^{θ^\top x}`, and Gaussian noise has mean Nθ. Against the
untilted distribution P, draws from the mixture :math:`\sum_k α_k P^{θ_k}` have the weight

.. math:: w(y) = 1 \Big/ \sum_k α_k e^{θ_k^\top y - K(θ_k)} \le 1/α_0, \qquad θ_0 = 0,

from which the density of P has cancelled (K is the logarithm of the moment generating function). Without replacement
the number of rows of each kind is drawn one kind after the other, given how many rows are left: a partial sum of these
numbers has a distribution that is known by convolution.
"""

from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from attrs import frozen
from scipy.optimize import brentq
from scipy.special import expit, gammaln, logsumexp

from distpriv.framework.arrays import Floats, Rows

if TYPE_CHECKING:
    from distpriv.law.saddlepoint import TiltedLaw

__all__ = ["DrawingSettings", "RowKinds", "TiltedMixture"]


@frozen(kw_only=True)
class DrawingSettings:
    """Which of several exact methods draws rows without replacement, and what they leave out."""

    newton_terms: int = 8
    """Power sums in Newton's identities; the next term is smaller by a factor of about `crowded`."""
    crowded: float = 0.05
    """The number of rows drawn over the effective number of rows, up to which so few terms are enough."""
    least_log_distinct: float = 4.0
    """Independent rows are all different with a chance of about e^-4 at least: otherwise rejection takes too long."""
    tail: float = 9.0
    """Deviations from its mean beyond which a number of rows is left out: 1e-18 of a normal distribution."""
    largest_log_odds: float = 60.0
    """Between which log-odds, beyond those of the rows, the level lies that makes k the expected number."""


SETTINGS = DrawingSettings()


@frozen(kw_only=True, eq=False, slots=False)
class RowKinds:
    """Rows drawn from one stratum: its distinct rows, how many there are of each, and how many are drawn.

    >>> kinds = RowKinds(values=np.array([[0.0], [1.0]]), counts=np.array([3.0, 1.0]), drawn=2, replacement=False)
    >>> bool(np.isclose(kinds.log_moments(np.array([[1.0]]))[0], np.log((3 + 3 * np.e) / 6)))
    True
    """

    values: Floats
    counts: Floats
    """With replacement only their ratios matter."""
    drawn: int
    replacement: bool

    def log_moments(self, tilts: Floats) -> Floats:
        """Return log E e^{θᵀ(sum of the drawn rows)} for each tilt, one a row."""
        exponents = tilts @ self.values.T
        independent = self.drawn * (logsumexp(exponents, b=self.counts, axis=1) - np.log(self.counts.sum()))
        if self.replacement:
            return np.asarray(independent)
        distinct = self._log_distinct(np.concatenate([np.zeros((1, len(self.values))), exponents]))
        if distinct is not None:
            return np.asarray(independent + distinct[1:] - distinct[0])
        plain = _NumbersOfKinds.of(self, np.zeros(len(self.values))).log_total
        return np.array([_NumbersOfKinds.of(self, row).log_total - plain for row in exponents])

    def draw(self, tilt: Floats, draws: int, rng: np.random.Generator) -> Floats:
        """Draw sums of tilted rows, one a row."""
        exponents = self.values @ tilt
        if self.replacement:
            return self._numbers(exponents, draws, rng)[0]
        sums_of_weights = self._power_sums(exponents[np.newaxis])
        if self._is_crowded(sums_of_weights):
            return np.asarray(_NumbersOfKinds.of(self, exponents).draw(draws, rng) @ self.values)
        accepted = np.exp(-(self.drawn**2) * sums_of_weights[1, 0] / 2)
        parts, left = [np.zeros((0, self.values.shape[1]))], draws
        while left > 0:  # independent rows, given that no two are the same
            sums, chance = self._numbers(exponents, int(1.1 * left / accepted) + 10, rng)
            parts.append(sums[rng.random(len(sums)) < chance][:left])
            left -= len(parts[-1])
        return np.concatenate(parts)

    def _numbers(self, exponents: Floats, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return sums of independent tilted rows, and the chance that no two of them are the same row."""
        chances = np.exp(exponents - exponents.max()) * self.counts
        chances /= chances.sum()
        if self.drawn > len(chances):
            numbers = rng.multinomial(self.drawn, chances, size=draws)
            if self.replacement:
                return numbers @ self.values, np.ones(draws)
            with np.errstate(invalid="ignore"):
                logs = gammaln(self.counts + 1) - gammaln(self.counts - numbers + 1) - numbers * np.log(self.counts)
            possible = (numbers <= self.counts).all(axis=1)
            return numbers @ self.values, np.exp(
                np.where(possible, np.where(np.isfinite(logs), logs, 0.0).sum(1), -np.inf)
            )
        kinds = np.searchsorted(np.cumsum(chances)[:-1], rng.random((draws, self.drawn)), side="right")
        sums = self.values[kinds].sum(axis=1)
        if self.replacement:
            return sums, np.ones(draws)
        kinds.sort(axis=1)
        place = np.arange(self.drawn) - np.maximum.accumulate(
            np.where(np.diff(kinds, axis=1, prepend=-1) > 0, np.arange(self.drawn), 0), axis=1
        )  # how many rows of the same kind are before each
        return sums, np.prod(np.maximum(0.0, 1 - place / self.counts[kinds]), axis=1)

    def _log_distinct(self, exponents: Floats) -> Floats | None:
        r"""Return the logarithm of the chance that independent tilted rows are all different, for each tilt.

        By Newton's identities for the elementary symmetric polynomial :math:`e_k` of the rows' weights, k! e_k/p₁^k is
        a sum of few terms where k is small beside the number of rows. None where it is not, or the chance too small.
        """
        sums = self._power_sums(exponents)
        if self._is_crowded(sums):
            return None
        terms = min(self.drawn, SETTINGS.newton_terms)
        known = np.zeros((self.drawn + 1, len(exponents)))
        known[0] = 1.0
        for size in range(1, self.drawn + 1):
            falling = 1.0
            for power in range(1, min(size, terms) + 1):
                known[size] += (-1) ** (power - 1) * sums[power - 1] * falling * known[size - power]
                falling *= size - power
        return np.asarray(np.log(np.maximum(known[-1], 1e-300)))

    def _power_sums(self, exponents: Floats) -> Floats:
        """Return Σ w^r / (Σ w)^r over all rows, for r from 1 on, one row each, for each tilt."""
        weights = np.exp(exponents - exponents.max(axis=1, keepdims=True))
        total = weights @ self.counts
        return np.array([weights**power @ self.counts / total**power for power in range(1, SETTINGS.newton_terms + 1)])

    def _is_crowded(self, sums: Floats) -> bool:
        of, crowded = SETTINGS, self.drawn * float(sums[1].max())
        return self.drawn > 1 and (crowded > of.crowded or self.drawn * crowded / 2 > of.least_log_distinct)


@frozen(kw_only=True, eq=False)
class _NumbersOfKinds:
    """How many rows of each kind are in a subset of k rows whose chance is the product of its rows' weights e^η.

    The numbers are independent and binomial, given that they add up to k.
    """

    chances: list[Floats]
    """Of each kind's numbers, from `firsts` on."""
    firsts: list[int]
    rest: list[Floats]
    """Entry r: the distribution, from `starts[r]` on, of the number of rows of kind r and of all kinds after it."""
    starts: list[int]
    drawn: int
    log_total: float
    """The logarithm of the sum of all subsets' weights."""

    @classmethod
    def of(cls, kinds: RowKinds, exponents: Floats) -> Self:
        counts, drawn = kinds.counts, kinds.drawn
        tail, farthest = SETTINGS.tail, SETTINGS.largest_log_odds
        ends = -exponents.max() - farthest, -exponents.min() + farthest
        level = float(brentq(lambda level: counts @ expit(exponents + level) - drawn, *ends))
        shares = expit(exponents + level)
        means, variances = counts * shares, counts * shares * (1 - shares)
        reach = tail * np.sqrt(variances) + tail**2 / 2
        firsts = np.maximum(0, np.floor(means - reach)).astype(int)
        lasts = np.minimum(np.minimum(counts, drawn), np.ceil(means + reach)).astype(int)
        middles, widths = np.cumsum(means[::-1])[::-1], np.sqrt(np.cumsum(variances[::-1]))[::-1]
        chances, rest, starts = [], [np.ones(1)], [0]
        for r in reversed(range(len(counts))):
            numbers = np.arange(firsts[r], lasts[r] + 1.0)
            ways = gammaln(counts[r] + 1) - gammaln(numbers + 1) - gammaln(counts[r] - numbers + 1)
            odds = numbers * (exponents[r] + level) + counts[r] * np.log1p(-shares[r])
            chances.append(np.exp(ways + odds))
            together, start = np.convolve(chances[-1], rest[-1]), starts[-1] + int(firsts[r])
            width = tail * widths[r] + tail**2 / 2
            low = max(0, int(middles[r] - width) - start)
            high = max(low + 1, int(np.ceil(middles[r] + width)) + 1 - start)
            rest.append(together[low:high])
            starts.append(start + low)
        scale = -float(counts @ np.log1p(-shares)) - drawn * level
        return cls(
            chances=chances[::-1],
            firsts=firsts.tolist(),
            rest=rest[::-1],
            starts=starts[::-1],
            drawn=drawn,
            log_total=float(np.log(rest[-1][drawn - starts[-1]])) + scale,
        )

    def draw(self, draws: int, rng: np.random.Generator) -> Floats:
        """Draw the number of each kind, a column each."""
        left, numbers = np.full(draws, self.drawn), np.empty((draws, len(self.chances)))
        for r, (chances, first) in enumerate(zip(self.chances, self.firsts, strict=True)):
            rest, start = self.rest[r + 1], self.starts[r + 1]
            whole, place = np.unique(left, return_inverse=True)
            after = whole[:, np.newaxis] - start - first - np.arange(len(chances))
            possible = (after >= 0) & (after < len(rest))
            reached = np.cumsum(np.where(possible, rest[np.clip(after, 0, len(rest) - 1)] * chances, 0.0), axis=1)
            numbers[:, r] = first + (rng.random((draws, 1)) > (reached / reached[:, -1:])[place]).sum(axis=1)
            left = left - numbers[:, r].astype(int)
        return numbers


@frozen(kw_only=True, eq=False, slots=False)
class TiltedMixture:
    """A mixture of one distribution's tilted versions."""

    of: "TiltedLaw"
    tilts: Floats
    shares: Floats

    def of_whole_draws(self, draws: int) -> Self:
        """Return the mixture with shares that are whole numbers of the draws, so that weights are without bias."""
        sizes = self._sizes(draws)
        return type(self)(of=self.of, tilts=self.tilts[sizes > 0], shares=sizes[sizes > 0] / draws)

    def _sizes(self, draws: int) -> Rows:
        return np.asarray(np.diff(np.round(np.cumsum([0.0, *self.shares]) * draws).astype(np.int64)))

    def draw(self, draws: int, rng: np.random.Generator) -> Floats:
        """Draw from every component its share of the draws."""
        sizes = self._sizes(draws)
        return np.concatenate([self.of.draw(tilt, size, rng) for tilt, size in zip(self.tilts, sizes, strict=True)])

    @cached_property
    def _offsets(self) -> Floats:
        return np.asarray(np.log(self.shares) - self.of.log_moments(self.tilts))

    def weights(self, points: Floats) -> Floats:
        """Return the density of the untilted distribution over that of the mixture, at points, one a row."""
        return np.asarray(np.exp(-logsumexp(points @ self.tilts.T + self._offsets, axis=1)))

    def controls(self, points: Floats, most: int) -> Floats:
        """Return the first components' densities over that of the mixture, less 1: numbers whose mean is 0.

        They are at most one over the component's share.
        """
        logs = points @ self.tilts.T + self._offsets
        logs -= logsumexp(logs, axis=1, keepdims=True)
        return np.asarray(np.exp(logs[:, :most]) / self.shares[:most] - 1)
