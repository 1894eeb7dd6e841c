r"""Two Gaussians with one covariance: their exact privacy curve δ_G and the radii it allows.

At Mahalanobis distance r two such laws satisfy (ε, δ) exactly when δ ≥ δ_G(ε; r)
(Balle & Wang 2018, Theorem 8). A *radius* is a distance that a given (ε, δ) can bear.
Both radii are rounded down, towards more noise.
"""

import math
from typing import Final

import numpy as np
from scipy.special import erfcx, ndtr

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats

__all__ = [
    "analytic_radius",
    "classic_radius",
    "gaussian_delta",
    "gaussian_deltas_upper_bound",
    "mahalanobis",
    "require_epsilon",
    "variance_ratio",
    "whitening",
]

# gaussian_delta is within 1e-12 (1 + √ε) of the truth, relatively: the √ε is the rounding of ε/r - r/2.
_DELTA_ACCURACY: Final = 1e-12


def gaussian_delta(epsilon: float, distance: float) -> float:
    r"""The least δ for which N(0, 1) and N(r, 1) are (ε, δ)-indistinguishable.

    .. math:: δ_G(ε; r) = Φ(r/2 - ε/r) - e^ε Φ(-r/2 - ε/r)

    With x = ε/r - r/2 and y = x + r the densities satisfy e^ε φ(y) = φ(x), so
    :math:`δ_G = φ(x) (m(x) - m(y))` with m the Mills ratio. Where the two nearly cancel their difference is
    computed as the integral of a positive function: the relative accuracy is 1e-12 (1 + √ε) down to δ = 1e-300.

    Args:
        epsilon: The privacy parameter ε ≥ 0.
        distance: The Mahalanobis distance r ≥ 0; ``inf`` is allowed and gives 1.

    >>> import distpriv as dp
    >>> round(dp.distances.gaussian_delta(1.0, 0.38840125), 9)
    0.001
    """
    require_epsilon(epsilon)
    if not distance >= 0:
        raise InvalidInput(f"distance must be at least 0, but is {distance}; pass a Mahalanobis distance.")
    if distance == 0:
        return 0.0
    if math.isinf(distance):
        return 1.0
    x = epsilon / distance - distance / 2
    if x > 40:  # δ_G < φ(40) < 1e-347
        return 0.0
    ratio = float(erfcx((x + distance) / math.sqrt(2)) / erfcx(x / math.sqrt(2)))
    if ratio < 0.75:
        return float(ndtr(-x)) * (1.0 - ratio)
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi) * _mills_drop(x, distance)


def gaussian_deltas_upper_bound(epsilon: float, distances: Floats) -> Floats:
    r"""Return numbers a little above δ_G(ε; r), at many distances at once.

    :math:`Φ(-x) (1 - m(y)/m(x))`, the form of :func:`gaussian_delta` where nothing cancels. Where it does the error is
    a share of Φ(−x), so that much is added: the result is below :math:`(1 + η) δ_G + 2 η Φ(-x)` with
    η = 1e-12 (1 + √ε) and x = ε/r − r/2, and below δ_G only where that is less than 1e-347 and counts as 0.

    >>> gaussian_deltas_upper_bound(1.0, np.array([0.0, 0.38840125, np.inf])).round(9)
    array([0.   , 0.001, 1.   ])
    """
    require_epsilon(epsilon)
    error = _DELTA_ACCURACY * (1 + math.sqrt(epsilon))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        x = epsilon / distances - distances / 2
        ratio = erfcx((x + distances) / math.sqrt(2)) / erfcx(x / math.sqrt(2))
        bound = ndtr(-x) * (1 - ratio + error) * (1 + error)
    bound = np.where((distances == 0) | (x > 40), 0.0, np.where(np.isinf(distances), 1.0, bound))
    return np.asarray(np.minimum(bound, 1.0))


def analytic_radius(epsilon: float, delta: float) -> float:
    r"""The largest Mahalanobis distance r with :math:`δ_G(ε; r) ≤ δ`, rounded down.

    :math:`δ_G` increases in r, so bisection finds it. The search aims below δ by more than the error of
    :func:`gaussian_delta`, so :math:`δ_G(ε; r) ≤ δ` holds for the returned r in exact arithmetic too. δ = 0 allows no
    distance at all.

    >>> import distpriv as dp
    >>> round(dp.distances.analytic_radius(1.0, 1e-3), 8)
    0.38840125
    >>> round(1 / dp.distances.analytic_radius(1.0, 1e-6), 4)    # the noise that hides a shift of 1
    4.2247
    """
    require_epsilon(epsilon)
    _require_delta(delta)
    if delta < 1e-300:  # where gaussian_delta has no digits left
        return 0.0
    target = delta * max(0.0, 1.0 - 2 * _DELTA_ACCURACY * (1.0 + math.sqrt(epsilon)))
    # The root r of Φ(r/2 − ε/r) − e^ε Φ(−r/2 − ε/r) = δ: doubled and halved into a bracket, then bisected.
    low, high = 1.0, 2.0
    while gaussian_delta(epsilon, high) <= target:
        low, high = high, 2 * high
    while gaussian_delta(epsilon, low) > target:
        low, high = low / 2, low
    while low < (middle := low + (high - low) / 2) < high:
        if gaussian_delta(epsilon, middle) <= target:
            low = middle
        else:
            high = middle
    return low


def classic_radius(epsilon: float, delta: float) -> float:
    r"""The radius of the classic Gaussian mechanism, rounded down.

    .. math:: ε / \sqrt{2 \ln(1.25 / δ)}

    Proven for ε ≤ 1 only; at δ = 10⁻³ it is too large, hence unsafe, from ε ≈ 7.46 on.

    >>> import distpriv as dp
    >>> round(dp.distances.classic_radius(1.0, 1e-3), 6)
    0.264797
    """
    require_epsilon(epsilon)
    _require_delta(delta)
    if delta == 0:
        return 0.0
    return epsilon / math.sqrt(2 * (math.log(1.25) - math.log(delta))) * (1.0 - 1e-15)


def mahalanobis(shift: Floats, covariance: Floats) -> float:
    """Return √(dᵀΣ⁻¹d), infinite if d is outside the range of Σ.

    >>> mahalanobis(np.array([2.0, 0.0]), np.diag([4.0, 0.0])), mahalanobis(np.array([0.0, 1.0]), np.diag([4.0, 0.0]))
    (1.0, inf)
    """
    units, variances, axes = _spectrum(covariance)
    inside = variances > 1e-12 * max(float(variances.max(initial=0.0)), 1e-300)
    parts = axes.T @ (shift / units)
    if (np.abs(parts[~inside]) > 1e-13 * len(parts) * np.abs(parts).max(initial=0.0)).any():
        return float("inf")
    return float(np.sqrt((parts[inside] ** 2 / variances[inside]).sum()))


def variance_ratio(one: Floats, other: Floats) -> float:
    """Return the largest ratio, over all directions, of the variances under two covariances; at least 1.

    >>> round(variance_ratio(np.eye(2), np.diag([1.0, 0.25])), 9)
    4.0
    """
    whiten = whitening((one + other) / 2)
    # In units of the average covariance the two variances along an eigenvector add up to 2.
    first = np.clip(np.linalg.eigvalsh(whiten @ one @ whiten.T), 0.0, 2.0)
    least = np.minimum(first, 2.0 - first).min(initial=1.0)
    return float("inf") if least < 1e-10 else float((2.0 - least) / least)


def whitening(covariance: Floats) -> Floats:
    """Return W with W Σ Wᵀ the identity on the range of Σ, which has as many rows as Σ has rank.

    A direction with less than 10⁻¹⁰ of the largest variance, in units of the standard deviations, has none.
    """
    units, variances, axes = _spectrum(covariance)
    inside = variances > 1e-10 * max(float(variances.max(initial=0.0)), 1e-300)
    return np.asarray((axes[:, inside] / np.sqrt(variances[inside])).T / units)


def _spectrum(covariance: Floats) -> tuple[Floats, Floats, Floats]:
    """Return standard deviations, 1 where there is none, and the spectrum of the covariance in their units."""
    deviations = np.sqrt(np.diag(covariance))
    units = np.where(deviations > 0, deviations, 1.0)
    return units, *np.linalg.eigh(covariance / np.outer(units, units))


def _mills_drop(x: float, distance: float) -> float:
    """m(x) - m(x + r) = ∫₀^∞ exp(-xu - u²/2) (1 - exp(-ru)) du, without cancellation, for x > -1.

    With u = exp(v - exp(-v)) the integrand decays doubly exponentially at both ends, so that a trapezoid of step 0.05
    reaches full double precision (Takahasi & Mori 1974).
    """
    step, scale = 0.05, max(1.0, x)
    v = np.arange(-4.0, 6.5, step)
    nodes = np.exp(v - np.exp(-v))
    u = nodes / scale
    terms = np.exp(-x * u - u * u / 2) * -np.expm1(-distance * u)
    return float((step * nodes * (1.0 + np.exp(-v))) @ terms) / scale


def require_epsilon(epsilon: float) -> None:
    """Refuse an ε that is negative, infinite or not a number."""
    if not 0 <= epsilon < math.inf:
        raise InvalidInput(f"epsilon must be finite and at least 0, but is {epsilon}; choose a value such as 1.0.")


def _require_delta(delta: float) -> None:
    if not 0 <= delta < 1:
        raise InvalidInput(f"delta must be at least 0 and below 1, but is {delta}; choose a value such as 1e-3.")
