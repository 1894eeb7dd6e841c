r"""Coordinates in which two Gaussians are products of one-dimensional ones (`docs/proofs/exact_check.md`).

Every quantity here is free of units: rescaling a statistic, or mixing statistics by an invertible matrix, changes
nothing but the rounding, and how much rounding there was is measured and handed on.
"""

from typing import Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from distpriv.distances.gaussian_pairs import GaussianPairs
from distpriv.framework.arrays import Floats, Rows, rows_of

__all__ = ["CommonAxes", "axes_by_rank"]

# A shift counts as inside the common range if its part outside is at most this fraction of it.
SHIFT_TOLERANCE: Final = 1e-10
UNIT: Final = float(np.finfo(float).eps)


@frozen(kw_only=True, eq=False)
class CommonAxes:
    """N(b, diag(a)) and N(0, I): two Gaussians in coordinates that whiten the second and diagonalise the first.

    Of many pairs, each has a row.

    Attributes:
        excess: a - 1, accurate also where the covariances nearly agree.
        log_ratio: log a, accurate also where they differ by orders of magnitude.
        shift: b, up to signs.
        noise: A bound on rounding: the matrices given are diag(a) and I up to relative perturbations of this norm.
        shift_noise: A bound on the rounding of every entry of b.
    """

    excess: Floats
    log_ratio: Floats
    shift: Floats
    noise: Floats
    shift_noise: Floats

    def rows(self, chosen: Rows | NDArray[np.bool_]) -> "CommonAxes":
        """The axes of some of the pairs."""
        return rows_of(self, chosen)


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
    outside = np.where(in_range, 0.0, parts).max(axis=1) > SHIFT_TOLERANCE * np.abs(shift).max(axis=1)
    apart = ((shift != 0) & ~varies).any(axis=1) | outside | (ranks[0] != rank) | (ranks[1] != rank)
    groups = []
    for one in np.unique(rank[~apart]):
        rows = np.flatnonzero(~apart & (rank == one))
        kept = slice(len(variances[0]) - one, None)  # eigenvalues ascend
        whitening = (directions[rows, :, kept] / np.sqrt(variances[rows, np.newaxis, kept])).transpose(0, 2, 1)
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
    return float(values.shape[-1] + 4) * UNIT


def _in_range(variances: Floats, size: Rows) -> NDArray[np.bool_]:
    """Tell which of the eigenvalues, in units of the standard deviations, are more than rounding of the largest.

    A larger tolerance would hide directions that leak beside strong noise elsewhere. Directions just above it are kept,
    and what rounding does to them shows in `CommonAxes.noise`, which errs on the side of a divergence of 1.
    """
    return np.asarray(variances > 8 * size * UNIT * np.maximum(variances[:, -1:], 0.0))
