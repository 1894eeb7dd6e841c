r"""How private a release is without believing any model of the statistics.

With noise in every direction the released law is a mixture of noise densities around the true statistics, and those
can be drawn: they are the statistics of fresh subsets of real rows. With mixtures :math:`\hat p_i, \hat p_j` of B
subsets each,

* :math:`\int (\hat p_i - e^ε \hat p_j)_+` is too large on average, never too small: H_ε is convex in the laws;
* :math:`\int φ (\hat p_i - e^ε \hat p_j)`, with φ the indicator of where *other* mixtures have
  :math:`\hat p_i > e^ε \hat p_j`, is too small on average: no set has more than H_ε.

So averages over independent batches, less and more their standard errors, enclose H_ε.
"""

import math

import numpy as np
from attrs import frozen
from scipy.spatial.distance import cdist
from scipy.stats import t as student

from distpriv.auditing.densities import log_density
from distpriv.auditing.populations import Population
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import real, whole
from distpriv.framework.secrets import Pair
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel, require_model
from distpriv.noise.laws import NoiseLaw
from distpriv.progress import Progress, silent

__all__ = ["DeltaEstimate", "true_delta_estimate"]

CELLS = 200_000
"""Differences computed at once."""


@frozen(kw_only=True)
class DeltaEstimate:
    """An estimate of δ at ε for the true released law of one pair, the worse order, with a confidence interval."""

    pair: Pair
    epsilon: float
    delta_estimate: float
    """The middle of the averages from below and from above."""
    interval: tuple[float, float]
    confidence: float

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"δ at ε = {self.epsilon:g} is about {self.delta_estimate:.3g} ({self.confidence:.0%}: {low:.3g} to "
            f"{high:.3g}), no model believed: {self.pair[0]} against {self.pair[1]}"
        )


def true_delta_estimate(
    model: QueryModel,
    mechanism: AdditiveMechanism | NoiseLaw,
    *,
    epsilon: float,
    pair: Pair | None = None,
    batch: int = 1000,
    batches: int = 20,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress = silent,
) -> DeltaEstimate:
    """Estimate H_ε of the true released laws, both orders of a pair, from fresh subsets of the model's rows.

    The interval is honest where batches are alike (Student's t): if the noise is fine against the spread of the
    statistics, a mixture of `batch` densities is a poor picture of the law and the interval is wide. An
    estimate never reaches a certificate.

    Args:
        model: the model, drawn from its rows, or from f_θ where it has none.
        mechanism: a mechanism or a law of noise with a density.
        epsilon: the ε at which δ is wanted.
        pair: the pair; the first protected one when not given.
        batch: how many subsets of each scenario make a mixture.
        batches: how many pairs of mixtures.
        confidence: of the interval.
        seed: the same seed gives the same numbers.
        progress: told after every pair of batches.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> mechanism = dp.mechanisms.expected_value_gaussian(model, dp.PrivacyTarget(epsilon=0.5, delta=0.05))
    >>> found = true_delta_estimate(model, mechanism, epsilon=0.5, batch=300)
    >>> found.interval[0] < dp.exact_delta(model, mechanism, epsilon=0.5) < found.interval[1] < 0.05
    True
    """
    require_model(model)
    noise = mechanism.noise if isinstance(mechanism, AdditiveMechanism) else mechanism
    refuse_without_density(noise)
    epsilon = real("epsilon", epsilon, InvalidInput, at_least=0, cure="at 0 the result is the total variation distance")
    confidence = real("confidence", confidence, InvalidInput, above=0, below=1, cure="0.95 is usual")
    batch = whole("batch", batch, InvalidInput, at_least=2, cure="1000 is usual")
    batches = whole("batches", batches, InvalidInput, at_least=2, cure="20 is usual")
    chosen = model.protected_pairs[0] if pair is None else pair
    found = []
    for number, sequence in enumerate(np.random.SeedSequence(seed).spawn(batches)):
        found.append(_both_sides(model, chosen, noise, epsilon, batch, sequence))
        progress("true δ", number + 1, batches)
    sides = np.array(found)  # batch, order of the pair, from below or above
    means, errors = sides.mean(axis=0), sides.std(axis=0, ddof=1) / math.sqrt(batches)
    reach = float(student.ppf(1 - (1 - confidence) / 4, batches - 1)) * errors
    worse = int(means.mean(axis=1).argmax())
    return DeltaEstimate(
        pair=chosen if worse == 0 else (chosen[1], chosen[0]),
        epsilon=epsilon,
        delta_estimate=float(np.clip(means[worse].mean(), 0.0, 1.0)),
        interval=(
            float(np.clip((means - reach)[:, 0].max(), 0.0, 1.0)),
            float(np.clip((means + reach)[:, 1].max(), 0.0, 1.0)),
        ),
        confidence=confidence,
    )


def _both_sides(
    population: Population, pair: Pair, noise: NoiseLaw, epsilon: float, batch: int, sequence: np.random.SeedSequence
) -> list[tuple[float, float]]:
    """Return, for either order of a pair, an average that is too small and one that is too large, from two mixtures."""
    seeds = [int(s) for s in sequence.generate_state(6)]
    mixtures = [[population.samples(name, batch, s) for name in pair] for s in seeds[:2]]
    released = [
        [x + noise.simulate(batch, s + k) for k, x in enumerate(m)] for m, s in zip(mixtures, seeds[2:4], strict=True)
    ]
    sides = []
    for i, j in ((0, 1), (1, 0)):
        below, above = [], []
        for own, other in ((0, 1), (1, 0)):
            at = released[own][i]
            gain = epsilon + _log_ratio(at, mixtures[own], j, i, noise)
            worth = -np.expm1(np.minimum(gain, 700.0))
            chosen = epsilon + _log_ratio(at, mixtures[other], j, i, noise) < 0
            below.append(float(np.where(chosen, worth, 0.0).mean()))
            above.append(float(np.maximum(worth, 0.0).mean()))
        sides.append((float(np.mean(below)), float(np.mean(above))))
    return sides


def _log_ratio(at: Floats, mixture: list[Floats], above: int, below: int, noise: NoiseLaw) -> Floats:
    return mixture_log_density(at, mixture[above], noise) - mixture_log_density(at, mixture[below], noise)


def mixture_log_density(values: Floats, centres: Floats, noise: NoiseLaw) -> Floats:
    """Return the log density of noise around points drawn evenly from `centres`; it must have a density.

    >>> from distpriv.noise.laws import GaussianNoise
    >>> mixture_log_density(np.zeros((1, 1)), np.array([[-1.0], [1.0]]), GaussianNoise.isotropic(1, 1.0)).round(4)
    array([-1.4189])
    """
    refuse_without_density(noise)
    block = max(1, CELLS // len(centres))
    found = np.empty(len(values))
    for start in range(0, len(values), block):
        kernel = _log_kernel(values[start : start + block], centres, noise)
        top = kernel.max(axis=1)
        kernel -= top[:, np.newaxis]
        found[start : start + block] = top + np.log(np.exp(kernel, out=kernel).mean(axis=1))
    return found


def refuse_without_density(noise: NoiseLaw) -> None:
    """Refuse noise that leaves a direction bare."""
    if not any(len(part.widths) == part.dimension and part.widths.all() for part in noise.parts):
        raise InvalidInput(
            "the noise leaves a direction without noise, so the release has no density: give a mechanism with noise in "
            "every direction."
        )


def _log_kernel(values: Floats, centres: Floats, noise: NoiseLaw) -> Floats:
    if noise.is_gaussian:
        to_white = noise.gaussian.whitening
        constant = (np.log(2 * np.pi) * noise.dimension + np.log(noise.gaussian.variances).sum()) / 2
        return np.asarray(-cdist(values @ to_white, centres @ to_white, "sqeuclidean") / 2 - constant)
    if len(noise.parts) == 1:
        to_unit = noise.parts[0].whitening
        constant = np.log(2 * noise.laplace_scales).sum()
        return np.asarray(-cdist(values @ to_unit, centres @ to_unit, "cityblock") - constant)
    apart = (values[:, np.newaxis] - centres).reshape(-1, values.shape[1])
    none = np.zeros((noise.dimension, noise.dimension))
    return log_density(apart, np.zeros(noise.dimension), none, noise).reshape(len(values), len(centres))
