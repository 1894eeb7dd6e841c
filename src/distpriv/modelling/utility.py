r"""What an error costs: a weight for each statistic, so that the error of noise Z is :math:`\sqrt{E Σ_k q_k Z_k^2}`."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import did_you_mean, items, real
from distpriv.modelling.model import QueryModel, require_model

__all__ = ["OBJECTIVES", "Objective", "Weights", "utility_weights", "weighted_rms"]

Weights = Mapping[str, float] | Sequence[float] | Literal["relative"] | None
"""By name (1 for those not named), one for each statistic in order, by each statistic's size, or 1 for all."""

Objective = Literal["estimate", "noise"]
"""Whether noise is judged by the error of the estimates that are left, or by its own."""

OBJECTIVES: tuple[Objective, ...] = ("estimate", "noise")


def utility_weights(model: QueryModel, weights: Weights = None) -> Floats:
    r"""Return q, one positive weight for each statistic; the overall squared error is :math:`Σ_k q_k E Z_k^2`.

    "relative" takes :math:`q_k = 1/s_k^2`, :math:`s_k` the mean of \|μ_k\| over the scenarios, or the standard
    deviation where that is 0: errors then count in shares of the statistic.

    >>> from distpriv.modelling.given import gaussian_model
    >>> model = gaussian_model(means={"a": [10, 1], "b": [30, 3]}, covariances=[[1, 0], [0, 1]], pairs=[("a", "b")])
    >>> utility_weights(model, {"statistic_2": 4})
    array([1., 4.])
    >>> utility_weights(model, "relative")
    array([0.0025, 0.25  ])
    """
    require_model(model)
    if weights is None:
        return np.ones(model.dimension)
    if isinstance(weights, str):
        if weights != "relative":
            raise InvalidInput(
                f"weights is 'relative', or a number for each statistic, got {weights!r}: "
                f"write {{{model.names[0]!r}: 2}} to weigh only one."
            )
        return _relative(model)
    if isinstance(weights, Mapping):
        for name in weights:
            if name not in model.names:
                raise InvalidInput(f"there is no statistic {name!r} to weigh: {did_you_mean(str(name), model.names)}")
        given = [weights.get(name, 1.0) for name in model.names]
    else:
        given = list(items(weights))
        if len(given) != model.dimension:
            raise InvalidInput(
                f"weights must be {model.dimension} numbers, one for each statistic, got {weights!r}: "
                f"write {{{model.names[0]!r}: 2}} to weigh only one."
            )
    cure = "an error counts in proportion to the root of its weight"
    pairs = zip(model.names, given, strict=True)
    return np.array([real(f"the weight of {name!r}", w, InvalidInput, above=0, cure=cure) for name, w in pairs])


def weighted_rms(covariance: Floats, weights: Floats) -> float:
    r"""Return :math:`\sqrt{\operatorname{tr}(QS)}`, Q the diagonal of the weights: the overall error of noise.

    >>> weighted_rms(np.diag([9.0, 16.0]), np.ones(2))
    5.0
    """
    return math.sqrt(max(0.0, float(weights @ np.diag(covariance))))


def _relative(model: QueryModel) -> Floats:
    laws = model.distributions.values()
    sizes = np.mean([np.abs(law.mean) for law in laws], axis=0)
    spread = np.sqrt(np.max([np.diag(law.covariance) for law in laws], axis=0))
    sizes = np.where(sizes > 0, sizes, np.where(spread > 0, spread, 1.0))
    return np.asarray(1 / sizes**2)
