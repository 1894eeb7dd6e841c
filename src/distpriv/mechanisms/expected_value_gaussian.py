"""Theorem 4.2: Gaussian noise on every statistic, scaled to the L2 distance of the means."""

from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import certified
from distpriv.guarantees.mechanism import AdditiveMechanism, across_ball
from distpriv.mechanisms.hypotheses import Radius, equal_means, everywhere, gaussian_radius
from distpriv.modelling.model import QueryModel
from distpriv.modelling.sensitivity import mean_sensitivity
from distpriv.noise.laws import GaussianNoise

__all__ = ["expected_value_gaussian"]


@across_ball
def expected_value_gaussian(
    model: QueryModel, target: PrivacyTarget, *, radius: Radius = "analytic"
) -> AdditiveMechanism:
    r"""Add :math:`N(0, (Δ_{E,2}/r)^2 I)`, which hides any shift of length :math:`Δ_{E,2}`.

    If the laws of a pair are translations of each other, that is all there is to hide.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(
    ...     means={"a": [100, 101], "b": [99, 102]}, covariances=[[22, -6], [-6, 13]], pairs=[("a", "b")]
    ... )
    >>> target = dp.PrivacyTarget(epsilon=1, delta=0.001)
    >>> dp.mechanisms.expected_value_gaussian(model, target, radius="classic").noise.variances.round(2)
    array([28.52, 28.52])
    """
    noise = everywhere(GaussianNoise, model, mean_sensitivity(model, order=2) / gaussian_radius(target, radius))
    evidence = equal_means(model)
    return certified(model, target, noise, name="expected_value_gaussian", theorem="Theorem 4.2", evidence=evidence)
