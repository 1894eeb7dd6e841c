r"""The hockey-stick divergence of any two Gaussians, or of many pairs at once, with a bound on its own error.

.. math:: H_ε = \frac{1}{2πi} \int_{c-i∞}^{c+i∞} g(s) \, ds, \qquad g(s) = \frac{K(s) e^{-sε}}{s (s+1)},

K(s) = E₁[exp(sL)] with the log-likelihood ratio L, along the contour s(u) = c + κ (sin(φ + iu) - sin φ) through the
saddle point c of width κ = (d²/ds² log g(c))^{-1/2}. What is cut off of it and what the midpoint rule misses is bounded
by theorems, and what rounding does to first order, doubled: `docs/proofs/exact_check.md`, "The error".

Every quantity is free of units: rescaling statistics, or mixing them by an invertible matrix, changes nothing but the
rounding, and how much rounding there was is measured and handed on.

A pair is computed in the same steps whether it is alone or one of many: pairs are sorted only by what is their own.
"""

import math
from typing import Final, Literal

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike, NDArray

from distpriv.distances.gaussian.contour import CommonAxes, Integrand, least_error
from distpriv.distances.gaussian.radius import require_epsilon
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats, Rows, array_field, rows_of

__all__ = [
    "GaussianPairs",
    "HockeyStick",
    "HockeySticks",
    "axes_by_rank",
    "gaussian_hockey_stick",
    "gaussian_hockey_sticks",
]

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
    other, so H_ε = 1 in both directions. :func:`axes_by_rank` says what counts as singular.

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


def _computed(epsilon: Floats, pairs: "GaussianPairs") -> Floats:
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


@frozen(kw_only=True, eq=False)
class GaussianPairs:
    """N(μ₁, C₁) and N(μ₂, C₂) for every pair, along the first axis of each array.

    Attributes:
        shift: μ₁ - μ₂.
        first: C₁, symmetric to the last bit.
        second: C₂, likewise.
        spectrum_1: The eigenvalues of C₁ in units of its own standard deviations, in ascending order.
        spectrum_2: The same of C₂.
    """

    shift: Floats
    first: Floats
    second: Floats
    spectrum_1: Floats
    spectrum_2: Floats

    @classmethod
    def checked(cls, shifts: ArrayLike, firsts: ArrayLike, seconds: ArrayLike) -> "GaussianPairs":
        """Return pairs of one dimension, a row for each.

        Raises:
            InvalidInput: If shapes do not fit, or an entry is not finite, or a matrix is no covariance.

        >>> GaussianPairs.checked([[2.0]], [[[8.0]]], [[[4.0]]]).shift
        array([[2.]])
        """
        shift = _finite("mean_difference", shifts, "vector")
        first, second = _finite("covariance_1", firsts, "matrix"), _finite("covariance_2", seconds, "matrix")
        shape = (*shift.shape, shift.shape[-1])
        for name, stack in (("covariance_1", first), ("covariance_2", second)):
            if stack.shape != shape:
                raise InvalidInput(
                    f"{name} must have the shape {shape[1:]}, for each of {shape[0]} mean differences, but has shape "
                    f"{stack.shape[1:]}, for {len(stack)}; pass one row and one column per statistic."
                )
        first, spectrum_1 = _covariances("covariance_1", first)
        second, spectrum_2 = _covariances("covariance_2", second)
        return cls(shift=shift, first=first, second=second, spectrum_1=spectrum_1, spectrum_2=spectrum_2)

    def rows(self, chosen: slice) -> "GaussianPairs":
        """Some of the pairs."""
        return rows_of(self, chosen)


def _finite(name: str, values: ArrayLike, shape: Literal["vector", "matrix"]) -> Floats:
    array = np.array(values, dtype=float)
    if array.ndim != (2 if shape == "vector" else 3) or array.size == 0:
        raise InvalidInput(
            f"{name} must be a {shape} with an entry, for each pair, but has shape {array.shape[1:]}; reshape it."
        )
    if not np.isfinite(array).all():
        culprit = array[~np.isfinite(array)][0]
        raise InvalidInput(f"{name} must be finite, but has an entry {culprit}; remove missing and infinite values.")
    return array


def _covariances(name: str, stack: Floats) -> tuple[Floats, Floats]:
    """Return the matrices, averaged with their transposes, and their spectra."""
    variances = np.diagonal(stack, axis1=1, axis2=2)
    least = variances.min(axis=1)
    _refuse(name, least < 0, "have no negative variance, but one is {:.3g}; pass a covariance", least)
    deviation = np.where(variances > 0, np.sqrt(variances), 1.0)
    scaled = stack / deviation[:, np.newaxis, :] / deviation[:, :, np.newaxis]
    transposed = scaled.transpose(0, 2, 1)
    asymmetry = np.abs(scaled - transposed).max(axis=(1, 2))
    _refuse(name, asymmetry > 1e-12, "be symmetric, but is {:.2g} off its transpose; average the two", asymmetry)
    spectrum: Floats = np.asarray(np.linalg.eigvalsh((scaled + transposed) / 2), dtype=float)
    tied = ((variances == 0)[:, np.newaxis, :] & (scaled != 0)).any(axis=(1, 2))
    # A negative eigenvalue of 1e-13 per dimension, in units of the standard deviations, is rounding.
    indefinite = (spectrum[:, 0] < -1e-13 * stack.shape[1]) | tied
    requirement = (
        "be positive semidefinite, but its least correlation eigenvalue is {:.2g}; set its negative eigenvalues to zero"
    )
    _refuse(name, indefinite, requirement, spectrum[:, 0])
    return stack / 2 + stack.transpose(0, 2, 1) / 2, spectrum


def _refuse(name: str, violated: NDArray[np.bool_], requirement: str, values: Floats) -> None:
    """Refuse the first pair that violates a requirement, with the value by which it does."""
    if violated.any():
        first = int(violated.argmax())
        place = f" of pair {first}" if len(violated) > 1 else ""
        raise InvalidInput(f"{name}{place} must {requirement.format(values[first])}.")


def axes_by_rank(pairs: GaussianPairs) -> list[tuple[Rows, CommonAxes]]:
    """The common axes of all pairs that have a common range, those of one rank together, with their positions.

    The range of the mean of two positive semidefinite matrices is the sum of their ranges, so the ranges agree
    exactly if all three ranks do.
    """
    diagonals = (np.diagonal(matrix, axis1=1, axis2=2) for matrix in (pairs.first, pairs.second))
    deviation = np.sqrt(sum(diagonal / 2 for diagonal in diagonals))
    varies = deviation > 0
    deviation = np.where(varies, deviation, 1.0)
    units = deviation[:, :, np.newaxis], deviation[:, np.newaxis, :]
    shift, first, second = (
        pairs.shift / deviation,
        pairs.first / units[0] / units[1],
        pairs.second / units[0] / units[1],
    )
    variances, directions = np.linalg.eigh((first + second) / 2)
    size = varies.sum(axis=1, keepdims=True)
    in_range = _in_range(variances, size)
    rank = in_range.sum(axis=1)
    ranks = [_in_range(spectrum, size).sum(axis=1) for spectrum in (pairs.spectrum_1, pairs.spectrum_2)]
    parts = np.abs(directions.transpose(0, 2, 1) @ shift[:, :, np.newaxis])[:, :, 0]
    outside = np.where(in_range, 0.0, parts).max(axis=1) > 1e-10 * np.abs(shift).max(axis=1)
    singular = ((shift != 0) & ~varies).any(axis=1) | outside | (ranks[0] != rank) | (ranks[1] != rank)
    groups = []
    for one in np.unique(rank[~singular]):
        rows = np.flatnonzero(~singular & (rank == one))
        largest = slice(len(variances[0]) - one, None)  # eigenvalues ascend
        whitening = (directions[rows, :, largest] / np.sqrt(variances[rows, np.newaxis, largest])).transpose(0, 2, 1)
        groups.append((rows, _diagonalised(shift[rows], first[rows], second[rows], whitening)))
    return groups


def _diagonalised(shift: Floats, first: Floats, second: Floats, whitening: Floats) -> CommonAxes:
    """The axes of first against second, given a matrix that whitens their mean.

    The divergence does not change under invertible maps, so an inexact eigenbasis does no harm by itself: what it
    leaves off the diagonal is measured and counted as noise.
    """
    white_first, white_second = (_congruent(whitening, matrix) for matrix in (first, second))
    # The smaller matrix is the one whose small entries an eigenbasis of the other would not resolve.
    smaller = np.trace(white_first, axis1=1, axis2=2) <= np.trace(white_second, axis1=1, axis2=2)
    _, basis = np.linalg.eigh(np.where(smaller[:, np.newaxis, np.newaxis], white_first, white_second))
    axes = basis.transpose(0, 2, 1) @ whitening
    product_1, product_2, difference = (_congruent(axes, matrix) for matrix in (first, second, first - second))
    variances_1, variances_2 = _diagonal(product_1), _diagonal(product_2)
    excess = _diagonal(difference) / variances_2
    deviations = np.sqrt(variances_2)
    moved = (np.abs(axes) @ np.abs(shift)[:, :, np.newaxis])[:, :, 0]
    return CommonAxes(
        excess=excess,
        log_ratio=np.where(np.abs(excess) < 0.5, np.log1p(excess), np.log(variances_1 / variances_2)),
        shift=(axes @ shift[:, :, np.newaxis])[:, :, 0] / deviations,
        noise=_relative_noise(axes, first, product_1) + _relative_noise(axes, second, product_2),
        shift_noise=_rounding(shift) * moved / deviations,
    )


def _relative_noise(axes: Floats, covariance: Floats, product: Floats) -> Floats:
    """Frobenius norm of D^{-1/2} (A C Aᵀ - D) D^{-1/2}, D the diagonal of A C Aᵀ, rounding of the product included."""
    scale = np.sqrt(_diagonal(product))
    residual = np.where(np.eye(product.shape[1], dtype=bool), 0.0, np.abs(product))
    residual += _rounding(covariance) * _congruent(np.abs(axes), np.abs(covariance))
    relative = residual / (scale[:, :, np.newaxis] * scale[:, np.newaxis, :])
    return np.asarray(np.sqrt(np.square(relative).sum(axis=(1, 2))))


def _congruent(axes: Floats, matrix: Floats) -> Floats:
    return np.asarray(axes @ matrix @ axes.transpose(0, 2, 1))


def _diagonal(matrix: Floats) -> Floats:
    return np.diagonal(matrix, axis1=1, axis2=2)


def _rounding(values: Floats) -> float:
    """Relative error of two nested sums over the last axis, and of the rescaling before them."""
    return float(values.shape[-1] + 4) * float(np.finfo(float).eps)


def _in_range(variances: Floats, size: Rows) -> NDArray[np.bool_]:
    """Tell which of the eigenvalues, in units of the standard deviations, are more than rounding of the largest.

    A larger tolerance would hide directions that leak beside strong noise elsewhere. Directions just above it are kept,
    and what rounding does to them shows in `CommonAxes.noise`, which errs on the side of a divergence of 1.
    """
    return np.asarray(variances > 8 * size * np.finfo(float).eps * np.maximum(variances[:, -1:], 0.0))
