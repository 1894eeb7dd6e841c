"""What an attack achieves on releases it has not seen."""

import numpy as np
from attrs import frozen

from distpriv.auditing.lower_bound import (
    best_thresholds,
    epsilon_lower_bound,
    proportion_lower_bound,
    proportion_upper_bound,
)
from distpriv.framework.arrays import Floats

__all__ = ["Bounds", "Measures", "bounds", "measures"]

BOUNDS_PER_ATTACK = 5
"""Two thresholds with two proportions each, and the accuracy."""

Scores = tuple[Floats, Floats]
"""Of releases of the pair's first scenario, and of its second."""


@frozen(kw_only=True)
class Measures:
    """How well scores tell two scenarios apart.

    >>> import numpy as np
    >>> from distpriv.auditing.measures import measures
    >>> found = measures((np.array([3.0, 2.0, 1.0]), np.array([-1.0, -2.0, 2.5])), 0.95)
    >>> round(found.accuracy, 3), round(found.auc, 3), round(found.tpr_at_1_percent_fpr, 3)
    (0.833, 0.778, 0.333)
    >>> found.interval[0] < found.accuracy < found.interval[1]
    True
    """

    accuracy: float
    """The share of right decisions, as many releases of either scenario."""
    interval: tuple[float, float]
    """Where the accuracy on all releases is, with the confidence asked for."""
    auc: float
    """The probability that a release of the first scenario scores higher than one of the second."""
    tpr_at_1_percent_fpr: float
    """The share of the first scenario's releases that score above all but 1 % of the second's."""


def measures(scores: Scores, confidence: float) -> Measures:
    """Measure scores; the interval of the accuracy has this confidence by itself.

    >>> measures((np.array([1.0, 2.0, -1.0]), np.array([-2.0, -3.0, 0.5])), 0.95).accuracy
    0.6666666666666666
    """
    from scipy.stats import rankdata

    first, second = scores
    right, trials = _right(scores), len(first) + len(second)
    failure = (1 - confidence) / 2
    ranks = rankdata(np.concatenate(scores))[: len(first)]
    cut = np.quantile(second, 0.99, method="higher")
    return Measures(
        accuracy=right / trials,
        interval=(
            float(proportion_lower_bound(right, trials, failure)),
            float(proportion_upper_bound(right, trials, failure)),
        ),
        auc=float((ranks.sum() - len(first) * (len(first) + 1) / 2) / (len(first) * len(second))),
        tpr_at_1_percent_fpr=float((first > cut).mean()),
    )


@frozen(kw_only=True)
class Bounds:
    """What held-out scores prove, both with the failure probability they were asked for together."""

    accuracy_lower_bound: float
    epsilon_lower_bound: float


def bounds(calibration: Scores, held_out: Scores, *, delta: float, failure: float) -> Bounds:
    """Choose thresholds on one set of scores, and bound ε and the accuracy on another.

    The share of right decisions is a mean of two proportions. Among all pairs of proportions with the same mean equal
    ones have the heaviest tails (Hoeffding 1956), so one binomial bound for all decisions holds.
    """
    each = failure / BOUNDS_PER_ATTACK
    found = []
    for threshold in best_thresholds(*calibration, delta=delta, failure=each):
        hits = [int((scores > threshold).sum()) for scores in held_out]
        found.append(
            epsilon_lower_bound(
                hits[0], len(held_out[0]), hits[1], len(held_out[1]), delta=delta, confidence=1 - 2 * each
            )
        )
    trials = len(held_out[0]) + len(held_out[1])
    return Bounds(
        accuracy_lower_bound=float(proportion_lower_bound(_right(held_out), trials, each)),
        epsilon_lower_bound=max(found),
    )


def _right(scores: Scores) -> int:
    return int((scores[0] > 0).sum() + (scores[1] <= 0).sum())
