r"""Whether noise is coarse against the lattice that the statistics live on, and what the lattice costs.

The exact check believes f_θ to be continuous. Let it instead put the mass of each cell of a lattice B Zʳ on the
lattice point: the density of F + Z at y is then a sum over lattice points, and by Poisson's formula differs from the
integral by :math:`Σ_{k≠0} ∫ f(Bz) φ_S(y - Bz) e^{2πi kᵀz} dz`. The product of two Gaussians in z is a Gaussian with
covariance :math:`C = (Σ_z^{-1} + BᵀS^{-1}B)^{-1}`, so each term is the continuous density times
:math:`e^{-2π² kᵀCk}`: the densities differ by a factor of at most 1 ± η, with η the sum over k ≠ 0.
"""

import numpy as np

from distpriv.framework.arrays import Floats
from distpriv.modelling.model import QueryDistribution, QueryModel

__all__ = ["covers_floor", "smoothing_error"]

TOUCHING = 1e-9
"""Noise that touches the floor may miss it by rounding; the smoothing error counts what it really is."""


def covers_floor(model: QueryModel, covariance: Floats) -> bool:
    """Tell whether S ⪰ diag(h²), h the model's floor.

    >>> from distpriv.modelling.model import gaussian_model
    >>> model = gaussian_model(means={"a": [0], "b": [1]}, covariances=[[9]], pairs=[("a", "b")], steps=[1])
    >>> covers_floor(model, np.array([[1.0]])), covers_floor(model, np.array([[0.5]]))
    (True, False)
    """
    units = model.floor
    coarse = units > 0
    if not coarse.any():
        return True
    scaled = covariance[np.ix_(coarse, coarse)] / np.outer(units[coarse], units[coarse])
    return bool(np.linalg.eigvalsh(scaled)[0] >= 1 - TOUCHING)


def smoothing_error(model: QueryModel, distribution: QueryDistribution, covariance: Floats) -> float:
    """Return η: the released density on the lattice is within a factor 1 ± η of the continuous one.

    Infinite when the noise or f_θ itself has no variance in some direction of the lattice.
    """
    basis = distribution.lattice
    if basis is None:
        basis = np.diag(model.floor)[:, model.floor > 0]
    if basis.shape[1] == 0:
        return 0.0
    noise_values, noise_axes = np.linalg.eigh(covariance)
    if noise_values[0] <= 0:
        return float("inf")
    whitened = (noise_axes / np.sqrt(noise_values)).T @ basis
    noise = np.linalg.pinv(whitened.T @ whitened)
    inverse = np.linalg.pinv(basis)
    own = inverse @ distribution.covariance @ inverse.T
    joint = noise - noise @ np.linalg.solve(noise + own, noise)
    return _theta_excess(float(np.linalg.eigvalsh(_reduced(joint))[0]), basis.shape[1])


def _reduced(form: Floats) -> Floats:
    """Return the quadratic form in a shorter basis of the whole numbers, so that its least eigenvalue tells more."""
    form = (form + form.T) / 2
    for _ in range(100):
        changed = False
        for i in range(len(form)):
            for j in range(len(form)):
                times = np.round(form[i, j] / form[j, j]) if i != j and form[j, j] > 0 else 0.0
                if times and form[i, i] - 2 * times * form[i, j] + times**2 * form[j, j] < form[i, i] * (1 - 1e-9):
                    form[i] -= times * form[j]
                    form[:, i] -= times * form[:, j]
                    changed = True
        if not changed:
            break
    return form


def _theta_excess(least: float, count: int) -> float:
    """Bound Σ_{k≠0} exp(−2π² kᵀCk) by (Σ_j exp(−2π² λ j²))ʳ − 1, λ the least eigenvalue of C."""
    if least <= 1e-6:
        return float("inf")
    terms = np.exp(-2 * np.pi**2 * least * np.arange(1, 2 + int(7 / np.sqrt(least))) ** 2)
    return float(np.expm1(count * np.log1p(2 * terms.sum())))
