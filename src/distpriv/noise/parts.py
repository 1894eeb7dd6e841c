r"""What every law of noise answers, and the two laws that others are sums of, along orthonormal axes.

A law is a description: it says what Z is, not how a release draws it. `simulate` draws seeded floating-point noise,
which is good for experiments and not for releases: its low-order bits depend on the value it is added to.
"""

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from attrs import evolve, fields, frozen
from numpy.typing import NDArray

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats, array_field
from distpriv.noise.lengths import expected_length, half_width, laplace_length
from distpriv.noise.line_laws import LaplaceLine, LineLaw

if TYPE_CHECKING:
    from distpriv.noise.laws import UnimodalNoise

__all__ = ["GaussianNoise", "LaplaceNoise", "Noise"]


@frozen(kw_only=True)
class Noise(ABC):
    """What every law of noise answers: it is a Gaussian part and laws along lines, and either may be empty.

    >>> from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoNoise, SumNoise
    >>> both = SumNoise(parts=(GaussianNoise.isotropic(2, 3.0), LaplaceNoise(axes=[[1], [0]], scales=[4])))
    >>> both.gaussian.variances, both.laplace_axes.tolist(), both.laplace_scales
    (array([9., 9.]), [[1.0], [0.0]], array([4.]))
    >>> both.dimension, both.covariance.tolist(), round(both.expected_rms, 4)
    (2, [[41.0, 0.0], [0.0, 9.0]], 7.0711)
    >>> both.half_widths.round(2), both.simulate(10_000, seed=0).std(axis=0).round(1), both.to_dict()["law"]
    (array([13.11,  5.88]), array([6.4, 3. ]), 'sum')
    >>> both.line_axes.tolist(), both.line_laws, both.line[0], both.is_safer_wider
    ([[1.0], [0.0]], (LaplaceLine(scale=4.0),), array([1., 0.]), True)
    >>> [law.is_gaussian for law in (both, both.gaussian, NoNoise(dimension=2))], both.is_sum_of_parts
    ([False, True, True], True)
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
    def parts(self) -> "tuple[GaussianNoise | LaplaceNoise | UnimodalNoise, ...]":
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
    def line_axes(self) -> Floats:
        """The axes of all the noise in it that is not Gaussian, as columns; they need not be orthogonal."""
        return np.concatenate([np.zeros((self.dimension, 0)), *(part.line_axes for part in self.parts)], axis=1)

    @property
    def line_laws(self) -> tuple[LineLaw, ...]:
        """The laws along these axes, all independent."""
        return tuple(law for part in self.parts for law in part.line_laws)

    @property
    def laplace_axes(self) -> Floats:
        """The axes of all the Laplace noise in it, as columns; those of different parts need not be orthogonal."""
        return self.line_axes[:, [isinstance(law, LaplaceLine) for law in self.line_laws]]

    @property
    def laplace_scales(self) -> Floats:
        """The scales of all the Laplace noise in it, one for each axis."""
        return np.array([law.scale for law in self.line_laws if isinstance(law, LaplaceLine)])

    @property
    def line(self) -> tuple[Floats, LineLaw] | None:
        """The axis of the noise that is not Gaussian, and its law along it; None unless there is just one such axis."""
        laws = self.line_laws
        wide = [place for place, law in enumerate(laws) if law.variance > 0]
        return (self.line_axes[:, wide[0]], laws[wide[0]]) if len(wide) == 1 else None

    @property
    def is_gaussian(self) -> bool:
        """Whether the noise is Gaussian, or none at all: then δ is exact for Gaussian statistics."""
        return not self.line_laws

    @property
    def is_sum_of_parts(self) -> bool:
        """Whether Gaussian and Laplace parts are all there is of it, so that it can be stacked, and noise added."""
        return all(isinstance(law, LaplaceLine) for law in self.line_laws)

    @property
    def is_safer_wider(self) -> bool:
        """Whether the noise times a factor above 1 is no less private, so that what holds for it holds for that.

        Wider Gaussian noise is the same with more added, and Lap(cb) is Lap(b) with Lap(cb) added in all but 1/c² of
        the cases. A staircase that is next to nothing most of the time, under a wide and thin cover, is not so: the
        cover becomes thinner.
        """
        return self.is_sum_of_parts

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
        axes, variances = self.line_axes, np.array([law.variance for law in self.line_laws])
        return np.asarray(self.gaussian.covariance + (axes * variances) @ axes.T)

    @property
    def expected_rms(self) -> float:
        """√(E‖Z‖²)."""
        return math.sqrt(self.gaussian.variances.sum() + sum(law.variance for law in self.line_laws))

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
        gaussian, axes, laws = self.gaussian, self.line_axes, self.line_laws
        if len(laws) <= 1:
            if laws and not len(gaussian.variances):
                return laws[0].mean_size
            return expected_length(gaussian.variances, *((gaussian.axes.T @ axes[:, 0], laws[0]) if laws else ()))
        from scipy.stats import qmc

        fill = qmc.Sobol(len(laws), scramble=False).random_base2(12) + 2.0**-13
        lengths = []
        for quantiles in fill:
            variances = -2 * self.laplace_scales**2 * np.log1p(-quantiles)
            lengths.append(GaussianNoise.of(gaussian.covariance + (axes * variances) @ axes.T).expected_l2)
        return float(np.mean(lengths))

    @property
    def half_widths(self) -> Floats:
        """For each statistic, the c with Pr[|Z_k| ≤ c] = 95 %."""
        deviations, laws = np.sqrt(np.maximum(np.diag(self.gaussian.covariance), 0.0)), self.line_laws
        rows = zip(deviations.tolist(), np.abs(self.line_axes).tolist(), strict=True)
        return np.array([half_width(spread, list(zip(sizes, laws, strict=True))) for spread, sizes in rows])

    def simulate(self, draws: int, seed: int) -> Floats:
        """Draw noise for an experiment: an array of shape (draws, dimension)."""
        seeds = np.random.SeedSequence(seed).generate_state(len(self.parts))
        drawn = [part.simulate(draws, int(s)) for part, s in zip(self.parts, seeds, strict=True)]
        return np.asarray(np.sum([np.zeros((draws, self.dimension)), *drawn], axis=0))

    def characteristic_function(self, frequencies: Floats) -> NDArray[np.complex128]:
        r"""Return :math:`E e^{i t^\top Z}` for every row t of frequencies; it is real, as the noise is symmetric.

        Args:
            frequencies: of shape (…, dimension); the values have the shape without its last axis.

        Raises:
            InvalidInput: the rows do not have one frequency for each statistic.

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
        flat, gaussian = rows.reshape(-1, self.dimension), self.gaussian
        values = np.exp(-((flat @ gaussian.axes) ** 2 @ gaussian.variances) / 2)
        for axis, law in zip(self.line_axes.T, self.line_laws, strict=True):
            values = values * law.transform(flat @ axis)
        return np.asarray(values.reshape(rows.shape[:-1]), dtype=np.complex128)

    def to_dict(self) -> dict[str, Any]:
        """Return the law as numbers, lists and text."""
        return {"law": self.kind, **{of.name: _plain(getattr(self, of.name)) for of in fields(type(self))}}


@frozen(kw_only=True)
class _AlongAxes(Noise):
    """Noise that is independent along orthonormal axes."""

    @staticmethod
    @abstractmethod
    def _standard(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
        """Draw noise of width 1."""

    def simulate(self, draws: int, seed: int) -> Floats:
        standard = self._standard(np.random.default_rng(seed), (draws, len(self.widths)))
        return np.asarray((standard * self.widths) @ self.axes.T)


@frozen(kw_only=True)
class GaussianNoise(_AlongAxes):
    """Z ~ N(0, Σ_k variance_k v_k v_kᵀ), the v_k orthonormal columns of `axes`; there may be fewer than statistics.

    >>> import numpy as np
    >>> from distpriv.noise.laws import GaussianNoise
    >>> noise = GaussianNoise(axes=[[0.6], [0.8]], variances=[25])
    >>> noise.dimension, noise.covariance.tolist(), noise.expected_rms
    (2, [[9.0, 12.0], [12.0, 16.0]], 5.0)
    >>> noise.widths, noise.whitening.tolist(), noise.widened(2.0).variances, noise.parts == (noise,)
    (array([5.]), [[0.12], [0.16]], array([100.]), True)
    >>> GaussianNoise.of([[2, 1], [1, 2]]).variances.round(9), GaussianNoise.along([[1, 0], [0, 1]], [4, 0]).variances
    (array([1., 3.]), array([4.]))
    >>> GaussianNoise.of(np.diag([1e12, 1e-12])).variances.tolist()
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
    def line_axes(self) -> Floats:
        return np.zeros((self.dimension, 0))

    @property
    def line_laws(self) -> tuple[LineLaw, ...]:
        return ()

    @property
    def widths(self) -> Floats:
        return np.sqrt(self.variances)

    @property
    def covariance(self) -> Floats:
        return np.asarray((self.axes * self.variances) @ self.axes.T)

    @staticmethod
    def _standard(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
        return rng.normal(size=shape)

    def widened(self, factor: float) -> Self:
        return evolve(self, variances=self.variances * factor**2)


@frozen(kw_only=True)
class LaplaceNoise(_AlongAxes):
    """Z = Σ_k Y_k v_k, Y_k ~ Lap(scale_k) independent, the v_k orthonormal columns of `axes`.

    >>> from distpriv.noise.laws import LaplaceNoise
    >>> noise = LaplaceNoise(axes=[[0.6], [0.8]], scales=[5])
    >>> noise.dimension, noise.covariance.tolist(), round(noise.expected_rms, 6), noise.expected_l2
    (2, [[18.0, 24.0], [24.0, 32.0]], 7.071068, 5.0)
    >>> noise.widths, noise.whitening.tolist(), noise.widened(2.0).scales, noise.parts == (noise,)
    (array([5.]), [[0.12], [0.16]], array([10.]), True)
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
    def line_axes(self) -> Floats:
        return self.axes

    @property
    def line_laws(self) -> tuple[LineLaw, ...]:
        return tuple(LaplaceLine(scale=scale) for scale in self.scales)

    @property
    def widths(self) -> Floats:
        return self.scales

    @property
    def expected_l2(self) -> float:
        return laplace_length(self.scales)

    @staticmethod
    def _standard(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
        return rng.laplace(size=shape)

    def widened(self, factor: float) -> Self:
        return evolve(self, scales=self.scales * factor)


def _plain(value: Any) -> Any:
    """Return a field of a law as numbers, lists and text."""
    if isinstance(value, tuple):
        return [part.to_dict() for part in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _require_axes(axes: Floats, sizes: Floats, name: str) -> None:
    if axes.ndim != 2 or sizes.shape != (axes.shape[1],) or not np.isfinite(sizes).all() or (sizes < 0).any():
        raise InvalidInput(
            f"noise needs one column of axes for each of its {name}, which are finite and not negative: got axes of "
            f"shape {axes.shape} and {name} {sizes.tolist()}."
        )
    if np.abs(axes.T @ axes - np.eye(axes.shape[1])).max(initial=0.0) > 1e-9:
        raise InvalidInput("the axes of noise must be orthonormal columns: orthonormalise them, by QR say.")
