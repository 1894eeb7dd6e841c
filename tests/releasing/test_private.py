import datetime
import os
import sys
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.spark import Place

import distpriv as dp
from distpriv.errors import InvalidModel, InvalidSource, PrivateTableRefused
from distpriv.releasing.private import look_at, reading_evidence, readings, require_source

ROWS = 60
AGES = np.random.default_rng(0).integers(20, 70, ROWS)
PUBLIC = pa.table(
    {
        "age": AGES,
        "income": AGES * 100.5,
        "sex": np.where(AGES % 3 == 0, "F", "M"),
        "code": [str(age) for age in AGES.tolist()],
        "s": AGES % 2 == 0,
    }
)
SHARE = dp.Share("s", values=(0.25, 0.5))
QUERY = dp.Query(
    age=dp.mean("age"),
    women=dp.count("sex = 'F'"),
    middle=dp.quantile("income", 0.5),
    spread=dp.variance("income"),
    capped=dp.total("age", bounds=(0, 99.5)),
    code=dp.mean("cast(code as integer)"),
    odd=dp.proportion("cast(code as integer) in (21, 23, 25) or income > 5000"),
    f=dp.function(
        lambda rows: [rows["income"].mean(), rows["sex"].tolist().count("F")], columns=["income", "sex"], size=2
    ),
)


def model_of(query: dp.Query, table: Any = PUBLIC, records: int = 8, **options: Any) -> dp.QueryModel:
    return dp.model(table, query, SHARE, records=records, draws=50, processes=1, **options)


@pytest.fixture(scope="module")
def model() -> dp.QueryModel:
    return model_of(QUERY)


def plainly(rows: pa.Table) -> list[float]:
    """Return the statistics of rows with nothing wrong in them, by NumPy alone."""
    age, income = rows["age"].to_numpy(), rows["income"].to_numpy()
    sex, odd = rows["sex"].to_pylist(), np.isin(rows["age"].to_numpy(), [21, 23, 25]) | (income > 5000)
    return [
        age.mean(), sex.count("F"), np.median(income), income.var(ddof=1), age.sum(), age.mean(), odd.mean(),
        income.mean(), sex.count("F"),
    ]  # fmt: skip


@pytest.mark.slow
@given(st.lists(st.integers(0, ROWS - 1), min_size=8, max_size=8, unique=True))
@settings(max_examples=30, deadline=None)
def test_rows_of_the_reference_have_their_own_statistics(model: dp.QueryModel, chosen: list[int]) -> None:
    rows = PUBLIC.take(chosen)
    found = look_at(rows, model).values.tolist()
    assert found[:-1] == pytest.approx(plainly(rows)[:-1], rel=1e-12)
    assert found[-1] == plainly(rows)[-1] or plainly(rows)[-1] > readings(model)[-1]["high"]


ANY_WHOLE = st.none() | st.integers(-(2**63), 2**63 - 1)
ANY_FLOAT = st.none() | st.floats()
ANY_TEXT = st.none() | st.text(max_size=4) | st.sampled_from(["F", "1e400", "nan", "-3", " 7 ", "9" * 30])
ANY_COLUMN = {
    "age": st.one_of(
        st.lists(ANY_WHOLE, min_size=8, max_size=8).map(lambda v: pa.array(v, pa.int64())),
        st.lists(ANY_FLOAT, min_size=8, max_size=8).map(lambda v: pa.array(v, pa.float64())),
        st.lists(ANY_TEXT, min_size=8, max_size=8).map(lambda v: pa.array(v, pa.string())),
        st.just(pa.nulls(8)),
    ),
    "income": st.lists(ANY_FLOAT, min_size=8, max_size=8).map(lambda v: pa.array(v, pa.float64())),
    "sex": st.lists(ANY_TEXT, min_size=8, max_size=8).map(lambda v: pa.array(v, pa.string())),
    "code": st.lists(ANY_TEXT, min_size=8, max_size=8).map(lambda v: pa.array(v, pa.string())),
}  # fmt: skip


@pytest.mark.slow
@given(st.fixed_dictionaries(ANY_COLUMN))
@example({name: pa.nulls(8) for name in ANY_COLUMN})
@settings(max_examples=60, deadline=None)
def test_whatever_the_rows_hold_the_statistics_are_within_what_readings_say(
    model: dp.QueryModel, columns: dict[str, pa.Array]
) -> None:
    found = dict(zip(model.names, look_at(pa.table(columns), model).values.tolist(), strict=True))
    read = {entry["statistic"]: entry for entry in readings(model)}
    assert np.isfinite(list(found.values())).all()
    for name, times in {
        "age": 1,
        "women": 8,
        "middle": 1,
        "capped": 8,
        "code": 1,
        "odd": 1,
        "f_1": 1,
        "f_2": 1,
    }.items():
        assert times * read[name]["low"] - 1e-9 <= found[name] <= times * read[name]["high"] + 1e-9
    assert 0 <= found["spread"] <= (read["middle"]["high"] - read["middle"]["low"]) ** 2


def test_readings_are_the_references_and_are_evidence(model: dp.QueryModel) -> None:
    read = {entry.pop("statistic"): entry for entry in readings(model)}
    median = float(np.quantile(AGES, 0.5, method="lower"))
    assert read["age"] == {"low": float(AGES.min()), "high": float(AGES.max()), "otherwise": median}
    assert read["women"] == {"low": 0.0, "high": 1.0, "otherwise": 0.0}
    assert read["capped"] == read["age"]  # bounds are wider, and the reference shows no such value
    assert read["f_2"]["low"] < 0 < read["f_2"]["otherwise"] < 8 < read["f_2"]["high"]
    facts = reading_evidence(model).facts
    assert {"of": "age", "low": float(AGES.min()), "high": float(AGES.max()), "otherwise": median} in facts["numbers"]
    assert "sex = 'F'" in facts["conditions"]
    assert [entry["of"] for entry in facts["results"]] == ["f_1", "f_2"]
    assert "income" in {column["of"] for column in facts["columns"]}
    with pytest.raises(InvalidModel, match="made from rows"):
        readings(dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")]))


def test_scenarios_with_tables_of_their_own_are_read_within_all_of_them() -> None:
    tables = {"low": pa.table({"x": [1.0, 2.0, 3.0]}), "high": pa.table({"X": [4.5, 5.0, 6.0]})}
    model = dp.model(None, dp.Query(x=dp.mean("x")), dp.Scenarios(tables), records=2)
    assert readings(model) == [{"statistic": "x", "low": 1.0, "high": 6.0, "otherwise": 3.0}]
    assert look_at(pa.table({"x": [2.5, 99.0]}), model).values.tolist() == [(2.5 + 6) / 2]


SOURCES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "arrow": lambda rows, _: rows,
    "pandas": lambda rows, _: rows.to_pandas(),
    "polars": lambda rows, _: pl.from_arrow(rows),
    "csv": lambda rows, folder: (pa.csv.write_csv(rows, folder / "rows.csv"), str(folder / "rows.csv"))[1],
    "parquet": lambda rows, folder: (pa.parquet.write_table(rows, folder / "rows.parquet"), folder / "rows.parquet")[1],
    "relation": lambda rows, _: duckdb.connect().from_arrow(rows),
    "other order and case": lambda rows, _: rows.rename_columns([n.upper() for n in rows.column_names]).select(
        [n.upper() for n in rows.column_names[::-1]]
    ),
    "pandas with gaps as floats": lambda rows, _: rows.to_pandas().astype({"age": "float64"}),
    "text for numbers": lambda rows, _: rows.set_column(0, "age", rows["age"].cast(pa.string())),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_the_same_rows_are_read_alike_from_every_kind_of_table(model: dp.QueryModel, kind: str, tmp_path: Path) -> None:
    rows = PUBLIC.slice(10, 8)
    assert look_at(SOURCES[kind](rows, tmp_path), model).values.tolist() == pytest.approx(plainly(rows), rel=1e-12)


def test_every_engine_reads_the_private_table_as_duckdb_does(place: Place) -> None:
    holes = pa.table(
        {
            "age": pa.array([None, 10**9, -5, 30, 31, 32, 33, 34], pa.int64()),
            "income": [float("nan"), float("inf"), 2000.0, 3000.0, None, 4000.0, 5000.0, 1e300],
            "sex": ["F", None, "x", "M", "F", "F", "M", "M"],
            "code": ["no", None, "22", "23", "24", "1e99", "26", "27"],
        }
    )
    query = dp.Query([pair for pair in QUERY.statistics if pair[0] != "code" and pair[0] != "odd"])
    here, there = model_of(query), model_of(query, place(PUBLIC))
    assert readings(there) == readings(here)
    expected = look_at(holes, here)
    for model, source in ((here, place(holes)), (there, holes), (there, place(holes))):
        assert look_at(source, model).values.tolist() == pytest.approx(expected.values.tolist(), rel=1e-12)


TYPES: dict[str, tuple[pa.Array, str]] = {
    "decimal": (pa.array([Decimal("1.25"), Decimal("2.50"), Decimal("3.75"), Decimal("9.00")]), "mean(x)"),
    "whole numbers of one byte": (pa.array([1, 2, 3, 100], pa.int8()), "mean(x * 1000)"),
    "unsigned": (pa.array([1, 2, 3, 2**40], pa.uint64()), "mean(x)"),
    "single precision": (pa.array([0.5, 1.5, 2.5, 3.5], pa.float32()), "mean(x)"),
    "dates": (pa.array([datetime.date(2020 + k, 1, 31) for k in range(4)]), "mean(year(x))"),
    "times": (pa.array([datetime.datetime(2020 + k, 1, 31, 12) for k in range(4)]), "mean(month(x) + year(x))"),
    "truths": (pa.array([True, False, True, False]), "count(x)"),
    "truths as numbers": (pa.array([True, False, True, False]), "mean(cast(x as integer))"),
    "text": (pa.array(["a", "bb", "ccc", "dddd"]), "mean(length(x))"),
    "categories": (pa.array(["a", "bb", "ccc", "dddd"]).dictionary_encode(), "mean(length(x))"),
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("broken", [False, True])
def test_columns_of_all_types_are_read_and_rows_without_a_value_too(kind: str, broken: bool) -> None:
    values, text = TYPES[kind]
    name, _, rest = text.partition("(")
    public = pa.table({"x": pa.concat_arrays([values] * 10), "s": [True, False, False, True] * 10})
    model = model_of(dp.Query(a=getattr(dp, name)(rest[:-1]), f=dp.function(_size, columns=["x"])), public, records=4)
    plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    private = pa.table({"x": pa.array([None, *plain.to_pylist()[1:]], plain.type) if broken else plain})
    read = readings(model)[0]
    answer = look_at(private, model).values
    assert answer[1] == 4.0
    low, high = (read[end] * (4 if text.startswith("count") else 1) for end in ("low", "high"))
    assert low <= answer[0] <= high
    if not broken:
        assert answer[0] == pytest.approx(look_at(public.slice(0, 4), model).values[0])


def _size(rows: Mapping[str, Any]) -> float:
    assert all(value is not None for value in rows["x"].tolist())
    return float(len(rows["x"]))


def test_a_huge_whole_number_is_held_at_the_largest() -> None:
    public = pa.table({"x": [1, 2, 3, 4] * 5, "s": [True, False] * 10})
    model = model_of(dp.Query(a=dp.total("x")), public, records=4)
    connection = duckdb.connect()
    huge = connection.sql(
        "SELECT CAST(x AS HUGEINT) AS x FROM (VALUES ('1'), ('2'), ('3'), ('9' || repeat('0', 37))) t(x)"
    )
    assert look_at(huge, model).values.tolist() == [1 + 2 + 3 + 4]


def test_a_pandas_column_of_several_types_is_read_as_text() -> None:
    public = pa.table({"x": [1, 2, 3, 4] * 5, "s": [True, False] * 10})
    model = model_of(dp.Query(a=dp.total("x")), public, records=4)
    mixed = pd.DataFrame({"x": [1, "two", 3.0, None]})
    assert look_at(mixed, model).values.tolist() == [1 + 2 + 3 + 2]


def test_a_statistic_that_reads_no_column_is_that_of_so_many_rows() -> None:
    query = dp.Query(n=dp.total("1"), age=dp.mean("age"))
    assert look_at(PUBLIC.slice(0, 8), model_of(query)).values[0] == 8.0


FAILING: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "raises": lambda rows: rows["age"][99] if len(set(rows["age"])) < 3 else rows["age"].mean(),
    "exits": lambda rows: sys.exit(3) if len(set(rows["age"])) < 3 else rows["age"].mean(),
    "has another shape": lambda rows: rows["age"] if len(set(rows["age"])) < 3 else rows["age"].mean(),
    "is no number": lambda rows: "x" if len(set(rows["age"])) < 3 else rows["age"].mean(),
    "is infinite": lambda rows: 1 / (len(set(rows["age"])) - np.float64(1)),
}  # fmt: skip


@pytest.mark.parametrize("kind", FAILING)
def test_a_function_that_fails_on_private_rows_counts_as_its_median_in_the_model(kind: str) -> None:
    distinct = pa.table({"age": np.arange(40.0), "s": np.arange(40) % 2 == 0})
    model = model_of(dp.Query(f=dp.function(FAILING[kind], columns=["age"])), distinct)
    points = np.concatenate([law.points for law in model.distributions.values() if law.points is not None])
    answer = look_at(pa.table({"age": [5.0] * 8}), model).values
    assert answer.tolist() == [np.quantile(points, 0.5, method="lower")]


def test_a_function_cannot_tell_of_a_row_by_a_number_that_it_never_had_in_the_model() -> None:
    def shouts(rows: Mapping[str, Any]) -> float:
        names = rows["name"].tolist()
        return 1e9 if "Eve" in names or names.count("n0") > 4 else float(len(set(names)))

    names = pa.table({"name": [f"n{k // 2}" for k in range(40)], "s": np.arange(40) % 2 == 0})
    model = model_of(dp.Query(f=dp.function(shouts, columns=["name"])), names)
    plain, with_eve, with_many = (
        look_at(pa.table({"name": [*(f"n{k}" for k in range(3)), *last]}), model).values[0]
        for last in (["n3", "n4", "n5", "n6", "n7"], ["n3", "n4", "n5", "n6", "Eve"], ["n0"] * 5)
    )
    assert plain == 8
    assert with_eve in (7, 8)  # the reference has no Eve, so she is one of those that it has
    assert with_many == readings(model)[0]["high"] <= 16


def test_functions_get_arrays_of_their_own_as_they_do_in_the_model() -> None:
    def ruins(rows: Mapping[str, Any]) -> float:
        rows["age"].sort()
        rows["age"][0] = 0
        return float(rows["age"][-1])

    query = dp.Query(one=dp.function(ruins, columns=["age"]), two=dp.function(ruins, columns=["age"]))
    rows = PUBLIC.slice(0, 8)
    assert look_at(rows, model_of(query)).values.tolist() == [max(rows["age"].to_pylist())] * 2


def test_infinite_numbers_are_refused_where_functions_would_see_them_in_the_reference_only() -> None:
    infinite = pa.table({"x": [1.0, float("inf"), 2.0, 3.0], "s": [True, False] * 2})
    with pytest.raises(InvalidSource, match="column 'x' of the pyarrow table has infinite values"):
        model_of(dp.Query(f=dp.function(_size, columns=["x"])), infinite, records=4)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere.parquet", "no file at the path"),
        ("nowhere/*.csv", "no file at the path"),
        (Path("secret-place.csv"), "no file at the path"),
        (".", "is a folder"),
        ("notes.txt", "neither CSV nor Parquet"),
        ({"age": [1]}, "cannot be a dict"),
        (None, "cannot be a NoneType"),
        ("duckdb:nowhere.db?table=a", "no database file"),
        ("duckdb:nowhere.db", "does not name a file and a table"),
    ],
)
def test_what_can_be_no_table_is_told_before_the_look_and_without_its_place(
    source: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("x")
    with pytest.raises(InvalidSource, match=message) as refusal:
        require_source(source)
    assert "nowhere" not in str(refusal.value)
    assert "secret-place" not in str(refusal.value)


def test_what_may_be_a_table_is_let_through_unread(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes(os.urandom(100))
    for source in (PUBLIC, PUBLIC.to_pandas(), tmp_path / "rows.csv", str(tmp_path / "*.csv"), "spark:?path=x.parquet"):
        require_source(source)


KEY = b"k" * 32


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "csv", "parquet", "relation", "other order and case"])
def test_a_fingerprint_is_the_same_for_the_same_values(model: dp.QueryModel, kind: str, tmp_path: Path) -> None:
    rows = PUBLIC.slice(10, 8)
    first = look_at(rows, model, key=KEY).fingerprint
    assert first is not None
    source = SOURCES[kind](rows.take([7, 1, 2, 3, 4, 5, 6, 0]), tmp_path)
    again = look_at(source, model, key=KEY, known=first).fingerprint
    assert again == first
    assert look_at(rows, model).fingerprint is None


def test_a_fingerprint_tells_tables_apart_and_tells_nothing_without_the_key(model: dp.QueryModel) -> None:
    rows = PUBLIC.slice(10, 8)
    first = look_at(rows, model, key=KEY).fingerprint
    assert first is not None
    assert not any("age" in part or "sex" in part for pair in first.items() for part in pair)
    assert len(first) == 1 + PUBLIC.num_columns
    edited = rows.set_column(0, "age", pa.array([99, *rows["age"].to_pylist()[1:]]))
    swapped = rows.set_column(2, "sex", pa.array(["M" if sex == "F" else "F" for sex in rows["sex"].to_pylist()]))
    for other in (edited, swapped, PUBLIC.slice(11, 8)):
        with pytest.raises(PrivateTableRefused, match="earlier releases"):
            look_at(other, model, key=KEY, known=first)
    with pytest.raises(PrivateTableRefused):
        look_at(rows, model, key=b"another" * 5, known=first)  # no column in common
    fewer = look_at(rows.drop_columns(["s"]), model, key=KEY, known=first).fingerprint
    assert fewer is not None
    assert len(fewer) == len(first) - 1
