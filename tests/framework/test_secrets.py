from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distpriv as dp
from distpriv.errors import InvalidSecret
from distpriv.framework.secrets import protect


@given(st.integers(2, 60), st.integers(0, 59), st.integers(1, 60), st.integers(1, 60))
def test_a_range_protects_exactly_the_attainable_pairs_within_reach(n: int, low: int, width: int, reach: int) -> None:
    low, high, reach = min(low, n - 1), min(low + width, n), min(reach, n)
    if low >= high:
        low = high - 1
    protected = dp.Share("x", between=(low / n, high / n), within=reach / n).protected(n)
    expected = {
        (f"x @ {a / n:.15g}", f"x @ {b / n:.15g}")
        for a in range(low, high + 1)
        for b in range(low, high + 1)
        if 0 < abs(a - b) <= reach
    }
    assert set(protected.pairs) == expected
    assert len(protected.pairs) == len(expected)


@given(st.integers(4, 60), st.integers(0, 20), st.integers(2, 40), st.integers(1, 5), st.integers(1, 8))
def test_a_grid_protects_exactly_its_pairs_within_reach(n: int, low: int, width: int, stride: int, reach: int) -> None:
    low, width = min(low, n - 2), max(width, stride)
    high = low + width
    if high > n:
        low, high = 0, n
    stride = min(stride, high - low)
    within = min(reach * stride, n)
    protected = dp.Share("x", between=(low / n, high / n), within=within / n, step=stride / n).protected(n)
    counts = range(low, high + 1, stride)
    expected = {(a, b) for a in counts for b in counts if 0 < abs(a - b) <= within}
    positives = {name: scenario.positives for name, scenario in protected.scenarios.items()}
    assert {(positives[a], positives[b]) for a, b in protected.pairs} == expected


def test_shares_by_numbers_of_records_are_those_shares() -> None:
    counted, shares = dp.Share("x", positives=(40, 60)), dp.Share("x", values=(0.4, 0.6))
    assert counted.protected(100) == shares.protected(100)
    assert counted.in_words == "Which share of the records satisfies x: whether 40 or 60 of them do."
    grid = dp.Share("x", between=(0.3, 0.7), within=0.1, step=0.05)
    assert "between 30 % and 70 % in steps of 5 %: which of two values" in grid.in_words


def test_two_values_make_one_pair_in_both_orders_with_readable_names() -> None:
    protected = dp.Share("income = '>50K'", values=(0.55, 0.45)).protected(100)
    assert list(protected.scenarios) == ["income = '>50K' @ 0.45", "income = '>50K' @ 0.55"]
    assert protected.pairs == (
        ("income = '>50K' @ 0.45", "income = '>50K' @ 0.55"),
        ("income = '>50K' @ 0.55", "income = '>50K' @ 0.45"),
    )
    scenario = protected.scenarios["income = '>50K' @ 0.45"]
    assert scenario.positives == 45


def test_a_computed_share_is_taken_for_what_it_means() -> None:
    assert list(dp.Share("x", values=(0.1 + 0.2, 2 / 3)).protected(30).scenarios) == [
        "x @ 0.3",
        "x @ 0.666666666666667",
    ]


def test_several_secrets_are_one_set_closed_under_swapping_without_duplicates() -> None:
    income, sex = dp.Share("income", values=(0.4, 0.5)), dp.Share("sex", values=(0.4, 0.5, 0.6))
    boom = dp.Scenarios({"boom": "a.csv", "bust": "b.csv"}, pairs=[("bust", "boom"), ("boom", "bust")])
    protected = protect([income, sex, income, boom], records=10)
    assert len(protected.pairs) == len(set(protected.pairs)) == 2 + 6 + 2
    assert {(b, a) for a, b in protected.pairs} == set(protected.pairs)
    assert len(protected.scenarios) == 2 + 3 + 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dp.Share("x"), r"either values=\(0\.45, 0\.55\), or positives=\(45, 55\), or between"),
        (lambda: dp.Share("x", between=(0.3, 0.7)), "together with within"),
        (lambda: dp.Share("x", values=(0.3, 0.4), positives=(30, 40)), r"or positives=\(45, 55\)"),
        (lambda: dp.Share("x", values=(0.3, 0.4), step=0.1), "step=0.05 if wanted"),
        (lambda: dp.Share("x", positives=(30, 40), nearest=True), "goes with values"),
        (lambda: dp.Share("x", between=(0.3, 0.4), within=0.1, nearest=True), "goes with values"),
        (lambda: dp.Share("x", values=(0.3, 0.4), nearest=1), "nearest must be True or False"),  # type: ignore[arg-type]
        (lambda: dp.Share("x", values=(0.3, 0.301), nearest=True).protected(100), "is the same number"),
        (lambda: dp.Share("x", positives=(30, 30)), "at least two different numbers of records"),
        (lambda: dp.Share("x", positives=(30, 40.5)), "at least two different numbers"),  # type: ignore[arg-type]
        (lambda: dp.Share("x", positives=(-1, 40)), "at least two different numbers"),
        (lambda: dp.Share("x", positives=(30, True)), "at least two different numbers"),
        (lambda: dp.Share("x", positives=(30, 101)).protected(100), "101 of 100 records cannot satisfy x"),
        (lambda: dp.Share("x", between=(0.3, 0.7), within=0.1, step=0), "step must be above 0"),
        (
            lambda: dp.Share("x", between=(0.3, 0.7), within=0.1, step=0.025).protected(100),
            r"a step of 0.025 is no whole number of 100 records: give one of the nearest, 0\.02 or 0\.03",
        ),
        (lambda: dp.Share("x", between=(0.3, 0.7), within=0.1, step=0.2).protected(100), "in steps of 20/100"),
        (
            lambda: dp.Share("x", between=(0.1, 0.9), within=0.1).protected(20_000),
            r"give a step, such as 0\.025, or the shares",
        ),
        (lambda: dp.Share("x", values=(0.3, 0.4), within=0.1), "either values"),
        (lambda: dp.Share("", values=(0.3, 0.4)), "needs a predicate"),
        (lambda: dp.Share("x", values=(0.3,)), "at least two different shares"),
        (lambda: dp.Share("x", values=(0.3, 0.3)), "at least two different shares"),
        (lambda: dp.Share("x", values=0.3), "at least two shares, got 0.3"),  # type: ignore[arg-type]
        (
            lambda: dp.Share("x", values=(45, 55)),
            "a share must be at least 0 and at most 1, got 45: write 45 % as 0.45",
        ),
        (lambda: dp.Share("x", between=(0.7, 0.3), within=0.1), "between must ascend"),
        (lambda: dp.Share("x", between=(0.3, 0.7), within=0), "within must be above 0"),
        (
            lambda: dp.Share("income = '>50K'", values=(0.455, 0.55)).protected(100),
            r"100 records cannot have a share of 0\.455 .* give one of the nearest, 0\.45 \(45 records\) or 0\.46 \(46",
        ),
        (lambda: dp.Share("x", between=(0.3, 0.7), within=0.001).protected(100), r"steps of 1/100, so widen"),
        (lambda: dp.Share("x", between=(0.1, 0.9), within=0.5).protected(10**6), r"values=\(…\) instead"),
        (lambda: dp.Scenarios({"a": 1}), "at least two named tables"),
        (lambda: dp.Scenarios({"boom": 1, "bust": 2}, pairs=[("boom", "bast")]), "did you mean 'bust'"),
        (lambda: dp.Scenarios({"boom": 1, "bust": 2}, pairs=[("boom", "boom")]), "from itself"),
        (lambda: dp.Scenarios({"boom": 1, "bust": 2}, pairs=["boom"]), "two names of scenarios"),  # type: ignore[list-item]
        (lambda: dp.Scenarios({"boom": 1, "bust": 2}, pairs=[]), "no protected pair"),
        (lambda: dp.Share("x", values=np.array(0.3)), "at least two shares"),
        (lambda: dp.Scenarios({"boom": 1, "bust": 2}, pairs=5), "no protected pair"),  # type: ignore[arg-type]
        (lambda: protect([], 10), "a secret is a Share, a Mean, .*: write Share"),
        (lambda: protect("income", 10), "a secret is a Share, a Mean"),  # type: ignore[arg-type]
        (
            lambda: protect([dp.Scenarios({"a": 1, "b": 2}), dp.Scenarios({"a": 3, "b": 2})], 10),
            "two secrets have a scenario named 'a'",
        ),
    ],
)
def test_a_senseless_secret_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidSecret, match=message):
        make()


def test_a_scenario_without_a_table_is_refused() -> None:
    with pytest.raises(InvalidSecret, match="at least two named tables"):
        dp.Scenarios({"boom": "a.csv", "bust": None})


@given(st.integers(10, 2000), st.floats(0, 0.4))
def test_the_nearest_share_is_the_nearest_that_so_many_records_can_have(records: int, share: float) -> None:
    protected = dp.Share("x", values=(share, 1.0), nearest=True).protected(records)
    number = min(scenario.positives for scenario in protected.scenarios.values())
    assert abs(number / records - share) <= min(abs(k / records - share) for k in range(records + 1)) + 1e-12


@pytest.mark.parametrize("records", [99, 100, 101, 1000])
def test_shares_that_records_can_have_are_the_same_whether_or_not_the_nearest_is_asked_for(records: int) -> None:
    values = (0.0, 1.0)
    near, exact = (dp.Share("x", values=values, nearest=nearest) for nearest in (True, False))
    assert near.protected(records) == exact.protected(records)
    assert near.taken(records) == ""


def test_of_two_shares_that_are_as_near_the_larger_is_taken() -> None:
    half = dp.Share("x", values=(0.125, 0.5), nearest=True)
    assert [scenario.positives for scenario in half.protected(4).scenarios.values()] == [1, 2]


def test_the_nearest_step_is_a_whole_number_of_records_and_at_least_one() -> None:
    grid = dp.Share("x", between=(0.3, 0.7), within=0.1, step=0.033, nearest=True)
    assert [scenario.positives for scenario in grid.protected(100).scenarios.values()][:3] == [30, 33, 36]
    assert grid.taken(100) == "Of 100 records the nearest step is taken: 3 (3 %) for 3.3 %."
    assert "in steps of 3.3 %, or the nearest that there is" in grid.in_words
    tiny = dp.Share("x", between=(0.3, 0.7), within=0.1, step=0.001, nearest=True)
    assert len(tiny.protected(100).scenarios) == 41
