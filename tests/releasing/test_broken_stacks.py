"""Promises about several questions of one dataset that were false once, each with what broke it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve
from tests.releasing.shared import RECORDS, SECRET, TARGET, TOTAL, plan_with, planned, population, private

import distpriv as dp
from distpriv.errors import (
    BudgetSpent,
    InvalidInput,
    LawsChanged,
    NotCertified,
    PrivateTableRefused,
    QuestionNotDeclared,
)
from distpriv.framework.queries import Statistic
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, UnimodalNoise
from distpriv.releasing.immunity import every_dataset_epsilon
from distpriv.releasing.joint import EarlierRelease, EarlierReleases


@pytest.fixture
def ledger(tmp_path: Path) -> dp.Ledger:
    return dp.Ledger.create(f"sqlite:///{tmp_path / 'ledger.db'}")


def plan_for(
    table: pa.Table,
    statistics: Mapping[str, Statistic],
    secret: dp.Share | list[dp.Share] = SECRET,
    target: dp.PrivacyTarget = TARGET,
    mechanism: str = "certified_gaussian",
) -> dp.Plan:
    return plan_with(dp.model(table, dp.Query(statistics), secret, records=RECORDS), mechanism, target)


# A repeated question returned the old answer, and its old certificate, to a policy that protects something else.


def test_an_answer_is_shown_again_only_with_a_certificate_for_the_pairs_of_who_asks(
    table: pa.Table, ledger: dp.Ledger
) -> None:
    city = {"city": dp.count("city")}
    dp.release(plan_for(table, city), private(table), ledger=ledger, dataset="d", total=TOTAL)
    stricter = [SECRET, dp.Share("city", values=(0.4, 0.5))]  # the count itself is the secret now
    with pytest.raises(NotCertified, match="does not hold what is asked for now"):
        dp.release(
            plan_for(table, city, stricter), private(table), ledger=ledger, dataset="d", total=TOTAL, adaptive="assumed"
        )


def test_an_answer_is_not_shown_again_for_a_smaller_epsilon_than_it_has(table: pa.Table, ledger: dp.Ledger) -> None:
    age = {"age": dp.mean("age")}
    first = dp.release(plan_for(table, age), private(table), ledger=ledger, dataset="d", total=TOTAL)
    smaller = dp.PrivacyTarget(epsilon=0.2, delta=TARGET.delta)
    with pytest.raises(NotCertified, match="for this question alone it has delta = "):
        dp.release(plan_for(table, age, target=smaller), private(table), ledger=ledger, dataset="d", total=TOTAL)
    larger = dp.PrivacyTarget(epsilon=1.5, delta=TARGET.delta)
    again = dp.release(plan_for(table, age, target=larger), private(table), ledger=ledger, dataset="d", total=TOTAL)
    assert again.values == first.values
    assert again.certificate.target == larger
    assert again.certificate.holds


def test_an_answer_shown_again_speaks_of_all_answers_that_there_are_now(table: pa.Table, ledger: dp.Ledger) -> None:
    total = dp.PrivacyTarget(epsilon=3, delta=3e-3)
    plans = [plan_for(table, {"age": dp.mean(f"age + {k}")}) for k in range(2)]
    first, second = (
        dp.release(plan, private(table), ledger=ledger, dataset="d", total=total, adaptive="assumed") for plan in plans
    )
    again = dp.release(plans[0], private(table), ledger=ledger, dataset="d", total=total)
    assert second.joint is not None
    assert again.joint is not None
    assert again.values == first.values
    assert (first.questions, second.questions, again.questions) == ("first", "assumed", "assumed")
    assert again.joint.delta == pytest.approx(second.joint.delta, rel=0.5)  # drawn in another order
    assert again.joint.epsilon == second.joint.epsilon
    assert again.earlier is not None
    assert [past.position for past in again.earlier.releases] == [2]


def test_another_total_is_refused_for_a_repeated_question_too(table: pa.Table, ledger: dp.Ledger) -> None:
    plan = plan_for(table, {"age": dp.mean("age")})
    dp.release(plan, private(table), ledger=ledger, dataset="d", total=TOTAL)
    with pytest.raises(BudgetSpent, match="in total"):
        dp.release(plan, private(table), ledger=ledger, dataset="d", total=dp.PrivacyTarget(epsilon=9, delta=0.5))


# Pairs were compared by name: other tables behind boom and bust had noise 0.0099 certified where 6126 was needed.


def test_other_tables_behind_the_same_names_are_noticed(ledger: dp.Ledger) -> None:
    rng = np.random.default_rng(0)

    def scenarios(shift: float) -> dp.Scenarios:
        boom = pa.table({"x": rng.normal(0, 1, 500), "y": rng.normal(0, 1, 500)})
        bust = pa.table({"x": rng.normal(0.1, 1, 500) + shift, "y": rng.normal(0.1, 1, 500)})
        return dp.Scenarios({"boom": boom, "bust": bust})

    def plan(secret: dp.Scenarios, **statistics: Statistic) -> dp.Plan:
        return plan_with(dp.model(None, dp.Query(statistics), secret, records=20), "certified_gaussian")

    rows = pa.table({"x": rng.normal(0, 1, 20), "y": rng.normal(0, 1, 20)})
    dp.release(plan(scenarios(1000.0), x=dp.mean("x")), rows, ledger=ledger, dataset="d", total=TOTAL)
    with pytest.raises(LawsChanged, match="'boom' is drawn from has other rows than when release 1"):
        dp.release(
            plan(scenarios(0.0), y=dp.mean("y")), rows, ledger=ledger, dataset="d", total=TOTAL, adaptive="assumed"
        )


def test_a_reference_that_was_refreshed_is_noticed(table: pa.Table, ledger: dp.Ledger) -> None:
    dp.release(plan_for(table, {"age": dp.mean("age")}), private(table), ledger=ledger, dataset="d", total=TOTAL)
    refreshed = population(4200)
    for statistics in ({"city": dp.count("city")}, {"age": dp.mean("age")}):
        with pytest.raises(LawsChanged, match="has other rows"):
            dp.release(
                plan_for(refreshed, statistics),
                private(table),
                ledger=ledger,
                dataset="d",
                total=TOTAL,
                adaptive="assumed",
            )


def test_tables_called_by_the_names_of_shares_are_other_scenarios(table: pa.Table, ledger: dp.Ledger) -> None:
    """Both scenarios were the whole table under the names of two shares, and the share was released as it is."""
    plan = plan_for(table, {"age": dp.mean("age")})
    dp.release(plan, private(table), ledger=ledger, dataset="d", total=TOTAL)
    alike = dp.Scenarios(dict.fromkeys(plan.model.scenarios, table))
    again = plan_with(
        dp.model(None, dp.Query(city=dp.count("city")), alike, records=RECORDS), "certified_gaussian", TARGET
    )
    with pytest.raises(LawsChanged, match="draws other rows of its table than when release 1"):
        dp.release(again, private(table), ledger=ledger, dataset="d", total=TOTAL, adaptive="assumed")


def test_datasets_drawn_in_another_way_are_another_law(table: pa.Table, ledger: dp.Ledger) -> None:
    dp.release(plan_for(table, {"age": dp.mean("age")}), private(table), ledger=ledger, dataset="d", total=TOTAL)
    model = dp.model(table, dp.Query(city=dp.count("city")), SECRET, records=RECORDS, reference="population")
    with pytest.raises(LawsChanged, match="reference = 'sample', not 'population'"):
        dp.earlier_releases(ledger, "d", model, total=TOTAL, adaptive="assumed")


def test_the_same_rows_in_another_order_are_the_same_law(table: pa.Table, ledger: dp.Ledger) -> None:
    dp.release(plan_for(table, {"age": dp.mean("age")}), private(table), ledger=ledger, dataset="d", total=TOTAL)
    turned = table.take(np.arange(table.num_rows)[::-1])
    model = dp.model(turned, dp.Query(city=dp.count("city")), SECRET, records=RECORDS)
    assert len(dp.earlier_releases(ledger, "d", model, total=TOTAL, adaptive="assumed").releases) == 1


def test_moments_that_are_not_those_of_an_earlier_certificate_are_noticed(table: pa.Table) -> None:
    model = dp.model(table, dp.Query(age=dp.mean("age")), SECRET, records=RECORDS)
    mechanism = dp.mechanisms.certified_gaussian(model, TARGET)
    assert model.query is not None
    moments = {
        name: {"mean": (law.mean + 0.1).tolist(), "covariance": law.covariance.tolist()}
        for name, law in model.distributions.items()
    }
    written = {"statistics": ["age"], "moments": moments}
    past = EarlierRelease(query=model.query, noise=mechanism.noise, position=1, laws=written)
    other = dp.model(table, dp.Query(city=dp.count("city")), SECRET, records=RECORDS)
    with pytest.raises(LawsChanged, match="release 1 have other moments"):
        EarlierReleases(releases=(past,), total=TOTAL).stack(other)


# Questions that follow the answers: forty means, then one mean along the answer; every joint certificate held, and the
# attacker was right 90 of 100 times where 55 were promised.


def test_a_later_question_that_was_not_declared_is_refused_with_the_cure(table: pa.Table, ledger: dp.Ledger) -> None:
    first, second = (plan_for(table, {"a": dp.mean(text)}) for text in ("age", "mixed"))
    dp.release(first, private(table), ledger=ledger, dataset="d", total=TOTAL)
    with pytest.raises(QuestionNotDeclared, match=r"was not declared before the first answer: ask the same again"):
        dp.release(second, private(table), ledger=ledger, dataset="d", total=TOTAL)
    made = dp.release(second, private(table), ledger=ledger, dataset="d", total=TOTAL, adaptive="assumed")
    assert made.questions == "assumed"
    assert made.joint is not None
    assert "DP324" in {evidence.code for evidence in made.joint.evidence}


def test_declared_questions_are_answered_in_any_order_and_nothing_is_assumed_of_them(
    table: pa.Table, ledger: dp.Ledger
) -> None:
    plans = {name: plan_for(table, {name: dp.mean(name)}) for name in ("age", "mixed", "blur")}
    declared = dp.declare(plans, ledger=ledger, dataset="d", total=TOTAL)
    made = {
        name: dp.release(plans[name], private(table), ledger=ledger, dataset="d", total=TOTAL)
        for name in ("blur", "age")
    }
    for position, (name, one) in enumerate(made.items(), start=1):
        assert (one.questions, one.position) == ("declared", position)
        assert one.mechanism.noise == declared.mechanisms[name].noise
        assert one.joint == declared.joint
    codes = {evidence.code for evidence in declared.joint.evidence}
    assert "DP212" in codes
    assert "DP324" not in codes
    again = dp.release(plans["blur"], private(table), ledger=ledger, dataset="d", total=TOTAL)
    assert again.repeated
    assert again.values == made["blur"].values
    with pytest.raises(QuestionNotDeclared):
        dp.release(
            plan_for(table, {"x": dp.mean("age - blur")}), private(table), ledger=ledger, dataset="d", total=TOTAL
        )


def test_nothing_is_added_to_what_was_declared(table: pa.Table, ledger: dp.Ledger) -> None:
    """An added question took back what the bundles of declared ones had promised."""
    plans = {name: plan_for(table, {name: dp.mean(name)}) for name in ("age", "mixed")}
    dp.declare(plans, ledger=ledger, dataset="d", total=TOTAL)
    model = dp.model(table, dp.Query(city=dp.count("city")), SECRET, records=RECORDS)
    with pytest.raises(QuestionNotDeclared, match="this is none of them"):
        dp.earlier_releases(ledger, "d", model, total=TOTAL, adaptive="assumed")


def test_a_first_release_is_immune_only_by_the_epsilon_that_adds_up(table: pa.Table, ledger: dp.Ledger) -> None:
    """Laplace noise made for coupled draws was called immune: its ε for every dataset was nine times the total."""
    loose, total = dp.PrivacyTarget(epsilon=2, delta=0.05), dp.PrivacyTarget(epsilon=4, delta=0.1)
    model = dp.model(table, dp.Query(age=dp.mean("age")), SECRET, records=RECORDS)
    plan = plan_with(model, "coupled_laplace", loose)
    made = dp.release(plan, private(table), ledger=ledger, dataset="d", total=total, adaptive="immune")
    assert made.questions == "immune"
    assert made.joint is not None
    assert (made.joint.delta, made.joint.holds) == (0, True)
    spent = every_dataset_epsilon(made.mechanism.noise, model.record_sensitivities, 10)
    assert spent <= total.epsilon
    assert made.mechanism.noise.expected_rms > 2 * plan.mechanism.noise.expected_rms


def test_an_answer_is_not_shown_again_with_other_bounds_than_its_rows_were_read_with(
    table: pa.Table, ledger: dp.Ledger
) -> None:
    """A stored answer was shown as read between narrower bounds, with a smaller joint ε."""
    target = dp.PrivacyTarget(epsilon=1)
    wide, narrow = (
        plan_for(table, {"age": dp.mean("age", bounds=bounds)}, target=target, mechanism="group_privacy_laplace")
        for bounds in ((-1000, 1000), (-100, 200))
    )
    dp.release(wide, private(table), ledger=ledger, dataset="d")
    with pytest.raises(NotCertified, match="was asked before with bounds"):
        dp.release(narrow, private(table), ledger=ledger, dataset="d")


def test_a_table_that_another_release_does_not_know_is_refused_though_it_was_looked_at_before(
    table: pa.Table, ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release that came in between look and entry let another table pass under the same id."""
    first, second = (plan_for(table, {"a": dp.mean(text)}) for text in ("age", "mixed"))
    append, waiting = dp.Ledger.append, [first]

    def interrupted(self: dp.Ledger, *given: Any) -> Any:
        if waiting:
            other = table.slice(1000, RECORDS)
            dp.release(waiting.pop(), other, ledger=ledger, dataset="d", total=TOTAL, adaptive="assumed")
        return append(self, *given)

    monkeypatch.setattr(dp.Ledger, "append", interrupted)
    with pytest.raises(PrivateTableRefused):
        dp.release(second, private(table), ledger=ledger, dataset="d", total=TOTAL, adaptive="assumed")
    assert [entry.position for entry in ledger.history("d").entries] == [1]


def test_questions_are_declared_once_and_before_any_answer(table: pa.Table, ledger: dp.Ledger) -> None:
    plans = {name: plan_for(table, {name: dp.mean(name)}) for name in ("age", "mixed")}
    dp.release(plans["age"], private(table), ledger=ledger, dataset="late", total=TOTAL)
    with pytest.raises(InvalidInput, match="already"):
        dp.declare(plans, ledger=ledger, dataset="late", total=TOTAL)
    dp.declare(plans, ledger=ledger, dataset="d", total=TOTAL)
    with pytest.raises(InvalidInput, match="already"):
        dp.declare(plans, ledger=ledger, dataset="d", total=TOTAL)


def test_plans_that_do_not_go_together_are_not_declared(table: pa.Table, ledger: dp.Ledger) -> None:
    age = plan_for(table, {"age": dp.mean("age")})
    for other in (
        plan_for(table, {"x": dp.mean("blur")}, dp.Share("rich", values=(0.4, 0.5))),
        plan_for(table, {"x": dp.mean("blur")}, target=TOTAL),
        plan_for(table, {"x": dp.mean("AGE")}),
    ):
        with pytest.raises(InvalidInput):
            dp.declare({"one": age, "other": other}, ledger=ledger, dataset="d", total=TOTAL)
    with pytest.raises(InvalidInput, match="plans by name"):
        dp.declare({}, ledger=ledger, dataset="d")
    assert ledger.history("d").declaration is None


def test_noise_that_hides_every_dataset_adds_up_whatever_is_asked(table: pa.Table, ledger: dp.Ledger) -> None:
    total = dp.PrivacyTarget(epsilon=2.5)
    target = dp.PrivacyTarget(epsilon=1)
    plans = [
        plan_for(table, {"city": dp.count("city")}, target=target, mechanism="group_privacy_laplace"),
        plan_for(table, {"other": dp.count("NOT city")}, target=target, mechanism="group_privacy_laplace"),
        plan_for(table, {"both": dp.proportion("city")}, target=target, mechanism="group_privacy_laplace"),
    ]
    made = [dp.release(plan, private(table), ledger=ledger, dataset="d", total=total) for plan in plans[:2]]
    assert [one.questions for one in made] == ["first", "immune"]
    joint = made[1].joint
    assert joint is not None
    assert joint.holds
    assert joint.delta == 0
    assert 1.99 < joint.epsilon <= 2
    third = dp.release(plans[2], private(table), ledger=ledger, dataset="d", total=total)
    assert third.joint is not None
    assert third.joint.epsilon <= 2.5
    assert third.mechanism.noise.expected_rms > 1.9 * plans[2].mechanism.noise.expected_rms  # half of ε was left
    gaussian = plan_for(table, {"age": dp.mean("age")})
    with pytest.raises(QuestionNotDeclared, match="certified_gaussian does not hide every dataset by itself"):
        dp.release(gaussian, private(table), ledger=ledger, dataset="d", total=total)


def test_immune_noise_from_the_first_release_on_can_be_asked_for(table: pa.Table, ledger: dp.Ledger) -> None:
    plan = plan_for(table, {"age": dp.mean("age")})
    with pytest.raises(QuestionNotDeclared):
        dp.release(plan, private(table), ledger=ledger, dataset="d", total=TOTAL, adaptive="immune")
    assert ledger.history("d").looks == 0


def test_epsilon_for_every_dataset_is_reached_by_some_move(table: pa.Table) -> None:
    model = dp.model(table, dp.Query(a=dp.count("city"), b=dp.proportion("city")), SECRET, records=RECORDS)
    mechanism = dp.mechanisms.group_privacy_laplace(model, dp.PrivacyTarget(epsilon=1))
    noise = mechanism.noise
    assert isinstance(noise, LaplaceNoise)
    k = 10  # two shares of 50 records, 0.4 and 0.6, differ in ten
    move = k * model.record_sensitivities
    exact = float(np.abs(noise.axes.T @ move / noise.scales).sum())
    found = every_dataset_epsilon(noise, model.record_sensitivities, k)
    assert found == pytest.approx(exact, rel=1e-6)
    assert found >= exact
    assert every_dataset_epsilon(GaussianNoise.isotropic(2, 9.0), model.record_sensitivities, k) == np.inf
    assert every_dataset_epsilon(noise, model.record_sensitivities, None) == np.inf


# One Gaussian and one Laplace release at assurance `proved` locked every third one out.


def test_releases_with_gaussian_and_with_laplace_noise_leave_room_for_a_third(table: pa.Table) -> None:
    loose, total = dp.PrivacyTarget(epsilon=2, delta=0.05), dp.PrivacyTarget(epsilon=8, delta=0.2)
    models = [
        dp.model(table, dp.Query({name: statistic}), SECRET, records=RECORDS)
        for name, statistic in (("age", dp.mean("age")), ("city", dp.count("city")), ("mixed", dp.mean("mixed")))
    ]
    makers = (dp.mechanisms.coupled_gaussian, dp.mechanisms.coupled_laplace, dp.mechanisms.coupled_gaussian)
    made: list[AdditiveMechanism] = [
        maker(model, loose, draws=4000, seed=1) for maker, model in zip(makers, models, strict=True)
    ]
    past = [EarlierRelease(query=model.query, noise=one.noise) for model, one in zip(models, made, strict=True)]  # type: ignore[arg-type]
    rest = EarlierReleases(releases=tuple(past[:2]), total=total, seed=3)
    _, joint = rest.calibrated(models[2], made[2], "proved")
    assert joint.holds_at("proved")


# Two equal statistics in one query wrote the ledger and then died on every retry.


def test_equal_statistics_in_one_query_are_refused_before_anything_is_written(
    table: pa.Table, ledger: dp.Ledger
) -> None:
    plan = planned(table, {"a": dp.mean("age"), "b": dp.mean("AGE")})
    with pytest.raises(InvalidInput, match=r"'a' and 'b'|'b' and 'a'"):
        dp.release(plan, private(table), ledger=ledger, dataset="d", total=TOTAL)
    assert ledger.history("d").looks == 0
    assert ledger.history("d").entries == ()


# A release with unimodal noise that was widened for the sake of earlier ones kept the certificate of narrower noise.


def test_noise_that_is_less_private_when_it_is_wider_is_not_widened(table: pa.Table) -> None:
    model = dp.model(table, dp.Query(city=dp.count("city")), SECRET, records=RECORDS)
    noise = UnimodalNoise.mixed(np.ones(1), np.array([0.5, 40.5]), np.array([0.5, 0.5]))
    steps = evolve(dp.mechanisms.certified_gaussian(model, TARGET), noise=noise, name="exact_law")
    asked = EarlierRelease(query=dp.Query(old=dp.count("age > 40")), noise=GaussianNoise.isotropic(1, 0.5))
    earlier = EarlierReleases(releases=(asked,), total=TARGET)
    with pytest.raises(BudgetSpent, match="less private when it is wider"):
        earlier.calibrated(model, steps, "checked")
