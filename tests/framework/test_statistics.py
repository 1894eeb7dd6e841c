import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import distpriv as dp
from distpriv.errors import InvalidQuery
from distpriv.framework.statistics import Quantile

datasets = hnp.arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(2, 9)), elements=st.floats(-1e3, 1e3))


@given(datasets, st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.77, 1.0]))
def test_quantiles_are_numpys(rows: np.ndarray, level: float) -> None:
    ours = Quantile(expression="x", level=level).evaluate(rows)
    np.testing.assert_allclose(ours, np.quantile(rows, level, axis=1), rtol=1e-9, atol=1e-9)


@given(datasets)
def test_means_totals_and_variances_are_numpys(rows: np.ndarray) -> None:
    np.testing.assert_allclose(dp.mean("x").evaluate(rows), rows.mean(axis=1))
    np.testing.assert_allclose(dp.total("x").evaluate(rows), rows.sum(axis=1), atol=1e-9)
    np.testing.assert_allclose(dp.variance("x").evaluate(rows), rows.var(axis=1, ddof=1))


@given(
    hnp.arrays(np.int64, st.integers(2, 9), elements=st.integers(-20, 20)),
    hnp.arrays(np.int64, st.integers(2, 9), elements=st.integers(-20, 20)),
    st.sampled_from([1.0, 0.5, 3.0]),
)
def test_values_differ_by_multiples_of_the_step(a: np.ndarray, b: np.ndarray, resolution: float) -> None:
    size = min(len(a), len(b))
    for statistic in (dp.mean("x"), dp.total("x"), dp.variance("x"), dp.quantile("x", 0.0), dp.quantile("x", 1.0)):
        (step,) = statistic.steps(size, [resolution])
        gap = float(statistic.evaluate(a[:size] * resolution) - statistic.evaluate(b[:size] * resolution)) / step
        assert gap == pytest.approx(round(gap), abs=1e-6)


def test_a_computed_level_of_a_quantile_is_taken_for_what_it_means() -> None:
    rows = np.arange(100.0)
    assert float(dp.quantile("x", 1 / 3).evaluate(rows)) == 33.0
    assert float(dp.quantile("x", 0.1 + 0.2).evaluate(np.arange(11.0))) == 3.0


def test_one_record_has_no_variance() -> None:
    with pytest.raises(InvalidQuery, match="at least 2 records"):
        dp.variance("x").evaluate(np.zeros((3, 1)))
