import numpy as np
import pytest

from distpriv.modelling.representatives import representatives
from distpriv.modelling.row_laws import RowLaws
from distpriv.modelling.stratum_rows import StratumRows


def test_few_rows_that_stand_for_many_have_their_shape_in_nine_dimensions() -> None:
    rng = np.random.default_rng(0)
    values = (rng.random((20_000, 9)) < 0.25) + 0.1 * rng.normal(size=(20_000, 9))
    values[0] = 30.0
    rows = RowLaws(strata=(values,), drawn={"a": {0: 200}}, replacement=True)
    (standing,) = representatives(rows)
    weights, about = standing.counts / standing.counts.sum(), values - values.mean(axis=0)
    assert len(weights) < 3000
    np.testing.assert_allclose(weights @ standing.values, 0, atol=1e-9)
    np.testing.assert_allclose(standing.values.T * weights @ standing.values, np.cov(about.T, bias=True), atol=1e-9)
    third, all_third = weights @ standing.values**3, (about**3).mean(axis=0)
    np.testing.assert_allclose(third, all_third, rtol=0.1)
    assert np.abs(standing.values).max() > 25


def test_units_and_signs_do_not_matter_to_who_stands_for_whom() -> None:
    values = np.random.default_rng(0).exponential(size=(3000, 4))
    units = np.array([1.0, 1e-7, -1e7, -3.0])
    found = [
        representatives(RowLaws(strata=(rows,), drawn={"a": {0: 20}}, replacement=True))[0]
        for rows in (values, values * units)
    ]
    np.testing.assert_allclose(found[1].values / units, found[0].values, rtol=1e-6, atol=1e-9)


def test_rows_of_next_to_no_weight_stand_for_nobody() -> None:
    rng = np.random.default_rng(5)
    many, rare = rng.normal(size=(5000, 4)), 60 * np.eye(4)
    decoys = 70 * np.eye(4)[np.arange(100) % 4] + rng.normal(size=(100, 4))
    weights = np.concatenate([np.ones(5000), np.full(4, 1e-2), np.full(100, 1e-13)])
    rows = StratumRows(values=np.concatenate([many, rare, decoys]), weights=weights / weights.sum())
    (found,) = representatives(RowLaws(strata=(rows,), drawn={"a": {0: 100}}, replacement=True))
    far = np.linalg.norm(found.values, axis=1) > 30
    assert found.counts[far].sum() / found.counts.sum() == pytest.approx(4e-2 / 5000, rel=0.05)


@pytest.mark.parametrize(("rows", "statistics", "farther"), [(2100, 40, 1.0), (3000, 80, 1.0), (1100, 4, 30.0)])
def test_all_rows_are_stood_for_however_many_of_them_are_far_out(rows: int, statistics: int, farther: float) -> None:
    """Of forty statistics every row is six deviations out, and too few were left for so many parts."""
    values = np.random.default_rng(0).normal(size=(rows, statistics))
    values[: rows // 20] *= farther
    (found,) = representatives(RowLaws(strata=(values,), drawn={"a": {0: 20}}, replacement=True))
    assert found.counts.sum() == pytest.approx(rows)
    assert np.isfinite(found.values).all()


def test_so_are_they_where_a_few_have_all_the_weight() -> None:
    values, weights = np.random.default_rng(0).normal(size=(1500, 4)), np.full(1500, 1e-9)
    values[30:] *= 60
    weights[:30] = 1.0
    stratum = StratumRows(values=values, weights=weights / weights.sum())
    (found,) = representatives(RowLaws(strata=(stratum,), drawn={"a": {0: 20}}, replacement=True))
    assert found.counts.sum() == pytest.approx(1500)
