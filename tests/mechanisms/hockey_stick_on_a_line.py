"""The hockey-stick divergence of noisy discrete laws on the line, by brute force on a fine grid."""

import math

import numpy as np

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.noise.laws import LaplaceNoise


def released_cells(points: Floats, weights: Floats, scale: float, laplace: bool, edges: Floats) -> Floats:
    """The mass of the released law in every cell of a grid."""
    from scipy.stats import laplace as laplace_law
    from scipy.stats import norm

    law = laplace_law if laplace else norm
    return np.asarray(np.diff(law.cdf((edges[:, None] - points) / scale) @ weights))


def worst_delta(model: dp.QueryModel, mechanism: AdditiveMechanism, epsilon: float) -> float:
    """The largest δ of both orders of every pair; cells are narrow against the noise."""
    laplace = isinstance(mechanism.noise, LaplaceNoise)
    scale = float(mechanism.noise.scales[0]) if laplace else mechanism.noise.expected_rms  # type: ignore[union-attr]
    edges = np.linspace(-60 * scale - 200, 60 * scale + 300, 400_001)
    found = []
    for first, second in model.protected_pairs:
        cells = []
        for name in (first, second):
            law = model.distributions[name]
            assert law.points is not None
            weights = np.full(len(law.points), 1 / len(law.points)) if law.weights is None else law.weights
            cells.append(released_cells(law.points[:, 0], weights, scale, laplace, edges))
        found.append(float(np.maximum(0, cells[0] - math.exp(epsilon) * cells[1]).sum()))
    return max(found)
