"""What is known of the law of noisy statistics beyond its moments, from the rows that they are made of.

Assurance `checked` believes that the statistics are Gaussian. Where they are sums over reference rows their law is
known, and three things are looked at before a certificate leaves (`docs/proofs/law_check.md`): ripples that the noise
leaves standing, exact laws of combinations of the released numbers, and how far the law is from its bell curve.
"""

from weakref import WeakKeyDictionary

import numpy as np

from distpriv.errors import DistprivError
from distpriv.framework.arrays import Floats
from distpriv.framework.bisection import least_passing
from distpriv.framework.secrets import Pair
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.checked_law import LARGEST_CHANCE, CheckedLaw
from distpriv.guarantees.directions import telling_directions
from distpriv.guarantees.exact_delta import LARGEST_EPSILON, worst_gaussian_pair
from distpriv.guarantees.far_rows import far_rows_gate
from distpriv.guarantees.line_bound import LineNoise
from distpriv.guarantees.line_second_order import line_second_order
from distpriv.guarantees.projections import worst_projection
from distpriv.guarantees.saddlepoint import saddlepoint_check
from distpriv.modelling.cell_rows import repeats_on_lattice_only
from distpriv.modelling.model import QueryModel
from distpriv.modelling.row_laws import RowLaws
from distpriv.modelling.spectrum import Spectrum, distinct_peaks, spectrum, unknown_covariance
from distpriv.noise.laws import GaussianNoise, Noise

__all__ = [
    "LEAST_DELTA",
    "UNKNOWN",
    "checked_law",
    "has_rows",
    "rows_behind",
    "second_order_delta",
    "standing_peaks",
    "telling_epsilon",
]

MOST_PEAKS = 6
"""How many peaks, those with the highest ripples, are looked at along their own direction."""

SHARE_OF_TARGET = 0.05
"""The least δ, as a share of the target's, that is corrected."""

FAR_BELOW = 0.7
"""A δ by the second-order law that is below this share of the target's need not be known better."""

KNOWN_ON_LINES = 0.3
"""Under noise along a line, δ is not known to be below this share of the target's: points are chosen for more."""

LEAST_DELTA = 1e-5
"""Under noise that is not Gaussian, a smaller δ is not known: it is decided where none of the points lies."""

UNKNOWN = 1e3
"""The gate where the second-order law could not be computed."""

_found: WeakKeyDictionary[RowLaws, dict[bytes, Spectrum]] = WeakKeyDictionary()


def has_rows(model: QueryModel) -> bool:
    """Tell whether the statistics are sums over rows that can be looked at."""
    return model.simulator is not None and model.provenance.method == "exact moments"


def checked_law(model: QueryModel, noise: Noise, target: PrivacyTarget, worst: Pair, delta: float) -> CheckedLaw:
    """Look at the rows behind statistics with this noise.

    Args:
        model: the model.
        noise: what is added to the statistics.
        target: what a certificate is to meet.
        worst: the scenarios that moments tell apart best.
        delta: by how much.
    """
    rows = model.rows().row_laws()
    try:
        found = _found_with(model, rows, noise)
    except np.linalg.LinAlgError:  # numbers of all sizes: nothing was looked for
        found = Spectrum(peaks=(), missed=1.0)
    ripples = _ripples(model, noise, found)
    frequencies = _highest(found, ripples)
    directions = telling_directions(model, rows, noise.covariance, worst, frequencies)
    told = worst_projection(model, rows, noise, target.epsilon, directions or [np.zeros(model.dimension)])
    second_order, gate = (None, None) if told.resolved else (1.0, UNKNOWN)
    if model.dimension > 1:
        try:
            second_order, gate = second_order_delta(model, rows, noise, target, delta)
        except (DistprivError, np.linalg.LinAlgError):  # what cannot be computed vouches for nothing
            second_order, gate = 1.0, UNKNOWN
    return CheckedLaw(
        ripple=float(ripples.sum()),
        peak=tuple(frequencies[0].tolist()) if frequencies else None,
        missed=found.missed,
        projected=told.delta,
        combination=tuple(told.direction.tolist()),
        total_variation=told.total_variation,
        combinations=len(directions),
        second_order=second_order,
        gate=gate,
    )


def second_order_delta(
    model: QueryModel,
    rows: RowLaws,
    noise: Noise,
    target: PrivacyTarget,
    delta: float,
) -> tuple[float, float]:
    """Return δ by the second-order law, and how far that may be off.

    A δ far below the target's is not computed: at a smaller ε, where moments have a share of the target's, it is no
    smaller.

    Args:
        model: the model.
        rows: the rows behind it.
        noise: what is added to the statistics.
        target: what a certificate is to meet.
        delta: what moments say.
    """
    if noise.is_gaussian:
        found, gate = _second_order_of_gaussian(model, rows, noise.gaussian, target, delta)
    elif (line := LineNoise.of(noise)) is None:  # along several axes nothing is known beyond moments and projections
        return delta, UNKNOWN
    elif target.delta < LEAST_DELTA:
        return 1.0, UNKNOWN
    else:
        found, gate = line_second_order(model, rows, line, target.epsilon, target.delta)
        found = max(found, KNOWN_ON_LINES * target.delta)
    far_out = far_rows_gate(model, rows, noise.gaussian.covariance, target.delta)
    return found, max(gate, min(far_out, UNKNOWN))


def _second_order_of_gaussian(
    model: QueryModel, rows: RowLaws, noise: GaussianNoise, target: PrivacyTarget, delta: float
) -> tuple[float, float]:
    """Return δ and how far it may be off for Gaussian noise."""
    epsilon = telling_epsilon(model, noise, target, delta)
    measured = repeats_on_lattice_only(rows, model.steps)  # a heavy row makes lobes that no draw lands on
    enough = FAR_BELOW * target.delta
    check = saddlepoint_check(model, rows, noise, epsilon, model.protected_pairs, enough=enough, measured=measured)
    if not check.is_known or check.gaussian_delta == 0:
        return 1.0, UNKNOWN
    return check.delta_with_error, check.gate


def telling_epsilon(model: QueryModel, noise: GaussianNoise, target: PrivacyTarget, delta: float) -> float:
    """Return the target's ε, or a smaller one at which moments have a share of the target's δ where they have less."""
    level, epsilon = SHARE_OF_TARGET * target.delta, target.epsilon

    def low(epsilon: float) -> bool:
        return worst_gaussian_pair(model, noise, epsilon)[1] <= level

    if level <= delta:
        return epsilon
    return min(least_passing(low, 0.0, max(epsilon, 0.1), largest=LARGEST_EPSILON, within=1e-3), epsilon)


def rows_behind(model: QueryModel) -> RowLaws | None:
    """Return the rows that statistics are sums over; None where there are none, or no sums over them."""
    return model.rows().row_laws() if has_rows(model) else None


def standing_peaks(model: QueryModel, rows: RowLaws, noise: Noise) -> list[Floats]:
    """Return the frequencies whose ripples are highest in statistics with this noise, for whoever looks for them.

    Noise below the model's floor is searched as if it were there: what stands higher up stands at these, too.
    """
    found = _spectrum(model, rows, np.diag(model.floor**2) + noise.gaussian.covariance)
    return _highest(found, _ripples(model, noise, found))


def _found_with(model: QueryModel, rows: RowLaws, noise: Noise) -> Spectrum:
    """Return the peaks that noise may leave: of those that the floor may, found once, and of a search for this noise.

    Wider noise leaves less room for peaks, so that a search through all of it takes fewer draws, and those that are
    smoothed away hide no others.
    """
    if repeats_on_lattice_only(rows, model.steps):
        return Spectrum(peaks=(), missed=0.0)
    found = _spectrum(model, rows, np.diag(model.floor**2))
    if model.dimension == 1 or (not found.peaks and found.missed <= LARGEST_CHANCE):
        return found
    again = _spectrum(model, rows, noise.gaussian.covariance)
    covariance = np.mean([law.covariance for law in model.distributions.values()], axis=0)
    both = distinct_peaks([*found.peaks, *again.peaks], covariance)
    return Spectrum(peaks=both, missed=min(found.missed, again.missed))


def _highest(found: Spectrum, ripples: Floats) -> list[Floats]:
    """Return the frequencies of the highest ripples, the highest first."""
    order = np.argsort(-ripples, kind="stable")[:MOST_PEAKS]
    return [found.peaks[k].frequency for k in order if ripples[k] > 0]


def _spectrum(model: QueryModel, rows: RowLaws, floor: Floats) -> Spectrum:
    """Return the peaks that noise of no less than a floor may leave, found once for these rows."""
    known = _found.setdefault(rows, {})
    key = floor.tobytes()
    if key not in known:
        covariances = {name: law.covariance for name, law in model.distributions.items()}
        known[key] = spectrum(rows, covariances, floor)
    return known[key]


def _ripples(model: QueryModel, noise: Noise, found: Spectrum) -> Floats:
    """Return the height of each peak's ripple, both signs of its frequency, in the scenario where it is highest."""
    heights = np.zeros(len(found.peaks))
    for name, law in model.distributions.items():
        left = unknown_covariance(law.covariance, noise.gaussian.covariance)
        heights = np.maximum(heights, [2 * peak.ripple(left, name) for peak in found.peaks])
    return heights
