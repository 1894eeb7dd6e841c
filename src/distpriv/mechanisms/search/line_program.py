r"""The linear program behind `certified_unimodal`: the least symmetric unimodal noise along a line.

Noise is even between −w and w with probability :math:`a_w`. δ of a pair is the sum over bins of points of what the best
attack gets in each, and for any attack that is linear in a: a program with a slack for every pair and bin, of at least
what the attacks on the noises tried so far get, is solved again and again until its noise keeps δ
(`docs/proofs/certified_unimodal.md`).
"""

import math
from collections.abc import Sequence
from typing import Any, Final, Self

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from distpriv.distances.line_laws import LineLaw
from distpriv.framework.arrays import Floats
from distpriv.guarantees.line_delta import LineSum

__all__ = ["LineProgram", "start_shares", "widths_for"]

FINENESS: Final = 1.07
"""The factor from one width to the next."""

NARROWEST: Final = 0.05
"""The first width, as a share of the deviation along the line: noise that is narrower is none."""

BINS: Final = 24
"""Into how many bins points are divided, about equally likely ones."""

ROUNDS: Final = 30
"""How often the program is solved at most."""

ENOUGH: Final = 0.01
"""By which share δ may be above what is asked for when the program ends: what is found is widened afterwards."""

LEAST_SHARE: Final = 1e-7
"""A share of the noise that is less likely is left out."""


def widths_for(own: float, reach: float) -> Floats:
    """Return the widths of noise that reaches so far, where the deviation along the line is `own`."""
    first = NARROWEST * own
    return np.asarray(first * FINENESS ** np.arange(max(1, math.ceil(math.log(reach / first) / math.log(FINENESS)))))


@frozen(kw_only=True)
class _Cut:
    """What an attack on one pair gets in one bin, of noise of every width."""

    pair: int
    bin: int
    said: Floats


@frozen(kw_only=True, eq=False)
class LineProgram:
    """The program for the lattices of some pairs, with all attacks so far."""

    sums: Sequence[LineSum]
    widths: Floats
    """What noise may be even up to, in ascending order."""
    bins: Sequence[NDArray[np.int64]]
    cuts: list[_Cut] = field(factory=list)

    @classmethod
    def of(cls, sums: Sequence[LineSum], widths: Floats, start: LineLaw) -> Self:
        """Return the program with bins that are about equally likely for noise of some law."""
        bins = []
        for of in sums:
            likely = np.cumsum(np.exp(of.densities(start)[0]))
            ends = np.searchsorted(likely, likely[-1] * np.arange(1, BINS) / BINS)
            bins.append(np.unique(np.append(0, ends)))
        program = cls(sums=sums, widths=widths, bins=bins)
        shares = start_shares(widths, start)
        for mixture in (shares, np.eye(len(widths))[0]):
            program.attack(mixture)
        return program

    def attack(self, shares: Floats) -> None:
        """Add what the best attacks on a mixture get."""
        for number, (of, bins) in enumerate(zip(self.sums, self.bins, strict=True)):
            said = of.cuts(self.widths, shares, bins)
            self.cuts.extend(_Cut(pair=number, bin=place, said=row) for place, row in enumerate(said) if row.any())

    def least(self, delta: float) -> Floats | None:
        """Return how likely every width is in the noise of least variance that about keeps a δ; None if none does."""
        shares = self._solved(delta)
        for _ in range(ROUNDS):
            if shares is None or max(of.mixed_delta(self.widths, shares) for of in self.sums) <= delta * (1 + ENOUGH):
                break
            self.attack(shares)
            shares = self._solved(delta)
        if shares is None:
            return None
        shares = np.where(shares > LEAST_SHARE, shares, 0.0)
        return np.asarray(shares / shares.sum())

    def _solved(self, delta: float) -> Floats | None:
        """Return the shares of least variance by the attacks so far; None if these widths are not enough."""
        count, slacks = len(self.widths), len(self.sums) * BINS
        said = np.array([cut.said for cut in self.cuts]) / delta
        taken = sparse.csr_matrix(
            (-np.ones(len(said)), (np.arange(len(said)), [cut.pair * BINS + cut.bin for cut in self.cuts])),
            shape=(len(said), slacks),
        )
        sums = sparse.kron(sparse.eye_array(len(self.sums)), np.ones((1, BINS)))
        rows = [
            sparse.hstack([sparse.csr_matrix(said), taken]),
            sparse.hstack([sparse.csr_matrix((len(self.sums), count)), sums]),
        ]
        found: Any = linprog(  # type: ignore[call-overload] # the stubs do not know of sparse rows
            np.append((self.widths / self.widths[-1]) ** 2, np.zeros(slacks)),
            A_ub=sparse.csr_matrix(sparse.vstack(rows)),
            b_ub=np.append(np.zeros(len(said)), np.ones(len(self.sums))),
            A_eq=np.append(np.ones(count), np.zeros(slacks))[np.newaxis],
            b_eq=[1.0],
            method="highs",
        )
        if found.x is None:
            return None
        shares = np.maximum(found.x[:count], 0.0)
        return np.asarray(shares / shares.sum())


def start_shares(widths: Floats, law: LineLaw) -> Floats:
    """Return how likely every width is in a mixture that is about noise of a law.

    >>> from distpriv.distances.line_laws import LaplaceLine
    >>> shares = start_shares(np.arange(1.0, 40.0), LaplaceLine(scale=2.0))
    >>> round(float(shares.sum()), 9), round(float(shares @ np.arange(1.0, 40.0) ** 2) / 3, 0)
    (1.0, 9.0)
    """
    heights = np.exp(law.log_density(widths, float(widths[0])))
    shares = -np.diff(np.append(heights, 0.0)) * widths
    return np.asarray(np.maximum(shares, 0.0) / np.maximum(shares, 0.0).sum())
