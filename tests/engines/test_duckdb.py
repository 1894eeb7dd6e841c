from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import distpriv as dp
from distpriv.engines.engine import SOURCE, engine_for
from distpriv.errors import InvalidExpression, InvalidSource

TABLE = pa.table({"age": [30, 40, 50], "sex": ["Male", "Female", "Male"]})


def as_relation(table: pa.Table) -> duckdb.DuckDBPyRelation:
    return duckdb.connect(":memory:").from_arrow(table)


@pytest.fixture(
    params=[
        "csv",
        "parquet",
        "path",
        "glob",
        "relation",
        "pandas",
        "categorical",
        "polars",
        "polars categorical",
        "brackets",
        "arrow",
    ]
)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The same three rows, in every form a source may have."""
    pyarrow.csv.write_csv(TABLE, tmp_path / "it's.csv")
    pyarrow.csv.write_csv(TABLE, tmp_path / "k[1].csv")
    pq.write_table(TABLE.slice(0, 2), tmp_path / "part1.parquet")
    pq.write_table(TABLE.slice(2), tmp_path / "part2.parquet")
    pq.write_table(TABLE, tmp_path / "all.PARQUET")
    return {
        "csv": str(tmp_path / "it's.csv"),
        "parquet": str(tmp_path / "all.PARQUET"),
        "path": tmp_path / "all.PARQUET",
        "glob": str(tmp_path / "part*.parquet"),
        "relation": as_relation(TABLE),
        "pandas": TABLE.to_pandas().set_index(pd.Index([5, 5, 7])),
        "categorical": TABLE.to_pandas().astype({"sex": "category"}),
        "polars": pl.from_arrow(TABLE),
        "polars categorical": pl.DataFrame(TABLE).with_columns(pl.col("sex").cast(pl.Categorical)),
        "brackets": str(tmp_path / "k[1].csv"),
        "arrow": TABLE,
    }[request.param]


def test_every_kind_of_source_gives_the_same_rows(source: Any) -> None:
    engine = engine_for(source)
    assert engine.schema.names == ["age", "sex"]
    rows = engine.select(f"SELECT sum(age) AS total, count(*) FILTER (WHERE sex = 'Male') AS men FROM {SOURCE}")
    assert rows.to_pylist() == [{"total": 120, "men": 2}]


def test_two_engines_do_not_see_each_others_table() -> None:
    one, other = engine_for(TABLE), engine_for(TABLE.slice(0, 1))
    assert [e.select(f"SELECT count(*) AS n FROM {SOURCE}")["n"][0].as_py() for e in (one, other)] == [3, 1]


def test_a_sample_is_seeded_and_has_the_size_asked_for() -> None:
    engine = engine_for(pa.table({"x": np.arange(20_000)}))
    first = engine.sample(f"SELECT x FROM {SOURCE}", 500, 3)["x"].to_pylist()
    assert first == engine.sample(f"SELECT x FROM {SOURCE}", 500, 3)["x"].to_pylist()
    assert first != engine.sample(f"SELECT x FROM {SOURCE}", 500, 4)["x"].to_pylist()
    assert len(set(first)) == 500
    # 500 uniform draws of 0 … 19,999 have mean 9999.5 with a standard error of about 258.
    assert abs(np.mean(first) - 9999.5) < 5 * 258
    assert len(engine.sample(f"SELECT x FROM {SOURCE} WHERE x < 7", 500, 3)) == 7


def test_a_read_only_database_can_be_a_source(tmp_path: Path) -> None:
    path = str(tmp_path / "census.db")
    with duckdb.connect(path) as writing:
        writing.execute("CREATE TABLE t AS SELECT 1 AS age")
    with duckdb.connect(path, read_only=True) as reading:
        assert len(engine_for(reading.table("t")).select(f"SELECT age FROM {SOURCE}")) == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.csv", None, "there is no file .*absent.csv'"),
        ("*.parquet", None, "there is no file"),
        ("table.txt", b"x", "neither CSV nor Parquet nor Excel by its name"),
        ("broken.parquet", b"this is no parquet file at all", "broken.parquet' cannot be read"),
        (".", None, "is a folder: name the files in it"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidSource, match=message):
        engine_for(str(tmp_path / name))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (42, "a source of type int cannot be read: give a path"),
        (None, "a source of type NoneType cannot be read"),
        ([{"age": 3}], "a source of type list cannot be read"),
        (pa.table([[1], [2]], names=["age", "age"]), "cannot tell apart"),
        (pa.table({"age": [1], "Age": [2]}), "cannot tell apart"),
        (pd.DataFrame({"age": [1, "x"]}), "the pandas table cannot be read as columns of one type"),
        (pd.DataFrame({"age": [2**70]}), "the pandas table cannot be read as columns of one type"),
        (pd.Series([1, 2]), "the pandas table cannot be read as columns of one type|a source of type Series"),
        (pd.DataFrame(), "the pandas table has no columns"),
        (pl.DataFrame(), "the polars table has no columns"),
        (pa.table({"age": pa.array(np.ones(2, dtype=np.float16))}), "the pyarrow table cannot be read"),
    ],
)
def test_what_is_no_table_is_refused(source: Any, message: str) -> None:
    with pytest.raises(InvalidSource, match=message):
        engine_for(source)


def test_an_expression_that_does_not_fit_the_types_is_refused() -> None:
    with pytest.raises(InvalidExpression, match=r"does not fit the pyarrow table: .*; cast or change it"):
        engine_for(TABLE).select(f"SELECT sqrt(sex) FROM {SOURCE}")


@pytest.mark.parametrize("counted", [40, 41, 120])
def test_moments_of_many_numbers_are_those_of_few(counted: int) -> None:
    rng = np.random.default_rng(counted)
    table = pa.table({"x": rng.integers(0, counted, 5000), "s": rng.random(5000) < 0.3})
    query = dp.Query({f"n{k}": dp.count(f"x = {k}") for k in range(counted)})
    made = dp.model(table, query, dp.Share("s", values=(0.2, 0.4)), records=50)
    few = dp.Query({f"n{k}": dp.count(f"x = {k}") for k in (0, 7, 39)})
    alone = dp.model(table, few, dp.Share("s", values=(0.2, 0.4)), records=50)
    for name, law in alone.distributions.items():
        whole = made.distributions[name]
        np.testing.assert_allclose(whole.mean[[0, 7, 39]], law.mean, rtol=1e-12)
        np.testing.assert_allclose(whole.covariance[np.ix_([0, 7, 39], [0, 7, 39])], law.covariance, rtol=1e-9)
