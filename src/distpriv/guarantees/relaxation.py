r"""What is left of a guarantee for distributions that are only close to those it was made for: Theorems 4.6 and 4.7.

Let P_θ be the true distribution of the release and P̃_θ the one that the guarantee is about. If
:math:`P_i(A) ≤ e^λ P̃_i(A) + η` and :math:`P̃_j(A) ≤ e^λ P_j(A) + η` for every set A, three steps give
:math:`P_i(A) ≤ e^λ (e^ε (e^λ P_j(A) + η) + δ) + η`: an (ε, δ) becomes :math:`(ε + 2λ, (1 + e^{ε+λ}) η + e^λ δ)`. Any
part of λ may be paid for in η instead: :math:`H_{λ'} ≤ H_λ + e^λ - e^{λ'}`.

* Noise of its own makes λ and η known: if every f_θ can be coupled to its approximation so that they are never more
  than W apart (L1), independent Lap(W/λ) on every statistic has η = 0 (Theorem 4.7).
* Noise drawn in whole numbers of steps is within (λ, η) of noise that is rounded, which is no less private. A mechanism
  that is to meet a target after that is made for a target that is smaller by a millionth.
* Of n independent records, each within a relative entropy r of the modelled one on average, datasets are within
  K = n·r, either way round. The largest η is that of an event with probabilities p and q, :math:`\max\, p - e^λ q`
  with a relative entropy of at most K between them. By Lagrange every s > 0 gives a bound:

.. math:: η ≤ \tfrac1s \big(K + \max_q \ln(1 - q + q e^s) - s e^λ q\big)

and, with the entropy taken the other way round,

.. math:: η ≤ \tfrac1s \big(K + \max_p\, s p + \ln(1 - p + p e^{-s e^λ})\big).

In such a ball noise is made for a target that is smaller by what it costs, with the λ that leaves most to Gaussian
noise.
"""

import math
from functools import lru_cache

import numpy as np
from attrs import evolve

from distpriv.distances.gaussian import analytic_radius
from distpriv.errors import InvalidInput, NotCertified
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import real
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel
from distpriv.noise.integers import Discrepancy
from distpriv.noise.laws import LaplaceNoise, SumNoise

__all__ = [
    "allowing_for_ball",
    "ball_cost",
    "calibration_target",
    "discretised",
    "discretised_certificate",
    "entropy_failure",
    "made_for",
    "relaxed",
    "relaxed_by_divergence",
    "without_ball",
]

ROOM = 2.0**-20
"""The share of ε and of δ that is left for the lattice."""

ROUNDING = 1e-12
"""By which share δ is reported above what was computed."""

_SLOPES = np.geomspace(1e-9, 700.0, 4000)
"""The values of s that are tried: the best of them is within a millionth of the best there is."""


def weaker_delta(epsilon: float, delta: float, cost: Discrepancy) -> float:
    """Return (1 + e^{ε+λ}) η + e^λ δ; beyond an ε of 700 it says nothing unless nothing fails."""
    odds = math.exp(min(700.0, epsilon + cost.divergence))
    return (1 + odds) * cost.failure + math.exp(cost.divergence) * delta


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
    cost = Discrepancy(divergence=loss, failure=missed)
    return evolve(
        certificate,
        epsilon=certificate.epsilon + 2 * loss,
        delta=min(1.0, weaker_delta(certificate.epsilon, certificate.delta, cost)),
        assurance="assumed",
        theorem=f"{theorem} on {certificate.theorem}",
        evidence=(*certificate.evidence, close),
    )


def _loss(value: object) -> float:
    return real("divergence", value, InvalidInput, at_least=0, cure="it is a log-ratio, such as 0.1")


def calibration_target(target: PrivacyTarget) -> PrivacyTarget:
    """Return the target to make noise for, so that there is room for drawing it on a lattice.

    >>> target = PrivacyTarget(epsilon=1.0, delta=1e-3)
    >>> 1 - calibration_target(target).epsilon == 2**-20
    True
    """
    return PrivacyTarget(epsilon=target.epsilon * (1 - ROOM), delta=target.delta * (1 - ROOM))


def discretised(mechanism: AdditiveMechanism, target: PrivacyTarget) -> AdditiveMechanism:
    """Return the mechanism with the certificate of its noise drawn on the lattice, for the target.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> target = PrivacyTarget(epsilon=0.5)
    >>> discretised(dp.mechanisms.expected_value_laplace(model, calibration_target(target)), target).certificate.holds
    True
    """
    from distpriv.noise.lattice import on_lattice  # samplers of whole numbers, which no theorem needs

    cost = on_lattice(mechanism.noise).cost
    return evolve(mechanism, certificate=discretised_certificate(mechanism.certificate, cost, target))


def discretised_certificate(certificate: Certificate, cost: Discrepancy, target: PrivacyTarget) -> Certificate:
    """Return what is left of a certificate for F + Z when the release is within `cost` of it.

    As much of λ as fits is paid for in the room between the certificate's ε and the target's, the rest in δ. The costs
    of several releases from one dataset add up: `one + other`.
    """
    room = max(0.0, target.epsilon - certificate.epsilon) / 2
    loss = min(cost.divergence, room)
    # A λ beyond 1 leaves δ = 1 unless nothing fails: no need to compute how far beyond.
    missed = cost.failure + math.exp(loss) * math.expm1(min(1.0, cost.divergence - loss))
    paid = Discrepancy(divergence=loss, failure=missed)
    counted = Evidence.of("DP102", divergence=cost.divergence, failure=cost.failure)
    return evolve(
        certificate,
        target=target,
        epsilon=max(certificate.epsilon, target.epsilon),
        delta=min(1.0, weaker_delta(certificate.epsilon, certificate.delta, paid) * (1 + ROUNDING)),
        evidence=(*certificate.evidence, counted),
    )


def entropy_failure(entropy: float, divergence: float = 0.0) -> float:
    r"""Return η for laws within a relative entropy of each other, either way round, beyond log-ratios of λ.

    With λ = 0 it is their total variation at most, which the inequality of Pinsker bounds by :math:`\sqrt{K/2}`.

    >>> round(entropy_failure(1e-4), 5), round(entropy_failure(1e-4, 0.1), 5), entropy_failure(0.0)
    (0.00707, 0.00054, 0.0)
    """
    if entropy == 0:
        return 0.0
    if entropy >= _SLOPES[-1]:  # where the bound says nothing
        return 1.0
    odds, s = math.exp(min(divergence, 700.0)), _SLOPES
    grown, shrunk = np.expm1(s), -np.expm1(-s * odds)
    q = np.clip((grown / (s * odds) - 1) / grown, 0.0, 1.0)
    p = np.clip((1 - shrunk / s) / shrunk, 0.0, 1.0)
    with np.errstate(divide="ignore"):
        one = np.log1p(q * grown) - s * odds * q
        other = s * p + np.log1p(-p * shrunk)
    return min(1.0, max(_least(entropy, one), _least(entropy, other)))


def _least(entropy: float, beyond: Floats) -> float:
    """Return the least of the bounds, rounded up: terms that are about s each leave errors of their last digit."""
    bound = float(np.min((entropy + np.maximum(beyond, 0.0)) / _SLOPES))
    return bound * (1 + ROUNDING) + 1e-15


def ball_cost(model: QueryModel, target: PrivacyTarget) -> Discrepancy | None:
    """Return λ and η of the ball around a model, as suits a target best; none where the model has no ball.

    Raises:
        NotCertified: nothing is left of the target.
    """
    radius, records = model.provenance.drawing.robust, model.provenance.records
    if not radius or records is None:
        return None
    cost = _best_cost(records * radius, target)
    if cost is None:
        raise NotCertified(_too_large(radius, records, target))
    return cost


def made_for(model: QueryModel, target: PrivacyTarget) -> PrivacyTarget:
    """Return what has to hold for the modelled laws so that the target holds in the whole ball around them.

    Raises:
        NotCertified: nothing is left of the target.
    """
    cost = ball_cost(model, target)
    return target if cost is None else _left(target, cost)


def allowing_for_ball(certificate: Certificate, model: QueryModel, target: PrivacyTarget) -> Certificate:
    """Return what is left of a certificate for the modelled laws in the whole ball around them, for a target.

    Args:
        certificate: what holds for the modelled laws; of noise that was `made_for` the target.
        model: the model, with the ball.
        target: the (ε, δ) that is asked for.
    """
    cost = ball_cost(model, target)
    if cost is None:
        return certificate
    within = certificate.epsilon <= _left(target, cost).epsilon
    counted = Evidence.of(
        "DP317",
        radius=model.provenance.drawing.robust,
        records=model.provenance.records,
        divergence=cost.divergence,
        failure=cost.failure,
    )
    return evolve(
        certificate,
        target=target,
        epsilon=target.epsilon if within else certificate.epsilon + 2 * cost.divergence,
        delta=min(1.0, weaker_delta(certificate.epsilon, certificate.delta, cost) * (1 + ROUNDING)),
        evidence=(*certificate.evidence, counted),
    )


def without_ball(model: QueryModel) -> QueryModel:
    """Return the model of the reference alone."""
    if model.provenance.drawing.robust is None:
        return model
    made = model.provenance
    return evolve(model, provenance=evolve(made, drawing=evolve(made.drawing, robust=None)))


def _left(target: PrivacyTarget, cost: Discrepancy) -> PrivacyTarget:
    """Return the target that becomes the one given; its δ is below 0 where there is none, which is refused."""
    epsilon = max(0.0, target.epsilon - 2 * cost.divergence) * (1 - ROUNDING)
    room = target.delta * (1 - 3 * ROUNDING) - weaker_delta(epsilon, 0.0, cost) * (1 + ROUNDING)
    return PrivacyTarget(epsilon=epsilon, delta=room * math.exp(-cost.divergence))


@lru_cache(maxsize=256)
def _best_cost(entropy: float, target: PrivacyTarget) -> Discrepancy | None:
    """Return the λ and η that leave a target under which Gaussian noise can be smallest; none where none is left."""
    best, widest = None, 0.0
    shares = (np.arange(129) / 128) ** 2 / 2  # of ε that λ is tried at
    for share in np.unique(shares * target.epsilon).tolist():
        cost = Discrepancy(divergence=share, failure=entropy_failure(entropy, share))
        if weaker_delta(max(0.0, target.epsilon - 2 * share), 0.0, cost) >= target.delta * (1 - 1e-9):
            continue
        left = _left(target, cost)
        if (radius := analytic_radius(left.epsilon, left.delta)) > widest:
            best, widest = cost, radius
    return best


def _too_large(radius: float, records: int, target: PrivacyTarget) -> str:
    """Say that a ball is too large for a target, and how large it may be."""
    asked = f"epsilon = {target.epsilon:g}, delta = {target.delta:g}"
    if not target.delta:
        return f"a ball around the reference costs some delta, and {asked} has none: give a delta above 0."
    low, high = 0.0, min(records * radius, float(_SLOPES[-1]))
    while high > 1.001 * low:
        middle = math.sqrt(low * high) if low else high / 1000
        low, high = (middle, high) if _best_cost(middle, target) else (low, middle)
        if high < 1e-300:
            break
    fits = f"state at most {_rounded_down(low / records):g}, ask" if low else "ask"
    return (
        f"records within a relative entropy of {radius:g} (robust) leave nothing of {asked}, as {records:,} of them "
        f"may differ too much: {fits} for a larger epsilon or delta, or name tables that the records may be like "
        "instead."
    )


def _rounded_down(number: float) -> float:
    """Return two digits of a number, so that what is said to fit fits.

    >>> _rounded_down(5.79e-6), _rounded_down(0.00123)
    (5.7e-06, 0.0012)
    """
    unit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return float(f"{math.floor(number / unit) * unit:.2g}")
