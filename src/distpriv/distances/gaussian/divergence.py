r"""The hockey-stick divergence of any two Gaussians, or of many pairs at once, with a bound on its own error.

.. math:: H_ε = \frac{1}{2πi} \int_{c-i∞}^{c+i∞} g(s) \, ds, \qquad g(s) = \frac{K(s) e^{-sε}}{s (s+1)},

K(s) = E₁[exp(sL)] with the log-likelihood ratio L, along the contour s(u) = c + κ (sin(φ + iu) - sin φ) through the
saddle point c of width κ = (d²/ds² log g(c))^{-1/2}. What is cut off of it and what the midpoint rule misses is bounded
by theorems, and what rounding does to first order, doubled: `docs/proofs/exact_check.md`, "The error".

A pair is computed in the same steps whether it is alone or one of many: pairs are sorted only by what is their own.
"""

import math
from typing import Final

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike

from distpriv.distances.gaussian.axes import GaussianPairs, axes_by_rank
from distpriv.distances.gaussian.contour import Integrand, least_error
from distpriv.distances.gaussian.radius import require_epsilon
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats, array_field

__all__ = ["HockeyStick", "HockeySticks", "gaussian_hockey_stick", "gaussian_hockey_sticks"]

# How many pairs, times their coordinates and a few arrays without, are computed together: in less than 50 MB.
TOGETHER: Final = 1000


@frozen(kw_only=True)
class HockeyStick:
    """A computed divergence: the truth lies within `error` of `value`.

    >>> import distpriv as dp
    >>> computed = dp.distances.gaussian_hockey_stick(1.0, [1.0], [[4.0]], [[4.0]])
    >>> round(computed.value, 9), computed.error < 1e-12, 0 <= computed.upper_bound - computed.value < 1e-12
    (0.006829595, True, True)
    """

    value: float = field(converter=float)
    """H_ε, as computed."""
    error: float = field(converter=float)
    """How far the truth may be off."""

    @property
    def upper_bound(self) -> float:
        """A number that the truth does not exceed."""
        return min(1.0, self.value + self.error)


@frozen(kw_only=True)
class HockeySticks:
    """Computed divergences of many pairs: the truth lies within `error` of `value`, pair by pair.

    >>> import distpriv as dp
    >>> computed = dp.distances.gaussian_hockey_sticks(1.0, [[1.0], [2.0]], [[[4.0]], [[4.0]]], [[[4.0]], [[4.0]]])
    >>> computed.value.round(6), computed.error < 1e-12
    (array([0.00683 , 0.126937]), array([ True,  True]))
    >>> bool((computed.upper_bound >= computed.value).all())
    True
    """

    value: Floats = array_field()
    """H_ε of each pair, as computed."""
    error: Floats = array_field()
    """How far the truth may be off, pair by pair."""

    @property
    def upper_bound(self) -> Floats:
        """Numbers that the truth does not exceed."""
        return np.minimum(1.0, self.value + self.error)


def gaussian_hockey_stick(
    epsilon: float, mean_difference: ArrayLike, covariance_1: ArrayLike, covariance_2: ArrayLike
) -> HockeyStick:
    r"""The hockey-stick divergence of N(μ₁, C₁) from N(μ₂, C₂), the least δ of the ordered pair at ε.

    .. math:: H_ε = \int (p_1 - e^ε p_2)_+

    If the covariances have different ranges, or μ₁ - μ₂ lies outside the common range, one law gives no mass to the
    support of the other. That support and its complement are then certain under one law and impossible under the
    other, so H_ε = 1 in both directions. :mod:`distpriv.distances.gaussian.axes` says what counts as singular.

    Args:
        epsilon: The privacy parameter ε ≥ 0.
        mean_difference: μ₁ - μ₂.
        covariance_1: C₁, symmetric and positive semidefinite.
        covariance_2: C₂, likewise.

    Returns:
        The value with a bound on its error. Where rounding leaves nothing to be known, value and error are both 1.

    Raises:
        InvalidInput: If ε is negative or infinite, shapes do not fit, or a matrix is no covariance.

    >>> import distpriv as dp
    >>> round(dp.distances.gaussian_hockey_stick(0.0, [0.0], [[1.0]], [[4.0]]).value, 12)
    0.322674568835
    """
    pair = (np.array(given, dtype=float)[np.newaxis] for given in (mean_difference, covariance_1, covariance_2))
    computed = gaussian_hockey_sticks(epsilon, *pair)
    return HockeyStick(value=computed.value[0], error=computed.error[0])


def gaussian_hockey_sticks(
    epsilons: ArrayLike, mean_differences: ArrayLike, covariances_1: ArrayLike, covariances_2: ArrayLike
) -> HockeySticks:
    """:func:`gaussian_hockey_stick` of many pairs of one dimension: the same numbers, in a fraction of the time.

    Raises:
        InvalidInput: If an ε is negative or infinite, shapes do not fit, or a matrix is no covariance.

    >>> import distpriv as dp
    >>> laws = [[[1.0]], [[1.0]]], [[[4.0]], [[1.0]]]
    >>> dp.distances.gaussian_hockey_sticks(0.0, [[0.0], [1.0]], *laws).value.round(6)
    array([0.322675, 0.382925])
    """
    pairs = GaussianPairs.checked(mean_differences, covariances_1, covariances_2)
    epsilon = _epsilons(epsilons, len(pairs.shift))
    size = max(1, TOGETHER // (pairs.shift.shape[1] + 4))
    chunks = (slice(start, start + size) for start in range(0, len(epsilon), size))
    value, error = np.concatenate([_computed(epsilon[chunk], pairs.rows(chunk)) for chunk in chunks], axis=1)
    return HockeySticks(value=value, error=error)


def _epsilons(epsilons: ArrayLike, pairs: int) -> Floats:
    given = np.array(epsilons, dtype=float)
    if given.ndim and given.shape != (pairs,):
        raise InvalidInput(f"epsilons must be one number or {pairs}, but have shape {given.shape}; pass one per pair.")
    for epsilon in given[~((given >= 0) & (given < math.inf))].flat:
        require_epsilon(epsilon)
    return np.broadcast_to(given, pairs)


def _computed(epsilon: Floats, pairs: GaussianPairs) -> Floats:
    """The values and the errors of all pairs, in two rows."""
    both = np.repeat([[1.0], [0.0]], len(epsilon), axis=1)  # certain, unless there is a common range
    with np.errstate(all="ignore"):  # what overflows, far from the saddle or in a variance lost, is never chosen
        for rows, axes in axes_by_rank(pairs):
            differs = axes.excess.any(axis=1) | axes.shift.any(axis=1)
            known = axes.noise < 0.01  # beyond, the first-order bound on rounding is none
            both[0, rows] = both[1, rows] = differs  # 0 where nothing differs; 1 and 1 where nothing is known
            ordinary = differs & known
            if ordinary.any():
                both[:, rows[ordinary]] = least_error(Integrand(epsilon[rows], axes).rows(ordinary))
    return both
