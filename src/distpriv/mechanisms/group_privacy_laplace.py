"""Group differential privacy with Laplace noise: the baseline that protects everything."""

from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.mechanism import AdditiveMechanism, across_ball
from distpriv.mechanisms.hypotheses import Group, by_group, group_reach, group_size, laplace_epsilon
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import LaplaceNoise

__all__ = ["group_privacy_laplace"]


@across_ball
def group_privacy_laplace(
    model: QueryModel, target: PrivacyTarget, *, group: Group = "sufficient"
) -> AdditiveMechanism:
    r"""Add Laplace noise of scale :math:`k S_1/ε`, S₁ the L1 norm of what one record can do, k records at a time.

    Datasets of a protected pair can be coupled to differ in k = |n₁ − n₁′| records, so hiding any k records hides
    which scenario the data are from, whatever the law of the statistics: assurance `proved`. The paper's baseline
    takes ``group="records"``, k = n; ``group=1`` is plain differential privacy and protects no share.

    >>> import distpriv as dp
    >>> model = dp.model(dp.datasets.adult(), dp.Query(age=dp.mean("age", bounds=(0, 100))),
    ...                  dp.Share("income = '>50K'", values=(0.45, 0.55)), records=100)
    >>> dp.mechanisms.group_privacy_laplace(model, dp.PrivacyTarget(epsilon=1)).noise.scales
    array([10.])
    """
    size = group_size(model, group)
    noise = LaplaceNoise.isotropic(model.dimension, group_reach(model, size, order=1) / laplace_epsilon(target))
    return by_group(model, target, noise, name="group_privacy_laplace", size=size, delta=0.0)
