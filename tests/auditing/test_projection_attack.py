"""The exact law of one combination decides as well as anybody can who sees that combination."""

import numpy as np
import pyarrow as pa
import pytest
from tests.auditing.shared import TOY, accuracy, fresh, planted, thin, view

import distpriv as dp
from distpriv.auditing.attacks import BayesAttack
from distpriv.auditing.projection_attack import ProjectionAttack, most_telling
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw, SumNoise


def rare_rows() -> dp.QueryModel:
    """Few large rows in one group, and as much mean and variance as they make, by many rows, in the other."""
    rng = np.random.default_rng(4)
    group = rng.permutation(np.arange(3000) % 2)
    x = np.where(group == 1, 1000.0 * (rng.random(3000) < 0.02), rng.normal(20, 140, 3000))
    secret = dp.Share("g = 1", values=(0.4, 0.6))
    return dp.model(
        pa.table({"g": group, "x": x}), dp.Query(x=dp.mean("x")), secret, records=20, reference="population"
    )


@pytest.mark.parametrize(
    "noise",
    [
        GaussianNoise.isotropic(1, 4.0),
        GaussianNoise.isotropic(1, 30.0),
        SumNoise(parts=(LaplaceNoise.isotropic(1, 4.0), GaussianNoise.isotropic(1, 2.0))),
    ],
)
def test_of_one_statistic_it_is_right_as_often_as_the_exact_total_variation_says(noise: NoiseLaw) -> None:
    model = planted(1, 1)
    pair = model.protected_pairs[0]
    laws = most_telling(model, noise, pair, 0.0)
    assert laws is not None
    found = accuracy(ProjectionAttack().fit(view(model, noise, 4)), fresh(model, noise, 40_000))
    assert found == pytest.approx((1 + laws.delta(pair, 0.0)) / 2, abs=4 * 0.5 / 40_000**0.5)


def test_a_bell_curve_is_told_apart_as_bayes_does(adult: pa.Table) -> None:
    query = dp.Query(age=dp.mean("age"), never=dp.count("marital_status = 'Never-married'"))
    model = dp.model(adult, query, dp.Share("income = '>50K'", values=(0.4, 0.6)), records=100)
    noise = GaussianNoise.isotropic(2, 3.0)
    seen, tests = view(model, noise, 4), fresh(model, noise, 20_000)
    assert accuracy(ProjectionAttack().fit(seen), tests) == pytest.approx(
        accuracy(BayesAttack().fit(seen), tests), abs=0.01
    )


def test_without_rows_it_is_bayes() -> None:
    seen = view(TOY, GaussianNoise.isotropic(2, 1.0), 4)
    tests = fresh(TOY, seen.noise, 400).released[0]
    assert np.array_equal(ProjectionAttack().fit(seen).score(tests), BayesAttack().fit(seen).score(tests))


def test_rows_that_are_rare_and_large_are_caught_where_bayes_sees_nothing() -> None:
    model = rare_rows()
    leaking = thin(model, 0.1, dp.PrivacyTarget(epsilon=0.2, delta=1e-3))
    assert leaking.certificate.holds
    assert not dp.audit(leaking, model=model, releases=20_000, attacks=["bayes", "quadratic"]).failed
    assert dp.audit(leaking, model=model, releases=20_000, attacks=["projection"]).failed


def test_it_looks_for_what_exceeds_the_claim() -> None:
    """A combination that tells more often than another may never tell for sure, and a claim is about either."""
    model = planted(3, 2)
    pair, noise = model.protected_pairs[0], thin(model, 0.1).noise
    for epsilon in (0.0, 1.0, 3.0):
        laws = most_telling(model, noise, pair, epsilon)
        others = [most_telling(model, noise, pair, other) for other in (0.0, 1.0, 3.0)]
        assert laws is not None
        assert laws.delta(pair, epsilon) >= max(law.delta(pair, epsilon) for law in others if law) - 1e-12
