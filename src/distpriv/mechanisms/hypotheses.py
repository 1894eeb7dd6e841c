"""The hypotheses that theorems share: radii, covariances of a pair, eigenvectors in common."""

from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from distpriv.distances.gaussian import analytic_radius, classic_radius, variance_ratio
from distpriv.errors import AssumptionViolated, InvalidInput, InvalidTarget
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import one_of
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.evidence import Evidence
from distpriv.modelling.model import QueryModel
from distpriv.modelling.sensitivity import common_direction, mean_shifts, shift_basis
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoNoise

if TYPE_CHECKING:
    from distpriv.framework.scenarios import Pair

__all__ = [
    "Covariance",
    "Directions",
    "Radius",
    "equal_means",
    "everywhere",
    "gaussian_along",
    "gaussian_radius",
    "laplace_epsilon",
    "pair_covariance",
    "require_target",
    "shared_eigenbasis",
    "shift_axes",
]

Radius = Literal["analytic", "classic"]
"""The exact radius, or the paper's ε/√(2 ln(1.25/δ)), which is proven for ε ≤ 1 only."""

Covariance = Literal["shared", "pooled"]
"""Refuse covariances that differ inside a pair, or take their average and let the exact check judge."""

Directions = Literal["one", "several"]
"""Refuse shifts that are not parallel, or use a basis of their span."""

Law = TypeVar("Law", GaussianNoise, LaplaceNoise)

SAME = 1e-9
"""Covariances whose ratio is this close to 1 are the same but for rounding."""


def gaussian_radius(target: PrivacyTarget, radius: Radius) -> float:
    """Return the Mahalanobis distance that the target can bear."""
    require_target(target)
    one_of("radius", radius, ("analytic", "classic"), InvalidInput)
    if target.delta == 0:
        raise InvalidTarget("Gaussian noise cannot reach delta = 0: give a delta above 0, or use Laplace noise.")
    if radius == "classic" and target.epsilon == 0:
        raise InvalidTarget("the classic radius is 0 at epsilon = 0: use radius='analytic'.")
    distance = (analytic_radius if radius == "analytic" else classic_radius)(target.epsilon, target.delta)
    if distance < 1e-100:  # noise for it has a variance that is no number
        raise InvalidTarget(
            f"delta = {target.delta:g} is too small to be computed with: give a larger one, such as 1e-9."
        )
    return distance


def laplace_epsilon(target: PrivacyTarget) -> float:
    """Return ε, which Laplace noise needs to be above 0."""
    require_target(target)
    if target.epsilon == 0:
        raise InvalidTarget("Laplace noise cannot reach epsilon = 0: give an epsilon above 0, or use Gaussian noise.")
    return target.epsilon


def pair_covariance(model: QueryModel, pair: "Pair", covariance: Covariance, theorem: str) -> Floats:
    """Return the covariance that a pair shares, or its average if pooling is asked for."""
    one_of("covariance", covariance, ("shared", "pooled"), InvalidInput)
    first, second = (model.distributions[name].covariance for name in pair)
    if covariance == "shared" and (ratio := variance_ratio(first, second)) > 1 + SAME:
        raise AssumptionViolated(
            f"{theorem} needs the covariances of a protected pair to be equal, and those of {pair[0]!r} and "
            f"{pair[1]!r} differ by a factor of {ratio:.3g}: use covariance='pooled' and mind the certificate."
        )
    return np.asarray((first + second) / 2)


def shared_eigenbasis(model: QueryModel, covariance: Covariance, theorem: str) -> tuple[Floats, Floats]:
    """Return the variances of every scenario, one a row, along eigenvectors common to all, and those eigenvectors.

    Pooled, there is one row: the variances of the average of all covariances.
    """
    for pair in model.protected_pairs:
        pair_covariance(model, pair, covariance, theorem)
    covariances = np.array([law.covariance for law in model.distributions.values()])
    if covariance == "pooled":
        variances, axes = np.linalg.eigh(covariances.mean(axis=0))
        return variances[np.newaxis], axes
    # Matrices that share an eigenbasis have it in common with every sum Σ w_θ Σ_θ. One sum is enough to find it if two
    # of its eigenvalues are equal only where they are equal in every Σ_θ: so it is for all weights but special ones,
    # and the fractional parts of √2, 2√2, … are not special.
    weights = 1 + np.modf(np.sqrt(2) * np.arange(1, len(covariances) + 1))[0]
    axes = np.linalg.eigh(np.tensordot(weights / weights.sum(), covariances, axes=1))[1]
    rotated = axes.T @ covariances @ axes
    variances = np.diagonal(rotated, axis1=1, axis2=2)
    off = np.abs(rotated - np.einsum("ij,jk->ijk", variances, np.eye(len(axes)))).max()
    if off > SAME * np.abs(variances).max():
        raise AssumptionViolated(
            f"{theorem} needs eigenvectors that all scenarios' covariances share, and these leave {off:.3g} off the "
            "diagonal: use covariance='pooled' and mind the certificate."
        )
    return variances, axes


def require_target(target: object) -> None:
    """Refuse what is no target."""
    if not isinstance(target, PrivacyTarget):
        raise InvalidTarget(
            f"a target is a PrivacyTarget, got {target!r}: write PrivacyTarget(epsilon=1, delta=0.001)."
        )


def equal_means(model: QueryModel) -> tuple[Evidence, ...]:
    """Return what is said when there is nothing to hide in the means; nothing is said when there is."""
    return () if mean_shifts(model).any() else (Evidence.of("DP209"),)


def everywhere(law: type[Law], model: QueryModel, size: float) -> Law | NoNoise:
    """Return noise of one size on every statistic: a deviation, or a Laplace scale; and none where that is 0."""
    return law.isotropic(model.dimension, size) if size else NoNoise(dimension=model.dimension)


def gaussian_along(axes: Floats, variances: Floats) -> GaussianNoise | NoNoise:
    """Return Gaussian noise along the axes that have a variance; none where no axis has."""
    noise = GaussianNoise.along(axes, variances)
    return noise if noise.axes.size else NoNoise(dimension=len(axes))


def shift_axes(model: QueryModel, directions: Directions, theorem: str) -> Floats:
    """Return the axes of directional noise, as columns; none where there are no shifts."""
    one_of("directions", directions, ("one", "several"), InvalidInput)
    if directions == "one" and mean_shifts(model).any():
        return common_direction(model, theorem)[:, np.newaxis]
    return shift_basis(model)
