"""Certificates at assurance checked that were false, because two moments are not the law; none is any more."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.checked_law import CheckedLaw
from distpriv.guarantees.exact_delta import exact_delta
from distpriv.guarantees.law_check import checked_law
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.projections import projected_deltas
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import GaussianNoise
from distpriv.releasing.joint import EarlierRelease, EarlierReleases
from distpriv.releasing.stack import stacked

M = dp.mechanisms
ROWS = 3000
CERTIFIED = (M.certified_gaussian, M.certified_laplace)


def groups(rng: np.random.Generator) -> Floats:
    return rng.permutation(np.arange(ROWS) % 2).astype(np.float64)


def modelled(columns: Mapping[str, Floats], statistics: Mapping[str, Any], records: int, **options: Any) -> QueryModel:
    secret = dp.Share("g = 1", values=(0.4, 0.6))
    return dp.model(pa.table(dict(columns)), dp.Query(statistics), secret, records=records, **options)


def near_lattice(records: int) -> QueryModel:
    """Values near multiples of 100; those of one group are 13 higher."""
    rng = np.random.default_rng(1)
    g = groups(rng)
    x = 100 * rng.integers(0, 2, ROWS) + rng.normal(0, 3, ROWS) + 13 * g
    return modelled({"g": g, "x": x}, {"x": dp.total("x")}, records)


def near_lattice_together() -> QueryModel:
    """Three columns, none of them on a lattice, that add up to something near multiples of 50."""
    rng = np.random.default_rng(2)
    g = groups(rng)
    y, w = rng.normal(0, 5, ROWS), rng.normal(0, 8, ROWS)
    residue = 50 * (rng.random(ROWS) < 0.7 - 0.4 * g) + 20 * g  # its mean says nothing of the group
    z = residue - y - w / 2 + rng.normal(0, 1, ROWS)
    return modelled({"g": g, "y": y, "z": z, "w": w}, {name: dp.total(name) for name in "yzw"}, 20)


def round_prices() -> QueryModel:
    """Whole prices in one group, and x.99 in the other."""
    rng = np.random.default_rng(3)
    g = groups(rng)
    price = rng.integers(1, 5, ROWS) - 0.01 * g
    return modelled({"g": g, "p": price}, {"p": dp.mean("p")}, 50)


def rare_rows() -> QueryModel:
    """One or two rows in a hundred decide."""
    rng = np.random.default_rng(4)
    g = groups(rng)
    x = np.where(rng.random(ROWS) < 0.01 * g, 1000.0, 0.0) + rng.normal(0, 1, ROWS)
    return modelled({"g": g, "x": x}, {"x": dp.mean("x")}, 20)


def residue() -> QueryModel:
    """A statistic that an analyst composed so that what is left of it modulo 20 is the secret."""
    income = "20 * CAST(sex = 'Female' AS INT) + CAST(income = '>50K' AS INT) + 0.01 * (age % 7)"
    secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    return dp.model(dp.datasets.adult(), dp.Query(x=dp.mean(income)), secret, records=100)


def few_ages() -> QueryModel:
    secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    return dp.model(dp.datasets.adult(), dp.Query(age=dp.mean("age")), secret, records=20)


BROKEN: dict[str, Callable[[], QueryModel]] = {
    "near a lattice": lambda: near_lattice(20),
    "near a lattice, more rows": lambda: near_lattice(40),
    "near a lattice together": near_lattice_together,
    "round prices": round_prices,
    "rare rows": rare_rows,
    "a residue": residue,
    "few ages": few_ages,
}


@cache
def broken(name: str) -> QueryModel:
    """Return one of these models, made once."""
    return BROKEN[name]()


@pytest.mark.parametrize(
    ("name", "certify"),
    [
        pytest.param(name, certify, marks=[pytest.mark.slow] * (name == "near a lattice together"))
        for name in BROKEN
        for certify in CERTIFIED
    ],
)
def test_no_combination_contradicts_a_certificate(
    name: str, certify: Callable[[QueryModel, dp.PrivacyTarget], AdditiveMechanism]
) -> None:
    model = broken(name)
    target = dp.PrivacyTarget(epsilon=1.0, delta=1e-3)
    mechanism = certify(model, target)
    assert mechanism.certificate.holds_at("checked")
    rows = model.rows().row_laws()
    rng = np.random.default_rng(0)
    for direction in (*np.eye(model.dimension), *rng.normal(size=(5, model.dimension)), np.ones(model.dimension)):
        told = projected_deltas(model, rows, mechanism.noise, 1.0, direction)
        assert told.max() <= mechanism.certificate.delta + 1e-12


@pytest.mark.parametrize("name", ["near a lattice", "near a lattice together"])
def test_moments_alone_would_have_let_them_through(name: str) -> None:
    model, target = broken(name), dp.PrivacyTarget(epsilon=1.0, delta=1e-3)
    blind = M.certified_gaussian(evolve(model, simulator=None), target)
    assert blind.certificate.holds
    assert blind.certificate.assurance == "assumed"  # without rows nothing vouches for sums over them
    seen = checked_law(model, blind.noise, target, model.protected_pairs[0], 1e-3)
    assert seen.projected > 1.5e-3


@pytest.mark.slow
def test_the_certificate_says_what_was_found() -> None:
    model, target = broken("near a lattice together"), dp.PrivacyTarget(epsilon=1, delta=1e-3)
    certificate = M.certified_gaussian(model, target).certificate
    said = next(a for a in certificate.assumptions if "as good as Gaussian" in a.statement)
    assert said.status == "checked"
    assert "the exact law of" in said.evidence
    assert "repeats every 5" in said.evidence
    assert certificate.law is not None
    assert 0 < certificate.law.ripple < 1e-3
    assert Certificate.from_dict(certificate.to_dict()) == certificate


def test_assurance_falls_where_a_mechanism_does_not_smooth_what_repeats() -> None:
    model = broken("near a lattice together")
    noise = GaussianNoise.along(np.eye(3), model.floor**2)
    found = M.expected_value_gaussian(model, dp.PrivacyTarget(epsilon=60, delta=0.5))
    assert found.noise.expected_rms < 3 * noise.expected_rms
    assert found.certificate.assurance == "assumed"


def test_given_moments_have_no_rows_to_look_at() -> None:
    model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    certificate = M.certified_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=1e-3)).certificate
    assert certificate.law is None
    assert certificate.assumptions[0].status == "assumed"


def test_the_exact_law_of_one_number_is_not_far_from_the_bell_curve_for_many_rows() -> None:
    rng = np.random.default_rng(5)
    g = groups(rng)
    model = modelled({"g": g, "x": rng.normal(g, 1)}, {"x": dp.mean("x")}, 400, replacement=True)
    mechanism = M.certified_gaussian(model, dp.PrivacyTarget(epsilon=0.5, delta=1e-2))
    law = mechanism.certificate.law
    assert law is not None
    assert law.projected == pytest.approx(exact_delta(model, mechanism, epsilon=0.5), rel=0.03)


def test_the_price_on_the_papers_model_is_small(adult: pa.Table, paper_query: dp.Query) -> None:
    secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    model = dp.model(adult, paper_query, secret, records=100)
    law = M.certified_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=1e-3)).certificate.law
    assert law is not None
    assert law.peak is None
    assert law.projected < 1e-3


def test_what_was_found_is_written_down_and_read_again() -> None:
    law = CheckedLaw(
        ripple=1e-5,
        peak=(0.1, 0.2),
        missed=1e-4,
        projected=0.3,
        combination=(1.0, 0.0),
        total_variation=0.4,
        combinations=9,
        second_order=0.2,
        gate=1e-3,
    )
    assert CheckedLaw.from_dict(law.to_dict()) == law
    alone = CheckedLaw(
        ripple=0.5,
        peak=(0.1,),
        missed=0,
        projected=0.3,
        combination=(1.0,),
        total_variation=0.4,
        combinations=1,
    )
    assert CheckedLaw.from_dict(alone.to_dict()) == alone
    assert alone.is_smooth  # the exact law of the only number knows every ripple


def test_two_releases_leak_no_residue_together() -> None:
    query = dp.Query(x=dp.mean("20 * CAST(sex = 'Female' AS INT) + CAST(income = '>50K' AS INT) + 0.1 * age"))
    secret, target = dp.Share("income = '>50K'", values=(0.45, 0.55)), dp.PrivacyTarget(epsilon=1, delta=1e-2)
    rows = dp.datasets.adult().slice(0, 3000)
    model = dp.model(rows, query, secret, records=100)
    asked = dp.Query(age=dp.mean("age"))
    first = M.certified_gaussian(dp.model(rows, asked, secret, records=100), target)
    earlier = EarlierReleases(releases=(EarlierRelease(query=asked, noise=first.noise),), total=target)
    mechanism, joint = earlier.calibrated(model, M.certified_gaussian(model, target), "checked")
    assert joint.holds_at("checked")
    assert joint.law is not None
    whole = earlier.stack(model)
    noise = stacked([first.noise, mechanism.noise])
    for direction in ([-0.1, 1.0], [0.1, 1.0], [1.0, 0.0], [0.0, 1.0]):
        told = projected_deltas(whole, whole.rows().row_laws(), noise, 1.0, np.array(direction))
        assert told.max() <= joint.delta + 1e-12
