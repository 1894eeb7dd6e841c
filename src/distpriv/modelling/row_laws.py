"""The rows behind the law of the statistics: what each row of a stratum adds to them, and how many are drawn."""

import cmath
import math
from collections.abc import Mapping

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from distpriv.errors import InvalidModel
from distpriv.framework.arrays import Floats
from distpriv.modelling.stratum_rows import StratumRows, as_stratum_rows

__all__ = ["RowLaws"]


FEW = 200
"""Of so many rows or fewer, draws without replacement are counted one by one."""


@frozen(kw_only=True, eq=False)
class RowLaws:
    """Statistics that are sums over rows, in every scenario.

    >>> rows = np.array([[0.0], [1.0]]), np.array([[2.0], [3.0]])
    >>> laws = RowLaws(strata=rows, drawn={"a": {0: 2}, "b": {0: 1, 1: 1}}, replacement=False)
    >>> {name: complex(np.round(phase, 9)) for name, phase in laws.phases(np.array([np.pi / 4])).items()}
    {'a': (0.707106781+0.707106781j), 'b': (-0.603553391+0.603553391j)}
    """

    strata: tuple[StratumRows, ...] = field(converter=as_stratum_rows)
    """What each row of a stratum adds to the statistics, and how likely it is to be drawn."""
    drawn: Mapping[str, Mapping[int, int]]
    """How many rows of which strata the datasets of each scenario have."""
    replacement: bool
    populations: tuple[int, ...] = ()
    """How many rows each stratum has, where those at hand are a sample of them."""

    def __attrs_post_init__(self) -> None:
        if not self.replacement and any(rows.weights is not None for rows in self.strata):
            raise InvalidModel("rows with weights are drawn independently of each other: say replacement=True.")

    def rows_of(self, stratum: int) -> int:
        """Return how many rows a stratum has."""
        return self.populations[stratum] if self.populations else len(self.strata[stratum])

    def phases(self, frequency: Floats) -> dict[str, complex]:
        """Return E e^{itᵀF} in every scenario; without replacement from many rows to the second order."""
        turns = [np.exp(1j * (rows.values @ frequency)) for rows in self.strata]
        return {
            name: math.prod(
                (self._phase(turns[stratum], stratum, size) for stratum, size in sizes.items()), start=1 + 0j
            )
            for name, sizes in self.drawn.items()
        }

    def _phase(self, turns: NDArray[np.complex128], stratum: int, size: int) -> complex:
        """Return the mean of a product of so many of these numbers, drawn from a stratum."""
        rows = self.rows_of(stratum)
        if not self.replacement and rows <= FEW and rows == len(turns):
            return _mean_product(turns, size)
        mean = complex(self.strata[stratum].average(turns))
        weight = size if self.replacement else size * (1 - size / rows)
        return cmath.exp(weight * math.log(max(abs(mean), 1e-300)) + 1j * size * cmath.phase(mean))


def _mean_product(numbers: NDArray[np.complex128], size: int) -> complex:
    """Return the mean product of so many different ones of the numbers: the elementary symmetric polynomial's share."""
    sums = np.zeros(size + 1, dtype=np.complex128)
    sums[0] = 1.0
    for number in numbers:
        sums[1:] += number * sums[:-1]
    return complex(sums[size] / math.comb(len(numbers), size))
