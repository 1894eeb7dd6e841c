"""A reference that may be wrong: secrets are hidden whichever of several references the records are like."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import distpriv as dp
from distpriv.errors import InvalidInput, InvalidModel, InvalidSecret
from distpriv.modelling.given import model_from_dict, model_to_dict
from distpriv.modelling.row_grid import row_grid
from distpriv.workflow.verifying.model_checks import law_problem, moments_problem

QUERY = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
SHARE = dp.Share("income = '>50K'", values=(0.4, 0.5))
MEAN = dp.Mean("hours_per_week", values=(38, 42))
TARGET = dp.PrivacyTarget(epsilon=0.5, delta=1e-2)


def parts(adult: pa.Table) -> tuple[pa.Table, pa.Table]:
    some = adult.slice(0, 6000)
    return tuple(some.filter(pc.equal(some["workclass"], name)) for name in ("Private", "Local-gov"))


def both(adult: pa.Table, secret: Any = SHARE, **options: Any) -> dp.QueryModel:
    one, other = parts(adult)
    return dp.model(one, QUERY, secret, records=60, robust=[other], **{"reference": "population", **options})


@pytest.mark.parametrize("secret", [SHARE, MEAN], ids=["share", "mean"])
def test_laws_are_those_of_each_reference_alone(adult: pa.Table, secret: Any) -> None:
    model = both(adult, secret)
    for suffix, table in zip(("", " / reference 2"), parts(adult), strict=True):
        alone = dp.model(table, QUERY, secret, records=60, reference="population")
        for name, law in alone.distributions.items():
            found = model.distributions[f"{name}{suffix}"]
            np.testing.assert_allclose(found.mean, law.mean, rtol=1e-12)
            np.testing.assert_allclose(found.covariance, law.covariance, rtol=1e-12)


def test_a_protected_pair_is_protected_across_all_references(adult: pa.Table) -> None:
    low, high = SHARE.protected(records=60).scenarios
    pairs = set(both(adult).protected_pairs)
    expected = {
        (f"{a}{one}", f"{b}{other}")
        for a, b in ((low, high), (high, low))
        for one in ("", " / reference 2")
        for other in ("", " / reference 2")
    }
    assert pairs == expected


def test_one_value_under_two_references_is_no_pair(adult: pa.Table) -> None:
    assert not {(a, b) for a, b in both(adult).protected_pairs if a.split(" / ")[0] == b.split(" / ")[0]}


@pytest.mark.parametrize(
    "secret", [pytest.param(SHARE, id="share"), pytest.param(MEAN, id="mean", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("reference", ["population", "sample"])
def test_noise_for_all_references_keeps_its_delta_in_each_of_them(adult: pa.Table, secret: Any, reference: Any) -> None:
    model = both(adult, secret, reference=reference)
    made = dp.mechanisms.certified_gaussian(model, TARGET)
    assert made.certificate.delta <= TARGET.delta
    alone = dp.mechanisms.certified_gaussian(
        dp.model(parts(adult)[0], QUERY, secret, records=60, reference=reference), TARGET
    )
    assert made.noise.expected_rms > alone.noise.expected_rms  # the price
    for first, second in model.protected_pairs:
        laws = [model.distributions[name] for name in (first, second)]
        pair = dp.gaussian_model(
            means={"a": laws[0].mean, "b": laws[1].mean},
            covariances={"a": laws[0].covariance, "b": laws[1].covariance},
            pairs=[("a", "b")],
        )
        assert dp.exact_delta(pair, made.noise, epsilon=TARGET.epsilon) <= TARGET.delta * (1 + 1e-9)


def test_draws_under_another_reference_never_beat_the_certificate(adult: pa.Table) -> None:
    model = both(adult)
    made = dp.mechanisms.certified_gaussian(model, TARGET)
    rng, rows, draws = np.random.default_rng(3), model.rows(), 20_000
    spread = np.linalg.cholesky(made.noise.covariance + 1e-12 * np.eye(2))
    for pair in model.protected_pairs[:4]:
        released = [rows.samples(name, draws, 5) + rng.normal(size=(draws, 2)) @ spread.T for name in pair]
        shift = model.mean_shift(pair)
        middle = np.linalg.solve(made.noise.covariance + model.distributions[pair[0]].covariance, shift)
        scores = [each @ middle for each in released]
        for cut in np.quantile(np.concatenate(scores), np.linspace(0.02, 0.98, 25)):
            caught, wrong = ((score > cut).mean() for score in scores)
            error = 4 * np.sqrt((caught + np.exp(2 * TARGET.epsilon) * wrong) / draws) + 4 / draws
            assert caught - np.exp(TARGET.epsilon) * wrong <= TARGET.delta + error


def test_datasets_of_two_references_are_not_coupled(adult: pa.Table) -> None:
    model = both(adult)
    with pytest.raises(InvalidModel, match="only such pairs can be coupled"):
        model.rows().coupled_samples(
            ("income = '>50K' @ 0.4", "income = '>50K' @ 0.5 / reference 2"), 5, 1, "independent"
        )
    inside = ("income = '>50K' @ 0.4 / reference 2", "income = '>50K' @ 0.5 / reference 2")
    assert len(model.rows().coupled_samples(inside, 5, 1, "independent")[0]) == 5


def test_what_samples_leave_open_is_open_for_each_by_itself(adult: pa.Table) -> None:
    for secret in (SHARE, MEAN):
        model = both(adult, secret, reference="sample")
        assert len({stratum.kind for stratum in model.strata}) == 4
        assert sum("reference 2" in stratum.kind for stratum in model.strata) == 2
    assert len({stratum.family for stratum in model.strata}) == 2


def test_alternatives_that_make_no_sense_are_refused(adult: pa.Table) -> None:
    one, other = parts(adult)
    options: dict[str, Any] = {"records": 60}
    nothing: list[Any] = [[], "other.parquet", [None], True]
    for wrong in nothing:
        with pytest.raises(InvalidSecret, match="robust must be a list of other tables"):
            dp.model(one, QUERY, SHARE, robust=wrong, **options)
    for own in (dp.Scenarios({"a": one, "b": other}), dp.Shift(one, other, values=(0, 0.5))):
        with pytest.raises(InvalidSecret, match="tables of its own"):
            dp.model(one, QUERY, own, robust=[other], **options)
    with pytest.raises(InvalidInput, match="income"):
        dp.model(one, QUERY, SHARE, robust=[other.drop_columns(["income"])], **options)


@pytest.mark.parametrize("secret", [SHARE, MEAN], ids=["share", "mean"])
@pytest.mark.parametrize("weight", [None, "fnlwgt"])
def test_a_model_that_is_written_down_and_read_again_has_nothing_wrong_with_it(
    adult: pa.Table, secret: Any, weight: str | None
) -> None:
    model = both(adult, secret, reference="sample", weight=weight)
    again = model_from_dict(model_to_dict(model))
    assert again.scenarios[f"{next(iter(model.scenarios))} / reference 2"].reference == 2
    assert moments_problem(again, QUERY) is None
    cells = row_grid(both(adult, secret, weight=weight))
    assert law_problem(model_from_dict(model_to_dict(both(adult, secret, weight=weight))), cells) is None
