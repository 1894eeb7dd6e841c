r"""How a release draws its noise: whole numbers of steps, along the noise's own axes.

A sum of floating-point numbers tells more than its value: which low-order bits it can have depends on what was added.
Here the statistics are turned into the noise's axes and rounded to a lattice of steps :math:`g_k`, all of that exactly;
whole-number noise is added; and only then is anything rounded to floating point:

.. math:: k = \mathrm{round}(V^{-1} F / g), \qquad \mathrm{release} = V (g (k + N)),

the last product being rounded to a grain that is far above the lattice and far below the noise of each statistic.

What this costs against F + Z is proved in docs/proofs/lattice_noise.md, and `LatticeNoise.cost` says how much.
"""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from attrs import frozen

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats, array_field
from distpriv.noise.dyadic import Dyadic, Wholes, nearest
from distpriv.noise.integers import Discrepancy, IntegerGaussian, IntegerLaplace, IntegerNoise, IntegerPiecewise
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw, NoNoise, SumNoise, UnimodalNoise

__all__ = ["Frame", "LatticeNoise", "LatticePart", "on_lattice"]


@frozen(kw_only=True)
class Frame:
    """The coordinates in which a release is rounded: a basis, the columns of `outward`, and the map `inward` into it.

    Axes of noise are orthonormal up to rounding, and their transpose is their inverse up to rounding. Where noise is a
    million times wider along one axis than along another that is not good enough: a trace of the wide noise would count
    as narrow noise. So statistics are turned by the inverse itself, to 150 binary places and more.
    """

    outward: Floats = array_field()
    inward: Dyadic

    @classmethod
    def along(cls, axes: Floats) -> Self:
        """Return the frame that begins with these orthonormal columns; the others are orthogonal to them.

        >>> Frame.along(np.array([[0.6], [0.8]])).outward.shape
        (2, 2)
        """
        others = np.linalg.qr(axes, mode="complete")[0][:, axes.shape[1] :]
        outward = np.hstack([axes, others])
        return cls(outward=outward, inward=_inverse(outward))

    def skewness(self, sizes: Floats) -> float:
        """Return the largest row sum of |E_kj| size_j / size_k, where inward · outward = I + E."""
        missed = np.abs(_missed(Dyadic.of(self.outward), self.inward).floats())
        with np.errstate(over="ignore"):
            return float((missed * sizes / sizes[:, np.newaxis]).sum(axis=1).max(initial=0.0))


@frozen(kw_only=True)
class LatticePart:
    """Independent noise along some axes: whole numbers of a step for each, as `coordinates` has them."""

    axes: Floats = array_field()
    steps: Floats = array_field()
    coordinates: tuple[IntegerNoise, ...]

    @property
    def sizes(self) -> Floats:
        """The scale of the noise along each axis."""
        return np.asarray(self.steps * [noise.scale for noise in self.coordinates])

    def draw(self) -> Wholes:
        """Draw the whole numbers."""
        return np.array([noise.draw() for noise in self.coordinates], dtype=object)

    def cost(self, offsets: Sequence[float]) -> Discrepancy:
        """Return the cost of all axes together, given the rounding errors of the statistics in steps."""
        costs = [noise.cost(offset) for noise, offset in zip(self.coordinates, offsets, strict=True)]
        return sum(costs, Discrepancy())


@frozen(kw_only=True)
class LatticeNoise:
    """How noise of a law is drawn; a function of the law alone.

    Of the parts of a sum, `base` has noise in every direction and is what the others are rounded with.
    """

    law: NoiseLaw
    base: LatticePart
    others: tuple[LatticePart, ...]
    frame: Frame
    steps: Floats = array_field()
    """The step along each axis of the frame."""
    grain: Floats = array_field()
    """What the released numbers are multiples of."""

    def draw(self, value: Floats) -> Floats:
        """Return the statistics with noise, drawn with the operating system's randomness.

        >>> released = on_lattice(LaplaceNoise.isotropic(2, 0.5)).draw(np.array([10.0, 20.0]))
        >>> bool(abs(released - [10, 20]).max() < 50)
        True
        """
        exact = self._exactly(value)
        if not self.base.coordinates:
            return exact.floats()
        for part in self.others:
            exact = exact + Dyadic.of(part.axes) @ Dyadic.of(part.steps).times(part.draw())
        steps = Dyadic.of(self.steps)
        cells = nearest(self.frame.inward @ exact, steps)
        cells[: len(self.base.coordinates)] += self.base.draw()
        grain = Dyadic.of(self.grain)
        try:
            return grain.times(nearest(Dyadic.of(self.frame.outward) @ steps.times(cells), grain)).floats()
        except OverflowError:
            raise InvalidInput("a statistic with its noise is too large for a number: rescale the column.") from None

    def _exactly(self, value: Floats) -> Dyadic:
        floats = np.asarray(value, dtype=np.float64)
        if floats.shape != (len(self.frame.outward),) or not np.isfinite(floats).all():
            raise InvalidInput(
                f"noise is for {len(self.frame.outward)} statistics that are all finite numbers: look for nulls, empty "
                f"groups and divisions by 0 in the query."
            )
        return Dyadic.of(floats)

    @property
    def cost(self) -> Discrepancy:
        r"""How far the release is from F + Z rounded to the lattice, for every F: :math:`H_λ ≤ η` both ways.

        >>> cost = on_lattice(GaussianNoise.isotropic(50, 3.0)).cost
        >>> cost.divergence < 1.2e-9, cost.failure < 1e-29
        (True, True)
        """
        others = [part.cost([0.0] * len(part.steps)) for part in self.others]
        total = sum([*others, self.base.cost(self._offsets()), self._skew_cost()], Discrepancy())
        above = 1 + 1e-9  # more than all rounding in what was computed
        return Discrepancy(divergence=total.divergence * above, failure=min(1.0, total.failure * above))

    def _offsets(self) -> list[float]:
        """Half a step for the rounding of the statistics, and half a step of every other part, seen along the axis."""
        count = len(self.base.coordinates)
        offsets = np.full(count, 0.5)
        for part in self.others:
            seen = np.abs((self.frame.inward @ Dyadic.of(part.axes)).floats())[:count]
            offsets += (seen @ part.steps) / (2 * self.base.steps)
        return [float(offset) for offset in offsets]

    def _skew_cost(self) -> Discrepancy:
        """Return what it costs that the frame is inverted to finitely many places, if noise is in every direction."""
        if len(self.base.coordinates) < len(self.frame.outward):
            return Discrepancy()
        skew = self.frame.skewness(self.base.sizes)
        if skew >= 0.5:
            return Discrepancy(failure=1.0)
        return sum([noise.skew_cost(skew) for noise in self.base.coordinates], Discrepancy())


def on_lattice(noise: NoiseLaw, *, bits: int = 40) -> LatticeNoise:
    """Return how noise of this law is drawn on a lattice whose steps are below 2^(1−bits) of its scales.

    Steps are powers of two, with 40 bits as fine as OpenDP's samplers allow. Along an axis without noise they are
    finer by 120 bits: rounding there is for the sake of one arithmetic.

    >>> on_lattice(LaplaceNoise.isotropic(2, 3.0)).steps.tolist() == [2.0**-38, 2.0**-38]
    True
    """
    parts = [_part(law, bits) for law in (noise.parts if isinstance(noise, SumNoise) else (noise,))]
    base = parts[0] if len(parts) == 1 else _widest(parts)
    frame = Frame.along(base.axes)
    bare = min(base.steps, default=0.0) * 2.0**-120
    steps = np.concatenate([base.steps, np.full(len(frame.outward) - len(base.steps), bare)])
    others = tuple(part for part in parts if part is not base)
    return LatticeNoise(law=noise, base=base, others=others, frame=frame, steps=steps, grain=_grain(parts))


def _part(law: NoiseLaw, bits: int) -> LatticePart:
    match law:
        case GaussianNoise():
            # A square root is rounded to nearest; one place up the noise is never narrower than the law has it.
            sizes = np.where(law.variances > 0, np.nextafter(np.sqrt(law.variances), math.inf), 0.0)
            return _scaled(law.axes, sizes, IntegerGaussian, bits)
        case LaplaceNoise():
            return _scaled(law.axes, law.scales, IntegerLaplace, bits)
        case NoNoise():
            return LatticePart(axes=np.zeros((law.dimension, 0)), steps=np.zeros(0), coordinates=())
        case UnimodalNoise():
            step = _step(IntegerPiecewise.symmetric(law.edges, law.masses).scale, bits)
            coordinate = IntegerPiecewise.symmetric(law.edges / step, law.masses)
            return LatticePart(axes=law.axes, steps=np.array([step]), coordinates=(coordinate,))
    raise InvalidInput("a sum of noise has parts along axes, not sums: give the parts of those sums.")


def _scaled(axes: Floats, sizes: Floats, kind: type[IntegerGaussian] | type[IntegerLaplace], bits: int) -> LatticePart:
    wide = sizes > 0
    steps = [_step(size, bits) for size in sizes[wide].tolist()]
    coordinates = tuple(kind(scale=size / step) for size, step in zip(sizes[wide].tolist(), steps, strict=True))
    return LatticePart(axes=axes[:, wide], steps=np.array(steps), coordinates=coordinates)


def _step(size: float, bits: int) -> float:
    """Return the least power of two that is at least 2^(−bits) of the size; dividing by it is exact."""
    if not 2.0**-800 < size < 2.0**800:
        raise InvalidInput(f"noise of scale {size:g} has no lattice in floating point: rescale the column.")
    mantissa, exponent = math.frexp(size)
    return math.ldexp(1.0, exponent - bits - (mantissa == 0.5))


def _grain(parts: Sequence[LatticePart]) -> Floats:
    """Return what released numbers are rounded to: about 2⁻³⁰ of their noise, nothing where there is none."""
    finest = 2.0**-1074
    spread = np.max([np.abs(part.axes * part.sizes).max(axis=1, initial=0.0) for part in parts], axis=0)
    return np.where(spread > 0, np.maximum(np.ldexp(1.0, np.frexp(spread)[1] - 30), finest), finest)


def _widest(parts: Sequence[LatticePart]) -> LatticePart:
    """Return the part to round the others with: of those in every direction, the one that is widest where least."""
    everywhere = [part for part in parts if len(part.steps) == len(part.axes)]
    if not everywhere:
        raise InvalidInput(
            "a sum of noise can be drawn on a lattice if one of its parts has noise in every direction: add one."
        )
    return max(everywhere, key=lambda part: float(part.steps.min()))


def _inverse(matrix: Floats) -> Dyadic:
    """Return the inverse to 160 binary places, by Newton's iteration.

    It squares the error: 10⁻¹⁵ becomes 10⁻³⁰, then 10⁻⁴⁸.
    """
    if np.isin(matrix, (-1.0, 0.0, 1.0)).all() and all((np.abs(matrix).sum(axis=k) == 1).all() for k in (0, 1)):
        return Dyadic.of(matrix.T)  # the axes are those of the statistics
    exact, inverse = Dyadic.of(matrix), Dyadic.of(np.linalg.inv(matrix))
    for _ in range(2):
        inverse = (inverse + _missed(exact, inverse) @ inverse).shortened(160)
    return inverse


def _missed(matrix: Dyadic, inverse: Dyadic) -> Dyadic:
    """Return I − inverse · matrix."""
    return Dyadic.of(np.eye(len(matrix.whole))) - inverse @ matrix
