import json
import math
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_model
from tests.mechanisms.shared import TARGET, WORKED, targets

import distpriv as dp
from distpriv.errors import InvalidInput, InvalidModel, InvalidTarget, NotCertified
from distpriv.framework.display import percent
from distpriv.guarantees.certificate import ASSURANCE, Assurance
from distpriv.modelling.utility import OBJECTIVES
from distpriv.noise.laws import GaussianNoise
from distpriv.planning.candidates import CANDIDATES, Choice
from distpriv.planning.table import advice, option_rows, other_mechanisms, plan_gains, plan_text, plan_verdict
from distpriv.releasing.record import NOISE

ASSURANCES: tuple[Assurance, ...] = ("assumed", "checked", "proved")


SECRET = dp.Share("income = '>50K'", values=(0.45, 0.55))


@pytest.fixture(scope="module")
def adult_plan(adult: pa.Table) -> dp.Plan:
    decade, never = dp.mean("CAST(age / 10 AS INT)"), dp.count("marital_status = 'Never-married'")
    model = dp.model(adult, dp.Query(decade=decade, never_married=never), SECRET, records=100, reference="population")
    return dp.plan(model, TARGET, all=True, seed=1, processes=1)


def test_a_plan_tries_every_mechanism_of_the_library(adult_plan: dp.Plan) -> None:
    assert sorted(candidate.name for candidate in CANDIDATES) == sorted(dp.mechanisms.__all__)
    tried = [found.name for found in adult_plan.options] + [refusal.name for refusal in adult_plan.refusals]
    assert sorted(tried) == sorted(dp.mechanisms.__all__)


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 2), targets, st.floats(0, 0.3))
def test_what_is_chosen_holds_and_has_the_least_error_of_all_that_hold(
    seed: int, size: int, target: dp.PrivacyTarget, unequal: float
) -> None:
    found = dp.plan(random_model(seed, size, unequal=unequal, distance=2.0), target, all=True, processes=1)
    held = [each for each in found.options if each.mechanism.certificate.holds]
    strong = [each for each in held if each.mechanism.certificate.assurance != "assumed"]
    assert found.chosen is not None
    assert found.chosen.estimate_error == min(each.estimate_error for each in strong)
    assert found.mechanism.certificate.delta <= target.delta
    if isinstance(found.mechanism.noise, GaussianNoise):
        assert dp.exact_delta(found.model, found.mechanism, epsilon=target.epsilon) <= target.delta


def test_believing_less_costs_more_error(adult_plan: dp.Plan) -> None:
    errors = [
        min(each.cost for each in adult_plan.options if each.mechanism.certificate.holds_at(assurance))
        for assurance in ASSURANCES
    ]
    assert errors == sorted(errors)
    drawn = [
        each
        for each in adult_plan.options
        if each.name != "exact_law" and each.mechanism.certificate.holds_at("proved")
    ]
    assert errors[2] < min(each.cost for each in drawn)
    cheaper = [each for each in adult_plan.options if each.cost < errors[1]]
    assert cheaper
    assert not any(each.mechanism.certificate.holds for each in cheaper)
    assert adult_plan.chosen is not None
    assert adult_plan.chosen.cost == errors[1]


def test_estimates_have_no_more_error_than_the_noise_or_than_the_public_mean(adult_plan: dp.Plan) -> None:
    for option in adult_plan.options:
        assert option.estimate_error <= min(option.error, adult_plan.public_error) * (1 + 1e-9)
        for name, error in option.estimate_errors.items():
            assert error <= min(option.errors[name], adult_plan.public_errors[name]) * (1 + 1e-9) + 1e-9
        share = 1 - (option.estimate_error / adult_plan.public_error) ** 2
        assert option.information == pytest.approx(share, abs=1e-9)
        assert option.cost == option.estimate_error
    assert adult_plan.public_error == pytest.approx(math.sqrt(2))  # in public standard deviations


def test_the_first_line_of_the_table_is_what_can_be_printed_without_a_release(adult_plan: dp.Plan) -> None:
    head, first, *rest = option_rows(adult_plan)
    assert (head[0], first[0], first[-1]) == ("mechanism", "public mean, no release", "50 %")
    assert len(rest) == len(adult_plan.options)


FARTHER = dp.gaussian_model(
    means={"a": [100, 101], "b": [95, 106]}, covariances=[[22, -6], [-6, 13]], pairs=[("a", "b")]
)
UNEVEN = dp.gaussian_model(
    means={"a": [40, 50], "b": [42, 46]}, covariances=[[2, 0], [0, 25]], pairs=[("a", "b")], steps=[0.01, 1]
)
FEW = ["certified_gaussian", "certified_laplace", "expected_value_gaussian"]


def test_each_objective_has_the_least_of_what_it_asks_for() -> None:
    estimate, noise = (
        dp.plan(UNEVEN, TARGET, weights="units", objective=objective, mechanisms=FEW) for objective in OBJECTIVES
    )
    assert estimate.chosen is not None
    assert noise.chosen is not None
    assert estimate.chosen.name != noise.chosen.name
    assert estimate.chosen.estimate_error < noise.chosen.estimate_error
    assert noise.chosen.error < estimate.chosen.error
    assert [each.error for each in noise.options] == sorted(each.error for each in noise.options)
    assert (estimate.to_dict()["objective"], noise.to_dict()["objective"]) == OBJECTIVES


def test_a_plan_says_so_if_its_estimates_are_hardly_better_than_the_public_mean() -> None:
    close, far = (
        dp.plan(FARTHER, dp.PrivacyTarget(epsilon=epsilon, delta=1e-4), mechanisms=["expected_value_gaussian"])
        for epsilon in (0.05, 8)
    )
    assert close.chosen is not None
    assert close.chosen.information < 0.1
    assert plan_verdict(close)[0] != plan_verdict(far)[0]
    assert percent(plan_gains(close).mean) in plan_verdict(close)[1][0]


def test_a_prior_moves_the_public_mean() -> None:
    found = dp.plan(FARTHER, TARGET, weights="units", mechanisms=FEW[:1], prior={"a": 1, "b": 0})
    assert found.public.mean.tolist() == [100, 101]
    assert found.public_error == pytest.approx(math.sqrt(35))


def test_what_has_too_large_an_error_is_not_chosen() -> None:
    free = dp.plan(UNEVEN, TARGET, weights="units", mechanisms=FEW)
    best, second = (each for each in free.options if each.may_be_used(free.assurance) and each.name != FEW[2])
    name = next(name for name in UNEVEN.names if second.estimate_errors[name] < best.estimate_errors[name])
    most = (second.estimate_errors[name] + best.estimate_errors[name]) / 2
    limited = dp.plan(UNEVEN, TARGET, weights="units", mechanisms=FEW, max_error={name: most})
    assert limited.chosen is not None
    assert limited.chosen.name == second.name
    assert next(each for each in limited.options if each.name == best.name).too_large == (name,)
    assert limited.to_dict()["max_error"] == {name: most}


def test_where_every_error_is_too_large_the_plan_says_which() -> None:
    limited = dp.plan(FARTHER, TARGET, mechanisms=FEW, max_error={"statistic_2": 0.01})
    assert limited.chosen is None
    assert limited.nearest is not None
    assert "statistic_2" in str(limited)
    assert "0.01" in str(limited)
    with pytest.raises(NotCertified, match=r"in 'statistic_2' where at most 0\.01 is allowed"):
        _ = limited.mechanism


def test_the_same_choice_is_made_with_limits_by_a_plan_that_skips() -> None:
    limits = {"statistic_1": 4.0}
    quick, everything = (dp.plan(WORKED, TARGET, max_error=limits, all=every, processes=1) for every in (False, True))
    assert quick.chosen == everything.chosen


def test_alternatives_are_all_the_others_least_error_first(adult_plan: dp.Plan) -> None:
    assert adult_plan.chosen not in adult_plan.alternatives
    assert len(adult_plan.alternatives) == len(adult_plan.options) - 1
    errors = [found.cost for found in adult_plan.options]
    assert errors == sorted(errors)


def test_the_attacker_is_less_often_right_after_than_before(adult_plan: dp.Plan) -> None:
    assert adult_plan.chosen is not None
    after = adult_plan.chosen.attack_accuracy
    assert 0.5 < after < adult_plan.undefended_attack_accuracy
    assert after <= TARGET.attack_accuracy_ceiling


@pytest.mark.slow
def test_the_papers_statistics_are_hidden_with_less_error_than_its_gaussian_noise(
    adult: pa.Table, paper_query: dp.Query
) -> None:
    model = dp.model(adult, paper_query, SECRET, records=100, reference="population")
    found = dp.plan(model, TARGET, all=True, seed=1, objective="noise")
    assert found.undefended_attack_accuracy == pytest.approx(0.7615, abs=5e-4)
    assert found.chosen is not None
    assert found.chosen.attack_accuracy < 0.65
    papers = next(each.error for each in found.options if each.name == "directional_gaussian")
    assert found.chosen.error < 0.8 * papers


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "laplace", "gaussian"), [(0.2, 6.09, 5.93), (1, 3.93, 4.01), (5, 1.39, 1.38)])
def test_estimates_of_the_papers_statistics_have_the_errors_that_were_predicted(
    adult: pa.Table, paper_query: dp.Query, epsilon: float, laplace: float, gaussian: float
) -> None:
    model = dp.model(adult, paper_query, SECRET, records=100, reference="population")
    target = dp.PrivacyTarget(epsilon=epsilon, delta=1e-3)
    found = dp.plan(model, target, mechanisms=["certified_laplace", "certified_gaussian"])
    errors = {option.name: option.estimate_error for option in found.options}
    assert found.public_error == pytest.approx(6.36, abs=0.005)
    assert errors == pytest.approx({"certified_laplace": laplace, "certified_gaussian": gaussian}, rel=0.02)


def test_a_plan_survives_json(adult_plan: dp.Plan) -> None:
    values = json.loads(json.dumps(adult_plan.to_dict(), allow_nan=False))
    assert values["chosen"] == adult_plan.chosen.name  # type: ignore[union-attr]
    assert [option["mechanism"] for option in values["options"]] == [found.name for found in adult_plan.options]
    for option, found in zip(values["options"], adult_plan.options, strict=True):
        assert NOISE.of(option["noise"]) == found.mechanism.noise
        assert option["certificate"]["holds"] == found.mechanism.certificate.holds
        errors = np.array(list(option["errors"].values()))
        overall = math.sqrt(np.array(values["weights"]) @ errors**2)
        assert option["error"] == pytest.approx(overall, rel=1e-12)


def test_the_table_shows_what_is_chosen_what_fails_and_what_does_not_apply(adult_plan: dp.Plan) -> None:
    rows = option_rows(adult_plan)[2:]
    assert [row[0] for row in rows if "(chosen)" in row[0]] == [f"{adult_plan.mechanism.name} (chosen)"]
    held = [found.may_be_used(adult_plan.assurance) for found in adult_plan.options]
    assert [row[3].startswith("yes") for row in rows] == held
    assert not all(held)
    others = "\n".join(other_mechanisms(adult_plan))
    assert all(refusal.name in others and refusal.reason in others for refusal in adult_plan.refusals)
    assert all(name in str(adult_plan) for name in adult_plan.model.names)
    assert max(map(len, plan_text(adult_plan, 2).splitlines()[1:])) <= 100


def test_the_headline_is_the_mean_over_statistics_and_advice_names_what_reveals_most() -> None:
    model = dp.gaussian_model(
        means={"a": [0, 0], "b": [2, 0]}, covariances=[[1, 0], [0, 1]], pairs=[("a", "b")], names=["income", "age"]
    )
    plan = dp.plan(model, dp.PrivacyTarget(epsilon=1, delta=0.01), mechanisms=["certified_gaussian"])
    gains = plan_gains(plan)
    assert gains.mean == pytest.approx(sum(gains.by_statistic.values()) / 2)
    assert plan.chosen is not None
    assert gains.mean == pytest.approx(plan.chosen.information)
    assert gains.least == "income"
    (line,) = advice(plan)
    assert "income" in line
    assert "50 %" in line


@pytest.mark.slow
def test_processes_change_nothing(adult: pa.Table) -> None:
    query = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
    model = dp.model(adult, query, dp.Share("income = '>50K'", values=(0.4, 0.6)), records=40)
    target = dp.PrivacyTarget(epsilon=1, delta=0.01)
    alone, together = (dp.plan(model, target, all=True, seed=3, processes=count) for count in (1, 2))
    assert alone.to_dict() == together.to_dict()


def test_progress_ends_at_the_number_of_mechanisms() -> None:
    seen: list[tuple[str, int, int]] = []
    for every in (False, True):
        seen.clear()
        dp.plan(WORKED, TARGET, all=every, progress=lambda *step: seen.append(step))
        assert seen[0] == ("planning", 0, len(CANDIDATES))
        assert seen[-1] == ("planning", len(CANDIDATES), len(CANDIDATES))


def test_weights_move_the_error_where_it_matters_less() -> None:
    plain = dp.plan(FARTHER, TARGET, all=True)
    heavy = dp.plan(FARTHER, TARGET, all=True, weights={"statistic_2": 100})
    assert heavy.weights.tolist() == (plain.weights * [1, 100]).tolist()
    before, after = (
        next(each for each in found.options if each.name == "certified_gaussian") for found in (plain, heavy)
    )
    assert after.errors["statistic_2"] < before.errors["statistic_2"]
    assert after.errors["statistic_1"] > before.errors["statistic_1"]
    overall = math.sqrt(heavy.weights @ np.array(list(after.errors.values())) ** 2)
    assert after.error == pytest.approx(overall)


def test_a_target_from_a_tolerated_attack_accuracy_is_kept() -> None:
    for delta in (None, 1e-4):
        found = dp.plan(WORKED, dp.PrivacyTarget.from_attack_accuracy(0.55, delta=delta))
        assert found.chosen is not None
        assert found.chosen.attack_accuracy <= 0.55


def test_where_nothing_is_proved_at_the_assurance_asked_for_there_is_a_table_and_no_mechanism() -> None:
    nothing = dp.plan(WORKED, TARGET, assurance="proved")  # moments only: how the data were drawn is not known
    assert nothing.options
    assert nothing.chosen is None
    assert nothing.alternatives == nothing.options
    assert nothing.to_dict()["chosen"] is None
    assert plan_verdict(nothing)[0] not in (plan_verdict(dp.plan(WORKED, TARGET))[0], "")
    with pytest.raises(NotCertified, match="assurance 'proved'"):
        _ = nothing.mechanism


def test_a_plan_chooses_from_the_mechanisms_it_is_given(adult: pa.Table) -> None:
    model = dp.model(adult, dp.Query(age=dp.mean("age")), SECRET, records=100)
    options = {"draws": 20_000, "pairing": "independent"}
    found = dp.plan(model, TARGET, assurance="proved", mechanisms={"coupled_gaussian": options, "bounded": {}}, seed=1)
    tried = [each.name for each in found.options] + [each.name for each in found.refusals]
    assert sorted(tried) == ["bounded", "coupled_gaussian"]
    assert found.mechanism.name == "coupled_gaussian"
    facts = {name: fact for one in found.mechanism.certificate.evidence for name, fact in one.facts.items()}
    assert (facts["draws"], facts["pairing"]) == (20_000, "independent")


def test_it_is_the_same_choice_as_among_all_if_the_best_is_given() -> None:
    few = dp.plan(WORKED, TARGET, mechanisms=["certified_gaussian", "certified_laplace"])
    assert few.mechanism == dp.plan(WORKED, TARGET).mechanism
    assert len(few.options) == 2


@pytest.mark.parametrize(
    ("mechanisms", "message"),
    [
        ([], "leave it out"),
        ("coupled_gaussian", "leave it out"),
        (["coupled_gausian"], "did you mean 'coupled_gaussian'?"),
        ({"coupled_gaussian": {"draw": 5}}, "no option 'draw' in a plan: did you mean 'draws'?"),
        ({"coupled_gaussian": {"seed": 5}}, "no option 'seed' in a plan"),
        ({"coupled_gaussian": 5}, "must have names"),
        ({"certified_gaussian": {"draws": 5}}, "no option 'draws' in a plan: it has none."),
    ],
)
def test_mechanisms_that_are_not_there_are_refused(mechanisms: Choice, message: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        dp.plan(WORKED, TARGET, mechanisms=mechanisms)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"assurance": "blind"}, InvalidInput),
        ({"weights": (1,)}, InvalidInput),
        ({"objective": "privacy"}, InvalidInput),
        ({"prior": {"a": 1.0}}, InvalidInput),
        ({"max_error": 0.5}, InvalidInput),
        ({"max_error": {"age": 0.5}}, InvalidInput),
        ({"max_error": {"statistic_1": 0}}, InvalidInput),
        ({"processes": 0}, InvalidInput),
        ({"target": (1, 0.001)}, InvalidTarget),
        ({"model": "adult.csv"}, InvalidModel),
    ],
)
def test_what_makes_no_plan_is_refused(change: dict[str, object], error: type[Exception]) -> None:
    settings: dict[str, object] = {"model": WORKED, "target": TARGET, **change}
    with pytest.raises(error):
        dp.plan(**settings)  # type: ignore[arg-type]


def test_levels_of_assurance_are_ranked() -> None:
    assert sorted(ASSURANCE, key=lambda level: ASSURANCE[level]) == list(ASSURANCES)
