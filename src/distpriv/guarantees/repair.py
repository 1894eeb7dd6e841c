"""Noise widened until the rows have nothing to say against its certificate."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from distpriv.framework.arrays import Floats
from distpriv.framework.bisection import least_passing
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Assumption, Certificate
from distpriv.guarantees.certify import certified, moments_delta
from distpriv.guarantees.checked_law import CheckedLaw
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel
from distpriv.modelling.spectrum import unknown_covariance
from distpriv.noise.laws import GaussianNoise, NoNoise, SumNoise

__all__ = ["certified_against_rows"]

PEAKS = 12
"""How many peaks are smoothed, one after the other."""

SMOOTH = 1e-4
"""The ripple that is left of one."""

WIDEST_SMOOTHING = 64.0
"""Noise along a peak has up to so many times the variance that would do if the statistics varied much more."""

WIDEST = 8.0
"""Noise is widened by up to this factor."""

CLOSE, CLOSE_OTHERWISE, NEAR_TARGET = 3e-4, 5e-3, 0.002
"""By which share noise may be wider than δ asks for, or the logarithm of δ below the target's.

Noise with a Laplace part, and noise that something else than δ is against, is known less well.
"""

FEW, CLOSE_FOR_MANY = 10, 0.02
"""Of more statistics than this a check takes its time, and noise may be by so much wider."""

WIDEN_FIRST, GROWN = 0.05, 4.0
"""By how much noise is widened first, at most, and by which factor more after that."""

AIM = 0.5
"""By which share of what may be left δ is aimed below the target's."""

STEEP, SECANTS = 0.1, 4
"""By how much noise is widened for the logarithm of δ where nothing is known of it, and how often that is mended."""

EDGE = 0.05
"""The next factor keeps this share of the interval away from its ends."""


def certified_against_rows(
    model: QueryModel,
    target: PrivacyTarget,
    noise: GaussianNoise | NoNoise | SumNoise,
    *,
    name: str,
    theorem: str,
    assumptions: Sequence[Assumption] = (),
) -> AdditiveMechanism:
    """Return the mechanism with noise that is certified by moments, wider where the rows contradict that.

    Where the statistics repeat and the noise leaves a ripple, noise is added along that combination alone; where an
    exact law has too large a δ all of it is widened.
    """

    def made(law: GaussianNoise | NoNoise | SumNoise) -> AdditiveMechanism:
        return certified(model, target, law, name=name, theorem=theorem, assumptions=assumptions)

    found = made(noise)
    for _ in range(PEAKS):
        law = found.certificate.law
        if law is None or law.is_smooth:
            break
        smooth = _smoothing(model, noise, law)
        if smooth is None:
            break
        noise, found = smooth, made(smooth)
    if found.certificate.holds_at("checked") or found.certificate.law is None:
        return found

    def by_moments(factor: float) -> float:
        return moments_delta(model, target, noise.widened(factor))

    return _widened(lambda factor: made(noise.widened(factor)), by_moments, found) or found


def _widened(
    made: Callable[[float], AdditiveMechanism], by_moments: Callable[[float], float], unwidened: AdditiveMechanism
) -> AdditiveMechanism | None:
    """Return the mechanism with noise widened by about the least factor that makes it hold; none if none does.

    Rows take their time, and moments do not. By how many times the δ of the rows is the larger one hardly changes with
    the factor: the next one to try is where that of moments is as many times below the target, and a little less.
    """
    few, known_well = len(unwidened.statistics) <= FEW, unwidened.noise.kind == "gaussian"
    room = NEAR_TARGET * ((1 if few else 5) if known_well else 15)

    def next_after(at: float, excess: float, farthest: float) -> float:
        return min(at + _step_down(lambda step: by_moments(at + step), excess + AIM * room, room), farthest)

    low, above = 1.0, _log_excess(unwidened.certificate)
    high = next_after(low, above, 1 + WIDEN_FIRST)
    best = made(high)
    while not best.certificate.holds_at("checked"):
        if high >= WIDEST:
            return None
        low, above = high, _log_excess(best.certificate)
        high = next_after(low, above, min(1 + max(GROWN * (high - 1), WIDEN_FIRST), WIDEST))
        best = made(high)
    below = _log_excess(best.certificate)
    while below < -room:
        near = CLOSE if above < math.inf and known_well else CLOSE_OTHERWISE
        if high - low <= high * (near if few else CLOSE_FOR_MANY):
            break
        share = above / (above - below) if above < math.inf else 0.5
        middle = low + (high - low) * min(max(share + EDGE, EDGE), 1 - EDGE)
        tried = made(middle)
        if tried.certificate.holds_at("checked"):
            best, high, below = tried, middle, _log_excess(tried.certificate)
        else:
            low, above = middle, _log_excess(tried.certificate)
    return best


def _step_down(of: Callable[[float], float], wanted: float, room: float) -> float:
    """Return about the step after which the logarithm of a falling δ has fallen by so much; infinite if it does not."""
    first = of(0.0)
    if first <= 0 or wanted == math.inf:
        return math.inf
    before, fell_before, step = 0.0, 0.0, STEEP * wanted
    for _ in range(SECANTS):
        after = of(step)
        fell = math.log(first / after) if after > 0 else math.inf
        if abs(fell - wanted) <= AIM * room:
            break
        if not fell_before < fell < math.inf:
            return math.inf
        before, fell_before, step = step, fell, step + (wanted - fell) * (step - before) / (fell - fell_before)
        if not before / GROWN <= step <= WIDEST:  # a line through two of its points says nothing of δ here
            return math.inf
    return step


def _log_excess(certificate: Certificate) -> float:
    """Return the logarithm of δ over the target's; infinite where δ is not what is amiss."""
    if certificate.delta > 0 and (certificate.assurance == "checked" or certificate.contradicted):
        return math.log(certificate.delta / certificate.target.delta)
    return -math.inf if certificate.holds_at("checked") else math.inf


def _smoothing(
    model: QueryModel, noise: GaussianNoise | NoNoise | SumNoise, law: CheckedLaw
) -> GaussianNoise | SumNoise | None:
    """Return the noise with as much along the highest peak as leaves little of its ripple; none if no noise can.

    Of what varies by Σ no more than Σ can be unknown, and a ripple needs tᵀCt: where tᵀΣt is not enough, nothing is.
    """
    assert law.peak is not None
    frequency = np.array(law.peak)
    units = np.sqrt(np.mean([np.diag(of.covariance) for of in model.distributions.values()], axis=0))
    along = units**2 * frequency
    before = noise.gaussian.covariance
    needed = _left(model, before, frequency) + 2 * math.log(max(law.ripple, SMOOTH) / SMOOTH)

    def smooths(scale: float) -> bool:
        return _left(model, before + scale * np.outer(along, along), frequency) >= needed

    least = needed / float(frequency @ along) ** 2
    scale = least_passing(smooths, 0.0, least, largest=WIDEST_SMOOTHING * least, within=1e-3)
    return None if scale == math.inf else _with_gaussian(noise, before + scale * np.outer(along, along))


def _left(model: QueryModel, noise: Floats, frequency: Floats) -> float:
    """Return the least tᵀCt of all scenarios."""
    return min(
        float(frequency @ unknown_covariance(law.covariance, noise) @ frequency) for law in model.distributions.values()
    )


def _with_gaussian(noise: GaussianNoise | NoNoise | SumNoise, covariance: Floats) -> GaussianNoise | SumNoise:
    """Return the noise with another Gaussian part."""
    gaussian = GaussianNoise.of(covariance)
    others = [part for part in noise.parts if not part.is_gaussian]
    return SumNoise(parts=(*others, gaussian)) if others else gaussian
