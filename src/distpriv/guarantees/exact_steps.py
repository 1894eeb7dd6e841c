r"""δ of a statistic on whole steps with noise on whole steps, from its exact law.

The statistic is on :math:`c + hℤ` in every scenario. Noise whose density is constant on every cell
:math:`((k - ½)h, (k + ½)h)` is a whole number of steps plus an independent uniform part of one cell, so that
:math:`H_ε` of what is released is a sum over the steps (`docs/proofs/exact_law.md`).
"""

import math
from collections.abc import Sequence

import numpy as np

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.secrets import Pair
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Assumption, Certificate
from distpriv.modelling.row_grid import RowGrid
from distpriv.modelling.step_laws import StepLaws, step_laws
from distpriv.noise.unimodal import UnimodalNoise

__all__ = [
    "IS_POPULATION",
    "MARGIN",
    "THEOREM",
    "convolved",
    "even_shares",
    "exact_steps_certificate",
    "exact_steps_delta",
]

THEOREM = "the exact law on whole steps"

MARGIN = 1e-9
"""By which share of itself an edge may be off the middle between two steps; as much of the noise is elsewhere then."""

LARGEST_EPSILON = 300.0
"""At a larger ε δ is taken at this one, which is no less."""

IS_POPULATION = Assumption(
    statement="the reference is the whole population that datasets are drawn from",
    status="assumed",
    evidence="the law is known to the last row, and noise is made for it: a row more or less counts",
)


def exact_steps_delta(laws: StepLaws, noise: UnimodalNoise, epsilon: float, pairs: Sequence[Pair]) -> float:
    """Return the largest δ of the ordered pairs, with all that the laws may be off by added.

    The edges of the noise are in the middle between two steps.

    >>> laws = StepLaws(step=1.0, origin=0.0, masses={"a": np.array([1.0, 0]), "b": np.array([0, 1.0])}, outside=0.0)
    >>> noise = UnimodalNoise(axes=[[1.0]], edges=[0, 1.5], masses=[1])
    >>> round(exact_steps_delta(laws, noise, 0.0, [("a", "b")]), 6)
    0.333333
    """
    whole, shares = even_shares(noise, laws.step)
    with_noise = dict(zip(laws.masses, convolved(list(laws.masses.values()), whole, shares), strict=True))
    ratio = math.exp(min(epsilon, LARGEST_EPSILON))
    most = max(float(np.maximum(with_noise[one] - ratio * with_noise[other], 0.0).sum()) for one, other in pairs)
    return min(1.0, most + (1 + ratio) * (laws.outside + MARGIN))


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
    delta = exact_steps_delta(laws, noise, target.epsilon, pairs)
    values = len(next(iter(laws.masses.values())))
    return Certificate(
        target=target,
        epsilon=target.epsilon,
        delta=delta,
        assurance="proved",
        theorem=THEOREM,
        assumptions=(
            IS_POPULATION,
            Assumption(
                statement="δ is exact for the law of the rows",
                status="checked",
                evidence=f"{values:,} values on steps of {laws.step:g} in {len(laws.masses)} scenarios; at most "
                f"{laws.outside:.1e} of a law is left out, and counted",
            ),
        ),
        drawn=rows,
    )
