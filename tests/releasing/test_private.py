from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

import distpriv as dp
from distpriv.errors import InvalidExpression, InvalidQuery, InvalidSource
from distpriv.releasing.private import private_statistics

QUERY = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'F'"), middle=dp.quantile("age", 0.5))
ROWS = {"age": [31, 42, 53, 777], "sex": ["F", "M", "F", "F"]}


def test_the_statistics_are_those_of_all_rows() -> None:
    assert private_statistics(pa.table(ROWS), QUERY, 4).tolist() == [225.75, 3.0, 47.5]


def test_functions_see_all_rows() -> None:
    query = dp.Query(oldest=dp.function(lambda rows: rows["age"].max(), columns=["age"]))
    assert private_statistics(pa.table(ROWS), query, 4).tolist() == [777.0]


@pytest.mark.parametrize(
    ("rows", "records", "error"),
    [
        (ROWS, 5, InvalidSource),
        ({**ROWS, "age": [31, None, 53, 777]}, 4, InvalidSource),
        ({**ROWS, "age": [31.0, float("nan"), 53.0, 777.0]}, 4, InvalidSource),
        ({**ROWS, "age": [31.0, float("inf"), 53.0, 777.0]}, 4, InvalidSource),
        ({"age": pa.array([], pa.int64()), "sex": pa.array([], pa.string())}, 4, InvalidSource),
        ({"sex": ROWS["sex"]}, 4, InvalidExpression),
        ({**ROWS, "age": ["31", "42", "53", "777"]}, 4, (InvalidExpression, InvalidSource)),
    ],
)
def test_what_is_wrong_with_the_private_table_is_said_without_its_values_and_counts(
    rows: dict[str, list[object]], records: int, error: type[Exception]
) -> None:
    with pytest.raises(error) as refusal:
        private_statistics(pa.table(rows), QUERY, records)
    said = str(refusal.value)
    assert not any(word in said for word in ("777", "31", "42", "53"))
    assert not any(character.isdigit() for character in said.replace(f"{records:,} records", ""))
    assert refusal.value.__cause__ is None
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None


def test_a_table_that_is_not_there_is_said_without_its_place(tmp_path: Path) -> None:
    with pytest.raises(InvalidSource) as refusal:
        private_statistics(str(tmp_path / "secret-place.parquet"), QUERY, 4)
    assert "secret-place" not in str(refusal.value)


def test_a_function_that_fails_does_not_show_what_it_failed_on() -> None:
    def fail(rows: Mapping[str, object]) -> float:
        raise RuntimeError(f"cannot digest {rows['age']}")

    with pytest.raises(InvalidQuery) as refusal:
        private_statistics(pa.table(ROWS), dp.Query(bad=dp.function(fail, columns=["age"])), 4)
    assert "777" not in str(refusal.value)
