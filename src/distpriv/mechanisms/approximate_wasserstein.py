"""Theorem 3.2: noise scaled to how far all but δ of the mass must move."""

from functools import partial
from typing import Literal

import numpy as np

from distpriv.distances.gaussian import analytic_radius, gaussian_delta
from distpriv.distances.transport import closeness_profile, closeness_radius
from distpriv.errors import InvalidInput
from distpriv.framework.domains import one_of
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import by_coupling
from distpriv.guarantees.mechanism import AdditiveMechanism, across_ball
from distpriv.mechanisms.hypotheses import (
    everywhere,
    gaussian_radius,
    laplace_epsilon,
    largest_over_points,
    law_evidence,
)
from distpriv.modelling.model import QueryModel, require_model
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw

__all__ = ["approximate_wasserstein"]

THEOREM = "Theorem 3.2"


@across_ball
def approximate_wasserstein(
    model: QueryModel, target: PrivacyTarget, *, noise: Literal["laplace", "gaussian"] = "laplace"
) -> AdditiveMechanism:
    r"""Add noise that hides a move by W, where all but δ of the mass of every pair can be coupled to move no farther.

    Laplace noise has scale W/ε and spends δ on the mass that moves farther: (ε, δ). Gaussian noise has W in L2 for a
    part δ₁ of δ, hides a move by W at (ε, δ − δ₁), and has the split that needs the least noise.

    >>> import distpriv as dp
    >>> model = dp.empirical_model(samples={"a": [1, 2, 3, 100], "b": [1, 2, 3, 100]}, pairs=[("a", "b")],
    ...                         weights={"a": [0.6, 0.2, 0.0, 0.2], "b": [0.4, 0.3, 0.2, 0.1]})
    >>> dp.mechanisms.approximate_wasserstein(model, dp.PrivacyTarget(epsilon=1, delta=0.1)).noise.scales
    array([1.])
    """
    one_of("noise", noise, ("laplace", "gaussian"), InvalidInput)
    require_model(model)
    law, delta = (_laplace if noise == "laplace" else _gaussian)(model, target)
    evidence, assurance = law_evidence(model)
    return by_coupling(
        model,
        target,
        law,
        name="approximate_wasserstein",
        theorem=THEOREM if noise == "laplace" else f"{THEOREM} with Gaussian noise",
        delta=delta,
        assurance=assurance,
        evidence=(evidence,),
    )


def _laplace(model: QueryModel, target: PrivacyTarget) -> tuple[NoiseLaw, float]:
    epsilon = laplace_epsilon(target)
    radius = float(largest_over_points(model, partial(closeness_radius, delta=target.delta), THEOREM))
    return everywhere(LaplaceNoise, model, radius / epsilon), target.delta


def _gaussian(model: QueryModel, target: PrivacyTarget) -> tuple[NoiseLaw, float]:
    gaussian_radius(target, "analytic")
    shares = np.linspace(0.0, 0.98, 50) * target.delta  # for the mass that moves farther; the rest is for the noise
    radii = largest_over_points(model, partial(closeness_profile, deltas=shares, norm=2), THEOREM)
    deviations = [
        radius / analytic_radius(target.epsilon, target.delta - share)
        for radius, share in zip(radii, shares, strict=True)
    ]
    best = int(np.argmin(deviations))
    spent = gaussian_delta(target.epsilon, radii[best] / deviations[best]) if deviations[best] else 0.0
    return everywhere(GaussianNoise, model, deviations[best]), float(shares[best] + spent)
