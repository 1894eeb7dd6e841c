import numpy as np
import pyarrow as pa
import pytest

import distpriv as dp
from distpriv.modelling.from_rows import remodelled
from distpriv.modelling.given import model_from_dict, model_to_dict
from distpriv.modelling.model import NORMAL, OF_SAMPLED_LAWS

QUERY = dp.Query(x=dp.mean("x"), n=dp.count("x > 0"))
SECRET = dp.Share("s", values=(0.4, 0.6))


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table({"s": rng.random(600) < 0.3, "x": rng.normal(size=600) ** 3})


def test_a_reference_is_a_sample_unless_it_is_said_to_be_the_population(table: pa.Table) -> None:
    sample = dp.model(table, QUERY, SECRET, records=20)
    population = dp.model(table, QUERY, SECRET, records=20, reference="population")
    assert (sample.provenance.reference, len(sample.strata)) == ("sample", 2)
    assert (population.provenance.reference, population.strata) == ("population", ())
    assert (sample.provenance.replacement, population.provenance.replacement) == (True, False)
    for name, law in sample.distributions.items():
        assert law.mean.tolist() == population.distributions[name].mean.tolist()
        assert (np.diag(law.covariance) > np.diag(population.distributions[name].covariance)).all()


def test_a_sample_of_one_row_is_refused_and_one_of_two_is_not(table: pa.Table) -> None:
    for rows in (1, 2):
        few = table.append_column("few", pa.array(np.arange(600) < rows))
        secret = dp.Share("few", values=(0.4, 0.6))
        assert dp.model(few, QUERY, secret, records=20, reference="population", replacement=True).strata == ()
        if rows == 1:
            with pytest.raises(dp.errors.InvalidSecret):
                dp.model(few, QUERY, secret, records=20)
        else:
            assert dp.model(few, QUERY, secret, records=20).strata[0].rows == 2


def test_laws_that_are_given_are_exact() -> None:
    model = dp.empirical_model(samples={"a": [1, 2], "b": [2, 3]}, pairs=[("a", "b")])
    assert (model.provenance.reference, model.strata) == ("population", ())


def test_strata_have_the_rows_and_the_covariance_that_datasets_are_drawn_from(table: pa.Table) -> None:
    model = dp.model(table, QUERY, SECRET, records=20)
    rows = np.array(table["s"].to_pylist()).sum()
    assert [stratum.rows for stratum in model.strata] == [rows, 600 - rows]
    assert [stratum.kind for stratum in model.strata] == ["rows where s is satisfied", "rows where s is not satisfied"]
    for name, law in model.distributions.items():
        drawn = [s.drawn[name] * s.covariance * (s.rows - 1) / s.rows for s in model.strata]
        np.testing.assert_allclose(np.sum(drawn, axis=0), law.covariance, rtol=1e-12)


def test_heavy_tails_make_a_variance_less_sure(table: pa.Table) -> None:
    heavy, counted = dp.model(table, QUERY, SECRET, records=20).strata[0].kurtoses
    assert heavy > 10
    assert counted == NORMAL


def test_statistics_that_are_no_sums_vary_as_their_draws_do(table: pa.Table) -> None:
    query = dp.Query(m=dp.quantile("x", 0.5))
    model = dp.model(table, query, SECRET, records=20, draws=300, processes=1)
    spread = np.mean([law.covariance for law in model.distributions.values()], axis=0) / 20
    for stratum in model.strata:
        np.testing.assert_allclose(stratum.covariance, spread)
        assert stratum.kurtoses.tolist() == [OF_SAMPLED_LAWS]


def test_scenarios_with_tables_of_their_own_have_a_stratum_each(table: pa.Table) -> None:
    secret = dp.Scenarios({"boom": table.slice(0, 200), "bust": table.slice(200)}, pairs=[("boom", "bust")])
    strata = dp.model(None, QUERY, secret, records=20).strata
    assert [(s.kind, s.rows, dict(s.drawn)) for s in strata] == [
        ("rows of boom", 200, {"boom": 20}),
        ("rows of bust", 400, {"bust": 20}),
    ]


@pytest.mark.parametrize("reference", ["sample", "population"])
def test_what_the_reference_is_outlives_other_statistics_and_a_bundle(table: pa.Table, reference: str) -> None:
    model = dp.model(table, QUERY, SECRET, records=20, reference=reference)  # type: ignore[arg-type]
    again = remodelled(model, dp.Query(x=dp.mean("x")))
    assert again.provenance.reference == reference
    assert [s.rows for s in again.strata] == [s.rows for s in model.strata]
    told = model_from_dict(model_to_dict(model))
    assert (told.strata, told.provenance.reference) == (model.strata, reference)


def test_a_stratum_of_other_statistics_describes_no_model(table: pa.Table) -> None:
    written = model_to_dict(dp.model(table, QUERY, SECRET, records=20))
    written["strata"][0]["kurtoses"] = [3.0]
    with pytest.raises(dp.errors.InvalidModel, match="not described for 2 statistics"):
        model_from_dict(written)
