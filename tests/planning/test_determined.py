"""What determines the protected share is named, whatever its scale; what only follows it is not."""

import pyarrow as pa

import distpriv as dp
from distpriv.planning.determined import constant_conditions, determining

ROWS = pa.table({"base": [1, 2] * 50, "code": ["a", "b"] * 50, "age": [20 + k % 7 + k % 2 for k in range(100)]})
SECRET = dp.Share("base = 2", values=(0.4, 0.6))


def test_a_statistic_that_is_the_share_on_another_scale_determines_it() -> None:
    query = dp.Query(base=dp.mean("base"), other=dp.count("code = 'a'"), age=dp.mean("age"))
    assert determining(dp.model(ROWS, query, SECRET, records=20)) == {"base": "base = 2", "other": "base = 2"}


def test_nothing_determines_the_share_where_its_strata_overlap() -> None:
    query = dp.Query(age=dp.mean("age"), old=dp.count("age > 22"))
    assert determining(dp.model(ROWS, query, SECRET, records=20)) == {}


def test_a_condition_of_no_or_of_every_reference_row_is_named() -> None:
    query = dp.Query(none=dp.count("code = 'A'"), all=dp.proportion("age > 0"), some=dp.count("age > 22"))
    assert list(constant_conditions(dp.model(ROWS, query, SECRET, records=20))) == ["none", "all"]


def test_a_model_without_rows_has_nothing_to_tell() -> None:
    model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    assert determining(model) == {}
