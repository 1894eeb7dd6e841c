r"""The law of up to three statistics with noise, as probabilities of points of a grid, by fast Fourier transform.

With a share ν of the Gaussian noise taken away, the density of what is released is computed on a grid: a release is no
more than such a point with the rest of the noise added, up to a factor next to 1 (`docs/proofs/exact_law.md`, "Several
statistics"). Statistics with noise on their own whole steps are computed on these. What lies outside of the box of the
grid is bounded by Chernoff's inequality (1952), with the rows' own moment generating function.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, Self

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy import fft

from distpriv.errors import InvalidInput, InvalidModel
from distpriv.framework.arrays import Floats, array_field
from distpriv.law.cells import RowGrid
from distpriv.law.fourier import Transform
from distpriv.law.step_laws import even_shares
from distpriv.noise.laws import NoiseLaw, UnimodalNoise

__all__ = ["ExactGrid", "GridNoise"]


@frozen(kw_only=True)
class Settings:
    """How fine a grid is."""

    taken: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2, 0.35)
    """The shares ν of the Gaussian noise, tried until a grid has few enough points."""
    alike: float = 1e-5
    """How far from 1 the factor may be."""
    rounding: float = 1e-9
    """More than all rounding in the probabilities of a law adds up to."""
    most_points: int = 2**22
    """Of a grid: more take minutes."""
    fastest: float = 9.5
    """The frequency beyond which Gaussian noise of deviation 1 leaves a negligible characteristic function."""


SETTINGS: Final = Settings()


@frozen(kw_only=True)
class GridNoise:
    """All the noise in steps of the statistics: Gaussian, Laplace along columns, and on whole steps of some of them."""

    covariance: Floats = array_field()
    laplace: Floats = array_field()
    """Axes times scales, as columns."""
    own: Mapping[int, tuple[Floats, Floats]]
    """Of which statistics it is on whole steps, and the widths and shares there."""
    widths: Floats = array_field()
    """How wide Gaussian noise is at least along every other statistic, independently of the rest: S ⪰ diag(w²)."""

    @classmethod
    def of(cls, noises: Sequence[NoiseLaw], steps: Floats) -> Self:
        """Return the noise of releases one below the other."""
        size = len(steps)
        covariance, columns, own, start = np.zeros((size, size)), [np.zeros((size, 0))], {}, 0
        for law in noises:
            here = slice(start, start + law.dimension)
            if isinstance(law, UnimodalNoise) and law.dimension == 1:
                own[start] = even_shares(law, float(steps[start]))
            elif law.is_sum_of_parts:
                covariance[here, here] = law.gaussian.covariance / np.outer(steps[here], steps[here])
                block = np.zeros((size, len(law.laplace_scales)))
                block[here] = law.laplace_axes * law.laplace_scales / steps[here, np.newaxis]
                columns.append(block)
            else:
                raise InvalidInput("exact laws are for Gaussian, Laplace and one-step noise: use another mechanism.")
            start += law.dimension
        smooth = [k for k in range(size) if k not in own]
        widths = np.full(size, np.inf)
        widths[smooth] = _widths(covariance[np.ix_(smooth, smooth)])
        return cls(covariance=covariance, laplace=np.concatenate(columns, axis=1), own=own, widths=widths)

    @property
    def axes(self) -> tuple[list[int], Floats]:
        """Axes for a grid, as rows: one statistic, and of each other what a multiple of the first leaves over.

        Along the widest Laplace noise all but the first are at rest, so that a box need not have its diagonal. With the
        rows comes the statistic that each is of.
        """
        identity = np.eye(len(self.covariance))
        if self.own or not self.laplace.size:
            return list(range(len(identity))), identity
        widest = self.laplace[:, int(np.argmax((self.laplace**2).sum(axis=0)))]
        first = int(np.argmax(np.abs(widest) / np.sqrt(np.diag(self.covariance))))
        order = [first, *(which for which in range(len(identity)) if which != first)]
        sheared = identity[order]
        sheared[1:, first] = -widest[order[1:]] / widest[first]
        return order, sheared

    def log_moments(self, direction: Floats, tilts: Floats) -> Floats:
        """Return the logarithm of E e^{sZ} of the noise of a combination of the statistics."""
        inside = np.multiply.outer(tilts, direction @ self.laplace) ** 2
        laplace = np.where(inside < 1, -np.log1p(-np.minimum(inside, 1 - 1e-16)), np.inf).sum(axis=1)
        own = sum(abs(direction[axis]) * widths.max() for axis, (widths, _) in self.own.items())
        return np.asarray(tilts**2 * (direction @ self.covariance @ direction) / 2 + laplace + np.abs(tilts) * own)

    def transform(self, frequencies: Sequence[Floats], axes: Floats, left: float) -> Floats:
        """Return E e^{itᵀAZ} at all combinations of frequencies, with this share of the Gaussian noise."""
        mesh = np.meshgrid(*frequencies, indexing="ij", sparse=True)
        shape = tuple(map(len, frequencies))
        covariance, laplace = axes @ self.covariance @ axes.T, axes @ self.laplace
        quadratic = np.zeros(shape)
        for a, b in zip(*np.nonzero(covariance), strict=True):
            quadratic += covariance[a, b] * mesh[a] * mesh[b]
        values = np.exp(-left * quadratic / 2)
        for column in laplace.T:
            along = sum((c * t for c, t in zip(column.tolist(), mesh, strict=True) if c), np.zeros(shape))
            values /= 1 + along**2
        for axis, (widths, shares) in self.own.items():
            values *= _even_transform(mesh[axis], widths, shares)
        return values


def _widths(covariance: Floats) -> Floats:
    """Return w with diag(w²) below a covariance: by the least eigenvalue of its correlations."""
    if not covariance.size:
        return np.zeros(0)
    deviations = np.sqrt(np.diag(covariance))
    least = -1.0
    if (deviations > 0).all():
        least = float(np.linalg.eigvalsh(covariance / np.outer(deviations, deviations)).min())
    if not least > 1e-9:
        raise InvalidInput("exact laws of several statistics need Gaussian noise in every direction: add some.")
    return np.asarray(deviations * math.sqrt(least * (1 - 1e-9)))


def _even_transform(t: Floats, widths: Floats, shares: Floats) -> Floats:
    """Return E e^{itN} of noise that is even on −k … k with a share for each k."""
    half = np.sin(t / 2)
    sizes = 2 * widths + 1
    with np.errstate(divide="ignore", invalid="ignore"):
        transforms = [
            np.where(np.abs(half) < 1e-12, 1.0, np.sin(size * t / 2) / (size * half)) for size in sizes.tolist()
        ]
    return np.asarray(np.tensordot(shares, np.array(transforms), axes=1))


@frozen(kw_only=True)
class ExactGrid:
    """A box of points, in steps of the statistics along axes, and what is left out of the laws there."""

    axes: Floats = array_field()
    first: Floats = array_field()
    pitch: Floats = array_field()
    points: tuple[int, ...]
    fastest: tuple[int, ...]
    """How many times around the box the highest frequency goes, along each axis."""
    taken: float
    """The share ν of Gaussian noise."""
    ratio: float
    """The logarithm λ of the factor next to 1."""
    outside: float
    """What is outside of the box, or of the frequencies, of any law."""

    @classmethod
    def of(cls, rows: RowGrid, noise: GridNoise, outside: float, settings: Settings = SETTINGS) -> Self:
        """Return the finest grid that has few enough points, with so little outside along each axis."""
        order, axes = noise.axes
        boxes = np.array([_box(rows, noise, direction, outside) for direction in axes])
        spans, widths = boxes[:, 1] - boxes[:, 0], noise.widths[order]
        for taken in settings.taken:
            pitch, away = _pitch(widths, taken, settings.alike)
            counts = np.ceil(spans / pitch) + 2
            if counts.prod() <= settings.most_points:
                break
        else:
            raise InvalidModel(
                f"an exact law would have {counts.prod():,.0f} points, and up to {settings.most_points:,} are looked "
                "at: release fewer statistics at once, or use certified_gaussian, or coupled_gaussian to have it "
                "proved."
            )
        points = tuple(_odd(int(count)) for count in counts)
        on_steps = ~np.isfinite(widths)
        first = np.where(on_steps, np.floor(boxes[:, 0]), boxes[:, 0] - (points * pitch - spans) / 2)
        slopes = -axes[1:, order[0]]
        fastest, missing = _fastest(math.sqrt(1 - taken) * widths, slopes, pitch, points, settings.fastest)
        return cls(
            axes=axes,
            first=first,
            pitch=pitch,
            points=points,
            fastest=fastest,
            taken=taken,
            ratio=math.log1p(away) - math.log1p(-away),
            outside=2 * len(points) * outside + missing + settings.rounding,
        )

    def laws(self, rows: RowGrid, noise: GridNoise) -> tuple[dict[str, Floats], float]:
        """Return the probability of every point in every scenario, and what all of a law may be off by."""
        # How many times around the box frequencies go; along the last axis the half that is not mirrored.
        turns = [np.arange(-most, most + 1) for most in self.fastest[:-1]] + [np.arange(self.fastest[-1] + 1)]
        once = 2 * np.pi / (np.array(self.points) * self.pitch)
        frequencies = [turn * along for turn, along in zip(once.tolist(), turns, strict=True)]
        weights = noise.transform(frequencies, self.axes, 1 - self.taken)
        transforms, left_out = rows.transforms(frequencies, self.axes, weights)
        mesh = np.meshgrid(*frequencies, indexing="ij", sparse=True)
        kernel = weights * np.exp(-1j * sum(t * start for t, start in zip(mesh, self.first.tolist(), strict=True)))
        laws = {name: self._law(np.conj(law * kernel), turns) for name, law in transforms.items()}
        return laws, self.outside + 2 * left_out

    def _law(self, transform: Transform, turns: Sequence[NDArray[np.int64]]) -> Floats:
        """Return the law with a transform: frequencies that a whole number of turns a point are apart are one."""
        whole = np.zeros((*self.points[:-1], self.points[-1] // 2 + 1), dtype=np.complex128)
        places = [along % count for along, count in zip(turns[:-1], self.points, strict=False)]
        np.add.at(whole, np.ix_(*places, turns[-1]), transform)
        return np.maximum(fft.irfftn(whole, s=self.points), 0.0)


def _pitch(widths: Floats, taken: float, alike: float) -> tuple[Floats, float]:
    """Return how far points are apart along each axis, and how far from 1 the factor is at most."""
    smooth = np.isfinite(widths)
    count = int(smooth.sum())
    needed = math.log(3 * max(count, 1) / alike) / (2 * np.pi**2)
    pitch = np.where(smooth, np.where(smooth, widths, 1.0) * math.sqrt(taken * (1 - taken) / needed), 1.0)
    return pitch, (1 + 2.001 * math.exp(-2 * np.pi**2 * needed)) ** count - 1


def _odd(count: int) -> int:
    """Return the next odd number that transforms are fast for: a frequency then stands for itself alone."""
    sizes: list[int] = [3**a * 5**b * 7**c for a in range(16) for b in range(11) for c in range(9)]
    return min(size for size in sizes if size >= count)


def _fastest(
    widths: Floats, slopes: Floats, pitch: Floats, points: Sequence[int], highest: float
) -> tuple[tuple[int, ...], float]:
    """Return the highest frequencies that matter along each axis, and what all others can add to a law (τ).

    Along sheared axes frequencies are off the whole numbers, so that the sum of those left out of the first one begins
    at the highest itself.
    """
    fastest = [(count - 1) // 2 for count in points]
    sums, rests, known, first = [], [], 1, 0.0
    for axis, (width, step, count) in enumerate(zip(widths.tolist(), pitch.tolist(), points, strict=True)):
        if math.isinf(width):
            known *= count
            continue
        turn = 2 * np.pi / (count * step)
        most = math.ceil(highest / (turn * width))
        fastest[axis] = most if axis == 0 and len(points) > 1 else min(fastest[axis], most)
        square = (width * turn) ** 2
        sums.append(1 + math.sqrt(np.pi / square))
        rests.append(2 * math.exp(-square * fastest[axis] ** 2) * (1 + 1 / (2 * square * fastest[axis])))
        if axis > 0:
            first += abs(float(slopes[axis - 1])) * turn * fastest[axis]
    fastest[0] += math.ceil(first * points[0] * float(pitch[0]) / (2 * np.pi))
    total = sum(rest * math.prod(sums) / own for rest, own in zip(rests, sums, strict=True))
    return tuple(fastest), math.sqrt(known * total)


def _box(rows: RowGrid, noise: GridNoise, direction: Floats, outside: float) -> tuple[float, float]:
    """Return from where to where all laws of a combination with noise are, but for what may be outside."""
    variance = direction @ (noise.covariance + noise.laplace @ noise.laplace.T) @ direction
    return rows.box(direction, outside, float(variance), partial(noise.log_moments, direction))
