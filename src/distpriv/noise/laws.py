r"""Every law of noise: Gaussian, Laplace, sums of these, unimodal along one axis, and none.

A law is a description: it says what Z is, not how a release draws it. `simulate` draws seeded floating-point noise,
which is good for experiments and not for releases: its low-order bits depend on the value it is added to.
"""

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray
from scipy.special import ndtr

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats, array_field
from distpriv.noise.lengths import expected_length, half_width, laplace_length

__all__ = [
    "GaussianNoise",
    "LaplaceNoise",
    "NoNoise",
    "Noise",
    "NoiseLaw",
    "SumNoise",
    "UnimodalNoise",
]


@frozen(kw_only=True)
class Noise(ABC):
    """What every law of noise answers: it is a Gaussian and a Laplace part, and either may be empty, or is unimodal.

    >>> from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoNoise, SumNoise
    >>> both = SumNoise(parts=(GaussianNoise.isotropic(2, 3.0), LaplaceNoise(axes=[[1], [0]], scales=[4])))
    >>> both.gaussian.variances, both.laplace_axes.tolist(), both.laplace_scales
    (array([9., 9.]), [[1.0], [0.0]], array([4.]))
    >>> both.dimension, both.covariance.tolist(), round(both.expected_rms, 4)
    (2, [[41.0, 0.0], [0.0, 9.0]], 7.0711)
    >>> both.half_widths.round(2), both.simulate(10_000, seed=0).std(axis=0).round(1), both.kind
    (array([13.11,  5.88]), array([6.4, 3. ]), 'sum')
    >>> both.line, [law.is_gaussian for law in (both, both.gaussian, NoNoise(dimension=2))], both.is_sum_of_parts
    ((array([1., 0.]), 4.0), [False, True, True], True)
    >>> both.axes.tolist(), both.widths, both.whitening[0].round(2), both.widened(2.0).widths, len(both.parts)
    ([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]], array([3., 3., 4.]), array([0.33, 0.  , 0.25]), array([6., 6., 8.]), 2)
    """

    kind: ClassVar[str]
    """What the law is called where it is written down."""

    @property
    @abstractmethod
    def axes(self) -> Floats:
        """Where the noise is, as columns of length 1; those of different parts need not be orthogonal."""

    @property
    @abstractmethod
    def widths(self) -> Floats:
        """How wide the noise is along each axis: a deviation, a Laplace scale, or how far unimodal noise reaches."""

    @abstractmethod
    def widened(self, factor: float) -> Self:
        """Return the law of `factor` times the noise."""

    @property
    def parts(self) -> "tuple[GaussianNoise | LaplaceNoise, ...]":
        """The independent laws that the noise is the sum of; none unless a law says so."""
        return ()

    @property
    def gaussian(self) -> "GaussianNoise":
        """All the Gaussian noise in it, as one law; it may have no axes."""
        parts = [part.gaussian for part in self.parts if part.is_gaussian]
        if len(parts) == 1:
            return parts[0]
        nothing = np.zeros((self.dimension, self.dimension))
        return GaussianNoise.of(np.sum([nothing, *(part.covariance for part in parts)], axis=0))

    @property
    def laplace_axes(self) -> Floats:
        """The axes of all the Laplace noise in it, as columns; those of different parts need not be orthogonal."""
        return np.concatenate([np.zeros((self.dimension, 0)), *(part.laplace_axes for part in self.parts)], axis=1)

    @property
    def laplace_scales(self) -> Floats:
        """The scales of all the Laplace noise in it, one for each axis."""
        return np.concatenate([np.zeros(0), *(part.laplace_scales for part in self.parts)])

    @property
    def line(self) -> tuple[Floats, float] | None:
        """The axis of the Laplace noise and its scale; None unless there is just one such axis."""
        wide = np.flatnonzero(self.laplace_scales > 0)
        return (self.laplace_axes[:, wide[0]], float(self.laplace_scales[wide[0]])) if len(wide) == 1 else None

    @property
    def is_gaussian(self) -> bool:
        """Whether the noise is Gaussian, or none at all: then δ is exact for Gaussian statistics."""
        return self.is_sum_of_parts and not len(self.laplace_scales)

    @property
    def is_sum_of_parts(self) -> bool:
        """Whether Gaussian and Laplace parts are all there is of it, so that it can be stacked, widened, and added to.

        Wider Gaussian noise is the same with more added, and Lap(cb) is Lap(b) with Lap(cb) added in all but 1/c² of
        the cases: what holds for such noise holds for a multiple above 1. Unimodal noise that is next to nothing most
        of the time, under a wide and thin cover, is less private when it is wider: the cover becomes thinner.
        """
        return True

    @property
    def whitening(self) -> Floats:
        """Columns that turn a move of the statistics into widths of the noise along each axis."""
        return np.asarray(self.axes / self.widths)

    @property
    def dimension(self) -> int:
        """How many statistics the noise is added to."""
        return int(self.axes.shape[0])

    @property
    def covariance(self) -> Floats:
        """The covariance of Z."""
        return np.asarray(
            self.gaussian.covariance + (self.laplace_axes * 2 * self.laplace_scales**2) @ self.laplace_axes.T
        )

    @property
    def expected_rms(self) -> float:
        """√(E‖Z‖²)."""
        return math.sqrt(self.gaussian.variances.sum() + 2 * (self.laplace_scales**2).sum())

    @property
    def expected_l2(self) -> float:
        """E‖Z‖₂: in closed form where all variances are equal, or for one axis, else by quadrature.

        With Gaussian noise and several axes of Laplace noise it is the mean of the Gaussian formula over the random
        variances that make Laplace noise of Gaussian noise, taken over 4096 points that fill the cube of their
        quantiles evenly, and good to about four digits.

        >>> from distpriv.noise.laws import GaussianNoise, LaplaceNoise, SumNoise
        >>> one = SumNoise(parts=(GaussianNoise.isotropic(2, 3.0), LaplaceNoise.isotropic(2, 4.0)))
        >>> round(one.expected_l2, 2)
        7.65
        """
        gaussian, axes, scales = self.gaussian, self.laplace_axes, self.laplace_scales
        if len(scales) <= 1:
            return expected_length(gaussian.variances, gaussian.axes.T @ axes[:, :1], float(scales.sum()))
        from scipy.stats import qmc

        fill = qmc.Sobol(len(scales), scramble=False).random_base2(12) + 2.0**-13
        lengths = []
        for quantiles in fill:
            variances = -2 * scales**2 * np.log1p(-quantiles)
            lengths.append(GaussianNoise.of(gaussian.covariance + (axes * variances) @ axes.T).expected_l2)
        return float(np.mean(lengths))

    @property
    def half_widths(self) -> Floats:
        """For each statistic, the c with Pr[|Z_k| ≤ c] = 95 %."""
        deviations = np.sqrt(np.maximum(np.diag(self.gaussian.covariance), 0.0))
        scales = np.abs(self.laplace_axes) * self.laplace_scales
        return np.array([half_width(spread, row) for spread, row in zip(deviations.tolist(), scales, strict=True)])

    def simulate(self, draws: int, seed: int) -> Floats:
        """Draw noise for an experiment: an array of shape (draws, dimension)."""
        seeds = np.random.SeedSequence(seed).generate_state(len(self.parts))
        drawn = [part.simulate(draws, int(s)) for part, s in zip(self.parts, seeds, strict=True)]
        return np.asarray(np.sum([np.zeros((draws, self.dimension)), *drawn], axis=0))

    def characteristic_function(self, frequencies: Floats) -> NDArray[np.complex128]:
        r"""Return :math:`E e^{i t^\top Z}` for every row t of frequencies; it is real, as the noise is symmetric.

        The rows are the last axis, one number for each statistic.

        >>> from distpriv.noise.laws import GaussianNoise, LaplaceNoise, SumNoise
        >>> both = SumNoise(parts=(GaussianNoise.isotropic(2, 3.0), LaplaceNoise(axes=[[1], [0]], scales=[4])))
        >>> both.characteristic_function([[0, 0], [0.25, 0]]).round(4)
        array([1.    +0.j, 0.3774+0.j])
        """
        rows = np.asarray(frequencies, dtype=np.float64)
        if rows.ndim == 0 or rows.shape[-1] != self.dimension:
            raise InvalidInput(
                f"frequencies of shape {rows.shape} do not fit noise for {self.dimension} statistics: give rows of "
                f"{self.dimension} numbers."
            )
        values = self._transform(rows.reshape(-1, self.dimension))
        return np.asarray(values.reshape(rows.shape[:-1]), dtype=np.complex128)

    def _transform(self, frequencies: Floats) -> Floats:
        """Return the characteristic function at rows of frequencies."""
        gaussian, along = self.gaussian, (frequencies @ self.laplace_axes) * self.laplace_scales
        normal = np.exp(-((frequencies @ gaussian.axes) ** 2 @ gaussian.variances) / 2)
        return np.asarray(normal / (1 + along**2).prod(axis=1))


@frozen(kw_only=True)
class GaussianNoise(Noise):
    """Z ~ N(0, Σ_k variance_k v_k v_kᵀ), the v_k orthonormal columns of `axes`; there may be fewer than statistics.

    >>> from distpriv.noise.laws import GaussianNoise
    >>> GaussianNoise(axes=[[0.6], [0.8]], variances=[25]).covariance.tolist()
    [[9.0, 12.0], [12.0, 16.0]]
    >>> GaussianNoise.of([[2, 1], [1, 2]]).variances.round(9), GaussianNoise.along([[1, 0], [0, 1]], [4, 0]).variances
    (array([1., 3.]), array([4.]))
    >>> GaussianNoise.of([[1e12, 0], [0, 1e-12]]).variances.tolist()
    [1e-12, 1000000000000.0]
    >>> round(GaussianNoise.isotropic(5, 16.21).expected_l2, 2)
    34.49
    """

    kind = "gaussian"

    axes: Floats = array_field()
    """Orthonormal columns v_k."""
    variances: Floats = array_field()
    """The variance along each axis."""

    def __attrs_post_init__(self) -> None:
        _require_axes(self.axes, self.variances, "variances")

    @classmethod
    def isotropic(cls, dimension: int, deviation: float) -> Self:
        """Return N(0, deviation² I)."""
        return cls(axes=np.eye(dimension), variances=np.full(dimension, deviation**2))

    @classmethod
    def along(cls, axes: Floats, variances: Floats) -> Self:
        """Return noise along the axes that have a variance; the others are left out."""
        some = np.asarray(variances) > 0
        return cls(axes=np.asarray(axes)[:, some], variances=np.asarray(variances)[some])

    @classmethod
    def of(cls, covariance: Floats) -> Self:
        """Return N(0, covariance), along its eigenvectors; what is below rounding of the largest counts as none.

        The eigenvectors are those of a factor that is found in units of the statistics' own noise: so a statistic in
        millions does not drown one in millionths.
        """
        given = np.asarray(covariance, dtype=np.float64)
        units = np.sqrt(np.maximum(np.diag(given), 0.0))
        units = np.where(units > 0, units, 1.0)
        variances, axes = np.linalg.eigh(given / np.outer(units, units))
        some = variances > 1e-15 * variances.max(initial=0.0)
        factor = units[:, np.newaxis] * axes[:, some] * np.sqrt(variances[some])
        directions, deviations, _ = np.linalg.svd(factor, full_matrices=False)
        return cls(axes=directions[:, ::-1], variances=deviations[::-1] ** 2)

    @property
    def parts(self) -> "tuple[GaussianNoise]":
        return (self,)

    @property
    def gaussian(self) -> "GaussianNoise":
        return self

    @property
    def laplace_axes(self) -> Floats:
        return np.zeros((self.dimension, 0))

    @property
    def laplace_scales(self) -> Floats:
        return np.zeros(0)

    @property
    def widths(self) -> Floats:
        return np.sqrt(self.variances)

    @property
    def covariance(self) -> Floats:
        return np.asarray((self.axes * self.variances) @ self.axes.T)

    def simulate(self, draws: int, seed: int) -> Floats:
        standard = np.random.default_rng(seed).normal(size=(draws, len(self.widths)))
        return np.asarray((standard * self.widths) @ self.axes.T)

    def widened(self, factor: float) -> Self:
        return evolve(self, variances=self.variances * factor**2)


@frozen(kw_only=True)
class LaplaceNoise(Noise):
    """Z = Σ_k Y_k v_k, Y_k ~ Lap(scale_k) independent, the v_k orthonormal columns of `axes`.

    >>> from distpriv.noise.laws import LaplaceNoise
    >>> LaplaceNoise(axes=[[0.6], [0.8]], scales=[5]).covariance.tolist()
    [[18.0, 24.0], [24.0, 32.0]]
    >>> abs(LaplaceNoise.isotropic(2, 3.0).simulate(10_000, seed=0)).mean(axis=0).round(1)
    array([3., 3.])
    """

    kind = "laplace"

    axes: Floats = array_field()
    """Orthonormal columns v_k."""
    scales: Floats = array_field()
    """The scale of the Laplace law along each axis."""

    def __attrs_post_init__(self) -> None:
        _require_axes(self.axes, self.scales, "scales")

    @classmethod
    def isotropic(cls, dimension: int, scale: float) -> Self:
        """Return independent Lap(scale) on every statistic."""
        return cls(axes=np.eye(dimension), scales=np.full(dimension, scale))

    @property
    def parts(self) -> "tuple[LaplaceNoise]":
        return (self,)

    @property
    def gaussian(self) -> GaussianNoise:
        return GaussianNoise(axes=np.zeros((self.dimension, 0)), variances=np.zeros(0))

    @property
    def laplace_axes(self) -> Floats:
        return self.axes

    @property
    def laplace_scales(self) -> Floats:
        return self.scales

    @property
    def widths(self) -> Floats:
        return self.scales

    @property
    def expected_l2(self) -> float:
        return laplace_length(self.scales)

    def simulate(self, draws: int, seed: int) -> Floats:
        standard = np.random.default_rng(seed).laplace(size=(draws, len(self.widths)))
        return np.asarray((standard * self.widths) @ self.axes.T)

    def widened(self, factor: float) -> Self:
        return evolve(self, scales=self.scales * factor)


@frozen(kw_only=True)
class NoNoise(Noise):
    """Z = 0: the statistics are released as they are.

    >>> from distpriv.noise.laws import NoNoise
    >>> NoNoise(dimension=2).covariance.tolist(), NoNoise(dimension=2).variances
    ([[0.0, 0.0], [0.0, 0.0]], array([], dtype=float64))
    """

    kind = "none"

    dimension: int = field(converter=int)
    """How many statistics there are."""

    @property
    def axes(self) -> Floats:
        return np.zeros((self.dimension, 0))

    @property
    def widths(self) -> Floats:
        return np.zeros(0)

    @property
    def variances(self) -> Floats:
        """None: no noise is Gaussian noise along no axis."""
        return np.zeros(0)

    def widened(self, factor: float) -> Self:  # noqa: ARG002 - the laws share one signature
        return self


@frozen(kw_only=True)
class UnimodalNoise(Noise):
    """Z = Y v, v the one column of `axes`; |Y| has constant density between neighbouring edges, and Y is symmetric.

    `masses` says how likely |Y| is between two edges. As floating-point numbers they are fractions with a power of two
    below, and they must sum to 1 exactly, so that a release can draw a cell by whole numbers alone. The densities do
    not increase, exactly either: every guarantee for smaller shifts rests on that.

    >>> from distpriv.noise.laws import UnimodalNoise
    >>> noise = UnimodalNoise(axes=[[0.6], [0.8]], edges=[0, 2, 6], masses=[0.5, 0.5])
    >>> noise.densities, noise.expected_l2, noise.half_widths, noise.is_sum_of_parts, round(noise.expected_rms**2, 3)
    (array([0.125 , 0.0625]), 2.5, array([3.36, 4.48]), False, 9.333)
    >>> import numpy as np
    >>> np.exp(noise.log_density(np.array([0.0, 4.0, 9.0]), 1e-6)).round(4)
    array([0.125 , 0.0625, 0.    ])
    """

    kind = "unimodal"

    axes: Floats = array_field()
    """One column of length 1."""
    edges: Floats = array_field()
    """Where the density of |Y| has its steps, from 0 on."""
    masses: Floats = array_field()
    """How likely |Y| is between two neighbouring edges."""

    @classmethod
    def mixed(cls, axis: Floats, widths: Floats, shares: Floats) -> Self:
        """Return noise that is even between −w and w with some probability for every width w, in ascending order.

        >>> import numpy as np
        >>> from distpriv.noise.laws import UnimodalNoise
        >>> UnimodalNoise.mixed(np.ones(1), np.array([2.0, 6.0]), np.array([0.25, 0.75])).masses
        array([0.5, 0.5])
        """
        edges = np.append(0.0, widths)
        heights = np.cumsum((shares / widths)[::-1])[::-1]
        masses = heights * np.diff(edges)
        # Masses are rounded down to whole multiples of 2⁻⁵², so that their sum is exact; the rest is the first cell's.
        whole = np.floor(masses * (2**52 / masses.sum()) * (1 - 1e-14))
        whole[0] += 2**52 - int(sum(map(int, whole.tolist())))
        return cls(axes=axis[:, np.newaxis], edges=edges, masses=whole / 2**52)

    def __attrs_post_init__(self) -> None:
        if self.axes.ndim != 2 or self.axes.shape[1] != 1 or not abs(float((self.axes**2).sum()) - 1) <= 1e-9:
            raise InvalidInput(
                f"unimodal noise needs one axis, a column of length 1: got axes of shape {self.axes.shape}."
            )
        _require_cells(self.edges, self.masses)

    @property
    def is_sum_of_parts(self) -> bool:
        return False

    @property
    def widths(self) -> Floats:
        return self.edges[-1:]

    @property
    def _shares(self) -> Floats:
        """How likely Y is even between −e and e, for every edge e but 0: a mixture of such laws is Y's."""
        return np.asarray(-np.diff(np.append(self.densities, 0.0)) * 2 * self.edges[1:])

    @property
    def covariance(self) -> Floats:
        low, high = self.edges[:-1], self.edges[1:]
        return np.asarray(float(self.masses @ (low**2 + low * high + high**2)) / 3 * self.axes @ self.axes.T)

    @property
    def expected_rms(self) -> float:
        return math.sqrt(float(np.trace(self.covariance)))

    @property
    def expected_l2(self) -> float:
        return float(self.masses @ (self.edges[:-1] + self.edges[1:])) / 2

    @property
    def half_widths(self) -> Floats:
        reached = np.append(0.0, np.cumsum(self.masses))
        return np.asarray(np.abs(self.axes[:, 0]) * np.interp(0.95, reached / reached[-1], self.edges))

    def _transform(self, frequencies: Floats) -> Floats:
        return np.asarray(
            np.sinc(np.multiply.outer(frequencies @ self.axes[:, 0], self.edges[1:]) / math.pi) @ self._shares
        )

    def log_density(self, points: Floats, deviation: float) -> Floats:
        """Return the logarithm of the density of Y + N(0, deviation²), deviation > 0; −∞ where it underflows."""
        width = self.edges[1:, np.newaxis]
        z, w = np.abs(points) / deviation, width / deviation
        # Where a difference would cancel it is the normal density, with a relative error of 1e-10.
        normal = np.exp(-(z**2) / 2) / (math.sqrt(2 * math.pi) * deviation)
        densities = np.where(w < 1e-5, normal, (ndtr(w - z) - ndtr(-w - z)) / (2 * width))
        with np.errstate(divide="ignore"):  # the logarithm of 0 is −∞
            return np.asarray(np.log(np.maximum(self._shares @ densities, 0.0)))

    @property
    def densities(self) -> Floats:
        """The density of Y in every cell, on either side of 0."""
        return np.asarray(self.masses / np.diff(self.edges) / 2)

    def simulate(self, draws: int, seed: int) -> Floats:
        rng = np.random.default_rng(seed)
        cells = rng.choice(len(self.masses), size=draws, p=self.masses)
        along = rng.uniform(self.edges[cells], self.edges[cells + 1]) * rng.choice([-1.0, 1.0], size=draws)
        return np.asarray(np.multiply.outer(along, self.axes[:, 0]))

    def widened(self, factor: float) -> Self:
        return evolve(self, edges=self.edges * factor)


@frozen(kw_only=True)
class SumNoise(Noise):
    """Z = the sum of independent Gaussian and Laplace noise.

    >>> from distpriv.noise.laws import GaussianNoise, LaplaceNoise, SumNoise
    >>> both = SumNoise(parts=(GaussianNoise.isotropic(2, 3.0), LaplaceNoise(axes=[[1], [0]], scales=[4])))
    >>> both.covariance.tolist(), [part.kind for part in both.parts]
    ([[41.0, 0.0], [0.0, 9.0]], ['gaussian', 'laplace'])
    """

    kind = "sum"

    parts: tuple[GaussianNoise | LaplaceNoise, ...]
    """Independent laws, for the same statistics."""

    def __attrs_post_init__(self) -> None:
        if len({part.dimension for part in self.parts}) != 1:
            raise InvalidInput("a sum of noise needs at least one part, all of them for the same statistics.")
        if not all(part.is_sum_of_parts for part in self.parts):
            raise InvalidInput("unimodal noise is no part of a sum: give Gaussian and Laplace noise.")

    @property
    def axes(self) -> Floats:
        return np.concatenate([part.axes for part in self.parts], axis=1)

    @property
    def widths(self) -> Floats:
        return np.concatenate([part.widths for part in self.parts])

    def widened(self, factor: float) -> Self:
        return evolve(self, parts=tuple(part.widened(factor) for part in self.parts))


NoiseLaw = GaussianNoise | LaplaceNoise | UnimodalNoise | SumNoise | NoNoise
"""Any law of noise."""


def _require_cells(edges: Floats, masses: Floats) -> None:
    if masses.ndim != 1 or len(masses) == 0 or edges.shape != (len(masses) + 1,):
        raise InvalidInput(
            f"unimodal noise needs one more edge than masses: got {edges.shape} edges and {masses.shape} masses."
        )
    if edges[0] != 0 or not (np.diff(edges) > 0).all() or not np.isfinite(edges[-1]):
        raise InvalidInput("the edges of unimodal noise must start at 0 and increase.")
    if not (np.isfinite(masses).all() and (masses >= 0).all() and sum(map(Fraction, masses.tolist())) == 1):
        raise InvalidInput("the masses of unimodal noise must be at least 0 and sum to 1 exactly: round them to 2⁻⁵².")
    exact_edges, exact = [Fraction(e) for e in edges.tolist()], [Fraction(m) for m in masses.tolist()]
    heights = [m / (b - a) for m, a, b in zip(exact, exact_edges[:-1], exact_edges[1:], strict=True)]
    if any(after > before for before, after in pairwise(heights)):
        raise InvalidInput("the densities of unimodal noise must not increase away from 0: sort them.")


def _require_axes(axes: Floats, sizes: Floats, name: str) -> None:
    if axes.ndim != 2 or sizes.shape != (axes.shape[1],) or not np.isfinite(sizes).all() or (sizes < 0).any():
        raise InvalidInput(
            f"noise needs one column of axes for each of its {name}, which are finite and not negative: got axes of "
            f"shape {axes.shape} and {name} {sizes.tolist()}."
        )
    if np.abs(axes.T @ axes - np.eye(axes.shape[1])).max(initial=0.0) > 1e-9:
        raise InvalidInput("the axes of noise must be orthonormal columns: orthonormalise them, by QR say.")
