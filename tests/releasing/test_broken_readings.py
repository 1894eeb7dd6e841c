"""What was claimed of how private rows are read, and what broke it."""

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distpriv as dp
from distpriv.engines.engine import engine_for
from distpriv.errors import InvalidSource, MissingValues, PrivateTableRefused
from distpriv.releasing.fingerprint import agree, fingerprint
from distpriv.releasing.private import look_at

SECRET = dp.Share("rich", values=(0, 1))
THREE_VALUES = dp.model(
    pa.table({"x": [1.0, 2.5, 7.0, 7.0], "rich": [True, False, True, False]}),
    dp.Query(one=dp.count("x = 1"), two=dp.count("x = 2.5"), seven=dp.count("x = 7")),
    SECRET,
    records=1,
)


def in_file(folder: Path, name: str, column: str, values: list[str]) -> str:
    rich = ["true" if k % 2 else "false" for k in range(len(values))]
    lines = [f"{column},rich", *(f"{value},{flag}" for value, flag in zip(values, rich, strict=True))]
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(folder / name)


def count_of(reference: object, private: object, condition: str, records: int) -> float:
    model = dp.model(reference, dp.Query(n=dp.count(condition)), SECRET, records=records, replacement=True)
    return float(look_at(private, model).values[0])


@pytest.mark.parametrize("odd", ["unknown", "True", "False", "", "7"])
def test_one_row_of_a_file_does_not_decide_how_the_others_are_read(tmp_path: Path, odd: str) -> None:
    """Without a row that says 'unknown' a column of True and False was read as 'true' and 'false', and counted as 0."""
    reference = in_file(tmp_path, "public.csv", "member", ["True", "False", "unknown", "False"] * 50)
    private = in_file(tmp_path, "private.csv", "member", [*["False"] * 9, odd])
    found = count_of(reference, private, "member = 'False'", 10)
    assert found == 9 + (odd in ("False", ""))  # a gap is what is usual, the unknown what is rare


@pytest.mark.parametrize("odd", ["11/01/2024", "01/13/2024", "unknown", "2024-03-05"])
def test_one_row_of_a_file_does_not_decide_how_dates_are_read(tmp_path: Path, odd: str) -> None:
    """99 rows of 11/01/2024 were in January or in November, as the hundredth was."""
    reference = in_file(tmp_path, "public.csv", "d", ["11/01/2024", "25/11/2024", "05/03/2024", "11/01/2024"] * 50)
    private = in_file(tmp_path, "private.csv", "d", [*["11/01/2024"] * 9, odd])
    assert count_of(reference, private, "month(d) = 1", 10) in (9, 10)


@pytest.mark.parametrize("written", ["%d/%m/%y", "%m/%d/%y", "%d.%m.%Y", "%Y-%m-%d"])
def test_a_file_has_the_statistics_that_it_has_as_reference_however_dates_are_written(
    tmp_path: Path, written: str
) -> None:
    """Two digits of a year were taken for a day: private rows equal to the reference had other months."""
    days = [date(2024, 1, 1) + timedelta(days=5 * k) for k in range(200)]
    file = in_file(tmp_path, "both.csv", "d", [day.strftime(written) for day in days])
    assert count_of(file, file, "month(d) = 3", 200) == sum(day.month == 3 for day in days)


@pytest.mark.parametrize(("known", "rows"), [(["True", "False", "unknown"], [True] * 9), (["1", "2", "x"], [1] * 9)])
@pytest.mark.parametrize("odd", [True, "unknown", 1, 2.5, "x", None, date(2024, 1, 1)])
def test_one_value_of_a_pandas_column_does_not_decide_how_the_others_are_read(
    known: list[str], rows: list[Any], odd: Any
) -> None:
    """A column of anything had one type for all: nine times True was 'true', and with one text among them 'True'."""
    reference = pa.table({"x": known * 20, "rich": [True, False] * 30})
    private = pd.DataFrame({"x": pd.Series([*rows, odd], dtype=object), "rich": [True, False] * 5})
    assert count_of(reference, private, f"x = '{rows[0]}'", 10) in (9, 10)


@pytest.mark.parametrize("last", ["Rome,true,y,z", "Rome,true,", "Rome", '"Rome,true'])
@pytest.mark.parametrize("place", [0, 4, 9])
def test_a_row_of_another_length_is_refused_or_read_wherever_it_is(tmp_path: Path, last: str, place: int) -> None:
    """A last row of four values was taken for the header, and the rows before it were skipped."""
    reference = in_file(tmp_path, "public.csv", "city", ["Rome", "Oslo"] * 50)
    lines = ["city,rich", *(["Oslo,true"] * 9)]
    lines.insert(1 + place, last)
    (tmp_path / "private.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if last == "Rome,true,":
        assert count_of(reference, str(tmp_path / "private.csv"), "city = 'Oslo'", 10) == 9
    else:
        with pytest.raises(PrivateTableRefused):
            count_of(reference, str(tmp_path / "private.csv"), "city = 'Oslo'", 10)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([2**60, 2**60 + 1, 2**60 + 7] * 10, pa.int64()),
        pa.array([2**63, 2**63 + 1, 2**63 + 7] * 10, pa.uint64()),
        pa.array([1, 2, 3] * 10, pa.timestamp("ns")),
        pa.array([Decimal("1.5"), Decimal("2.5"), Decimal("9.99")] * 10, pa.decimal128(5, 2)),
        pa.array([1.5, 2.5, 9.75] * 10, pa.float32()),
    ],
    ids=lambda values: str(values.type),
)
def test_rows_of_the_reference_are_read_as_they_are_whatever_their_type(values: pa.Array) -> None:
    """Whole numbers of more digits than a double has, and times in nanoseconds, were refused."""
    table = pa.table({"x": values, "rich": [True, False] * 15})
    three = dp.function(lambda rows: len(set(rows["x"].tolist())), ["x"])
    model = dp.model(table, dp.Query(f=three), SECRET, records=30, replacement=True, draws=20)
    assert look_at(table, model).values.tolist() == [3.0]


@pytest.mark.parametrize(
    ("kind", "beyond"),
    [(pa.decimal128(5, 2), "99999"), (pa.float32(), "1e300"), (pa.float64(), "inf"), (pa.int64(), "1e400")],
    ids=str,
)
def test_whatever_lies_beyond_is_the_greatest(kind: pa.DataType, beyond: str) -> None:
    reference = pa.table({"x": pa.array([1.0, 2.0, 9.0] * 10).cast(kind), "rich": [True, False] * 15})
    assert count_of(reference, pa.table({"x": [beyond, f"-{beyond}"], "rich": [True, False]}), "x > 8", 2) == 1


def test_numbers_that_no_row_of_the_reference_has_are_the_nearest_that_one_has() -> None:
    """Half hours told who was rich where the reference had whole ones, by a statistic that certificates took for 0."""
    hours = np.tile(np.array([20.0, 40.0, 99.0]), 40)
    reference = pa.table({"hours": hours, "rich": np.arange(120) % 2 == 0})
    private = pa.table({"hours": [20.5, 39.5, 70.0, 1e9, 40.0, np.nan], "rich": [True] * 6})
    for condition, expected in {"hours <> floor(hours)": 0, "hours = 40": 3, "hours = 99": 2, "hours = 20": 1}.items():
        assert count_of(reference, private, condition, 6) == expected


@given(st.floats(allow_nan=True, allow_infinity=True))
@settings(max_examples=50)
def test_whatever_a_number_is_it_is_read_as_one_that_the_reference_has(value: float) -> None:
    private = pa.table({"x": pa.array([value], pa.float64()), "rich": [True]})
    assert sorted(look_at(private, THREE_VALUES).values.tolist()) == [0, 0, 1]


@pytest.mark.parametrize("beyond", [128, 1000, 2**62, 1e30])
def test_numbers_beyond_the_type_of_the_reference_are_its_greatest(beyond: float) -> None:
    """127 was read as 90 where a reference of bytes goes up to 90, and 128 as the median."""
    ages = np.tile(np.array([17, 37, 90], dtype=np.int8), 40)
    reference = pa.table({"age": ages, "rich": np.arange(120) % 2 == 0})
    private = pa.table({"age": [beyond, -beyond], "rich": [True, False]})
    assert count_of(reference, private, "age = 90", 2) == 1
    assert count_of(reference, private, "age = 17", 2) == 1


def test_a_file_of_text_and_a_table_of_numbers_have_one_fingerprint(tmp_path: Path) -> None:
    table = pa.table({"x": [1, 2**60, 3], "y": [0.5, 2.0, None], "z": [True, False, True]})
    lines = ["x,y,z", "1,0.50,True", f"{2**60},2.0,False", "3,,True"]
    (tmp_path / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    texts = pa.table({"x": ["1", str(2**60), "3"], "y": ["0.50", "2.0", None], "z": ["True", "False", "True"]})
    made = [fingerprint(engine_for(source), 3, b"key") for source in (table, texts, str(tmp_path / "t.csv"))]
    assert agree(made[0], made[1])
    assert agree(made[0], made[2])


def test_numbers_that_a_reference_has_once_each_are_read_as_they_are() -> None:
    """Round prices were 50 % of both sides, and 66 % of one of them as unknown prices were read as the nearest."""
    rng = np.random.default_rng(1)

    def prices(rows: int, *, any_other: bool) -> Any:
        round_ones = rng.integers(0, 1000, rows) * 100
        return np.where(
            rng.random(rows) < 0.5, round_ones, rng.integers(0, 10**5, rows) if any_other else round_ones + 1
        )

    reference = pa.table(
        {
            "price": np.r_[prices(20_000, any_other=False), prices(2_000, any_other=True)],
            "rich": [False] * 20_000 + [True] * 2_000,
        }
    )
    secret = dp.Share("rich", values=(0.2, 0.8))
    model = dp.model(reference, dp.Query(n=dp.count("price % 100 = 0")), secret, records=5000, replacement=True)
    private = prices(5000, any_other=True)
    found = look_at(pa.table({"price": private, "rich": [True] * 5000}), model).values[0]
    assert found == (private % 100 == 0).sum()


def test_texts_that_only_a_small_stratum_has_once_each_are_read_as_they_are() -> None:
    """They are few among all rows of the reference and most of the rows of one scenario."""
    common = [f"firm {k % 20}" for k in range(20_000)] + [f"small {k} GmbH" for k in range(20)]
    own = [f"{k} {'GmbH' if k % 2 else 'AG'}" for k in range(400)]
    reference = pa.table({"firm": common + own, "rich": [False] * len(common) + [True] * 400})
    secret = dp.Share("rich", values=(0.1, 0.9))
    model = dp.model(reference, dp.Query(n=dp.count("firm LIKE '%GmbH'")), secret, records=40, replacement=True)
    private = pa.table({"firm": [f"other {k} AG" for k in range(40)], "rich": [True] * 40})
    assert look_at(private, model).values[0] == 0


@pytest.mark.parametrize("odd", [None, "unknown"])
def test_how_a_program_typed_a_column_decides_nothing(odd: str | None) -> None:
    """pandas makes truth values of True and False unless one row says something else, and all were in no cell then."""
    reference = pa.table({"member": ["True", "False", "unknown", "False"] * 50, "rich": [True, False] * 100})
    private = pd.DataFrame({"member": [*[True] * 4, *[False] * 5, odd or False], "rich": [True, False] * 5})
    private["member"] = private["member"] if odd else private["member"].astype(bool)
    assert count_of(reference, private, "member = 'True'", 10) == 4


@pytest.mark.parametrize("last", [1, None, "x"])
def test_codes_that_came_as_numbers_are_the_texts_that_mean_them(last: object) -> None:
    """Nine codes 1 beside a gap were 1.0 to pandas, and none of them counted."""
    reference = pa.table({"code": ["1", "2", "x", "1"] * 50, "rich": [True, False] * 100})
    private = pd.DataFrame({"code": [*[1] * 9, last], "rich": [True, False] * 5})
    assert count_of(reference, private, "code = '1'", 10) == 9 + (last != "x")


def test_rows_with_gaps_are_not_dropped_from_one_side_more_than_from_the_other() -> None:
    """Private rows with gaps count as the usual level: 40 % of one side had them, and noise was made for none."""
    rng = np.random.default_rng(9)
    rich = np.arange(4000) % 2 == 1
    level = np.where(rng.random(4000) < 0.52, "x", "y").astype(object)
    query, secret = dp.Query(n=dp.count("level = 'x'")), dp.Share("rich", values=(0.2, 0.8))
    gaps = {"of one side": rich & (rng.random(4000) < 0.4), "of both": rng.random(4000) < 0.2}
    tables = {
        name: pa.table({"level": pa.array(level.tolist(), pa.string(), mask=gone), "rich": rich})
        for name, gone in gaps.items()
    }
    assert dp.model(tables["of both"], query, secret, records=100, missing="drop").dimension == 1
    with pytest.raises(
        MissingValues, match=r"in \d\d\.\d% of the rows on one side of the secret, in 0\.0% on the other"
    ):
        dp.model(tables["of one side"], query, secret, records=100, missing="drop")
    weighed = dp.Mean("cast(rich as int)", values=(0.4, 0.6))
    ways = dp.Scenarios({"one": tables["of one side"], "other": tables["of both"]})
    for hidden, own in ((weighed, tables["of both"]), (ways, None)):
        with pytest.raises(MissingValues, match="scenarios have tables of their own or weigh rows"):
            dp.model(own, query, hidden, records=100, missing="drop")


def test_a_gap_in_a_column_that_nobody_asks_for_counts_as_one_where_rows_are_left_out_for_it() -> None:
    """A column called stratum was taken for the secret's, and gaps in what no statistic reads were not counted."""
    rich, number = np.arange(400) % 2 == 1, np.arange(400)
    unread = pa.array(["a"] * 400, mask=rich & (number % 3 == 0))
    table = pa.table({"x": number % 7, "stratum": unread, "rich": rich})
    query, secret = dp.Query(x=dp.mean("x")), dp.Share("rich", values=(0.2, 0.8))
    assert dp.model(table, query, secret, records=100).dimension == 1
    with pytest.raises(MissingValues, match="do without missing='drop'"):
        dp.model(table, query, secret, records=100, missing="drop")


def test_a_column_has_one_meaning_in_the_tables_of_all_scenarios() -> None:
    """Rows of whole numbers were modelled by whole division and read as fractions: certified 1e-4, in truth 1."""
    tables = {"a": pa.table({"c": [1, 2, 3, 4]}), "b": pa.table({"c": [1.0, 2.0, 3.0, 4.0]})}
    with pytest.raises(InvalidSource, match="'c' is of type int64 in one table and double in another"):
        dp.model(None, dp.Query(n=dp.count("c // 2 = 1")), dp.Scenarios(tables), records=2)


def test_whole_numbers_among_texts_are_written_as_texts_write_them() -> None:
    """Codes 1.0 beside an x were the text 1.0, which nobody has, and 1 without it."""
    reference = pa.table({"code": ["1", "2", "x", "1"] * 50, "rich": [True, False] * 100})
    private = pd.DataFrame({"code": pd.Series([*[1.0] * 9, "x"], dtype=object), "rich": [True, False] * 5})
    assert count_of(reference, private, "code = '1'", 10) == 9
    gap = pa.table({"code": pa.array([*[1.0] * 9, float("nan")]), "rich": [True, False] * 5})
    assert count_of(reference, gap, "code = '1'", 10) == 10  # a gap counts as what is usual
