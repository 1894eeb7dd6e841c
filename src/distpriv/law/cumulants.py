r"""The second-order term of saddlepoint densities, at many points at once.

With ρ the standardised cumulants of the tilted distribution,
:math:`c_2 = ρ_4/8 - ρ_{13}^2/8 - ρ_{23}^2/12` (McCullagh 1987, eq. 6.15). The number of rows of each stratum is a
variable beside the statistics, which are a conditional distribution given it; its own term is taken off again. Sums
over kinds of rows are matrix products with their monomials up to degree three; where statistics outnumber rows the
third-order terms are sums over pairs of rows instead.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats
from distpriv.law.saddlepoint import SETTINGS, Saddlepoints, TiltedLaw, TiltedStratum

__all__ = ["log_densities", "second_order_terms"]


def log_densities(law: TiltedLaw, at: Saddlepoints, which: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return log q to the second order at some of the saddlepoints, and c₂; where 1 + c₂ is no factor it is 0.1."""
    terms = np.maximum(second_order_terms(law, at, which), -0.9)
    return at.log_densities[which] + np.log1p(terms), terms


def second_order_terms(law: TiltedLaw, at: Saddlepoints, which: NDArray[np.intp]) -> Floats:
    """Return c₂ at some of the saddlepoints; 0 where there is none."""
    size, kinds = len(law.mean), sum(len(stratum.values) for stratum in law.strata)
    by_pairs = kinds < size * (size + 1)
    largest = max(kinds * max(kinds, size) if by_pairs else max(kinds * size, size**3), 1)
    chunk = max(1, SETTINGS.at_once // largest)
    parts = [_terms(law, at, which[start : start + chunk], by_pairs) for start in range(0, len(which), chunk)]
    terms = np.concatenate(parts) if parts else np.zeros(0)
    return np.where(at.known[which], terms, 0.0)


@frozen(kw_only=True, eq=False)
class _Part:
    """One stratum at some points: cumulants of the numbers of its rows, and the rows seen from their tilted mean."""

    stratum: TiltedStratum
    three: Floats
    four: Floats
    number: Floats
    """The variance of the number of rows."""
    centre: Floats
    lengths: Floats
    """Of every row, squared, where K'' is the unit matrix and the number of rows counts as a coordinate."""

    @classmethod
    def of(cls, stratum: TiltedStratum, tilts: Floats, levels: Floats, inverse: Floats) -> "_Part":
        two, three, four = stratum.cumulants_at(tilts, levels)
        number, values = two.sum(axis=1), stratum.values
        centre = two @ values / number[:, np.newaxis]
        pull = (inverse @ centre[:, :, np.newaxis])[:, :, 0]
        lengths = ((values @ inverse) * values).sum(axis=2)
        lengths += (1 / number + (pull * centre).sum(axis=1))[:, np.newaxis] - 2 * pull @ values.T
        return cls(stratum=stratum, three=three, four=four, number=number, centre=centre, lengths=lengths)


def _terms(law: TiltedLaw, at: Saddlepoints, which: NDArray[np.intp], by_pairs: bool) -> Floats:
    covariances = law.covariances(at.tilts[which], [level[which] for level in at.levels])
    inverse = np.asarray(np.linalg.inv(covariances), dtype=np.float64)
    strata = zip(law.strata, at.levels, strict=True)
    parts = [_Part.of(stratum, at.tilts[which], level[which], inverse) for stratum, level in strata]
    fourth = sum((part.four * part.lengths**2).sum(axis=1) for part in parts)
    root = np.asarray(np.linalg.cholesky(inverse), dtype=np.float64)
    third = _third_by_pairs(parts, root) if by_pairs else _third_by_statistics(parts, root)
    return np.asarray(fourth / 8 - third - sum(stratum.number_term for stratum in law.strata))


def _third_by_statistics(parts: Sequence[_Part], root: Floats) -> Floats:
    """Return ρ₁₃²/8 + ρ₂₃²/12 by the third cumulant tensor of the statistics."""
    points, size = len(root), root.shape[1]
    alone, crossed = np.zeros(points), np.zeros(points)
    vectors, tensors = np.zeros((points, size)), np.zeros((points, size, size, size))
    for part in parts:
        three, number, values = part.three, part.number, part.stratum.values
        pulled = three * part.lengths
        alone += pulled.sum(axis=1) ** 2 / number
        vectors += pulled @ values - pulled.sum(axis=1)[:, np.newaxis] * part.centre
        total, single = three.sum(axis=1), three @ values
        double, triple = _moments(three, values)
        c = part.centre
        outer = c[:, :, np.newaxis] * c[:, np.newaxis]
        moved = double - _symmetric(single[:, :, np.newaxis] * c[:, np.newaxis])
        moved += total[:, np.newaxis, np.newaxis] * outer
        tensors += triple - _cyclic(double, c) + _cyclic(outer, single)
        weighed = total[:, np.newaxis, np.newaxis] * outer
        tensors -= weighed[:, :, :, np.newaxis] * c[:, np.newaxis, np.newaxis]
        singles = single - total[:, np.newaxis] * c
        turned = root.swapaxes(1, 2) @ moved @ root
        crossed += 3 * (turned**2).sum(axis=(1, 2)) / number
        crossed += 3 * (_turned(singles, root) ** 2).sum(axis=1) / number**2 + total**2 / number**3
    half = (tensors.reshape(points, size * size, size) @ root).reshape(points, size, size, size)
    half = np.einsum("pabc,pbd->padc", half, root, optimize=True)
    whole = np.einsum("padc,pae->pedc", half, root, optimize=True)
    third = (alone + (_turned(vectors, root) ** 2).sum(axis=1)) / 8
    return np.asarray(third + (crossed + (whole**2).sum(axis=(1, 2, 3))) / 12)


def _third_by_pairs(parts: Sequence[_Part], root: Floats) -> Floats:
    """Return the same by the angles between all rows.

    With z_j the rows, a coordinate for each number among them,
    ρ₁₃² = Σ κ₃ⱼ κ₃ₖ |z_j|² (z_j·z_k) |z_k|² and ρ₂₃² = Σ κ₃ⱼ κ₃ₖ (z_j·z_k)³.
    """
    if not parts:
        return np.zeros(len(root))
    rows = np.concatenate([(part.stratum.values - part.centre[:, np.newaxis]) @ root for part in parts], axis=1)
    three = np.concatenate([part.three for part in parts], axis=1)
    lengths = np.concatenate([part.lengths for part in parts], axis=1)
    angles, start = rows @ rows.swapaxes(1, 2), 0
    for part in parts:
        own = slice(start, start + part.three.shape[1])
        angles[:, own, own] += 1 / part.number[:, np.newaxis, np.newaxis]
        start = own.stop
    alone = three * lengths
    one = (alone * (angles @ alone[:, :, np.newaxis])[:, :, 0]).sum(axis=1)
    two = (three * (angles**3 @ three[:, :, np.newaxis])[:, :, 0]).sum(axis=1)
    return np.asarray(one / 8 + two / 12)


def _moments(weights: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return Σ w x xᵀ and Σ w x ⊗ x ⊗ x at every point, from the distinct monomials."""
    size = values.shape[1]
    first, second = np.triu_indices(size)
    one, two, three = _triples(size)
    squares = weights @ (values[:, first] * values[:, second])
    cubes = weights @ (values[:, one] * values[:, two] * values[:, three])
    return squares[:, _places(size, 2)], cubes[:, _places(size, 3)]


@lru_cache(maxsize=8)
def _triples(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    every = np.array([(a, b, c) for a in range(size) for b in range(a, size) for c in range(b, size)])
    return every[:, 0], every[:, 1], every[:, 2]


@lru_cache(maxsize=16)
def _places(size: int, degree: int) -> NDArray[np.intp]:
    """Return where each entry of a symmetric tensor stands among its distinct ones."""
    distinct = np.column_stack(np.triu_indices(size) if degree == 2 else _triples(size))
    known = {tuple(entry): place for place, entry in enumerate(distinct.tolist())}
    every = np.indices((size,) * degree).reshape(degree, -1).T
    return np.array([known[tuple(sorted(entry))] for entry in every.tolist()]).reshape((size,) * degree)


def _symmetric(matrices: Floats) -> Floats:
    return np.asarray(matrices + matrices.swapaxes(1, 2))


def _cyclic(matrices: Floats, vectors: Floats) -> Floats:
    """Return the sum of matrix ⊗ vector over the three places of the vector."""
    last = matrices[:, :, :, np.newaxis] * vectors[:, np.newaxis, np.newaxis]
    return np.asarray(last + last.transpose(0, 1, 3, 2) + last.transpose(0, 3, 1, 2))


def _turned(vectors: Floats, root: Floats) -> Floats:
    return np.asarray((vectors[:, np.newaxis] @ root)[:, 0])
