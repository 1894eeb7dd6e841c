r"""Exact laws of statistics in whole steps: one of them, or few together.

In steps the statistics are whole numbers z, and with :math:`M_1, M_2, …` as large as each of them may spread,
:math:`z_1 + M_1 z_2 + M_1 M_2 z_3 + …` is one whole number that tells all of them. It is a combination of the
statistics, so its law is exact by one Fourier transform (`modelling.projected_law`). What spreads farther than that is
bounded (Bernstein, which holds without replacement too: Hoeffding) and counted.
"""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.framework.secrets import Pair
from distpriv.modelling.model import QueryModel
from distpriv.modelling.projected_law import Circle, rounding_of
from distpriv.modelling.row_laws import RowLaws
from distpriv.noise.laws import GaussianNoise

__all__ = ["ExactDelta", "exact_lattice_delta", "rows_are_whole"]

MOST_PLACES = 2**18
"""The largest number of whole numbers that a law is computed on."""

NOISE_REACH = 9.0
"""Of Gaussian noise no more than 10⁻¹⁸ is farther out than so many deviations, which are looked at at least."""

LARGEST_EPSILON = 600.0
"""Beyond it e^ε is no number any more; δ at a larger one is no larger."""

SHARE_OUTSIDE = 1e-6
"""Which share of δ may lie farther out than is computed."""

WHOLE = 1e-6
"""By how much of a step a row may be off its lattice by rounding."""

ROUNDING = 1e-12
"""What the rounding of a transform may hide of δ."""


@frozen(kw_only=True)
class ExactDelta:
    """The largest δ of a protected pair, by the exact law of some statistics in whole steps."""

    pair: Pair
    delta: float
    total_variation: float
    """The largest H_0 of a pair."""


def rows_are_whole(rows: RowLaws, steps: Floats) -> list[bool]:
    """Tell for every statistic whether all rows add whole multiples of its step to it.

    >>> rows = RowLaws(strata=(np.array([[1.0, 2.0], [3.0, 2.5]]),), drawn={"a": {0: 1}}, replacement=True)
    >>> rows_are_whole(rows, np.array([1.0, 1.0]))
    [True, False]
    """
    units = np.where(steps > 0, steps, 1.0)
    off = [np.abs(each.values / units - np.rint(each.values / units)).max(axis=0) for each in rows.strata if len(each)]
    return [bool(step > 0 and far <= WHOLE) for step, far in zip(steps, np.max(off, axis=0), strict=True)]


def exact_lattice_delta(
    model: QueryModel,
    rows: RowLaws,
    noise: GaussianNoise,
    positions: Sequence[int],
    epsilon: float,
    delta: float,
    *,
    places: int = MOST_PLACES,
) -> ExactDelta | None:
    """Return the exact δ of some statistics, released in whole steps; none where they take too many values together.

    Rows are whole multiples of steps, and noise along each statistic is wider than one of them or none. A millionth of
    δ may lie farther out than is computed.
    """
    chosen = list(positions)
    steps = model.steps[chosen]
    covariance = noise.covariance[np.ix_(chosen, chosen)] / np.outer(steps, steps)
    outside = SHARE_OUTSIDE * delta / (len(chosen) * (1 + math.exp(min(epsilon, LARGEST_EPSILON))))
    sizes = [
        _places(model, rows, position, math.sqrt(spread), outside)
        for position, spread in zip(chosen, np.diag(covariance), strict=True)
    ]
    whole = math.prod(sizes)
    if whole > places:
        return None
    direction = np.zeros(model.dimension)
    radix = np.cumprod([1, *sizes[:-1]])
    direction[chosen] = radix / steps
    circle = Circle(circumference=float(whole), frequencies=whole // 2)
    hidden = _rounded_transform(np.outer(circle.angular, radix), covariance)
    transforms = {name: law * hidden for name, law in rows.projected(direction, circle).items()}
    laws = {name: np.fft.irfft(np.conj(law), n=whole) for name, law in transforms.items()}
    least = {
        name: law - rounding_of(law, transforms[name], sum(rows.drawn[name].values())) for name, law in laws.items()
    }
    found = {(one, other): _stick(laws[one], least[other], epsilon) for one, other in model.protected_pairs}
    worst = max(found, key=found.__getitem__)
    most = max(_stick(laws[one], least[other], 0.0) for one, other in model.protected_pairs)
    beyond = SHARE_OUTSIDE * delta + ROUNDING
    return ExactDelta(pair=worst, delta=min(1.0, found[worst] + beyond), total_variation=min(1.0, most + beyond))


def _stick(first: Floats, second: Floats, epsilon: float) -> float:
    odds = math.exp(min(epsilon, LARGEST_EPSILON))
    return float(np.maximum(first - odds * np.maximum(second, 0.0), 0.0).sum())


def _places(model: QueryModel, rows: RowLaws, position: int, noise: float, outside: float) -> int:
    """Return a power of two of steps outside of which a statistic is with a chance of at most `outside`.

    What is outside of the second law comes round to where the first one is, and counts e^ε times there.
    """
    step = float(model.steps[position])
    farthest = max(float(np.abs(each.about_mean[:, position]).max()) / step for each in rows.strata if len(each))
    variances = {stratum: float(each.variances[position]) for stratum, each in enumerate(rows.strata) if len(each)}
    spread = max(sum(k * variances[stratum] for stratum, k in sizes.items()) for sizes in rows.drawn.values()) / step**2
    wanted = math.log(2 / outside)
    # The largest t with t² / (2 (V + bt/3)) at most that.
    reach = farthest * wanted / 3 + math.sqrt((farthest * wanted / 3) ** 2 + 2 * spread * wanted)
    reach += max(NOISE_REACH, math.sqrt(2 * wanted)) * noise
    means = [float(law.mean[position]) / step for law in model.distributions.values()]
    return int(2 ** math.ceil(math.log2(max(2.0, np.ptp(means) + 2 * reach + 2))))


def _rounded_transform(angles: Floats, covariance: Floats) -> Floats:
    """Return the transform of Gaussian noise that is rounded to whole numbers, at many angles, one a row."""
    angles = angles - 2 * np.pi * np.rint(angles / (2 * np.pi))
    turns = [(-1, 0, 1) if spread > 0 else (0,) for spread in np.diag(covariance)]
    wide = np.diag(covariance) > 0
    found = np.zeros(len(angles))
    for around in product(*turns):
        at = angles + 2 * np.pi * np.array(around)
        cells = np.prod(np.sinc(at[:, wide] / (2 * np.pi)), axis=1)
        found += cells * np.exp(-np.einsum("ij,jk,ik->i", at, covariance, at, optimize=True) / 2)
    return found
