"""Group differential privacy with Gaussian noise: the baseline that protects everything."""

from distpriv.distances.gaussian import gaussian_delta
from distpriv.errors import InvalidModel
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.mechanism import AdditiveMechanism, across_ball
from distpriv.mechanisms.hypotheses import Group, Radius, by_group, gaussian_radius, group_reach, group_size
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import GaussianNoise

__all__ = ["group_privacy_gaussian"]


@across_ball
def group_privacy_gaussian(
    model: QueryModel, target: PrivacyTarget, *, radius: Radius = "analytic", group: Group = "sufficient"
) -> AdditiveMechanism:
    r"""Add :math:`N(0, (k S_2/r)^2 I)`, S₂ the L2 norm of what one record can do, k records at a time.

    As for `group_privacy_laplace`, with Gaussian noise: for every pair of coupled datasets the statistics differ by at
    most :math:`k S_2`, and averaging over the coupling keeps δ.

    >>> import distpriv as dp
    >>> model = dp.model(dp.datasets.adult(), dp.Query(age=dp.mean("age", bounds=(0, 100))),
    ...                  dp.Share("income = '>50K'", values=(0.45, 0.55)), records=100)
    >>> dp.mechanisms.group_privacy_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.001)).noise.expected_rms
    25.746...
    """
    size = group_size(model, group)
    reach = group_reach(model, size, order=2)
    noise = GaussianNoise.isotropic(model.dimension, reach / gaussian_radius(target, radius))
    if reach > 0 and not noise.variances.any():
        raise InvalidModel(f"statistics that move by {reach:g} are too small to square: multiply them by a constant.")
    deviation = float(noise.widths[0])
    spent = gaussian_delta(target.epsilon, reach / deviation) if deviation else 0.0
    return by_group(model, target, noise, name="group_privacy_gaussian", size=size, delta=spent)
