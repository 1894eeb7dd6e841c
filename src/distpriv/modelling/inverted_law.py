r"""By which factor the saddlepoint density errs at a point, from the law itself: no order of an expansion is left out.

With ŝ the saddlepoint of x, K the cumulant generating function and :math:`U \sim N(0, K''(ŝ)^{-1})`,

.. math:: p(x) / q(x) = E \, e^{R(U)}, \qquad R(u) = K(ŝ + iu) - K(ŝ) - i u^\top x + u^\top K''(ŝ) u / 2 ,

is Fourier's inversion along the line through ŝ. The mean is taken over draws of U. R is known to third and fourth
order, and the mean of what :math:`e^R` is to these orders is :math:`1 + c_2`: only the rest is left to the draws. The
numbers of rows have a frequency each, as they have a level (`tilted_law`); the proof is in
`docs/proofs/saddlepoint_check.md`.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Self

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.modelling.tilted_law import Saddlepoints, TiltedLaw

__all__ = ["DRAWS", "InvertedLaw", "draws_for", "error_of"]

DRAWS = (1024, 4096)
"""How many draws there are, and how many more of them where these do not tell enough."""

FEWEST_DRAWS, MOST_TERMS = 512, 2**22
"""There are fewer where a law has so many rows that this many terms would be exceeded."""

SEED = 53

DEVIATIONS = 5.0
"""By how many standard errors a mean over draws may be off: a few draws may count far more than all others."""


@frozen(kw_only=True, eq=False)
class InvertedLaw:
    """The logarithm of p/q at a point, and how each of the draws moves it."""

    term: float
    """ln p/q; infinite where draws do not tell it."""
    moves: Floats
    """By which share of itself p/q would be larger if all draws were like this one."""

    @classmethod
    def at(cls, law: TiltedLaw, saddlepoints: Saddlepoints, which: int, draws: Floats) -> Self:
        """Return what draws say of a law at one of its saddlepoints.

        Args:
            law: the law.
            saddlepoints: some of its saddlepoints.
            which: the one to look at.
            draws: as `draws_for` returns them.
        """
        drawn = _drawn(law, saddlepoints, which, draws)
        joint = law.second_order(saddlepoints, which) + sum(stratum.number_term for stratum in law.strata)
        values = drawn + joint
        mean = float(values.mean())
        if not (math.isfinite(mean) and mean > 0):
            return cls(term=math.inf, moves=np.full(len(draws), math.inf))
        numbers = sum(stratum.log_number_error for stratum in law.strata)
        return cls(term=math.log(mean) - numbers, moves=values / mean - 1)

    @property
    def error(self) -> float:
        """How far the term may be off."""
        return error_of(self.moves)


def error_of(moves: Floats) -> float:
    """Return how far a mean over draws may be off: by some standard errors, and by the one draw that counts most."""
    if not np.isfinite(moves).all():
        return math.inf
    return float(DEVIATIONS * moves.std() / math.sqrt(len(moves)) + np.abs(moves).max() / len(moves))


def draws_for(laws: Sequence[TiltedLaw], most: int) -> Floats:
    """Return standard normal draws, so many at most: the same for these laws, so that chance moves both of them alike.

    One a row: of all statistics first, of the numbers of rows of all strata then.
    """
    rows = max(1, *(sum(len(stratum.values) for stratum in law.strata) for law in laws))
    strata = max(len(law.strata) for law in laws)
    return _normals(min(most, max(FEWEST_DRAWS, MOST_TERMS // rows)), len(laws[0].mean) + strata)


def _drawn(law: TiltedLaw, saddlepoints: Saddlepoints, which: int, draws: Floats) -> Floats:
    """Return the real part of e^R less what is known of its mean, one number a draw: it is the same for −U."""
    tilt = saddlepoints.tilts[which]
    size = len(tilt)
    root = np.linalg.cholesky(saddlepoints.covariances[which])
    along = np.linalg.solve(root.T, draws[:, :size].T)
    logarithm, phase, third, fourth = (np.zeros(len(draws)) for _ in range(4))
    inside = np.ones(len(draws), dtype=bool)
    for number, (stratum, level) in enumerate(zip(law.strata, saddlepoints.levels, strict=True)):
        two, three, four = stratum.cumulants(tilt, float(level[which]))
        total = two.sum()
        of_number = draws[:, size + number] / np.sqrt(total) - (two @ stratum.values / total) @ along
        inside &= np.abs(of_number) <= np.pi
        angles = stratum.values @ along + of_number
        real, imaginary = stratum.beyond_second(angles, tilt, float(level[which]))
        cubes = angles * angles * angles
        logarithm, phase = logarithm + real, phase + imaginary
        third, fourth = third + three @ cubes, fourth + four @ (cubes * angles)
    with np.errstate(over="ignore"):  # what overflows is infinite, and tells that nothing is known
        whole = np.where(inside, np.exp(logarithm) * np.cos(phase), 0.0)
    return np.asarray(whole - (fourth / 24 - third**2 / 72))


@cache
def _normals(size: int, dimension: int) -> Floats:
    return np.asarray(np.random.default_rng(SEED).normal(size=(size, dimension)))
