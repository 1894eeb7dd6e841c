"""Theorem 3.3: statistics that are close to their mean with high probability."""

from itertools import product

import numpy as np
from scipy.special import ndtri

from distpriv.errors import InvalidTarget
from distpriv.framework.arrays import Floats
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Assurance
from distpriv.guarantees.certify import by_coupling
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.mechanism import AdditiveMechanism, across_ball
from distpriv.mechanisms.hypotheses import everywhere, has_points, laplace_epsilon, law_evidence
from distpriv.modelling.model import QueryDistribution, QueryModel, require_model
from distpriv.modelling.sensitivity import mean_sensitivity
from distpriv.noise.laws import LaplaceNoise

__all__ = ["bounded", "gaussian_l1_quantile_upper_bound"]


@across_ball
def bounded(model: QueryModel, target: PrivacyTarget) -> AdditiveMechanism:
    r"""Add Laplace noise of scale :math:`(Δ_{E,1} + 2c)/ε`, where :math:`\Pr[‖F - μ_θ‖_1 > c] ≤ δ/2` in every scenario.

    Under any coupling both statistics are within c of their means but for a chance of δ, and then no more than
    Δ_{E,1} + 2c apart: (ε, δ). c is a proven bound for Gaussian laws, the exact quantile for laws given by points, and
    an order statistic with confidence, counted in δ, for sampled ones.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> dp.mechanisms.bounded(model, dp.PrivacyTarget(epsilon=1, delta=0.05)).noise.scales.round(4)
    array([5.4828])
    """
    require_model(model)
    epsilon = laplace_epsilon(target)
    if target.delta == 0:
        raise InvalidTarget("Theorem 3.3 needs a chance of going beyond the bound: give a delta above 0.")
    reach = max(_reach(model, law, target.delta) for law in model.distributions.values())
    scale = (mean_sensitivity(model, order=1) + 2 * reach) / epsilon
    law: Evidence = Evidence.of("DP301", method="given moments")
    assurance: Assurance = "assumed"
    if has_points(model):
        law, assurance = law_evidence(model)
    beyond = Evidence.of("DP309" if assurance == "assumed" else "DP210", reach=reach, method=_method(model))
    return by_coupling(
        model,
        target,
        everywhere(LaplaceNoise, model, scale),
        name="bounded",
        theorem="Theorem 3.3",
        delta=target.delta,
        assurance=assurance,
        evidence=(law, beyond),
    )


def gaussian_l1_quantile_upper_bound(covariance: Floats, chance: float) -> float:
    r"""Return c with :math:`\Pr[‖X‖_1 > c] ≤ chance` for X ~ N(0, Σ): the better of two bounds.

    Each coordinate alone, with the chance divided by their number; or the mean :math:`\sqrt{2/π} Σ_k σ_k` plus
    :math:`L \sqrt{2 \ln(1/chance)}`, as ‖·‖₁ moves by no more than :math:`L = \max_{s ∈ \{±1\}^m} \sqrt{sᵀΣs}` times a
    standard normal vector's length.
    """
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    by_coordinate = float(deviations.sum() * -ndtri(chance / (2 * len(deviations))))
    by_concentration = float(
        np.sqrt(2 / np.pi) * deviations.sum() + _lipschitz(covariance) * np.sqrt(-2 * np.log(chance))
    )
    return min(by_coordinate, by_concentration)


def _lipschitz(covariance: Floats) -> float:
    """Return max √(sᵀΣs) over signs s, or a bound on it where there are too many signs to try."""
    if len(covariance) > 12:
        return float(np.sqrt(np.abs(covariance).sum()))
    signs = np.array(list(product((-1.0, 1.0), repeat=len(covariance))))
    return float(np.sqrt(max(0.0, ((signs @ covariance) * signs).sum(axis=1).max())))


def _method(model: QueryModel) -> str:
    """Return how c was found."""
    if not has_points(model):
        return "Gaussian tail bound"
    return "exact quantile" if model.provenance.method == "given points" else "order statistic"


def _reach(model: QueryModel, law: QueryDistribution, delta: float, *, confidence: float = 0.1) -> float:
    """Return c for one law; so large a share of δ pays for the chance that sampled points understate its spread."""
    if law.points is None:
        return gaussian_l1_quantile_upper_bound(law.covariance, delta / 2)
    lengths = np.abs(law.points - law.mean).sum(axis=1)
    order = np.argsort(lengths)
    if model.provenance.method == "given points":
        weights = np.full(len(lengths), 1 / len(lengths)) if law.weights is None else law.weights
        # Summed from the far end, so that nothing lies beyond the last point, to the last digit.
        beyond = np.append(np.cumsum(weights[order][::-1])[::-1][1:], 0.0)
        return float(lengths[order][np.argmax(beyond * (1 + 1e-12) <= delta / 2)])
    from scipy.stats import binom

    # The r-th smallest of B draws is below the quantile only if r or more of them are.
    allowed, failure = (1 - confidence) * delta / 2, confidence * delta / 2
    ranks = np.arange(1, len(lengths) + 1)
    sure = binom.sf(ranks - 1, len(lengths), 1 - allowed) <= failure
    if not sure.any():
        raise InvalidTarget(
            f"{len(lengths)} sampled points per scenario are too few for delta = {delta:g}: model with more draws, "
            f"about {int(np.ceil(np.log(failure) / np.log1p(-allowed))):,}."
        )
    return float(lengths[order][np.argmax(sure)])
