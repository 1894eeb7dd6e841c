r"""What is known of the statistics before anything is released, and what a release adds to it.

The scenarios are public, and they already predict F. With a weight on each of them let μ̄ be the mean of the μ_θ and

.. math:: C = \operatorname{mean} Σ_θ + \operatorname{Cov} μ_θ,

with what a sample leaves open of μ_θ in Σ_θ. Printing μ̄ has the error covariance C and tells an attacker nothing: what
a release is worth is what it adds to that. A noisy answer y = F + Z, Cov Z = N, gives the linear Bayes estimate

.. math:: \hat x = \barμ + G (y - \barμ), \qquad G = C (C + N)^{-1},

whose error covariance :math:`(I-G)C(I-G)^⊤ + GNG^⊤` is never larger than C or N. It is made of the answer and of public
numbers, so that the certificate of the answer covers it. Its intervals hold on average over the scenarios. Several
releases of a dataset are one answer to one longer query, with their noise side by side.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from attrs import frozen
from scipy.linalg import block_diag
from scipy.special import ndtri

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats, array_field
from distpriv.framework.domains import did_you_mean, real
from distpriv.modelling.model import QueryModel, error_of_means, require_model

if TYPE_CHECKING:
    from distpriv.noise.laws import Noise

__all__ = [
    "HALF_WIDTH",
    "Estimate",
    "Fit",
    "LinearEstimator",
    "Prior",
    "PublicKnowledge",
    "deviations",
    "linear_estimator",
    "noise_side_by_side",
    "scenario_chances",
    "weighted_rms",
]

HALF_WIDTH = float(ndtri(0.975))
"""Half of a 95 % interval, in standard deviations."""


@frozen(kw_only=True)
class Estimate:
    """The best guess at every statistic, from a noisy answer and public knowledge.

    >>> estimate = Estimate(names=("age",), values=[39.5], covariance=[[0.25]])
    >>> estimate.errors, {name: (round(low, 2), round(high, 2)) for name, (low, high) in estimate.intervals.items()}
    ({'age': 0.5}, {'age': (38.52, 40.48)})
    >>> estimate.named
    {'age': 39.5}
    """

    names: tuple[str, ...]
    """The statistics, in order."""
    values: Floats = array_field()
    """The estimate of each."""
    covariance: Floats = array_field()
    """The covariance of what the estimates miss, on average over the scenarios."""

    @property
    def named(self) -> dict[str, float]:
        """The estimates by name."""
        return dict(zip(self.names, self.values.tolist(), strict=True))

    @property
    def errors(self) -> dict[str, float]:
        """The root mean square error of each estimate."""
        return deviations(self.names, self.covariance)

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """Where each statistic is with 95 % probability, on average over the scenarios."""
        reach = HALF_WIDTH * np.array(list(self.errors.values()))
        bounds = zip((self.values - reach).tolist(), (self.values + reach).tolist(), strict=True)
        return dict(zip(self.names, bounds, strict=True))


class LinearEstimator(NamedTuple):
    """What of an estimate depends on C and N alone; made by `linear_estimator`."""

    observed: Floats
    """Which noisy values say anything, 1 or 0."""
    whitening: Floats
    """W with WWᵀ = (C + N)⁻¹ on what varies, so that T = ‖(y − μ̄)W‖²."""
    fixed: Floats
    """Combinations of the statistics, as columns, that do not vary, in the units below."""
    units: Floats
    """Deviations of the noisy values; 0 for one that does not vary."""
    gain: Floats
    """G, what an estimate makes of y − μ̄."""
    error_covariance: Floats
    """The covariance of what the estimate misses."""

    def moves_what_is_fixed(self, deviation: Floats, sizes: Floats, rounding: float = 1e-5) -> bool:
        """Tell whether what cannot vary is elsewhere than it must be, beyond rounding in standard deviations."""
        varies = (self.units > 0) | (self.observed == 0)
        alone = (np.abs(deviation) > rounding * sizes) & ~varies
        scaled = np.where(self.units > 0, deviation * self.observed / np.where(self.units > 0, self.units, 1.0), 0.0)
        together = np.abs(scaled @ self.fixed) > rounding * (1 + np.abs(scaled).max(initial=0.0))
        return bool(alone.any() or together.any())


def linear_estimator(public: Floats, noise: Floats) -> LinearEstimator:
    """Return the estimator, computed in units of the noisy values' own deviations, in which sizes can be compared."""
    observed = np.isfinite(np.diag(noise))
    noise = np.where(np.outer(observed, observed), noise, 0.0)
    total = public + noise
    units = np.where(observed, np.sqrt(np.maximum(np.diag(total), 0.0)), 0.0)
    inverse = np.divide(1.0, units, out=np.zeros_like(units), where=units > 0)
    variances, axes = np.linalg.eigh(total * np.outer(inverse, inverse))
    live = variances > 1e-12 * max(len(units), 1)
    whitening = inverse[:, np.newaxis] * axes[:, live] / np.sqrt(variances[live])
    gain = (public @ whitening) @ whitening.T
    missed = np.eye(len(units)) - gain
    error = missed @ public @ missed.T + gain @ noise @ gain.T
    unknown = (np.diag(noise) > 0) | ~observed
    error = np.where(np.outer(unknown, unknown), error, 0.0)
    return LinearEstimator(
        observed=observed.astype(float),
        whitening=whitening,
        fixed=axes[:, ~live],
        units=units,
        gain=gain,
        error_covariance=(error + error.T) / 2,
    )


def deviations(names: tuple[str, ...], covariance: Floats) -> dict[str, float]:
    """Return the root of each variance, by name."""
    return dict(zip(names, np.sqrt(np.maximum(np.diag(covariance), 0.0)).tolist(), strict=True))


def weighted_rms(covariance: Floats, weights: Floats) -> float:
    r"""Return :math:`\sqrt{\operatorname{tr}(QS)}`, Q the diagonal of the weights: the overall error of noise."""
    return math.sqrt(max(0.0, float(weights @ np.diag(covariance))))


Prior = Mapping[str, float] | None
"""The probability of each scenario by its name; the same for all when not given."""


@frozen(kw_only=True)
class Fit:
    """How plausible a noisy answer is if the private data are like the reference.

    >>> from distpriv.modelling.public_knowledge import Fit
    >>> usual = Fit(distance=4.1, dimension=5, p_value=0.53)
    >>> usual.distance, usual.p_value, usual.fits
    (4.1, 0.53, True)
    >>> print(Fit(distance=75.0, dimension=5, p_value=1e-5).sentence)
    The noisy values are implausible under the reference (p = 1e-05): the private data are not like it, so read the
    noisy values, and rely on neither the estimates nor the certificate.
    """

    distance: float
    """T = (y − μ̄)ᵀ(C + N)⁻¹(y − μ̄); its mean is the dimension if the reference fits."""
    dimension: int
    """How many directions there are along which the noisy values vary."""
    p_value: float
    """How often an answer would be as far from the public mean, or farther, if the reference fitted."""

    @property
    def fits(self) -> bool:
        """Whether the answer is no reason to doubt the reference."""
        return self.p_value >= 0.001

    @property
    def sentence(self) -> str:
        """What the p-value means, in words."""
        if self.fits:
            return f"The release is consistent with the reference (p = {self.p_value:.2g})."
        return (
            f"The noisy values are implausible under the reference (p = {self.p_value:.2g}): the private data are not "
            "like it, so read the noisy values, and rely on neither the estimates nor the certificate."
        )


@frozen(kw_only=True)
class PublicKnowledge:
    """What the scenarios say of the statistics, each scenario with its probability; made by `PublicKnowledge.of`.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(
    ...     means={"low": [40], "high": [42]}, covariances=[[3]], pairs=[("low", "high")], names=["age"]
    ... )
    >>> known = PublicKnowledge.of(model)
    >>> known.mean, known.covariance, known.errors, known.error([1.0])
    (array([41.]), array([[4.]]), {'age': 2.0}, 2.0)
    >>> known.estimate([46.0], [[4.0]]).named, round(known.information([[4.0]], [1.0]), 4)
    ({'age': 43.5}, 0.5)
    >>> PublicKnowledge.of(model, prior={"low": 0.75, "high": 0.25}).mean
    array([40.5])
    """

    names: tuple[str, ...]
    """The statistics, in order."""
    scenarios: tuple[str, ...]
    """The scenarios, in order."""
    chances: Floats = array_field()
    """The probability of each scenario."""
    means: Floats = array_field()
    """μ_θ, one a row."""
    covariances: Floats = array_field()
    """Σ_θ, one after the other, with what a reference that is a sample leaves open of μ_θ."""

    @classmethod
    def of(cls, model: QueryModel, prior: Prior = None) -> Self:
        """Return what a model's scenarios say of its statistics."""
        require_model(model)
        laws = model.distributions
        return cls(
            names=model.names,
            scenarios=tuple(laws),
            chances=scenario_chances(tuple(laws), prior),
            means=np.array([law.mean for law in laws.values()]),
            covariances=np.array(
                [law.covariance + error_of_means(model.strata, name, model.dimension) for name, law in laws.items()]
            ),
        )

    @property
    def prior(self) -> dict[str, float]:
        """The probability of each scenario, by name."""
        return dict(zip(self.scenarios, self.chances.tolist(), strict=True))

    @property
    def mean(self) -> Floats:
        """μ̄: what to print if nothing is released."""
        return np.asarray(self.chances @ self.means)

    @property
    def covariance(self) -> Floats:
        """C: how far the statistics are from the public mean."""
        deviation = self.means - self.mean
        return np.asarray(
            np.tensordot(self.chances, self.covariances, axes=1) + (deviation.T * self.chances) @ deviation
        )

    @property
    def errors(self) -> dict[str, float]:
        """The root mean square error of printing the public mean, by statistic."""
        return deviations(self.names, self.covariance)

    def error(self, weights: Sequence[float] | Floats) -> float:
        """Return the weighted root mean square error of printing the public mean."""
        return weighted_rms(self.covariance, np.asarray(weights, dtype=float))

    def error_covariance(self, noise_covariance: object) -> Floats:
        """Return the covariance of what estimates miss, for noise of this covariance."""
        return self._estimator(noise_covariance).error_covariance

    def information(self, noise_covariance: object, weights: Sequence[float] | Floats) -> float:
        """Return the share of the public uncertainty that a release removes, between 0 and 1."""
        costs = np.asarray(weights, dtype=float)
        before, after = self.error(costs), weighted_rms(self.error_covariance(noise_covariance), costs)
        return max(0.0, 1.0 - (after / before) ** 2) if before > 0 else 0.0

    def estimate(self, values: object, noise_covariance: object) -> Estimate:
        """Return the linear Bayes estimate of all statistics.

        Args:
            values: the noisy values, in the statistics' order.
            noise_covariance: N; infinite on the diagonal where a noisy value says nothing.
        """
        deviation = self._deviation(values)
        estimator = self._estimator(noise_covariance)
        deviation = np.where(estimator.observed, deviation, 0.0)
        return Estimate(
            names=self.names, values=self.mean + estimator.gain @ deviation, covariance=estimator.error_covariance
        )

    def fit(self, values: object, noise: "Sequence[Noise]") -> Fit:
        """Return how plausible the noisy values are under the model.

        T is compared with 100,000 seeded draws of Gaussian statistics, or 20,000 where there are very many statistics,
        shared evenly among the scenarios, with the noise as it is.

        Args:
            values: the noisy values, in the statistics' order.
            noise: the law of the noise, or those of several releases whose statistics stand one after the other.
        """
        deviation = self._deviation(values)
        estimator = self._estimator(noise_side_by_side(noise))
        moved = estimator.moves_what_is_fixed(deviation, np.maximum(np.abs(self.mean), np.abs(self.mean + deviation)))
        distance = np.inf if moved else float(((deviation @ estimator.whitening) ** 2).sum())
        return Fit(
            distance=distance,
            dimension=estimator.whitening.shape[1],
            p_value=self._tail(distance, estimator.whitening, noise),
        )

    def _tail(self, distance: float, whitening: Floats, noise: "Sequence[Noise]") -> float:
        size = len(self.names)
        wanted = max(20_000, min(100_000, 10_000_000 // size))
        draws_each = -(-wanted // len(self.scenarios))
        draws, least = draws_each * len(self.scenarios), distance * (1 - 1e-12)
        block = max(1, 2_000_000 // size)  # many statistics take time and not memory
        shares = []
        for number, (mean, covariance) in enumerate(zip(self.means - self.mean, self.covariances, strict=True)):
            values, vectors = np.linalg.eigh(covariance)
            root, farther = (vectors * np.sqrt(np.maximum(values, 0.0))).T @ whitening, 0
            for start in range(0, draws_each, block):
                size = min(block, draws_each - start)
                own, *seeds = np.random.SeedSequence((11, number, start)).generate_state(len(noise) + 1).tolist()
                drawn = np.hstack([law.simulate(size, seed) for law, seed in zip(noise, seeds, strict=True)])
                varied = np.random.default_rng(own).normal(size=(size, len(mean))) @ root
                farther += int((((varied + (mean + drawn) @ whitening) ** 2).sum(axis=1) >= least).sum())
            shares.append(farther / draws_each)
        return float((draws * (self.chances @ np.array(shares)) + 1) / (draws + 1))

    def _deviation(self, values: object) -> Floats:
        given = np.asarray(values, dtype=float)
        if given.shape != (len(self.names),) or not np.isfinite(given).all():
            raise InvalidInput(
                f"an answer must be {len(self.names)} finite numbers, one for each of {', '.join(self.names)}, got "
                f"{values!r}: give them in this order."
            )
        return np.asarray(given - self.mean)

    def _estimator(self, noise_covariance: object) -> LinearEstimator:
        noise = np.asarray(noise_covariance, dtype=float)
        size = len(self.names)
        if noise.shape != (size, size) or np.isnan(noise).any() or (np.diag(noise) < 0).any():
            raise InvalidInput(
                f"the covariance of noise must be {size} × {size} with no NaN and no negative variance, got shape "
                f"{noise.shape}: give that of the statistics {', '.join(self.names)}."
            )
        return linear_estimator(self.covariance, noise)


def noise_side_by_side(laws: "Sequence[Noise]") -> Floats:
    """Return the covariance of independent noises one below the other."""
    return np.asarray(block_diag(*(law.covariance for law in laws)))


def scenario_chances(scenarios: tuple[str, ...], prior: Prior) -> Floats:
    """Return the probability of each scenario, in order.

    >>> scenario_chances(("boom", "bust"), {"bust": 0.25, "boom": 0.75})
    array([0.75, 0.25])
    """
    if prior is None:
        return np.full(len(scenarios), 1 / len(scenarios))
    if not isinstance(prior, Mapping):
        raise InvalidInput(
            f"a prior gives each scenario its probability by name, got {prior!r}: write {{{scenarios[0]!r}: 0.5, …}}."
        )
    for name in prior:
        if name not in scenarios:
            raise InvalidInput(f"the prior names an unknown scenario {name!r}: {did_you_mean(str(name), scenarios)}")
    for name in scenarios:
        if name not in prior:
            raise InvalidInput(
                f"the prior says nothing of scenario {name!r}: give it a probability, 0 if it cannot be."
            )
    cure = "it is a probability, and 0 says that the scenario cannot be"
    chances = [
        real(f"the prior of scenario {name!r}", prior[name], InvalidInput, at_least=0, at_most=1, cure=cure)
        for name in scenarios
    ]
    if abs(sum(chances) - 1) > 1e-6:
        raise InvalidInput(
            f"the probabilities of a prior must sum to 1, and these sum to {sum(chances):g}: divide them by their sum."
        )
    return np.array(chances) / sum(chances)
