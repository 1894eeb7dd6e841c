import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve

import distpriv as dp
from distpriv.modelling.given import model_from_dict, model_to_dict
from distpriv.modelling.plausible_models import MAKING_SEED, plausible_models

SECRET = dp.Share("s", values=(0.4, 0.6))


@pytest.fixture(scope="module")
def model() -> dp.QueryModel:
    rng = np.random.default_rng(2)
    table = pa.table({"s": rng.random(800) < 0.4, "x": rng.normal(size=800), "y": rng.exponential(size=800)})
    return dp.model(table, dp.Query(x=dp.mean("x"), y=dp.mean("y")), SECRET, records=50)


def shifts(models: list[dp.QueryModel]) -> np.ndarray:
    return np.array([model.mean_shift(model.protected_pairs[0]) for model in models])


def test_a_population_leaves_nothing_open(model: dp.QueryModel) -> None:
    assert plausible_models(evolve(model, strata=()), 10) == []


def test_the_same_strata_have_the_same_populations_and_a_bundle_tells_them(model: dp.QueryModel) -> None:
    told = model_from_dict(model_to_dict(model))
    for one, other in zip(plausible_models(model, 5), plausible_models(told, 5), strict=True):
        assert one.distributions == other.distributions
    assert plausible_models(model, 5)[0] != plausible_models(model, 5, MAKING_SEED)[0]


def test_shifts_err_as_the_rows_of_each_stratum_let_them(model: dp.QueryModel) -> None:
    found = shifts(plausible_models(model, 4000))
    expected = np.sum([10**2 * stratum.covariance / stratum.rows for stratum in model.strata], axis=0)
    np.testing.assert_allclose(found.mean(axis=0), shifts([model])[0], atol=1e-12)
    np.testing.assert_allclose(np.cov(found.T), expected, rtol=0.1, atol=0.03 * expected.diagonal().max())


def test_covariances_err_as_the_rows_and_their_kurtoses_let_them(model: dp.QueryModel) -> None:
    name = model.protected_pairs[0][0]
    found = np.array([m.distributions[name].covariance for m in plausible_models(model, 4000)])
    endless = np.sum([s.drawn[name] * s.covariance for s in model.strata], axis=0)
    np.testing.assert_allclose(found.mean(axis=0), endless, rtol=0.02, atol=0.01 * endless.diagonal().max())
    for k in range(2):
        parts = [(s.drawn[name] * s.covariance[k, k], (s.kurtoses[k] - 1) / s.rows) for s in model.strata]
        expected = sum(part**2 * relative for part, relative in parts)
        assert found[:, k, k].var() == pytest.approx(expected, rel=0.15)


def test_statistics_that_are_no_sums_err_as_much_as_sums_that_vary_as_they_do() -> None:
    rng = np.random.default_rng(2)
    table = pa.table({"s": rng.random(800) < 0.4, "x": rng.normal(size=800)})
    query = dp.Query(m=dp.quantile("x", 0.5))
    sampled = dp.model(table, query, SECRET, records=50, draws=400, processes=1)
    found = shifts(plausible_models(sampled, 2000))
    spread = np.mean([law.covariance for law in sampled.distributions.values()]) / 50
    assert found.var() == pytest.approx(10**2 * spread * sum(1 / s.rows for s in sampled.strata), rel=0.1)


def test_a_statistic_that_never_varies_stays_as_it_is() -> None:
    table = pa.table({"s": [True, False] * 50, "x": [1.0] * 100})
    model = dp.model(table, dp.Query(x=dp.mean("x")), SECRET, records=10)
    assert all(m.distributions == model.distributions or not m.floor.any() for m in plausible_models(model, 3))
