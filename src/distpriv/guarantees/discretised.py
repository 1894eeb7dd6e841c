r"""From a guarantee for F + Z to one for what a computer releases: noise in whole numbers of steps.

For every F the release is within (λ, η) of F + Z rounded to the lattice, which is no less private than F + Z. By the
three steps of Theorem 4.6 an (ε, δ) becomes :math:`(ε + 2λ, (1 + e^{ε+λ}) η + e^λ δ)`. Any part of λ may be paid for in
η instead: :math:`H_{λ'} ≤ H_λ + e^λ - e^{λ'}`. A mechanism that is to meet a target after that is made for a target
that is smaller by a millionth.
"""

import math

from attrs import evolve

from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.noise.integers import Discrepancy
from distpriv.noise.lattice import on_lattice

__all__ = ["calibration_target", "discretised", "discretised_certificate"]

ROOM = 2.0**-20
"""The share of ε and of δ that is left for the lattice."""

ROUNDING = 1e-12
"""By which share δ is reported above what was computed."""


def calibration_target(target: PrivacyTarget) -> PrivacyTarget:
    """Return the target to make noise for, so that there is room for drawing it on a lattice.

    >>> target = PrivacyTarget(epsilon=1.0, delta=1e-3)
    >>> 1 - calibration_target(target).epsilon == 2**-20
    True
    """
    return PrivacyTarget(epsilon=target.epsilon * (1 - ROOM), delta=target.delta * (1 - ROOM))


def discretised(mechanism: AdditiveMechanism, target: PrivacyTarget) -> AdditiveMechanism:
    """Return the mechanism with the certificate of its noise drawn on the lattice, held against the target.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> target = PrivacyTarget(epsilon=0.5)
    >>> discretised(dp.mechanisms.expected_value_laplace(model, calibration_target(target)), target).certificate.holds
    True
    """
    cost = on_lattice(mechanism.noise).cost
    return evolve(mechanism, certificate=discretised_certificate(mechanism.certificate, cost, target))


def discretised_certificate(certificate: Certificate, cost: Discrepancy, target: PrivacyTarget) -> Certificate:
    """Return what is left of a certificate for F + Z when the release is within `cost` of it.

    As much of λ as fits is paid for in the room between the certificate's ε and the target's, the rest in δ. The costs
    of several releases from one dataset add up: `one + other`.
    """
    room = max(0.0, target.epsilon - certificate.epsilon) / 2
    loss = min(cost.divergence, room)
    # A λ beyond 1, or an ε beyond 700, leaves δ = 1 unless nothing fails: no need to compute how far beyond.
    missed = cost.failure + math.exp(loss) * math.expm1(min(1.0, cost.divergence - loss))
    odds = math.exp(min(700.0, certificate.epsilon + loss))
    delta = (1 + odds) * missed + math.exp(loss) * certificate.delta
    counted = Evidence.of("DP102", divergence=cost.divergence, failure=cost.failure)
    return evolve(
        certificate,
        target=target,
        epsilon=max(certificate.epsilon, target.epsilon),
        delta=min(1.0, delta * (1 + ROUNDING)),
        evidence=(*certificate.evidence, counted),
    )
