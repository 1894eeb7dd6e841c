from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from distpriv.engines.expressions import parse_expression
from distpriv.engines.total import TotalTable, fits, lenient_engine, raw_columns


def test_columns_have_the_expected_types_and_nothing_where_that_cannot_be() -> None:
    expected = pa.schema(
        {"a": pa.int8(), "b": pa.float64(), "c": pa.decimal128(5, 2), "d": pa.string(), "e": pa.date32()}
    )
    raw = {
        "a": pa.array([1.6, 300.0, None]),
        "b": pa.array(["1e3", "nan", "x"]),
        "c": pa.array([1, 10**9, 3]),
        "d": pa.array([1, 2, None]),
        "e": pa.array(["2026-01-31", "31st", None]),
    }
    columns = TotalTable.of(raw, expected, 3).columns
    assert columns.select(expected.names).schema.types == expected.types
    assert columns["a"].to_pylist() == [2, 127, None]  # the last number of its type
    assert columns["b"].to_pylist() == [1000.0, None, None]
    assert columns["c"].to_pylist() == [Decimal("1.00"), Decimal("999.99"), Decimal("3.00")]
    assert columns["d"].to_pylist() == ["1", "2", None]
    assert [None if day is None else day.isoformat() for day in columns["e"].to_pylist()] == ["2026-01-31", None, None]


def test_rows_that_fail_all_the_same_are_found_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = TotalTable._select

    def fails_on_seven(self: TotalTable, sql: str, rows: pa.Table) -> Any:
        if 7 in rows["x"].to_pylist():
            raise duckdb.OutOfRangeException("7")
        return plain(self, sql, rows)

    monkeypatch.setattr(TotalTable, "_select", fails_on_seven)
    table = TotalTable.of({"x": pa.array(range(50))}, pa.schema({"x": pa.int64()}), 50)
    found = table.values(parse_expression("x + 1", ["x"], where=""))
    assert np.flatnonzero(np.isnan(found)).tolist() == [7]
    assert np.delete(found, 7).tolist() == [k + 1 for k in range(50) if k != 7]


def test_an_expression_that_does_not_fit_the_types_fails_before_any_row_is_read() -> None:
    table = TotalTable.of({"x": pa.array(["a"])}, pa.schema({"x": pa.string()}), 1)
    with pytest.raises(duckdb.BinderException):
        table.values(parse_expression("sqrt(x) + year(x)", ["x"], where=""))


@pytest.mark.parametrize(
    ("found", "expected", "can"),
    [
        (pa.int8(), pa.float64(), True),
        (pa.bool_(), pa.int64(), True),
        (pa.null(), pa.int64(), True),
        (pa.large_string(), pa.date32(), True),
        (pa.date32(), pa.timestamp("us"), True),
        (pa.dictionary(pa.int8(), pa.int64()), pa.float64(), True),
        (pa.date32(), pa.int64(), False),
        (pa.float64(), pa.date32(), False),
        (pa.list_(pa.int64()), pa.int64(), False),
        (pa.list_(pa.int64()), pa.list_(pa.int64()), True),
    ],
)
def test_types_that_can_hold_the_same_values_fit(found: pa.DataType, expected: pa.DataType, can: bool) -> None:
    assert fits(found, expected) == can


def test_a_pandas_table_is_read_whatever_its_columns_hold() -> None:
    frame = pd.DataFrame({"a": [1, "x", None], 3: [1.5, None, 2.5]})
    assert {name: column.to_pylist() for name, column in raw_columns(lenient_engine(frame), ["a", "3"]).items()} == {
        "a": ["1", "x", None],
        "3": [1.5, None, 2.5],
    }
