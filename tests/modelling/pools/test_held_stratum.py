"""Whether datasets that share the rows of a pool are what they are said to be: independent draws from the stratum."""

import math
from collections.abc import Callable
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from distpriv.framework.arrays import Rows
from distpriv.guarantees.mean_bound import average_evidence, best_bet, least_draws, log_evidence
from distpriv.modelling.pools.held_stratum import HeldStratum

Drawn = Callable[[int], Rows]
"""Datasets, one a row, for a seed."""

REPETITIONS = 2500

LIKELY = 1e-4
"""Seeds are fixed, so a test that passes always does; the chance is that of a correct one to fail when first run."""


def pool_of(seed: int, population: int, held: int, size: int, pilot_size: int | None = None) -> HeldStratum:
    """Return a uniform sample of the numbers below the population, in random order."""
    rows = np.random.default_rng([1, seed]).permutation(population)[:held]
    return HeldStratum(rows=rows, population=population, size=size, pilot_size=pilot_size or size)


def p_value(drawn: Drawn, population: int, size: int, datasets: int, replacement: bool, repetitions: int) -> float:
    """Return how likely a table of counts as uneven as this is, if datasets are uniform and independent."""
    one = product(range(population), repeat=size) if replacement else permutations(range(population), size)
    cells = dict.fromkeys(product(list(one), repeat=datasets), 0)
    for seed in range(repetitions):
        cells[tuple(tuple(rows) for rows in drawn(seed).tolist())] += 1
    return float(stats.chisquare(list(cells.values())).pvalue)


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("population", "held", "size", "pilot", "draws", "replacement", "number"),
    [
        (5, 3, 1, 1, 2, False, 1),  # as few rows as can be
        (4, 4, 2, 1, 1, False, 2),  # the whole stratum
        pytest.param(5, 3, 1, 1, 2, False, 3, marks=SLOW),
        pytest.param(5, 4, 2, 1, 1, False, 1, marks=SLOW),
        pytest.param(3, 3, 1, 2, 3, False, 1, marks=SLOW),  # more datasets than the stratum has rows
        pytest.param(4, 4, 2, 1, 1, True, 1, marks=SLOW),
        pytest.param(5, 4, 1, 2, 1, True, 8, marks=SLOW),
    ],
)
def test_pilot_and_round_are_independent_and_uniform_over_the_stratum(
    population: int, held: int, size: int, pilot: int, draws: int, replacement: bool, number: int
) -> None:
    def drawn(seed: int) -> Rows:
        pool = pool_of(seed, population, held, size)
        first = pool.pilot(pilot, seed=seed, name="out", replacement=replacement)
        later = pool.test_round(number, pilot, draws, seed=seed, name="out", replacement=replacement)
        return np.concatenate([first, later])

    assert p_value(drawn, population, size, pilot + draws, replacement, REPETITIONS) > LIKELY


@pytest.mark.slow
def test_a_narrower_round_is_independent_of_the_pilot_of_a_wider_one() -> None:
    """Of a predicate's pairs, all have the pilot of the widest: here the round needs 1 row a dataset, the pilot 2."""

    def drawn(seed: int) -> Rows:
        wide = pool_of(seed, 5, 4, 2)
        narrow = pool_of(seed, 5, 4, 1, 2)
        seen = wide.pilot(1, seed=seed, name="out", replacement=False).reshape(2, 1)
        assert narrow.pilot(1, seed=seed, name="out", replacement=False)[0, 0] == seen[0, 0]
        return np.concatenate([seen[1:], narrow.test_round(1, 1, 2, seed=seed, name="out", replacement=False)])

    assert p_value(drawn, 5, 1, 3, False, REPETITIONS) > LIKELY


def test_datasets_that_are_drawn_from_the_pool_itself_are_found_not_to_be_independent() -> None:
    def drawn(seed: int) -> Rows:
        rows = pool_of(seed, 5, 3, 1).rows
        return rows[np.random.default_rng(seed).integers(3, size=(3, 1))]

    assert p_value(drawn, 5, 1, 3, False, REPETITIONS) < 1e-20


def test_rounds_are_not_independent_of_each_other() -> None:
    """Which is why their evidence is averaged and not multiplied."""

    def drawn(seed: int) -> Rows:
        pool = pool_of(seed, 6, 2, 1)
        return np.concatenate([pool.test_round(k, 1, 1, seed=seed, name="out", replacement=False) for k in (1, 2)])

    assert p_value(drawn, 6, 1, 2, False, REPETITIONS) < 1e-20


@given(
    st.integers(1, 60), st.integers(0, 40), st.integers(1, 5), st.integers(0, 3), st.booleans(), st.integers(0, 10**6)
)
def test_a_pool_has_rows_for_as_many_datasets_as_it_says(
    held: int, more: int, size: int, wider: int, replacement: bool, seed: int
) -> None:
    pool = pool_of(seed, held + more, held, size, size + wider)
    if not replacement and pool.pilot_size > pool.population:
        return
    room = pool.datasets if pool.datasets is not None else 50
    for pilot in range(room + 1):
        drawn = [
            pool.pilot(pilot, seed=seed, name="out", replacement=replacement),
            pool.test_round(1, pilot, room - pilot, seed=seed, name="out", replacement=replacement),
        ]
        assert [rows.shape for rows in drawn] == [(pilot, size), (room - pilot, size)]
        assert set(np.concatenate(drawn).ravel().tolist()) <= set(pool.rows.tolist())
        if not replacement:
            assert all(len(set(rows)) == size for part in drawn for rows in part.tolist())


def test_more_datasets_than_there_are_rows_for_are_never_made_up() -> None:
    pool = pool_of(0, 1_000_000, 20, 2)
    assert pool.datasets == 10
    with pytest.raises(IndexError):
        pool.test_round(1, 2, 30, seed=0, name="out", replacement=False)


HEAVY, POPULATION, SIZE, FAILURE = 30, 400, 3, 0.1


def chance_of_a_heavy_row() -> float:
    return 1 - math.comb(POPULATION - HEAVY, SIZE) / math.comb(POPULATION, SIZE)


def misled(held: int, draws: int, rounds: int, bet: float, repetitions: int) -> float:
    """Return how often datasets show heavy rows to be rarer than a limit that is exactly how frequent they are."""
    passed = 0
    for seed in range(repetitions):
        pool = pool_of(seed, POPULATION, held, SIZE)
        drawn = [pool.test_round(k, 2, draws, seed=seed, name="out", replacement=False) for k in range(1, rounds + 1)]
        passed += average_evidence([evidence(rows, bet) for rows in drawn]) >= -math.log(FAILURE)
    return passed / repetitions


def evidence(datasets: Rows, bet: float) -> float:
    heavy = np.bincount((datasets < HEAVY).any(axis=1), minlength=2)
    return log_evidence(np.array([0.0, 1.0]), heavy, chance_of_a_heavy_row(), bet)


def tolerated(chance: float, repetitions: int) -> float:
    return float(stats.binom.isf(LIKELY, repetitions, chance)) / repetitions


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, 8])
@pytest.mark.parametrize("bold", [True, False])
def test_a_pool_that_lacks_heavy_rows_misleads_as_seldom_as_stated(rounds: int, bold: bool) -> None:
    limit = chance_of_a_heavy_row()
    draws = least_draws(limit, FAILURE) if bold else 40
    seen = np.array([0, 100]) if bold else np.array([1000 * (0.6 * limit), 1000])
    bet = best_bet(np.array([1.0, 0.0]), seen, limit, draws=draws, failure=FAILURE)
    held = (draws + 2) * SIZE
    assert held < POPULATION
    found = misled(held, draws, rounds, bet, 2000)
    assert found <= tolerated(FAILURE, 2000)
    assert found > 0  # it does happen, so that the test would see it happen too often


def test_datasets_from_the_pool_itself_mislead_far_too_often_if_counted_as_independent() -> None:
    passed = 0
    for seed in range(200):
        rows = np.broadcast_to(pool_of(seed, POPULATION, 120, SIZE).rows, (2000, 120))
        datasets = np.random.default_rng(seed).permuted(rows, axis=1)[:, :SIZE]
        passed += evidence(datasets, bet=0.1) >= -math.log(FAILURE)
    assert passed / 200 > 1.5 * tolerated(FAILURE, 200)
