r"""Coordinates in which two Gaussians are both products of one-dimensional ones.

Every quantity here is free of units: rescaling a statistic, or mixing statistics by an invertible matrix, changes
nothing but the rounding, and how much rounding there was is measured and handed on.
"""

from typing import Final

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike, NDArray

from distpriv.errors import InvalidInput

__all__ = ["CommonAxes", "common_axes"]

Array = NDArray[np.float64]

# A negative eigenvalue of this size, per dimension and in units of the standard deviations, is rounding.
INDEFINITE: Final = 1e-13
# A shift counts as inside the common range if its part outside is at most this fraction of it.
SHIFT_TOLERANCE: Final = 1e-10
SYMMETRY_TOLERANCE: Final = 1e-12


@frozen(kw_only=True, eq=False)
class CommonAxes:
    """N(b, diag(a)) and N(0, I): two Gaussians in coordinates that whiten the second and diagonalise the first.

    Attributes:
        excess: a - 1, accurate also where the covariances nearly agree.
        log_ratio: log a, accurate also where they differ by orders of magnitude.
        shift: b, up to signs.
        noise: A bound on rounding: the matrices given are diag(a) and I up to relative perturbations of this norm.
        shift_noise: A bound on the rounding of every entry of b.
    """

    excess: Array
    log_ratio: Array
    shift: Array
    noise: float
    shift_noise: Array


def common_axes(mean_difference: ArrayLike, covariance_1: ArrayLike, covariance_2: ArrayLike) -> CommonAxes | None:
    """Diagonalise both covariances at once on their common range; None if the laws have no common range.

    The range of the mean of two positive semidefinite matrices is the sum of their ranges, so the ranges agree
    exactly if all three ranks do.

    Raises:
        InvalidInput: If shapes do not fit, or an entry is not finite, or a matrix is no covariance.

    >>> axes = common_axes([2.0], [[8.0]], [[4.0]])
    >>> axes.excess, axes.shift
    (array([1.]), array([1.]))
    """
    shift = _finite("mean_difference", mean_difference, dimensions=1)
    first = _covariance("covariance_1", covariance_1, len(shift))
    second = _covariance("covariance_2", covariance_2, len(shift))
    deviation = np.sqrt(np.diag(first) / 2 + np.diag(second) / 2)
    varies = deviation > 0
    if shift[~varies].any():
        return None
    deviation = deviation[varies]
    shift = shift[varies] / deviation
    first, second = (_rescaled(matrix[np.ix_(varies, varies)], deviation) for matrix in (first, second))
    variances, directions = np.linalg.eigh((first + second) / 2)
    in_range = _in_range(variances)
    outside = np.abs(directions[:, ~in_range].T @ shift).max(initial=0.0)
    if outside > SHIFT_TOLERANCE * np.abs(shift).max(initial=0.0):
        return None
    if not _rank(first) == _rank(second) == in_range.sum():
        return None
    return _diagonalised(shift, first, second, (directions[:, in_range] / np.sqrt(variances[in_range])).T)


def _diagonalised(shift: Array, first: Array, second: Array, whitening: Array) -> CommonAxes:
    """The axes of first against second, given a matrix that whitens their mean.

    The divergence does not change under invertible maps, so an inexact eigenbasis does no harm by itself: what it
    leaves off the diagonal is measured and counted as noise.
    """
    white_first, white_second = (whitening @ matrix @ whitening.T for matrix in (first, second))
    # The smaller matrix is the one whose small entries an eigenbasis of the other would not resolve.
    _, basis = np.linalg.eigh(white_first if np.trace(white_first) <= np.trace(white_second) else white_second)
    axes = basis.T @ whitening
    variances_1, variances_2 = (np.diag(axes @ matrix @ axes.T) for matrix in (first, second))
    excess = np.diag(axes @ (first - second) @ axes.T) / variances_2
    deviations = np.sqrt(variances_2)
    return CommonAxes(
        excess=excess,
        log_ratio=np.where(np.abs(excess) < 0.5, np.log1p(excess), np.log(variances_1 / variances_2)),
        shift=axes @ shift / deviations,
        noise=_relative_noise(axes, first) + _relative_noise(axes, second),
        shift_noise=_rounding(len(shift)) * (np.abs(axes) @ np.abs(shift)) / deviations,
    )


def _relative_noise(axes: Array, covariance: Array) -> float:
    """Frobenius norm of D^{-1/2} (A C Aᵀ - D) D^{-1/2}, D the diagonal of A C Aᵀ, rounding of the product included."""
    product = axes @ covariance @ axes.T
    scale = np.sqrt(np.diag(product))
    residual = np.abs(product - np.diag(np.diag(product)))
    residual += _rounding(len(covariance)) * (np.abs(axes) @ np.abs(covariance) @ np.abs(axes).T)
    return float(np.linalg.norm(residual / np.outer(scale, scale)))


def _rounding(dimension: int) -> float:
    """Relative error of two nested sums of so many terms, and of the rescaling before them."""
    return (dimension + 4) * float(np.finfo(float).eps)


def _rank(covariance: Array) -> int:
    deviation = np.sqrt(np.diag(covariance))
    variances = np.asarray(np.linalg.eigvalsh(_rescaled(covariance, np.where(deviation > 0, deviation, 1.0))))
    return int(_in_range(variances).sum())


def _in_range(variances: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Tell which of the eigenvalues, in units of the standard deviations, are more than rounding of the largest.

    A larger tolerance would hide directions that leak beside strong noise elsewhere. Directions just above it are kept,
    and what rounding does to them shows in `CommonAxes.noise`, which errs on the side of a divergence of 1.
    """
    return np.asarray(variances > 8 * len(variances) * float(np.finfo(float).eps) * variances.max(initial=0.0))


def _rescaled(matrix: Array, deviation: Array) -> Array:
    return np.asarray(matrix / deviation / deviation[:, None])


def _finite(name: str, values: ArrayLike, dimensions: int) -> Array:
    array = np.array(values, dtype=float)
    if array.ndim != dimensions or array.size == 0:
        raise InvalidInput(f"{name} must have {dimensions} axes and an entry, but has shape {array.shape}; reshape it.")
    if not np.isfinite(array).all():
        raise InvalidInput(f"{name} must be finite, but is {array.tolist()}; remove missing and infinite values.")
    return array


def _covariance(name: str, values: ArrayLike, dimension: int) -> Array:
    matrix = _finite(name, values, dimensions=2)
    if matrix.shape != (dimension, dimension):
        raise InvalidInput(
            f"{name} must be {dimension} by {dimension} to fit mean_difference, but has shape {matrix.shape}; "
            "pass one row and one column per statistic."
        )
    variances = np.diag(matrix)
    if variances.min() < 0:
        raise InvalidInput(f"{name} must have no negative variance, but one is {variances.min()}; pass a covariance.")
    deviation = np.where(variances > 0, np.sqrt(variances), 1.0)
    scaled = _rescaled(matrix, deviation)
    asymmetry = np.abs(scaled - scaled.T).max()
    if asymmetry > SYMMETRY_TOLERANCE:
        raise InvalidInput(f"{name} must be symmetric, but is {asymmetry:.2g} off its transpose; average the two.")
    least = np.linalg.eigvalsh(scaled).min()
    if least < -INDEFINITE * dimension or scaled[:, variances == 0].any():
        raise InvalidInput(
            f"{name} must be positive semidefinite, but its least correlation eigenvalue is {least:.2g}; "
            "set its negative eigenvalues to zero."
        )
    return np.asarray(matrix / 2 + matrix.T / 2)
