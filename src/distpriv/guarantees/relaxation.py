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
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.entropy_ball import entropy_failure
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import LaplaceNoise, SumNoise

__all__ = ["relaxed", "relaxed_by_divergence", "relaxed_by_entropy"]


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
    close = Evidence.of("DP314", divergence=loss, failure=missed)
    return _weaker(certificate, loss, missed, "Theorem 4.6", close)


def relaxed_by_entropy(
    certificate: Certificate, model: QueryModel, *, radius: float, divergence: float = 0.0
) -> Certificate:
    r"""Return the certificate for records whose law is within a relative entropy of the one modelled.

    Of n records drawn independently, in truth and in the model, the laws of datasets are within n·r of each other,
    which leaves at most η beyond log-ratios of λ; with λ = 0 that is a total variation, below :math:`\sqrt{nr/2}`.
    Theorem 4.6 then gives :math:`(ε + 2λ, (1 + e^{ε+λ}) η + e^λ δ)`. A model with ``robust=r`` has noise that is made
    for it instead.

    Args:
        certificate: what holds for the modelled laws.
        model: the model that it is of, with records that are drawn independently.
        radius: r, the relative entropy of a record to one as modelled, either way round, on average over the records.
        divergence: λ, what of the difference is paid for in ε: a little of it saves much δ.

    Raises:
        InvalidInput: the radius is none, or records are drawn without replacement, so that they are not independent.

    >>> import distpriv as dp
    >>> query, secret = dp.Query(age=dp.mean("age")), dp.Share("income = '>50K'", values=(0.45, 0.55))
    >>> model = dp.model(dp.datasets.adult(), query, secret, records=100, replacement=True)
    >>> found = dp.mechanisms.expected_value_laplace(model, dp.PrivacyTarget(epsilon=0.5)).certificate
    >>> weaker = dp.relaxed_by_entropy(found, model, radius=1e-8)
    >>> round(weaker.epsilon, 6), round(weaker.delta - found.delta, 6)
    (0.5, 0.001873)
    >>> mixed = dp.relaxed_by_entropy(found, model, radius=1e-8, divergence=0.01)
    >>> round(mixed.epsilon, 6), round(mixed.delta - found.delta, 6)
    (0.52, 0.000146)
    """
    each = real("radius", radius, InvalidInput, at_least=0, cure="it is the relative entropy of a record, such as 1e-6")
    count = model.provenance.records
    if count is None or not model.provenance.replacement:
        raise InvalidInput(
            "relative entropies add up only of records that the model draws independently: make it from rows, with "
            "replacement=True."
        )
    loss = _loss(divergence)
    missed = entropy_failure(count * each, loss)
    close = Evidence.of("DP315", radius=each, records=count, divergence=loss, failure=missed)
    return _weaker(certificate, loss, missed, "Theorem 4.6", close)


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
    close = Evidence.of("DP316", distance=reach)
    certificate = mechanism.certificate
    weaker = _weaker(certificate, loss, 0.0, "Theorem 4.7", close)
    noise = mechanism.noise
    if reach > 0:
        if not noise.is_sum_of_parts:
            raise InvalidInput(f"{noise.kind} noise has no sum with other noise: relax directional_laplace instead.")
        extra = LaplaceNoise.isotropic(noise.dimension, reach / loss)
        noise = SumNoise(parts=(*noise.parts, extra)) if noise.parts else extra
    return evolve(mechanism, name=f"relaxed {mechanism.name}", noise=noise, certificate=weaker)


def _weaker(certificate: Certificate, loss: float, missed: float, theorem: str, close: Evidence) -> Certificate:
    """Return (ε + 2λ, (1 + e^{ε+λ}) η + e^λ δ), resting on what is assumed besides."""
    delta = (1 + math.exp(certificate.epsilon + loss)) * missed + math.exp(loss) * certificate.delta
    return evolve(
        certificate,
        epsilon=certificate.epsilon + 2 * loss,
        delta=min(1.0, delta),
        assurance="assumed",
        theorem=f"{theorem} on {certificate.theorem}",
        evidence=(*certificate.evidence, close),
    )


def _loss(value: object) -> float:
    return real("divergence", value, InvalidInput, at_least=0, cure="it is a log-ratio, such as 0.1")
