"""Datasets drawn from a pool, a uniform sample of a large stratum, as from the stratum itself.

Datasets that are drawn from a pool share its rows, so they are not independent draws from the stratum: a rare row that
is in the pool is in too many of them, and one that is not is in none. Here is how some of them are.

Number the rows of a stratum at random. Independent datasets of numbers are then independent datasets of rows. Only
the rows of numbers that are drawn need be known, and these are a uniform sample of the stratum in random order: a pool.
So numbers are drawn from the whole stratum, and get rows of the pool in order. This goes on as long as there are rows
for all numbers that come up. `docs/proofs/pools.md` has the proof, and that of using a pool several times.
"""

import zlib

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Rows
from distpriv.modelling.sampling import distinct

__all__ = ["StratumPool"]


@frozen(kw_only=True)
class StratumPool:
    """Rows of a stratum in random order, how many the stratum has, and how many of them a dataset has."""

    rows: Rows
    population: int
    size: int
    pilot_size: int
    """How many rows are drawn for each dataset of the pilot: as many as any pair of the predicate needs.

    One pilot serves all these pairs: a pair that needs `size` rows takes the first `size` of every dataset.
    """

    @property
    def datasets(self) -> int | None:
        """How many datasets can be drawn that are independent; any number, nothing, where all rows are held."""
        if self.pilot_size == 0 or len(self.rows) >= self.population:
            return None
        return len(self.rows) // self.pilot_size

    def pilot(self, draws: int, *, seed: int, stream: str, replacement: bool) -> Rows:
        """Draw independent datasets of the stratum, one a row."""
        numbers = self._numbers(self.pilot_size, draws, seed, (stream, 0), replacement)
        return self._of(numbers, np.empty(0, dtype=np.int64), self.rows)[:, : self.size]

    def round(self, number: int, pilot: int, draws: int, *, seed: int, stream: str, replacement: bool) -> Rows:
        """Draw datasets, one a row, that are independent of each other and of a pilot, though not of other rounds.

        Args:
            number: which round, from 1.
            pilot: how many datasets the pilot has.
            draws: how many datasets to draw.
            seed: that of the pilot.
            stream: that of the pilot.
            replacement: whether a row may be in a dataset twice.
        """
        known = np.unique(self._numbers(self.pilot_size, pilot, seed, (stream, 0), replacement))
        numbers = self._numbers(self.size, draws, seed, (stream, number), replacement)
        order = _generator(seed, (stream, number), 1).permutation(len(self.rows) - len(known)) + len(known)
        return self._of(numbers, known, np.concatenate([self.rows[: len(known)], self.rows[order]]))

    def _numbers(self, size: int, draws: int, seed: int, use: tuple[str, int], replacement: bool) -> Rows:
        """Draw datasets of row numbers, from all numbers of the stratum."""
        rng = _generator(seed, use, 0)
        picks = rng.integers(self.population, size=(draws, size))
        return picks if replacement or not size else distinct(rng, self.population, picks)

    def _of(self, numbers: Rows, known: Rows, rows: Rows) -> Rows:
        """Return rows for numbers: the first rows for those known, in order, and the next ones for all others."""
        found, inverse = np.unique(numbers, return_inverse=True)
        place = np.searchsorted(known, found)
        seen = np.isin(found, known, assume_unique=True)
        place[~seen] = len(known) + np.arange(int((~seen).sum()))
        return np.asarray(rows[place][inverse].reshape(numbers.shape))


def _generator(seed: int, use: tuple[str, int], what: int) -> np.random.Generator:
    key = (zlib.crc32(use[0].encode()), use[1], what)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
