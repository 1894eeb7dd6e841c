import math

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import distpriv as dp
from distpriv.guarantees.exact_delta import exact_delta
from distpriv.guarantees.reference_sample import (
    _farthest,
    _laplace_estimates,
    cautious,
    largest_unseen_share,
    relative_errors,
    stretched,
    unseen_rows_evidence,
    worst_population,
)
from distpriv.guarantees.upper_bound import delta_upper_bound
from distpriv.modelling.plausible_models import TRIED, plausible_models
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, SumNoise

Law = GaussianNoise | SumNoise
SECRET = dp.Share("s", values=(0.4, 0.6))
QUERY = dp.Query(x=dp.mean("x"), y=dp.mean("y"))


def table(rows: int, seed: int = 2) -> pa.Table:
    rng = np.random.default_rng(seed)
    secret = rng.random(rows) < 0.4
    return pa.table({"s": secret, "x": rng.normal(size=rows) + secret, "y": rng.exponential(size=rows) + 0.5 * secret})


@pytest.fixture(scope="module")
def model() -> dp.QueryModel:
    return dp.model(table(800), QUERY, SECRET, records=50)


def population(model: dp.QueryModel) -> dp.QueryModel:
    return evolve(model, strata=())


NOISES: list[Law] = [
    GaussianNoise.isotropic(2, 0.5),
    SumNoise(parts=(LaplaceNoise.isotropic(2, 0.4), GaussianNoise.isotropic(2, 0.1))),
]


def delta_of(noise: Law, model: dp.QueryModel) -> float:
    return delta_upper_bound(model, noise, epsilon=1.0)


def allowed_delta(noise: Law, model: dp.QueryModel) -> float:
    return max(delta_of(noise, model), delta_of(noise, worst_population(model, noise, 1.0).model))


@pytest.mark.parametrize("noise", NOISES)
def test_more_rows_bring_the_allowed_delta_to_that_of_the_population(model: dp.QueryModel, noise: Law) -> None:
    with_more = [evolve(model, strata=tuple(evolve(s, rows=k * s.rows) for s in model.strata)) for k in (1, 10, 10**6)]
    found = [allowed_delta(noise, m) for m in with_more]
    assert found[0] > found[1] > found[2]
    assert found[2] == pytest.approx(delta_of(noise, model), rel=0.1)


@pytest.mark.slow
def test_the_allowed_delta_is_the_99th_percentile_of_what_populations_have(model: dp.QueryModel) -> None:
    noise = NOISES[0]
    others = [exact_delta(m, noise, epsilon=1.0) for m in plausible_models(model, 1000, seed=5)]
    allowed = allowed_delta(noise, model)
    assert 0.96 < np.mean(np.array(others) <= allowed) < 0.9995


@pytest.mark.slow
def test_relative_errors_are_those_of_resampled_references() -> None:
    model = dp.model(table(2000), dp.Query(x=dp.mean("x")), SECRET, records=50)
    pair = model.protected_pairs[0]
    again = [
        dp.model(table(2000, seed), dp.Query(x=dp.mean("x")), SECRET, records=50).mean_shift(pair)[0]
        for seed in range(40)
    ]
    error, _ = relative_errors(model).values()
    assert error == pytest.approx(np.std(again) / abs(np.mean(again)), rel=0.35)


def test_relative_errors_along_the_noise_are_those_along_what_it_leaves(model: dp.QueryModel) -> None:
    bare = relative_errors(model)[model.protected_pairs[0]]
    hidden = relative_errors(model, np.diag([1e6, 0.0]))[model.protected_pairs[0]]
    alone, _ = relative_errors(dp.model(table(800), dp.Query(y=dp.mean("y")), SECRET, records=50)).values()
    assert hidden == pytest.approx(alone, rel=1e-3)
    assert bare < hidden


def test_nothing_is_open_about_a_population(model: dp.QueryModel) -> None:
    whole = population(model)
    assert relative_errors(whole) == {}
    assert stretched(whole) is whole
    assert cautious(whole).model is whole


def test_a_pair_without_a_shift_has_no_relative_error() -> None:
    rows = pa.table({"s": [True, False] * 50, "x": [0.0, 0.0, 1.0, 1.0] * 25})
    model = dp.model(rows, dp.Query(x=dp.mean("x")), SECRET, records=10)
    assert all(math.isinf(error) for error in relative_errors(model).values())
    assert stretched(model).distributions == model.distributions


def test_stretched_scenarios_are_farther_apart_about_the_same_middle(model: dp.QueryModel) -> None:
    pair = model.protected_pairs[0]
    error = relative_errors(model)[model.protected_pairs[0]]
    farther = stretched(model)
    np.testing.assert_allclose(farther.mean_shift(pair), model.mean_shift(pair) * (1 + 2.3263479 * error), rtol=1e-6)
    middles = [np.mean([law.mean for law in m.distributions.values()], axis=0) for m in (model, farther)]
    np.testing.assert_allclose(*middles)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))])
def test_the_population_in_which_laplace_noise_hides_least_is_on_the_short_list(seed: int) -> None:
    rng = np.random.default_rng(seed)
    adult, names = dp.datasets.adult(), ["age", "education_num", "hours_per_week", "capital_gain"]
    chosen = rng.choice(names, 1 + seed % 3, replace=False)
    rows = adult.take(np.sort(rng.choice(adult.num_rows, 500 * 4 ** (seed % 3), replace=False)))
    secret = dp.Share("income = '>50K'", values=(0.45, 0.55) if seed % 2 else (0.3, 0.4, 0.5))
    model = dp.model(rows, dp.Query({name: dp.mean(name) for name in chosen}), secret, records=100)
    shift = model.mean_shift(model.protected_pairs[0])
    axis = (shift / np.linalg.norm(shift))[:, np.newaxis]
    floor = GaussianNoise.of(0.1 * np.diag(np.diag(next(iter(model.distributions.values())).covariance)))
    laplace = LaplaceNoise(axes=axis, scales=np.array([np.linalg.norm(shift) * rng.uniform(0.9, 1.3)]))
    noise = SumNoise(parts=(laplace, floor))
    populations = plausible_models(model, TRIED)
    every = _laplace_estimates(populations, model.protected_pairs[:2], noise, 1.0).max(axis=1)
    listed = [populations[place] for place in _farthest(populations, model.protected_pairs[:2], noise, 1.0)]
    some = _laplace_estimates(listed, model.protected_pairs[:2], noise, 1.0)
    assert some.max() == every.max()


@given(st.integers(1, 10**9))
def test_a_kind_with_that_share_shows_itself_in_99_of_100_samples(rows: int) -> None:
    assert (1 - largest_unseen_share(rows)) ** rows == pytest.approx(0.01, rel=1e-6)


def test_a_coupled_certificate_names_the_rows_that_a_sample_lacks() -> None:
    rng = np.random.default_rng(0)
    table = pa.table({"s": np.arange(1000) < 400, "x": rng.normal(size=1000)})
    secret = dp.Share("s", values=(0.4, 0.6))
    model = dp.model(table, dp.Query(x=dp.mean("x")), secret, records=20)
    said = unseen_rows_evidence(model)
    assert said[0].status == "assumed"
    assert said[0].facts["rows"]["rows where s is satisfied"] == 400
    assert said[0].facts["shares"]["rows where s is satisfied"] == pytest.approx(0.011, abs=1e-3)
    assert said[0].facts["chance"] == pytest.approx(0.074, abs=1e-3)
    target = dp.PrivacyTarget(epsilon=1, delta=0.01)
    made = dp.mechanisms.coupled_gaussian(model, target, draws=2000, seed=1)
    assert said[0] in made.certificate.evidence
    assert unseen_rows_evidence(evolve(model, strata=())) == ()
