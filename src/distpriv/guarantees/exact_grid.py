r"""δ of two or three statistics with Gaussian and Laplace noise, from their exact law.

With a share ν of the Gaussian noise taken away, the density of what is released is looked at on a grid of points: a
release is no more than such a point with the rest of the noise added, up to a factor next to 1, so that a sum over the
grid bounds δ, and no integral is left (`docs/proofs/exact_law.md`, "Several statistics"). Statistics with noise on
their own whole steps are looked at on these.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final, Self

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy import fft

from distpriv.errors import InvalidInput, InvalidModel
from distpriv.framework.arrays import Floats, array_field
from distpriv.framework.secrets import Pair
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.exact_steps import LARGEST_EPSILON, even_shares, exact_steps_delta, reference_is
from distpriv.modelling.projected_law import Transform
from distpriv.modelling.row_grid import RowGrid, Sheared, outer
from distpriv.noise.laws import NoiseLaw, UnimodalNoise

__all__ = ["THEOREM", "ExactGrid", "exact_grid_certificate", "exact_grid_delta"]

THEOREM = "the exact law on a grid"

Wholes = NDArray[np.int64]

TAKEN: Final = (0.02, 0.05, 0.1, 0.2, 0.35)
"""The shares ν of the Gaussian noise, tried until a grid has few enough points."""

ALIKE: Final = 1e-5
"""How far from 1 the factor may be."""

OUTSIDE: Final = 1e-4
"""Which share of δ may be lost outside of the box of a grid, along each statistic."""

FLATTEST: Final = 1e-9
"""Gaussian noise whose correlations have a smaller eigenvalue is not in every direction."""

ROUNDING: Final = 1e-9
"""More than all rounding in the probabilities of a law adds up to."""

MOST_POINTS: Final = 2**22

FASTEST: Final = 9.5
"""Frequencies at which Gaussian noise of deviation 1 leaves so little that they are not looked at."""

TILTS: Final = np.geomspace(1e-4, 1e2, 241)
"""At which tilts, in units of 1/σ, Chernoff's bound is tried."""


@frozen(kw_only=True)
class _Noise:
    """All the noise in steps of the statistics: Gaussian, Laplace along columns, and on whole steps of some of them."""

    covariance: Floats = array_field()
    laplace: Floats = array_field()
    """Axes times scales, as columns."""
    own: Mapping[int, tuple[Floats, Floats]]
    """Of which statistics it is on whole steps, and the widths and shares there."""

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
        return cls(covariance=covariance, laplace=np.concatenate(columns, axis=1), own=own)

    @property
    def smooth(self) -> list[int]:
        """Which statistics have Gaussian noise."""
        return [k for k in range(len(self.covariance)) if k not in self.own]

    @property
    def deviations(self) -> Floats:
        """Those of the Gaussian noise of these."""
        return np.asarray(np.sqrt(np.diag(self.covariance)[self.smooth]))

    @property
    def least_correlation(self) -> float:
        """The least eigenvalue of the correlations of the Gaussian noise; not a number where there is none."""
        part = self.covariance[np.ix_(self.smooth, self.smooth)]
        with np.errstate(divide="ignore", invalid="ignore"):
            correlations = part / np.outer(self.deviations, self.deviations)
        return float(np.linalg.eigvalsh(correlations).min()) if np.isfinite(correlations).all() else math.nan

    @property
    def widths(self) -> Floats:
        """How wide Gaussian noise is at least along every statistic that has it, independently of the others."""
        if not self.smooth:
            return np.zeros(0)
        return np.asarray(self.deviations * math.sqrt(self.least_correlation * (1 - 1e-9)))

    def log_moments(self, direction: Floats, tilts: Floats) -> Floats:
        """Return the logarithm of E e^{sZ} of the noise of a combination of the statistics."""
        found = tilts**2 * (direction @ self.covariance @ direction) / 2
        scales = np.abs(direction @ self.laplace)
        inside = np.multiply.outer(tilts, scales) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            found = found + np.where(inside < 1, -np.log1p(-np.minimum(inside, 1.0)), np.inf).sum(axis=1)
        for axis, (widths, _) in self.own.items():
            found = found + np.abs(tilts * direction[axis]) * widths.max()
        return np.asarray(found)

    def transform(self, mesh: Sequence[Floats], left: float) -> Floats:
        """Return E e^{itᵀZ} at frequencies of the statistics, with this share of the Gaussian noise."""
        quadratic = sum(
            (
                self.covariance[a, b] * mesh[a] * mesh[b]
                for a in range(len(mesh))
                for b in range(len(mesh))
                if self.covariance[a, b]
            ),
            np.zeros([1] * len(mesh)),
        )
        found = np.exp(-left * quadratic / 2)
        for column in self.laplace.T:
            along = sum((c * t for c, t in zip(column.tolist(), mesh, strict=True) if c), np.zeros([1] * len(mesh)))
            found = found / (1 + along**2)
        for axis, (widths, shares) in self.own.items():
            found = found * _even_transform(mesh[axis], widths, shares)
        return np.asarray(found)


def _even_transform(t: Floats, widths: Floats, shares: Floats) -> Floats:
    """Return E e^{itN} of noise that is even on −k … k with a share for each k."""
    half = np.sin(t / 2)
    found = np.zeros_like(t)
    for width, share in zip(widths.tolist(), shares.tolist(), strict=True):
        size = 2 * width + 1
        with np.errstate(divide="ignore", invalid="ignore"):
            found += share * np.where(np.abs(half) < 1e-12, 1.0, np.sin(size * t / 2) / (size * half))
    return found


@frozen(kw_only=True)
class ExactGrid:
    """A box of points, in steps of the statistics, and what is left out of the laws there."""

    sheared: Sheared
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
    def of(cls, rows: RowGrid, noise: _Noise, outside: float) -> Self:
        """Return the finest grid that has few enough points, with so little outside along each axis."""
        sheared = _sheared(noise)
        boxes = [_box(rows, noise, direction, outside) for direction in sheared.matrix]
        for taken in TAKEN:
            pitch, away = _pitch(noise, taken)
            pitch = pitch[list(sheared.order)]
            points = tuple(
                _odd(math.ceil((high - low) / step) + 2)
                for (low, high), step in zip(boxes, pitch.tolist(), strict=True)
            )
            if math.prod(points) <= MOST_POINTS:
                break
        else:
            raise InvalidModel(
                f"an exact law would have {math.prod(points):,} points, and up to {MOST_POINTS:,} are looked at: "
                "release fewer statistics at once, or use certified_gaussian, or coupled_gaussian to have it proved."
            )
        first = [
            math.floor(low) if axis in noise.own else low - (count * step - (high - low)) / 2
            for axis, (low, high), step, count in zip(sheared.order, boxes, pitch.tolist(), points, strict=True)
        ]
        fastest, missing = _fastest(noise, sheared, pitch, points, 1 - taken)
        return cls(
            sheared=sheared,
            first=np.array(first),
            pitch=pitch,
            points=points,
            fastest=fastest,
            taken=taken,
            ratio=math.log1p(away) - math.log1p(-away),
            outside=2 * len(points) * outside + missing + ROUNDING,
        )

    @property
    def _turns(self) -> list[Wholes]:
        """How many times around the box frequencies go along each axis; along the last one the half not mirrored."""
        return [np.arange(-most, most + 1) for most in self.fastest[:-1]] + [np.arange(self.fastest[-1] + 1)]

    def laws(self, rows: RowGrid, noise: _Noise) -> tuple[dict[str, Floats], float]:
        """Return the probability of every point in every scenario, and what all of a law may be off by."""
        once = 2 * np.pi / (np.array(self.points) * self.pitch)
        frequencies = [turn * whole for turn, whole in zip(once.tolist(), self._turns, strict=True)]
        weights = noise.transform(self.sheared.of_statistics(frequencies), 1 - self.taken)
        weights = np.broadcast_to(weights, [len(along) for along in frequencies])
        transforms, left_out = rows.transforms(frequencies, self.sheared, weights)
        kernel = weights * outer(
            [np.exp(-1j * t * start) for t, start in zip(frequencies, self.first.tolist(), strict=True)]
        )
        laws = {name: self._law(np.conj(law * kernel)) for name, law in transforms.items()}
        return laws, self.outside + 2 * left_out

    def _law(self, transform: Transform) -> Floats:
        """Return the law with a transform: frequencies that a whole number of turns a point are apart are one."""
        whole = np.zeros((*self.points[:-1], self.points[-1] // 2 + 1), dtype=np.complex128)
        turns = self._turns
        for start in range(0, len(turns[0]), self.points[0]) if len(turns) > 1 else (0,):
            part = slice(start, start + self.points[0]) if len(turns) > 1 else slice(None)
            whole[np.ix_(turns[0][part] % self.points[0], *turns[1:])] += transform[part]
        return np.maximum(fft.irfftn(whole, s=self.points), 0.0)


def _sheared(noise: _Noise) -> Sheared:
    """Return axes along the widest Laplace noise, so that a box need not have its diagonal."""
    size = len(noise.covariance)
    if noise.own or not noise.laplace.size or size == 1:
        return Sheared(order=tuple(range(size)), slopes=(0.0,) * (size - 1))
    widest = noise.laplace[:, int(np.argmax((noise.laplace**2).sum(axis=0)))]
    first = int(np.argmax(np.abs(widest) / np.sqrt(np.diag(noise.covariance))))
    others = [which for which in range(size) if which != first]
    return Sheared(order=(first, *others), slopes=tuple((widest[others] / widest[first]).tolist()))


def exact_grid_delta(rows: RowGrid, noises: Sequence[NoiseLaw], target: PrivacyTarget, pairs: Sequence[Pair]) -> float:
    """Return a bound on the largest δ of the ordered pairs at the target's ε, with all that is left out added.

    The noise of several releases stands one below the other; the target's δ decides how much may be left out.

    >>> import distpriv as dp
    >>> from distpriv.modelling.row_grid import row_grid
    >>> from distpriv.noise.laws import GaussianNoise
    >>> query = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
    >>> secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    >>> model = dp.model(dp.datasets.adult(), query, secret, records=100, reference="population")
    >>> target = dp.PrivacyTarget(epsilon=1.0, delta=1e-3)
    >>> noise = GaussianNoise(axes=np.eye(2), variances=[4.0, 4.0])
    >>> round(exact_grid_delta(row_grid(model), [noise], target, model.protected_pairs), 4)
    0.0191
    """
    if rows.sample:
        if len(noises) > 1 or not isinstance(noises[0], UnimodalNoise):
            raise InvalidInput("exact laws of a sample are of one statistic with noise on whole steps.")
        return exact_steps_delta(rows, noises[0], target.epsilon, pairs)
    noise = _Noise.of(noises, rows.steps)
    if noise.smooth and not noise.least_correlation > FLATTEST:
        raise InvalidInput("exact laws of several statistics need Gaussian noise in every direction: add some.")
    epsilon = min(target.epsilon, LARGEST_EPSILON)
    odds = math.exp(epsilon)
    grid = ExactGrid.of(rows, noise, OUTSIDE * target.delta / (1 + odds))
    laws, off = grid.laws(rows, noise)
    off += _moved(rows, noise)
    odds = math.exp(epsilon - 3 * grid.ratio)
    most = max(float(np.maximum(laws[one] - odds * laws[other], 0.0).sum()) for one, other in pairs)
    return min(1.0, math.exp(2 * grid.ratio) * (most + (1 + odds) * off))


def exact_grid_certificate(
    rows: RowGrid,
    noises: Sequence[NoiseLaw],
    target: PrivacyTarget,
    pairs: Sequence[Pair],
    theorem: str = THEOREM,
    evidence: Sequence[Evidence] = (),
) -> Certificate:
    """Return what noise is worth by the exact law of up to three statistics."""
    cells = sum(len(stratum.counts) for stratum in rows.strata)
    delta = exact_grid_delta(rows, noises, target, pairs)
    return Certificate(
        target=target,
        epsilon=target.epsilon,
        delta=delta,
        assurance="checked" if rows.sample else "proved",
        theorem=theorem,
        evidence=(
            *evidence,
            reference_is(rows, delta),
            Evidence.of("DP207", cells=cells, scenarios=len(rows.drawn)),
        ),
        drawn=rows,
    )


def _moved(rows: RowGrid, noise: _Noise) -> float:
    """Return how much of a law it can change that datasets are off the steps: by moves of noise, in its own widths."""
    return rows.off * (1 + float((1 / noise.widths).sum()))


def _pitch(noise: _Noise, taken: float) -> tuple[Floats, float]:
    """Return how far points are apart along each statistic, and how far from 1 the factor is at most."""
    pitch = np.ones(len(noise.covariance))
    smooth = noise.smooth
    if not smooth:
        return pitch, 0.0
    needed = math.log(3 * len(smooth) / ALIKE) / (2 * np.pi**2)
    pitch[smooth] = noise.widths * math.sqrt(taken * (1 - taken) / needed)
    return pitch, (1 + 2.001 * math.exp(-2 * np.pi**2 * needed)) ** len(smooth) - 1


def _odd(count: int) -> int:
    """Return the next odd number that transforms are fast for: a frequency then stands for itself alone."""
    if count > MOST_POINTS:
        return count
    sizes: list[int] = [3**a * 5**b * 7**c for a in range(16) for b in range(11) for c in range(9)]
    return min(size for size in sizes if size >= count)


def _fastest(
    noise: _Noise, sheared: Sheared, pitch: Floats, points: Sequence[int], left: float
) -> tuple[tuple[int, ...], float]:
    """Return the highest frequencies that matter along each axis, and what all others can add to a law (τ)."""
    fastest = [(count - 1) // 2 for count in points]
    smooth = [axis for axis, which in enumerate(sheared.order) if which not in noise.own]
    if not smooth:
        return tuple(fastest), 0.0
    widths = math.sqrt(left) * (noise.widths if noise.own else noise.widths[list(sheared.order)])
    sums, rests, highest = [], [], []
    for axis, width in zip(smooth, widths.tolist(), strict=True):
        turn = 2 * np.pi / (points[axis] * pitch[axis])
        most = math.ceil(FASTEST / (turn * width))
        fastest[axis] = most if axis == 0 and len(points) > 1 else min(fastest[axis], most)
        square = (width * turn) ** 2
        sums.append(1 + math.sqrt(np.pi / square))
        # Sheared points are off the whole numbers, so that the sum begins at the highest one itself.
        rests.append(2 * math.exp(-square * fastest[axis] ** 2) * (1 + 1 / (2 * square * fastest[axis])))
        highest.append(turn * fastest[axis])
    if any(sheared.slopes):
        more = sum(abs(slope) * high for slope, high in zip(sheared.slopes, highest[1:], strict=True))
        fastest[0] += math.ceil(more * points[0] * pitch[0] / (2 * np.pi))
    known = math.prod(points[axis] for axis in noise.own)
    total = sum(rest * math.prod(sums) / own for rest, own in zip(rests, sums, strict=True))
    return tuple(fastest), math.sqrt(known * total)


def _box(rows: RowGrid, noise: _Noise, direction: Floats, outside: float) -> tuple[float, float]:
    """Return from where to where all laws of a combination with noise are, but for what may be outside."""
    ends = []
    for name in rows.drawn:
        mean, covariance = rows.moments(name)
        spread = direction @ (covariance + noise.covariance + noise.laplace @ noise.laplace.T) @ direction
        unit = 1 / max(math.sqrt(spread), 0.1)
        reach = max(_reach(rows, noise, name, direction, side * unit * TILTS, outside) for side in (1, -1))
        middle = float(mean @ direction)
        ends += [middle - reach, middle + reach]
    return min(ends), max(ends)


def _reach(rows: RowGrid, noise: _Noise, scenario: str, direction: Floats, tilts: Floats, outside: float) -> float:
    """Return how far from its mean a combination with noise is but for what may be outside, by Chernoff's bound."""
    logs = noise.log_moments(direction, tilts) + rows.log_moments(scenario, direction, tilts)
    values = (logs - math.log(outside / 2)) / np.abs(tilts)
    return float(values[np.isfinite(values)].min())
