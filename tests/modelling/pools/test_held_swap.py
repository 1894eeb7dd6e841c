"""Whether differences that are drawn from pools have the law of datasets of the strata, and what noise they lead to."""

from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import distpriv as dp
from distpriv.distances.gaussian import gaussian_deltas_upper_bound
from distpriv.errors import InvalidModel
from distpriv.mechanisms.search import calibration
from distpriv.modelling.model import as_they_are
from distpriv.modelling.pools.held_swap import HeldSwap
from distpriv.modelling.simulator import RowSimulator

LIKELY = 1e-4
PAIR = ("s @ 0.25", "s @ 0.5")

# 5 rows that satisfy s, 4 that do not; no two pairs of them have the same difference.
TABLE = pl.DataFrame({"x": [0.0, 1, 2, 3, 4, 10, 20, 30, 40], "s": [True] * 5 + [False] * 4})


def simulator(query: dp.Query, *values: float, replacement: bool = False) -> RowSimulator:
    share = dp.Share("s", values=values)
    model = dp.model(TABLE, query, share, records=4, pool=4, replacement=replacement, draws=5)
    assert isinstance(model.simulator, RowSimulator)
    return model.simulator


@pytest.mark.slow
def test_the_swapped_rows_of_pilot_and_round_are_independent_and_uniform_over_the_strata() -> None:
    rows = simulator(dp.Query(x=dp.mean("x")), 0.25, 0.5)
    found = Counter[tuple[int, int]]()
    for seed in range(1200):
        held = rows.calibrating(seed)
        pilot, later = (HeldSwap.of(held, [PAIR]).measured(k, 1, 1, seed, as_they_are)[0].item() for k in (0, 1))
        found[round(4 * pilot), round(4 * later)] += 1
    differences = [out - into for out, into in product((10, 20, 30, 40), range(5))]
    counts = [found[one, other] for one, other in product(differences, differences)]
    assert sum(counts) == 1200
    assert stats.chisquare(counts).pvalue > LIKELY


def last_two(rows: Any) -> float:
    """Return which rows stand at the end, in order."""
    return float(rows["x"][-2] + 100 * rows["x"][-1])


@pytest.mark.slow
def test_a_function_sees_rows_of_the_strata_in_random_order() -> None:
    query = dp.Query(x=dp.function(last_two, columns=["x"]))
    rows, found = simulator(query, 0.25, 0.5), Counter[float]()
    for seed in range(1500):
        held = rows.calibrating(seed)
        difference = HeldSwap.of(held, [PAIR]).measured(1, 0, 1, seed, as_they_are)[0].item()
        found[difference] += 1
    drawn = rows.coupled_samples(PAIR, 60_000, 7, "independent")
    # Both laws are of datasets of 9 rows: those of a pool of 4 and 4 are not, so compare with the whole table.
    whole = dp.model(TABLE, query, dp.Share("s", values=(0.25, 0.5)), records=4, draws=5)
    first, second = whole.coupled_samples(PAIR, 60_000, 7)
    expected = Counter((first - second).ravel().tolist())
    assert set(found) <= set(expected)
    assert not set(expected) <= set((drawn[0] - drawn[1]).ravel().tolist())
    common = [value for value, count in expected.items() if count >= 60_000 * 8 / 1500]
    table = [[found[v] for v in common], [expected[v] for v in common]]
    table = [[*row, total - sum(row)] for row, total in zip(table, (1500, 60_000), strict=True)]
    assert stats.chi2_contingency(np.array(table)[:, np.sum(table, axis=0) > 0]).pvalue > LIKELY


def test_fewer_swapped_rows_are_the_first_of_more() -> None:
    rows = simulator(dp.Query(x=dp.mean("x")), 0.0, 0.25, 0.5, replacement=True).calibrating(3)
    pairs = rows.difference_groups([("s @ 0", "s @ 0.25"), ("s @ 0", "s @ 0.5"), ("s @ 0.25", "s @ 0.5")])
    assert len(pairs) == 1
    one, two = HeldSwap.of(rows, pairs[0]).measured(1, 1, 1, 3, as_they_are)
    assert round(4 * one.item()) in [out - into for out, into in product((10, 20, 30, 40), range(5))]
    assert round(4 * (two - one).item()) in [out - into for out, into in product((10, 20, 30, 40), range(5))]


@pytest.mark.parametrize("make", [dp.mechanisms.coupled_gaussian, dp.mechanisms.coupled_laplace])
def test_rows_of_samples_are_not_paired_by_transport(make: Callable[..., Any]) -> None:
    rows = pl.DataFrame({"x": np.arange(4000.0), "s": np.arange(4000) % 2 < 1})
    model = dp.model(rows, dp.Query(x=dp.mean("x")), dp.Share("s", values=(0.4, 0.5)), records=20, pool=1000)
    target = dp.PrivacyTarget(epsilon=1, delta=0.1)
    with pytest.raises(InvalidModel, match="only samples of the strata are held"):
        make(model, target, pairing="transport", seed=1)
    said = [assumption.evidence for assumption in make(model, target, seed=1).certificate.assumptions]
    assert "swapped rows are drawn independently" in said


POPULATION, HEAVY, HELD, RECORDS, DELTA = 2000, 301, 60, 10, 0.3


def heavy_table() -> pl.DataFrame:
    """Return a table of which a few more of the rows that satisfy s are heavy than may be left without noise."""
    numbers = np.arange(2 * POPULATION)
    return pl.DataFrame({"x": np.where(numbers < HEAVY, 1.0, 0.0), "s": numbers < POPULATION})


def misled(model_of: Callable[[int], dp.QueryModel], repetitions: int) -> int:
    """Return how often the noise is too little, half of δ being spent on the chance that it is."""
    limit, found = 0.5 * DELTA * (1 - calibration.ROUNDING), 0
    for seed in range(repetitions):
        try:
            made = dp.mechanisms.coupled_gaussian(
                model_of(seed), dp.PrivacyTarget(epsilon=1, delta=DELTA), pairing="independent", draws=3000, seed=seed
            )
        except InvalidModel:  # the pilot has no heavy row, and other draws do
            continue
        width = made.noise.expected_rms
        far = np.array([1 / (RECORDS * width) if width else np.inf])
        found += HEAVY / POPULATION * float(gaussian_deltas_upper_bound(1.0, far)[0]) > limit
    return found


@pytest.mark.slow
def test_noise_is_too_little_as_seldom_as_stated_and_not_if_pools_were_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "FAILURE", 0.5)
    rows, query, share = heavy_table(), dp.Query(x=dp.mean("x")), dp.Share("s", values=(0.4, 0.5))
    pooled = dp.model(rows, query, share, records=RECORDS, pool=HELD)

    def as_a_table(seed: int) -> dp.QueryModel:
        rng = np.random.default_rng(seed)
        chosen = np.concatenate([rng.permutation(POPULATION)[:HELD], POPULATION + np.arange(HELD)])
        return dp.model(rows[chosen], query, share, records=RECORDS)

    most = stats.binom.isf(LIKELY, 150, 0.5 * DELTA)
    assert misled(lambda _: pooled, 150) <= most
    assert misled(as_a_table, 150) > most
