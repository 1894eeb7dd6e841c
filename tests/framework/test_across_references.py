"""A reference that may be wrong: secrets are hidden whichever of several references the records are like."""

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from attrs import evolve

import distpriv as dp
from distpriv.errors import InvalidInput, InvalidModel, InvalidSecret

QUERY = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
SHARE = dp.Share("income = '>50K'", values=(0.4, 0.5))
MEAN = dp.Mean("hours_per_week", values=(38, 42))
TARGET = dp.PrivacyTarget(epsilon=0.5, delta=1e-2)
SUFFIXES = ("", " / reference 2")


@pytest.fixture(scope="module")
def parts() -> tuple[pa.Table, pa.Table]:
    some = dp.datasets.adult().slice(0, 6000)
    private, local = (some.filter(pc.equal(some["workclass"], name)) for name in ("Private", "Local-gov"))
    return private, local


def both(parts: tuple[pa.Table, pa.Table], secret: Any = SHARE, **options: Any) -> dp.QueryModel:
    options = {"reference": "population", **options}
    return dp.model(parts[0], QUERY, secret, records=60, robust=[parts[1]], **options)


@pytest.mark.parametrize("secret", [SHARE, MEAN], ids=["share", "mean"])
def test_laws_are_those_of_each_reference_alone(parts: tuple[pa.Table, pa.Table], secret: Any) -> None:
    model = both(parts, secret)
    for suffix, table in zip(SUFFIXES, parts, strict=True):
        alone = dp.model(table, QUERY, secret, records=60, reference="population")
        for name, law in alone.distributions.items():
            np.testing.assert_allclose(model.distributions[f"{name}{suffix}"].mean, law.mean, rtol=1e-12)
            np.testing.assert_allclose(model.distributions[f"{name}{suffix}"].covariance, law.covariance, rtol=1e-12)


def test_a_pair_is_protected_across_all_references_and_one_value_under_two_is_none(
    parts: tuple[pa.Table, pa.Table],
) -> None:
    low, high = SHARE.protected(records=60).scenarios
    expected = {(f"{a}{s}", f"{b}{t}") for a, b in ((low, high), (high, low)) for s, t in product(SUFFIXES, repeat=2)}
    assert set(both(parts).protected_pairs) == expected


@pytest.mark.parametrize(
    "secret", [pytest.param(SHARE, id="share"), pytest.param(MEAN, id="mean", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("reference", ["population", "sample"])
def test_noise_for_all_references_keeps_its_delta_in_each_of_them(
    parts: tuple[pa.Table, pa.Table], secret: Any, reference: Any
) -> None:
    model = both(parts, secret, reference=reference)
    made = dp.mechanisms.certified_gaussian(model, TARGET)
    assert made.certificate.delta <= TARGET.delta
    alone = dp.mechanisms.certified_gaussian(dp.model(parts[0], QUERY, secret, records=60, reference=reference), TARGET)
    assert made.noise.expected_rms > alone.noise.expected_rms  # the price
    for pair in model.protected_pairs:
        of_pair = evolve(model, protected_pairs=(pair, pair[::-1]))
        assert dp.exact_delta(of_pair, made.noise, epsilon=TARGET.epsilon) <= TARGET.delta * (1 + 1e-9)


def test_draws_under_another_reference_never_beat_the_certificate(parts: tuple[pa.Table, pa.Table]) -> None:
    model = both(parts)
    made = dp.mechanisms.certified_gaussian(model, TARGET)
    rng, rows, draws = np.random.default_rng(3), model.rows(), 20_000
    spread = np.linalg.cholesky(made.noise.covariance + 1e-12 * np.eye(2))
    for pair in model.protected_pairs[:4]:
        released = [rows.samples(name, draws, 5) + rng.normal(size=(draws, 2)) @ spread.T for name in pair]
        covariance = made.noise.covariance + model.distributions[pair[0]].covariance
        middle = np.linalg.solve(covariance, model.mean_shift(pair))
        scores = [values @ middle for values in released]
        for cut in np.quantile(np.concatenate(scores), np.linspace(0.02, 0.98, 25)):
            caught, wrong = ((score > cut).mean() for score in scores)
            error = 4 * np.sqrt((caught + np.exp(2 * TARGET.epsilon) * wrong) / draws) + 4 / draws
            assert caught - np.exp(TARGET.epsilon) * wrong <= TARGET.delta + error


def test_datasets_of_two_references_are_not_coupled(parts: tuple[pa.Table, pa.Table]) -> None:
    rows, (low, high) = both(parts).rows(), SHARE.protected(records=60).scenarios
    with pytest.raises(InvalidModel, match="only such pairs can be coupled"):
        rows.coupled_samples((low, f"{high} / reference 2"), 5, 1, "independent")
    inside = f"{low} / reference 2", f"{high} / reference 2"
    assert len(rows.coupled_samples(inside, 5, 1, "independent")[0]) == 5


@pytest.mark.parametrize(("secret", "families"), [(SHARE, 1), (MEAN, 2)], ids=["share", "mean"])
def test_what_samples_leave_open_is_open_for_each_by_itself(
    parts: tuple[pa.Table, pa.Table], secret: Any, families: int
) -> None:
    strata = both(parts, secret, reference="sample").strata
    assert len({stratum.kind for stratum in strata}) == 4
    assert sum("reference 2" in stratum.kind for stratum in strata) == 2
    assert len({stratum.family for stratum in strata}) == families


def test_alternatives_that_make_no_sense_are_refused(parts: tuple[pa.Table, pa.Table]) -> None:
    one, other = parts
    nothing: list[Any] = [[], "other.parquet", [None], True]
    for wrong in nothing:
        with pytest.raises(InvalidSecret, match="robust must be a list of other tables"):
            dp.model(one, QUERY, SHARE, records=60, robust=wrong)
    for own in (dp.Scenarios({"a": one, "b": other}), dp.Shift(one, other, values=(0, 0.5))):
        with pytest.raises(InvalidSecret, match="tables of its own"):
            dp.model(one, QUERY, own, records=60, robust=[other])
    with pytest.raises(InvalidInput, match="income"):
        dp.model(one, QUERY, SHARE, records=60, robust=[other.drop_columns(["income"])])
