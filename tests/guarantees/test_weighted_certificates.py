"""Certificates of mean, quantile and correlation secrets, held against laws that are computed another way."""

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.modelling.row_laws import RowLaws, StratumRows
from distpriv.modelling.utility import OBJECTIVES

RECORDS = 100


def weights_for_mean(values: Floats, wanted: float) -> Floats:
    """Found by bisection, not by Newton's method."""
    centred = (values - values.mean()) / values.std()
    low, high = -50.0, 50.0
    for _ in range(200):
        middle = (low + high) / 2
        grown = np.exp(middle * centred - np.abs(middle * centred).max())
        if grown @ values / grown.sum() < wanted:
            low = middle
        else:
            high = middle
    return np.asarray(grown / grown.sum())


def exact_delta_by_transform(
    columns: list[Floats], weights: list[Floats], units: Floats, noise: Floats, epsilon: float
) -> float:
    """δ of two sums of n rows with Gaussian noise: the law on its lattice by a transform in two dimensions."""
    lows = [float(column.min()) for column in columns]
    places = [np.round(column - low).astype(int) for column, low in zip(columns, lows, strict=True)]
    sizes = [
        int(2 ** np.ceil(np.log2(2 * RECORDS * place.max() + 8 * deviation)))
        for place, deviation in zip(places, np.sqrt(np.diag(noise)) / units, strict=True)
    ]
    # A narrow window: sums are a few deviations about their mean, and what is outside wraps around, the same for both.
    spreads = [
        np.sqrt(RECORDS * column.var() * 2 + spread / unit**2)
        for column, spread, unit in zip(columns, np.diag(noise), units, strict=True)
    ]
    sizes = [
        min(size, int(2 ** np.ceil(np.log2(24 * spread + 64)))) for size, spread in zip(sizes, spreads, strict=True)
    ]
    t = [2 * np.pi * np.fft.fftfreq(size) for size in sizes]
    own = noise / np.outer(units, units)
    square = sum(
        own[a, b] * (t[a][:, None] if a == 0 else t[a][None]) * (t[b][:, None] if b == 0 else t[b][None])
        for a in range(2)
        for b in range(2)
    )
    hidden = np.exp(-square / 2)
    laws = []
    for each in weights:
        one = np.zeros(sizes)
        np.add.at(one, (places[0] % sizes[0], places[1] % sizes[1]), each)
        laws.append(np.fft.ifft2(np.fft.fft2(one) ** RECORDS * hidden).real)
    return max(float(np.maximum(a - np.exp(epsilon) * b, 0).sum()) for a, b in (laws, laws[::-1]))


def numbers(adult: pa.Table, name: str) -> Floats:
    return np.asarray(adult[name].to_numpy(), dtype=float)


@pytest.mark.slow
def test_certificates_of_hours_are_those_of_the_exact_law(adult: pa.Table) -> None:
    query = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
    secret = dp.Mean("hours_per_week", values=(38, 42))
    model = dp.model(adult, query, secret, records=RECORDS, reference="population")
    target = dp.PrivacyTarget(epsilon=0.5, delta=0.01)
    hours, women = numbers(adult, "hours_per_week"), (np.array(adult["sex"].to_pylist()) == "Female").astype(float)
    weights = [weights_for_mean(hours, wanted) for wanted in (38.0, 42.0)]
    columns = [numbers(adult, "age"), women]
    for objective in OBJECTIVES:
        mechanism = dp.mechanisms.certified_gaussian(model, target, objective=objective)
        assert mechanism.certificate.holds
        assert mechanism.certificate.assurance == "checked"
        exact = exact_delta_by_transform(
            columns, weights, np.array([1 / RECORDS, 1.0]), mechanism.noise.covariance, target.epsilon
        )
        assert 0.9 * mechanism.certificate.delta <= exact <= mechanism.certificate.delta


@pytest.mark.slow
def test_certificates_of_a_correlation_are_those_of_the_exact_law(adult: pa.Table) -> None:
    query = dp.Query(age=dp.mean("age"), education=dp.mean("education_num"))
    secret = dp.Correlation("age", "education_num", values=(0.0, 0.1))
    model = dp.model(adult, query, secret, records=RECORDS, reference="population")
    for name, wanted in zip(model.distributions, (0.0, 0.1), strict=True):
        covariance = model.distributions[name].covariance
        assert covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]) == pytest.approx(wanted, abs=1e-9)
    target = dp.PrivacyTarget(epsilon=0.02, delta=0.01)
    mechanism = dp.mechanisms.certified_gaussian(model, target)
    assert mechanism.certificate.holds
    rows = model.rows()
    weights = [np.asarray(rows.strata(name)[0].weights) for name in model.distributions]
    exact = exact_delta_by_transform(
        list(rows.pool(model.protected_pairs[0][0]).numbers),
        weights,
        np.full(2, 1 / RECORDS),
        mechanism.noise.covariance,
        target.epsilon,
    )
    assert 0.8 * mechanism.certificate.delta <= exact <= mechanism.certificate.delta
    without = dp.exact_delta(model, 1e-6 * np.eye(2), epsilon=target.epsilon)
    assert without > target.delta


@pytest.mark.slow
def test_attacks_on_weighted_rows_stay_below_what_is_certified(adult: pa.Table) -> None:
    query = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"), hours=dp.mean("hours_per_week"))
    secret = dp.Mean("hours_per_week", values=(38, 42))
    model = dp.model(adult, query, secret, records=RECORDS, reference="population")
    plan = dp.plan(model, dp.PrivacyTarget(epsilon=0.5, delta=0.01), mechanisms=["certified_gaussian"])
    report = dp.audit(plan, releases=4000, seed=1)
    assert not report.failed
    assert report.attacks[0].undefended.accuracy > 0.9
    assert report.attacks[0].accuracy < 0.66


def test_a_check_that_forgets_weights_would_certify_something_else(adult: pa.Table) -> None:
    """Rows without their weights have the same law in both scenarios: nothing would be left to hide."""
    query, secret = dp.Query(hours=dp.mean("hours_per_week")), dp.Mean("hours_per_week", values=(38, 42))
    model = dp.model(adult.slice(0, 4000), query, secret, records=RECORDS, reference="population")
    laws = model.rows().row_laws()
    forgotten = evolve(laws, strata=tuple(StratumRows(values=rows.values) for rows in laws.strata))
    assert isinstance(forgotten, RowLaws)
    t = np.array([0.5])
    assert len({complex(phase) for phase in forgotten.phases(t).values()}) == 1
    assert len({complex(phase) for phase in laws.phases(t).values()}) == 2
