"""The repetitions of section 5: rows allocated anew, models fitted to sampled datasets, datasets drawn for the attack.

A dataset of n₁ rows that satisfy the predicate and n₀ that do not is the beginning of two longer draws, and so are
those of all other shares on the same side of one half: two draws give the models for every Δp. The two shares of a
pair are on different sides, so their datasets are independent.
"""

from functools import cache

import numpy as np
import numpy.typing as npt
from attrs import frozen
from joblib import Parallel, delayed

import distpriv as dp
from paper.models import FACTORS, Floats, pooled_model, strata
from paper.setting import GAPS, RECORDS, Secret, Setting

AUXILIARY = TESTING = 10_000
"""Rows for the attacker's shadow datasets, and rows for the datasets he is tested on; the rest is for modelling."""


@frozen(kw_only=True)
class Repetition:
    """Moments fitted at every share, and the attack's datasets at the secret's own Δp."""

    means: dict[float, Floats]
    covariances: dict[float, Floats]
    shadows: tuple[Floats, Floats]
    """Statistics by dataset, for each share of the pair."""
    tests: tuple[Floats, Floats]

    def model(self, secret: Secret, gap: float) -> dp.QueryModel:
        """Return the fitted model for one Δp."""
        one, other = ((self.means[share], self.covariances[share]) for share in secret.shares(gap))
        return pooled_model(one, other)


@cache
def repeated(secret: Secret, setting: Setting) -> tuple[Repetition, ...]:
    """Return all repetitions; they are the same on any number of processes."""
    seeds = np.random.SeedSequence([setting.seed, len(secret.name)]).spawn(setting.repetitions)
    return tuple(Parallel(n_jobs=-1)(delayed(_repetition)(secret, setting, seed) for seed in seeds))


def draw_datasets(
    rng: np.random.Generator, rows: tuple[Floats, Floats], shares: list[float], datasets: int
) -> dict[float, Floats]:
    """Draw datasets of 100 distinct rows of two strata, and return their statistics by share."""
    positives = [round(share * RECORDS) for share in shares]
    totals = _prefix_sums(rng, rows[0], positives, datasets)
    totals += _prefix_sums(rng, rows[1], [RECORDS - count for count in positives], datasets)
    return dict(zip(shares, np.swapaxes(totals * FACTORS, 0, 1), strict=True))


def _prefix_sums(rng: np.random.Generator, rows: Floats, counts: list[int], datasets: int) -> Floats:
    picks = rng.integers(len(rows), size=(datasets, max(counts)))
    while (again := _repeats(picks)).any():  # redrawing whole datasets leaves all sets of distinct rows equally likely
        picks[again] = rng.integers(len(rows), size=(again.sum(), max(counts)))
    sums: Floats = np.cumsum(rows[picks], axis=1)[:, np.array(counts) - 1]
    return sums


def _repeats(picks: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    return np.asarray((np.diff(np.sort(picks, axis=1), axis=1) == 0).any(axis=1))


def _repetition(secret: Secret, setting: Setting, seed: np.random.SeedSequence) -> Repetition:
    rng = np.random.default_rng(seed)
    auxiliary, testing, modelling = _allocated(rng, strata(secret))
    samples: dict[float, Floats] = {}
    for side in (0, 1):
        samples |= draw_datasets(rng, modelling, [secret.shares(gap)[side] for gap in GAPS], setting.datasets)
    attack = [
        [draw_datasets(rng, rows, [share], number // 2)[share] for share in secret.shares()]
        for rows, number in ((auxiliary, setting.shadows), (testing, setting.tests))
    ]
    return Repetition(
        means={share: values.mean(axis=0) for share, values in samples.items()},
        covariances={share: np.cov(values.T) for share, values in samples.items()},
        shadows=(attack[0][0], attack[0][1]),
        tests=(attack[1][0], attack[1][1]),
    )


def _allocated(rng: np.random.Generator, rows: tuple[Floats, Floats]) -> list[tuple[Floats, Floats]]:
    """Allocate all rows at random to the attacker, to his tests and to modelling."""
    order = rng.permutation(sum(map(len, rows)))
    every = np.concatenate(rows)
    parts = np.split(order, [AUXILIARY, AUXILIARY + TESTING])
    return [(every[part[part < len(rows[0])]], every[part[part >= len(rows[0])]]) for part in parts]
