"""The paper's repetitions: rows allocated anew, models fitted to sampled datasets, shadows and tests drawn.

A dataset of n₁ rows of one stratum and n₀ of the other is made of the first rows of two long draws, and so
are those of all other shares: one draw a side of one half gives the models for every Δp. The two shares of a
pair are on different sides, so their datasets are independent, as in the paper; models of different Δp are not, which
no number depends on.
"""

from functools import cached_property, partial

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from distpriv.experiments.paper_noise import fitted_model
from distpriv.experiments.properties import GAPS, Property, factors, reference_table
from distpriv.experiments.setting import AUXILIARY, RECORDS, TESTING, Setting
from distpriv.framework.arrays import Floats, Rows, array_field
from distpriv.modelling.model import QueryModel
from distpriv.modelling.sampling import distinct
from distpriv.modelling.streams import Stream, in_blocks
from distpriv.progress import Progress, silent

__all__ = ["Repetitions", "repeated"]

BLOCK = 5
"""Repetitions that share a stream of random numbers."""


@frozen(kw_only=True, slots=False)
class Repetitions:
    """Fitted moments for every repetition and share, and the attack's datasets, at the property's own Δp."""

    shares: tuple[float, ...]
    means: Floats = array_field()
    covariances: Floats = array_field()
    shadows: Floats = array_field()
    """By repetition, side of the pair, dataset and statistic."""
    tests: Floats = array_field()

    @cached_property
    def _models(self) -> dict[float, tuple[QueryModel, ...]]:
        return {}

    def models(self, secret: Property, gap: float) -> tuple[QueryModel, ...]:
        """Return the models of all repetitions for one Δp."""
        if gap not in self._models:
            first, second = (self.shares.index(share) for share in secret.shares(gap))
            self._models[gap] = tuple(
                fitted_model((means[first], means[second]), (covariances[first], covariances[second]), secret)
                for means, covariances in zip(self.means, self.covariances, strict=True)
            )
        return self._models[gap]


@frozen(kw_only=True)
class _Sides:
    """The rows of both strata with their numbers, and how many rows of each the datasets of every share have."""

    numbers: Floats = array_field()
    satisfied: NDArray[np.bool_]

    def statistics(self, rng: np.random.Generator, rows: Rows, positives: list[int], draws: int) -> Floats:
        """Draw datasets from some rows: statistics by dataset and by number of positive rows."""
        inside = self.satisfied[rows]
        totals = [
            self._prefix_sums(rng, rows[inside], positives, draws),
            self._prefix_sums(rng, rows[~inside], [RECORDS - count for count in positives], draws),
        ]
        return np.asarray((totals[0] + totals[1]) * (factors() / RECORDS))

    def _prefix_sums(self, rng: np.random.Generator, rows: Rows, counts: list[int], draws: int) -> Floats:
        picks = rng.integers(len(rows), size=(draws, max(counts)))
        drawn = self.numbers[rows[distinct(rng, len(rows), picks)]]
        return np.asarray(np.cumsum(drawn, axis=1)[:, np.array(counts) - 1])


_known: dict[tuple[Property, Setting], Repetitions] = {}


def repeated(secret: Property, setting: Setting, progress: Progress = silent) -> Repetitions:
    """Run all repetitions, once for each setting; the numbers are the same on any number of processes."""
    if (secret, setting) not in _known:
        _known[secret, setting] = _run(secret, setting, progress)
    return _known[secret, setting]


def _run(secret: Property, setting: Setting, progress: Progress) -> Repetitions:
    pool = reference_table(secret).pool
    sides = _Sides(numbers=pool.numbers.T, satisfied=pool.strata[secret.predicate])
    low, high = (sorted(secret.shares(gap)[side] for gap in GAPS) for side in (0, 1))
    own = secret.shares(secret.gap)
    task = partial(_block, sides, (low, high), own, setting)
    name = f"{secret.name}: repetitions"
    stream = Stream(seed=setting.seed, name=name, processes=setting.processes, progress=progress)
    blocks = in_blocks(task, setting.repetitions, BLOCK, stream)
    means, covariances, shadows, tests = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return Repetitions(
        shares=(*low, *high),
        means=means,
        covariances=covariances,
        shadows=shadows,
        tests=tests,
    )


def _block(
    sides: _Sides,
    shares: tuple[list[float], list[float]],
    own: tuple[float, float],
    setting: Setting,
    rng: np.random.Generator,
    count: int,
) -> tuple[Floats, Floats, Floats, Floats]:
    found = [_repetition(sides, shares, own, setting, rng) for _ in range(count)]
    means, covariances, shadows, tests = (np.stack(parts) for parts in zip(*found, strict=True))
    return means, covariances, shadows, tests


def _repetition(
    sides: _Sides,
    shares: tuple[list[float], list[float]],
    own: tuple[float, float],
    setting: Setting,
    rng: np.random.Generator,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Allocate rows, fit moments at every share to datasets of the modelling rows, and draw the attack's datasets."""
    rows = rng.permutation(len(sides.numbers))
    auxiliary, testing, modelling = np.split(rows, [AUXILIARY, AUXILIARY + TESTING])
    samples = np.concatenate(
        [sides.statistics(rng, modelling, [_positives(p) for p in side], setting.subsets) for side in shares], axis=1
    )
    means = samples.mean(axis=0)
    centred = samples - means
    covariances = np.einsum("dsi,dsj->sij", centred, centred) / (setting.subsets - 1)
    attack = [
        np.stack([sides.statistics(rng, place, [_positives(p)], number // 2)[:, 0] for p in own])
        for place, number in ((auxiliary, setting.shadows), (testing, setting.tests))
    ]
    return means, covariances, attack[0], attack[1]


def _positives(share: float) -> int:
    return round(share * RECORDS)
