import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.releasing.shared import RECORDS, SECRET, TARGET, TOTAL, plan_with, planned, private

import distpriv as dp
from distpriv.bundle import verify_bundle
from distpriv.errors import (
    AuditFailed,
    BudgetSpent,
    InvalidInput,
    InvalidModel,
    InvalidQuery,
    InvalidSource,
    LedgerUnavailable,
    NotCertified,
)
from distpriv.framework.display import number_text, rounded
from distpriv.guarantees.mechanism import AdditiveMechanism


@pytest.fixture
def url(tmp_path: Path) -> str:
    return dp.Ledger.create(f"sqlite:///{tmp_path / 'ledger.db'}").url


@pytest.mark.slow
def test_a_release_is_the_truth_with_noise_as_wide_as_the_plan_says(plan: dp.Plan, table: pa.Table) -> None:
    truth = np.array([np.mean(private(table)["age"].to_numpy()), np.sum(private(table)["city"].to_numpy())])
    drawn = [dp.release(plan, private(table), ledger=None) for _ in range(80)]
    errors = np.array([list(one.values.values()) for one in drawn]) - truth
    expected = np.sqrt(np.diag(plan.mechanism.noise.covariance))
    assert np.allclose(np.sqrt((errors**2).mean(axis=0)), expected, rtol=0.5)
    assert (np.abs(errors.mean(axis=0)) < 6 * expected / 80**0.5).all()
    inside = [one.intervals["age"][0] <= truth[0] <= one.intervals["age"][1] for one in drawn]
    assert np.mean(inside) >= 0.82


def test_without_a_ledger_it_says_what_that_risks(plan: dp.Plan, table: pa.Table) -> None:
    made = dp.release(plan, private(table), ledger=None)
    assert made.position is None
    assert made.joint is None
    assert "no ledger was given" in str(made.certificate)
    with pytest.raises(TypeError):
        dp.release(plan, private(table))  # type: ignore[call-arg]


def test_the_same_question_gets_the_same_answer_even_when_a_row_was_edited(
    plan: dp.Plan, table: pa.Table, url: str
) -> None:
    first = dp.release(plan, private(table), ledger=url, dataset="d", total=TOTAL)
    edited = private(table).set_column(1, "age", pa.array([99.0] * RECORDS))
    again = dp.release(plan, edited, ledger=url, dataset="d", total=TOTAL)
    assert again.repeated
    assert not first.repeated
    assert json.dumps(again.to_dict()) == json.dumps(first.to_dict())
    renamed = planned(table, {"citizens": dp.count("CITY"), "years": dp.mean('"age"')})
    third = dp.release(renamed, private(table), ledger=url, dataset="d", total=TOTAL)
    assert third.repeated
    assert third.values == {"citizens": first.values["city"], "years": first.values["age"]}
    assert third.intervals["years"] == first.intervals["age"]
    assert third.mechanism.statistics == ("years", "citizens")


def test_what_is_shown_is_in_the_ledger_and_nothing_private_is(plan: dp.Plan, table: pa.Table, url: str) -> None:
    made = dp.release(plan, private(table), ledger=url, dataset="d", total=TOTAL)
    (entry,) = dp.Ledger.open(url).history("d").entries
    assert entry.content["values"] == dict(made.values)
    assert entry.content["joint_certificate"]["holds"]
    truth = float(np.mean(private(table)["age"].to_numpy()))
    assert repr(truth) not in json.dumps(dict(entry.content))
    assert made.to_dict()["position"] == 1


def test_a_second_release_is_calibrated_and_a_larger_total_refused(table: pa.Table, url: str) -> None:
    tight = dp.PrivacyTarget(epsilon=1.1, delta=1.1e-3)
    plans = [planned(table, {"age": dp.mean(f"age + {k}")}) for k in range(3)]
    first = dp.release(plans[0], private(table), ledger=url, dataset="d", total=tight)
    second = dp.release(plans[1], private(table), ledger=url, dataset="d", total=tight, adaptive="assumed")
    assert second.mechanism.noise.expected_rms > 2 * first.mechanism.noise.expected_rms
    assert second.joint is not None
    assert second.joint.holds
    with pytest.raises(BudgetSpent, match="to epsilon = "):
        dp.release(plans[2], private(table), ledger=url, dataset="d", total=TOTAL, adaptive="assumed")
    assert all(entry.content["joint_certificate"]["holds"] for entry in dp.Ledger.open(url).history("d").entries)


@pytest.mark.slow
def test_what_is_about_to_answer_is_approved_before_anything_is_looked_at(table: pa.Table, url: str) -> None:
    first, second = (planned(table, {"age": dp.mean(of)}) for of in ("age", "age + 1"))
    tight = dp.PrivacyTarget(epsilon=1.05, delta=1.05e-3)
    options: dict[str, Any] = {"ledger": url, "dataset": "clinic", "total": tight, "adaptive": "assumed"}
    shown: list[AdditiveMechanism] = []

    def refuse(mechanism: AdditiveMechanism, model: dp.QueryModel) -> None:
        assert mechanism.statistics == model.names
        shown.append(mechanism)
        raise AuditFailed("no.")

    answer = dp.release(first, private(table), **options)
    for plan in (first, second):  # also what was answered is not shown again
        with pytest.raises(AuditFailed):
            dp.release(plan, private(table), **options, approve=refuse)
    assert dp.Ledger.open(url).history("clinic").looks == 1
    with pytest.raises(AuditFailed):
        dp.release(first, private(table), ledger=None, approve=refuse)
    later = dp.release(second, private(table), **options, approve=lambda *_: None)
    assert [mechanism.noise for mechanism in shown[:2]] == [answer.mechanism.noise, later.mechanism.noise]
    assert shown[1].noise.expected_rms > second.mechanism.noise.expected_rms


def test_a_plan_after_earlier_releases_shows_what_the_next_one_will_cost(table: pa.Table, url: str) -> None:
    tight = dp.PrivacyTarget(epsilon=1.1, delta=1.1e-3)
    dp.release(planned(table, {"age": dp.mean("age")}), private(table), ledger=url, dataset="d", total=tight)
    statistics = {"age": dp.mean("age + 1")}
    model = dp.model(table, dp.Query(statistics), SECRET, records=RECORDS)
    earlier = dp.earlier_releases(url, "d", model, total=tight, adaptive="assumed")
    few = ["certified_gaussian", "group_privacy_laplace"]
    alone, after = (dp.plan(model, TARGET, after=past, mechanisms=few, seed=1) for past in (None, earlier))
    assert alone.chosen is not None
    assert after.chosen is not None
    assert after.chosen.error > alone.chosen.error
    made = dp.release(after, private(table), ledger=url, dataset="d", total=tight, adaptive="assumed")
    assert made.mechanism.noise.expected_rms == pytest.approx(after.mechanism.noise.expected_rms, rel=0.01)


def test_later_releases_must_protect_what_earlier_ones_do(plan: dp.Plan, table: pa.Table, url: str) -> None:
    dp.release(plan, private(table), ledger=url, dataset="d", total=TOTAL)
    other = dp.model(table, dp.Query(age=dp.mean("age")), dp.Share("rich", values=(0.4, 0.5)), records=RECORDS)
    with pytest.raises(BudgetSpent, match="protect at least"):
        dp.release(plan_with(other, "certified_gaussian"), private(table), ledger=url, dataset="d", total=TOTAL)
    fewer = dp.model(table, dp.Query(age=dp.mean("age")), SECRET, records=40)
    with pytest.raises(InvalidInput, match="another number of records"):
        dp.release(plan_with(fewer, "certified_gaussian"), private(table), ledger=url, dataset="d", total=TOTAL)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"dataset": None}, InvalidInput),
        ({"dataset": " "}, InvalidInput),
        ({"ledger": "ledger.db"}, InvalidInput),
        ({"ledger": "sqlite:////nowhere/at/all/ledger.db"}, LedgerUnavailable),
        ({"private_source": "nowhere.parquet"}, InvalidSource),
        ({"plan": "a plan"}, InvalidInput),
    ],
)
def test_what_cannot_be_released_is_refused_and_leaves_no_entry(
    change: dict[str, Any], error: type[Exception], plan: dp.Plan, table: pa.Table, url: str
) -> None:
    settings = {"plan": plan, "private_source": private(table), "ledger": url, "dataset": "d", **change}
    first, second = settings.pop("plan"), settings.pop("private_source")
    with pytest.raises(error):
        dp.release(first, second, **settings)
    assert dp.Ledger.open(url).history("d").entries == ()


def test_a_plan_that_holds_nothing_and_one_without_rows_release_nothing(table: pa.Table) -> None:
    query = dp.Query(spread=dp.function(_spread, columns=["age"]))
    tables = dp.Scenarios({"a": table.slice(0, 500), "b": table.slice(500, 500)})
    weak = plan_with(dp.model(None, query, tables, records=RECORDS, draws=200, processes=1), "certified_gaussian")
    with pytest.raises(NotCertified):
        dp.release(weak, private(table), ledger=None)
    bare = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    with pytest.raises(InvalidModel, match="rows"):
        dp.release(dp.plan(bare, TARGET), private(table), ledger=None)


def test_a_function_without_a_version_is_refused_with_a_ledger_before_anything_is_read(
    table: pa.Table, url: str
) -> None:
    plan = _plan_of(table, spread=dp.function(_spread, columns=["age"]))
    with pytest.raises(InvalidQuery, match=r"'spread' is a function without a version.*write function"):
        dp.release(plan, "no_such_file.parquet", ledger=url, dataset="f")
    with pytest.raises(InvalidQuery, match=r"function without a version"):
        dp.declare({"spread": plan}, ledger=url, dataset="f")
    assert dp.Ledger.open(url).datasets() == ()


@pytest.mark.slow
def test_a_function_is_released_once_for_each_version(table: pa.Table, url: str) -> None:
    def release(plan: dp.Plan) -> dp.Release:
        total = dp.PrivacyTarget(epsilon=4, delta=0.1)
        return dp.release(plan, private(table), ledger=url, dataset="f", total=total, adaptive="assumed")

    plan = _plan_of(table, spread=dp.function(_spread, columns=["age"], version="1"))
    first = release(plan)
    assert release(plan).values == first.values
    changed = _plan_of(table, spread=dp.function(_renamed(np.std), columns=["age"], version="1"))
    assert release(changed).values == first.values  # nothing new is told of the private table
    assert dp.release(_plan_of(table, spread=dp.function(_spread, columns=["age"])), private(table), ledger=None).values
    looks = dp.Ledger.open(url).history("f").looks
    for other in (
        _plan_of(table, spread=dp.function(_spread, columns=["age"], version="2")),
        planned(table, {"age": dp.mean("age")}),
    ):
        with pytest.raises(InvalidInput, match="at once"):  # as a function cannot be stacked with other queries
            release(other)
    assert dp.Ledger.open(url).history("f").looks == looks == 1


@pytest.mark.slow
def test_a_function_has_the_certificate_of_its_first_answer_whatever_its_code_is_now(table: pa.Table, url: str) -> None:
    """A constant under the same version would be certified for any ε, and has the answer of another function."""

    def release(plan: dp.Plan) -> dp.Release:
        total = dp.PrivacyTarget(epsilon=2, delta=0.1)
        return dp.release(plan, private(table), ledger=url, dataset="f", total=total)

    first = release(_plan_of(table, spread=dp.function(_spread, columns=["age"], version="1")))
    constant = dp.Query(spread=dp.function(_renamed(lambda ages: 0.0 * ages[0]), columns=["age"], version="1"))
    model = dp.model(table, constant, SECRET, records=RECORDS, draws=300, processes=1)
    again = release(plan_with(model, "coupled_gaussian", dp.PrivacyTarget(epsilon=2, delta=0.06)))
    assert (again.values, again.certificate.delta) == (first.values, first.certificate.delta)
    tighter = plan_with(model, "coupled_laplace", dp.PrivacyTarget(epsilon=1, delta=0.01))
    with pytest.raises(NotCertified, match="does not hold what is asked for now"):
        release(tighter)


def test_a_function_is_not_declared_beside_other_questions(table: pa.Table, url: str) -> None:
    plans = {
        "spread": _plan_of(table, spread=dp.function(_spread, columns=["age"], version="1")),
        "other": _plan_of(table, spread=dp.function(_spread, columns=["age"], version="2")),
    }
    with pytest.raises(InvalidInput, match="'spread' has a Python function"):
        dp.declare(plans, ledger=url, dataset="f")


@pytest.mark.slow
def test_one_function_under_two_versions_does_not_average_its_noise_out(table: pa.Table, url: str) -> None:
    one, two = (dp.function(_spread, columns=["age"], version=version) for version in ("1", "2"))
    alone, both = _plan_of(table, spread=one), _plan_of(table, spread=one, again=two)
    made = dp.release(both, private(table), ledger=url, dataset="f")
    assert made.certificate.holds
    average = both.mechanism.noise.covariance.mean()  # of the noise of both answers
    assert average > 0.99 * alone.mechanism.noise.covariance[0, 0]


def _plan_of(table: pa.Table, **statistics: Any) -> dp.Plan:
    model = dp.model(table, dp.Query(statistics), SECRET, records=RECORDS, draws=300, processes=1)
    return plan_with(model, "coupled_gaussian", dp.PrivacyTarget(epsilon=2, delta=0.05))


def _renamed(statistic: Callable[..., Any]) -> Callable[..., float]:
    """Return another function that is called `_spread`."""

    def spread(rows: Mapping[str, Any]) -> float:
        return float(statistic(rows["age"]))

    spread.__qualname__ = _spread.__qualname__
    return spread


def _spread(rows: Mapping[str, Any]) -> float:
    return float(np.ptp(rows["age"]))


def test_a_release_is_saved_into_a_folder_of_its_own(table: pa.Table, tmp_path: Path) -> None:
    shown = dp.release(planned(table, {"=age": dp.mean("age")}), private(table), ledger=None)
    place = shown.save(tmp_path / "new" / "folder")
    assert json.loads((place / "release.json").read_text(encoding="utf-8"))["values"] == dict(shown.values)
    head, row = (place / "release.csv").read_text(encoding="utf-8").splitlines()
    assert head == "statistic,estimate,low,high,noisy_value,noise"
    assert row.startswith("'=age,")
    half = (shown.intervals["=age"][1] - shown.intervals["=age"][0]) / 2
    assert float(row.split(",")[4]) == rounded(shown.values["=age"], half)
    page = (place / "report.html").read_text(encoding="utf-8")
    assert f"by {shown.certificate.theorem}" in page
    assert 'class="notice good"' in page
    assert "not in a ledger" in page
    assert number_text(shown.values["=age"], half) in page
    assert "<script" not in page
    with pytest.raises(InvalidInput, match="is no release"):
        verify_bundle(place)
    before = (place / "release.csv").read_bytes()
    with pytest.raises(InvalidInput, match="has files in it: give one that is not there yet"):
        shown.save(place)
    assert (place / "release.csv").read_bytes() == before
    with pytest.raises(InvalidInput, match="cannot be written"):
        shown.save(place / "release.csv" / "below")
