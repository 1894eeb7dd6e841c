import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_model
from tests.mechanisms.shared import WORKED

import distpriv as dp
from distpriv.errors import InvalidInput, NotCertified
from distpriv.modelling.utility import OBJECTIVES, Objective
from distpriv.planning.least_epsilon import _start
from distpriv.planning.option import Option


def best(model: dp.QueryModel, epsilon: float, objective: Objective) -> Option | None:
    target = dp.PrivacyTarget(epsilon=epsilon, delta=1e-3)
    return dp.plan(model, target, objective=objective, processes=1).chosen


def assert_least(model: dp.QueryModel, epsilon: float, objective: Objective) -> None:
    wanted = best(model, epsilon, objective)
    assert wanted is not None
    if wanted.cost == 0:
        return
    least = dp.least_epsilon(model, error=wanted.cost, objective=objective)
    assert least <= epsilon * 1.002
    at_least, below = best(model, least, objective), best(model, least * 0.98, objective)
    assert at_least is not None
    assert at_least.cost <= wanted.cost
    assert below is None or below.cost > wanted.cost


@pytest.mark.slow
@settings(max_examples=2, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.2, 3), st.sampled_from(OBJECTIVES))
def test_the_least_epsilon_has_the_error_and_a_smaller_one_has_not(
    seed: int, epsilon: float, objective: Objective
) -> None:
    assert_least(random_model(seed, 2, distance=2.0), epsilon, objective)


@pytest.mark.slow
@settings(max_examples=2, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.2, 3), st.sampled_from(OBJECTIVES))
def test_also_where_covariances_differ(seed: int, epsilon: float, objective: Objective) -> None:
    assert_least(random_model(seed, 2, unequal=0.1, distance=2.0), epsilon, objective)


@pytest.mark.slow
def test_less_assurance_and_a_larger_error_need_no_larger_epsilon() -> None:
    strict = dp.least_epsilon(WORKED, error=6.0, objective="noise")
    assert dp.least_epsilon(WORKED, error=9.0, objective="noise") < strict
    assert dp.least_epsilon(WORKED, error=6.0, objective="noise", assurance="assumed") <= strict * 1.002
    estimate = dp.least_epsilon(WORKED, error=4.0)
    assert dp.least_epsilon(WORKED, error=5.0) < estimate
    assert estimate <= dp.least_epsilon(WORKED, error=4.0, objective="noise") * 1.002


def test_an_error_that_the_public_mean_has_needs_no_release() -> None:
    public = dp.plan(WORKED, dp.PrivacyTarget(epsilon=1, delta=1e-3), mechanisms=["no_noise"]).public_error
    with pytest.raises(InvalidInput, match="print that mean"):
        dp.least_epsilon(WORKED, error=public)


def test_the_search_begins_at_the_largest_epsilon_that_holds() -> None:
    assert _start(lambda epsilon: math.inf if epsilon > 5 else 1 / epsilon, 30.0) == (3.0, 1 / 3)
    assert _start(lambda epsilon: 1 / epsilon, 20.0) == (20.0, 0.05)
    assert math.isinf(_start(lambda _: math.inf, 30.0)[1])


@pytest.mark.slow
def test_an_error_out_of_reach_is_said_so() -> None:
    model = dp.gaussian_model(means={"a": [0], "b": [50]}, covariances=[[1]], pairs=[("a", "b")], steps=[1])
    with pytest.raises(NotCertified, match="accept a larger error"):
        dp.least_epsilon(model, error=1e-3)


@pytest.mark.parametrize("change", [{"error": 0}, {"error": "small"}, {"assurance": "blind"}, {"delta": 1.0}])
def test_questions_without_an_answer_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        dp.least_epsilon(WORKED, **{"error": 1.0, **change})  # type: ignore[arg-type]
