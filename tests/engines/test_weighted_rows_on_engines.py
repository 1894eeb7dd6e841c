"""Rows are weighed alike on every engine."""

import pyarrow as pa
import pytest
from tests.spark import Place

import distpriv as dp


def test_weighted_moments_are_the_same_on_every_engine(place: Place, adult: pa.Table) -> None:
    rows = adult.slice(0, 2000)
    query = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
    secrets: list[dp.Mean | dp.Quantile | dp.Correlation] = [
        dp.Mean("hours_per_week", values=(38, 42)),
        dp.Quantile("hours_per_week + 1", 0.5, values=(39, 43)),
        dp.Correlation("age", "education_num", values=(0.0, 0.1)),
    ]
    found = dp.model(place(rows), query, secrets, records=50, reference="population")
    expected = dp.model(rows, query, secrets, records=50, reference="population")
    assert list(found.distributions) == list(expected.distributions)
    for name, law in expected.distributions.items():
        assert found.distributions[name].mean == pytest.approx(law.mean, rel=1e-10)
        assert found.distributions[name].covariance == pytest.approx(law.covariance, rel=1e-9)
    assert found.steps.tolist() == expected.steps.tolist()
