import numpy as np
import polars as pl
import pytest
from tests.spark import Place

import distpriv as dp
from distpriv.modelling.reference import ReferenceTable

TABLE = pl.DataFrame({"x": [1.0, 2.0, 3.0, 10.0], "word": ["a", "b", "c", "d"], "s": [True, False, True, True]})
QUERY = dp.Query(x=dp.mean("x"), big=dp.count("x > 2"), f=dp.function(len, columns=["word"]))


def test_the_pool_holds_numbers_columns_and_strata(place: Place) -> None:
    pool = ReferenceTable.open(place(TABLE), QUERY, ["s"]).pool
    assert pool.numbers.tolist() == [[1, 2, 3, 10], [0, 0, 1, 1]]
    assert pool.columns["word"].tolist() == ["a", "b", "c", "d"]
    assert pool.positions("s").tolist() == [0, 2, 3]
    assert pool.positions("s", satisfied=False).tolist() == [1]
    assert pool.positions(None).tolist() == [0, 1, 2, 3]


def test_moments_by_stratum_are_numpys_and_a_single_row_has_no_variance(place: Place) -> None:
    table = ReferenceTable.open(place(TABLE), QUERY, ["s"])
    assert {side: stratum.rows for side, stratum in table.moments(None).items()} == {True: 4}
    moments = table.moments("s")
    x = np.array([1.0, 3.0, 10.0])
    assert moments[True].rows == 3
    assert moments[True].mean.tolist() == pytest.approx([x.mean(), 2 / 3])
    assert moments[True].covariance == pytest.approx(np.cov(x, x > 2))
    assert (moments[True].low.tolist(), moments[True].high.tolist()) == ([1, 0], [10, 1])
    assert moments[False].rows == 1
    assert moments[False].covariance.tolist() == [[0, 0], [0, 0]]


def test_the_probe_of_the_same_table_is_the_same(place: Place) -> None:
    table = place(pl.DataFrame({"x": np.arange(50_000)}))
    one, other = (ReferenceTable.open(table, dp.Query(x=dp.mean("x"))).probe for _ in range(2))
    assert one.size == 10_000
    assert np.array_equal(one.numbers, other.numbers)
