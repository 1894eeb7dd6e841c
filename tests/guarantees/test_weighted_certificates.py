"""Certificates of mean, quantile and correlation secrets, held against laws that are computed another way."""

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve
from tests.guarantees.exact_laws import exact_delta

import distpriv as dp
from distpriv.modelling.row_laws import RowLaws, StratumRows

RECORDS = 100


@pytest.mark.slow
def test_certificates_of_a_correlation_are_those_of_the_exact_law(adult: pa.Table) -> None:
    query = dp.Query(age=dp.mean("age"), education=dp.mean("education_num"))
    secret = dp.Correlation("age", "education_num", values=(0.0, 0.1))
    model = dp.model(adult, query, secret, records=RECORDS, reference="population")
    for name, wanted in zip(model.distributions, (0.0, 0.1), strict=True):
        covariance = model.distributions[name].covariance
        assert covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]) == pytest.approx(wanted, abs=1e-9)
    mechanism = dp.mechanisms.certified_gaussian(model, dp.PrivacyTarget(epsilon=0.02, delta=0.01))
    assert mechanism.certificate.holds
    exact = exact_delta(model, mechanism.noise, 0.02)
    assert 0.8 * mechanism.certificate.delta <= exact <= mechanism.certificate.delta
    assert dp.exact_delta(model, 1e-6 * np.eye(2), epsilon=0.02) > 0.01


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
