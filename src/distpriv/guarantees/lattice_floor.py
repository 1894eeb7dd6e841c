"""Whether noise is coarse against the lattice that the statistics live on, and what the lattice costs.

The exact check believes f_θ to be continuous. Where it is a Gaussian profile on a lattice, the density of F + Z is the
continuous one within a factor of 1 ± η, a sum over frequencies of what is not known of F once F + Z is seen,
C = Σ (Σ + S)⁻¹ S, and normalised within a factor of 1 ± η′ (`docs/proofs/lattice_trap.md`, "Theorem: smoothing").
"""

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Pair
from distpriv.law.lattice import RATE, lattice_sum
from distpriv.modelling.model import QueryDistribution, QueryModel
from distpriv.noise.laws import GaussianNoise

__all__ = ["Smoothing", "counted", "covers_floor", "has_rows", "never_smooth", "smoothing", "sums_rows"]


@frozen(kw_only=True)
class Tolerances:
    """What counts as rounding."""

    floor: float = 1e-9
    """By which share noise may be narrower than the floor; the smoothing error is that of the noise as it is."""
    span: float = 1e-7
    """The largest share of a deviation that may lie outside the lattice's span."""


TOLERANCES = Tolerances()


@frozen(kw_only=True)
class Smoothing:
    """The released density on the lattice lies between `least` and `most` times the continuous one."""

    least: float
    most: float

    @property
    def error(self) -> float:
        """How far the factor is from 1; infinite where the noise does not smooth the lattice."""
        return max(1 - self.least, self.most - 1)


def sums_rows(model: QueryModel) -> bool:
    """Tell whether the statistics are sums over rows, which a model that was written down no longer has."""
    return model.provenance.method == "exact moments"


def has_rows(model: QueryModel) -> bool:
    """Tell whether the statistics are sums over rows that are at hand."""
    return model.simulator is not None and sums_rows(model)


UNSMOOTHED = Smoothing(least=0.0, most=float("inf"))


def counted(pairs: Sequence[Pair], smoothed: Mapping[str, Smoothing], epsilon: float) -> tuple[Floats, Floats]:
    r"""Return ε′ and b of every ordered pair: on the lattices H_ε is at most b H_{ε′} of the continuous laws.

    With p̃_i ≤ b p_i and p̃_j ≥ a p_j, ∫ (p̃_i − e^ε p̃_j)₊ ≤ ∫ (b p_i − e^ε a p_j)₊ = b H_{ε′}, e^{ε′} = e^ε a / b. An
    ε′ below 0 stands for :math:`H_{ε′} ≤ H_0 + 1 - e^{ε′}`.
    """
    most = np.array([smoothed[first].most for first, _ in pairs])
    least = np.array([smoothed[second].least for _, second in pairs])
    return np.asarray(epsilon + np.log(least) - np.log(most)), most


def covers_floor(model: QueryModel, noise: GaussianNoise) -> bool:
    r"""Tell whether S ⪰ diag(h²), h the model's floor.

    That is the case exactly if no singular value of :math:`\mathrm{diag}(h) V \mathrm{diag}(s)^{-1/2}` exceeds 1, for
    noise with variances s along axes V: strong noise along some axes does not blur weak noise along others.

    >>> from distpriv.modelling.given import gaussian_model
    >>> model = gaussian_model(means={"a": [0], "b": [1]}, covariances=[[9]], pairs=[("a", "b")], steps=[1])
    >>> covers_floor(model, GaussianNoise.isotropic(1, 1.0)), covers_floor(model, GaussianNoise.isotropic(1, 0.9))
    (True, False)
    """
    if not model.floor.any():
        return True
    if noise.axes.shape[1] < noise.dimension or not (noise.variances > 0).all():
        return False
    scaled = model.floor[:, np.newaxis] * noise.axes / np.sqrt(noise.variances)
    return bool(np.linalg.norm(scaled, ord=2) <= 1 + TOLERANCES.floor)


def never_smooth(model: QueryModel, largest: float) -> tuple[str, ...]:
    r"""Return the statistics that vary so little that no noise at all smooths the lattice, the stillest first.

    Both sums of a smoothing error have the vectors of a single statistic among theirs, and C ⪯ Σ: with
    :math:`t = Σ 2 e^{-2π² σ_i²/h_i²}`, over statistics with a spacing of h, the error is at least (1 + t)/(1 − t) − 1,
    whatever the noise is. Statistics that move together, or against each other, are counted once.

    >>> from distpriv.modelling.given import gaussian_model
    >>> rare = gaussian_model(means={"a": [0, 9], "b": [1, 9]}, covariances=[[0.2, 0], [0, 9]], pairs=[("a", "b")],
    ...                       steps=[1, 1], names=["rare", "usual"])
    >>> never_smooth(rare, 1e-3)
    ('rare',)
    """
    still: dict[str, float] = {}
    for law in model.distributions.values():
        places = np.flatnonzero((model.steps > 0) & (np.diag(law.covariance) > 0))
        rows = (
            np.eye(model.dimension)
            if law.lattice is None
            else law.lattice / np.where(model.steps > 0, model.steps, 1)[:, np.newaxis]
        )
        signs = [row[np.flatnonzero(row)[0]] if row.any() else 1.0 for row in np.round(rows[places])]
        _, once = np.unique(np.round(rows[places]) * np.sign(signs)[:, np.newaxis], axis=0, return_index=True)
        variances = np.diag(law.covariance)[places[once]] / model.steps[places[once]] ** 2
        terms = 2 * np.exp(-RATE * variances)
        total = float(terms.sum())
        if total >= 1 or (1 + total) / (1 - total) - 1 > largest:
            for place in np.argsort(variances):
                if terms[place] > total / 100:
                    name = model.names[places[once][place]]
                    still[name] = min(still.get(name, np.inf), float(variances[place]))
    return tuple(sorted(still, key=lambda name: still[name]))


def smoothing(model: QueryModel, distribution: QueryDistribution, noise: GaussianNoise) -> Smoothing:
    r"""Return how far the released density on the lattice is from the continuous one.

    Of given moments, the continuous one of a Gaussian profile. Of sums over rows, the saddlepoint density, which has
    the rows' own cumulants and misses the peaks of the characteristic function at the lattice's frequencies: there the
    noise, which alone is known to be smooth, leaves :math:`e^{-2π² k^\top (B^\top S^{-1} B)^{-1} k}` of them
    (`docs/proofs/delta_by_draws.md`, "The lattice").
    """
    basis = distribution.lattice
    varies = np.diag(distribution.covariance) > 0
    if basis is None:
        basis = np.diag(model.steps)[:, (model.steps > 0) & varies]
    if basis.shape[1] == 0:
        return UNSMOOTHED if ((model.steps > 0) & varies).any() else Smoothing(least=1.0, most=1.0)
    if noise.axes.shape[1] < noise.dimension or not (noise.variances > 0).all():
        return UNSMOOTHED
    if sums_rows(model):
        precise = (noise.axes.T @ basis) / np.sqrt(noise.variances)[:, np.newaxis]
        ripple = lattice_sum(np.asarray(np.linalg.inv(precise.T @ precise), dtype=np.float64))
        return UNSMOOTHED if ripple >= 1 else Smoothing(least=1 - ripple, most=1 + ripple)
    rows = np.flatnonzero(np.abs(basis).any(axis=1) | (model.steps > 0))
    units = np.abs(basis[rows]).max(axis=1)
    units = np.where(units > 0, units, model.steps[rows])
    inverse = np.linalg.pinv(basis[rows] / units[:, np.newaxis])
    own = distribution.covariance[np.ix_(rows, rows)] / np.outer(units, units)
    inside = (basis[rows] / units[:, np.newaxis]) @ inverse
    if np.abs(own - inside @ own @ inside.T).max() > TOLERANCES.span**2 * np.abs(own).max():
        return UNSMOOTHED
    # In the noise's own axes and units the noise is the identity, and what is not known of F has λ/(1 + λ) for each λ.
    whitened = noise.axes.T @ distribution.covariance @ noise.axes
    whitened = whitened / np.sqrt(np.outer(noise.variances, noise.variances))
    values, vectors = np.linalg.eigh((whitened + whitened.T) / 2)
    values = np.maximum(values, 0.0)
    spread = inverse @ ((noise.axes[rows] / units[:, np.newaxis]) * np.sqrt(noise.variances)) @ vectors
    posterior = lattice_sum((spread * (values / (1 + values))) @ spread.T)
    normalisation = lattice_sum(inverse @ own @ inverse.T)
    if posterior >= 1 or normalisation >= 1:
        return UNSMOOTHED
    return Smoothing(least=(1 - posterior) / (1 + normalisation), most=(1 + posterior) / (1 - normalisation))
