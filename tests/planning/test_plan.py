import json
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_model
from tests.mechanisms.shared import TARGET, WORKED, targets

import distpriv as dp
from distpriv.errors import InvalidInput, InvalidModel, InvalidTarget, NotCertified
from distpriv.guarantees.certificate import TRUST, Trust
from distpriv.noise.description import noise_from_dict
from distpriv.noise.laws import GaussianNoise
from distpriv.planning.candidates import CANDIDATES

TRUSTS: tuple[Trust, ...] = ("assumed", "gaussian", "sampling")


@pytest.fixture(scope="module")
def adult_plan(adult: pa.Table, paper_query: dp.Query) -> dp.Plan:
    secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    return dp.plan(dp.model(adult, paper_query, secret, records=100), TARGET, seed=1)


def test_a_plan_tries_every_mechanism_of_the_library(adult_plan: dp.Plan) -> None:
    assert sorted(candidate.name for candidate in CANDIDATES) == sorted(dp.mechanisms.__all__)
    tried = [found.name for found in adult_plan.options] + [refusal.name for refusal in adult_plan.refusals]
    assert sorted(tried) == sorted(dp.mechanisms.__all__)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), targets, st.floats(0, 0.3))
def test_what_is_chosen_holds_and_has_the_least_error_of_all_that_hold(
    seed: int, size: int, target: dp.PrivacyTarget, unequal: float
) -> None:
    found = dp.plan(random_model(seed, size, unequal=unequal, distance=2.0), target, processes=1)
    held = [each for each in found.options if each.mechanism.certificate.holds]
    strong = [each for each in held if each.mechanism.certificate.trust != "assumed"]
    assert found.chosen is not None
    assert found.chosen.error == min(each.error for each in strong)
    assert found.mechanism.certificate.delta <= target.delta
    if isinstance(found.mechanism.noise, GaussianNoise):
        assert dp.exact_delta(found.model, found.mechanism, epsilon=target.epsilon) <= target.delta


def test_believing_less_costs_more_noise(adult_plan: dp.Plan) -> None:
    errors = [
        min(each.error for each in adult_plan.options if each.mechanism.certificate.holds_at(trust)) for trust in TRUSTS
    ]
    assert errors == sorted(errors)
    assert errors[0] < errors[1] < errors[2]
    assert adult_plan.chosen is not None
    assert adult_plan.chosen.error == errors[1]


def test_alternatives_are_all_the_others_least_error_first(adult_plan: dp.Plan) -> None:
    assert adult_plan.chosen not in adult_plan.alternatives
    assert len(adult_plan.alternatives) == len(adult_plan.options) - 1
    errors = [found.error for found in adult_plan.options]
    assert errors == sorted(errors)


def test_the_attacker_is_less_often_right_after_than_before(adult_plan: dp.Plan) -> None:
    assert adult_plan.chosen is not None
    assert adult_plan.undefended_attack_accuracy == pytest.approx(0.7615, abs=5e-4)
    assert 0.5 < adult_plan.chosen.attack_accuracy <= TARGET.attack_accuracy_ceiling


def test_a_plan_survives_json(adult_plan: dp.Plan) -> None:
    values = json.loads(json.dumps(adult_plan.to_dict(), allow_nan=False))
    assert values["chosen"] == adult_plan.chosen.name  # type: ignore[union-attr]
    assert [option["mechanism"] for option in values["options"]] == [found.name for found in adult_plan.options]
    for option, found in zip(values["options"], adult_plan.options, strict=True):
        assert noise_from_dict(option["noise"]) == found.mechanism.noise
        assert option["certificate"]["holds"] == found.mechanism.certificate.holds
        overall = math.sqrt(sum(error**2 for error in option["errors"].values()))
        assert option["error"] == pytest.approx(overall, rel=1e-12)


def test_the_table_shows_what_is_chosen_what_fails_and_what_does_not_apply(adult_plan: dp.Plan) -> None:
    lines = str(adult_plan).splitlines()
    chosen = [line for line in lines if line.startswith("> ")]
    assert len(chosen) == 1
    assert adult_plan.mechanism.name in chosen[0]
    failed = [found.name for found in adult_plan.options if not found.mechanism.certificate.holds]
    assert failed
    assert all(any(line.split()[:1] == [name] and " NO " in line for line in lines) for name in failed)
    assert all(any(line.startswith(f"  {refusal.name}: ") for line in lines) for refusal in adult_plan.refusals)
    assert all(name in str(adult_plan) for name in adult_plan.model.names)
    assert max(map(len, lines)) <= 100


def test_processes_change_nothing(adult: pa.Table) -> None:
    query = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
    model = dp.model(adult, query, dp.Share("income = '>50K'", values=(0.4, 0.6)), records=40)
    alone, together = (dp.plan(model, TARGET, seed=3, processes=count) for count in (1, 2))
    assert alone.to_dict() == together.to_dict()


def test_progress_ends_at_the_number_of_mechanisms() -> None:
    seen: list[tuple[str, int, int]] = []
    dp.plan(WORKED, TARGET, progress=lambda *step: seen.append(step))
    assert seen[0] == ("planning", 0, len(CANDIDATES))
    assert seen[-1] == ("planning", len(CANDIDATES), len(CANDIDATES))


def test_weights_move_the_error_where_it_matters_less() -> None:
    plain = dp.plan(WORKED, TARGET)
    heavy = dp.plan(WORKED, TARGET, weights={"statistic_1": 100})
    assert heavy.chosen is not None
    assert plain.chosen is not None
    assert heavy.chosen.errors["statistic_1"] < plain.chosen.errors["statistic_1"]
    assert heavy.weights.tolist() == [100, 1]


def test_a_target_from_a_tolerated_attack_accuracy_is_kept() -> None:
    for delta in (None, 1e-4):
        found = dp.plan(WORKED, dp.PrivacyTarget.from_attack_accuracy(0.55, delta=delta))
        assert found.chosen is not None
        assert found.chosen.attack_accuracy <= 0.55


def test_a_model_that_deserves_no_trust_gets_a_table_and_no_mechanism(adult: pa.Table) -> None:
    rng = np.random.default_rng(0)
    model = dp.empirical_model(
        samples={"a": rng.normal(size=50), "b": rng.normal(1, 1, size=50)}, pairs=[("a", "b")], steps=[0.5]
    )
    found = dp.plan(model, dp.PrivacyTarget(epsilon=0.5, delta=1e-4), trust="sampling")
    assert found.chosen is None or found.chosen.mechanism.certificate.trust == "sampling"
    query = dp.Query(hours=dp.quantile("hours_per_week", 0.5))
    sampled = dp.model(
        adult.slice(0, 3000),
        query,
        dp.Scenarios({"a": adult.slice(0, 900), "b": adult.slice(900, 900)}),
        records=30,
        draws=200,
    )
    nothing = dp.plan(sampled, TARGET)
    assert nothing.chosen is None
    assert nothing.to_dict()["chosen"] is None
    assert "no mechanism holds" in str(nothing)
    with pytest.raises(NotCertified, match="trust 'gaussian'"):
        _ = nothing.mechanism


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"trust": "blind"}, InvalidInput),
        ({"weights": (1,)}, InvalidInput),
        ({"processes": 0}, InvalidInput),
        ({"target": (1, 0.001)}, InvalidTarget),
        ({"model": "adult.csv"}, InvalidModel),
    ],
)
def test_what_makes_no_plan_is_refused(change: dict[str, object], error: type[Exception]) -> None:
    settings: dict[str, object] = {"model": WORKED, "target": TARGET, **change}
    with pytest.raises(error):
        dp.plan(**settings)  # type: ignore[arg-type]


def test_levels_of_trust_are_ranked() -> None:
    assert sorted(TRUST, key=lambda level: TRUST[level]) == list(TRUSTS)
