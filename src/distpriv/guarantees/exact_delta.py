"""The exact check: δ of a Gaussian model under Gaussian noise, over all pairs (`docs/proofs/exact_check.md`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from distpriv.distances.gaussian import gaussian_hockey_sticks
from distpriv.errors import InvalidInput, InvalidModel
from distpriv.framework.arrays import Floats, completed
from distpriv.framework.bisection import least_passing
from distpriv.framework.domains import real
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel, require_model
from distpriv.noise.laws import GaussianNoise, Noise, NoiseLaw

if TYPE_CHECKING:
    from distpriv.framework.scenarios import Pair
    from distpriv.guarantees.farthest_pairs import Places

__all__ = [
    "along_noise",
    "exact_delta",
    "exact_epsilon",
    "gaussian_noise",
    "pair_deltas",
    "privacy_profile",
    "worst_gaussian_pair",
]

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

    Raises:
        InvalidInput: the noise is not Gaussian, or no covariance of noise.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> round(dp.exact_delta(model, [[3.0]], epsilon=1.0), 6)
    0.00683
    """
    epsilon = _epsilon(epsilon)
    noise = gaussian_noise(model, mechanism)
    return worst_gaussian_pair(model, noise, epsilon)[1]


def exact_epsilon(model: QueryModel, mechanism: AdditiveMechanism | NoiseLaw | Any, *, delta: float) -> float:
    """Return the least ε with which the noisy statistics are (ε, δ)-distribution private, rounded up.

    Infinite when no ε has so small a δ, as when a scenario can be told with certainty.

    Args:
        model: the model of the statistics.
        mechanism: a mechanism, a Gaussian law of noise, or the noise's covariance matrix.
        delta: δ, at least 0 and below 1.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> dp.exact_epsilon(model, [[1 / 0.38840125**2 - 1]], delta=1e-3)
    1.00000...
    """
    delta = real("delta", delta, InvalidInput, at_least=0, below=1, cure="it is a small probability, such as 0.001")
    noise = gaussian_noise(model, mechanism)

    def meets(epsilon: float) -> bool:
        return worst_gaussian_pair(model, noise, epsilon)[1] <= delta

    return 0.0 if meets(0.0) else least_passing(meets, 0.0, 1.0, largest=LARGEST_EPSILON, within=1e-10)


def privacy_profile(
    model: QueryModel, mechanism: AdditiveMechanism | NoiseLaw | Any, epsilons: Iterable[float]
) -> Floats:
    """Return δ(ε) at every ε: the whole privacy curve of the noisy statistics.

    Args:
        model: the model of the statistics.
        mechanism: a mechanism, a Gaussian law of noise, or the noise's covariance matrix.
        epsilons: every ε ≥ 0 to look at.

    Returns:
        The exact δ of the worst protected pair, one for each ε.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> dp.privacy_profile(model, [[3.0]], [0, 0.5, 1]).round(4)
    array([0.1974, 0.0524, 0.0068])
    """
    noise = gaussian_noise(model, mechanism)
    return np.array([worst_gaussian_pair(model, noise, _epsilon(epsilon))[1] for epsilon in epsilons])


def worst_gaussian_pair(
    model: QueryModel, noise: GaussianNoise, epsilon: float | Floats, factors: Floats | None = None
) -> tuple[Pair, float]:
    r"""Return the protected pair with the largest δ, and that δ.

    :math:`b_k H_{ε_k}` of pair k, where each has its own ε and factor b; an ε below 0 stands for
    :math:`H_ε ≤ H_0 + 1 - e^ε`. Of shares in a range the farthest pairs are computed, and nearer ones only where δ does
    not fall with the distance (`docs/proofs/farthest_pairs.md`).
    """
    pairs = model.protected_pairs
    epsilons = np.broadcast_to(np.asarray(epsilon, dtype=float), len(pairs))
    most = np.ones(len(pairs)) if factors is None else factors

    def exact(places: Places) -> Floats:
        return np.minimum(1.0, most[places] * _with_less(model, noise, places, epsilons[places]))

    if not model.scenarios:
        deltas = exact(np.arange(len(pairs)))
        return pairs[int(deltas.argmax())], float(deltas.max())
    # Which pairs are on a line is a matter of models of rows.
    from distpriv.guarantees.farthest_pairs import largest_of_rows, rows_of_pairs

    place, delta = largest_of_rows(rows_of_pairs(pairs, model.scenarios), exact, exact)
    return pairs[place], delta


def _with_less(model: QueryModel, noise: GaussianNoise, places: Places, epsilons: Floats) -> Floats:
    """Return H_ε of some protected pairs, each at its own ε, also where that is below 0."""
    pairs = [model.protected_pairs[place] for place in places]
    missing = -np.expm1(np.minimum(0.0, epsilons))
    return np.asarray(pair_deltas(model, pairs, noise, np.maximum(0.0, epsilons)) + missing)


def pair_deltas(model: QueryModel, pairs: Sequence[Pair], noise: GaussianNoise, epsilon: float | Floats) -> Floats:
    """Return upper bounds on H_ε of ordered pairs that exceed it by no more than the error of computing it.

    All are at the same ε, or each at its own.
    """
    return gaussian_hockey_sticks(epsilon, *_noisy_laws(model, pairs, noise)).upper_bound


def _noisy_laws(model: QueryModel, pairs: Sequence[Pair], noise: GaussianNoise) -> tuple[Floats, Floats, Floats]:
    """Return the mean shifts and both covariances of every pair, in the noise's own axes, with the noise."""
    laws = [[model.distributions[name] for name in pair] for pair in pairs]
    shifts = np.array([first.mean - second.mean for first, second in laws])[:, :, np.newaxis]
    axes, covariances = along_noise(noise, np.array([[law.covariance for law in both] for both in laws]))
    # One pair at a time, by broadcasting, so that a pair's rounding does not depend on the others.
    rounding = 4 * np.finfo(float).eps * (np.abs(axes).T @ np.abs(shifts))
    turned = axes.T @ shifts
    shifts = np.where(np.abs(turned) <= rounding, 0.0, turned)[:, :, 0]
    return shifts, covariances[:, 0], covariances[:, 1]


def along_noise(noise: GaussianNoise, covariances: Floats) -> tuple[Floats, Floats]:
    """Return a basis of the noise's own axes, and covariances in it with the noise added.

    They are turned before the noise is added: strong noise along some axes would otherwise swallow, by rounding, what
    the covariances are in the others.

    >>> along_noise(GaussianNoise.isotropic(2, 3.0), np.eye(2))[1].tolist()
    [[10.0, 0.0], [0.0, 10.0]]
    """
    axes = completed(noise.axes) if len(noise.variances) else np.eye(noise.dimension)
    added = np.zeros(noise.dimension)
    added[: len(noise.variances)] = noise.variances
    turned = axes.T @ covariances @ axes + np.diag(added)
    return axes, (turned + turned.swapaxes(-1, -2)) / 2


def gaussian_noise(model: QueryModel, mechanism: AdditiveMechanism | NoiseLaw | Any) -> GaussianNoise:
    """Return Gaussian noise however it is given, or say that it is none."""
    require_model(model)
    noise = mechanism.noise if isinstance(mechanism, AdditiveMechanism) else mechanism
    law = noise if isinstance(noise, Noise) else _noise_of(noise)
    if not law.is_gaussian:
        raise InvalidInput(
            f"the exact check is for Gaussian noise, and this is {type(law).__name__}: its certificate "
            "has a bound on δ."
        )
    if law.dimension != model.dimension:
        raise InvalidModel(
            f"noise for {model.dimension} statistics has a {model.dimension} × {model.dimension} covariance, got shape "
            f"{(law.dimension, law.dimension)}: make the mechanism with this model."
        )
    return law.gaussian


def _noise_of(covariance: Any) -> GaussianNoise:
    """Return the noise with a covariance matrix, or say why it is none."""
    try:
        matrix = np.array(covariance, dtype=np.float64)
    except (TypeError, ValueError) as failure:
        raise InvalidInput(
            f"noise is a mechanism, a Gaussian law or a covariance matrix, got {covariance!r}: write [[1, 0], [0, 1]]."
        ) from failure
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
        raise InvalidInput(
            f"a covariance of noise is a square of finite numbers, got shape {matrix.shape}: give one row and one "
            "column for each statistic, without NaN and infinity."
        )
    if np.abs(matrix - matrix.T).max(initial=0.0) > 1e-9 * np.abs(matrix).max(initial=0.0):
        raise InvalidInput("a covariance of noise is symmetric, and this is not: average it with its transpose.")
    if np.linalg.eigvalsh(matrix).min(initial=0.0) < -1e-9 * np.abs(matrix).max(initial=0.0):
        raise InvalidInput("a covariance of noise is positive semidefinite, and this is not: check its entries.")
    return GaussianNoise.of((matrix + matrix.T) / 2)


def _epsilon(value: object) -> float:
    cure = "at 0 the result is the total variation distance"
    return real("epsilon", value, InvalidInput, at_least=0, at_most=LARGEST_EPSILON, cure=cure)
