"""OptM: the least Gaussian noise that hides all shifts, less what the attacker does not know anyway."""

from collections.abc import Sequence

import numpy as np
from attrs import frozen

from distpriv.distances.gaussian import mahalanobis
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import certified
from distpriv.guarantees.entropy_ball import across_ball
from distpriv.guarantees.lattice_floor import covers_floor
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.mechanisms.hypotheses import Covariance, Radius, equal_means, gaussian_radius, pair_covariance
from distpriv.mechanisms.search.least_majorant import least_majorant, least_majorant_of_one
from distpriv.modelling.model import QueryModel
from distpriv.modelling.utility import Weights, utility_weights
from distpriv.noise.laws import GaussianNoise, NoNoise

__all__ = ["least_noise", "noise_of", "optimal_gaussian"]

THEOREM = "the least-trace theorem"

THINNEST = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 0.0)
"""Axes with less than this share of the largest variance, in the statistics' units, are left out if they may be."""

MOST_AT_ONCE = 60
"""With more statistics than these, shifts are hidden one after the other: that costs some noise and far less time."""

UNTIL_HIDDEN = (0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
"""By which share variances are widened, in turn, until every shift is hidden in spite of rounding."""


@across_ball
def optimal_gaussian(
    model: QueryModel,
    target: PrivacyTarget,
    *,
    radius: Radius = "analytic",
    covariance: Covariance = "shared",
    weights: Weights = "relative",
    floor: bool = False,
) -> AdditiveMechanism:
    r"""Add N(0, S) of the least weighted mean square :math:`\operatorname{tr}(QS)` that hides every shift.

    :math:`dᵀ(Σ + S)^{-1}d ≤ r^2` exactly if :math:`S ⪰ ddᵀ/r^2 - Σ`, so S is the least majorant of these matrices
    and of 0, or of the lattice's floor. The noise of every theorem that assumes equal covariances is one of those it is
    chosen from. Without the floor it is along few directions, and the lattice attack may read the statistics off.

    Args:
        model: the model of the statistics.
        target: the (ε, δ) to reach, with δ above 0.
        radius: which distance of the means the target can bear.
        covariance: whether to refuse or to average covariances that differ inside a pair.
        weights: what an error of each statistic costs.
        floor: whether to cover the lattice too.

    Raises:
        InvalidTarget: δ is 0, which Gaussian noise cannot reach.
        AssumptionViolated: the covariances of a pair differ, and they are not pooled.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0, 0], "b": [1, 1]}, covariances=[[4, 0], [0, 1]], pairs=[("a", "b")])
    >>> target = dp.PrivacyTarget(epsilon=1, delta=0.001)
    >>> dp.mechanisms.optimal_gaussian(model, target, weights="units").noise.variances.round(3)
    array([10.925])
    """
    if not isinstance(floor, bool):
        raise InvalidInput(f"floor must be True or False, got {floor!r}: True covers the statistics' lattice too.")
    costs = utility_weights(model, weights)
    allowed = gaussian_radius(target, radius)
    noise = least_noise(model, allowed, covariance, costs, floor=floor)
    said = () if noise.parts else equal_means(model)
    return certified(model, target, noise, name="optimal_gaussian", theorem=THEOREM, assumptions=said)


def least_noise(
    model: QueryModel, radius: float, covariance: Covariance, costs: Floats, *, floor: bool
) -> GaussianNoise | NoNoise:
    """Return the least noise with which all means are at most `radius` standard deviations apart."""
    hidden = _Hidden.of(model, radius, covariance, floor=floor)
    if not hidden.shifts and not hidden.lowest.any():
        return NoNoise(dimension=model.dimension)
    if not hidden.shifts:
        return GaussianNoise.along(np.eye(model.dimension), np.diag(hidden.lowest))
    if len(hidden.shifts) == 1 and not hidden.lowest.any():
        along = least_majorant_of_one(costs, hidden.shifts[0], hidden.covariances[0])
        length = float(np.linalg.norm(along))
        return hidden.covered(GaussianNoise(axes=along[:, np.newaxis] / length, variances=np.array([length**2])))
    if len(hidden.shifts) == 1 or model.dimension > MOST_AT_ONCE:
        return hidden.thinned(hidden.one_by_one(costs))
    matrices = [np.outer(d, d) - c for d, c in zip(hidden.shifts, hidden.covariances, strict=True)]
    found = least_majorant(costs, np.array([*matrices, hidden.lowest]))
    return hidden.thinned(found)


@frozen(kw_only=True, eq=False)
class _Hidden:
    """What noise has to hide: shifts in units of the radius, with the covariances that help, and the lattice."""

    model: QueryModel
    shifts: Sequence[Floats]
    covariances: Sequence[Floats]
    lowest: Floats

    @classmethod
    def of(cls, model: QueryModel, radius: float, covariance: Covariance, *, floor: bool) -> "_Hidden":
        lowest = np.diag(model.floor**2) if floor else np.zeros((model.dimension, model.dimension))
        shifts, covariances = [], []
        for pair in (
            pair for k, pair in enumerate(model.protected_pairs) if pair[::-1] not in model.protected_pairs[:k]
        ):
            known = pair_covariance(model, pair, covariance, THEOREM)
            shift = model.mean_shift(pair) / radius
            with np.errstate(over="ignore"):
                if not np.isfinite(shift @ shift):
                    raise InvalidInput(
                        f"the shift between {pair[0]!r} and {pair[1]!r} is too large to be hidden by noise that is a "
                        "number: give larger epsilon and delta, or divide the statistics by a constant."
                    )
            if mahalanobis(shift, known + lowest) > 1:
                shifts.append(shift)
                covariances.append(known)
        return cls(model=model, shifts=shifts, covariances=covariances, lowest=lowest)

    def one_by_one(self, costs: Floats) -> Floats:
        """Return the lowest noise with what is missing of it for every shift on top, the farthest first.

        S = L + T is above L and ddᵀ − Σ if T is above 0 and ddᵀ − (Σ + L): of one shift there is a closed form.
        """
        found = self.lowest.copy()
        pairs = list(zip(self.shifts, self.covariances, strict=True))
        for shift, known in sorted(pairs, key=lambda pair: -mahalanobis(pair[0], pair[1] + self.lowest)):
            if mahalanobis(shift, known + found) > 1:
                along = least_majorant_of_one(costs, shift, known + found)
                found = found + np.outer(along, along)
        return found

    def by(self, noise: GaussianNoise) -> bool:
        """Whether noise hides it all."""
        total = noise.covariance
        pairs = zip(self.shifts, self.covariances, strict=True)
        return (not self.lowest.any() or covers_floor(self.model, noise)) and all(
            mahalanobis(d, c + total) <= 1 for d, c in pairs
        )

    def covered(self, noise: GaussianNoise) -> GaussianNoise:
        """Return the noise, wider by as little as it takes to hide it all in spite of rounding."""
        wider = [GaussianNoise(axes=noise.axes, variances=noise.variances * (1 + more)) for more in UNTIL_HIDDEN]
        return next((law for law in wider if self.by(law)), wider[-1])

    def thinned(self, covariance: Floats) -> GaussianNoise:
        """Return noise with a covariance, without the axes that it does not need."""
        for share in THINNEST if not self.lowest.any() else (0.0,):
            law = self.covered(noise_of(covariance, share))
            if self.by(law):
                break
        return law


def noise_of(covariance: Floats, share: float = 0.0) -> GaussianNoise:
    """Return N(0, covariance) along its axes, less those with no more than a share of the largest variance.

    Shares are taken in units of the statistics' own noise, and the axes from a factor of the covariance: so a
    statistic in millions does not drown one in millionths.

    >>> noise_of(np.diag([1e12, 1e-12])).variances.tolist()
    [1000000000000.0, 1e-12]
    """
    units = np.sqrt(np.diag(covariance))
    units = np.where(units > 0, units, 1.0)
    variances, axes = np.linalg.eigh(covariance / np.outer(units, units))
    kept = variances > max(share, 1e-15) * variances.max()
    factor = units[:, np.newaxis] * axes[:, kept] * np.sqrt(variances[kept])
    directions, deviations, _ = np.linalg.svd(factor, full_matrices=False)
    return GaussianNoise(axes=directions, variances=deviations**2)
