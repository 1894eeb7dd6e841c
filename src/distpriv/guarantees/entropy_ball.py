r"""A ball around the model: what the true law of the records may cost, within a relative entropy of the modelled one.

Of n independent records, each within r on average, datasets are within K = n·r, either way round. Theorem 4.6 asks for
λ and η such that no event of one law is more likely than :math:`e^λ` times as in the other, plus η. The largest η is
that of an event with probabilities p and q, :math:`\max\, p - e^λ q` with a relative entropy of at most K between them.
By Lagrange every s > 0 gives a bound:

.. math:: η ≤ \tfrac1s \big(K + \max_q \ln(1 - q + q e^s) - s e^λ q\big)

and, with the entropy taken the other way round,

.. math:: η ≤ \tfrac1s \big(K + \max_p\, s p + \ln(1 - p + p e^{-s e^λ})\big).

So an (ε, δ) for the modelled laws is :math:`(ε + 2λ, (1 + e^{ε+λ}) η + e^λ δ)` for all laws in the ball. Noise is made
for a target that is smaller by that, with the λ that leaves most to Gaussian noise.
"""

import math
from functools import lru_cache

import numpy as np
from attrs import evolve

from distpriv.distances.gaussian import analytic_radius
from distpriv.errors import NotCertified
from distpriv.framework.arrays import Floats
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.evidence import Evidence
from distpriv.modelling.model import QueryModel
from distpriv.noise.integers import Discrepancy

__all__ = ["allowing_for_ball", "ball_cost", "entropy_failure", "made_for", "without_ball"]

ROUNDING = 1e-12
"""By which share what a ball costs is rounded up."""

_SLOPES = np.geomspace(1e-9, 700.0, 4000)
"""The values of s that are tried: the best of them is within a millionth of the best there is."""


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
    found = float(np.min((entropy + np.maximum(beyond, 0.0)) / _SLOPES))
    return found * (1 + ROUNDING) + 1e-15


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
        target: what it is held against.
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
        delta=min(1.0, _beyond(certificate.epsilon, certificate.delta, cost)),
        evidence=(*certificate.evidence, counted),
    )


def without_ball(model: QueryModel) -> QueryModel:
    """Return the model of the reference alone."""
    if model.provenance.drawing.robust is None:
        return model
    made = model.provenance
    return evolve(model, provenance=evolve(made, drawing=evolve(made.drawing, robust=None)))


def _beyond(epsilon: float, delta: float, cost: Discrepancy) -> float:
    odds = math.exp(min(700.0, epsilon + cost.divergence))
    return ((1 + odds) * cost.failure + math.exp(cost.divergence) * delta) * (1 + ROUNDING)


def _left(target: PrivacyTarget, cost: Discrepancy) -> PrivacyTarget:
    """Return the target that becomes the one given; its δ is below 0 where there is none, which is refused."""
    epsilon = max(0.0, target.epsilon - 2 * cost.divergence) * (1 - ROUNDING)
    room = target.delta * (1 - 3 * ROUNDING) - _beyond(epsilon, 0.0, cost)
    return PrivacyTarget(epsilon=epsilon, delta=room * math.exp(-cost.divergence))


@lru_cache(maxsize=256)
def _best_cost(entropy: float, target: PrivacyTarget) -> Discrepancy | None:
    """Return the λ and η that leave a target under which Gaussian noise can be smallest; none where none is left."""
    best, widest = None, 0.0
    shares = (np.arange(129) / 128) ** 2 / 2  # of ε that λ is tried at
    for share in np.unique(shares * target.epsilon).tolist():
        cost = Discrepancy(divergence=share, failure=entropy_failure(entropy, share))
        if _beyond(max(0.0, target.epsilon - 2 * share), 0.0, cost) >= target.delta * (1 - 1e-9):
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
