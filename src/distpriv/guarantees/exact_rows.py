r"""δ of one to three statistics from the exact law of the rows, and what it certifies.

One statistic on :math:`c + hℤ` has noise that is constant on every cell :math:`((k - ½)h, (k + ½)h)`: a whole number of
steps plus an independent uniform part of one cell, so that :math:`H_ε` of what is released is a sum over the steps. Of
several with Gaussian noise in every direction a sum over a grid bounds δ. Of a sample δ is that of the worst population
it may be of (`docs/proofs/exact_law.md`).
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from distpriv.distances.gaussian.estimates import hockey_stick_estimates
from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Pair
from distpriv.framework.target import PrivacyTarget, odds
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.evidence import Evidence, tail_evidence
from distpriv.guarantees.reference_sample import CONFIDENCE
from distpriv.law.cells import Cells, RowGrid
from distpriv.law.grid import ExactGrid, GridNoise
from distpriv.law.plausible_cells import of_populations, plausible_strata
from distpriv.law.step_laws import MARGIN, EvenSums, StepLaws, even_shares, step_laws
from distpriv.modelling.plausible_models import CHECKING_SEED, TRIED
from distpriv.noise.laws import NoiseLaw, UnimodalNoise

__all__ = [
    "THEOREM",
    "exact_certificate",
    "exact_rows_delta",
    "grid_deltas",
    "population_rows",
    "step_deltas",
    "worst_pairs",
    "worst_populations",
]

THEOREM = "the exact law of the rows"


def exact_rows_delta(rows: RowGrid, noises: Sequence[NoiseLaw], target: PrivacyTarget, pairs: Sequence[Pair]) -> float:
    """Return a bound on the largest δ of the ordered pairs at the target's ε, with all that is left out added.

    The noise of several releases stands one below the other; the target's δ decides how much may be left out. Of rows
    that are a sample it is δ in the worst population they may be of.
    """
    own = _deltas(rows, noises, target, pairs)
    most = float(own.max())
    if not rows.sample or most >= 1:
        return min(1.0, most)
    worst = worst_pairs(own, pairs)
    if isinstance(noises[0], UnimodalNoise) and len(noises) == 1:  # all populations are computed
        populations = population_rows(rows, worst)
    else:  # those in which noise hides least, by estimates
        least = worst_populations(rows, noises, target, worst, CHECKING_SEED)
        populations = (of_populations(rows, worst, {number: cells}) for number, cells in least.items())
    elsewhere = (float(_deltas(some, noises, target, several).max()) for some, several in populations)
    return min(1.0, max(most, *elsewhere))


def _deltas(rows: RowGrid, noises: Sequence[NoiseLaw], target: PrivacyTarget, pairs: Sequence[Pair]) -> Floats:
    """Return a bound on δ of every ordered pair, of rows that are taken as they are."""
    if len(noises) == 1 and isinstance(noises[0], UnimodalNoise):
        return step_deltas(step_laws(rows), noises[0], target.epsilon, pairs)
    return grid_deltas(rows, noises, target, pairs)


def step_deltas(laws: StepLaws, noise: UnimodalNoise, epsilon: float, pairs: Sequence[Pair]) -> Floats:
    """Return δ of every ordered pair, with all that the laws may be off by added.

    The edges of the noise are in the middle between two steps.

    >>> laws = StepLaws(step=1.0, origin=0.0, masses={"a": np.array([1.0, 0]), "b": np.array([0, 1.0])}, outside=0.0)
    >>> noise = UnimodalNoise(axes=[[1.0]], edges=[0, 1.5], masses=[1])
    >>> step_deltas(laws, noise, 0.0, [("a", "b")]).round(6)
    array([0.333333])
    """
    widths, shares = even_shares(noise, laws.step)
    sums = EvenSums.of(laws.masses.values(), int(widths[shares > 0].max(initial=0)))
    noisy = dict(zip(laws.masses, sums.mixed(widths, shares), strict=True))
    factor = odds(epsilon)
    sums_above = [float(np.maximum(noisy[one] - factor * noisy[other], 0.0).sum()) for one, other in pairs]
    return np.array(sums_above) + (1 + factor) * (laws.outside + MARGIN)


def grid_deltas(rows: RowGrid, noises: Sequence[NoiseLaw], target: PrivacyTarget, pairs: Sequence[Pair]) -> Floats:
    """Return a bound on δ of every ordered pair, by the probabilities of the points of a grid."""
    noise = GridNoise.of(noises, rows.steps)
    factor = odds(target.epsilon)
    grid = ExactGrid.of(rows, noise, 1e-4 * target.delta / (1 + factor))
    laws, off = grid.laws(rows, noise)
    # That datasets are off the steps is a move of the noise: it changes a distribution by at most its number of widths.
    off += rows.off * (1 + float((1 / noise.widths).sum()))
    less = factor * math.exp(-3 * grid.ratio)
    sums_above = [float(np.maximum(laws[one] - less * laws[other], 0.0).sum()) for one, other in pairs]
    return math.exp(2 * grid.ratio) * (np.array(sums_above) + (1 + factor) * off)


def worst_pairs(deltas: Floats, pairs: Sequence[Pair], count: int = 2) -> list[Pair]:
    """Return the pairs, either way round, of the largest of these δ."""
    worst: dict[frozenset[str], None] = {}
    for k in np.argsort(-deltas, kind="stable"):
        if len(worst) < count:
            worst.setdefault(frozenset(pairs[k]))
    return [pair for pair in pairs if frozenset(pair) in worst]


def population_rows(
    rows: RowGrid, pairs: Sequence[Pair], count: int = TRIED, seed: int = CHECKING_SEED
) -> Iterator[tuple[RowGrid, list[Pair]]]:
    """Yield the rows of some pairs' scenarios in the populations they may be a sample of, as many at once as fit."""
    populations = plausible_strata(rows, count, seed)
    names = {name for pair in pairs for name in pair}
    size = len(next(iter(step_laws(rows).masses.values())))
    at_once = max(1, 2**24 // (2 * size * len(names)))
    for start in range(0, len(populations), at_once):
        yield of_populations(rows, pairs, dict(enumerate(populations[start : start + at_once], start=start + 1)))


def worst_populations(
    rows: RowGrid,
    noises: Sequence[NoiseLaw],
    target: PrivacyTarget,
    pairs: Sequence[Pair],
    seed: int,
    most: int = 4,
) -> dict[int, list[Cells]]:
    """Return those of a hundred populations in which noise hides some pairs least, by either of two rules.

    The estimate of δ for Gaussian laws with noise as wide; and the mean shift in scales of the Laplace noise.
    """
    populations = plausible_strata(rows, TRIED, seed)
    noise = GridNoise.of(noises, rows.steps)
    added = noise.covariance + noise.laplace @ noise.laplace.T * 2
    for axis, (widths, shares) in noise.own.items():
        added[axis, axis] += shares @ (2 * widths + 1) ** 2 / 12
    along = np.linalg.pinv(noise.laplace)
    whole, several = of_populations(rows, pairs, dict(enumerate(populations)))
    moments = {name: whole.moments(name) for name in whole.drawn}
    shifts = np.array([moments[one][0] - moments[other][0] for one, other in several])
    firsts, seconds = (np.array([moments[pair[side]][1] + added for pair in several]) for side in (0, 1))
    as_wide = hockey_stick_estimates(np.full(len(several), target.epsilon), shifts, firsts, seconds)
    rules = as_wide, np.abs(shifts @ along.T).sum(axis=1)
    ranked = [np.argsort(-rule.reshape(TRIED, -1).max(axis=1), kind="stable") for rule in rules if rule.any()]
    return {number + 1: populations[number] for number in sorted({int(k) for order in ranked for k in order[:most]})}


def exact_certificate(
    rows: RowGrid,
    noises: Sequence[NoiseLaw],
    target: PrivacyTarget,
    pairs: Sequence[Pair],
    theorem: str = THEOREM,
    evidence: Sequence[Evidence] = (),
) -> Certificate:
    """Return what noise is worth by the exact law of up to three statistics."""
    delta = exact_rows_delta(rows, noises, target, pairs)
    tail, tail_holds = tail_evidence(target, lambda point: exact_rows_delta(rows, noises, point, pairs) <= point.delta)
    cells = sum(len(stratum.counts) for stratum in rows.strata)
    return Certificate(
        target=target,
        epsilon=target.epsilon,
        delta=delta,
        assurance="checked" if rows.sample else "proved",
        theorem=theorem,
        evidence=(
            *evidence,
            _reference_is(rows, delta),
            Evidence.of("DP207", cells=cells, scenarios=len(rows.drawn)),
            *tail,
        ),
        contradicted=not tail_holds,
        drawn=rows,
    )


def _reference_is(rows: RowGrid, delta: float) -> Evidence:
    """Return what is assumed of the rows that an exact law is of: that they are all, or that they are a sample."""
    if not rows.sample:
        return Evidence.of("DP311")
    return Evidence.of("DP312", rows=[cells.rows for cells in rows.strata], delta=delta, confidence=CONFIDENCE)
