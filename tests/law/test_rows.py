import numpy as np
import pytest

from distpriv.law.rows import quantised
from distpriv.modelling.row_laws import RowLaws


@pytest.mark.parametrize("statistics", [2, 5])
def test_kinds_of_rows_keep_mean_and_covariance_and_influential_rows(statistics: int) -> None:
    rng = np.random.default_rng(0)
    values = rng.gamma(2.0, size=(20_000, statistics)) * 10.0 ** np.arange(statistics)
    values[7, 0] += 500.0
    (found,) = quantised(RowLaws(strata=(values,), drawn={"a": {0: 9}}, replacement=True))
    assert len(found.values) < 2000
    assert found.counts.sum() == pytest.approx(len(values))
    np.testing.assert_allclose(found.mean, values.mean(axis=0))
    weights = found.counts / found.counts.sum()
    units = values.std(axis=0)
    np.testing.assert_allclose(weights @ found.values / units, 0.0, atol=1e-9)
    covariance = (found.values.T * weights) @ found.values + found.inside
    np.testing.assert_allclose(covariance / np.outer(units, units), np.corrcoef(values.T), atol=2e-3)
    farthest = np.abs(found.values[:, 0]).argmax()
    assert found.counts[farthest] == 1
    assert found.values[farthest, 0] + found.mean[0] == pytest.approx(values[7, 0], rel=0.02)


def test_weights_say_how_many_rows_a_kind_stands_for() -> None:
    (found,) = quantised(
        RowLaws(strata=(np.array([[1.0], [3.0], [1.0], [1.0]]),), drawn={"a": {0: 9}}, replacement=True)
    )
    assert sorted(zip(found.values.ravel().round(3), found.counts, strict=True)) == [(-0.5, 3.0), (1.5, 1.0)]
