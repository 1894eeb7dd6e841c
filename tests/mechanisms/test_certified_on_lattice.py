import pyarrow as pa
import pytest

import distpriv as dp
from distpriv.guarantees.lattice_laws import exact_lattice_delta
from distpriv.noise.laws import RoundedNoise

TARGET = dp.PrivacyTarget(epsilon=1.0, delta=1e-3)
NEVER, WOMEN = dp.count("marital_status = 'Never-married'"), dp.count("sex = 'Female'")
FIVE = dp.Query(
    age=dp.mean("age"),
    education=dp.mean("education_num"),
    never_married=NEVER,
    women=WOMEN,
    hours=dp.mean("hours_per_week"),
)
WORK, RICH = "workclass = 'Private'", "income = '>50K'"


def modelled(adult: pa.Table, query: dp.Query, share: str, values: tuple[float, float]) -> dp.QueryModel:
    return dp.model(adult, query, dp.Share(share, values=values), records=100, reference="population")


def test_two_counts_are_published_almost_as_they_are(adult: pa.Table) -> None:
    model = modelled(adult, dp.Query(never_married=NEVER, women=WOMEN), WORK, (0.48, 0.52))
    made = dp.mechanisms.certified_gaussian(model, TARGET, lattice=True)
    assert made.certificate.holds_at("gaussian")
    assert made.noise.expected_rms < 0.16
    assert dp.mechanisms.certified_gaussian(model, TARGET).noise.expected_rms >= 1.41


@pytest.mark.slow
def test_five_statistics_have_a_sixth_of_the_noise(adult: pa.Table) -> None:
    model = modelled(adult, FIVE, WORK, (0.48, 0.52))
    made = dp.mechanisms.certified_gaussian(model, TARGET, lattice=True)
    assert isinstance(made.noise, RoundedNoise)
    assert made.certificate.holds_at("gaussian")
    assert made.noise.expected_rms <= 0.25
    rows = model.rows().row_laws()
    for few in ((2, 3), (1, 2)):
        exact = exact_lattice_delta(model, rows, made.noise.credited, few, 1.0, 1e-3)
        assert exact is not None
        assert exact.delta <= made.certificate.delta


@pytest.mark.slow
def test_attacks_find_no_more_than_is_promised(adult: pa.Table) -> None:
    model = modelled(adult, FIVE, RICH, (0.45, 0.55))
    target = dp.PrivacyTarget(epsilon=5.0, delta=1e-3)
    made = dp.mechanisms.certified_gaussian(model, target, lattice=True)
    assert made.certificate.holds_at("gaussian")
    assert made.noise.expected_rms <= 0.31
    plan = dp.plan(model, target, mechanisms={"certified_gaussian": {"lattice": True}}, processes=1)
    report = dp.audit(plan, source=adult)
    assert {"lattice", "residue"} <= {attack.name for attack in report.attacks}
    assert not report.failed
    assert report.epsilon_lower_bound < 5.0


def test_where_their_own_randomness_is_not_enough_answers_are_rounded(adult: pa.Table) -> None:
    model = modelled(adult, dp.Query(never_married=NEVER, women=WOMEN), RICH, (0.45, 0.55))
    plain = dp.mechanisms.certified_gaussian(model, TARGET)
    made = dp.mechanisms.certified_gaussian(model, TARGET, lattice=True)
    assert isinstance(made.noise, RoundedNoise)
    assert not made.noise.narrow.any()
    assert made.certificate == plain.certificate
    assert made.noise.expected_rms**2 == pytest.approx(plain.noise.expected_rms**2 + 2 / 12)


def test_a_mean_alone_has_nothing_to_gain_and_is_refused(adult: pa.Table) -> None:
    model = modelled(adult, dp.Query(age=dp.mean("age")), WORK, (0.48, 0.52))
    with pytest.raises(dp.errors.AssumptionViolated, match="too many frequencies to look at; leave out lattice=True"):
        dp.mechanisms.certified_gaussian(model, TARGET, lattice=True)


def test_counts_that_add_up_to_all_records_are_refused(adult: pa.Table) -> None:
    query = dp.Query(women=WOMEN, men=dp.count("sex = 'Male'"))
    model = modelled(adult, query, WORK, (0.48, 0.52))
    with pytest.raises(dp.errors.AssumptionViolated, match="tied together"):
        dp.mechanisms.certified_gaussian(model, TARGET, lattice=True)


def test_the_secret_itself_is_never_in_whole_steps(adult: pa.Table) -> None:
    model = modelled(adult, dp.Query(private=dp.count(WORK)), WORK, (0.48, 0.52))
    with pytest.raises(dp.errors.AssumptionViolated, match="varies by 0 of its steps only"):
        dp.mechanisms.certified_gaussian(model, TARGET, lattice=True)


def test_a_plan_takes_it_only_if_asked_to(adult: pa.Table) -> None:
    model = modelled(adult, dp.Query(women=WOMEN), WORK, (0.48, 0.52))
    asked = dp.plan(model, TARGET, mechanisms={"certified_gaussian": {"lattice": True}}, processes=1)
    assert asked.mechanism.noise.kind == "rounded"
    plain = dp.plan(model, TARGET, mechanisms=["certified_gaussian"], processes=1)
    assert plain.mechanism.noise.kind == "gaussian"


def test_it_is_asked_for_by_true_or_false(adult: pa.Table) -> None:
    model = modelled(adult, dp.Query(women=WOMEN), WORK, (0.48, 0.52))
    with pytest.raises(dp.errors.InvalidInput, match="lattice"):
        dp.mechanisms.certified_gaussian(model, TARGET, lattice="yes")  # type: ignore[arg-type]


def test_units_and_order_of_statistics_do_not_matter(adult: pa.Table) -> None:
    counts = modelled(adult, dp.Query(never_married=NEVER, women=WOMEN), WORK, (0.48, 0.52))
    never, women = dp.proportion("marital_status = 'Never-married'"), dp.proportion("sex = 'Female'")
    shares = dp.Query(women=women, never_married=never)
    one = dp.mechanisms.certified_gaussian(counts, TARGET, lattice=True)
    other = dp.mechanisms.certified_gaussian(modelled(adult, shares, WORK, (0.48, 0.52)), TARGET, lattice=True)
    assert other.noise.expected_rms == pytest.approx(one.noise.expected_rms / 100)
    assert other.certificate.delta == pytest.approx(one.certificate.delta, rel=1e-3)


@pytest.mark.slow
def test_more_epsilon_never_asks_for_more_noise(adult: pa.Table) -> None:
    model = modelled(adult, dp.Query(age=dp.mean("age"), women=WOMEN), RICH, (0.47, 0.53))
    made = [
        dp.mechanisms.certified_gaussian(model, dp.PrivacyTarget(epsilon=epsilon, delta=1e-3), lattice=True)
        for epsilon in (0.5, 1.0, 2.0)
    ]
    assert all(each.certificate.holds_at("gaussian") for each in made)
    errors = [each.noise.expected_rms for each in made]
    assert errors == sorted(errors, reverse=True)


def test_what_is_promised_of_one_count_is_nearly_what_is_true(adult: pa.Table) -> None:
    model = modelled(adult, dp.Query(women=WOMEN), RICH, (0.45, 0.55))
    made = dp.mechanisms.certified_gaussian(model, dp.PrivacyTarget(epsilon=1.0, delta=0.05), lattice=True)
    assert isinstance(made.noise, RoundedNoise)
    assert made.noise.narrow.all()
    exact = exact_lattice_delta(model, model.rows().row_laws(), made.noise.credited, [0], 1.0, 0.05)
    assert exact is not None
    assert exact.delta <= made.certificate.delta <= 1.5 * exact.delta
