"""The hypotheses that theorems share: what a target allows, what a pair has in common, and what couplings prove."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from distpriv.distances.gaussian import analytic_radius, classic_radius, variance_ratio
from distpriv.errors import AssumptionViolated, InvalidInput, InvalidModel, InvalidTarget
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import one_of, whole
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Assurance
from distpriv.guarantees.certify import by_coupling
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel, require_model
from distpriv.modelling.sensitivity import common_direction, mean_shifts, shift_basis
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw, NoNoise

if TYPE_CHECKING:
    from distpriv.framework.scenarios import Pair

__all__ = [
    "Covariance",
    "Directions",
    "Group",
    "Radius",
    "by_group",
    "equal_means",
    "everywhere",
    "gaussian_along",
    "gaussian_radius",
    "group_reach",
    "group_size",
    "has_points",
    "laplace_epsilon",
    "largest_over_points",
    "law_evidence",
    "pair_covariance",
    "proven_distance",
    "require_target",
    "shared_eigenbasis",
    "shift_axes",
    "sufficient_group",
    "translation_distance",
    "unordered",
]

Radius = Literal["analytic", "classic"]
"""The exact radius, or the paper's ε/√(2 ln(1.25/δ)), which is proven for ε ≤ 1 only."""

Covariance = Literal["shared", "pooled"]
"""Refuse covariances that differ inside a pair, or take their average and let the exact check judge."""

Directions = Literal["one", "several"]
"""Refuse shifts that are not parallel, or use a basis of their span."""

Group = Literal["sufficient", "records"] | int
"""The records in which coupled datasets differ, all records (the paper's baseline), or so many."""

Law = TypeVar("Law", GaussianNoise, LaplaceNoise)


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


def pair_covariance(
    model: QueryModel, pair: "Pair", covariance: Covariance, theorem: str, *, rounding: float = 1e-9
) -> Floats:
    """Return the covariance that a pair shares, or its average if pooling is asked for."""
    one_of("covariance", covariance, ("shared", "pooled"), InvalidInput)
    first, second = (model.distributions[name].covariance for name in pair)
    if covariance == "shared" and (ratio := variance_ratio(first, second)) > 1 + rounding:
        raise AssumptionViolated(
            f"{theorem} needs the covariances of a protected pair to be equal, and those of {pair[0]!r} and "
            f"{pair[1]!r} differ by a factor of {ratio:.3g}: use covariance='pooled' and mind the certificate."
        )
    return np.asarray((first + second) / 2)


def shared_eigenbasis(
    model: QueryModel, covariance: Covariance, theorem: str, *, rounding: float = 1e-9
) -> tuple[Floats, Floats]:
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
    if off > rounding * np.abs(variances).max():
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


def has_points(model: QueryModel) -> bool:
    """Tell whether every law of the model is known by points."""
    return all(law.points is not None for law in model.distributions.values())


def unordered(model: QueryModel) -> "list[Pair]":
    """Return every protected pair in one order; distances are the same in both."""
    return list({frozenset(pair): pair for pair in model.protected_pairs}.values())


def largest_over_points(model: QueryModel, measure: Callable[..., Any], theorem: str) -> Any:
    """Return the largest value, over all protected pairs, of a measure of points and weights, or of each of several."""
    if not has_points(model):
        raise InvalidModel(
            f"{theorem} needs the laws as points, and this model has moments: make it with empirical_model, or with "
            "model(…, method='sampling')."
        )
    pairs = [[model.distributions[name] for name in pair] for pair in unordered(model)]
    return np.max([measure(x.points, y.points, x_weights=x.weights, y_weights=y.weights) for x, y in pairs], axis=0)


def law_evidence(model: QueryModel) -> tuple[Evidence, Assurance]:
    """Return what a distance between points says about the laws, and the assurance that it deserves."""
    if model.provenance.method == "given points":
        return Evidence.of("DP319"), "proved"
    return Evidence.of("DP320", draws=model.provenance.draws), "assumed"


def proven_distance(model: QueryModel) -> tuple[float, Evidence] | None:
    """Return a proven bound on W∞ (L1) from coupled datasets and bounded rows; None if the model has neither."""
    swapped = sufficient_group(model)
    if swapped is None or np.isinf(model.record_sensitivities).any():
        return None
    of_one = float(model.record_sensitivities.sum())
    return group_reach(model, swapped, order=1), Evidence.of("DP106", records=swapped, reach=of_one)


def translation_distance(model: QueryModel, theorem: str) -> float:
    """Return W∞ (L1) of Gaussian laws, which is finite only between translations: the length of the mean shift."""
    for first, second in unordered(model):
        one, other = model.distributions[first], model.distributions[second]
        if not np.array_equal(one.covariance, other.covariance):
            raise AssumptionViolated(
                f"{theorem} needs a finite distance, and that of two Gaussian laws with different covariances is "
                "infinite: use bounded, or approximate_wasserstein on a sampled model."
            )
    return max(float(np.abs(model.mean_shift(pair)).sum()) for pair in model.protected_pairs)


def group_reach(model: QueryModel, size: int, order: Literal[1, 2]) -> float:
    r"""Return how far so many records can move the statistics at most, in L1 or L2: :math:`k ‖s‖`."""
    moves = model.record_sensitivities
    unbounded = [name for name, move in zip(model.names, moves, strict=True) if np.isinf(move)]
    if unbounded:
        raise InvalidModel(
            f"nothing bounds how much one record can move {unbounded[0]!r}: group privacy needs bounds, as in "
            "mean('age', bounds=(17, 90)), and rows."
        )
    largest = float(moves.max()) or 1.0
    return size * (float(moves.sum()) if order == 1 else largest * float(np.linalg.norm(moves / largest)))


def sufficient_group(model: QueryModel) -> int | None:
    """Return the largest number of records in which coupled datasets of a protected pair differ; None if unknown.

    Two shares differ in |n₁ − n₁′| records; tables of their own in all of them.
    """
    sizes = []
    for first, second in model.protected_pairs:
        one, other = model.scenarios.get(first), model.scenarios.get(second)
        if one is None or other is None:
            return None
        sizes.append(one.swapped(other))
    return max(sizes)


def group_size(model: QueryModel, group: Group) -> int:
    """Return the number of records to protect together."""
    require_model(model)
    if group == "sufficient":
        enough = sufficient_group(model)
        if enough is None:
            raise InvalidModel("this model does not know in how many records its scenarios differ: give group=10, say.")
        return enough
    if group == "records":
        if model.provenance.records is None:
            raise InvalidModel("this model does not know how many records there are: give group=100, say.")
        return model.provenance.records
    return whole("group", group, InvalidInput, at_least=1, cure="or 'sufficient', or 'records'")


def by_group(
    model: QueryModel, target: PrivacyTarget, noise: NoiseLaw, *, name: str, size: int, delta: float
) -> AdditiveMechanism:
    """Return the mechanism whose noise hides any so many records: the coupling is that they are all that differ."""
    enough = sufficient_group(model)
    covered = enough is not None and size >= enough
    differ = Evidence.of("DP104" if covered else "DP318", records=size, differ=enough)
    bounded = Evidence.of("DP105", sensitivities=model.record_sensitivities)
    return by_coupling(
        model,
        target,
        noise,
        name=name,
        theorem=f"group differential privacy of {size} records",
        delta=delta,
        assurance="proved" if covered else "assumed",
        evidence=(differ, bounded),
        contradicted=enough is not None and not covered,
    )
