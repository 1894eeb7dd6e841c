import json
from typing import Any

import pytest
from scripts.reference_sizes import CHOICE, NUMBERS, PAGE, SIZES, filled, recorded, run

RECORDED: list[list[Any]] = json.loads(NUMBERS.read_text(encoding="utf-8"))


def test_the_table_of_the_page_is_made_from_the_recorded_numbers() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page, RECORDED) == page
    assert filled(page, RECORDED[3:]) != page


@pytest.mark.parametrize("rows", SIZES)
def test_what_a_plan_chooses_on_a_sample_misses_its_delta_in_one_of_a_hundred_runs_at_most(rows: int) -> None:
    own = [each for each in RECORDED if each[0] == rows]
    assert len(own) >= 100
    assert sum(each[5] > 1.1 for each in own) <= len(own) / 100


@pytest.mark.slow
def test_a_recorded_run_comes_out_again() -> None:
    found = recorded([run(5, 2_000, CHOICE)])[0]
    before = next(each for each in RECORDED if each[:2] == [2_000, 5])
    assert found[:3] == before[:3]
    assert found[3:] == pytest.approx(before[3:], rel=0.05)
