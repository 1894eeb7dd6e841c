"""A mean, a quantile and a correlation as secrets: which values are kept apart, and what is refused."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import distpriv as dp
from distpriv.errors import InvalidInput, InvalidSecret
from distpriv.framework.scenarios import Scenario
from distpriv.framework.secrets import protect
from distpriv.framework.tilts import Tilt


@given(
    low=st.integers(-50, 50),
    points=st.integers(2, 12),
    step=st.sampled_from([0.1, 0.25, 1.0, 3.0]),
    reach=st.integers(1, 12),
)
def test_every_two_values_of_a_grid_at_most_within_apart_are_protected_and_no_others(
    low: int, points: int, step: float, reach: int
) -> None:
    high = low + (points - 1) * step
    secret = dp.Mean("x", between=(low, high), within=reach * step, step=step)
    protected = secret.protected(records=10)
    values = {name: scenario.tilt.value for name, scenario in protected.scenarios.items() if scenario.tilt is not None}
    assert len(values) == points
    near = {
        (a, b) for a in values for b in values if a != b and abs(values[a] - values[b]) <= reach * step * (1 + 1e-9)
    }
    assert set(protected.pairs) == near


def test_values_are_all_kept_apart_from_each_other() -> None:
    protected = dp.Quantile("age", 0.25, values=(30, 25, 35)).protected(records=7)
    assert list(protected.scenarios) == [f"quantile(age, 0.25) @ {value}" for value in (25, 30, 35)]
    assert len(protected.pairs) == 6
    assert all(scenario.records == 7 and scenario.predicate is None for scenario in protected.scenarios.values())


def test_coupled_datasets_of_two_values_may_differ_in_every_record_and_other_properties_are_not_coupled() -> None:
    one, other = dp.Mean("age", values=(38, 40)).protected(100).scenarios.values()
    assert one.couples_with(other)
    assert one.swapped(other) == 100
    (hours, _) = dp.Mean("hours", values=(38, 40)).protected(100).scenarios.values()
    share = Scenario.of_share("age > 30", positives=40, records=100)
    assert not one.couples_with(hours)
    assert not one.couples_with(share)
    assert not share.couples_with(one)
    assert not one.draws_as(hours)


def test_several_secrets_are_protected_at_once() -> None:
    together = protect([dp.Mean("age", values=(38, 40)), dp.Share("age > 30", values=(0.4, 0.5))], records=10)
    assert list(together.scenarios) == ["mean(age) @ 38", "mean(age) @ 40", "age > 30 @ 0.4", "age > 30 @ 0.5"]


@pytest.mark.parametrize(
    "secret",
    [
        dp.Mean("a + b", values=(1, 2)),
        dp.Quantile("a", 0.5, between=(1, 3), within=1, step=0.5),
        dp.Correlation("a", "b", values=(-0.5, 0)),
    ],
)
def test_a_scenario_is_the_same_after_it_was_written_down(secret: Any) -> None:
    for name, scenario in secret.protected(records=5).scenarios.items():
        assert Scenario.from_dict(name, scenario.to_dict(), records=5) == scenario
    assert secret.in_words.endswith(".")
    assert secret.tables == {}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: dp.Mean("", values=(1, 2)), "Mean needs a number as SQL text, got ''"),
        (lambda: dp.Mean(3, values=(1, 2)), "Mean needs a number as SQL text, got 3"),  # type: ignore[arg-type]
        (lambda: dp.Mean("x"), "needs either values=.38, 42. or between"),
        (lambda: dp.Mean("x", between=(1, 2), within=1), "together with within=2 and step=1"),
        (lambda: dp.Mean("x", values=(1, 2), step=1), "needs either values"),
        (lambda: dp.Mean("x", values=(1,)), "at least two different values of mean.x."),
        (lambda: dp.Mean("x", values=(1, 1)), "at least two different values"),
        (lambda: dp.Mean("x", values=(1, "2")), "a value of mean.x. must be a finite number, got '2'"),  # type: ignore[arg-type]
        (lambda: dp.Mean("x", values=(1, float("inf"))), "must be a finite number, got inf"),
        (lambda: dp.Mean("x", between=(2, 1), within=1, step=1), "between must ascend"),
        (lambda: dp.Mean("x", between=3, within=1, step=1), "between must be two values"),  # type: ignore[arg-type]
        (lambda: dp.Mean("x", between=(1, 2), within=0.5, step=1), "no two values of mean.x. .* give a smaller step"),
        (lambda: dp.Mean("x", between=(1, 2), within=1, step=0), "step must be above 0"),
        (lambda: dp.Mean("x", between=(0, 1), within=1, step=1e-4), "give a larger step"),
        (lambda: dp.Mean("x", values=(1, 1 + 1e-15)), "at least two different values"),
        (lambda: dp.Mean("x", between=(1e9, 1e9 + 1), within=1e-3, step=1e-4), "is too small to tell values"),
        (lambda: dp.Quantile("x", 1, values=(1, 2)), "the level of a quantile must be above 0 and below 1, got 1"),
        (lambda: dp.Correlation("a", "a", values=(0, 0.1)), "the correlation of 'a' with itself is always 1"),
        (lambda: dp.Correlation("a", "b", values=(0, 1)), "correlation.a, b. must be above -1 and below 1, got 1"),
    ],
)
def test_what_is_not_clear_is_refused_in_a_sentence(make: Callable[[], object], said: str) -> None:
    with pytest.raises(InvalidSecret, match=said):
        make()


def test_a_property_that_is_none_is_refused_when_it_is_read_again() -> None:
    written = {**Tilt(kind="mean", expressions=("x",), value=1.0).to_dict(), "kind": "median"}
    with pytest.raises(InvalidInput, match="there is no property 'median'"):
        Tilt.from_dict(written)
