"""What was claimed of how private rows are read, and what broke it."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distpriv as dp
from distpriv.engines.engine import engine_for
from distpriv.releasing.fingerprint import agree, fingerprint
from distpriv.releasing.private import look_at

SECRET = dp.Share("rich", values=(0, 1))
THREE_VALUES = dp.model(
    pa.table({"x": [1.0, 2.5, 7.0, 7.0], "rich": [True, False, True, False]}),
    dp.Query(one=dp.count("x = 1"), two=dp.count("x = 2.5"), seven=dp.count("x = 7")),
    SECRET,
    records=1,
)


def written(folder: Path, name: str, column: str, values: list[str]) -> str:
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
    reference = written(tmp_path, "public.csv", "member", ["True", "False", "unknown", "False"] * 50)
    private = written(tmp_path, "private.csv", "member", [*["False"] * 9, odd])
    found = count_of(reference, private, "member = 'False'", 10)
    assert found == 9 + (odd in ("False", "", "7"))  # what the reference has most counts for what it has not


@pytest.mark.parametrize("odd", ["11/01/2024", "01/13/2024", "unknown", "2024-03-05"])
def test_one_row_of_a_file_does_not_decide_how_dates_are_read(tmp_path: Path, odd: str) -> None:
    """99 rows of 11/01/2024 were in January or in November, as the hundredth was."""
    reference = written(tmp_path, "public.csv", "d", ["11/01/2024", "25/11/2024", "05/03/2024", "11/01/2024"] * 50)
    private = written(tmp_path, "private.csv", "d", [*["11/01/2024"] * 9, odd])
    assert count_of(reference, private, "month(d) = 1", 10) in (9, 10)


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
