"""An expression means the same on Spark as on DuckDB, or it is refused there."""

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.spark import GROUP, on_spark
from tests.workflow.shared import is_one_sentence

from distpriv.engines.engine import SOURCE, Engine, engine_for
from distpriv.engines.expressions import parse_expression
from distpriv.errors import InvalidInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAN, INFINITY = float("nan"), float("inf")
WHEN = dt.datetime(2024, 12, 31, 23, 59, 59)
TABLE = pa.table(
    {
        "k": pa.array(range(8), pa.int32()),
        "i": pa.array([7, -7, 0, 3, -3, None, 100, 1]),
        "j": pa.array([2, 2, 0, -2, -2, 5, 3, None]),
        "x": pa.array([2.5, -2.5, 0.0, 2.675, 1e300, NAN, None, -0.5]),
        "y": pa.array([0.5, 3.5, 0.0, -1.0, 2.0, 1.0, 4.0, INFINITY]),
        "z": pa.array([1.005, 2.5, 3.5, -1.115, 0.285, 1234.5675, -0.5, 45.0]),
        "h": pa.array([Decimal(d) for d in ("1.5", "2.5", "-0.5", "-1.5", "0.4", "3.49", "3.50", "9.99")]),
        "f": pa.array([0.1, 2.5, 3.5, -1.5, 16777216.0, NAN, None, 1.1], pa.float32()),
        "t": pa.array(["abc", "A_b%c", " pad ", "12", "1.5", "été", None, "O'Br\\ien"]),
        "u": pa.array(["ABC", "abc", "pad", "12.0", "1e3", "Été", "x", ""]),
        "w": pa.array(["1", "2.5", "x", "3", "nan", "-inf", " 7 ", "1e3"]),
        "odd": pa.array(["1d", "2.5f", "x", "3", "1_000", "0x10", "7", "2024"]),
        "b": pa.array([True, False, True, False, None, True, False, True]),
        "d": pa.array([dt.date(2024, 2, 29), dt.date(1969, 12, 31), dt.date(1582, 10, 10), dt.date(1, 1, 1),
                       dt.date(9999, 12, 31), None, dt.date(1900, 3, 1), dt.date(2000, 1, 1)]),
        "ts": pa.array([WHEN, WHEN.replace(year=1899), None, WHEN.replace(year=1969, microsecond=999999),
                        dt.datetime(1970, 1, 1), dt.datetime(2024, 3, 31, 2, 30), WHEN, dt.datetime(2000, 6, 15)]),
        "a.b": range(8), "Some Name": range(8), "q`t": range(8), 'd"q': range(8), "Ünï": range(8), "${HOME}": range(8),
    }
)  # fmt: skip

SAME = [
    # numbers
    "i + j", "i * j", "-i", "i % 2", "-7 % 3", "x % 2", "h % 1", "i // 2", "-7 // 2", "i / 2", "i / j", "i / 0",
    "x / y", "h / 3", "h / j", "1 / 3", "1.0 / 3", "0.1 + 0.2 = 0.3", "h * 1.5", "h + i", "h + z", "h = 2.5",
    "h > 1.499",
    "round(z)", "round(z, 2)", "round(z, 1)", "round(z, -1)", "round(h, 1)", "round(h)", "round(i, -1)",
    "round(2.675, 2)",
    "ceil(z)", "floor(z)", "ceil(h)", "floor(i)", "abs(z)", "abs(h)", "sign(i)", "sqrt(y)", "pow(i, 2)", "i ** 2",
    "log(y)", "log10(y)", "log(2, y)", "log2(y)", "ln(y)", "ln(i)", "f", "cast(f as double) > 0.1", "f is null",
    "greatest(x, y)", "least(i, j)", "greatest(i, 0.5)", "least(i / 2, 1)", "nullif(x, 0)", "nullif(i / j, 3.5)",
    "coalesce(x, 0)", "coalesce(i, 0.5)", "coalesce(i / 2, 0)", "abs(z - 1) / (i - i)",
    # comparisons
    "x = x", "x > 1e308", "x > y", "x <> x", "x is null", "x between 0 and 5", "i in (7, null)", "i not in (7, null)",
    "i in (1, 2.5)", "i / 2 in (3.5, 0)", "i = 7.0", "i = '7'", "i > '1'", "not i = 7", "i <> 7", "i == 7",
    "b and i > 0", "b or i > 0", "not b", "b is true", "b is not true", "b = true", "b > false", "false and null",
    "case when i / j > 1 then 'a' else 'b' end", "case i when 7 then 1.5 else 0 end", "case when b then i else x end",
    # casts
    "cast(h as integer)", "cast(h as bigint)", "cast(2.5 as integer)", "cast(-0.5 as integer)", "cast(z as integer)",
    "try_cast(x as bigint)", "try_cast(i as tinyint)", "cast(b as integer) + 1", "cast(i > 3 as integer)",
    "cast(i as boolean)", "cast(i as varchar)", "cast(h as varchar)", "cast(b as varchar)", "cast(d as varchar)",
    "cast(h as decimal(6, 1))", "try_cast(w as double)", "try_cast(t as double)", "cast(z as double)",
    # text
    "t || u", "t || i", "concat(t, u)", "concat(t, 'x')", "concat(i, 'x')", "substring(t, 1, 2)", "substring(t, 2)",
    "substring(t, -2)", "substring(t, -2, 1)", "substring(t, 1, -1)", "substring(t, 10)", "substring('𝒳éa', 2, 1)",
    r"t like 'A\_b%'", "t like 'A_b%'", r"t like '%\%'", r"t not like '%\%'", r"t like '%\\%'", r"t like 'O''Br\ien'",
    "t like '%''%'", "t like u", r"t ilike 'a\_%'", "t ilike 'a_B%'", "t ilike 'ÉTÉ'", "trim(t)", "ltrim(t)",
    "trim('a' from t)", "length(t)", "length('𝒳é')", "lower(t)", "upper(t)", "starts_with(t, 'a')",
    "starts_with(t, '')",
    r"t = 'O''Br\ien'", r"'a\nb'", r"'\\'", "'a\"b'", "'$x ${y} ${env:HOME}'", "t < u", "t > 'a'", "u = 'abc '",
    "t in ('abc', 'x')", "'a' < 'B'",
    # dates
    "year(d)", "month(d)", "day(d)", "year(ts)", "month(ts)", "day(ts)", "d > '2000-01-01'", "d = date '2024-02-29'",
    "d between '1900-01-01' and '2024-12-31'", "ts >= timestamp '2024-01-01 00:00:00'", "ts < '2024-01-01'",
    "cast(ts as date)", "try_cast(cast(d as varchar) as date)", "year(ts) // 10",
    # names
    '"a.b" + 1', '"some name" / 2', '"q`t" + 1', '"d""q" + 1', "ünï + 1", "K + 1", '"${HOME}" + 1',
]  # fmt: skip

REFUSED = [
    "f + 1", "f = 0.1", "h // 2", "z // 2", "ceil(z) // 2", "x % 0", "cast(z as varchar)", "cast(ts as varchar)",
    "t || z", "concat(t, z)",
    "try_cast(t as integer)", "cast('12.7' as integer)", "cast(z as decimal(10, 2))", "try_cast(odd as double)",
    "try_cast('1d' as double)", "try_cast(odd as date)", "cast(w as timestamp)", "b = 1", "d - d > 30",
]  # fmt: skip


def value(engine: Engine, text: str) -> str:
    return parse_expression(text, engine.schema.names, where="here").sql(engine.dialect)


def comparable(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return value
    number = float(value)
    return "NaN" if math.isnan(number) else number if math.isinf(number) else pytest.approx(number, rel=1e-15)


@pytest.mark.slow
@GROUP
def test_expressions_mean_the_same_on_both_engines(spark: "SparkSession") -> None:
    here, there = (engine_for(table) for table in (TABLE, on_spark(spark, TABLE)))
    ours, theirs = (
        engine.select(
            f"SELECT k, {', '.join(f'({value(engine, text)}) AS e{n}' for n, text in enumerate(SAME))} FROM {SOURCE}"
        ).sort_by("k")
        for engine in (here, there)
    )
    different = {}
    for n, text in enumerate(SAME):
        one, other = ([comparable(v) for v in table[f"e{n}"].to_pylist()] for table in (ours, theirs))
        if one != other:
            different[text] = (one, other)
    assert not different


@GROUP
@pytest.mark.slow
@pytest.mark.parametrize("text", REFUSED)
def test_what_spark_would_do_otherwise_is_refused_in_a_sentence(spark: "SparkSession", text: str) -> None:
    engine = engine_for(on_spark(spark, TABLE))
    with pytest.raises(InvalidInput) as refusal:
        engine.select(f"SELECT ({value(engine, text)}) AS e FROM {SOURCE}")
    assert is_one_sentence(str(refusal.value)), refusal.value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("substring(t, 0, 2)", "takes a substring from a place that is 0 .*: count from 1, or from -1 at the end"),
        ("substring(t, i)", "takes a substring from a place that is 0 or no number"),
        ("log(3, y)", r"to a base that is neither 2 nor 10, .*: write ln\(x\) / ln\(base\)"),
        ("round(z, i)", "rounds to digits that are no number"),
        ("cast(i as utinyint)", "casts to UTINYINT, which Spark does in another way: cast to BIGINT"),
        ("cast(i as hugeint)", "casts to INT128, which"),
        ("cast(z as real)", "single precision, which Spark does in another way: cast to DOUBLE"),
        ("d > date '2024'", "has the date '2024', which Spark does in another way: write it as in '2026-01-31'"),
    ],
)
def test_what_is_known_to_differ_is_refused_before_anything_runs(text: str, message: str) -> None:
    expression = parse_expression(text, TABLE.column_names, where="here")
    with pytest.raises(InvalidInput, match=message):
        expression.sql("spark")


@GROUP
def test_a_session_with_other_settings_reads_sql_in_the_same_way_and_keeps_them(spark: "SparkSession") -> None:
    engine = engine_for(on_spark(spark, TABLE))
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        with pytest.raises(InvalidInput, match="overflow"):
            engine.select(f"SELECT {value(engine, 'i * 9223372036854775807')} FROM {SOURCE}")
        assert spark.conf.get("spark.sql.ansi.enabled") == "false"
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
