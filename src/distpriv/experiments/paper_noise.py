r"""The noise of the paper's mechanisms, for many models at once.

The same formulas as in `mechanisms`, with the paper's radius :math:`r = ε/\sqrt{2 \ln(1.25/δ)}` and the mean of the
two covariances, without a certificate: fifty fitted models a point would need fifty exact checks. A test
holds the noise against that of `mechanisms`.
"""

from typing import Literal

import numpy as np
from attrs import frozen

from distpriv.distances.gaussian import classic_radius
from distpriv.experiments.properties import Property, moments_at, property_model
from distpriv.experiments.setting import RECORDS
from distpriv.framework.arrays import Floats, array_field
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoNoise

__all__ = ["BASELINE", "GAUSSIAN", "GROUP", "VARIANTS", "Models", "PaperNoise", "exact_models", "paper_noise"]

VARIANTS = ("ExpM (L)", "DirM (L)", "ExpM (G)", "EigM (G)", "DauM (G)")
"""The five variants that the paper evaluates, by its shorthands."""
GAUSSIAN = ("ExpM (G)", "EigM (G)", "DauM (G)")
GROUP = "GroupDP (G)"
"""Group differential privacy of all records."""
BASELINE = "DP (G)"
"""Differential privacy of one record: no guarantee of distribution privacy."""


@frozen(kw_only=True)
class Models:
    """Mean shifts and covariances, the average of either scenario's, one model a row."""

    shifts: Floats = array_field()
    covariances: Floats = array_field()
    record_sensitivities: Floats = array_field()


@frozen(kw_only=True)
class PaperNoise:
    """Noise along orthonormal axes, the columns of `axes`, one law a model."""

    family: Literal["Gaussian", "Laplace"]
    axes: Floats = array_field()
    scales: Floats = array_field()
    """Standard deviations, or the scales of Laplace noise."""

    def lengths(self, rng: np.random.Generator) -> Floats:
        """Draw ‖Z‖₂ once for every model."""
        return np.asarray(np.linalg.norm(self._standard(rng, self.scales.shape) * self.scales, axis=-1))

    def draw(self, rng: np.random.Generator, draws: int) -> Floats:
        """Draw noise for so many releases of every model: an array of models, releases and statistics."""
        standard = self._standard(rng, (len(self.scales), draws, self.scales.shape[1]))
        return np.asarray(np.einsum("rdk,rk,rmk->rdm", standard, self.scales, self.axes))

    def law(self, model: int = 0) -> GaussianNoise | LaplaceNoise | NoNoise:
        """Return the law of one model."""
        axes, scales = self.axes[model], self.scales[model]
        if not scales.any():
            return NoNoise(dimension=len(axes))
        if self.family == "Laplace":
            return LaplaceNoise(axes=axes, scales=scales)
        return GaussianNoise.along(axes, scales**2)

    def _standard(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        return rng.normal(size=shape) if self.family == "Gaussian" else rng.laplace(size=shape)


def exact_models(secret: Property, gap: float) -> Models:
    """Return the model by exact moments; Δp may lie between those that 100 records can have."""
    (first, one), (second, other) = (moments_at(secret, share) for share in secret.shares(gap))
    return Models(
        shifts=(first - second)[np.newaxis],
        covariances=((one + other) / 2)[np.newaxis],
        record_sensitivities=property_model(secret, secret.gap).record_sensitivities,
    )


def paper_noise(mechanism: str, models: Models, *, epsilon: float, delta: float) -> PaperNoise:
    """Return the noise that a mechanism of the paper adds, by its shorthand.

    >>> from distpriv.experiments.properties import INCOME
    >>> round(paper_noise("DauM (G)", exact_models(INCOME, 0.1), epsilon=1, delta=1e-3).law().expected_l2, 3)
    12.705
    """
    count, size = models.shifts.shape
    everywhere = np.broadcast_to(np.eye(size), (count, size, size))
    lengths = np.linalg.norm(models.shifts, axis=1)[:, np.newaxis]
    along = (models.shifts / lengths)[:, :, np.newaxis]
    ones = np.ones((count, size))
    if mechanism == "ExpM (L)":
        scales = np.abs(models.shifts).sum(axis=1)[:, np.newaxis] * ones / epsilon
        return PaperNoise(family="Laplace", axes=everywhere, scales=scales)
    if mechanism == "DirM (L)":
        return PaperNoise(family="Laplace", axes=along, scales=lengths / epsilon)
    required = lengths / classic_radius(epsilon, delta)
    if mechanism in ("GroupDP (G)", "DP (G)"):
        group = RECORDS if mechanism == GROUP else 1
        reach = group * np.linalg.norm(models.record_sensitivities) / classic_radius(epsilon, delta)
        return PaperNoise(family="Gaussian", axes=everywhere, scales=reach * ones)
    if mechanism == "EigM (G)":
        values, vectors = np.linalg.eigh(models.covariances)
        return PaperNoise(family="Gaussian", axes=vectors, scales=_missing(required, values))
    if mechanism == "DauM (G)":
        known = 1 / (np.linalg.solve(models.covariances, along) * along).sum(axis=1)
        return PaperNoise(family="Gaussian", axes=along, scales=_missing(required, known))
    return PaperNoise(family="Gaussian", axes=everywhere, scales=required * ones)


def _missing(required: Floats, variances: Floats) -> Floats:
    return np.asarray(np.sqrt(np.maximum(0.0, required**2 - variances)))
