"""Claims about expressions that were false once, each with what broke it."""

import pyarrow as pa
import pytest

from distpriv.engines.engine import engine_for
from distpriv.engines.expressions import parse_expression
from distpriv.engines.sql import RowSelect
from distpriv.engines.total import TotalTable
from distpriv.errors import InvalidExpression

NAMES = ["x", "y"]


def written(text: str) -> str:
    select = RowSelect(dialect="duckdb", numbers=(parse_expression(text, NAMES, where="here"),))
    return " ".join(select.missing_tests.values())


@pytest.mark.parametrize("part", [" / y", " + 1 / y", " * sqrt(y)"])
def test_what_is_run_is_as_long_as_the_expression_and_not_as_its_square(part: str) -> None:
    """Every division was written out again with all that it divides: 599 characters took 17 seconds."""
    short, long = (len(written("x" + part * times)) for times in (20, 40))
    assert long < 2.2 * short


def test_an_expression_is_no_way_to_keep_an_engine_busy() -> None:
    for text in ("x" + " / y" * 150, "x" + " + y" * 5000, "(" * 300 + "x" + ")" * 300):
        with pytest.raises(InvalidExpression, match="write it with at most"):
            parse_expression(text, NAMES, where="statistic 'a'")
    nested = "x"
    for _ in range(20):
        nested = f"y / ({nested})"
    expression = parse_expression(nested, NAMES, where="statistic 'a'")
    assert expression.sql("duckdb").count("/") == 20
    with pytest.raises(InvalidExpression, match="nest fewer of them"):
        expression.sql("spark")  # which would be a million divisions


def test_nothing_that_is_nan_is_lost_by_looking_at_the_outermost_part_only() -> None:
    table = pa.table({"x": [0.0, 1.0, 4.0], "y": [0.0, 0.0, 2.0]})
    for text, missing in {
        "1 + x / y * 2 > 3": 1,
        "case when x / y > 1 then 1 else 0 end": 1,
        "greatest(x / y, 1) > 0": 1,
        "pow(x / y, 0) > 0": 1,
        "coalesce(ln(-x), 1) > 0": 2,
        "-(sqrt(-x)) > 1": 2,
    }.items():
        select = RowSelect(
            dialect="duckdb",
            numbers=(),
            predicates=(parse_expression(text, NAMES, where="here"),),
            floating=frozenset(),
        )
        counts = engine_for(table).select(select.missing()).to_pylist()[0]
        assert list(counts.values())[-1] == missing, text


@pytest.mark.parametrize(
    "text",
    [
        "cast(x as integer) in (1, 2)",
        "cast(x as integer) between 1 and 2",
        "nullif(cast(x as integer), 1)",
        "cast(x as integer) = 1 or cast(x as integer) = 2",
        "coalesce(cast(x as integer), 5)",
        "case when cast(x as integer) in (1, 3) then 1 else 0 end",
        "cast(cast(x as integer) + 125 as tinyint)",
        "year(cast(x as date))",
        "1 // cast(x as integer)",
    ],
)
def test_try_is_around_all_of_an_expression(text: str) -> None:
    """DuckDB's optimiser moves parts that occur twice out of TRY, and they fail for all rows."""
    table = TotalTable.of({"x": pa.array(["1", "a", None, "3"] * 700)}, pa.schema({"x": pa.string()}), 2800)
    assert len(table.values(parse_expression(text, ["x"], where="here"))) == 2800
