r"""The exact law of one statistic that is a sum over rows, as the probabilities of its values on whole steps.

Rows that lie on :math:`a + hℤ` add up to :math:`n a + hℤ`, whatever rows are drawn: the law is a list of probabilities,
found by Fourier transform from the rows' own (`projected_law`). Of a statistic with very many values a window is
looked at, and what lies outside of it is bounded by Chernoff's inequality with the rows' own moment generating
function; without replacement that is below the one with replacement (Hoeffding 1963).
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from attrs import frozen

from distpriv.errors import InvalidModel
from distpriv.framework.arrays import Floats
from distpriv.modelling.projected_law import Circle, StratumLaw
from distpriv.modelling.row_grid import Cells, RowGrid
from distpriv.modelling.row_laws import StratumRows

__all__ = ["StepLaws", "step_laws"]

MOST_POINTS = 2**17
"""In a window; with more of them a transform takes minutes."""

OUTSIDE = 1e-16
"""What may lie outside of a window."""

ROUNDING = 1e-10
"""More than all rounding in the probabilities of a law adds up to: see `docs/proofs/exact_law.md`."""

LEFT_OUT = 1e-12
"""How much of the laws may be cut off at each end."""

FARTHEST = 60.0
"""Standard deviations to each side of the means that a window may have."""

TILTS = np.geomspace(1e-3, 1e3, 121)
"""At which tilts, in units of 1/σ, Chernoff's bound is tried."""


@frozen(kw_only=True)
class StepLaws:
    """Probabilities of `origin + step · k` for k = 0, 1, …, in every scenario."""

    step: float
    origin: float
    masses: Mapping[str, Floats]
    outside: float
    """What the probabilities of a scenario may be off by, all together: outside of the window, and by rounding."""


@frozen(kw_only=True)
class _StepCircle(Circle):
    """A circle whose points are the steps themselves."""

    @property
    def points(self) -> int:
        return int(self.circumference)


def step_laws(rows: RowGrid) -> StepLaws:
    """Return the exact law of one statistic from its rows.

    Raises:
        InvalidModel: there are several statistics, or one with too many values.

    >>> import distpriv as dp
    >>> from distpriv.modelling.row_grid import row_grid
    >>> query, secret = dp.Query(women=dp.count("sex = 'Female'")), dp.Share("income = '>50K'", values=(0.0, 0.5))
    >>> model = dp.model(dp.datasets.adult(), query, secret, records=2, reference="population")
    >>> laws = step_laws(row_grid(model))
    >>> laws.step, laws.origin, {name: law.round(4).tolist() for name, law in laws.masses.items()}
    (1.0, 0.0, {"income = '>50K' @ 0": [0.3807, 0.4726, 0.1467], "income = '>50K' @ 0.5": [0.5252, 0.4178, 0.057]})
    """
    if len(rows.steps) != 1:
        raise InvalidModel(
            f"the law on steps is of one statistic, and {len(rows.steps)} are given: look at them on a grid."
        )
    first, points, outside = _window(rows)
    circle = _StepCircle(circumference=float(points), frequencies=points // 2)
    strata = [_stratum_law(circle, cells) for cells in rows.strata]
    masses, wrong = {}, 0.0
    for name, sizes in rows.drawn.items():
        drawn = [strata[which].drawn(size, replacement=rows.replacement) for which, size in sizes.items()]
        around = np.roll(np.fft.irfft(np.conj(np.prod(drawn, axis=0)), n=points), -first)
        masses[name] = np.maximum(around, 0.0)
        wrong = max(wrong, float((masses[name] - around).sum()) + abs(float(around.sum()) - 1))
    kept = _some(list(masses.values()))
    return StepLaws(
        step=float(rows.steps[0]),
        origin=float(rows.records * rows.lowest[0] + rows.steps[0] * (first + kept.start)),
        masses={name: law[kept] for name, law in masses.items()},
        outside=outside + ROUNDING + 2 * LEFT_OUT + 2 * wrong + rows.off,
    )


def _stratum_law(circle: Circle, cells: Cells) -> StratumLaw:
    """Return the law of sums of rows of a stratum; without weights every row is there as often as it is."""
    places = cells.places[:, 0].astype(np.float64)
    if cells.weights is not None:
        return StratumLaw.of(circle, places, cells.weights, rows=cells.rows, weighted=True)
    return StratumLaw.of(circle, np.repeat(places, cells.counts))


def _window(rows: RowGrid) -> tuple[int, int, float]:
    """Return the first place of a window, how many it has, and how likely a sum is outside of it."""
    places = [StratumRows(values=cells.places.astype(np.float64), weights=cells.chances) for cells in rows.strata]
    sums = [
        (sum(k * float(places[which].mean[0]) for which, k in sizes.items()), sizes) for sizes in rows.drawn.values()
    ]
    least = min(sum(size * float(places[which].values.min()) for which, size in sizes.items()) for _, sizes in sums)
    most = max(sum(size * float(places[which].values.max()) for which, size in sizes.items()) for _, sizes in sums)
    every = 2 ** math.ceil(math.log2(most - least + 2))
    deviation = math.sqrt(
        max(sum(k * float(places[which].variances[0]) for which, k in sizes.items()) for _, sizes in sums)
    )
    low, high = min(mean for mean, _ in sums), max(mean for mean, _ in sums)
    reach = 8.0
    while reach <= FARTHEST and deviation > 0:
        points = 2 ** math.ceil(math.log2(high - low + 2 * reach * deviation + 2))
        if points >= min(every, 2 * MOST_POINTS):
            break
        width = (points - (high - low)) / 2 - 1
        outside = max(_outside(rows, name, deviation, width) for name in rows.drawn)
        if outside <= OUTSIDE:
            return math.floor(low - width), points, outside
        reach *= 1.2
    if every > MOST_POINTS:
        raise InvalidModel(
            f"the statistic has {most - least:,.0f} possible values, and exact laws are of up to {MOST_POINTS:,}: give "
            "the column a coarser unit in its expression."
        )
    return int(least), every, 0.0


def _outside(rows: RowGrid, scenario: str, deviation: float, width: float) -> float:
    """Return a bound on the chance that a sum is farther than so much from its mean: Chernoff's, on both sides."""
    sides = (rows.log_moments(scenario, np.ones(1), side * TILTS / deviation) for side in (1.0, -1.0))
    return sum(math.exp(min(0.0, float((logs - TILTS / deviation * width).min()))) for logs in sides)


def _some(laws: Sequence[Floats]) -> slice:
    """Return where the laws have probabilities, but for less than is counted as rounding at each end."""
    likeliest = np.max(laws, axis=0)
    first = int(np.searchsorted(np.cumsum(likeliest), LEFT_OUT, side="right"))
    last = len(likeliest) - int(np.searchsorted(np.cumsum(likeliest[::-1]), LEFT_OUT, side="right"))
    return slice(first, last)
