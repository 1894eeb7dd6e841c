import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.scale import COMPARED, COMPARED_SQL, SIZES, WIDTHS
from benchmarks.scale_growth import growth, points_of
from scripts import scale_page
from scripts.scale_page import LIMIT, NUMBERS, PAGE, STYLES, draw, filled, tables

RECORDED: dict[str, Any] = json.loads(NUMBERS.read_text(encoding="utf-8"))
POINTS = points_of(RECORDED)


def test_the_tables_of_the_page_are_made_from_the_recorded_numbers() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page, RECORDED) == page
    changed = json.loads(json.dumps(RECORDED))
    for point in changed["points"]:
        point["cpu"] = [2 * seconds for seconds in point["cpu"]]
    before, after = tables(RECORDED), tables(changed)
    assert {name for name in before if before[name] != after[name]} == set(before) - {"machine", "load"}


def test_a_page_without_a_place_for_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no place for the table"):
        filled("nothing", RECORDED)


def test_everything_was_measured_once() -> None:
    assert (scale_page.COMPARED, scale_page.COMPARED_SQL) == (COMPARED, COMPARED_SQL)
    wanted = [(way, rows, width) for way in ("duckdb", "spark") for rows in SIZES for width in WIDTHS]
    wanted += [(way, COMPARED, width) for way in ("pandas", "sampling") for width in WIDTHS]
    wanted += [("covar_samp", COMPARED_SQL, width) for width in WIDTHS]
    assert sorted((p.way, p.rows, p.width) for p in POINTS) == sorted(wanted)


def test_a_hundred_million_rows_of_five_columns_fit_in_two_gigabytes() -> None:
    point = next(p for p in POINTS if (p.way, p.rows, p.width) == ("duckdb", 10**8, 5))
    assert max(point.peak) < LIMIT


@pytest.mark.parametrize("width", WIDTHS)
def test_time_on_duckdb_is_linear_and_memory_flat(width: int) -> None:
    found = growth(POINTS, "duckdb", width)
    assert 0.9 < found.wall_exponent < 1.1
    assert 0.9 < found.cpu_exponent < 1.1
    assert found.memory_ratio < 1.25


@pytest.mark.parametrize("width", WIDTHS)
def test_time_and_memory_on_spark_grow_no_faster_than_the_rows(width: int) -> None:
    found = growth(POINTS, "spark", width)
    assert found.cpu_exponent < 1.1
    assert found.memory_ratio < 2


@pytest.mark.parametrize("width", WIDTHS)
def test_pandas_takes_many_times_the_memory_and_sampling_many_times_the_time(width: int) -> None:
    found = {p.way: p for p in POINTS if (p.rows, p.width) == (COMPARED, width)}
    assert max(found["pandas"].peak) > 5 * max(found["duckdb"].peak)
    assert found["sampling"].least("cpu") > 10 * found["duckdb"].least("cpu")
    assert 0.5 < found["pandas"].least("cpu") / found["duckdb"].least("cpu") < 2


def test_the_picture_is_the_same_every_time(tmp_path: Path) -> None:
    once, again = (draw(RECORDED, tmp_path).read_bytes() for _ in range(2))
    assert once == again
    assert b"<dc:date>" not in once
    assert (NUMBERS.parent / "scale.svg").exists()
    assert {(p.way, p.width) for p in POINTS} >= set(STYLES)
