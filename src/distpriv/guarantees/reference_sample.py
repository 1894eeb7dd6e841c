r"""What a reference that is a sample leaves open: how surely it tells a shift, and which δ it allows to promise.

Means and covariances of a sample are off by what its number of rows allows for, and noise that is made to the point for
a shift a little too short gives more away: Laplace noise over its edge by a lot. So δ is that of the
worst of several populations that such a sample may be of (`modelling.plausible_models`), and noise is made for these.
"""

import math
from collections.abc import Sequence

import numpy as np
from attrs import evolve, frozen
from scipy.special import ndtri

from distpriv.distances.gaussian.estimates import hockey_stick_estimates
from distpriv.framework.arrays import Floats, correlations
from distpriv.framework.scenarios import Pair
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.farthest_pairs import farthest
from distpriv.guarantees.line_noise import LineNoise
from distpriv.guarantees.upper_bound import laplace_bound
from distpriv.modelling.model import QueryModel, SampledStratum
from distpriv.modelling.plausible_models import MAKING_SEED, TRIED, Population, plausible_models, plausible_population
from distpriv.noise.laws import GaussianNoise, Noise

__all__ = [
    "CONFIDENCE",
    "Cautious",
    "cautious",
    "largest_unseen_share",
    "reference_evidence",
    "relative_errors",
    "stretched",
    "unseen_rows_evidence",
    "worst_population",
]

CONFIDENCE = 0.99
"""With what confidence δ, and the share of rows that a sample lacks, are bounded."""


@frozen(kw_only=True)
class SampleSettings:
    """How many populations and pairs of them are computed."""

    pairs: int = 400
    """About how many pairs of populations noise is made for."""
    fewest: int = 3
    """The fewest populations that noise is made for."""
    worst: int = 24
    """The protected pairs computed in every population: those with the largest δ by the reference itself."""
    worst_of_laplace: int = 2
    """The same under Laplace noise, of which estimates take longer."""
    shortlisted: int = 12
    """The populations, by each of two rules, in which δ under Laplace noise is estimated."""


SETTINGS = SampleSettings()


@frozen(kw_only=True)
class Cautious:
    """A model of the pairs that noise is made for, and of which pairs of the model itself they are variants."""

    model: QueryModel
    origin: QueryModel
    """The model that certificates are about."""
    origins: tuple[int, ...]
    """For every protected pair, which one it is in that model."""


def relative_errors(model: QueryModel, noise: Floats | None = None) -> dict[Pair, float]:
    r"""Return the relative standard error of every protected pair's mean shift; nothing where it is exact.

    Along :math:`ℓ = (Σ + S)^{-1} d`, which tells the pair apart best: :math:`\sqrt{ℓ^\top C ℓ}/ℓ^\top d`, C the
    covariance of the error of d. Infinite where there is no shift.
    """
    errors = {}
    for pair in model.protected_pairs if model.strata else ():
        shift = model.mean_shift(pair)
        first, second = (model.distributions[name].covariance for name in pair)
        direction = _solved((first + second) / 2 + (0.0 if noise is None else noise), shift)
        moved = float(direction @ shift)
        errors[pair] = math.sqrt(float(direction @ _error(model, pair) @ direction)) / moved if moved > 0 else math.inf
    return errors


def _strata(model: QueryModel, pair: Pair) -> list[tuple[SampledStratum, int]]:
    """Return the strata that two scenarios draw from, and how many rows more the first has of each."""
    first, second = pair
    return [
        (stratum, stratum.drawn.get(first, 0) - stratum.drawn.get(second, 0))
        for stratum in model.strata
        if first in stratum.drawn or second in stratum.drawn
    ]


def reference_evidence(model: QueryModel, noise: Noise, delta: float) -> tuple[Evidence, ...]:
    """Return what a certificate on a sample rests on, the rows and how surely they tell the shifts; else nothing."""
    if not model.strata:
        return ()
    errors = relative_errors(model, noise.covariance)
    finite = {pair: error for pair, error in errors.items() if math.isfinite(error)}
    pair = max(finite, key=finite.__getitem__, default=model.protected_pairs[0])
    rows = {stratum.kind: stratum.rows for stratum, _ in _strata(model, pair)}
    return (Evidence.of("DP310", rows=rows, relative_error=errors[pair], delta=delta, confidence=CONFIDENCE),)


def largest_unseen_share(rows: int) -> float:
    """Return the share below which rows of a kind are that a sample of `rows` rows has none of: 4.6/N at 99 %.

    A kind with a larger share would have shown itself with a chance of 99 %: (1 − α)^N = 0.01.

    >>> round(largest_unseen_share(1000), 5)
    0.00459
    """
    return -math.expm1(math.log(1 - CONFIDENCE) / rows)


def unseen_rows_evidence(model: QueryModel) -> tuple[Evidence, ...]:
    """Return that rows which a sample lacks are like those it has, and how many there may be; nothing of a population.

    Only rows in which coupled datasets differ can tell scenarios apart: the chance that one of these is of a kind that
    the reference never shows is that of the pair that differs in most rows.
    """
    if not model.strata:
        return ()
    rows = {stratum.kind: stratum.rows for stratum in model.strata}
    if any(stratum.loads is not None for stratum in model.strata):  # the weight of rows it lacks is not known
        return (Evidence.of("DP313", rows=rows, shares=None, chance=None, confidence=None),)
    shares = {kind: largest_unseen_share(count) for kind, count in rows.items()}
    chance = max(
        -math.expm1(sum(abs(moves) * math.log1p(-largest_unseen_share(s.rows)) for s, moves in _strata(model, pair)))
        for pair in model.protected_pairs
    )
    return (Evidence.of("DP313", rows=rows, shares=shares, chance=chance, confidence=CONFIDENCE),)


def worst_population(model: QueryModel, noise: Noise, epsilon: float) -> Population:
    """Return that of a hundred populations in which noise hides least, by estimates."""
    rank = _gaussian_estimates if noise.is_gaussian else _laplace_estimates
    most = SETTINGS.worst if noise.is_gaussian else SETTINGS.worst_of_laplace
    can_be_worst = [model.protected_pairs[place] for place in farthest(model.protected_pairs, model.scenarios)]
    roughly = rank([model], can_be_worst, noise, epsilon)[0]
    pairs = [can_be_worst[k] for k in np.argsort(-roughly, kind="stable")[:most]]
    populations = plausible_models(model, TRIED)
    places = list(range(TRIED)) if noise.is_gaussian else _farthest(populations, pairs, noise, epsilon)
    worst = rank([populations[place] for place in places], pairs, noise, epsilon).max(axis=1)
    return plausible_population(model, places[int(worst.argmax())])


def _farthest(models: Sequence[QueryModel], pairs: Sequence[Pair], noise: Noise, epsilon: float) -> list[int]:
    """Return the populations that Laplace noise may hide least: by noise as wide that is Gaussian, and by their shifts.

    An estimate for Laplace noise takes a hundred times as long.
    """
    as_wide = _gaussian_estimates(models, pairs, GaussianNoise.of(noise.covariance), epsilon).max(axis=1)
    wide = noise.laplace_scales > 0
    along = np.linalg.pinv(noise.laplace_axes[:, wide]) / noise.laplace_scales[wide, np.newaxis]
    carried = [max(float(np.abs(along @ model.mean_shift(pair)).sum()) for pair in pairs) for model in models]
    chosen = {
        int(k)
        for rule in (as_wide, np.array(carried))
        for k in np.argsort(-rule, kind="stable")[: SETTINGS.shortlisted]
    }
    return sorted(chosen)


def _gaussian_estimates(models: Sequence[QueryModel], pairs: Sequence[Pair], noise: Noise, epsilon: float) -> Floats:
    added = noise.gaussian.covariance
    shifts = np.array([model.mean_shift(pair) for model in models for pair in pairs])
    firsts, seconds = (
        np.array([model.distributions[pair[side]].covariance for model in models for pair in pairs]) + added
        for side in (0, 1)
    )
    estimates = hockey_stick_estimates(np.full(len(shifts), epsilon), shifts, firsts, seconds)
    return np.asarray(estimates.reshape(len(models), len(pairs)))


def _laplace_estimates(models: Sequence[QueryModel], pairs: Sequence[Pair], noise: Noise, epsilon: float) -> Floats:
    line = LineNoise.of(noise)
    if line is not None:
        return np.array([line.delta_estimates(model, pairs, epsilon) for model in models])
    return np.array([[laplace_bound(model, pair, noise, epsilon) for pair in pairs] for model in models])


def cautious(model: QueryModel, most: int = SETTINGS.pairs, seed: int = MAKING_SEED) -> Cautious:
    """Return the pairs to make noise for: the model's own and, of a sample, those of populations that it may be of.

    Of shares in a range the farthest pairs are enough: what noise is worth for all of them, certificates say.

    Populations are others than those that a certificate uses, unless the seed says otherwise: noise of many
    numbers could be made for just these.
    """
    own = tuple(farthest(model.protected_pairs, model.scenarios))
    if not model.strata:
        all_of_them = len(own) == len(model.protected_pairs)
        fewer = tuple(model.protected_pairs[place] for place in own)
        made_for = model if all_of_them else evolve(model, protected_pairs=fewer)
        return Cautious(model=made_for, origin=model, origins=own)
    distances = np.array([_distance(model, model.protected_pairs[place]) for place in own])
    chosen = sorted(own[k] for k in np.argsort(-distances, kind="stable")[: SETTINGS.worst])
    several = plausible_models(model, int(np.clip(most // len(chosen), SETTINGS.fewest, TRIED)), seed)
    laws, pairs, origins = dict(model.distributions), [model.protected_pairs[place] for place in own], list(own)
    for number, population in enumerate(several, start=1):
        laws |= {f"{name} / {number}": law for name, law in population.distributions.items()}
        for place in chosen:
            first, second = model.protected_pairs[place]
            pairs.append((f"{first} / {number}", f"{second} / {number}"))
            origins.append(place)
    every = evolve(model, distributions=laws, protected_pairs=tuple(pairs), strata=(), scenarios={}, simulator=None)
    return Cautious(model=every, origin=model, origins=tuple(origins))


def _error(model: QueryModel, pair: Pair) -> Floats:
    """Return the covariance of the error of a pair's mean shift."""
    covariance = np.zeros((model.dimension, model.dimension))
    together: dict[str | None, Floats] = {}
    for stratum, moves in _strata(model, pair):
        if stratum.loads is None:
            covariance += moves**2 * stratum.error
        else:  # the errors of one property's values go together
            together[stratum.family] = together.get(stratum.family, 0.0) + moves * stratum.loads
    return np.asarray(sum((load @ load.T for load in together.values()), covariance))


def _distance(model: QueryModel, pair: Pair) -> float:
    first, second = (model.distributions[name].covariance for name in pair)
    shift = model.mean_shift(pair)
    return float(shift @ _solved((first + second) / 2, shift))


def _solved(matrix: Floats, vector: Floats) -> Floats:
    """Return the solution of a system with a covariance matrix, whatever its units; the least where it is singular."""
    units, scaled = correlations(matrix)
    return np.asarray(np.linalg.lstsq(scaled, vector / units, rcond=1e-12)[0] / units)


def stretched(model: QueryModel) -> QueryModel:
    """Return the model with scenarios farther apart by what the reference leaves open of their shifts.

    Means are stretched about the middle of all scenarios that are protected from each other, by 1 + z times the
    relative standard error of their shifts, z the quantile of `CONFIDENCE`. A population is returned as it is.
    """
    if not model.strata:
        return model
    errors, quantile = relative_errors(model), float(ndtri(CONFIDENCE))
    distributions = dict(model.distributions)
    for names in _families(model):
        relative = max((r for pair, r in errors.items() if pair[0] in names and math.isfinite(r)), default=0.0)
        middle = np.mean([model.distributions[name].mean for name in sorted(names)], axis=0)
        for name in names:
            law = model.distributions[name]
            distributions[name] = evolve(law, mean=middle + (1 + quantile * relative) * (law.mean - middle))
    return evolve(model, distributions=distributions)


def _families(model: QueryModel) -> list[set[str]]:
    """Return the scenarios that are protected from each other, directly or by way of others."""
    families: list[set[str]] = []
    for pair in model.protected_pairs:
        joined = [family for family in families if family & set(pair)]
        families = [family for family in families if family not in joined] + [set(pair).union(*joined)]
    return families
