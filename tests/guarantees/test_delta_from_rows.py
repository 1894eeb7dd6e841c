"""Certificates whose δ is computed from the rows."""

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve

import distpriv as dp
from distpriv.framework.records import Format, plain
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.certify import gaussian_certificate
from distpriv.modelling.plausible_models import plausible_population
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, Noise, SumNoise

SECRET = dp.Share("income = '>50K'", values=(0.45, 0.55))
TARGET = dp.PrivacyTarget(epsilon=1, delta=1e-3)
AGE, HOURS = dp.mean("age"), dp.mean("hours_per_week")


@pytest.fixture(scope="module")
def model() -> dp.QueryModel:
    query = dp.Query(age=AGE, hours=HOURS)
    return dp.model(dp.datasets.adult().slice(0, 4000), query, SECRET, records=100, reference="population")


def noise_of(model: dp.QueryModel, width: float, *, line: bool = False) -> Noise:
    deviations = np.sqrt(np.diag(model.distributions[model.protected_pairs[0][0]].covariance))
    gaussian = GaussianNoise.of(np.diag((width * deviations) ** 2))
    return SumNoise(parts=(LaplaceNoise(axes=np.eye(2)[:, :1], scales=deviations[:1]), gaussian)) if line else gaussian


@pytest.mark.parametrize("line", [False, True])
def test_wider_noise_has_a_smaller_delta(model: dp.QueryModel, line: bool) -> None:
    deltas = [
        gaussian_certificate(model, evolve(TARGET, delta=0.3), noise_of(model, width, line=line), "a test").delta
        for width in (1.0, 2.0, 4.0)
    ]
    assert deltas[0] > deltas[1] > deltas[2] > 0


def test_the_same_noise_gets_the_same_certificate_and_it_can_be_written_down(model: dp.QueryModel) -> None:
    first, second = (gaussian_certificate(model, TARGET, noise_of(model, 6.0), "a test") for _ in range(2))
    assert first == second == Format(Certificate).of(plain(first))
    assert first.law is not None
    assert first.delta == first.law.delta > first.law.estimate


def test_units_do_not_matter(model: dp.QueryModel) -> None:
    query = dp.Query(age=dp.mean("age * 12"), hours=dp.mean("hours_per_week / 40.0"))
    rows = dp.datasets.adult().slice(0, 4000)
    scaled = dp.model(rows, query, SECRET, records=100, reference="population")
    one = gaussian_certificate(model, TARGET, noise_of(model, 5.0), "a test").delta
    assert gaussian_certificate(scaled, TARGET, noise_of(scaled, 5.0), "a test").delta == pytest.approx(one, rel=0.2)


def test_a_sample_is_judged_by_a_population_that_it_may_be_of() -> None:
    rows = dp.datasets.adult().slice(0, 500)
    query = dp.Query(age=AGE, hours=HOURS)
    as_population = dp.model(rows, query, SECRET, records=60, replacement=True, reference="population")
    as_sample = dp.model(rows, query, SECRET, records=60, replacement=True)
    noise = noise_of(as_population, 4.0)
    known, open_ = (gaussian_certificate(each, TARGET, noise, "a test").delta for each in (as_population, as_sample))
    assert open_ > known


def test_the_rows_of_a_population_have_its_moments() -> None:
    query = dp.Query(age=AGE, hours=HOURS)
    model = dp.model(dp.datasets.adult().slice(0, 500), query, SECRET, records=60, replacement=True)
    population = plausible_population(model, 3)
    moved = population.moved(model.rows().row_laws())
    for name, sizes in moved.drawn.items():
        mean = sum(size * moved.strata[which].mean for which, size in sizes.items())
        about = [(size, moved.strata[which].about_mean) for which, size in sizes.items()]
        covariance = sum(size * each.T @ each / (len(each) - 1) for size, each in about)
        np.testing.assert_allclose(mean, population.model.distributions[name].mean, rtol=1e-9)
        np.testing.assert_allclose(covariance, population.model.distributions[name].covariance, rtol=1e-6)


def test_periodic_structure_that_noise_leaves_is_not_certified() -> None:
    rng, rows = np.random.default_rng(2), 3000
    group = rng.permutation(np.arange(rows) % 2).astype(float)
    y, w = rng.normal(0, 5, rows), rng.normal(0, 8, rows)
    residue = 50 * (rng.random(rows) < 0.7 - 0.4 * group) + 20 * group
    table = pa.table({"g": group, "y": y, "z": residue - y - w / 2 + rng.normal(0, 1, rows), "w": w})
    query = dp.Query({name: dp.total(name) for name in "yzw"})
    model = dp.model(table, query, dp.Share("g = 1", values=(0.4, 0.6)), records=20, reference="population")
    loose = dp.PrivacyTarget(epsilon=60, delta=0.5)
    found = dp.mechanisms.expected_value_gaussian(model, loose)
    assert found.certificate.assurance == "assumed"


def test_rows_that_are_gone_leave_a_certificate_assumed(model: dp.QueryModel) -> None:
    blind = gaussian_certificate(evolve(model, simulator=None), TARGET, noise_of(model, 6.0), "a test")
    assert blind.assurance == "assumed"
