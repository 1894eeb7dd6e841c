"""The law of statistics some of which are released in whole steps, held against the rows.

Exactly where it has few values. Else as any other law (`guarantees.law_check`), with three differences: ripples are
looked for at every frequency that whole numbers have, exact laws of one and two whole statistics are looked at, and the
second order grows by what whole steps cost (`docs/proofs/own_lattice.md`).
"""

from itertools import combinations
from weakref import WeakKeyDictionary

import numpy as np

from distpriv.errors import DistprivError
from distpriv.framework.arrays import Floats
from distpriv.framework.secrets import Pair
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.checked_law import CheckedLaw
from distpriv.guarantees.directions import telling_directions
from distpriv.guarantees.lattice_laws import MOST_PLACES, ExactDelta, exact_lattice_delta, rows_are_whole
from distpriv.guarantees.law_check import UNKNOWN, second_order_delta, telling_epsilon
from distpriv.guarantees.projections import worst_projection
from distpriv.guarantees.whole_steps import Whole, worst_in_whole_steps
from distpriv.modelling.model import QueryModel
from distpriv.modelling.row_laws import RowLaws
from distpriv.modelling.spectrum import Spectrum, unknown_covariance
from distpriv.modelling.zone import zone_spectrum
from distpriv.noise.laws import RoundedNoise

__all__ = ["checked_whole_law"]

TOGETHER, FEW_PLACES = 2, 2**15
"""Of how many statistics in whole steps the exact law is looked at, if they have so few values, beside that of all."""

_found: WeakKeyDictionary[RowLaws, dict[bytes, Spectrum]] = WeakKeyDictionary()


def checked_whole_law(
    model: QueryModel, noise: RoundedNoise, target: PrivacyTarget, worst: Pair, whole: Whole
) -> CheckedLaw:
    """Hold the law against the rows: exactly where it has few values, else by ripples, projections and second order."""
    rows = model.rows().row_laws()
    parts = _exact_parts(model, rows, noise, target)
    alone = max(parts, key=lambda positions: parts[positions].delta, default=())
    combination = np.isin(np.arange(model.dimension), alone).astype(np.float64)
    everything = tuple(range(model.dimension))
    if everything in parts:
        exact = parts[everything]
        single = model.dimension == 1
        return CheckedLaw(
            ripple=0.0,
            peak=None,
            missed=0.0,
            projected=exact.delta,
            combination=tuple(combination.tolist()),
            total_variation=exact.total_variation,
            combinations=len(parts),
            second_order=None if single else exact.delta,
            gate=None if single else 0.0,
        )
    found = _spectrum(model, rows, noise)
    ripples = _ripples(model, noise, found)
    order = np.argsort(-ripples, kind="stable")
    frequencies = [found.peaks[k].frequency for k in order if ripples[k] > 0]
    directions = telling_directions(model, rows, noise.credited.covariance, worst, frequencies[:TOGETHER])
    told = worst_projection(model, rows, noise.credited, target.epsilon, directions)
    second_order, gate = _second_order(model, rows, noise, target, whole)
    known = max((part.delta for part in parts.values()), default=0.0)
    return CheckedLaw(
        ripple=float(ripples.sum()),
        peak=tuple(frequencies[0].tolist()) if frequencies else None,
        missed=found.missed,
        projected=max(told.delta, known),
        combination=tuple((told.direction if told.delta >= known else combination).tolist()),
        total_variation=max(told.total_variation, *(part.total_variation for part in parts.values()), 0.0),
        combinations=len(directions) + len(parts),
        second_order=second_order,
        gate=gate,
    )


def _exact_parts(
    model: QueryModel, rows: RowLaws, noise: RoundedNoise, target: PrivacyTarget
) -> dict[tuple[int, ...], ExactDelta]:
    """Return the exact δ of every one or two of the statistics in whole steps, and of all where that can be had."""
    whole = np.flatnonzero(noise.narrow).tolist()
    several = [chosen for size in range(1, TOGETHER + 1) for chosen in combinations(whole, size)]
    sizes = dict.fromkeys(several, FEW_PLACES)
    if all(rows_are_whole(rows, model.steps)):
        sizes[tuple(range(model.dimension))] = MOST_PLACES
    parts = {
        chosen: exact_lattice_delta(model, rows, noise.credited, chosen, target.epsilon, target.delta, places=places)
        for chosen, places in sizes.items()
    }
    return {chosen: found for chosen, found in parts.items() if found is not None}


def _second_order(
    model: QueryModel, rows: RowLaws, noise: RoundedNoise, target: PrivacyTarget, whole: Whole
) -> tuple[float, float]:
    """Return δ by the second-order law, by as much more as whole steps cost, and how far that may be off."""
    continuous = worst_in_whole_steps(model, noise, target.epsilon)[1]
    try:
        found, gate = second_order_delta(model, rows, noise.credited, target, continuous, measured=False)
    except (DistprivError, np.linalg.LinAlgError):  # what cannot be computed vouches for nothing
        return 1.0, UNKNOWN
    epsilon = telling_epsilon(model, noise.credited, target, continuous)
    before, after = (worst_in_whole_steps(model, noise, epsilon, cost)[1] for cost in (None, whole))
    return (min(1.0, found * max(1.0, after / before)), gate) if before > 0 else (1.0, UNKNOWN)


def _spectrum(model: QueryModel, rows: RowLaws, noise: RoundedNoise) -> Spectrum:
    """Return the peaks that noise at the floor of the other statistics may leave, found once for these rows."""
    known = _found.setdefault(rows, {})
    key = noise.narrow.tobytes()
    if key not in known:
        covariances = {name: law.covariance for name, law in model.distributions.items()}
        least = np.diag(np.where(noise.narrow, 0.0, model.floor**2))
        known[key] = zone_spectrum(rows, covariances, least, np.where(noise.narrow, noise.steps, 0.0))
    return known[key]


def _ripples(model: QueryModel, noise: RoundedNoise, found: Spectrum) -> Floats:
    """Return the height of each peak's ripple, both signs of its frequency, in the scenario where it is highest."""
    heights = np.zeros(len(found.peaks))
    for name, law in model.distributions.items():
        left = unknown_covariance(law.covariance, noise.credited.covariance)
        heights = np.maximum(heights, [2 * peak.ripple(left, name) for peak in found.peaks])
    return heights
