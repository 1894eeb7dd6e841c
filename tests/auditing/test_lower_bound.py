import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from distpriv.auditing.lower_bound import (
    best_thresholds,
    epsilon_lower_bound,
    proportion_lower_bound,
    proportion_upper_bound,
)
from distpriv.errors import InvalidInput

RUNS = 2000


@pytest.mark.parametrize(("epsilon", "releases"), [(0.5, 1000), (1.0, 200), (2.0, 5000)])
def test_on_randomised_response_the_bound_exceeds_epsilon_no_more_often_than_stated(
    epsilon: float, releases: int
) -> None:
    rng = np.random.default_rng(1)
    truthful = math.exp(epsilon) / (1 + math.exp(epsilon))
    hits = rng.binomial(releases, truthful, RUNS), rng.binomial(releases, 1 - truthful, RUNS)
    found = [
        epsilon_lower_bound(int(a), releases, int(b), releases, delta=0.0, confidence=0.95)
        for a, b in zip(*hits, strict=True)
    ]
    assert np.mean(np.array(found) > epsilon) <= 0.05
    assert np.median(found) > 0.6 * epsilon


def test_nor_where_delta_is_all_that_is_left() -> None:
    epsilon, delta, rare = 1.0, 0.05, 0.1
    rng = np.random.default_rng(2)
    hits = rng.binomial(2000, math.exp(epsilon) * rare + delta, RUNS), rng.binomial(2000, rare, RUNS)
    pairs = [(int(a), int(b)) for a, b in zip(*hits, strict=True)]

    def too_high(delta: float) -> float:
        return float(
            np.mean([epsilon_lower_bound(a, 2000, b, 2000, delta=delta, confidence=0.95) > 1 for a, b in pairs])
        )

    assert too_high(delta) <= 0.05
    assert too_high(0.0) > 0.2  # and without δ that would be wrong


@given(st.integers(1, 500), st.data())
def test_bounds_on_a_proportion_are_those_of_scipy(trials: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, trials))
    interval = binomtest(count, trials).proportion_ci(0.9, method="exact")
    assert proportion_lower_bound(count, trials, 0.05) == pytest.approx(interval.low, abs=1e-9)
    assert proportion_upper_bound(count, trials, 0.05) == pytest.approx(interval.high, abs=1e-9)


counts = st.integers(0, 1000)


@given(counts, counts, st.floats(0, 0.5), st.floats(0.5, 0.999))
def test_swapping_the_scenarios_and_the_decision_changes_nothing(
    first: int, second: int, delta: float, confidence: float
) -> None:
    one = epsilon_lower_bound(first, 1000, second, 1000, delta=delta, confidence=confidence)
    other = epsilon_lower_bound(1000 - second, 1000, 1000 - first, 1000, delta=delta, confidence=confidence)
    assert one == pytest.approx(other, abs=1e-9)


@given(counts, counts, st.floats(0, 0.4), st.floats(0.5, 0.99))
def test_more_hits_less_delta_and_less_confidence_prove_more(
    first: int, second: int, delta: float, confidence: float
) -> None:
    found = epsilon_lower_bound(first, 1000, second, 1000, delta=delta, confidence=confidence)
    assert found >= 0
    assert found >= epsilon_lower_bound(max(first - 1, 0), 1000, second, 1000, delta=delta, confidence=confidence)
    assert found >= epsilon_lower_bound(first, 1000, second, 1000, delta=delta + 0.1, confidence=confidence)
    assert found >= epsilon_lower_bound(first, 1000, second, 1000, delta=delta, confidence=(1 + confidence) / 2)


def test_with_many_releases_the_bound_is_tight() -> None:
    truthful = math.e / (1 + math.e)
    hits = round(10**7 * truthful)
    assert 0.99 < epsilon_lower_bound(hits, 10**7, 10**7 - hits, 10**7, delta=0.0, confidence=0.95) < 1


def test_thresholds_go_where_most_can_be_shown() -> None:
    # With one Gaussian wider than the other all evidence is in its tails, and the middle shows nothing.
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.5, 1, 20_000), rng.normal(0, 1, 20_000)
    above, below = best_thresholds(first, second, delta=0.0, failure=0.01)
    assert above > 1.5
    assert below < -1.0
    fresh = rng.normal(0.5, 1, 20_000), rng.normal(0, 1, 20_000)

    def shown(threshold: float) -> float:
        hits = [int((scores > threshold).sum()) for scores in fresh]
        return epsilon_lower_bound(hits[0], 20_000, hits[1], 20_000, delta=0.0, confidence=0.98)

    assert max(shown(above), shown(below)) > shown(0.25)
    assert shown(above) < math.log(norm.sf(above - 0.5) / norm.sf(above))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"first_hits": 11}, "11 of 10 releases were hits"),
        ({"first_hits": -1}, "the number of hits must be a whole number, at least 0"),
        ({"second_releases": 0}, "the number of releases must be a whole number, at least 1"),
        ({"delta": 1.0}, "delta must be at least 0 and below 1"),
        ({"confidence": 1.0}, "confidence must be above 0 and below 1"),
    ],
)
def test_counts_that_make_no_sense_are_refused(changed: dict[str, float], message: str) -> None:
    given_: dict[str, float] = {"first_hits": 5, "first_releases": 10, "second_hits": 0, "second_releases": 10}
    with pytest.raises(InvalidInput, match=message):
        epsilon_lower_bound(**({"delta": 0.0, "confidence": 0.95} | given_ | changed))  # type: ignore[arg-type]
