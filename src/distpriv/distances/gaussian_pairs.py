"""Pairs of Gaussians as they are given, one or many, checked before anything is computed from them."""

from typing import Final

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike, NDArray

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats, rows_of

__all__ = ["GaussianPairs", "gaussian_pair", "gaussian_pairs"]

# A negative eigenvalue of this size, per dimension and in units of the standard deviations, is rounding.
INDEFINITE: Final = 1e-13
SYMMETRY_TOLERANCE: Final = 1e-12


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

    def rows(self, chosen: slice) -> "GaussianPairs":
        """Some of the pairs."""
        return rows_of(self, chosen)


def gaussian_pair(mean_difference: ArrayLike, covariance_1: ArrayLike, covariance_2: ArrayLike) -> GaussianPairs:
    """A single pair, as a batch of one.

    Raises:
        InvalidInput: If shapes do not fit, or an entry is not finite, or a matrix is no covariance.

    >>> gaussian_pair([2.0], [[8.0]], [[4.0]]).shift
    array([[2.]])
    """
    shift = _finite("mean_difference", mean_difference, axes=1)
    first, second = (
        _finite(name, values, axes=2)
        for name, values in (("covariance_1", covariance_1), ("covariance_2", covariance_2))
    )
    for name, matrix in (("covariance_1", first), ("covariance_2", second)):
        if matrix.shape != (len(shift), len(shift)):
            raise InvalidInput(
                f"{name} must be {len(shift)} by {len(shift)} to fit mean_difference, but has shape {matrix.shape}; "
                "pass one row and one column per statistic."
            )
    return _checked(shift[np.newaxis], ("covariance_1", first[np.newaxis]), ("covariance_2", second[np.newaxis]))


def gaussian_pairs(mean_differences: ArrayLike, covariances_1: ArrayLike, covariances_2: ArrayLike) -> GaussianPairs:
    """Many pairs of one dimension.

    Raises:
        InvalidInput: If shapes do not fit, or an entry is not finite, or a matrix is no covariance.

    >>> gaussian_pairs([[2.0], [3.0]], [[[8.0]], [[2.0]]], [[[4.0]], [[1.0]]]).shift
    array([[2.],
           [3.]])
    """
    shift = _finite("mean_differences", mean_differences, axes=2)
    first, second = _finite("covariances_1", covariances_1, axes=3), _finite("covariances_2", covariances_2, axes=3)
    for name, stack in (("covariances_1", first), ("covariances_2", second)):
        if stack.shape != (*shift.shape, shift.shape[1]):
            raise InvalidInput(
                f"{name} must have shape {(*shift.shape, shift.shape[1])} to fit mean_differences, but has shape "
                f"{stack.shape}; pass one matrix per pair, with one row and one column per statistic."
            )
    return _checked(shift, ("covariances_1[{}]", first), ("covariances_2[{}]", second))


def _checked(shift: Floats, first: tuple[str, Floats], second: tuple[str, Floats]) -> GaussianPairs:
    (first_halves, spectrum_1), (second_halves, spectrum_2) = _covariances(*first), _covariances(*second)
    return GaussianPairs(
        shift=shift, first=first_halves, second=second_halves, spectrum_1=spectrum_1, spectrum_2=spectrum_2
    )


def _finite(name: str, values: ArrayLike, axes: int) -> Floats:
    array = np.array(values, dtype=float)
    if array.ndim != axes or array.size == 0:
        raise InvalidInput(f"{name} must have {axes} axes and an entry, but has shape {array.shape}; reshape it.")
    if not np.isfinite(array).all():
        culprit = array[~np.isfinite(array)][0]
        raise InvalidInput(f"{name} must be finite, but has an entry {culprit}; remove missing and infinite values.")
    return array


def _covariances(name: str, stack: Floats) -> tuple[Floats, Floats]:
    """Return the matrices, averaged with their transposes, and their spectra; the name has a place for a number."""
    variances = np.diagonal(stack, axis1=1, axis2=2)
    for k in _first(variances.min(axis=1) < 0):
        found = variances[k].min()
        raise InvalidInput(f"{name.format(k)} must have no negative variance, but one is {found}; pass a covariance.")
    deviation = np.where(variances > 0, np.sqrt(variances), 1.0)
    scaled = stack / deviation[:, np.newaxis, :] / deviation[:, :, np.newaxis]
    transposed = scaled.transpose(0, 2, 1)
    asymmetry = np.abs(scaled - transposed).max(axis=(1, 2))
    for k in _first(asymmetry > SYMMETRY_TOLERANCE):
        raise InvalidInput(
            f"{name.format(k)} must be symmetric, but is {asymmetry[k]:.2g} off its transpose; average the two."
        )
    spectrum: Floats = np.asarray(np.linalg.eigvalsh((scaled + transposed) / 2), dtype=float)
    tied = ((variances == 0)[:, np.newaxis, :] & (scaled != 0)).any(axis=(1, 2))
    for k in _first((spectrum[:, 0] < -INDEFINITE * stack.shape[1]) | tied):
        raise InvalidInput(
            f"{name.format(k)} must be positive semidefinite, but its least correlation eigenvalue is "
            f"{spectrum[k, 0]:.2g}; set its negative eigenvalues to zero."
        )
    return stack / 2 + stack.transpose(0, 2, 1) / 2, spectrum


def _first(flagged: NDArray[np.bool_]) -> list[int]:
    """The position of the first pair that is flagged, if any is."""
    return [int(flagged.argmax())] if flagged.any() else []
