"""Rows in memory, by stratum: what datasets are drawn from."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats, Rows

__all__ = ["RowPool", "Split"]


@frozen(kw_only=True)
class RowPool:
    """Rows in memory, to draw datasets from."""

    size: int
    """How many rows there are."""
    numbers: Floats
    """What each statistic that SQL evaluates has of every row, one statistic a row."""
    columns: Mapping[str, NDArray[Any]]
    """What functions read, by column."""
    strata: Mapping[str, NDArray[np.bool_]]
    """Which rows satisfy each predicate."""
    properties: Mapping[str, Floats] = field(factory=dict)
    """The numbers that rows are weighed by, by expression."""
    _groups: list[Rows] = field(factory=list, init=False, repr=False, eq=False)

    def positions(self, predicate: str | None, satisfied: bool = True, among: Rows | None = None) -> Rows:
        """Return where the rows of a stratum are, of all rows or of those `among`; with no predicate, all of these."""
        if among is None:
            return np.arange(self.size) if predicate is None else np.flatnonzero(self.strata[predicate] == satisfied)
        return among if predicate is None else np.asarray(among[self.strata[predicate][among] == satisfied])

    def parts(self, shares: Sequence[float], seed: int) -> list[Rows]:
        """Return shares of the rows, chosen at random, no row in two of them.

        Rows alike in every predicate are split among themselves, so each part has its share of every stratum, but for
        one row.
        """
        rng = np.random.default_rng(seed)
        split = []
        for rows in self._alike():
            ends = np.round(np.cumsum(shares) * len(rows)).astype(np.int64)
            split.append(np.split(rng.choice(rows, size=ends[-1], replace=False), ends[:-1]))
        return [np.concatenate(pieces) for pieces in zip(*split, strict=True)]

    def _alike(self) -> list[Rows]:
        """Return the rows in groups that are alike in every predicate."""
        if not self._groups:
            alike = [np.arange(self.size)]
            for satisfied in self.strata.values():
                sides = [(rows, satisfied[rows]) for rows in alike]
                alike = [part for rows, side in sides for part in (rows[side], rows[~side]) if len(part)]
            self._groups.extend(alike)
        return self._groups


@frozen(kw_only=True)
class Split:
    """A division of the rows of any table at random, so that each part has its share of them."""

    shares: tuple[float, ...]
    seed: int
    _parts: dict[int, list[Rows]] = field(factory=dict, init=False, repr=False)

    def rows(self, pool: RowPool, number: int) -> Rows:
        """Return the rows of a table that are in a part."""
        if id(pool) not in self._parts:
            self._parts[id(pool)] = pool.parts(self.shares, self.seed)
        return self._parts[id(pool)][number]
