"""The searches behind `exact_law`: noise on steps for one statistic, Laplace or Gaussian noise for two and three.

Of several statistics the floor is Gaussian noise of some share of every statistic's standard deviation. For each share
the noise along the shifts is made as narrow as the exact δ allows; neighbouring shares are tried as long as that lowers
the error; for a sample all of it is then widened until the certificate holds. Of one statistic noise for a sample is
made for the reference's own rows together with populations in which noise for these alone would hide least. They are
others than a certificate is about, as noise of many numbers could be made for just those. The searches only choose: δ
is that of the noise that comes out of them.
"""

import math
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Final

import numpy as np
from attrs import frozen

from distpriv.deadline import require_time
from distpriv.errors import InvalidModel, InvalidTarget
from distpriv.framework.arrays import Floats
from distpriv.framework.bisection import least_crossing, least_passing
from distpriv.framework.scenarios import Pair
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.exact_rows import (
    exact_rows_delta,
    grid_deltas,
    population_rows,
    step_deltas,
    worst_pairs,
)
from distpriv.law.cells import RowGrid
from distpriv.law.plausible_cells import of_populations, plausible_strata
from distpriv.law.step_laws import even_shares, step_laws
from distpriv.mechanisms.search.step_program import least_on_steps
from distpriv.modelling.model import QueryModel
from distpriv.modelling.plausible_models import MAKING_SEED
from distpriv.modelling.sensitivity import mean_shifts, shift_basis
from distpriv.modelling.utility import weighted_rms
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw, SumNoise, UnimodalNoise

__all__ = ["noise_on_grid", "noise_on_steps"]


@frozen(kw_only=True)
class Settings:
    """How noise for several statistics is searched."""

    floors: tuple[float, ...] = (0.04, 0.07, 0.12, 0.2, 0.3, 0.45, 0.7, 1.0, 1.5)
    """Gaussian noise that is tried, in standard deviations of the statistics; the search begins at `first`."""
    first: int = 5
    gain: float = 0.997
    """A floor that does not lower the error to this share is the last one that is tried."""
    close: float = 0.85
    """Which share of δ noise must spend while floors are compared."""
    closer: float = 0.99
    """The same in the end."""
    widest: float = 64.0
    """How many times wider than for δ = 0 noise along the shifts may be."""
    least: float = math.sqrt(9 / 12)
    """The deviation, in steps, of the least noise there is: none at all would trust the reference to its last row."""
    within: float = 0.02
    """By how much more than needed noise for a sample may be widened until its certificate holds."""


@frozen(kw_only=True)
class SampleSettings:
    """How noise on steps is made for a sample."""

    points: int = 2**12
    """How many values a statistic may take: its distribution is computed in hundreds of populations."""
    candidates: int = 400
    """Of how many populations those are taken that hide least: more than a certificate looks at, to be beyond those."""
    populations: int = 6
    """For how many populations noise is made: more cost time in proportion, and hardly change it."""
    skipped: tuple[int, ...] = (8, 3, 0)
    """How many of those that hide least are left out, in the first rounds: fewer until the certificate holds."""
    rounds: int = 6
    """How often noise is made, from the third time on for a smaller δ, before it is widened instead."""
    overshoot: float = 0.97
    """By how much more than in proportion δ is lowered each time."""
    widest: float = 4.0
    """How many times wider noise may become after the last round."""
    within: float = 0.01
    """By how much more than needed it may be widened."""


SETTINGS: Final = Settings()
SAMPLE: Final = SampleSettings()


def noise_on_steps(
    rows: RowGrid, target: PrivacyTarget, pairs: Sequence[Pair], settings: SampleSettings = SAMPLE
) -> UnimodalNoise:
    """Return noise of little variance whose δ is at most the target's, by the law of rows on whole steps.

    Raises:
        InvalidTarget: no noise of a reasonable width has so small a δ.
        InvalidModel: a statistic of a sample takes too many values.
    """
    laws = step_laws(rows, most_points=settings.points) if rows.sample else step_laws(rows)
    noise = least_on_steps(laws, target.points, pairs, laws.step)
    if not rows.sample:
        return noise
    worst = worst_pairs(step_deltas(laws, noise, target.epsilon, pairs), pairs)
    hidden = np.concatenate(
        [
            step_deltas(step_laws(part), noise, target.epsilon, several).reshape(-1, len(worst)).max(axis=1)
            for part, several in population_rows(rows, worst, settings.candidates, MAKING_SEED)
        ]
    )
    ranked = np.argsort(-hidden, kind="stable").tolist()
    strata = plausible_strata(rows, settings.candidates, MAKING_SEED)
    asked = 1.0
    for round_ in range(settings.rounds):
        require_time()
        skipped = settings.skipped[min(round_, len(settings.skipped) - 1)]
        chosen = ranked[skipped : skipped + settings.populations]
        whole, several = of_populations(rows, worst, {k + 1: strata[k] for k in chosen}, own=pairs)
        smaller = [PrivacyTarget(epsilon=point.epsilon, delta=asked * point.delta) for point in target.points]
        noise = least_on_steps(step_laws(whole), smaller, several, laws.step)
        spent = _spent(rows, noise, target, pairs)
        if spent <= 1:
            return noise
        if skipped == 0:
            asked *= settings.overshoot / spent

    # A smaller δ in a few populations may hardly widen noise that hides these well and others less.
    def holds(factor: float) -> bool:
        require_time()
        return _spent(rows, _wider_steps(noise, laws.step, factor), target, pairs) <= 1

    factor = least_passing(holds, 1.0, 1.1, largest=settings.widest, within=settings.within)
    if factor < math.inf:
        return _wider_steps(noise, laws.step, factor)
    raise InvalidTarget(
        f"no noise was found with delta = {target.delta:g} at epsilon = {target.epsilon:g} in all populations that "
        "such a sample may be of: give more reference rows, a larger epsilon or delta, or use coupled_gaussian."
    )


def _wider_steps(noise: UnimodalNoise, step: float, factor: float) -> UnimodalNoise:
    """Return noise so many times wider whose edges are still in the middle between two steps."""
    widths, shares = even_shares(noise, step)
    ends = (np.floor(factor * (widths[shares > 0] + 0.5)) + 0.5) * step
    return UnimodalNoise.mixed(np.ones(1), ends, shares[shares > 0])


def noise_on_grid(model: QueryModel, rows: RowGrid, target: PrivacyTarget, weights: Floats) -> NoiseLaw:
    """Return noise of little error whose δ is at most the target's, by the law of two or three statistics.

    Raises:
        InvalidModel: the law has too many points at any floor.
        InvalidTarget: no noise of a reasonable width has so small a δ.
    """
    noise = _GridSearch(model=model, rows=rows, target=target, weights=weights).least()
    if not rows.sample:
        return noise

    def holds(factor: float) -> bool:
        require_time()
        return _spent(rows, noise.widened(factor), target, model.protected_pairs) <= 1

    if holds(1.0):
        return noise
    factor = least_passing(holds, 1.0, 1.1, largest=SETTINGS.widest, within=SETTINGS.within)
    if factor == math.inf:
        raise _none(target)
    return noise.widened(factor)


def _spent(rows: RowGrid, noise: NoiseLaw, target: PrivacyTarget, pairs: Sequence[Pair]) -> float:
    """Return δ as a share of the target's, at the point of the target where that is largest."""
    return max(exact_rows_delta(rows, [noise], point, pairs) / point.delta for point in target.points)


def _none(target: PrivacyTarget) -> InvalidTarget:
    return InvalidTarget(
        f"no noise has delta = {target.delta:g} at epsilon = {target.epsilon:g} by the exact law within reason: give a "
        "larger epsilon or delta."
    )


@frozen(kw_only=True, eq=False, slots=False)
class _GridSearch:
    model: QueryModel
    rows: RowGrid
    target: PrivacyTarget
    weights: Floats

    @cached_property
    def axes(self) -> Floats:
        return shift_basis(self.model)

    @cached_property
    def scales(self) -> Floats:
        """Of noise along the shifts that would do with δ = 0."""
        return _unit_scales(mean_shifts(self.model), self.axes, self.weights) / max(self.target.epsilon, 0.01)

    @cached_property
    def spread(self) -> Floats:
        """The standard deviations of the statistics."""
        variances = [np.diag(law.covariance) for law in self.model.distributions.values()]
        return np.asarray(np.sqrt(np.max(variances, axis=0)))

    def noise(self, kind: str, share: float, factor: float) -> NoiseLaw:
        """Return noise with a floor, and so many times what would do with δ = 0 along the shifts."""
        variances = np.maximum(share * self.spread, SETTINGS.least * self.rows.steps) ** 2
        floor = GaussianNoise(axes=np.eye(len(variances)), variances=variances)
        if factor == 0 or not self.axes.size:
            return floor
        if kind == "gaussian":
            return GaussianNoise.of(floor.covariance + (self.axes * (factor * self.scales) ** 2) @ self.axes.T)
        return SumNoise(parts=(floor, LaplaceNoise(axes=self.axes, scales=factor * self.scales)))

    def deltas(self, noise: NoiseLaw, point: PrivacyTarget) -> Floats:
        return grid_deltas(self.rows, [noise], point, self.model.protected_pairs)

    def narrowest(self, kind: str, share: float, close: float, about: float) -> float:
        """Return about the least factor with this floor whose δ is small enough; infinite where there is none."""

        @cache
        def spent(factor: float) -> float:
            require_time()
            noise = self.noise(kind, share, factor)
            return max(min(1.0, float(self.deltas(noise, point).max())) / point.delta for point in self.target.points)

        def excess(factor: float) -> float:
            return math.log(max(spent(factor), 1e-30))

        try:
            if spent(0.0) <= 1 or not self.axes.size:
                return 0.0 if spent(0.0) <= 1 else math.inf
            of = {"least": 1e-3, "largest": SETTINGS.widest, "within": 5e-4, "enough": -math.log(close)}
            return least_crossing(excess, about, **of)
        except InvalidModel:
            return math.inf

    def least(self) -> NoiseLaw:
        """Return noise of little error whose δ is at most the target's."""
        floors, factors = SETTINGS.floors, dict[tuple[str, int], float]()

        def cost(kind: str, which: int) -> float:
            if (kind, which) not in factors:
                known = [k for (of, _), k in factors.items() if of == kind and 0 < k < math.inf]
                factors[kind, which] = self.narrowest(kind, floors[which], SETTINGS.close, known[-1] if known else 1.0)
            factor = factors[kind, which]
            noise = self.noise(kind, floors[which], factor) if factor < math.inf else None
            return math.inf if noise is None else weighted_rms(noise.covariance, self.weights)

        best = ("laplace", SETTINGS.first)
        for upwards in (True, False):
            following = range(SETTINGS.first + 1, len(floors)) if upwards else reversed(range(SETTINGS.first))
            for which in following:
                before = cost(*best)
                if cost("laplace", which) < before:
                    best = ("laplace", which)
                if math.isfinite(before) and cost("laplace", which) > SETTINGS.gain * before:
                    break
        if self.axes.size and cost("gaussian", best[1]) < cost(*best):
            best = ("gaussian", best[1])
        kind, share, about = best[0], floors[best[1]], factors[best]
        if about == math.inf:
            # Where a law has too many points at any floor, this says so.
            self.deltas(self.noise("gaussian", 1.0, 1.0), self.target)
            raise _none(self.target)
        closer = self.narrowest(kind, share, SETTINGS.closer, about or 1.0)
        return self.noise(kind, share, about if closer == math.inf else closer)


def _unit_scales(shifts: Floats, axes: Floats, weights: Floats) -> Floats:
    r"""Return scales b with :math:`\max_{ij} Σ_k |v_kᵀd_{ij}|/b_k = 1` and little :math:`Σ_k w_k b_k^2`.

    For one shift :math:`b_k ∝ (|v_kᵀd|/w_k)^{1/3}` is best, w the weights of the axes.
    """
    parts = np.abs(shifts @ axes)
    scales = np.cbrt(parts.max(axis=0) / np.maximum(weights @ axes**2, 1e-300))
    return np.asarray(scales * (parts / scales).sum(axis=1).max())
