r"""Gaussian noise rounded to the lattice that the statistics live on: counts stay whole numbers.

In units of the steps the statistics are whole, so :math:`F + \mathrm{round}(W) = \mathrm{round}(F + W)`. Where W is
wider than a step, rounding takes nothing from what W hides. Where it is narrower it changes an answer seldom, and by
one step; that is never counted on: what hides such a statistic is its own randomness (`docs/proofs/own_lattice.md`).
"""

import math
from typing import Self

import numpy as np
from attrs import evolve, frozen
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats, array_field
from distpriv.noise.parts import GaussianNoise, Noise

__all__ = ["RoundedNoise"]

WIDE = 5.0
"""From so many steps on, the variance of a rounded Gaussian is its own and 1/12, to the last bit."""

TOUCHING = 1e-6
"""Noise of one step may miss it by rounding."""

POINTS = 14
"""The logarithm, to base 2, of the number of points that an expected length is the mean over."""


@frozen(kw_only=True)
class RoundedNoise(Noise):
    """Z = W ~ N(0, Σ_k variance_k v_k v_kᵀ), every statistic rounded to a whole number of its steps.

    A statistic with step 0 is not rounded. One whose noise is narrower than its step has noise of its own.

    >>> from distpriv.noise.rounded import RoundedNoise
    >>> noise = RoundedNoise(axes=[[1, 0], [0, 1]], variances=[0.04, 9], steps=[1, 0.5])
    >>> noise.narrow, noise.covariance.round(3).tolist(), round(noise.expected_rms, 3)
    (array([ True, False]), [[0.012, 0.0], [0.0, 9.021]], 3.006)
    >>> noise.credited.covariance.tolist(), noise.half_widths, noise.is_gaussian, noise.is_sum_of_parts
    ([[0.0, 0.0], [0.0, 9.0]], array([0., 6.]), False, False)
    >>> drawn = noise.simulate(10_000, seed=0)
    >>> bool((drawn[:, 0] == 0).mean() > 0.98), bool((drawn[:, 1] % 0.5 == 0).all()), round(noise.expected_l2, 1)
    (True, True, 2.4)
    >>> noise.widths, noise.widened(2.0).variances.round(2)
    (array([0.2, 3. ]), array([ 0.04, 36.  ]))
    """

    kind = "rounded"

    axes: Floats = array_field()
    """Orthonormal columns v_k."""
    variances: Floats = array_field()
    """The variance along each axis."""
    steps: Floats = array_field()
    """What each statistic is a whole multiple of; 0 where it is not rounded."""

    def __attrs_post_init__(self) -> None:
        unrounded = GaussianNoise(axes=self.axes, variances=self.variances)
        if self.steps.shape != (unrounded.dimension,) or not np.isfinite(self.steps).all() or (self.steps < 0).any():
            raise InvalidInput(
                f"rounded noise needs a step of at least 0 for each of its {unrounded.dimension} statistics: got "
                f"{self.steps.tolist()}."
            )
        others = unrounded.covariance - np.diag(np.diag(unrounded.covariance))
        if others[self.narrow].any():
            raise InvalidInput(
                "noise that is narrower than a statistic's step must be independent of all other noise: give it an "
                "axis of its own."
            )

    @classmethod
    def of(cls, wide: ArrayLike, narrow: ArrayLike, steps: ArrayLike) -> Self:
        """Return noise of a covariance, and of narrow deviations where these are above 0.

        >>> RoundedNoise.of([[0, 0], [0, 9]], [0.2, 0], [1, 0.5]).variances.round(2)
        array([9.  , 0.04])
        """
        few = np.asarray(narrow, dtype=np.float64)
        alone, kept = np.flatnonzero(few > 0), np.flatnonzero(few == 0)
        inside = GaussianNoise.of(np.asarray(wide, dtype=np.float64)[np.ix_(kept, kept)])
        axes = np.zeros((len(few), inside.axes.shape[1] + len(alone)))
        axes[kept, : inside.axes.shape[1]] = inside.axes
        axes[alone, inside.axes.shape[1] + np.arange(len(alone))] = 1.0
        return cls(axes=axes, variances=np.concatenate([inside.variances, few[alone] ** 2]), steps=np.asarray(steps))

    @property
    def unrounded(self) -> GaussianNoise:
        """The law of W."""
        return GaussianNoise(axes=self.axes, variances=self.variances)

    @property
    def narrow(self) -> NDArray[np.bool_]:
        """Which statistics have noise that is narrower than their step, which nothing counts on."""
        return np.asarray((self.axes**2 @ self.variances) < self.steps**2 * (1 - TOUCHING))

    @property
    def credited(self) -> GaussianNoise:
        """The part of W that is counted on, which the release is computed from: that of the other statistics."""
        kept = ~np.abs(self.axes[self.narrow]).any(axis=0)
        return GaussianNoise(axes=self.axes[:, kept], variances=self.variances[kept])

    @property
    def parts(self) -> tuple[GaussianNoise, ...]:
        """W, where all of it is counted on: rounding takes nothing from it."""
        return () if self.narrow.any() else (self.unrounded,)

    @property
    def is_sum_of_parts(self) -> bool:
        return not self.narrow.any()

    @property
    def is_gaussian(self) -> bool:
        return False

    @property
    def widths(self) -> Floats:
        return np.sqrt(self.variances)

    @property
    def covariance(self) -> Floats:
        before = self.unrounded.covariance
        rounded = [_variance(spread, step) for spread, step in zip(np.diag(before), self.steps, strict=True)]
        return np.asarray(before - np.diag(np.diag(before)) + np.diag(rounded))

    @property
    def expected_rms(self) -> float:
        return math.sqrt(float(np.trace(self.covariance)))

    @property
    def expected_l2(self) -> float:
        """E‖Z‖₂, the mean over points that fill the cube of W's quantiles evenly; good to about three digits."""
        if not len(self.variances):
            return 0.0
        from scipy.stats import qmc

        fill = qmc.Sobol(len(self.variances), scramble=False).random_base2(POINTS) + 2.0 ** -(POINTS + 1)
        drawn = self._rounded((ndtri(fill) * self.widths) @ self.axes.T)
        return float(np.linalg.norm(drawn, axis=1).mean())

    @property
    def half_widths(self) -> Floats:
        deviations = np.sqrt(np.diag(self.unrounded.covariance)) * ndtri(0.975)
        steps = np.where(self.steps > 0, self.steps, 1.0)
        whole = np.maximum(np.ceil(deviations / steps - 0.5), 0.0) * steps
        return np.asarray(np.where(self.steps > 0, whole, deviations))

    def simulate(self, draws: int, seed: int) -> Floats:
        return self._rounded(self.unrounded.simulate(draws, seed))

    def widened(self, factor: float) -> Self:
        """Return the noise with `factor` times the part that is counted on."""
        kept = ~np.abs(self.axes[self.narrow]).any(axis=0)
        return evolve(self, variances=np.where(kept, self.variances * factor**2, self.variances))

    def _rounded(self, values: Floats) -> Floats:
        steps = np.where(self.steps > 0, self.steps, 1.0)
        return np.asarray(np.where(self.steps > 0, np.rint(values / steps) * steps, values))


def _variance(before: float, step: float) -> float:
    """Return the variance of N(0, before) rounded to multiples of a step."""
    if step == 0 or before == 0:
        return before
    deviation = math.sqrt(before) / step
    if deviation > WIDE:
        return before + step**2 / 12
    farther = np.arange(60.0)
    return float(step**2 * (2 * farther + 1) @ (2 * ndtr(-(farther + 0.5) / deviation)))
