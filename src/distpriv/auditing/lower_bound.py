r"""From decisions on held-out releases to a lower bound on ε that holds with a stated confidence.

If a mechanism is (ε, δ)-distribution private then for the event S that an attack decides for the first scenario,
:math:`P_i(S) ≤ e^ε P_j(S) + δ` and, for the other event, :math:`1 - P_j(S) ≤ e^ε (1 - P_i(S)) + δ`. Turned round,

.. math:: ε ≥ \log \frac{P_i(S) - δ}{P_j(S)}, \qquad ε ≥ \log \frac{1 - P_j(S) - δ}{1 - P_i(S)}.

Both hold at once if P_i(S) is replaced by a lower and P_j(S) by an upper confidence bound. S must be fixed before
the releases are drawn that it is counted on: threshold and direction are chosen on other data.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import real, whole

__all__ = ["best_thresholds", "epsilon_lower_bound", "proportion_lower_bound", "proportion_upper_bound"]

THRESHOLDS = 500
"""How many thresholds are compared."""


def proportion_lower_bound(count: ArrayLike, trials: int, failure: float) -> Floats:
    """Return Clopper and Pearson's lower bound on a probability, which is too high with probability `failure` at most.

    >>> proportion_lower_bound(10, 10, 0.05).round(4)
    np.float64(0.7411)
    """
    counts = np.asarray(count, dtype=np.float64)
    return np.asarray(np.where(counts > 0, betaincinv(np.maximum(counts, 1), trials - counts + 1, failure), 0.0))[()]


def proportion_upper_bound(count: ArrayLike, trials: int, failure: float) -> Floats:
    """Return Clopper and Pearson's upper bound on a probability, which is too low with probability `failure` at most.

    >>> proportion_upper_bound(0, 10, 0.05).round(4)
    np.float64(0.2589)
    """
    return np.asarray(1.0 - proportion_lower_bound(trials - np.asarray(count), trials, failure))[()]


def epsilon_lower_bound(
    first_hits: int, first_releases: int, second_hits: int, second_releases: int, *, delta: float, confidence: float
) -> float:
    """Return an ε below which (ε, δ)-distribution privacy is ruled out, at this confidence.

    Args:
        first_hits: how many releases of the first scenario were decided to be of the first.
        first_releases: out of how many.
        second_hits: how many releases of the second scenario were decided to be of the first.
        second_releases: out of how many.
        delta: the δ of the guarantee.
        confidence: the probability with which the bound is no higher than the true ε, at least.

    Returns:
        The bound, 0 where nothing is shown; it holds for the pair in both orders together.

    >>> round(epsilon_lower_bound(9000, 10_000, 1000, 10_000, delta=0.0, confidence=0.95), 3)  # log 9 is 2.197
    2.132
    """
    for hits, releases in ((first_hits, first_releases), (second_hits, second_releases)):
        whole("the number of releases", releases, InvalidInput, at_least=1, cure="count all of a scenario")
        if not 0 <= whole("the number of hits", hits, InvalidInput, at_least=0, cure="count decisions") <= releases:
            raise InvalidInput(f"{hits} of {releases} releases were hits: count hits among the releases only.")
    delta = real("delta", delta, InvalidInput, at_least=0, below=1, cure="take the certificate's")
    confidence = real("confidence", confidence, InvalidInput, above=0, below=1, cure="0.95 is usual")
    failure = (1 - confidence) / 2
    low = float(proportion_lower_bound(first_hits, first_releases, failure))
    high = float(proportion_upper_bound(second_hits, second_releases, failure))
    return max(0.0, _log_ratio(low - delta, high), _log_ratio(1 - high - delta, 1 - low))


def _log_ratio(numerator: float, denominator: float) -> float:
    return math.log(numerator / denominator) if numerator > 0 else -math.inf


def best_thresholds(first: Floats, second: Floats, *, delta: float, failure: float) -> tuple[float, float]:
    """Return the thresholds above which a score tells most for the first scenario, and below which for the second.

    Args:
        first: scores of the first scenario's releases, none of which the bound is counted on.
        second: scores of the second's.
        delta: the δ of the guarantee.
        failure: the failure probability of each one-sided bound that will be used.

    >>> rng = np.random.default_rng(0)
    >>> above, below = best_thresholds(rng.normal(1, 1, 5000), rng.normal(0, 1, 5000), delta=0.0, failure=0.01)
    >>> above > 1 and below < 0
    True
    """
    thresholds = np.unique(np.quantile(np.concatenate([first, second]), np.linspace(0, 1, THRESHOLDS)))
    hits = [len(s) - np.searchsorted(np.sort(s), thresholds, side="right") for s in (first, second)]
    low = proportion_lower_bound(hits[0], len(first), failure)
    high = proportion_upper_bound(hits[1], len(second), failure)
    with np.errstate(divide="ignore"):
        above = np.log(np.maximum(low - delta, 0.0)) - np.log(high)
        below = np.log(np.maximum(1 - high - delta, 0.0)) - np.log(1 - low)
    return float(thresholds[above.argmax()]), float(thresholds[below.argmax()])
