r"""The exact law of one statistic that is a sum over rows, as the probabilities of its values on whole steps.

Rows that lie on :math:`a + hℤ` add up to :math:`n a + hℤ`, whatever rows are drawn: the law is a list of probabilities,
found by Fourier transform from the rows' own. Of a statistic with very many values only a window is computed, and the
mass outside of it is bounded by Chernoff's inequality. Noise on steps is a mixture of such that is even on −k … k.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

import numpy as np
from attrs import field, frozen

from distpriv.errors import InvalidInput, InvalidModel
from distpriv.framework.arrays import Floats
from distpriv.law.cells import Cells, RowGrid
from distpriv.law.fourier import Circle, StratumLaw
from distpriv.noise.laws import UnimodalNoise

__all__ = ["MARGIN", "EvenSums", "StepLaws", "even_shares", "step_laws"]

MARGIN = 1e-9
"""The relative rounding error of an edge of the noise; as much of its mass may lie elsewhere."""


@frozen(kw_only=True)
class StepLaws:
    """Probabilities of `origin + step · k` for k = 0, 1, …, in every scenario."""

    step: float
    origin: float
    masses: Mapping[str, Floats]
    outside: float
    """What the probabilities of a scenario may be off by, all together: outside of the window, and by rounding."""


def step_laws(rows: RowGrid, *, most_points: int = 2**17) -> StepLaws:
    """Return the exact law of one statistic from its rows.

    Raises:
        InvalidModel: there are several statistics, or one with too many values.
    """
    if len(rows.steps) != 1:
        raise InvalidModel(
            f"the law on steps is of one statistic, and {len(rows.steps)} are given: look at them on a grid."
        )
    least, most = rows.range
    outside = 1e-16
    low, high = rows.box(np.ones(1), outside)
    first, last = max(least, math.floor(low)), min(most, math.ceil(high))
    points = 2 ** math.ceil(math.log2(last - first + 2))
    if points > most_points:
        raise InvalidModel(
            f"the statistic may take {points:,} values, and exact distributions here are of up to {most_points:,}: "
            "round the column in its expression, or use certified_laplace."
        )
    circle = Circle(circumference=float(points), frequencies=points // 2, points=points)
    strata = [_stratum_law(circle, cells) for cells in rows.strata]
    masses, wrong = {}, 0.0
    for name, sizes in rows.drawn.items():
        drawn = [strata[which].drawn(size, replacement=rows.replacement) for which, size in sizes.items()]
        around = np.roll(np.fft.irfft(np.conj(np.prod(drawn, axis=0)), n=points), -first)
        masses[name] = np.maximum(around, 0.0)
        wrong = max(wrong, float((masses[name] - around).sum()) + abs(float(around.sum()) - 1))
    cut, rounding = 1e-12, 1e-10  # at each end of a law; `docs/proofs/exact_law.md` has the other
    likely = _likely(list(masses.values()), cut)
    return StepLaws(
        step=float(rows.steps[0]),
        origin=float(rows.records * rows.lowest[0] + rows.steps[0] * (first + likely.start)),
        masses={name: law[likely] for name, law in masses.items()},
        outside=2 * outside + rounding + 2 * cut + 2 * wrong + rows.off,
    )


def _stratum_law(circle: Circle, cells: Cells) -> StratumLaw:
    return StratumLaw.of(circle, cells.places[:, 0].astype(np.float64), cells.chances, rows=cells.rows)


def _likely(laws: Sequence[Floats], cut: float) -> slice:
    """Return where the laws have probabilities, but for so much at each end."""
    likeliest = np.max(laws, axis=0)
    first = int(np.searchsorted(np.cumsum(likeliest), cut, side="right"))
    last = len(likeliest) - int(np.searchsorted(np.cumsum(likeliest[::-1]), cut, side="right"))
    return slice(first, last)


def even_shares(noise: UnimodalNoise, step: float) -> tuple[Floats, Floats]:
    """Return noise as a mixture of such that is even on −k … k steps: every k, and how likely it is.

    Its edges are in the middle between two steps, but for `MARGIN`.

    >>> even_shares(UnimodalNoise(axes=[[1.0]], edges=[0, 1, 3], masses=[0.5, 0.5]), 2.0)
    (array([0., 1.]), array([0.25, 0.75]))
    """
    widths = noise.edges[1:] / step - 0.5
    whole = np.round(widths)
    if (np.abs(widths - whole) > MARGIN * (whole + 0.5)).any():
        raise InvalidInput(
            f"the edges of noise must be in the middle between two steps of {step:g}: give (k + 1/2) of them."
        )
    # A falling density is a mixture of even ones, one for each edge.
    return whole, np.asarray(-np.diff(np.append(noise.densities, 0.0)) * 2 * noise.edges[1:])


@frozen(kw_only=True)
class EvenSums:
    """Laws on steps, one a row, as partial sums: with noise that is even on −k … k they are differences of these."""

    sums: Floats
    widest: int
    """The largest k."""
    size: int = field()
    """How many steps laws with noise have."""

    @size.default
    def _steps(self) -> int:
        return int(self.sums.shape[1]) - 2 * self.widest - 2

    @classmethod
    def of(cls, laws: Iterable[Floats], widest: int) -> Self:
        """Return the partial sums of laws of one length."""
        return cls(
            sums=np.cumsum(np.pad(np.array(list(laws)), ((0, 0), (2 * widest + 1, 2 * widest + 1))), axis=1),
            widest=widest,
        )

    def even(self, width: int) -> Floats:
        """Return the laws with noise that is even on −k … k."""
        above = self.sums[:, self.widest + width + 1 : self.widest + width + 1 + self.size]
        below = self.sums[:, self.widest - width : self.widest - width + self.size]
        return np.asarray((above - below) / (2 * width + 1))

    def mixed(self, widths: Floats, shares: Floats) -> Floats:
        """Return the laws with a mixture of such noise.

        >>> EvenSums.of([np.array([0.0, 1.0])], 1).mixed(np.array([0.0, 1.0]), np.array([0.25, 0.75])).tolist()
        [[0.0, 0.25, 0.5, 0.25]]
        """
        total = np.zeros((len(self.sums), self.size))
        for width, share in zip(widths.tolist(), shares.tolist(), strict=True):
            if share > 0:
                total += share * self.even(int(width))
        return total
