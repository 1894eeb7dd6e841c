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
        (lambda: dp.Share("x"), r"either values=\(0\.45, 0\.55\) or between"),
        (lambda: dp.Share("x", between=(0.3, 0.7)), "together with within"),
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
        (lambda: protect([], 10), "a secret is a Share or Scenarios, .*: write Share"),
        (lambda: protect("income", 10), "a secret is a Share or Scenarios"),  # type: ignore[arg-type]
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
