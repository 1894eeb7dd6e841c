import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_model
from tests.mechanisms.shared import WORKED

import distpriv as dp
from distpriv.errors import InvalidInput, NotCertified
from distpriv.modelling.utility import OBJECTIVES, Objective
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
    assert least <= epsilon * 1.011
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
    strict = dp.least_epsilon(WORKED, error=6.0, objective="noise", weights="units")
    assert dp.least_epsilon(WORKED, error=9.0, objective="noise", weights="units") < strict
    assert (
        dp.least_epsilon(WORKED, error=6.0, objective="noise", weights="units", assurance="assumed") <= strict * 1.011
    )
    estimate = dp.least_epsilon(WORKED, weights="units", error=4.0)
    assert dp.least_epsilon(WORKED, weights="units", error=5.0) < estimate
    assert estimate <= dp.least_epsilon(WORKED, weights="units", error=4.0, objective="noise") * 1.011


def test_an_error_that_the_public_mean_has_needs_no_release() -> None:
    public = dp.plan(WORKED, dp.PrivacyTarget(epsilon=1, delta=1e-3), mechanisms=["no_noise"]).public_error
    with pytest.raises(InvalidInput, match="print that mean"):
        dp.least_epsilon(WORKED, error=public)


@pytest.mark.slow
def test_a_larger_error_needs_no_larger_epsilon_and_the_plan_there_has_it() -> None:
    model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")], steps=[0.5])
    found = [dp.least_epsilon(model, error=error, seconds=None) for error in (0.8, 0.9)]
    assert found == sorted(found, reverse=True)
    for error, epsilon in zip((0.8, 0.9), found, strict=True):
        chosen = dp.plan(model, dp.PrivacyTarget(epsilon=epsilon, delta=1e-3), seed=0, processes=1).chosen
        assert chosen is not None
        assert chosen.cost <= error


def test_without_time_the_answer_is_rounded_up_more() -> None:
    model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    assert dp.least_epsilon(model, error=0.8, seconds=1e-9) in (1.0, 3.0, 10.0, 30.0)


@pytest.mark.slow
def test_an_error_out_of_reach_is_said_so() -> None:
    model = dp.gaussian_model(means={"a": [0], "b": [50]}, covariances=[[1]], pairs=[("a", "b")], steps=[1])
    with pytest.raises(NotCertified, match="accept a larger error"):
        dp.least_epsilon(model, error=1e-3)


@pytest.mark.parametrize(
    "change", [{"error": 0}, {"error": "small"}, {"seconds": 0}, {"assurance": "blind"}, {"delta": 1.0}]
)
def test_questions_without_an_answer_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        dp.least_epsilon(WORKED, **{"error": 1.0, **change})  # type: ignore[arg-type]
