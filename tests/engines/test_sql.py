import numpy as np
import pyarrow as pa
import pytest

from distpriv.engines.engine import engine_for
from distpriv.engines.expressions import parse_expression
from distpriv.engines.sql import RowSelect

TABLE = pa.table({"x": [1.0, float("nan"), 3.0, None], "y": [1, 2, None, 4], "z": [True, False, True, True]})


def select(*, drop_missing: bool = False, numbers: tuple[str, ...] = ("x + y",)) -> RowSelect:
    names = TABLE.column_names
    return RowSelect(
        dialect="duckdb",
        numbers=tuple(parse_expression(text, names, where="n") for text in numbers),
        predicates=(parse_expression("z", names, where="p"),),
        columns=("y",),
        floating=frozenset(["x"]),
        drop_missing=drop_missing,
    )


def test_missing_counts_nulls_and_nan_by_column_and_by_expression() -> None:
    row = engine_for(TABLE).select(select().missing()).to_pylist()[0]
    assert select().required_columns == ("x", "y", "z")
    assert row == {"n": 4, "missing0": 2, "missing1": 1, "missing2": 0, "missing3": 2, "missing4": 0}


def test_dropping_leaves_only_rows_that_are_complete() -> None:
    rows = engine_for(TABLE).select(select(drop_missing=True).rows())
    assert rows.to_pylist() == [{"v0": 2.0, "p0": True, "c0": 1}]


def test_guarded_columns_are_not_required() -> None:
    assert select(numbers=("coalesce(x, 0)",)).required_columns == ("y", "z")


def test_moments_are_numpys_whatever_the_shift() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=50) + 1e6, rng.integers(0, 9, 50)
    table = pa.table({"x": x, "y": y, "z": y > 4})
    built = RowSelect(
        dialect="duckdb", numbers=tuple(parse_expression(c, ["x", "y", "z"], where="") for c in ("x", "y"))
    )
    predicate = parse_expression("z", ["x", "y", "z"], where="")
    for stratum in engine_for(table).select(built.moments([1e6, 4.0], predicate)).to_pylist():
        inside = (y > 4) == stratum["stratum"]
        assert stratum["n"] == inside.sum()
        assert stratum["unusable"] == 0
        assert stratum["m0"] + 1e6 == pytest.approx(x[inside].mean(), rel=1e-14)
        assert stratum["s0_1"] == pytest.approx(np.cov(x[inside], y[inside])[0, 1], rel=1e-9)
        assert stratum["low1"] + 4 == y[inside].min()
