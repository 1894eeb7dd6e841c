import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from distpriv.guarantees.mean_bound import best_bet, least_draws, log_evidence

limits = st.floats(1e-4, 0.5)


@settings(max_examples=200)
@given(limits, st.floats(0, 1), st.integers(1, 5000), st.floats(1e-6, 0.3))
def test_rare_events_as_frequent_as_the_limit_seldom_look_rarer_whatever_the_bet(
    limit: float, share: float, draws: int, failure: float
) -> None:
    bet = share * (1 - 1e-9) / (1 - limit)
    events = np.arange(draws + 1)
    evidence = events * math.log1p(bet * (limit - 1)) + (draws - events) * math.log1p(bet * limit)
    misled = stats.binom.pmf(events, draws, limit)[evidence >= -math.log(failure)].sum()
    assert misled <= failure * (1 + 1e-9)


@pytest.mark.parametrize("law", ["two points", "skewed", "heavy", "constant"])
def test_other_laws_whose_mean_is_the_limit_seldom_look_smaller(law: str) -> None:
    rng = np.random.default_rng(3)
    shape, limit, failure = (4000, 500), 0.02, 0.05
    values = {
        "two points": 0.01 + 0.99 * (rng.random(shape) < 1 / 99),
        "skewed": rng.beta(0.02, 0.98, shape),
        "heavy": rng.random(shape) ** 49,
        "constant": np.full(shape, limit),
    }[law]
    pilot, ones = values[:10].ravel() * 0.8, np.ones(5000, dtype=np.int64)
    bet = best_bet(pilot, ones, limit, draws=500, failure=failure)
    misled = np.mean([log_evidence(row, ones[:500], limit, bet) >= -math.log(failure) for row in values])
    assert misled <= failure + 3 * math.sqrt(failure / 4000)


@given(limits, st.floats(1e-9, 0.3))
def test_fewer_than_the_least_draws_cannot_show_it_and_so_many_can(limit: float, failure: float) -> None:
    least = least_draws(limit, failure)
    zero = np.zeros(1)
    bet = best_bet(zero, np.array([1]), limit, draws=least, failure=failure)
    assert log_evidence(zero, np.array([least]), limit, bet) >= -math.log(failure)
    fewer = math.floor(math.log(failure) / math.log1p(-limit) * (1 - 1e-6))
    assert log_evidence(zero, np.array([fewer]), limit, 1 / (1 - limit)) < -math.log(failure)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), limits, st.floats(0, 0.99), st.data())
def test_smaller_values_are_never_less_evidence(
    values: list[float], limit: float, share: float, data: st.DataObject
) -> None:
    greater = np.array([data.draw(st.floats(value, 1)) for value in values])
    counts, bet = np.arange(1, len(values) + 1), share / (1 - limit)
    assert log_evidence(np.array(values), counts, limit, bet) >= log_evidence(greater, counts, limit, bet) - 1e-9


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.floats(0.05, 0.4))
def test_no_other_bet_wins_more_on_the_values_it_was_chosen_for(seed: int, limit: float) -> None:
    rng = np.random.default_rng(seed)
    values, counts = rng.random(20) ** 4, rng.integers(1, 50, 20)
    bet = best_bet(values, counts, limit, draws=10**6, failure=0.01)
    most = log_evidence(values, counts, limit, bet)
    assert all(log_evidence(values, counts, limit, b / (1 - limit)) <= most + 1e-6 for b in np.linspace(0.01, 0.99, 30))
