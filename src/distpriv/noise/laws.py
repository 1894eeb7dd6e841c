r"""The laws of noise, along orthonormal axes, and how large the noise is.

A law is a description: it says what Z is, not how a release draws it. `simulate` draws seeded floating-point noise,
which is good for experiments and not for releases: its low-order bits depend on the value it is added to.
"""

import math
from typing import Self

import numpy as np
from attrs import field, frozen
from scipy.stats import qmc

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats, array_field
from distpriv.noise.lengths import NORMAL_95, gaussian_length, half_width, laplace_length, mixed_length
from distpriv.noise.unimodal import UnimodalNoise

__all__ = ["GaussianNoise", "LaplaceNoise", "NoNoise", "NoiseLaw", "SumNoise", "UnimodalNoise"]


@frozen(kw_only=True)
class GaussianNoise:
    """Z ~ N(0, Σ_k variance_k v_k v_kᵀ), the v_k orthonormal columns of `axes`; there may be fewer than statistics.

    >>> from distpriv.noise.laws import GaussianNoise
    >>> noise = GaussianNoise(axes=[[0.6], [0.8]], variances=[25])
    >>> noise.dimension, noise.covariance.tolist(), noise.expected_rms
    (2, [[9.0, 12.0], [12.0, 16.0]], 5.0)
    >>> noise.half_widths.round(2)
    array([5.88, 7.84])
    """

    axes: Floats = array_field()
    """Orthonormal columns v_k."""
    variances: Floats = array_field()
    """That along each axis."""

    def __attrs_post_init__(self) -> None:
        _require_axes(self.axes, self.variances, "variances")

    @classmethod
    def isotropic(cls, dimension: int, deviation: float) -> Self:
        """Return N(0, deviation² I).

        >>> from distpriv.noise.laws import GaussianNoise
        >>> GaussianNoise.isotropic(2, 3.0).covariance.tolist()
        [[9.0, 0.0], [0.0, 9.0]]
        """
        return cls(axes=np.eye(dimension), variances=np.full(dimension, deviation**2))

    @classmethod
    def along(cls, axes: Floats, variances: Floats) -> Self:
        """Return noise along the axes that have a variance; the others are left out.

        >>> import numpy as np
        >>> from distpriv.noise.laws import GaussianNoise
        >>> GaussianNoise.along(np.eye(3), [4, 0, 1]).variances
        array([4., 1.])
        """
        kept = np.asarray(variances) > 0
        return cls(axes=np.asarray(axes)[:, kept], variances=np.asarray(variances)[kept])

    @classmethod
    def of(cls, covariance: Floats) -> Self:
        """Return N(0, covariance), along its eigenvectors; what is below rounding of the largest counts as none.

        >>> from distpriv.noise.laws import GaussianNoise
        >>> GaussianNoise.of([[2, 1], [1, 2]]).variances.round(9)
        array([1., 3.])
        """
        variances, axes = np.linalg.eigh(np.asarray(covariance, dtype=np.float64))
        return cls.along(axes, np.where(variances > 1e-15 * variances.max(initial=0.0), variances, 0.0))

    @property
    def dimension(self) -> int:
        """How many statistics the noise is added to."""
        return int(self.axes.shape[0])

    @property
    def covariance(self) -> Floats:
        """The covariance S of Z."""
        return np.asarray((self.axes * self.variances) @ self.axes.T)

    @property
    def expected_l2(self) -> float:
        r"""E‖Z‖₂, in closed form where all variances are equal and by quadrature otherwise.

        >>> from distpriv.noise.laws import GaussianNoise
        >>> round(GaussianNoise.isotropic(5, 16.21).expected_l2, 2)
        34.49
        """
        return gaussian_length(self.variances)

    @property
    def expected_rms(self) -> float:
        """√(E‖Z‖²)."""
        return math.sqrt(self.variances.sum())

    @property
    def half_widths(self) -> Floats:
        """For each statistic, the c with Pr[|Z_k| ≤ c] = 95 %."""
        return np.asarray(NORMAL_95 * np.sqrt(np.maximum(np.diag(self.covariance), 0)))

    def simulate(self, draws: int, seed: int) -> Floats:
        """Draw noise for an experiment: an array of shape (draws, dimension).

        >>> from distpriv.noise.laws import GaussianNoise
        >>> GaussianNoise.isotropic(2, 3.0).simulate(10_000, seed=0).std(axis=0).round(1)
        array([3., 3.])
        """
        normal = np.random.default_rng(seed).normal(size=(draws, len(self.variances)))
        return np.asarray((normal * np.sqrt(self.variances)) @ self.axes.T)


@frozen(kw_only=True)
class LaplaceNoise:
    """Z = Σ_k Y_k v_k, Y_k ~ Lap(scale_k) independent, the v_k orthonormal columns of `axes`.

    >>> from distpriv.noise.laws import LaplaceNoise
    >>> noise = LaplaceNoise(axes=[[0.6], [0.8]], scales=[5])
    >>> noise.dimension, noise.covariance.tolist(), round(noise.expected_rms, 6)
    (2, [[18.0, 24.0], [24.0, 32.0]], 7.071068)
    >>> noise.half_widths.round(2)
    array([ 8.99, 11.98])
    """

    axes: Floats = array_field()
    """Orthonormal columns v_k."""
    scales: Floats = array_field()
    """That of the Laplace law along each axis."""

    def __attrs_post_init__(self) -> None:
        _require_axes(self.axes, self.scales, "scales")

    @classmethod
    def isotropic(cls, dimension: int, scale: float) -> Self:
        """Return independent Lap(scale) on every statistic.

        >>> from distpriv.noise.laws import LaplaceNoise
        >>> LaplaceNoise.isotropic(2, 3.0).covariance.tolist()
        [[18.0, 0.0], [0.0, 18.0]]
        """
        return cls(axes=np.eye(dimension), scales=np.full(dimension, scale))

    @property
    def dimension(self) -> int:
        """How many statistics the noise is added to."""
        return int(self.axes.shape[0])

    @property
    def covariance(self) -> Floats:
        """The covariance of Z: 2 scale² along each axis."""
        return np.asarray((self.axes * (2 * self.scales**2)) @ self.axes.T)

    @property
    def expected_l2(self) -> float:
        """E‖Z‖₂, in closed form for one axis and by quadrature otherwise.

        >>> from distpriv.noise.laws import LaplaceNoise
        >>> LaplaceNoise(axes=[[0.6], [0.8]], scales=[3.0]).expected_l2
        3.0
        """
        return laplace_length(self.scales)

    @property
    def expected_rms(self) -> float:
        """√(E‖Z‖²)."""
        return math.sqrt(2 * (self.scales**2).sum())

    @property
    def half_widths(self) -> Floats:
        """For each statistic, the c with Pr[|Z_k| ≤ c] = 95 %."""
        return np.array([half_width(np.abs(row) * self.scales) for row in self.axes])

    def simulate(self, draws: int, seed: int) -> Floats:
        """Draw noise for an experiment: an array of shape (draws, dimension).

        >>> from distpriv.noise.laws import LaplaceNoise
        >>> abs(LaplaceNoise.isotropic(2, 3.0).simulate(10_000, seed=0)).mean(axis=0).round(1)
        array([3., 3.])
        """
        laplace = np.random.default_rng(seed).laplace(size=(draws, len(self.scales)))
        return np.asarray((laplace * self.scales) @ self.axes.T)


@frozen(kw_only=True)
class NoNoise:
    """Z = 0: the statistics are released as they are.

    >>> from distpriv.noise.laws import NoNoise
    >>> nothing = NoNoise(dimension=2)
    >>> nothing.covariance.tolist(), nothing.half_widths.tolist(), nothing.simulate(1, seed=0).tolist()
    ([[0.0, 0.0], [0.0, 0.0]], [0.0, 0.0], [[0.0, 0.0]])
    """

    dimension: int = field()
    """How many statistics there are."""
    expected_l2: float = field(default=0.0, init=False)
    """0."""
    expected_rms: float = field(default=0.0, init=False)
    """0."""

    @property
    def covariance(self) -> Floats:
        """All zeros."""
        return np.zeros((self.dimension, self.dimension))

    @property
    def half_widths(self) -> Floats:
        """All zeros."""
        return np.zeros(self.dimension)

    def simulate(self, draws: int, seed: int) -> Floats:  # noqa: ARG002 - the laws share one signature
        """Return zeros."""
        return np.zeros((draws, self.dimension))


@frozen(kw_only=True)
class SumNoise:
    """Z = the sum of independent Gaussian and Laplace noise.

    >>> from distpriv.noise.laws import GaussianNoise, LaplaceNoise, SumNoise
    >>> both = SumNoise(parts=(GaussianNoise.isotropic(2, 3.0), LaplaceNoise(axes=[[1], [0]], scales=[4])))
    >>> both.dimension, both.covariance.tolist(), round(both.expected_rms, 4)
    (2, [[41.0, 0.0], [0.0, 9.0]], 7.0711)
    >>> both.gaussian.variances, both.laplace_axes.tolist(), both.laplace_scales
    (array([9., 9.]), [[1.0], [0.0]], array([4.]))
    >>> both.half_widths.round(2)
    array([13.11,  5.88])
    """

    parts: tuple[GaussianNoise | LaplaceNoise, ...]
    """Independent laws, for the same statistics."""

    def __attrs_post_init__(self) -> None:
        if len({part.dimension for part in self.parts}) != 1:
            raise InvalidInput("a sum of noise needs at least one part, all of them for the same statistics.")

    @property
    def dimension(self) -> int:
        """How many statistics the noise is added to."""
        return self.parts[0].dimension

    @property
    def gaussian(self) -> GaussianNoise:
        """All the Gaussian noise in it, as one law."""
        parts = [part for part in self.parts if isinstance(part, GaussianNoise)]
        if len(parts) == 1:
            return parts[0]
        covariances = [part.covariance for part in parts]
        return GaussianNoise.of(np.sum([np.zeros((self.dimension, self.dimension)), *covariances], axis=0))

    @property
    def laplace_axes(self) -> Floats:
        """The axes of all the Laplace noise in it, as columns; those of different parts need not be orthogonal."""
        parts = [part.axes for part in self.parts if isinstance(part, LaplaceNoise)]
        return np.concatenate([np.zeros((self.dimension, 0)), *parts], axis=1)

    @property
    def laplace_scales(self) -> Floats:
        """The scales of all the Laplace noise in it, one for each axis."""
        parts = [part.scales for part in self.parts if isinstance(part, LaplaceNoise)]
        return np.concatenate([np.zeros(0), *parts])

    @property
    def covariance(self) -> Floats:
        """The covariance of Z."""
        return np.asarray(np.sum([part.covariance for part in self.parts], axis=0))

    @property
    def expected_l2(self) -> float:
        """E‖Z‖₂, by quadrature with at most one axis of Laplace noise.

        With more it is the mean of the Gaussian formula over the random variances that make Laplace noise of Gaussian
        noise, taken over 4096 points that fill the cube of their quantiles evenly, and good to about four digits.

        >>> from distpriv.noise.laws import GaussianNoise, LaplaceNoise, SumNoise
        >>> one = SumNoise(parts=(GaussianNoise.isotropic(2, 3.0), LaplaceNoise.isotropic(2, 4.0)))
        >>> round(one.expected_l2, 2)
        7.65
        """
        gaussian, axes, scales = self.gaussian, self.laplace_axes, self.laplace_scales
        if len(scales) == 0:
            return gaussian.expected_l2
        if len(scales) == 1:
            return mixed_length(gaussian.variances, gaussian.axes.T @ axes[:, 0], float(scales[0]))
        fill = qmc.Sobol(len(scales), scramble=False).random_base2(12) + 2.0**-13
        lengths = []
        for quantiles in fill:
            variances = -2 * scales**2 * np.log1p(-quantiles)
            lengths.append(GaussianNoise.of(gaussian.covariance + (axes * variances) @ axes.T).expected_l2)
        return float(np.mean(lengths))

    @property
    def expected_rms(self) -> float:
        """√(E‖Z‖²)."""
        return math.sqrt(sum(part.expected_rms**2 for part in self.parts))

    @property
    def half_widths(self) -> Floats:
        """For each statistic, the c with Pr[|Z_k| ≤ c] = 95 %."""
        gaussian = np.sum([np.diag(p.covariance) for p in self.parts if isinstance(p, GaussianNoise)], axis=0)
        widths = []
        for k in range(self.dimension):
            rows = [np.abs(p.axes[k]) * p.scales for p in self.parts if isinstance(p, LaplaceNoise)]
            spread = math.sqrt(max(0.0, float(np.broadcast_to(gaussian, self.dimension)[k])))
            widths.append(half_width(np.concatenate([np.zeros(0), *rows]), spread))
        return np.array(widths)

    def simulate(self, draws: int, seed: int) -> Floats:
        """Draw noise for an experiment: an array of shape (draws, dimension).

        >>> from distpriv.noise.laws import GaussianNoise, LaplaceNoise, SumNoise
        >>> both = SumNoise(parts=(GaussianNoise.isotropic(1, 3.0), LaplaceNoise.isotropic(1, 8**0.5)))
        >>> both.simulate(10_000, seed=0).std(axis=0).round(1)
        array([5.])
        """
        seeds = np.random.SeedSequence(seed).generate_state(len(self.parts))
        drawn = [part.simulate(draws, int(s)) for part, s in zip(self.parts, seeds, strict=True)]
        return np.asarray(np.sum(drawn, axis=0))


NoiseLaw = GaussianNoise | LaplaceNoise | NoNoise | SumNoise | UnimodalNoise
"""Any law of noise."""


def _require_axes(axes: Floats, sizes: Floats, name: str) -> None:
    if axes.ndim != 2 or sizes.shape != (axes.shape[1],) or not np.isfinite(sizes).all() or (sizes < 0).any():
        raise InvalidInput(
            f"noise needs one column of axes for each of its {name}, which are finite and not negative: got axes of "
            f"shape {axes.shape} and {name} {sizes.tolist()}."
        )
    if np.abs(axes.T @ axes - np.eye(axes.shape[1])).max(initial=0.0) > 1e-9:
        raise InvalidInput("the axes of noise must be orthonormal columns: orthonormalise them, by QR say.")
