"""What the mechanisms of section 3 share: how far the laws of a pair are apart, and how far that can be trusted."""

from collections.abc import Callable
from typing import Any

import numpy as np

from distpriv.errors import AssumptionViolated, InvalidModel
from distpriv.framework.scenarios import Pair
from distpriv.guarantees.certificate import Assurance
from distpriv.guarantees.evidence import Evidence
from distpriv.mechanisms.group_privacy import group_reach, sufficient_group
from distpriv.modelling.model import QueryModel

__all__ = [
    "has_points",
    "largest_over_points",
    "law_evidence",
    "proven_distance",
    "translation_distance",
    "unordered",
]


def has_points(model: QueryModel) -> bool:
    """Tell whether every law of the model is known by points."""
    return all(law.points is not None for law in model.distributions.values())


def unordered(model: QueryModel) -> list[Pair]:
    """Return every protected pair in one order; distances are the same in both."""
    return list({frozenset(pair): pair for pair in model.protected_pairs}.values())


def largest_over_points(model: QueryModel, measure: Callable[..., Any], theorem: str) -> Any:
    """Return the largest value, over all protected pairs, of a measure of points and weights, or of each of several."""
    if not has_points(model):
        raise InvalidModel(
            f"{theorem} needs the laws as points, and this model has moments: make it with empirical_model, or with "
            "model(…, method='sampling')."
        )
    pairs = [[model.distributions[name] for name in pair] for pair in unordered(model)]
    return np.max([measure(x.points, y.points, x_weights=x.weights, y_weights=y.weights) for x, y in pairs], axis=0)


def law_evidence(model: QueryModel) -> tuple[Evidence, Assurance]:
    """Return what a distance between points says about the laws, and the assurance that it deserves."""
    if model.provenance.method == "given points":
        return Evidence.of("DP319"), "proved"
    return Evidence.of("DP320", draws=model.provenance.draws), "assumed"


def proven_distance(model: QueryModel) -> tuple[float, Evidence] | None:
    """Return a proven bound on W∞ (L1) from coupled datasets and bounded rows; None if the model has neither."""
    swapped = sufficient_group(model)
    if swapped is None or np.isinf(model.record_sensitivities).any():
        return None
    of_one = float(model.record_sensitivities.sum())
    return group_reach(model, swapped, order=1), Evidence.of("DP106", records=swapped, reach=of_one)


def translation_distance(model: QueryModel, theorem: str) -> float:
    """Return W∞ (L1) of Gaussian laws, which is finite only between translations: the length of the mean shift."""
    for first, second in unordered(model):
        one, other = model.distributions[first], model.distributions[second]
        if not np.array_equal(one.covariance, other.covariance):
            raise AssumptionViolated(
                f"{theorem} needs a finite distance, and that of two Gaussian laws with different covariances is "
                "infinite: use bounded, or approximate_wasserstein on a sampled model."
            )
    return max(float(np.abs(model.mean_shift(pair)).sum()) for pair in model.protected_pairs)
