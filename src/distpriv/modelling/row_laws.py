"""The rows behind the law of the statistics: what each row of a stratum adds to them, and how many are drawn."""

import cmath
import math
from collections.abc import Mapping

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.modelling.projected_law import Circle, StratumLaw, Transform

__all__ = ["RowLaws"]


@frozen(kw_only=True, eq=False)
class RowLaws:
    """Statistics that are sums over rows, in every scenario.

    >>> rows = np.array([[0.0], [1.0]]), np.array([[2.0], [3.0]])
    >>> laws = RowLaws(strata=rows, drawn={"a": {0: 2}, "b": {0: 1, 1: 1}}, replacement=False)
    >>> circle = Circle(circumference=8.0, frequencies=1)
    >>> {name: complex(law[1].round(9)) for name, law in laws.projected(np.ones(1), circle).items()}
    {'a': (0.707106781+0.707106781j), 'b': (-0.603553391+0.603553391j)}
    """

    strata: tuple[Floats, ...]
    """What each row of a stratum adds to the statistics, one row each."""
    drawn: Mapping[str, Mapping[int, int]]
    """How many rows of which strata the datasets of each scenario have."""
    replacement: bool
    populations: tuple[int, ...] = ()
    """How many rows each stratum has, where those at hand are a sample of them."""

    def rows_of(self, stratum: int) -> int:
        """Return how many rows a stratum has."""
        return self.populations[stratum] if self.populations else len(self.strata[stratum])

    def projected(self, direction: Floats, circle: Circle) -> dict[str, Transform]:
        """Return the transform of a combination of the statistics on a circle, in every scenario."""
        strata = [
            StratumLaw.of(circle, rows @ direction, self.rows_of(number)) for number, rows in enumerate(self.strata)
        ]
        found: dict[tuple[int, int], Transform] = {}
        laws = {}
        for name, sizes in self.drawn.items():
            for stratum, size in sizes.items():
                if (stratum, size) not in found:
                    found[stratum, size] = strata[stratum].drawn(size, replacement=self.replacement)
            laws[name] = np.prod([found[part] for part in sizes.items()], axis=0)
        return laws

    def phases(self, frequency: Floats) -> dict[str, complex]:
        """Return E e^{itᵀF} in every scenario; without replacement to the second order."""
        means = [complex(np.exp(1j * (rows @ frequency)).mean()) for rows in self.strata]
        found = {}
        for name, sizes in self.drawn.items():
            log = 0j
            for stratum, size in sizes.items():
                weight = size if self.replacement else size * (1 - size / self.rows_of(stratum))
                log += weight * math.log(max(abs(means[stratum]), 1e-300)) + 1j * size * cmath.phase(means[stratum])
            found[name] = cmath.exp(log)
        return found
