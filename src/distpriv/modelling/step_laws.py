r"""The exact law of one statistic that is a sum over rows, as the probabilities of its values on whole steps.

Rows that lie on :math:`a + hℤ` add up to :math:`n a + hℤ`, whatever rows are drawn: the law is a list of probabilities,
found by Fourier transform from the rows' own (`projected_law`). Of a statistic with very many values a window is
looked at, and what lies outside of it is bounded by Chernoff's inequality with the rows' own moment generating
function; without replacement that is below the one with replacement (Hoeffding 1963).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from attrs import frozen

from distpriv.errors import InvalidModel
from distpriv.framework.arrays import Floats
from distpriv.modelling.model import QueryModel
from distpriv.modelling.projected_law import Circle, StratumLaw
from distpriv.modelling.row_grid import population_rows
from distpriv.modelling.row_lattice import spacing
from distpriv.modelling.row_laws import RowLaws

__all__ = ["ROUNDING", "StepLaws", "step_laws"]

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

ON_STEPS = 1e-6
"""By which share of a step a row may be off the lattice."""

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

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, lists and text."""
        return {
            "measure": "exact",
            "step": self.step,
            "origin": self.origin,
            "outside": self.outside,
            "masses": {name: law.tolist() for name, law in self.masses.items()},
        }

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Self:
        """Return what `to_dict` wrote down."""
        numbers = {name: float(written[name]) for name in ("step", "origin", "outside")}
        masses = {name: np.array(law, dtype=np.float64) for name, law in written["masses"].items()}
        return cls(masses=masses, **numbers)


@frozen(kw_only=True)
class _StepCircle(Circle):
    """A circle whose points are the steps themselves."""

    @property
    def points(self) -> int:
        return int(self.circumference)


def step_laws(model: QueryModel) -> StepLaws:
    """Return the exact law of a model's one statistic, or say why it is not known.

    Raises:
        InvalidModel: there are several statistics, no sums over all rows of the population, or no steps.

    >>> import distpriv as dp
    >>> query, secret = dp.Query(women=dp.count("sex = 'Female'")), dp.Share("income = '>50K'", values=(0.0, 0.5))
    >>> laws = step_laws(dp.model(dp.datasets.adult(), query, secret, records=2, reference="population"))
    >>> laws.step, laws.origin, {name: law.round(4).tolist() for name, law in laws.masses.items()}
    (1.0, 0.0, {"income = '>50K' @ 0": [0.3807, 0.4726, 0.1467], "income = '>50K' @ 0.5": [0.5252, 0.4178, 0.057]})
    """
    rows = _rows(model)
    values = [stratum[:, 0] for stratum in rows.strata]
    together = np.concatenate(values)
    lowest, step = float(together.min()), spacing([together])
    if step == 0:
        raise InvalidModel(
            f"the values of {model.names[0]!r} are on no steps, and exact laws are of statistics on whole steps: round "
            "the column in its expression, or use certified_gaussian."
        )
    places = [np.round((stratum - lowest) / step) for stratum in values]
    off = max(
        float(np.abs((stratum - lowest) / step - place).max()) for stratum, place in zip(values, places, strict=True)
    )
    if off > ON_STEPS:
        raise InvalidModel(
            f"the values of {model.names[0]!r} are on steps of {step:g} but for some that are off them: round the "
            "column in its expression."
        )
    records = sum(next(iter(rows.drawn.values())).values())
    first, points, outside = _window(rows, places, model.names[0])
    circle = _StepCircle(circumference=float(points), frequencies=points // 2)
    strata = [StratumLaw.of(circle, place, rows.rows_of(which)) for which, place in enumerate(places)]
    masses = {}
    for name, sizes in rows.drawn.items():
        drawn = [strata[which].drawn(size, replacement=rows.replacement) for which, size in sizes.items()]
        around = np.fft.irfft(np.conj(np.prod(drawn, axis=0)), n=points)
        masses[name] = np.maximum(np.roll(around, -first), 0.0)
    kept = _some(list(masses.values()))
    return StepLaws(
        step=step,
        origin=records * lowest + step * (first + kept.start),
        masses={name: law[kept] for name, law in masses.items()},
        outside=outside + ROUNDING + 2 * LEFT_OUT,
    )


def _rows(model: QueryModel) -> RowLaws:
    if model.dimension != 1:
        raise InvalidModel(
            f"the law on steps is of one statistic, and {model.dimension} are given: use a grid of them."
        )
    return population_rows(model)


def _window(rows: RowLaws, places: Sequence[Floats], name: str) -> tuple[int, int, float]:
    """Return the first place of a window, how many it has, and how likely a sum is outside of it."""
    sums = [(sum(size * places[which].mean() for which, size in sizes.items()), sizes) for sizes in rows.drawn.values()]
    least = min(sum(size * places[which].min() for which, size in sizes.items()) for _, sizes in sums)
    most = max(sum(size * places[which].max() for which, size in sizes.items()) for _, sizes in sums)
    every = 2 ** math.ceil(math.log2(most - least + 2))
    deviation = math.sqrt(max(sum(k * places[which].var() for which, k in sizes.items()) for _, sizes in sums))
    low, high = min(mean for mean, _ in sums), max(mean for mean, _ in sums)
    reach = 8.0
    while reach <= FARTHEST and deviation > 0:
        points = 2 ** math.ceil(math.log2(high - low + 2 * reach * deviation + 2))
        if points >= min(every, 2 * MOST_POINTS):
            break
        width = (points - (high - low)) / 2 - 1
        outside = max(_outside(sizes, places, deviation, width) for _, sizes in sums)
        if outside <= OUTSIDE:
            return math.floor(low - width), points, outside
        reach *= 1.2
    if every > MOST_POINTS:
        raise InvalidModel(
            f"{name!r} has {most - least:,.0f} possible values, and exact laws are of up to {MOST_POINTS:,}: give the "
            "column a coarser unit in its expression."
        )
    return int(least), every, 0.0


def _outside(sizes: Mapping[int, int], places: Sequence[Floats], deviation: float, width: float) -> float:
    """Return a bound on the chance that a sum is farther than so much from its mean: Chernoff's, on both sides."""
    bound = 0.0
    for side in (1.0, -1.0):
        tilts = side * TILTS / deviation
        logs = -np.abs(tilts) * width
        for which, size in sizes.items():
            away, counts = np.unique(places[which] - places[which].mean(), return_counts=True)
            exponents = np.outer(tilts, away)
            highest = exponents.max(axis=1)
            logs = logs + size * (highest + np.log(np.exp(exponents - highest[:, np.newaxis]) @ counts / counts.sum()))
        bound += math.exp(min(0.0, float(logs.min())))
    return bound


def _some(laws: Sequence[Floats]) -> slice:
    """Return where the laws have probabilities, but for less than is counted as rounding at each end."""
    likeliest = np.max(laws, axis=0)
    first = int(np.searchsorted(np.cumsum(likeliest), LEFT_OUT, side="right"))
    last = len(likeliest) - int(np.searchsorted(np.cumsum(likeliest[::-1]), LEFT_OUT, side="right"))
    return slice(first, last)
