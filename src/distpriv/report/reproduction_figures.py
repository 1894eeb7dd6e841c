"""The paper's figures with ours beside them."""

import math
from collections.abc import Iterable, Sequence
from typing import Literal, TypeVar

import numpy as np

from distpriv.experiments.attack_points import UNDEFENDED
from distpriv.experiments.result import AttackPoint, ErrorPoint, Sampled
from distpriv.framework.arrays import Floats
from distpriv.report.figures import Reference, Series, histogram, lines
from distpriv.report.page import Figure
from distpriv.report.pictures import Axis

__all__ = ["attack_figure", "error_figure", "sample_figures"]

P = TypeVar("P", ErrorPoint, AttackPoint)

UNIT = "units of the statistics"
HOLLOW = "hollow: the exact δ is above the claimed one"
EPSILON = Axis("ε, smaller is more private", unit=None, log=True)
GAP = Axis("Δp, how far apart the two shares are", unit=None)


def error_figure(name: str, points: Iterable[ErrorPoint], *, along: str, caption: str) -> Figure:
    """Return errors against ε or Δp, one line a mechanism; hollow where the claimed δ does not hold.

    Where no noise is needed there is no point: a logarithm has none.
    """
    given = list(points)
    order = dict.fromkeys(point.mechanism for point in given)
    shown = sorted((p for p in given if p.error > 0), key=lambda point: list(order).index(point.mechanism))
    series = [
        Series(
            mechanism,
            [getattr(point, along) for point in several],
            [point.error for point in several],
            holds=None if several[0].holds is None else [bool(point.holds) for point in several],
        )
        for mechanism, several in _grouped(shown, along)
    ]
    ends = [f"{one.name} from {one.y[0]:.3g} to {one.y[-1]:.3g}" for one in series]
    return lines(
        name,
        series,
        x=EPSILON if along == "epsilon" else GAP,
        y=Axis("expected L2 error", unit=UNIT, log=True),
        caption=caption,
        alt=f"{len(series)} lines. {'; '.join(ends)}.",
        hollow=HOLLOW,
    )


def attack_figure(
    name: str, points: Sequence[AttackPoint], attack: Literal["accuracy", "lattice_attack"], *, caption: str
) -> Figure:
    """Return how often the paper's attacker is right, or the one who knows of the lattice, against ε."""
    defended = [point for point in points if point.mechanism != UNDEFENDED]
    series = [
        Series(
            mechanism,
            [point.epsilon for point in several],
            [getattr(point, attack) for point in several],
            holds=[bool(point.holds) for point in several],
        )
        for mechanism, several in _grouped(defended, "epsilon")
    ]
    low, high = min(p.epsilon for p in defended), max(p.epsilon for p in defended)
    without = next((getattr(p, attack) for p in points if p.mechanism == UNDEFENDED), None)
    references = [Reference("a blind guess", (low, 0.5), (high, 0.5))]
    if without is not None:
        references.append(Reference(f"no noise ({without:.3f}), the upper line", (low, without), (high, without)))
    ends = [f"{one.name} from {one.y[0]:.3f} to {one.y[-1]:.3f}" for one in series]
    return lines(
        name,
        series,
        x=EPSILON,
        y=Axis("attacker is right", unit="share of releases"),
        references=references,
        hollow=HOLLOW,
        caption=caption,
        alt=f"{len(series)} lines. {'; '.join(ends)}.",
    )


def sample_figures(samples: Sequence[Sampled]) -> list[Figure]:
    """Return a histogram for each statistic, both shares in it, with the fitted and the exact normal curves."""
    return [
        _histogram([one for one in samples if one.statistic == s]) for s in dict.fromkeys(s.statistic for s in samples)
    ]


def _histogram(samples: Sequence[Sampled]) -> Figure:
    statistic, unit = samples[0].statistic, samples[0].unit
    values = np.concatenate([one.values for one in samples])
    grid = np.linspace(values.min(), values.max(), 200)
    whole = bool((values == np.round(values)).all())
    curves = [
        Series(f"{kind}, p = {one.share:g}", grid, _normal(grid, *getattr(one, kind)), markers=False)
        for kind in ("fitted", "exact")
        for one in samples
    ]
    words = statistic.replace("_", " ")
    moments = "; ".join(f"variance {one.exact[1]:.4g} at p = {one.share:g}" for one in samples)
    return histogram(
        f"figure_5_{statistic}",
        {f"sampled, p = {one.share:g}": one.values for one in samples},
        curves=curves,
        x=Axis(f"{words} in a dataset of 100", unit=unit),
        y=Axis("density", unit=f"1 / {unit}"),
        bins=int(np.ptp(values)) if whole else 40,
        caption=f"Figure 5, {words}: sampled datasets, the normal laws fitted to them and the exact ones. {moments}.",
        alt=f"Two overlapping bell-shaped histograms of {words} with normal curves that follow them closely.",
    )


def _normal(x: Floats, mean: float, variance: float) -> Floats:
    return np.asarray(np.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance))


def _grouped(points: Sequence[P], along: str) -> list[tuple[str, list[P]]]:
    groups: dict[str, list[P]] = {}
    for point in sorted(points, key=lambda one: getattr(one, along)):
        groups.setdefault(point.mechanism, []).append(point)
    order = list(dict.fromkeys(point.mechanism for point in points))
    return [(name, groups[name]) for name in order]
