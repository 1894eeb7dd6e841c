"""What a reference that is a sample leaves open: its strata, and the populations that it may be a sample of."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve

import distpriv as dp
from distpriv.errors import InvalidModel, InvalidSecret
from distpriv.framework.arrays import Floats
from distpriv.framework.records import Format, plain
from distpriv.framework.scenarios import ProtectedScenarios
from distpriv.guarantees.reference_sample import relative_errors, worst_population
from distpriv.modelling.from_rows import remodelled
from distpriv.modelling.model import NORMAL, OF_SAMPLED_LAWS
from distpriv.modelling.plausible_models import MAKING_SEED, plausible_models
from distpriv.noise.laws import GaussianNoise
from distpriv.releasing.record import ModelRecord

QUERY = dp.Query(x=dp.mean("x"), n=dp.count("x > 0"))
ADULT = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
SECRET = dp.Share("s", values=(0.4, 0.6))
Property = dp.Mean | dp.Quantile | dp.Correlation
PROPERTIES: list[Property] = [
    dp.Mean("hours_per_week", values=(38, 42)),
    dp.Quantile("hours_per_week", 0.5, values=(38, 40)),
    dp.Correlation("age", "education_num", values=(0.0, 0.1)),
]
HOURS = PROPERTIES[0]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table({"s": rng.random(600) < 0.3, "x": rng.normal(size=600) ** 3})


@pytest.fixture(scope="module")
def model() -> dp.QueryModel:
    rng = np.random.default_rng(2)
    table = pa.table({"s": rng.random(800) < 0.4, "x": rng.normal(size=800), "y": rng.exponential(size=800)})
    return dp.model(table, dp.Query(x=dp.mean("x"), y=dp.mean("y")), SECRET, records=50)


def sampled(rows: pa.Table, secret: Property, seed: int) -> dp.QueryModel:
    return dp.model(rows.take(np.random.default_rng(seed).choice(len(rows), 800)), ADULT, secret, records=100)


def shift_error(model: dp.QueryModel) -> Floats:
    """The covariance of the error of the mean shift, from the loads of both scenarios."""
    one, other = (stratum.loads for stratum in model.strata)
    assert one is not None
    assert other is not None
    return np.asarray(100**2 * (one - other) @ (one - other).T)


def shifts_of(models: list[dp.QueryModel]) -> Floats:
    return np.array([model.mean_shift(model.protected_pairs[0]) for model in models])


def test_a_reference_is_a_sample_unless_it_is_said_to_be_the_population(table: pa.Table) -> None:
    sample = dp.model(table, QUERY, SECRET, records=20)
    population = dp.model(table, QUERY, SECRET, records=20, reference="population")
    assert (sample.provenance.reference, len(sample.strata)) == ("sample", 2)
    assert (population.provenance.reference, population.strata) == ("population", ())
    assert (sample.provenance.replacement, population.provenance.replacement) == (True, False)
    for name, law in sample.distributions.items():
        assert law.mean.tolist() == population.distributions[name].mean.tolist()
        assert (np.diag(law.covariance) > np.diag(population.distributions[name].covariance)).all()
    given = dp.empirical_model(samples={"a": [1, 2], "b": [2, 3]}, pairs=[("a", "b")])
    assert (given.provenance.reference, given.strata) == ("population", ())


@pytest.mark.parametrize("rows", [1, 2])
def test_a_sample_of_one_row_is_refused_and_one_of_two_is_not(table: pa.Table, rows: int) -> None:
    few, secret = table.append_column("few", pa.array(np.arange(600) < rows)), dp.Share("few", values=(0.4, 0.6))
    assert dp.model(few, QUERY, secret, records=20, reference="population", replacement=True).strata == ()
    if rows == 1:
        with pytest.raises(InvalidSecret):
            dp.model(few, QUERY, secret, records=20)
    else:
        assert dp.model(few, QUERY, secret, records=20).strata[0].rows == 2


def test_strata_have_the_rows_covariance_and_kurtoses_that_datasets_are_drawn_from(table: pa.Table) -> None:
    model = dp.model(table, QUERY, SECRET, records=20)
    rows = np.array(table["s"].to_pylist()).sum()
    assert [stratum.rows for stratum in model.strata] == [rows, 600 - rows]
    assert [stratum.kind for stratum in model.strata] == ["rows where s is satisfied", "rows where s is not satisfied"]
    for name, law in model.distributions.items():
        drawn = [s.drawn[name] * s.covariance * (s.rows - 1) / s.rows for s in model.strata]
        np.testing.assert_allclose(np.sum(drawn, axis=0), law.covariance, rtol=1e-12)
    heavy, counted = model.strata[0].kurtoses
    assert heavy > 10
    assert counted == NORMAL


def test_statistics_that_are_no_sums_vary_and_err_as_sums_that_vary_as_their_draws_do(table: pa.Table) -> None:
    model = dp.model(table, dp.Query(m=dp.quantile("x", 0.5)), SECRET, records=20, draws=300, processes=1)
    spread = np.mean([law.covariance for law in model.distributions.values()], axis=0) / 20
    for stratum in model.strata:
        np.testing.assert_allclose(stratum.covariance, spread)
        assert stratum.kurtoses.tolist() == [OF_SAMPLED_LAWS]
    expected = 4**2 * float(spread[0, 0]) * sum(1 / stratum.rows for stratum in model.strata)
    assert shifts_of(plausible_models(model, 2000)).var() == pytest.approx(expected, rel=0.1)


def test_scenarios_with_tables_of_their_own_have_a_stratum_each(table: pa.Table) -> None:
    secret = dp.Scenarios({"boom": table.slice(0, 200), "bust": table.slice(200)}, pairs=[("boom", "bust")])
    strata = dp.model(None, QUERY, secret, records=20).strata
    assert [(s.kind, s.rows, dict(s.drawn)) for s in strata] == [
        ("rows of boom", 200, {"boom": 20}),
        ("rows of bust", 400, {"bust": 20}),
    ]


def read_again(model: dp.QueryModel) -> dp.QueryModel:
    """Return what a bundle holds of a model."""
    protected = ProtectedScenarios(scenarios=model.scenarios, pairs=model.protected_pairs)
    written = Format(ModelRecord).of(plain(ModelRecord.of(model)))
    return written.model(model.query, protected, model.provenance.drawing)


@pytest.mark.parametrize("reference", ["sample", "population"])
def test_what_the_reference_is_outlives_other_statistics_and_a_bundle(table: pa.Table, reference: Any) -> None:
    model = dp.model(table, QUERY, SECRET, records=20, reference=reference)
    again = remodelled(model, dp.Query(x=dp.mean("x")))
    assert again.provenance.reference == reference
    assert [s.rows for s in again.strata] == [s.rows for s in model.strata]
    read = read_again(model)
    assert (read.strata, read.provenance.reference) == (model.strata, reference)


@pytest.mark.parametrize("field", ["kurtoses", "loads"])
def test_strata_with_weights_are_read_again_and_those_of_other_statistics_describe_no_model(
    adult: pa.Table, field: str
) -> None:
    model = sampled(adult, PROPERTIES[2], 1)
    assert read_again(model).strata == model.strata
    assert {stratum.family for stratum in model.strata} == {PROPERTIES[2].named[0]}
    first = model.strata[0]
    wrong = evolve(first, **{field: getattr(first, field)[:1]})
    with pytest.raises(InvalidModel, match="not described for 2 statistics"):
        read_again(evolve(model, strata=(wrong, *model.strata[1:])))


@pytest.mark.slow
@pytest.mark.parametrize("secret", PROPERTIES)
def test_errors_of_means_and_of_shifts_are_those_of_samples_drawn_again(adult: pa.Table, secret: Property) -> None:
    models = [sampled(adult, secret, seed) for seed in range(200)]
    first = models[0].protected_pairs[0][0]
    means = np.array([model.distributions[first].mean for model in models])
    of_means = np.mean([100**2 * model.strata[0].error for model in models], axis=0)
    of_shifts = np.mean([shift_error(model) for model in models], axis=0)
    units = np.sqrt(np.diag(of_means))
    for drawn, expected in ((shifts_of(models), of_shifts), (means, of_means)):
        covariance = np.cov(drawn.T)
        error = 4 * np.sqrt(2 / 200) * np.outer(np.sqrt(np.diag(covariance)), np.sqrt(np.diag(covariance)))
        assert (np.abs(covariance - expected) <= error + 1e-6 * np.outer(units, units)).all()


def test_a_mean_that_is_the_property_itself_is_known_exactly(adult: pa.Table) -> None:
    query = dp.Query(hours=dp.mean("hours_per_week"), age=dp.mean("age"))
    for stratum in dp.model(adult.slice(0, 1000), query, HOURS, records=50).strata:
        assert stratum.error[0, 0] == pytest.approx(0, abs=1e-20)
        assert stratum.error[1, 1] > 0


def test_even_weights_know_a_mean_as_an_even_sample_does_but_for_what_the_property_explains(adult: pa.Table) -> None:
    rows = adult.slice(0, 1000)
    hours, age = (np.asarray(rows[name].to_numpy(), dtype=float) for name in ("hours_per_week", "age"))
    near = float(hours.mean())
    model = dp.model(rows, dp.Query(age=dp.mean("age")), dp.Mean("hours_per_week", values=(near, near + 1)), records=50)
    left = age - age.mean() - np.cov(age, hours)[0, 1] / hours.var(ddof=1) * (hours - near)
    assert 50**2 * model.strata[0].error[0, 0] == pytest.approx(left.var() / 1000, rel=1e-6)
    assert model.strata[0].rows == 1000


def test_the_same_strata_have_the_same_populations_and_a_population_has_none_besides(model: dp.QueryModel) -> None:
    assert plausible_models(evolve(model, strata=()), 10) == []
    read = read_again(model)
    for one, other in zip(plausible_models(model, 5), plausible_models(read, 5), strict=True):
        assert one.distributions == other.distributions
    assert plausible_models(model, 5)[0] != plausible_models(model, 5, MAKING_SEED)[0]


def test_means_and_covariances_err_as_the_rows_of_each_stratum_and_their_kurtoses_let_them(
    model: dp.QueryModel,
) -> None:
    models = plausible_models(model, 4000)
    shifts = shifts_of(models)
    expected = np.sum([10**2 * stratum.covariance / stratum.rows for stratum in model.strata], axis=0)
    np.testing.assert_allclose(shifts.mean(axis=0), shifts_of([model])[0], atol=1e-12)
    np.testing.assert_allclose(np.cov(shifts.T), expected, rtol=0.1, atol=0.03 * expected.diagonal().max())
    name = model.protected_pairs[0][0]
    covariances = np.array([population.distributions[name].covariance for population in models])
    endless = np.sum([s.drawn[name] * s.covariance for s in model.strata], axis=0)
    np.testing.assert_allclose(covariances.mean(axis=0), endless, rtol=0.02, atol=0.01 * endless.diagonal().max())
    for k in range(2):
        parts = [(s.drawn[name] * s.covariance[k, k], (s.kurtoses[k] - 1) / s.rows) for s in model.strata]
        variance = sum(part**2 * relative for part, relative in parts)
        assert covariances[:, k, k].var() == pytest.approx(variance, rel=0.15)


def test_populations_move_the_means_of_both_scenarios_of_weighted_rows_together(adult: pa.Table) -> None:
    model = sampled(adult, HOURS, 3)
    shifts = shifts_of(plausible_models(model, 2000))
    assert np.cov(shifts.T) == pytest.approx(shift_error(model), rel=0.15, abs=0.01)
    independent = sum(100**2 * stratum.error for stratum in model.strata)
    assert np.trace(np.cov(shifts.T)) < 0.3 * np.trace(np.asarray(independent))
    assert all(0 < error < 1 for error in relative_errors(model).values())


def test_a_statistic_that_never_varies_stays_as_it_is() -> None:
    table = pa.table({"s": [True, False] * 50, "x": [1.0] * 100})
    model = dp.model(table, dp.Query(x=dp.mean("x")), SECRET, records=10)
    assert all(m.distributions == model.distributions or not m.floor.any() for m in plausible_models(model, 3))


def test_a_sample_allows_for_no_smaller_delta_than_a_population(adult: pa.Table) -> None:
    noise = GaussianNoise.of(np.diag([1.0, 9.0]))
    sample, population = (
        dp.model(adult.slice(0, 1000), ADULT, HOURS, records=100, reference=reference)
        for reference in ("sample", "population")
    )
    worst = worst_population(sample, noise, 0.2).model
    own, allowed = (dp.exact_delta(model, noise.covariance, epsilon=0.2) for model in (population, worst))
    assert allowed > own
