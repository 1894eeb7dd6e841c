import json
from typing import Any

import pytest
from scripts.reference_sizes import CHOICE, NUMBERS, PAGE, SIZES, filled, recorded, run

RECORDED: list[list[Any]] = json.loads(NUMBERS.read_text(encoding="utf-8"))


def test_the_table_of_the_page_is_made_from_the_recorded_numbers() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page, RECORDED) == page
    assert filled(page, RECORDED[3:]) != page


def test_what_a_plan_chooses_on_a_sample_seldom_misses_its_delta() -> None:
    assert {each[0] for each in RECORDED} == set(SIZES)
    assert len(RECORDED) >= 70
    light = [each for each in RECORDED if "gain" not in each[2]]  # of gains, a small sample lacks the rows that matter
    for own, share in ((RECORDED, 0.02), (light, 0.01)):
        assert sum(each[6] > 1.1 for each in own) <= share * len(own)
        assert sum(each[7] > 1.1 for each in own) > 0.2 * len(own)


@pytest.mark.slow
def test_a_recorded_run_comes_out_again() -> None:
    found = recorded([run(4, 10_000, CHOICE)])[0]
    before = next(each for each in RECORDED if each[:2] == [10_000, 4])
    assert found[:4] == before[:4]
    assert found[4:] == pytest.approx(before[4:], rel=0.05)
