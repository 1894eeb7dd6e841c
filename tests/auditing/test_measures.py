import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from distpriv.auditing.measures import bounds, measures


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 40))
def test_the_area_is_the_share_of_pairs_in_order_and_ties_count_half(seed: int, first: int, second: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.integers(-3, 5, first).astype(float), rng.integers(-4, 4, second).astype(float)
    above = (one[:, None] > other).mean() + (one[:, None] == other).mean() / 2
    found = measures((one, other), 0.95)
    assert found.auc == pytest.approx(above, abs=1e-12)
    assert found.interval[0] <= found.accuracy <= found.interval[1]
    assert found.tpr_at_1_percent_fpr == (one > np.quantile(other, 0.99, method="higher")).mean()


def test_more_confidence_is_a_wider_interval() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(0.3, 1, 500), rng.normal(-0.3, 1, 500)
    narrow, wide = (measures(scores, confidence).interval for confidence in (0.8, 0.999))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_bounds_stay_below_the_truth_and_come_near_it() -> None:
    rng = np.random.default_rng(1)
    draws = [(rng.normal(0.5, 1, 50_000), rng.normal(-0.5, 1, 50_000)) for _ in range(2)]
    proven = bounds(draws[0], draws[1], delta=0.01, failure=0.05)
    truth = float(norm.cdf(0.5))
    assert truth - 0.01 < proven.accuracy_lower_bound < truth
    grid = np.linspace(-3, 4, 2001)
    hit, false = norm.sf(grid - 0.5), norm.sf(grid + 0.5)
    largest = float(np.log(np.maximum(hit - 0.01, 1e-12) / false).max())
    assert 0.8 < proven.epsilon_lower_bound < largest


def test_scores_that_say_nothing_prove_nothing() -> None:
    rng = np.random.default_rng(2)
    draws = [(rng.normal(size=5000), rng.normal(size=5000)) for _ in range(2)]
    proven = bounds(draws[0], draws[1], delta=0.001, failure=1e-6)
    assert proven.epsilon_lower_bound == 0
    assert proven.accuracy_lower_bound < 0.5
