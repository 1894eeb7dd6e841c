"""The search for the least noise on the statistics' own lattice: which statistics are released whole, and the others.

A statistic in whole steps has next to no noise, and others may need more for it. So all that can be whole are tried
whole, then all but the one that tells most of the scenarios, and so on; what is cheapest and certified is taken
(`docs/proofs/own_lattice.md`, "The search").
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from distpriv.errors import AssumptionViolated
from distpriv.framework.arrays import Floats
from distpriv.framework.bisection import first_passing
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.lattice_floor import counted
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.own_lattice import NARROW, own_lattice_certificate, why_not_whole
from distpriv.guarantees.reference_sample import allowed_delta, cautious
from distpriv.guarantees.whole_steps import Whole, in_whole_steps, less_a_cell, worst_in_whole_steps
from distpriv.mechanisms.search.counted_lattice import SLACK
from distpriv.mechanisms.search.gaussian_search import Indices, Search
from distpriv.mechanisms.search.smooth_floor import natural_units
from distpriv.modelling.model import QueryModel
from distpriv.modelling.utility import weighted_rms
from distpriv.noise.laws import NoiseLaw, RoundedNoise
from distpriv.progress import Progress

__all__ = ["WholeSearch", "in_steps", "on_own_lattice"]

WIDER = (1.0, 1.0001, 1.001, *(1 + 0.01 * 1.4**k for k in range(20)))
"""How many times as wide, in turn, noise is made until it is certified."""

FEW, MOST_SETS = 3, 5
"""Of so few statistics that may be whole every set is tried; of more, so many sets."""

MOST_REASONS = 3
"""How many reasons are told why no statistic can be whole."""

MOST_CERTIFIED = 3
"""How many of the cheapest are held against the rows."""

TINY = 1e-300


@frozen(kw_only=True, eq=False)
class WholeSearch(Search):
    """A search for noise on some of the statistics, the others being released whole."""

    noisy: Indices
    """Which statistics have noise; costs and floor are theirs alone."""

    def excess(self, covariance: Floats, pairs: Indices) -> tuple[Floats, Floats]:
        """Return log H − log δ of some pairs, and its gradients in the covariance of the noise."""
        values, gradients = super(WholeSearch, self).excess(self._all(covariance), pairs)  # noqa: UP008 - made anew
        return values, gradients[:, self.noisy][:, :, self.noisy]

    def above(self, covariance: Floats, pairs: Indices) -> Floats:
        """Return log H − log δ of some pairs."""
        return super(WholeSearch, self).above(self._all(covariance), pairs)  # noqa: UP008 - attrs makes a class anew

    def _all(self, covariance: Floats) -> Floats:
        """Return the noise of all statistics from that of those that have noise."""
        added = np.zeros(self.firsts.shape[1:])
        added[np.ix_(self.noisy, self.noisy)] = covariance
        return added

    @classmethod
    def of(cls, model: QueryModel, target: PrivacyTarget, costs: Floats, noise: RoundedNoise, whole: Whole) -> Search:
        """Return the problem in natural units, with ε and δ less what whole steps cost, for all populations."""
        made_for, units, noisy = cautious(model), natural_units(model), np.flatnonzero(~noise.narrow)
        pairs, origins = made_for.model.protected_pairs, list(made_for.origins)
        reduced, most = counted(model.protected_pairs, whole.smoothed, target.epsilon)
        left = (target.delta - whole.outside) / most + np.expm1(np.minimum(0.0, reduced))
        laws = less_a_cell(made_for.model, noise).distributions
        scale = np.outer(units, units)
        return cls(
            noisy=noisy,
            costs=(costs * units**2 / (costs * units**2).max())[noisy],
            lowest=np.diag((model.floor / units)[noisy] ** 2),
            epsilons=np.maximum(0.0, reduced)[origins],
            deltas=(np.maximum(left, TINY) * (1 - SLACK))[origins],
            shifts=np.array([made_for.model.mean_shift(pair) / units for pair in pairs]),
            firsts=np.array([laws[first].covariance / scale for first, _ in pairs]),
            seconds=np.array([laws[second].covariance / scale for _, second in pairs]),
        )


def on_own_lattice(
    model: QueryModel,
    target: PrivacyTarget,
    costs: Floats,
    shapes: Sequence[Floats],
    *,
    name: str,
    theorem: str,
    progress: Progress,
) -> AdditiveMechanism | None:
    """Return the cheapest mechanism with some statistics in whole steps; none where these cannot be hidden.

    Raises:
        AssumptionViolated: no statistic can be in whole steps, or the law of those that can is not smooth.
    """
    reasons = why_not_whole(model, target.epsilon)
    if None not in reasons:
        said = ", and ".join(list(dict.fromkeys(filter(None, reasons)))[:MOST_REASONS])
        raise AssumptionViolated(f"noise on the statistics' own lattice is for counts: {said}; leave out lattice=True.")
    found: list[RoundedNoise] = []
    sets = _sets(model, [reason is None for reason in reasons])
    for number, whole in enumerate(sets):
        progress("which statistics are whole", number, len(sets))
        least = _least(model, target, costs, shapes, np.isin(np.arange(model.dimension), whole))
        found += [] if least is None else [least]
    progress("which statistics are whole", len(sets), len(sets))
    refused: AdditiveMechanism | None = None
    for noise in sorted(found, key=lambda law: weighted_rms(law.covariance, costs))[:MOST_CERTIFIED]:
        made = _certified(model, target, noise, name=name, theorem=theorem)
        if made.certificate.holds_at("gaussian"):
            return made
        if made.certificate.trust != "gaussian" and not made.certificate.contradicted:
            refused = refused or made
    if refused is not None:
        weak = next(each for each in refused.certificate.assumptions if each.status == "assumed")
        raise AssumptionViolated(
            f"the law of the statistics is not smooth enough for noise on their own lattice ({weak.evidence}): leave "
            "out lattice=True, or give more records."
        )
    return None


def in_steps(mechanism: AdditiveMechanism, model: QueryModel) -> AdditiveMechanism:
    """Return a mechanism with more than a step of Gaussian noise everywhere, whose answers are rounded to steps.

    Rounding is computed from the answer, so that the certificate stays as it is.
    """
    noise: NoiseLaw = RoundedNoise.of(mechanism.noise.covariance, np.zeros(model.dimension), model.steps)
    return evolve(mechanism, noise=noise)


def _sets(model: QueryModel, may: Sequence[bool]) -> list[list[int]]:
    """Return sets of statistics to be whole: all that may, then without the most telling one, and so on."""
    if sum(may) <= FEW:
        able = np.flatnonzero(may).tolist()
        return [list(chosen) for size in range(len(able), 0, -1) for chosen in combinations(able, size)]
    telling = np.zeros(model.dimension)
    for pair in model.protected_pairs:
        covariance = np.mean([model.distributions[scenario].covariance for scenario in pair], axis=0)
        slopes = np.linalg.lstsq(covariance, model.mean_shift(pair), rcond=1e-12)[0]
        telling = np.maximum(telling, np.abs(slopes) * np.sqrt(np.diag(covariance)))
    order = [int(k) for k in np.argsort(-telling, kind="stable") if may[k]]
    return [sorted(order[number:]) for number in range(min(len(order), MOST_SETS))]


def _least(
    model: QueryModel, target: PrivacyTarget, costs: Floats, shapes: Sequence[Floats], whole: NDArray[np.bool_]
) -> RoundedNoise | None:
    """Return the least noise that a search finds with these statistics whole; none if they cannot be."""

    def noise_of(covariance: Floats) -> RoundedNoise:
        return RoundedNoise.of(covariance, np.where(whole, NARROW * model.steps, 0.0), model.steps)

    floor = np.diag(np.where(whole, 0.0, model.floor**2))
    cells = in_whole_steps(model, noise_of(floor), target.delta)
    if not np.isfinite(cells.error):
        return None
    search = WholeSearch.of(model, target, costs, noise_of(floor), cells)
    if search.satisfied:
        return noise_of(floor)
    if whole.all():
        return None
    noisy = np.flatnonzero(~whole)
    units = natural_units(model)[noisy]
    scale = np.outer(units, units)
    starts = [shape[np.ix_(noisy, noisy)] / scale for shape in shapes]
    scaled = search.cheapest(search.scaled(search.lowest, shape) for shape in starts if np.trace(shape) > 0)
    best = search.cheapest([*scaled, *(search.descended(start) for start in scaled[:1])])
    if not best:
        return None
    covariance = np.zeros((model.dimension, model.dimension))
    covariance[np.ix_(noisy, noisy)] = best[0] * scale
    return noise_of(covariance)


def _certified(
    model: QueryModel, target: PrivacyTarget, noise: RoundedNoise, *, name: str, theorem: str
) -> AdditiveMechanism:
    """Return the mechanism, with noise wider by as little as moments and rows ask for."""

    def by_moments(law: RoundedNoise) -> bool:
        cells = in_whole_steps(model, law, target.delta)

        def delta_of(of: QueryModel) -> float:
            return worst_in_whole_steps(of, law, target.epsilon, cells)[1]

        return allowed_delta(model, law.credited, target.epsilon, delta_of, limit=target.delta) <= target.delta

    def made(law: RoundedNoise) -> AdditiveMechanism:
        certificate = own_lattice_certificate(model, target, law, theorem)
        return AdditiveMechanism(name=name, statistics=model.names, noise=law, certificate=certificate)

    wider = [noise.widened(factor) for factor in WIDER]
    start = first_passing(wider, by_moments)
    if start is None or not start.credited.variances.size:
        return made(start or noise)
    found = made(start)
    if found.certificate.trust != "gaussian" or found.certificate.holds:
        return found
    left = wider[wider.index(start) + 1 :]
    holding = first_passing(left, lambda law: made(law).certificate.holds_at("gaussian"))
    return found if holding is None else made(holding)
