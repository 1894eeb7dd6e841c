import json

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from attrs import evolve
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from tests.auditing.shared import TOY, A, B

import distpriv as dp
from distpriv.auditing.audit import audit, easiest_pair
from distpriv.errors import InvalidInput, InvalidSource
from distpriv.guarantees.certify import certified
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling import reference
from distpriv.noise.laws import GaussianNoise

TARGET = dp.PrivacyTarget(epsilon=1, delta=1e-3)
M = dp.mechanisms
LINE = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances={"a": [[1]], "b": [[1.2]]}, pairs=[("a", "b")])
QUICK = ["naive", "adaptive", "quadratic", "bayes", "lattice", "residue", "projection"]


@pytest.fixture(scope="module")
def income(adult: pa.Table, paper_query: dp.Query) -> dp.QueryModel:
    return dp.model(adult, paper_query, dp.Share("income = '>50K'", values=(0.45, 0.55)), records=100)


def halved(mechanism: AdditiveMechanism) -> AdditiveMechanism:
    noise = mechanism.noise
    assert isinstance(noise, GaussianNoise)
    return evolve(mechanism, noise=evolve(noise, variances=noise.variances / 4))


def sound(model: dp.QueryModel) -> AdditiveMechanism:
    """Return noise that hides shifts of the mean, a little wider as covariances and the reference's mean may differ."""
    noise = M.expected_value_gaussian(model, TARGET).noise
    assert isinstance(noise, GaussianNoise)
    return certified(model, TARGET, noise.widened(1.03), name="wider", theorem="the exact check")


def one_direction(model: dp.QueryModel, direction: np.ndarray, deviation: float) -> AdditiveMechanism:
    """Return noise at the lattice's floor, and strong noise along one direction."""
    unit = direction / np.linalg.norm(direction)
    covariance = 2 * np.diag(model.floor**2) + deviation**2 * np.outer(unit, unit)
    return certified(model, TARGET, GaussianNoise.of(covariance), name="one direction", theorem="the exact check")


def astray(model: dp.QueryModel) -> AdditiveMechanism:
    """Return a mechanism whose certificate is for noise along the shift, and whose noise is across it."""
    shift = model.mean_shift(model.protected_pairs[0])
    sound = one_direction(model, shift, 14.0)
    across = np.roll(shift, 1)
    across -= shift * (across @ shift) / (shift @ shift)
    return evolve(sound, noise=one_direction(model, across, 14.0).noise)


def test_a_sound_mechanism_passes_and_the_report_says_so() -> None:
    mechanism = M.expected_value_gaussian(TOY, TARGET)
    report = audit(mechanism, model=TOY, releases=40_000, shadows=1000)
    assert not report.failed
    assert report.epsilon_lower_bound < 1
    assert len(report.attacks) == 8
    accuracies = [attack.accuracy for attack in report.attacks]
    assert accuracies == sorted(accuracies, reverse=True)
    assert report.modelled_accuracy is not None
    assert report.attacks[0].accuracy == pytest.approx(report.modelled_accuracy, abs=0.01)
    assert report.verdict.startswith("passed: ")
    assert "73.2 % certified" in report.verdict
    for attack in report.attacks:
        assert attack.defended.interval[0] < attack.accuracy < attack.defended.interval[1]
        assert attack.accuracy_lower_bound < attack.accuracy + 0.01
        assert attack.undefended.accuracy > attack.accuracy + 0.05
    printed = str(report).splitlines()
    assert [line.split()[0] for line in printed[3:11]] == [attack.name for attack in report.attacks]


def test_beside_laplace_noise_stands_a_bound_that_attacks_keep() -> None:
    for mechanism in (M.expected_value_laplace(LINE, TARGET), M.certified_laplace(LINE, TARGET)):
        report = audit(mechanism, model=LINE, releases=40_000, attacks=["bayes"])
        assert report.modelled_accuracy is not None
        assert 0.5 < report.accuracy_lower_bound < report.modelled_accuracy < 0.75


def test_a_report_is_the_same_for_the_same_seed_and_goes_to_json_and_back() -> None:
    mechanism = M.expected_value_gaussian(TOY, TARGET)
    one, again, other = (
        audit(mechanism, model=TOY, releases=1000, shadows=200, attacks=["adaptive", "bayes"], seed=seed)
        for seed in (3, 3, 4)
    )
    assert one == again != other
    told = one.to_dict()
    assert told == json.loads(json.dumps(told))
    assert told["attacks"][0]["name"] == one.attacks[0].name
    assert told["verdict"] == one.verdict
    assert {"failed", "epsilon_lower_bound", "confidence", "seed", "pair", "releases", "shadows"} <= set(told)


def test_a_plan_brings_its_own_model() -> None:
    plan = dp.plan(LINE, TARGET)
    options = {"releases": 1000, "shadows": 200, "attacks": ["bayes"]}
    assert audit(plan, **options) == audit(plan.mechanism, model=LINE, **options)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="a plan has its own model"):
        audit(plan, model=LINE)


def test_the_paper_s_directional_mechanism_fails_by_the_lattice_attack(income: dp.QueryModel) -> None:
    target = dp.PrivacyTarget(epsilon=0.2, delta=1e-3)
    mechanism = M.directional_uncertainty(income, target, radius="classic", covariance="pooled")
    report = audit(mechanism, model=income, releases=10_000, attacks=["naive", "adaptive", "bayes", "lattice"])
    assert report.failed
    assert report.attacks[0].name == "lattice"
    assert report.attacks[0].accuracy >= 0.75
    assert report.attack_accuracy_ceiling == pytest.approx(0.55, abs=1e-3)
    assert all(attack.accuracy < 0.55 for attack in report.attacks[1:])
    assert report.verdict.startswith("FAILED: ")
    assert "55.1 % asked for" in report.verdict


def test_the_strongest_attacker_is_reported_and_not_the_naive_one(income: dp.QueryModel) -> None:
    mechanism = M.expected_value_gaussian(income, dp.PrivacyTarget(epsilon=5, delta=1e-3), radius="classic")
    report = audit(mechanism, model=income, releases=40_000, shadows=400, attacks=["naive", "adaptive", "bayes"])
    found = {attack.name: attack.accuracy for attack in report.attacks}
    assert report.attacks[0].accuracy >= 0.63
    assert found["naive"] < 0.56
    assert found["adaptive"] >= 0.63
    assert not report.failed


def test_planted_faults_are_found_on_a_single_run(income: dp.QueryModel) -> None:
    for mechanism in (halved(sound(income)), astray(income)):
        assert mechanism.certificate.holds
        assert audit(mechanism, model=income, releases=40_000, attacks=["adaptive", "bayes"]).failed


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["halved", "astray"])
def test_planted_faults_are_flagged_in_at_least_19_of_20_runs(income: dp.QueryModel, fault: str) -> None:
    mechanism = halved(sound(income)) if fault == "halved" else astray(income)
    runs = [audit(mechanism, model=income, releases=40_000, attacks=QUICK, seed=seed).failed for seed in range(20)]
    assert sum(runs) >= 19


@pytest.mark.slow
@pytest.mark.parametrize("name", ["isotropic", "one direction", "tight"])
def test_sound_mechanisms_are_flagged_in_at_most_1_of_20_runs(income: dp.QueryModel, name: str) -> None:
    mechanism = M.expected_value_gaussian(income, TARGET)
    if name == "one direction":
        mechanism = one_direction(income, income.mean_shift((A, B)), 14.0)
    if name == "tight":  # a target of total variation alone, where the accuracy's ceiling is what the noise attains
        mechanism = M.expected_value_gaussian(income, dp.PrivacyTarget(epsilon=0, delta=0.1))
    assert mechanism.certificate.holds
    runs = [audit(mechanism, model=income, releases=40_000, attacks=QUICK, seed=seed).failed for seed in range(20)]
    assert sum(runs) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["certified_gaussian", "certified_laplace", "coupled_gaussian"])
def test_certified_mechanisms_pass_the_whole_arsenal(income: dp.QueryModel, name: str) -> None:
    report = audit(getattr(M, name)(income, TARGET), model=income, releases=40_000)
    assert report.certificate_holds
    assert not report.failed


@pytest.mark.parametrize(
    ("shares", "records"),
    [pytest.param((0.24, 0.55), 100, id="an unprotected share"), pytest.param((0.0, 1.0), 10, id="90 known rows")],
)
def test_noise_is_attacked_where_its_certificate_says_nothing(
    adult: pa.Table, shares: tuple[float, float], records: int
) -> None:
    query = dp.Query(age=dp.total("age"), never_married=dp.count("marital_status = 'Never-married'"))
    share = dp.Share("income = '>50K'", values=(0.45, 0.55))
    model = dp.model(adult, query, share, records=100, reference="population")
    mechanism = M.certified_gaussian(model, TARGET)
    other = dp.model(adult, query, dp.Share("income = '>50K'", values=shares), records=records)
    assert not audit(mechanism, model=model, releases=10_000, attacks=["bayes"]).failed
    assert audit(mechanism, model=other, releases=10_000, attacks=["bayes"]).failed


def small_table(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    s = np.arange(rows) % 2 == 0
    return pl.DataFrame({"x": rng.integers(0, 100, rows) + 30 * s, "y": rng.integers(0, 50, rows) - 20 * s, "s": s})


def test_a_small_reference_table_does_not_make_a_sound_mechanism_fail() -> None:
    # Datasets of 100 out of 150 rows vary much less than out of 300: tested on half the rows the mechanism would fail.
    query = dp.Query(x=dp.mean("x"), y=dp.mean("y"))
    share = dp.Share("s", values=(0.48, 0.52))
    model = dp.model(small_table(300), query, share, records=100, reference="population")
    floor = GaussianNoise.along(np.eye(2), 4 * model.floor**2)
    mechanism = certified(model, dp.PrivacyTarget(epsilon=0, delta=0.9), floor, name="floor", theorem="the exact check")
    assert mechanism.certificate.holds
    report = audit(mechanism, model=model, releases=40_000, attacks=["adaptive", "bayes"])
    assert not report.failed
    assert report.attacks[0].defended.interval[0] > report.attack_accuracy_ceiling
    assert "bounds are about datasets of all reference rows" in report.populations


def test_an_audit_of_a_large_table_says_that_it_draws_from_samples_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "READING", reference.ReadingSettings(most_rows=500))
    model = dp.model(small_table(600), dp.Query(x=dp.mean("x")), dp.Share("s", values=(0.4, 0.6)), records=10)
    mechanism = dp.mechanisms.certified_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.01))
    report = audit(mechanism, model=model, releases=400, attacks=["bayes"])
    assert "bounds are about datasets of samples of all reference rows" in report.populations


def test_shadows_and_tests_may_come_from_a_source_of_their_own() -> None:
    query, share = dp.Query(x=dp.mean("x"), y=dp.mean("y")), dp.Share("s", values=(0.4, 0.6))
    model = dp.model(small_table(2000), query, share, records=20)
    shifted = small_table(1000).with_columns(x=pl.col("x") + pl.when("s").then(60).otherwise(0))
    mechanism = M.expected_value_gaussian(model, TARGET)
    own = audit(mechanism, model=model, releases=4000, attacks=["adaptive"])
    other = audit(mechanism, model=model, source=shifted, releases=4000, attacks=["adaptive"])
    assert other.attacks[0].accuracy > own.attacks[0].accuracy + 0.05
    assert "one half of the source" in other.populations


def test_scenarios_with_tables_of_their_own_are_audited_too() -> None:
    rng = np.random.default_rng(0)
    tables = {name: pl.DataFrame({"x": rng.normal(mean, 5, 500)}) for name, mean in (("boom", 10), ("bust", 12))}
    model = dp.model(None, dp.Query(x=dp.mean("x")), dp.Scenarios(tables), records=20)
    mechanism = M.expected_value_gaussian(model, TARGET)
    report = audit(mechanism, model=model, releases=4000, attacks=["bayes", GaussianNB()])
    assert not report.failed
    assert {attack.name for attack in report.attacks} == {"bayes", "GaussianNB"}
    again = audit(mechanism, model=model, source=tables, releases=4000, attacks=["bayes"])
    assert "the source" in again.populations


def test_the_pair_that_is_easiest_to_tell_apart_is_audited() -> None:
    model = dp.gaussian_model(
        means={"a": [0.0], "b": [1.0], "c": [3.0]}, covariances=[[1.0]], pairs=[("a", "b"), ("b", "c"), ("a", "c")]
    )
    mechanism = M.expected_value_gaussian(model, TARGET)
    assert easiest_pair(model, mechanism.noise) == ("a", "c")
    report = audit(mechanism, model=model, releases=1000, attacks=["bayes"], pair=("b", "a"))
    assert report.pair == ("b", "a")


def test_progress_is_told_for_every_attack() -> None:
    told: list[tuple[str, int, int]] = []
    mechanism = M.expected_value_gaussian(TOY, TARGET)
    audit(mechanism, model=TOY, releases=200, attacks=["bayes", "quadratic"], progress=lambda *step: told.append(step))
    assert told == [("attacks", 1, 2), ("attacks", 2, 2)]


def test_what_cannot_be_audited_is_refused() -> None:
    mechanism = M.expected_value_gaussian(TOY, TARGET)
    other = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    with pytest.raises(InvalidInput, match=r"give it as audit\(mechanism, model=model\)"):
        audit(mechanism)
    with pytest.raises(InvalidInput, match="needs a plan or a mechanism, got 'DauM': make one with"):
        audit("DauM")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="releases statistic_1, statistic_2, and the model is of statistic_1"):
        audit(mechanism, model=other)
    with pytest.raises(InvalidInput, match=r"\('a', 'a'\) is no protected pair"):
        audit(mechanism, model=TOY, pair=("a", "a"))
    with pytest.raises(InvalidInput, match="no query to evaluate on a source"):
        audit(mechanism, model=TOY, source=small_table(10))
    with pytest.raises(InvalidInput, match="decision_function or predict_proba"):
        audit(mechanism, model=TOY, attacks=[LinearRegression()])


@pytest.mark.parametrize(
    ("option", "value"), [("shadows", 3), ("releases", 10), ("confidence", 1.0), ("seed", -1), ("releases", 1000.5)]
)
def test_numbers_outside_their_range_are_refused(option: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=f"{option} must be"):
        audit(M.expected_value_gaussian(TOY, TARGET), model=TOY, **{option: value})  # type: ignore[arg-type]


def test_too_few_rows_to_keep_shadows_and_tests_apart_are_refused() -> None:
    query, share = dp.Query(x=dp.mean("x"), y=dp.mean("y")), dp.Share("s", values=(0.4, 0.6))
    model = dp.model(small_table(150), query, share, records=100, reference="population")
    mechanism = M.expected_value_gaussian(model, TARGET)
    with pytest.raises(InvalidSource, match="too few rows to keep shadow and test datasets apart") as refusal:
        audit(mechanism, model=model)
    assert "needs 40 rows where s is satisfied and a part of the table has 38" in str(refusal.value)
