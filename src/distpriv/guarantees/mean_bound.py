r"""Whether a mean is below a limit, told from independent draws in [0, 1] with a stated chance of being wrong.

A bet of λ ≤ 1/(1 − c) on "the mean is below c" turns a stake of 1 into :math:`\prod_i (1 + λ (c - x_i))`. If the mean
is c or more, no factor gains on average, so the stake grows by 1/β with probability at most β (Markov). The bet must be
chosen without the draws. It is sharper than an empirical Bernstein bound, and falls in every x_i, so that draws which
show a mean to be below c still do when any of them is replaced by less (`docs/proofs/coupled_gaussian.md`, "Proof").
"""

import math

import numpy as np

from distpriv.framework.arrays import Floats, Rows

__all__ = ["CHOICES", "best_bet", "least_draws", "log_evidence", "shows_tail"]

CHOICES = 2
"""Of how many noises that are tested on draws one may be chosen: who takes the better of two is misled by either."""


def log_evidence(values: Floats, counts: Rows, limit: float, bet: float) -> float:
    """Return the logarithm of what the bet has won; ln(1/β) or more shows a mean below the limit, but for chance β.

    >>> evidence = log_evidence(np.array([0.0, 0.5]), np.array([990, 10]), limit=0.02, bet=0.5)
    >>> evidence > math.log(1 / 0.05), evidence > math.log(1 / 0.0005)
    (True, False)
    """
    return float(counts @ np.log1p(bet * (limit - values)))


def shows_tail(values: Floats, counts: Rows, limit: float, failure: float) -> bool:
    """Return whether values that are nearly always 0 have a mean below a limit, but for the chance of failure.

    The bet is fixed beforehand: nearly all values are far below the limit, or they show nothing.

    >>> shows_tail(np.array([0.0, 0.5]), np.array([199_990, 10]), limit=1e-3, failure=1e-6)
    True
    >>> shows_tail(np.array([0.0, 0.5]), np.array([199_500, 500]), limit=1e-3, failure=1e-6)
    False
    """
    return log_evidence(values, counts, limit, bet=0.5) >= -math.log(failure)


def best_bet(values: Floats, counts: Rows, limit: float, *, draws: int, failure: float) -> float:
    """Return the bet that would win most on these values, which are not those to bet on.

    Evidence is concave in the bet, so bisection on its slope finds it. It is at least so large that as many draws
    of 0 as there will be are evidence enough.
    """
    gain = limit - values
    high = (1 - 1e-9) / (1 - limit)  # just below the largest bet, at which a single 1 loses everything
    low = min(math.expm1(-math.log(failure) / draws) / limit * (1 + 1e-9), high)  # (1 + λc)^draws = 1/β
    for _ in range(50):
        middle = (low + high) / 2
        # The slope of Σ log(1 + λ (c − x)) in λ.
        if counts @ (gain / (1 + middle * gain)) > 0:
            low = middle
        else:
            high = middle
    return low


def least_draws(limit: float, failure: float) -> int:
    r"""Return how many draws it takes at least to show a mean below the limit: :math:`\ln(1/β) / -\ln(1 - c)`.

    >>> least_draws(0.001, 1e-5)
    11508
    """
    return math.ceil(math.log(failure) / math.log1p(-limit) * (1 + 1e-6))
