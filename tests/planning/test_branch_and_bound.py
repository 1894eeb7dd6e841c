import json
import math

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_covariance, random_model
from tests.mechanisms.shared import TARGET, WORKED, targets
from tests.remembered import remembering

import distpriv as dp
from distpriv.errors import InvalidInput
from distpriv.guarantees.certificate import ASSURANCE, Assurance, Certificate
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.mechanisms.search.coupled_pilot import close_covariance_estimate, covariance_estimates
from distpriv.modelling.utility import OBJECTIVES, Objective, Weights, weighted_rms
from distpriv.noise.laws import GaussianNoise
from distpriv.planning.bounds import best_assurance, gaussian_noise_delta_lower_bound
from distpriv.planning.candidates import CANDIDATES
from distpriv.planning.table import plan_text

INCOME = "income = '>50K'"
WORK = "workclass = 'Private'"


def assert_the_same_choice(
    model: dp.QueryModel, target: dp.PrivacyTarget, assurance: Assurance, **given: object
) -> None:
    """Hold a plan that skips against one that runs everything, and what was said beforehand against what came out."""
    with remembering():  # what both run is made once, and for every assurance, on which it does not depend
        everything = dp.plan(model, target, assurance, all=True, processes=1, seed=1, **given)  # type: ignore[arg-type]
        quick = dp.plan(model, target, assurance, seed=1, processes=1, **given)  # type: ignore[arg-type]
    assert (quick.chosen is None) == (everything.chosen is None)
    if quick.chosen is not None and everything.chosen is not None:
        if quick.objective == "noise":
            assert quick.mechanism == everything.mechanism
            assert quick.chosen == everything.chosen
        assert quick.chosen.cost <= 1.005 * everything.chosen.cost
    assert everything.skipped == ()
    shown = [option.name for option in quick.options] + [refusal.name for refusal in quick.refusals]
    assert sorted(shown + [each.name for each in quick.skipped]) == sorted(dp.mechanisms.__all__)
    for option in everything.options:
        candidate = next(each for each in CANDIDATES if each.name == option.name)
        assert ASSURANCE[option.mechanism.certificate.assurance] <= ASSURANCE[best_assurance(candidate, model)]


SLOW = pytest.mark.slow
VARIED = [
    # statistics, pairs, how far covariances differ, distance of the means, ε, δ, assurance
    (1, 1, 0.0, 1.0, 1.0, 1e-3, "checked"),
    (1, 1, 0.0, 1.0, 0.0, 0.2, "checked"),
    pytest.param((1, 3, 0.1, 0.5, 0.3, 1e-5, "checked"), marks=SLOW),
    (2, 1, 0.0, 0.1, 5.0, 1e-2, "checked"),
    pytest.param((2, 2, 0.1, 2.0, 1.0, 1e-3, "checked"), marks=SLOW),
    pytest.param((2, 1, 0.3, 1.0, 2.0, 1e-2, "assumed"), marks=SLOW),
    pytest.param((3, 1, 0.02, 3.0, 0.5, 1e-3, "checked"), marks=SLOW),
    (3, 2, 0.0, 1.0, 1.0, 1e-6, "proved"),
    pytest.param((4, 1, 0.0, 4.0, 0.2, 1e-3, "checked"), marks=SLOW),
    pytest.param((5, 1, 0.05, 1.0, 1.0, 1e-3, "checked"), marks=SLOW),
]


@pytest.mark.parametrize("objective", ["estimate", pytest.param("noise", marks=SLOW)])
@pytest.mark.parametrize("case", VARIED)
def test_the_choice_and_its_noise_are_those_among_all(
    case: tuple[int, int, float, float, float, float, Assurance], objective: Objective
) -> None:
    size, pairs, unequal, distance, epsilon, delta, assurance = case
    model = random_model(size * 100 + pairs, size, unequal=unequal, distance=distance, pairs=pairs, parallel=pairs < 3)
    assert_the_same_choice(model, dp.PrivacyTarget(epsilon=epsilon, delta=delta), assurance, objective=objective)


@pytest.mark.slow
@settings(max_examples=16, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 5),
    targets,
    st.sampled_from([0.0, 0.02, 0.1, 0.3]),
    st.floats(0.2, 4),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from(["checked", "checked", "assumed"]),
    st.booleans(),
    st.sampled_from(OBJECTIVES),
)
def test_whatever_the_moments_are(
    seed: int,
    size: int,
    target: dp.PrivacyTarget,
    unequal: float,
    distance: float,
    pairs: int,
    parallel: bool,
    assurance: Assurance,
    weighted: bool,
    objective: Objective,
) -> None:
    model = random_model(seed, size, unequal=unequal, distance=distance, pairs=pairs, parallel=parallel)
    weights: Weights = tuple(1.0 + k for k in range(size)) if weighted else "relative"
    assert_the_same_choice(model, target, assurance, weights=weights, objective=objective)


ROWS = [
    # statistics, secret, values, ε, assurances
    (1, INCOME, (0.46, 0.54), 1.0, ("checked", "proved")),
    (2, WORK, (0.48, 0.52), 1.0, ("checked",)),
    (2, INCOME, (0.4, 0.6), 0.3, ("proved",)),
    (3, INCOME, (0.4, 0.5, 0.6), 3.0, ("checked",)),
]
STATISTICS = {
    "age": dp.mean("age"),
    "women": dp.count("sex = 'Female'"),
    "hours": dp.mean("hours_per_week"),
    "never_married": dp.count("marital_status = 'Never-married'"),
    "education": dp.mean("education_num"),
}


def rows_model(table: pa.Table, count: int, secret: str, values: tuple[float, ...], records: int) -> dp.QueryModel:
    query = dp.Query({name: STATISTICS[name] for name in list(STATISTICS)[:count]})
    return dp.model(table, query, dp.Share(secret, values=values), records=records)


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("case", ROWS)
def test_models_of_rows_have_the_same_choice_too(
    adult: pa.Table, case: tuple[int, str, tuple[float, ...], float, tuple[Assurance, ...]], objective: Objective
) -> None:
    count, secret, values, epsilon, assurances = case
    model = rows_model(adult.slice(0, 3000), count, secret, values, 50)
    for assurance in assurances:
        assert_the_same_choice(model, dp.PrivacyTarget(epsilon=epsilon, delta=0.01), assurance, objective=objective)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("secret", "epsilon"), [(INCOME, 0.2), (INCOME, 1.0), (INCOME, 5.0), (INCOME, 10.0), (WORK, 1.0), (WORK, 5.0)]
)
def test_the_papers_statistics_have_the_same_choice_too(adult: pa.Table, secret: str, epsilon: float) -> None:
    values = (0.45, 0.55) if secret == INCOME else (0.48, 0.52)
    model = rows_model(adult, 5, secret, values, 100)
    for assurance in ("checked", "proved"):
        assert_the_same_choice(model, dp.PrivacyTarget(epsilon=epsilon, delta=1e-3), assurance)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), targets, st.sampled_from([0.0, 0.2]), st.integers(1, 3))
def test_no_gaussian_noise_is_below_the_bound_on_its_delta(
    seed: int, size: int, target: dp.PrivacyTarget, unequal: float, pairs: int
) -> None:
    model = random_model(seed, size, unequal=unequal, distance=2.0, pairs=pairs, parallel=False)
    rng = np.random.default_rng(seed)
    noise = 10.0 ** rng.uniform(-1, 2) * random_covariance(rng, size)
    weights = rng.uniform(0.1, 5.0, size)
    error = math.sqrt(float(weights @ np.diag(noise)))
    least = gaussian_noise_delta_lower_bound(model, target, weights, error)
    assert least <= dp.exact_delta(model, noise, epsilon=target.epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [pytest.param(0.3, marks=SLOW), 3.0])
def test_a_pilot_is_near_to_what_it_stands_for(adult: pa.Table, epsilon: float) -> None:
    model = rows_model(adult.slice(0, 3000), 3, INCOME, (0.4, 0.6), 50)
    target = dp.PrivacyTarget(epsilon=epsilon, delta=0.01)
    weights = np.array([1.0, 2.0, 3.0])
    about = covariance_estimates(model, target, weights, seed=0)
    for name, make in (
        ("coupled_gaussian", dp.mechanisms.coupled_gaussian),
        ("coupled_laplace", dp.mechanisms.coupled_laplace),
    ):
        noise = make(model, target, weights=tuple(weights), seed=1).noise
        error = math.sqrt(float(weights @ np.diag(noise.covariance)))
        assert 0.6 * error < weighted_rms(about[name], weights) < 1.05 * error
        closely = close_covariance_estimate(name, model, target, weights, seed=2)
        assert weighted_rms(closely, weights) == pytest.approx(error, rel=0.04)


def test_where_a_pilot_would_be_slow_or_is_out_of_place_there_is_none(adult: pa.Table) -> None:
    medians = dp.model(
        adult.slice(0, 500),
        dp.Query(age=dp.quantile("age", 0.5)),
        dp.Share(INCOME, values=(0.4, 0.6)),
        records=20,
        draws=200,
    )
    assert covariance_estimates(medians, TARGET, np.ones(1), seed=0) == {}
    assert covariance_estimates(WORKED, TARGET, np.ones(2), seed=0) == {}


FAR_APART = dp.gaussian_model(
    means={"a": [40, 50], "b": [42, 46]}, covariances=[[2, 0], [0, 25]], pairs=[("a", "b")], steps=[0.01, 1]
)


class DearForLaplace:
    """Earlier releases after which Laplace noise must be many times as wide, and Gaussian noise hardly wider."""

    def __init__(self, foreseen: float = 1.0) -> None:
        self.asked: list[str] = []
        self.foreseen = foreseen

    def calibrated(
        self,
        model: dp.QueryModel,  # noqa: ARG002 - as all of them are asked
        mechanism: AdditiveMechanism,
        assurance: Assurance,  # noqa: ARG002
    ) -> tuple[AdditiveMechanism, Certificate]:
        self.asked.append(mechanism.name)
        factor = 1.01 if isinstance(mechanism.noise, GaussianNoise) else 100.0
        wider = GaussianNoise.of(factor**2 * mechanism.noise.covariance)
        return evolve(mechanism, noise=wider), mechanism.certificate

    def least_widening(
        self,
        model: dp.QueryModel,  # noqa: ARG002 - as all of them are asked
        mechanism: AdditiveMechanism,
        assurance: Assurance,  # noqa: ARG002
    ) -> float:
        return 1.0 if isinstance(mechanism.noise, GaussianNoise) else self.foreseen


@pytest.mark.parametrize("foreseen", [1.0, 20.0])
def test_what_will_be_too_wide_at_least_is_not_calibrated_and_the_choice_is_the_same(foreseen: float) -> None:
    names = ["certified_laplace", "certified_gaussian", "expected_value_gaussian"]
    earlier = DearForLaplace(foreseen)
    found = dp.plan(FAR_APART, TARGET, objective="noise", after=earlier, mechanisms=names)
    alone = dp.plan(FAR_APART, TARGET, objective="noise", mechanisms=names)
    assert not alone.mechanism.noise.is_gaussian
    assert found.mechanism.name == "certified_gaussian"
    assert ("certified_laplace" in earlier.asked) == (foreseen == 1.0)
    assert "expected_value_gaussian" not in earlier.asked
    refused = {refusal.name: refusal.reason for refusal in found.refusals}
    assert "less than this one would have at best" in refused["expected_value_gaussian"]
    assert ("certified_laplace" in refused) == (foreseen > 1)


@pytest.mark.slow
def test_after_earlier_releases_errors_are_compared_as_they_are_then() -> None:
    quick, everything = (
        dp.plan(FAR_APART, TARGET, objective="noise", after=(earlier := DearForLaplace()), all=every, processes=1)
        for every in (False, True)
    )
    assert not dp.plan(FAR_APART, TARGET, objective="noise").mechanism.noise.is_gaussian
    assert quick.mechanism.name == "certified_gaussian"
    assert quick.mechanism == everything.mechanism
    assert len(earlier.asked) == len(set(earlier.asked))


def test_what_was_not_tried_is_in_the_table_and_in_what_is_written() -> None:
    found = dp.plan(WORKED, TARGET)
    assert found.skipped
    told = " ".join(plan_text(found, 2).split())
    assert all(each.name in told and each.reason in told for each in found.skipped)
    written = json.loads(json.dumps(found.to_dict()))["skipped"]
    assert [each["mechanism"] for each in written] == [each.name for each in found.skipped]
    everything = dp.plan(WORKED, TARGET, all=True)
    assert "not tried" not in plan_text(everything, 2)
    assert everything.to_dict()["skipped"] == []
    assert len(everything.options) + len(everything.refusals) == len(CANDIDATES)


def test_mechanisms_that_are_named_are_all_tried() -> None:
    names = ["expected_value_laplace", "certified_laplace", "certified_gaussian", "no_noise"]
    found = dp.plan(WORKED, TARGET, mechanisms=names)
    assert sorted(each.name for each in found.options) == sorted(names)
    assert found.skipped == ()


def test_a_plan_without_time_has_something_certified_and_says_what_it_left_out() -> None:
    model = random_model(3, 3, unequal=0.3, distance=2.0)
    short, whole = (dp.plan(model, TARGET, seconds=seconds, processes=1) for seconds in (1e-9, None))
    assert short.out_of_time
    assert not whole.out_of_time
    assert short.chosen is not None
    assert short.mechanism.certificate.holds_at("checked")
    assert whole.chosen is not None
    assert whole.chosen.cost <= short.chosen.cost
    left_out = {skipped.name for skipped in short.skipped if skipped.long}
    assert left_out
    assert left_out.isdisjoint(option.name for option in short.options)
    assert short.to_dict()["out_of_time"]


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "long"])
def test_a_budget_that_is_none_is_refused(seconds: object) -> None:
    with pytest.raises(InvalidInput):
        dp.plan(random_model(3, 1), TARGET, seconds=seconds)  # type: ignore[arg-type]


def test_a_mechanism_that_breaks_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise TypeError("'NoneType' object is not subscriptable")

    monkeypatch.setattr(dp.mechanisms, "expected_value_gaussian", broken)
    found = dp.plan(WORKED, TARGET, mechanisms={"expected_value_gaussian": {}, "group_privacy_gaussian": {}})
    assert "expected_value_gaussian" in [refusal.name for refusal in found.refusals]
