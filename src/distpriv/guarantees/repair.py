"""Noise widened until the rows show its certificate to hold."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.framework.bisection import least_passing
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import RowDelta
from distpriv.guarantees.certify import certified
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.upper_bound import delta_upper_bound
from distpriv.law.resonance import unknown_covariance
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import GaussianNoise, NoNoise, SumNoise

__all__ = ["certified_against_rows"]

GaussianOrSum = GaussianNoise | NoNoise | SumNoise


@frozen(kw_only=True)
class WideningSettings:
    """How noise is widened."""

    attempts: int = 10
    """Certificates computed at most."""
    margin: float = 0.03
    """The share of δ by which an attempt aims below the target, as δ is known to about as much."""
    least_step: float = 0.003
    """The least share by which noise grows from one attempt to the next."""
    largest_step: float = 2.0
    """The largest factor by which it grows from one attempt to the next."""
    least_delta: float = 1e-300
    """A δ counts as this at least, so that it has a logarithm."""
    needless: float = 0.75
    """The share of δ below which noise that holds is too wide, and one between that and what failed is tried."""
    widest: float = 8.0
    """The factor beyond which noise is not widened."""
    peaks: int = 12
    """Peaks of the characteristic function that are smoothed, one after the other."""
    smooth: float = 1e-4
    """The amplitude of a ripple that is left then."""
    widest_smoothing: float = 64.0
    """The variance along a peak, as a multiple of what would do if the statistics varied much more."""


SETTINGS = WideningSettings()


def certified_against_rows(
    model: QueryModel,
    target: PrivacyTarget,
    noise: GaussianOrSum,
    *,
    name: str,
    theorem: str,
    evidence: Sequence[Evidence] = (),
) -> AdditiveMechanism:
    """Return the mechanism with noise that is certified by moments, wider where the rows ask for more.

    Where the statistics nearly repeat and the noise leaves a ripple, noise is added along that combination alone; where
    δ is too large all of it is widened: by as much as moments say would lower it enough.
    """

    def made(law: GaussianOrSum) -> AdditiveMechanism:
        return certified(model, target, law, name=name, theorem=theorem, evidence=evidence)

    mechanism = made(noise)
    for _ in range(SETTINGS.peaks):
        law = mechanism.certificate.law
        if law is None or law.holds:
            break
        smooth = _smoothing(model, noise, law)
        if smooth is None:
            break
        noise, mechanism = smooth, made(smooth)

    def by_moments(factor: float) -> float:
        return delta_upper_bound(model, noise.widened(factor), epsilon=target.epsilon)

    return _widened(lambda factor: made(noise.widened(factor)), by_moments, mechanism)


def _widened(
    made: Callable[[float], AdditiveMechanism], by_moments: Callable[[float], float], first: AdditiveMechanism
) -> AdditiveMechanism:
    """Return the narrowest mechanism tried that holds, each noise wider than the last; the one given if none does.

    The first step goes to where the δ of moments falls by as much as that of the rows must, later ones to where the
    line through the logarithms of the last two δ of the rows reaches the target. Where that was too far, noise in
    between is tried.
    """
    of, target, tried, factor = SETTINGS, first.certificate.target, first, 1.0
    goal = math.log(target.delta * (1 - of.margin)) if target.delta > 0 else -math.inf
    above: list[tuple[float, float]] = []
    for _ in range(of.attempts):
        certificate = tried.certificate
        level = math.log(max(certificate.delta, of.least_delta))
        if certificate.holds_at("checked"):
            if not above or certificate.delta >= of.needless * target.delta or certificate.delta <= 0:
                return tried
            between = _crossing(above[-1], (factor, level), goal)
            less = made(between) if above[-1][0] < between < factor else tried
            return less if less.certificate.holds_at("checked") else tried
        if certificate.law is None and not certificate.contradicted:
            break  # it is not δ that is amiss
        if above and level < above[-1][1]:
            wider = _crossing(above[-1], (factor, level), goal)
        else:
            aim = by_moments(factor) * min(target.delta / certificate.delta, 1.0) * (1 - of.margin)
            wider = _least_factor(by_moments, aim, factor)
        above.append((factor, level))
        factor = min(max(wider, factor * (1 + of.least_step)), factor * of.largest_step)
        if factor > of.widest:
            break
        tried = made(factor)
    return tried if tried.certificate.holds_at("checked") else first


def _crossing(one: tuple[float, float], other: tuple[float, float], goal: float) -> float:
    """Return the factor at which the line through log δ at two factors is at a goal.

    >>> _crossing((1.0, -6.0), (1.5, -7.0), -8.0)
    2.0
    """
    (low, high_delta), (high, low_delta) = one, other
    return low + (high - low) * (goal - high_delta) / (low_delta - high_delta)


def _least_factor(by_moments: Callable[[float], float], aim: float, start: float) -> float:
    """Return the least factor, from a start on, with a δ of no more than is aimed at; infinite if there is none."""
    if by_moments(start) <= aim:
        return start

    def low(more: float) -> bool:
        return by_moments(start * (1 + more)) <= aim

    return start * (1 + least_passing(low, 0.0, 0.01, largest=SETTINGS.widest, within=0.05))


def _smoothing(model: QueryModel, noise: GaussianOrSum, law: RowDelta) -> GaussianNoise | SumNoise | None:
    """Return the noise with as much along the highest peak as leaves little of its ripple; none if no noise can.

    Of what varies by Σ no more than Σ can be unknown, and a ripple needs tᵀCt: where tᵀΣt is not enough, nothing is.
    """
    if law.peak is None:
        return None
    frequency = np.array(law.peak)
    units = np.sqrt(np.mean([np.diag(of.covariance) for of in model.distributions.values()], axis=0))
    along = units**2 * frequency
    before = noise.gaussian.covariance
    needed = _left(model, before, frequency) + 2 * math.log(max(law.ripple, SETTINGS.smooth) / SETTINGS.smooth)

    def smooths(scale: float) -> bool:
        return _left(model, before + scale * np.outer(along, along), frequency) >= needed

    least = needed / float(frequency @ along) ** 2
    scale = least_passing(smooths, 0.0, least, largest=SETTINGS.widest_smoothing * least, within=1e-3)
    return None if scale == math.inf else _with_gaussian(noise, before + scale * np.outer(along, along))


def _left(model: QueryModel, noise: Floats, frequency: Floats) -> float:
    """Return the least tᵀCt of all scenarios."""
    return min(
        float(frequency @ unknown_covariance(law.covariance, noise) @ frequency) for law in model.distributions.values()
    )


def _with_gaussian(noise: GaussianOrSum, covariance: Floats) -> GaussianNoise | SumNoise:
    """Return the noise with another Gaussian part."""
    gaussian = GaussianNoise.of(covariance)
    others = [part for part in noise.parts if not part.is_gaussian]
    return SumNoise(parts=(*others, gaussian)) if others else gaussian
