"""What a reference that is a sample leaves open of weighted rows, held against samples drawn again and again."""

import numpy as np
import pyarrow as pa
import pytest

import distpriv as dp
from distpriv.errors import InvalidModel
from distpriv.framework.arrays import Floats
from distpriv.guarantees.reference_sample import relative_errors, worst_population
from distpriv.modelling.given import model_from_dict, model_to_dict
from distpriv.modelling.model import SampledStratum
from distpriv.modelling.plausible_models import plausible_models
from distpriv.noise.laws import GaussianNoise

Secret = dp.Mean | dp.Quantile | dp.Correlation

QUERY = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
SECRETS: list[Secret] = [
    dp.Mean("hours_per_week", values=(38, 42)),
    dp.Quantile("hours_per_week", 0.5, values=(38, 40)),
    dp.Correlation("age", "education_num", values=(0.0, 0.1)),
]


def sampled(rows: pa.Table, secret: Secret, seed: int, size: int = 800) -> dp.QueryModel:
    drawn = np.random.default_rng(seed).choice(len(rows), size)
    return dp.model(rows.take(drawn), QUERY, secret, records=100)


def shift_error(model: dp.QueryModel) -> Floats:
    """The covariance of the error of the mean shift, from the loads of both scenarios."""
    one, other = model.strata
    assert one.loads is not None
    assert other.loads is not None
    apart = 100 * (one.loads - other.loads)
    return np.asarray(apart @ apart.T)


@pytest.mark.slow
@pytest.mark.parametrize("secret", SECRETS)
def test_errors_of_means_and_of_shifts_are_those_of_samples_drawn_again(adult: pa.Table, secret: Secret) -> None:
    models = [sampled(adult, secret, seed) for seed in range(200)]
    pair = models[0].protected_pairs[0]
    shifts = np.array([model.mean_shift(pair) for model in models])
    means = np.array([model.distributions[pair[0]].mean for model in models])
    told = np.mean([shift_error(model) for model in models], axis=0)
    alone = np.mean([100**2 * model.strata[0].error for model in models], axis=0)
    units = np.sqrt(np.diag(alone))
    for drawn, expected in ((shifts, told), (means, alone)):
        found = np.cov(drawn.T)
        error = 4 * np.sqrt(2 / 200) * np.outer(np.sqrt(np.diag(found)), np.sqrt(np.diag(found)))
        assert (np.abs(found - expected) <= error + 1e-6 * np.outer(units, units)).all()


def test_a_mean_that_is_the_property_itself_is_known_exactly(adult: pa.Table) -> None:
    query = dp.Query(hours=dp.mean("hours_per_week"), age=dp.mean("age"))
    model = dp.model(adult.slice(0, 1000), query, SECRETS[0], records=50)
    for stratum in model.strata:
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


def test_populations_move_the_means_of_both_scenarios_together(adult: pa.Table) -> None:
    model = sampled(adult, SECRETS[0], 3)
    populations = plausible_models(model, 2000)
    pair = model.protected_pairs[0]
    shifts = np.array([population.mean_shift(pair) for population in populations])
    assert np.cov(shifts.T) == pytest.approx(shift_error(model), rel=0.15, abs=0.01)
    independent = sum(100**2 * stratum.error for stratum in model.strata)
    assert np.trace(np.cov(shifts.T)) < 0.3 * np.trace(np.asarray(independent))
    errors = list(relative_errors(model).values())
    assert all(0 < error < 1 for error in errors)


def test_a_sample_allows_for_no_smaller_delta_than_a_population(adult: pa.Table) -> None:
    rows = adult.slice(0, 1000)
    noise = GaussianNoise.of(np.diag([1.0, 9.0]))
    sample, population = (
        dp.model(rows, QUERY, SECRETS[0], records=100, reference=reference) for reference in ("sample", "population")
    )
    worst = worst_population(sample, noise, 0.2).model
    own, allowed = (dp.exact_delta(model, noise.covariance, epsilon=0.2) for model in (population, worst))
    assert allowed > own


def test_strata_with_weights_are_written_down_and_read_again(adult: pa.Table) -> None:
    model = sampled(adult, SECRETS[2], 1)
    again = model_from_dict(model_to_dict(model))
    assert again.strata == model.strata
    broken = model_to_dict(model)
    broken["strata"][0]["loads"] = broken["strata"][0]["loads"][:1]
    with pytest.raises(InvalidModel, match="is not described for 2 statistics"):
        model_from_dict(broken)
    assert all(
        isinstance(stratum, SampledStratum) and stratum.family == SECRETS[2].named[0] for stratum in again.strata
    )
