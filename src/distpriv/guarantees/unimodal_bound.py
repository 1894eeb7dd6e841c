r"""A proven δ for unimodal noise along one axis, f_θ Gaussian with the covariances as they are.

In two steps, as for Laplace noise: :math:`H_ε(P \| R) ≤ H_{ε₂}(P \| M) + e^{ε₂} H_{ε-ε₂}(M \| R)`. From P to M the
covariance changes, and noise can only help; from M to R the law is moved along the axis, by α, and everything but a
Gaussian along the axis of variance :math:`1/(vᵀΣ_j^{-1}v)` is the same on both sides.
"""

import math

import numpy as np

from distpriv.distances.gaussian import mahalanobis
from distpriv.distances.gaussian_divergence import gaussian_hockey_stick
from distpriv.distances.unimodal_divergence import unimodal_delta_upper_bound
from distpriv.framework.secrets import Pair
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import UnimodalNoise

__all__ = ["unimodal_pair_delta"]

ROUNDING = 1e-14
"""A part of a shift that is smaller than this share of what it was computed from is rounding."""

SHARES = (0.75, 0.5, 0.25, 0.1, 0.0)
"""Which shares of ε are tried for the first step."""


def unimodal_pair_delta(model: QueryModel, pair: Pair, noise: UnimodalNoise, epsilon: float) -> float:
    """Return an upper bound on H_ε of one ordered pair, as tight as that of the noise where covariances are equal.

    >>> from distpriv.modelling.given import gaussian_model
    >>> model = gaussian_model(means={"a": [0], "b": [1]}, covariances=[[0]], pairs=[("a", "b")])
    >>> noise = UnimodalNoise(axes=[[1.0]], edges=[0, 5], masses=[1.0])
    >>> round(unimodal_pair_delta(model, ("a", "b"), noise, epsilon=1.0), 9)
    0.1
    """
    axis, shift = noise.axes[:, 0], model.mean_shift(pair)
    first, second = (model.distributions[name].covariance for name in pair)
    along = float(axis @ shift)
    off = shift - axis * along
    off = np.where(np.abs(off) <= ROUNDING * (np.abs(shift) + np.abs(axis * along)), 0.0, off)
    deviation = 1 / mahalanobis(axis, second)

    def moved(left: float) -> float:
        return unimodal_delta_upper_bound(
            noise.edges, noise.masses, shift=abs(along), deviation=deviation, epsilon=left
        )

    if not off.any() and np.array_equal(first, second):
        return moved(epsilon)
    best = 1.0
    for spent in (share * epsilon for share in SHARES):
        changed = gaussian_hockey_stick(spent, off, first, second).upper_bound
        if changed >= best:  # and only larger where less is spent
            break
        best = min(best, changed + math.exp(min(spent, 700.0)) * moved(epsilon - spent))
    return best
