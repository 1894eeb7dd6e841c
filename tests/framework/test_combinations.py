"""Several secrets at once: every combination of their values, each kept apart from each."""

from typing import Any

import pytest

import distpriv as dp
from distpriv.errors import InvalidSecret
from distpriv.framework.scenarios import Scenario

SHARE = dp.Share("sex = 'Female'", values=(0.3, 0.4))
HOURS = dp.Mean("hours_per_week", values=(38, 40, 42))


def test_any_two_combinations_of_values_are_protected() -> None:
    found = dp.Combinations(SHARE, HOURS).protected(records=100)
    assert len(found.scenarios) == 6
    assert len(found.pairs) == 6 * 5
    assert set(found.scenarios) == {
        f"share(sex = 'Female') @ {share} and mean(hours_per_week) @ {hours}"
        for share in (0.3, 0.4)
        for hours in (38, 40, 42)
    }


def test_of_ranges_two_are_protected_where_each_secret_protects_its_own() -> None:
    near = dp.Mean("age", between=(38, 40), within=1, step=1)
    found = dp.Combinations(dp.Share("x > 0", values=(0.5, 0.6)), near).protected(records=10)
    ages = {name: scenario.tilt.order[1] for name, scenario in found.scenarios.items() if scenario.tilt is not None}
    assert len(found.scenarios) == 6
    assert all(abs(ages[one] - ages[other]) <= 1 for one, other in found.pairs)
    far = [(a, b) for a in ages for b in ages if a != b and abs(ages[a] - ages[b]) > 1]
    assert len(found.pairs) + len(far) == 6 * 5


def test_a_share_may_be_given_as_a_number_of_records() -> None:
    counted = dp.Share("sex = 'Female'", positives=(30, 40))
    assert dp.Combinations(counted, HOURS).protected(100) == dp.Combinations(SHARE, HOURS).protected(100)


def test_scenarios_are_written_down_and_read_again() -> None:
    for name, scenario in dp.Combinations(SHARE, HOURS).protected(100).scenarios.items():
        assert Scenario.from_dict(name, scenario.to_dict(), 100) == scenario


@pytest.mark.parametrize(
    ("secrets", "sentence"),
    [
        ((SHARE,), "two secrets at least"),
        ((), "two secrets at least"),
        ((SHARE, dp.Scenarios({"a": "a.parquet", "b": "b.parquet"})), "got Scenarios"),
        ((SHARE, dp.Shift("a.parquet", "b.parquet", values=(0, 0.5))), "got Shift"),
        ((SHARE, dp.Combinations(SHARE, HOURS)), "got Combinations"),
        ((SHARE, "sex = 'Female'"), "got str"),
    ],
)
def test_what_cannot_be_combined_is_refused(secrets: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(InvalidSecret, match=sentence):
        dp.Combinations(*secrets)


@pytest.mark.parametrize(
    ("secrets", "sentence"),
    [
        ((SHARE, dp.Share("sex = 'Female'", values=(0.1, 0.2))), "two of the combined secrets are about share"),
        ((dp.Mean("age", values=(38, 40)), dp.Correlation("age", "x", values=(0, 0.1))), "keeps the mean of age"),
        ((SHARE, dp.Mean("age", between=(0, 1000), within=10, step=1)), "too many pairs"),
    ],
)
def test_values_that_cannot_be_had_at_once_are_refused(secrets: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(InvalidSecret, match=sentence):
        dp.Combinations(*secrets).protected(records=100)
