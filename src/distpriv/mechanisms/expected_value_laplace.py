"""Theorem 4.1: Laplace noise on every statistic, scaled to the L1 distance of the means."""

from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import certified
from distpriv.guarantees.mechanism import AdditiveMechanism, across_ball
from distpriv.mechanisms.hypotheses import equal_means, everywhere, laplace_epsilon
from distpriv.modelling.model import QueryModel
from distpriv.modelling.sensitivity import mean_sensitivity
from distpriv.noise.laws import LaplaceNoise

__all__ = ["expected_value_laplace"]


@across_ball
def expected_value_laplace(model: QueryModel, target: PrivacyTarget) -> AdditiveMechanism:
    r"""Add Laplace noise of scale :math:`Δ_{E,1}/ε` to every statistic; δ is not spent.

    If the laws of a pair are translations of each other, moving one onto the other costs a factor of
    :math:`e^{ε}` at most, as for any shift of that L1 length: (ε, 0).

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0, 0], "b": [1, 2]}, covariances=[[1, 0], [0, 1]], pairs=[("a", "b")])
    >>> dp.mechanisms.expected_value_laplace(model, dp.PrivacyTarget(epsilon=0.5)).noise.scales
    array([6., 6.])
    """
    noise = everywhere(LaplaceNoise, model, mean_sensitivity(model, order=1) / laplace_epsilon(target))
    evidence = equal_means(model)
    return certified(model, target, noise, name="expected_value_laplace", theorem="Theorem 4.1", evidence=evidence)
