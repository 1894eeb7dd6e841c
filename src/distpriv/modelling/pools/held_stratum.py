"""Independent datasets of a large stratum, although only a sample of its rows is held in memory.

Datasets whose rows are drawn from the sample are not independent draws from the stratum. So every dataset is drawn as
numbers, from those of all rows; the first number that comes up is given the first row of the sample, the next new one
the next row, and so on, until no row is left (`docs/proofs/pools.md`).

The sample can be used again. A *pilot* of some datasets chooses the noise, and *rounds* of other datasets test what was
chosen. Datasets of a round are independent of each other and of the pilot; those of two rounds share rows.
"""

import zlib

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Rows
from distpriv.modelling.sampling import distinct

__all__ = ["HeldStratum"]


@frozen(kw_only=True)
class HeldStratum:
    """A sample of a stratum's rows, in random order, to draw independent datasets from."""

    rows: Rows
    """Where the sampled rows are."""
    population: int
    """How many rows the stratum has."""
    size: int
    """How many of them a dataset has."""
    pilot_size: int
    """How many rows the pilot takes for each of its datasets, which has the first `size` of them.

    Pairs of scenarios need different numbers of rows from one stratum. The pilots of all pairs take as many as the pair
    that needs most, so that they take the same rows: no round then draws what the pilot of another pair has seen.
    """

    @property
    def datasets(self) -> int | None:
        """How many datasets can be drawn that are independent; None where any number can, as all rows are held."""
        if self.pilot_size == 0 or len(self.rows) >= self.population:
            return None
        return len(self.rows) // self.pilot_size

    def pilot(self, draws: int, *, seed: int, name: str, replacement: bool) -> Rows:
        """Draw independent datasets of the stratum, one a row."""
        numbers = self._numbers(self.pilot_size, draws, seed, (name, 0), replacement)
        return self._rows_of(numbers, np.empty(0, dtype=np.int64), self.rows)[:, : self.size]

    def test_round(self, number: int, pilot: int, draws: int, *, seed: int, name: str, replacement: bool) -> Rows:
        """Draw datasets, one a row, that are independent of each other and of a pilot, though not of other rounds.

        Args:
            number: which round, from 1.
            pilot: how many datasets the pilot has.
            draws: how many datasets to draw.
            seed: that of the pilot.
            name: that of the pilot; draws by other names are independent.
            replacement: whether a row may be in a dataset twice.
        """
        known = np.unique(self._numbers(self.pilot_size, pilot, seed, (name, 0), replacement))
        numbers = self._numbers(self.size, draws, seed, (name, number), replacement)
        order = _generator(seed, (name, number), 1).permutation(len(self.rows) - len(known)) + len(known)
        return self._rows_of(numbers, known, np.concatenate([self.rows[: len(known)], self.rows[order]]))

    def _numbers(self, size: int, draws: int, seed: int, use: tuple[str, int], replacement: bool) -> Rows:
        """Draw datasets of row numbers, from all numbers of the stratum."""
        rng = _generator(seed, use, 0)
        picks = rng.integers(self.population, size=(draws, size))
        return picks if replacement or not size else distinct(rng, self.population, picks)

    def _rows_of(self, numbers: Rows, known: Rows, rows: Rows) -> Rows:
        """Return rows for numbers: the first rows for those known, in order, and the next ones for all others."""
        found, inverse = np.unique(numbers, return_inverse=True)
        place = np.searchsorted(known, found)
        seen = np.isin(found, known, assume_unique=True)
        place[~seen] = len(known) + np.arange(int((~seen).sum()))
        return np.asarray(rows[place][inverse].reshape(numbers.shape))


def _generator(seed: int, use: tuple[str, int], what: int) -> np.random.Generator:
    key = (zlib.crc32(use[0].encode()), use[1], what)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
