"""An oracle: δ of two sums over rows drawn with replacement, with Gaussian and Laplace noise, by Fourier transforms."""

import math

import numpy as np
from numpy.typing import NDArray

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.noise.laws import Noise

FASTEST = 8.5
"""At this frequency Gaussian noise of deviation 1 leaves 2e-16."""

REACH, LAPLACE_REACH = 9.0, 22.0
"""How many deviations, and Laplace scales, the grid reaches beyond the means."""


def exact_delta(model: dp.QueryModel, noise: Noise, epsilon: float) -> float:
    """Return the largest H_ε of both orders of the first pair, in coordinates in which the Gaussian noise is round."""
    root = np.linalg.cholesky(noise.gaussian.covariance)
    turn, laplace = np.linalg.inv(root), np.linalg.solve(root, noise.laplace_axes * noise.laplace_scales)
    laws = [model.distributions[name] for name in model.protected_pairs[0]]
    means = np.array([turn @ law.mean for law in laws])
    variances = np.max([np.diag(turn @ law.covariance @ turn.T) + 1 for law in laws], axis=0)
    half = np.ptp(means, axis=0) / 2 + REACH * np.sqrt(variances) + LAPLACE_REACH * np.abs(laplace).sum(axis=1)
    step = math.pi / FASTEST
    sizes = [2 ** math.ceil(math.log2(2 * length / step)) for length in half]
    first, second = (2 * np.pi * np.fft.fftfreq(size, d=step) for size in sizes)
    frequencies = np.stack(np.meshgrid(first, second, indexing="ij"))
    start = means.mean(axis=0) - step * np.array(sizes) / 2
    damping = -(frequencies**2).sum(axis=0) / 2 - np.log1p(np.tensordot(laplace.T, frequencies, 1) ** 2).sum(axis=0)
    rows, found = model.rows().row_laws(), []
    for name in model.protected_pairs[0]:
        transform = damping - 1j * np.tensordot(start, frequencies, 1)
        for stratum, drawn in rows.drawn[name].items():
            kinds, counts = rows.strata[stratum].kinds
            values, weights = rows.strata[stratum].values[kinds] @ turn.T, counts / counts.sum()
            waves = [np.exp(1j * np.outer(values[:, k], of)) for k, of in enumerate((first, second))]
            transform = transform + drawn * np.log((waves[0].T * weights) @ waves[1] + 1e-300)
        found.append(_density(np.exp(transform)))
    one, other = found
    return max(_hockey_stick(one, other, epsilon), _hockey_stick(other, one, epsilon))


def _density(transform: NDArray[np.complex128]) -> Floats:
    """Return cell masses: those that rounding makes negative are none."""
    masses = np.real(np.fft.fft2(transform)) / transform.size
    assert abs(masses.sum() - 1) < 1e-9
    return np.maximum(masses, 0.0)


def _hockey_stick(one: Floats, other: Floats, epsilon: float) -> float:
    return float(np.maximum(0.0, one - math.exp(epsilon) * other).sum())
