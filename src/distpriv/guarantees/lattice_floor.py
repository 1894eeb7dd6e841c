r"""Whether noise is coarse against the lattice that the statistics live on, and what the lattice costs.

The exact check believes f_θ to be continuous. Let it instead be a Gaussian profile on a lattice: the density of f_θ
taken at the points of a lattice B Zʳ (in those statistics that are on one) and normalised. The density of F + Z at y is
then a sum over lattice points, and by Poisson's formula the unnormalised sum differs from the integral by
:math:`Σ_{k≠0} ∫ f(x) φ_S(y - x) e^{2πi ω_kᵀx} dx`, with :math:`Bᵀω_k = k`. Seen as a law of x, the product
f(x) φ_S(y - x) is Gaussian with covariance :math:`C = Σ (Σ + S)^{-1} S`, what is not known of F once F + Z is seen. So
each term is the continuous density times :math:`e^{-2π² ω_kᵀ C ω_k}`, and the sum is within a factor of 1 ± η of the
integral. Normalisation is the same with no noise at all, Σ in place of C: a factor of 1 ± η′.
"""

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.modelling.model import QueryDistribution, QueryModel

__all__ = ["Smoothing", "covers_floor", "smoothing"]

TOUCHING = 1e-9
"""Noise that touches the floor may miss it by rounding; the smoothing error counts what it really is."""

INSIDE = 1e-7
"""A share of a deviation that lies outside the lattice's span and is larger than this is no rounding."""


@frozen(kw_only=True)
class Smoothing:
    """The released density on the lattice lies between `least` and `most` times the continuous one."""

    least: float
    most: float

    @property
    def error(self) -> float:
        """How far the factor is from 1; infinite where the noise does not smooth the lattice."""
        return max(1 - self.least, self.most - 1)


UNSMOOTHED = Smoothing(least=0.0, most=float("inf"))


def covers_floor(model: QueryModel, covariance: Floats) -> bool:
    """Tell whether S ⪰ diag(h²), h the model's floor, on the statistics that have one.

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


def smoothing(model: QueryModel, distribution: QueryDistribution, covariance: Floats) -> Smoothing:
    """Return how far the released density of a Gaussian profile on its lattice is from the continuous one."""
    basis = distribution.lattice
    if basis is None:
        varies = np.diag(distribution.covariance) > 0
        basis = np.diag(model.steps)[:, (model.steps > 0) & varies]
    if basis.shape[1] == 0:
        discrete = (model.steps > 0) & (np.diag(distribution.covariance) > 0)
        return UNSMOOTHED if discrete.any() else Smoothing(least=1.0, most=1.0)
    units = np.sqrt(np.diag(covariance))
    if not (units > 0).all():
        return UNSMOOTHED
    own, noise = (matrix / np.outer(units, units) for matrix in (distribution.covariance, covariance))
    unknown = own @ np.linalg.solve(own + noise, noise)
    on_lattice = np.flatnonzero(np.abs(basis).any(axis=1) | (model.steps > 0))
    scaled = (basis / units[:, np.newaxis])[on_lattice]
    inverse = np.linalg.pinv(scaled)
    inside = scaled @ inverse
    own = own[np.ix_(on_lattice, on_lattice)]
    outside = own - inside @ own @ inside.T
    if np.abs(outside).max() > INSIDE**2 * np.abs(own).max():
        return UNSMOOTHED
    posterior = _excess(inverse @ unknown[np.ix_(on_lattice, on_lattice)] @ inverse.T)
    normalisation = _excess(inverse @ own @ inverse.T)
    if posterior >= 1 or normalisation >= 1:
        return UNSMOOTHED
    return Smoothing(least=(1 - posterior) / (1 + normalisation), most=(1 + posterior) / (1 - normalisation))


def _excess(form: Floats) -> float:
    """Bound Σ_{k≠0} exp(−2π² kᵀGk) by (Σ_j exp(−2π² λ j²))ʳ − 1, λ the least eigenvalue of G in a short basis."""
    least = float(np.linalg.eigvalsh(_reduced(form))[0])
    if least <= 1e-6:
        return float("inf")
    terms = np.exp(-2 * np.pi**2 * least * np.arange(1, 2 + int(7 / np.sqrt(least))) ** 2)
    return float(np.expm1(len(form) * np.log1p(2 * terms.sum())))


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
