"""Theorem 4.3: Laplace noise along the direction of the mean shifts only."""

import numpy as np

from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import certified
from distpriv.guarantees.mechanism import AdditiveMechanism, across_ball
from distpriv.mechanisms.hypotheses import Directions, equal_means, laplace_epsilon, shift_axes
from distpriv.modelling.model import QueryModel
from distpriv.modelling.sensitivity import mean_shifts
from distpriv.noise.laws import LaplaceNoise, NoNoise

__all__ = ["directional_laplace"]

THEOREM = "Theorem 4.3"


@across_ball
def directional_laplace(
    model: QueryModel, target: PrivacyTarget, *, directions: Directions = "one"
) -> AdditiveMechanism:
    r"""Add :math:`Y v`, :math:`Y ∼ \mathrm{Lap}(Δ_{E,2}/ε)`, along the unit vector v that all shifts are parallel to.

    With several directions, independent Laplace coordinates in an orthonormal basis B of the shifts' span, all
    of scale :math:`\max ‖Bᵀd_{ij}‖₁/ε`: the L2 length would not do, as the density falls with the L1 norm.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0, 0], "b": [3, 4]}, covariances=[[1, 0], [0, 1]], pairs=[("a", "b")])
    >>> dp.mechanisms.directional_laplace(model, dp.PrivacyTarget(epsilon=0.5)).noise.scales
    array([10.])
    """
    epsilon, axes = laplace_epsilon(target), shift_axes(model, directions, THEOREM)
    scale = float(np.abs(mean_shifts(model) @ axes).sum(axis=1).max()) / epsilon
    noise = LaplaceNoise(axes=axes, scales=np.full(axes.shape[1], scale)) if scale else NoNoise(dimension=len(axes))
    return certified(model, target, noise, name="directional_laplace", theorem=THEOREM, evidence=equal_means(model))
