r"""What is left of a guarantee when the laws are only close to those it was made for: Theorems 4.6 and 4.7.

Let P_θ be the true law of the release and P̃_θ the one that the guarantee is about. If
:math:`P_i(A) ≤ e^λ P̃_i(A) + η` and :math:`P̃_j(A) ≤ e^λ P_j(A) + η` for every set A, three steps give
:math:`P_i(A) ≤ e^λ (e^ε (e^λ P_j(A) + η) + δ) + η`. Noise of its own makes λ and η known: if every f_θ can be coupled
to its approximation so that they are never more than W apart (L1), independent Lap(W/λ) on every statistic has η = 0.
"""

import math

from attrs import evolve

from distpriv.errors import InvalidInput
from distpriv.framework.domains import real
from distpriv.guarantees.certificate import Assumption, Certificate
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.noise.laws import LaplaceNoise, SumNoise

__all__ = ["relaxed", "relaxed_by_divergence"]


def relaxed_by_divergence(certificate: Certificate, *, divergence: float, failure: float = 0.0) -> Certificate:
    r"""Return the certificate for laws of η-approximate max-divergence at most λ from those modelled (Theorem 4.6).

    :math:`(ε + 2λ, (1 + e^{ε+λ}) η + e^λ δ)`, if both :math:`D_∞^η(f̃_θ \| f_θ)` and :math:`D_∞^η(f_θ \| f̃_θ)` are at
    most λ for every scenario.

    Args:
        certificate: what holds for the modelled laws.
        divergence: λ.
        failure: η.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> found = dp.mechanisms.expected_value_laplace(model, dp.PrivacyTarget(epsilon=0.5)).certificate
    >>> weaker = dp.relaxed_by_divergence(found, divergence=0.1, failure=1e-4)
    >>> round(weaker.epsilon, 6), round(weaker.delta, 6)
    (0.7, 0.000282)
    """
    loss = _loss(divergence)
    missed = real("failure", failure, InvalidInput, at_least=0, at_most=1, cure="it is a probability, often 0")
    close = Assumption(
        statement=f"the true laws have {missed:g}-approximate max-divergence of at most {loss:g} from those modelled",
        status="assumed",
        evidence="both ways, for every scenario",
    )
    delta = (1 + math.exp(certificate.epsilon + loss)) * missed + math.exp(loss) * certificate.delta
    return _weaker(certificate, loss, delta, "Theorem 4.6", close)


def relaxed(mechanism: AdditiveMechanism, *, distance: float, divergence: float) -> AdditiveMechanism:
    r"""Add noise that makes up for laws at an ∞-Wasserstein distance of up to W from those modelled (Theorem 4.7).

    Independent :math:`\mathrm{Lap}(W/λ)` on every statistic; the guarantee becomes :math:`(ε + 2λ, e^λ δ)`.

    Args:
        mechanism: the mechanism made for the modelled laws.
        distance: W, the largest :math:`W_∞(f_θ, f̃_θ)` over all scenarios, L1.
        divergence: λ, what the difference may cost: small λ is much noise.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> mechanism = dp.mechanisms.expected_value_laplace(model, dp.PrivacyTarget(epsilon=0.5))
    >>> round(dp.relaxed(mechanism, distance=0.2, divergence=0.1).noise.expected_rms, 4)
    4.0
    """
    loss = _loss(divergence)
    reach = real("distance", distance, InvalidInput, at_least=0, cure="it is how far the true laws may be, at most")
    if reach > 0 and loss == 0:
        raise InvalidInput(
            "divergence must be above 0 where distance is, since no noise hides a difference at no cost: give 0.1, say."
        )
    close = Assumption(
        statement=f"every true law is within an ∞-Wasserstein distance of {reach:g} (L1) of the one modelled",
        status="assumed",
    )
    certificate = mechanism.certificate
    weaker = _weaker(certificate, loss, math.exp(loss) * certificate.delta, "Theorem 4.7", close)
    noise = mechanism.noise
    if reach > 0:
        if not noise.is_sum_of_parts:
            raise InvalidInput(f"{noise.kind} noise has no sum with other noise: relax directional_laplace instead.")
        extra = LaplaceNoise.isotropic(noise.dimension, reach / loss)
        noise = SumNoise(parts=(*noise.parts, extra)) if noise.parts else extra
    return evolve(mechanism, name=f"relaxed {mechanism.name}", noise=noise, certificate=weaker)


def _weaker(certificate: Certificate, loss: float, delta: float, theorem: str, close: Assumption) -> Certificate:
    return evolve(
        certificate,
        epsilon=certificate.epsilon + 2 * loss,
        delta=min(1.0, delta),
        trust="assumed",
        theorem=f"{theorem} on {certificate.theorem}",
        assumptions=(*certificate.assumptions, close),
    )


def _loss(value: object) -> float:
    return real("divergence", value, InvalidInput, at_least=0, cure="it is a log-ratio, such as 0.1")
