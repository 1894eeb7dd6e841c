r"""δ of a statistic on whole steps with noise on whole steps, from its exact law.

The statistic is on :math:`c + hℤ` in every scenario. Noise whose density is constant on every cell
:math:`((k - ½)h, (k + ½)h)` is a whole number of steps plus an independent uniform part of one cell, so that
:math:`H_ε` of what is released is a sum over the steps (`docs/proofs/exact_law.md`).
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.secrets import Pair
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.reference_sample import CONFIDENCE
from distpriv.modelling.plausible_models import CHECKING_SEED, TRIED
from distpriv.modelling.plausible_rows import of_populations, plausible_strata
from distpriv.modelling.row_grid import RowGrid
from distpriv.modelling.step_laws import StepLaws, step_laws
from distpriv.noise.unimodal import UnimodalNoise

__all__ = [
    "MARGIN",
    "THEOREM",
    "convolved",
    "even_shares",
    "exact_steps_certificate",
    "exact_steps_delta",
    "pair_deltas",
    "population_laws",
    "reference_is",
    "worst_pairs",
]

THEOREM = "the exact law on whole steps"

MARGIN = 1e-9
"""By which share of itself an edge may be off the middle between two steps; as much of the noise is elsewhere then."""

LARGEST_EPSILON = 300.0
"""At a larger ε δ is taken at this one, which is no less."""

WORST_PAIRS = 2
"""Of how many pairs, either way round, populations are looked at: those that leak most by the reference itself."""

AT_ONCE = 2**24
"""How many probabilities of populations are held at once."""


def reference_is(rows: RowGrid, delta: float) -> Evidence:
    """Return what is assumed of the rows that an exact law is of: that they are all, or that they are a sample."""
    if not rows.sample:
        return Evidence.of("DP311")
    return Evidence.of("DP312", rows=[cells.rows for cells in rows.strata], delta=delta, confidence=CONFIDENCE)


def exact_steps_delta(rows: RowGrid, noise: UnimodalNoise, epsilon: float, pairs: Sequence[Pair]) -> float:
    """Return the largest δ of the ordered pairs; of rows that are a sample, in the worst population they may be of.

    >>> import distpriv as dp
    >>> from distpriv.modelling.row_grid import row_grid
    >>> secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    >>> noise = UnimodalNoise(axes=[[1.0]], edges=[0, 5.5], masses=[1])
    >>> for reference in ("population", "sample"):
    ...     model = dp.model(dp.datasets.adult().slice(0, 1000), dp.Query(women=dp.count("sex = 'Female'")), secret,
    ...                      records=100, reference=reference)
    ...     print(round(exact_steps_delta(row_grid(model), noise, 1.0, model.protected_pairs), 3))
    0.003
    0.011
    """
    own = pair_deltas(step_laws(rows), noise, epsilon, pairs)
    most = float(own.max())
    if not rows.sample or most >= 1:
        return min(1.0, most)
    laws = population_laws(rows, worst_pairs(own, pairs))
    return min(1.0, max(most, *(float(pair_deltas(part, noise, epsilon, several).max()) for part, several in laws)))


def worst_pairs(deltas: Floats, pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs, either way round, of the largest of these δ."""
    worst: dict[frozenset[str], None] = {}
    for k in np.argsort(-deltas, kind="stable"):
        if len(worst) < WORST_PAIRS:
            worst.setdefault(frozenset(pairs[k]))
    return [pair for pair in pairs if frozenset(pair) in worst]


def population_laws(
    rows: RowGrid, pairs: Sequence[Pair], count: int = TRIED, seed: int = CHECKING_SEED
) -> Iterator[tuple[StepLaws, list[Pair]]]:
    """Yield the laws of some pairs' scenarios in the populations that rows may be a sample of, some at a time."""
    populations = plausible_strata(rows, count, seed)
    names = {name for pair in pairs for name in pair}
    size = len(next(iter(step_laws(rows).masses.values())))
    at_once = max(1, AT_ONCE // (2 * size * len(names)))
    for start in range(0, len(populations), at_once):
        some = dict(enumerate(populations[start : start + at_once], start=start + 1))
        whole, several = of_populations(rows, pairs, some)
        yield step_laws(whole), several


def pair_deltas(laws: StepLaws, noise: UnimodalNoise, epsilon: float, pairs: Sequence[Pair]) -> Floats:
    """Return δ of every ordered pair, with all that the laws may be off by added.

    The edges of the noise are in the middle between two steps.

    >>> laws = StepLaws(step=1.0, origin=0.0, masses={"a": np.array([1.0, 0]), "b": np.array([0, 1.0])}, outside=0.0)
    >>> noise = UnimodalNoise(axes=[[1.0]], edges=[0, 1.5], masses=[1])
    >>> pair_deltas(laws, noise, 0.0, [("a", "b")]).round(6)
    array([0.333333])
    """
    whole, shares = even_shares(noise, laws.step)
    with_noise = dict(zip(laws.masses, convolved(list(laws.masses.values()), whole, shares), strict=True))
    ratio = math.exp(min(epsilon, LARGEST_EPSILON))
    found = [float(np.maximum(with_noise[one] - ratio * with_noise[other], 0.0).sum()) for one, other in pairs]
    return np.array(found) + (1 + ratio) * (laws.outside + MARGIN)


def even_shares(noise: UnimodalNoise, step: float) -> tuple[Floats, Floats]:
    """Return noise as a mixture of such that is even on −k … k steps: every k, and how likely it is.

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


def convolved(laws: Sequence[Floats], widths: Floats, shares: Floats) -> Floats:
    """Return the laws, one a row, with noise that is even on −k … k with these shares for these k."""
    widest = int(widths[shares > 0].max(initial=0))
    size = len(laws[0]) + 2 * widest
    sums = np.zeros((len(laws), size + 2 * widest + 2))
    sums[:, 2 * widest + 1 : 2 * widest + 1 + len(laws[0])] = laws
    sums = np.cumsum(sums, axis=1)
    at = np.arange(size) + widest
    found = np.zeros((len(laws), size))
    for width, share in zip(widths.astype(int).tolist(), shares.tolist(), strict=True):
        if share > 0:
            found += share / (2 * width + 1) * (sums[:, at + width + 1] - sums[:, at - width])
    return found


def exact_steps_certificate(
    rows: RowGrid, noise: UnimodalNoise, target: PrivacyTarget, pairs: Sequence[Pair]
) -> Certificate:
    """Return what noise on whole steps is worth by the exact law."""
    laws = step_laws(rows)
    delta = exact_steps_delta(rows, noise, target.epsilon, pairs)
    values = len(next(iter(laws.masses.values())))
    return Certificate(
        target=target,
        epsilon=target.epsilon,
        delta=delta,
        assurance="checked" if rows.sample else "proved",
        theorem=THEOREM,
        evidence=(
            reference_is(rows, delta),
            Evidence.of("DP206", values=values, step=laws.step, scenarios=len(laws.masses), outside=laws.outside),
        ),
        drawn=rows,
    )
