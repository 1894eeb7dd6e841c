"""The noise of the paper's mechanisms, for many models at once.

It is that of the theorems in `mechanisms`, with the paper's radius and the mean of both covariances, and without a
certificate: fifty fitted models a point would need fifty exact checks.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
from attrs import evolve, frozen

from distpriv.distances.gaussian import classic_radius
from distpriv.experiments.properties import Property, moments_at, property_model
from distpriv.experiments.setting import RECORDS
from distpriv.framework.arrays import Floats, array_field
from distpriv.mechanisms.directional_laplace import directional_laplace_noise
from distpriv.mechanisms.directional_uncertainty import directional_uncertainty_noise
from distpriv.mechanisms.eigenvector_gaussian import eigenvector_noise
from distpriv.mechanisms.expected_value_gaussian import expected_value_gaussian_noise
from distpriv.mechanisms.expected_value_laplace import expected_value_laplace_noise
from distpriv.mechanisms.group_privacy_gaussian import group_gaussian_noise
from distpriv.modelling.given import gaussian_model
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import NoiseLaw

__all__ = ["BASELINE", "GAUSSIAN", "GROUP", "VARIANTS", "PaperNoise", "exact_model", "fitted_model", "paper_noise"]

VARIANTS = ("ExpM (L)", "DirM (L)", "ExpM (G)", "EigM (G)", "DauM (G)")
"""The five variants that the paper evaluates, by its shorthands."""
GAUSSIAN = ("ExpM (G)", "EigM (G)", "DauM (G)")
GROUP = "GroupDP (G)"
"""Group differential privacy of all records."""
BASELINE = "DP (G)"
"""Differential privacy of one record: no guarantee of distribution privacy."""

_LAPLACE: Mapping[str, Callable[[QueryModel, float], NoiseLaw]] = {
    "ExpM (L)": expected_value_laplace_noise,
    "DirM (L)": directional_laplace_noise,
}
"""By model and ε."""

_GAUSSIAN: Mapping[str, Callable[[QueryModel, float], NoiseLaw]] = {
    "ExpM (G)": expected_value_gaussian_noise,
    "EigM (G)": lambda model, radius: eigenvector_noise(model, radius, "pooled"),
    "DauM (G)": lambda model, radius: directional_uncertainty_noise(model, radius, "pooled"),
    GROUP: lambda model, radius: group_gaussian_noise(model, RECORDS, radius),
    BASELINE: lambda model, radius: group_gaussian_noise(model, 1, radius),
}
"""By model and radius."""

_DIRECTED = ("DirM (L)", "DauM (G)")
"""Those with noise along the shift only."""


@frozen(kw_only=True)
class PaperNoise:
    """Noise for every model, along as many axes in all of them; where a law has fewer, the others have no width."""

    laws: tuple[NoiseLaw, ...]
    laplace: bool
    axes: Floats = array_field()
    widths: Floats = array_field()
    """Standard deviations, or the scales of Laplace noise."""

    def lengths(self, rng: np.random.Generator) -> Floats:
        """Draw ‖Z‖₂ once for every model."""
        return np.asarray(np.linalg.norm(self._standard(rng, self.widths.shape) * self.widths, axis=-1))

    def draw(self, rng: np.random.Generator, draws: int) -> Floats:
        """Draw noise for so many releases of every model: an array of models, releases and statistics."""
        standard = self._standard(rng, (len(self.widths), draws, self.widths.shape[1]))
        return np.asarray(np.einsum("rdk,rk,rmk->rdm", standard, self.widths, self.axes))

    def _standard(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        return rng.laplace(size=shape) if self.laplace else rng.normal(size=shape)


def fitted_model(means: tuple[Floats, Floats], covariances: tuple[Floats, Floats], secret: Property) -> QueryModel:
    """Return the model with these means, and the average of the covariances, as the paper's theorems want it."""
    shared = (covariances[0] + covariances[1]) / 2
    model = gaussian_model(means={"one": means[0], "other": means[1]}, covariances=shared, pairs=[("one", "other")])
    return evolve(model, record_sensitivities=property_model(secret, secret.gap).record_sensitivities)


@cache
def exact_model(secret: Property, gap: float) -> QueryModel:
    """Return the model by exact moments; Δp may lie between those that 100 records can have."""
    (first, one), (second, other) = (moments_at(secret, share) for share in secret.shares(gap))
    return fitted_model((first, second), (one, other), secret)


def paper_noise(mechanism: str, models: Sequence[QueryModel], *, epsilon: float, delta: float) -> PaperNoise:
    """Return the noise that a mechanism of the paper adds, by its shorthand.

    >>> from distpriv.experiments.properties import INCOME
    >>> round(paper_noise("DauM (G)", [exact_model(INCOME, 0.1)], epsilon=1, delta=1e-3).laws[0].expected_l2, 3)
    12.705
    """
    laplace = mechanism in _LAPLACE
    size = epsilon if laplace else classic_radius(epsilon, delta)
    laws = tuple((_LAPLACE if laplace else _GAUSSIAN)[mechanism](model, size) for model in models)
    count = 1 if mechanism in _DIRECTED else models[0].dimension
    axes, widths = np.zeros((len(laws), models[0].dimension, count)), np.zeros((len(laws), count))
    for k, law in enumerate(laws):
        axes[k, :, : len(law.widths)], widths[k, : len(law.widths)] = law.axes, law.widths
    if count == 1:  # a direction has no sign of its own: with that of the shift, a seed always gives the same noise
        shifts = np.array([model.mean_shift(model.protected_pairs[0]) for model in models])
        axes *= np.where(np.einsum("rm,rmk->r", shifts, axes) < 0, -1.0, 1.0)[:, np.newaxis, np.newaxis]
    return PaperNoise(laws=laws, laplace=laplace, axes=axes, widths=widths)
