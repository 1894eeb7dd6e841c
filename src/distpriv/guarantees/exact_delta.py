"""The exact check: δ of a Gaussian model under Gaussian noise, over all protected pairs, covariances as they are."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from distpriv.distances.gaussian_divergence import gaussian_hockey_stick
from distpriv.errors import InvalidInput, InvalidModel
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import real
from distpriv.framework.secrets import Pair
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import GaussianNoise, NoiseLaw, NoNoise

__all__ = ["exact_delta", "exact_epsilon", "noise_covariance", "pair_delta", "privacy_profile", "worst_pair"]

LARGEST_EPSILON = 700.0
"""Beyond this e^ε is no floating-point number."""


def exact_delta(model: QueryModel, mechanism: AdditiveMechanism | NoiseLaw | Any, *, epsilon: float) -> float:
    r"""Return the least δ with which the noisy statistics are (ε, δ)-distribution private, f_θ taken as Gaussian.

    :math:`\max_{(i,j) ∈ Ψ} H_ε(N(μ_i, Σ_i + S) \,\|\, N(μ_j, Σ_j + S))`, both orders of every pair, no covariance
    assumed to equal another. The error of the computation is bounded and added.

    Args:
        model: the model of the statistics.
        mechanism: a mechanism, a Gaussian law of noise, or the noise's covariance matrix.
        epsilon: ε ≥ 0; at 0 the result is the total variation distance.

    >>> from distpriv.modelling.model import gaussian_model
    >>> model = gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> round(exact_delta(model, [[3.0]], epsilon=1.0), 6)
    0.00683
    """
    epsilon = _epsilon(epsilon)
    covariance = noise_covariance(model, mechanism)
    return max(pair_delta(model, pair, covariance, epsilon) for pair in model.protected_pairs)


def exact_epsilon(model: QueryModel, mechanism: AdditiveMechanism | NoiseLaw | Any, *, delta: float) -> float:
    """Return the least ε with which the noisy statistics are (ε, δ)-distribution private, rounded up.

    Infinite when no ε has so small a δ, as when a scenario can be told with certainty.

    >>> from distpriv.modelling.model import gaussian_model
    >>> model = gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> exact_epsilon(model, [[1 / 0.38840125**2 - 1]], delta=1e-3)
    1.00000...
    """
    delta = real("delta", delta, InvalidInput, at_least=0, below=1, cure="it is a small probability, such as 0.001")
    covariance = noise_covariance(model, mechanism)

    def meets(epsilon: float) -> bool:
        return all(pair_delta(model, pair, covariance, epsilon) <= delta for pair in model.protected_pairs)

    return _least(meets)


def privacy_profile(
    model: QueryModel, mechanism: AdditiveMechanism | NoiseLaw | Any, epsilons: Iterable[float]
) -> Floats:
    """Return δ(ε) at every ε: the whole privacy curve of the noisy statistics.

    >>> from distpriv.modelling.model import gaussian_model
    >>> model = gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> privacy_profile(model, [[3.0]], [0, 0.5, 1]).round(4)
    array([0.1974, 0.0524, 0.0068])
    """
    return np.array([exact_delta(model, mechanism, epsilon=epsilon) for epsilon in epsilons])


def worst_pair(model: QueryModel, covariance: Floats, epsilon: float) -> tuple[Pair, float]:
    """Return the ordered pair with the largest δ, and that δ."""
    deltas = {pair: pair_delta(model, pair, covariance, epsilon) for pair in model.protected_pairs}
    worst = max(deltas, key=lambda pair: deltas[pair])
    return worst, deltas[worst]


def pair_delta(model: QueryModel, pair: Pair, covariance: Floats, epsilon: float) -> float:
    """Return an upper bound on H_ε of one ordered pair that exceeds it by no more than the error of computing it."""
    first, second = (model.distributions[name] for name in pair)
    divergence = gaussian_hockey_stick(
        epsilon, first.mean - second.mean, first.covariance + covariance, second.covariance + covariance
    )
    return divergence.upper_bound


def noise_covariance(model: QueryModel, mechanism: AdditiveMechanism | NoiseLaw | Any) -> Floats:
    """Return the covariance of Gaussian noise however it is given, or say that the noise is not Gaussian."""
    noise = mechanism.noise if isinstance(mechanism, AdditiveMechanism) else mechanism
    if isinstance(noise, GaussianNoise | NoNoise):
        covariance = noise.covariance
    elif hasattr(noise, "covariance"):
        raise InvalidInput(
            f"the exact check is for Gaussian noise, and this is {type(noise).__name__}: use delta_upper_bound."
        )
    else:
        covariance = np.array(noise, dtype=np.float64)
    if covariance.shape != (model.dimension, model.dimension):
        raise InvalidModel(
            f"noise for {model.dimension} statistics has a {model.dimension} × {model.dimension} covariance, got shape "
            f"{covariance.shape}: make the mechanism with this model."
        )
    return covariance


def _epsilon(value: object) -> float:
    cure = "at 0 the result is the total variation distance"
    return real("epsilon", value, InvalidInput, at_least=0, at_most=LARGEST_EPSILON, cure=cure)


def _least(meets: Callable[[float], bool]) -> float:
    """Return the least ε from which on a monotone test is met, rounded up."""
    if meets(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not meets(high):
        if high >= LARGEST_EPSILON:
            return math.inf
        low, high = high, min(2 * high, LARGEST_EPSILON)
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if meets(middle) else (middle, high)
    return high
