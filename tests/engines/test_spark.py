"""Spark gives the numbers that DuckDB gives: moments, replicates, and what it refuses."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from tests.spark import GROUP, on_spark
from tests.workflow.shared import is_one_sentence

import distpriv as dp
from distpriv.engines.engine import SOURCE, engine_for
from distpriv.errors import InvalidInput, InvalidQuery, InvalidSource
from distpriv.modelling import sampling
from distpriv.modelling.tables import labelled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = GROUP
SHARE = dp.Share("s", values=(0.4, 0.6))


def random_table(rows: int = 3000, offset: float = 0.0, gap: float = 0.0) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    s = rng.random(rows) < 0.3
    x = rng.normal(size=rows) + offset + gap * s
    return pl.DataFrame({"id": np.arange(rows), "x": x, "y": 3 * x - rng.normal(size=rows), "s": s})


def assert_same_laws(one: dp.QueryModel, other: dp.QueryModel) -> None:
    """Means and covariances agree to ten digits of the standard deviations, and to the last digits there are."""
    assert list(one.distributions) == list(other.distributions)
    for name, law in one.distributions.items():
        theirs = other.distributions[name]
        deviation = np.sqrt(np.diag(law.covariance))
        assert (np.abs(theirs.mean - law.mean) <= 1e-10 * deviation + 1e-15 * np.abs(law.mean)).all()
        assert (np.abs(theirs.covariance - law.covariance) <= 1e-10 * np.outer(deviation, deviation)).all()
    assert one.steps.tolist() == pytest.approx(other.steps.tolist(), rel=1e-12)
    assert one.record_sensitivities.tolist() == pytest.approx(other.record_sensitivities.tolist(), rel=1e-12)


@pytest.mark.slow
def test_the_laws_of_adult_are_duckdbs(spark: "SparkSession", adult: pa.Table, paper_query: dp.Query) -> None:
    secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    here, there = (
        dp.model(table, paper_query, secret, records=100) for table in (adult, on_spark(spark, adult, partitions=7))
    )
    assert_same_laws(here, there)


@pytest.mark.parametrize(
    ("rows", "offset", "gap", "partitions"),
    [
        (3000, 1e9, 0.0, 7),
        pytest.param(3000, 1e6, 0.0, None, marks=pytest.mark.slow),
        pytest.param(3000, 0.0, 1e6, 5, marks=pytest.mark.slow),
        pytest.param(30_000, -1e7, 1e3, 3, marks=pytest.mark.slow),
        pytest.param(12, 5.0, 0.0, 40, marks=pytest.mark.slow),
    ],
)
def test_the_laws_of_numbers_far_from_zero_are_duckdbs(
    spark: "SparkSession", rows: int, offset: float, gap: float, partitions: int | None
) -> None:
    table = random_table(rows, offset, gap)
    query = dp.Query(x=dp.mean("x"), y=dp.total("y"), n=dp.count("x > y"), z=dp.mean("x / 7 - y"))
    here, there = (
        dp.model(source, query, SHARE, records=5, replacement=True)
        for source in (table, on_spark(spark, table, partitions))
    )
    assert_same_laws(here, there)


@pytest.mark.slow
def test_columns_of_every_kind_give_the_same_laws(spark: "SparkSession") -> None:
    rng = np.random.default_rng(5)
    table = pl.DataFrame(
        {
            "price": pl.Series(rng.integers(0, 99_999, 500)).cast(pl.Decimal(10, 2)) / 100,
            "born": pl.Series(rng.integers(0, 20_000, 500)).cast(pl.Int32).cast(pl.Date),
            "single": rng.normal(size=500).astype(np.float32),
            "small": rng.integers(-100, 100, 500).astype(np.int8),
            "word": rng.choice(["a", "Été", "O'Hara", ""], 500),
            "s": rng.random(500) < 0.5,
        }
    )
    query = dp.Query(
        price=dp.mean("price"),
        year=dp.mean("year(born)"),
        young=dp.count("born > '2000-01-01'"),
        single=dp.mean("single"),
        small=dp.total("small"),
        word=dp.count("word in ('Été', 'O''Hara')"),
        letters=dp.mean("length(word)"),
    )
    for secret in (SHARE, dp.Share("word = 'a' or small < 0", values=(0.4, 0.6))):
        here, there = (dp.model(source, query, secret, records=10) for source in (table, on_spark(spark, table, 3)))
        assert_same_laws(here, there)


def test_a_stratum_of_one_row_has_no_variance(spark: "SparkSession") -> None:
    table = on_spark(spark, pl.DataFrame({"x": [1.0, 2.0, 4.0], "s": [True, False, False]}), partitions=7)
    secret = dp.Share("s", values=(0.0, 1.0))
    model = dp.model(table, dp.Query(x=dp.mean("x")), secret, records=1, reference="population")
    assert model.distributions["s @ 1"].covariance.tolist() == [[0.0]]
    assert model.distributions["s @ 0"].covariance.tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, None, 3.0, 4.0], r"has nulls or NaN in column 'x' \(1 of 4 rows\): mend them, or leave all rows out"),
        pytest.param([1.0, float("nan"), 3.0, 4.0], r"in column 'x' \(1 of 4 rows\)", marks=pytest.mark.slow),
        pytest.param([1.0, float("inf"), 3.0, 4.0], "that are infinite, or so large", marks=pytest.mark.slow),
        pytest.param([1.0, 1e200, 3.0, 4.0], "that are infinite, or so large", marks=pytest.mark.slow),
    ],
)
def test_what_lacks_a_value_is_refused_as_on_duckdb(
    spark: "SparkSession", values: list[float | None], message: str
) -> None:
    table = pl.DataFrame({"x": values, "s": [True, True, False, False]})
    said = []
    for source in (table, on_spark(spark, table, partitions=7)):
        with pytest.raises(InvalidInput, match=message) as refusal:
            dp.model(source, dp.Query(x=dp.mean("x")), dp.Share("s", values=(0.0, 1.0)), records=1)
        said.append(str(refusal.value))
    assert said[0].replace("the polars table", "the Spark DataFrame") == said[1]


@pytest.mark.slow
def test_replicates_on_executors_are_those_drawn_here(spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_table(400)
    query = dp.Query(spread=dp.function(lambda rows: rows["x"].max() - rows["x"].min(), columns=["x"]))
    here = dp.model(table, query, SHARE, records=10, draws=320, seed=5, processes=1)
    monkeypatch.setattr(sampling, "SAMPLING", sampling.SamplingSettings(worth_starting=0.0))
    told: list[tuple[str, int, int]] = []
    processes = dp.model(table, query, SHARE, records=10, draws=320, seed=5, processes=2)
    executors = dp.model(
        on_spark(spark, table), query, SHARE, records=10, draws=320, seed=5, progress=lambda *step: told.append(step)
    )
    for name, law in here.distributions.items():
        for model in (processes, executors):
            assert np.array_equal(np.asarray(model.distributions[name].points), np.asarray(law.points))
    assert [done for task, done, _ in told if task == "s @ 0.4"] == list(range(32, 321, 32))


@pytest.mark.slow
def test_a_function_that_fails_on_an_executor_is_named_with_its_failure(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = spark.sparkContext.accumulator(0)

    def rarely(rows: Mapping[str, Any]) -> float:
        calls.add(1)
        if rows["x"].max() > 2.9:
            raise ValueError("this is too much")
        return float(rows["x"].max())

    monkeypatch.setattr(sampling, "SAMPLING", sampling.SamplingSettings(worth_starting=0.0))
    query = dp.Query(largest=dp.function(rarely, columns=["x"]))
    with pytest.raises(InvalidQuery, match=r"statistic 'largest' failed .* ValueError: this is too much") as refusal:
        dp.model(on_spark(spark, random_table(2000)), query, SHARE, records=5, draws=3200, seed=1)
    assert is_one_sentence(str(refusal.value))
    assert calls.value < 3200


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("spark:local[2]", "does not name a path or a table: write it as in 'spark:local"),
        ("spark:?path=", "does not name a path or a table"),
        ("spark:local[2]?table=absent", "cannot be read: The table or view `absent` cannot be found"),
        ("spark:?path=/no/such/file.parquet", "cannot be read: Path does not exist"),
        ("spark:local[3]?path=x.parquet", r"Spark runs on 'local\[2\]' in this process, not on that of"),
    ],
)
def test_a_text_that_names_nothing_for_spark_is_refused(spark: "SparkSession", source: str, message: str) -> None:
    assert spark.version
    with pytest.raises(InvalidSource, match=message) as refusal:
        engine_for(source)
    assert is_one_sentence(str(refusal.value)), refusal.value


@pytest.mark.slow
def test_files_are_read_by_the_session_there_is(spark: "SparkSession", tmp_path: Path) -> None:
    assert spark.version
    random_table(50).write_parquet(tmp_path / "rows.parquet")
    random_table(50).write_csv(tmp_path / "rows.csv")
    for name in ("rows.parquet", "rows.csv"):
        model = dp.model(f"spark:?path={tmp_path / name}", dp.Query(x=dp.mean("x")), SHARE, records=5)
        assert_same_laws(model, dp.model(random_table(50), dp.Query(x=dp.mean("x")), SHARE, records=5))


CSV = """\
k,text,price,day,flag,hole
1,"a ""b"" c",1.50,2024-01-05,true,
2,"one, two",2,1999-12-31,false,3
3,back\\slash,3e2,2000-02-29,true,
4,"two
lines",-1,1970-01-01,False,5.5
"""


@pytest.mark.slow
def test_text_in_quotes_is_read_from_csv_as_duckdb_reads_it(spark: "SparkSession", tmp_path: Path) -> None:
    assert spark.version
    (tmp_path / "rows.csv").write_text(CSV, encoding="utf-8")
    here, there = (engine_for(f"{prefix}{tmp_path / 'rows.csv'}") for prefix in ("", "spark:?path="))
    one, other = (engine.select(f"SELECT * FROM {SOURCE}").sort_by("k").to_pylist() for engine in (here, there))
    assert one == other
    (tmp_path / "short.csv").write_text("k,x\n1,2\n3\n", encoding="utf-8")
    with pytest.raises(InvalidSource):
        engine_for(f"spark:?path={tmp_path / 'short.csv'}").select(f"SELECT * FROM {SOURCE}")


@pytest.mark.slow
def test_the_moments_of_a_table_of_202_cells_are_duckdbs(spark: "SparkSession", adult: pa.Table) -> None:
    query = dp.Query(people=dp.table("count", by=["education", "sex", "marital_status"]))
    secret = dp.Share("income = '>50K'", values=(0.2, 0.3))
    here, there = (
        dp.model(table, query, secret, records=1000) for table in (adult, on_spark(spark, adult, partitions=3))
    )
    assert here.names == there.names
    assert here.dimension == 202
    assert_same_laws(here, there)


@pytest.mark.slow
def test_what_counts_for_empty_groups_is_what_duckdb_finds(spark: "SparkSession") -> None:
    rows = random_table(200).with_columns(g=pl.Series(["a", "b"] * 100))
    asked = {"median": dp.table("median(x)", by="g"), "spread": dp.table("variance(y)", by="g")}
    here, there = (labelled(dp.Query(asked), [table]) for table in (rows, on_spark(spark, rows, partitions=3)))
    assert [name for name, _ in here.statistics] == [name for name, _ in there.statistics]
    for (_, one), (_, other) in zip(here.tables, there.tables, strict=True):
        assert one.otherwise == pytest.approx(other.otherwise, rel=1e-12)
