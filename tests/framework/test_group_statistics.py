"""Quantiles and variances of the rows of a group, held against a loop over datasets."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distpriv.errors import InvalidQuery
from distpriv.framework.notation import parse_statistic, statistic_from_dict
from distpriv.framework.statistics import GroupQuantile, GroupVariance, Statistic, group_quantile, group_variance

GROUP = "sex = 'it''s, F'"


@st.composite
def datasets(draw: st.DrawFn) -> tuple[Any, Any]:
    shape = draw(st.tuples(st.integers(1, 5), st.integers(1, 9)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.integers(-3, 4, shape) / 2.0, (rng.random(shape) < draw(st.sampled_from([0.0, 0.3, 0.7, 1.0]))) * 1.0


@given(datasets(), st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 0.9, 1.0]))
def test_a_quantile_of_a_group_is_that_of_its_rows(given_rows: tuple[Any, Any], level: float) -> None:
    rows, member = given_rows
    found = group_quantile("x", GROUP, level, 7.5).evaluate(rows, member)
    for own, inside, value in zip(rows, member, found, strict=True):
        expected = np.quantile(own[inside > 0], level) if inside.any() else 7.5
        assert value == pytest.approx(expected, abs=1e-9)


@given(datasets())
def test_a_variance_of_a_group_is_that_of_its_rows(given_rows: tuple[Any, Any]) -> None:
    rows, member = given_rows
    found = group_variance("x", GROUP, 7.5).evaluate(rows, member)
    for own, inside, value in zip(rows, member, found, strict=True):
        expected = own[inside > 0].var(ddof=1) if inside.sum() > 1 else 7.5
        assert value == pytest.approx(expected, abs=1e-9)


@given(datasets(), st.sampled_from([0.0, 0.5, 0.8]))
def test_one_dataset_alone_has_the_value_that_it_has_among_others(given_rows: tuple[Any, Any], level: float) -> None:
    rows, member = given_rows
    for statistic in (group_quantile("x", GROUP, level, 1), group_variance("x", GROUP, 1)):
        together = statistic.evaluate(rows, member)
        assert [float(statistic.evaluate(*each)) for each in zip(rows, member, strict=True)] == together.tolist()


@given(datasets(), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.4, 0.5, 1.0]))
def test_one_record_moves_them_by_no_more_than_they_say(given_rows: tuple[Any, Any], seed: int, level: float) -> None:
    rows, member = given_rows
    rng = np.random.default_rng(seed)
    place = rng.integers(rows.shape[1])
    other, inside = rows.copy(), member.copy()
    other[:, place], inside[:, place] = rng.integers(-3, 4) / 2, rng.integers(2)
    for statistic in (group_quantile("x", GROUP, level, 0.25), group_variance("x", GROUP, 0.25)):
        (most,) = statistic.record_sensitivities(rows.shape[1], [(-1.5, 1.5), (0, 1)])
        assert np.abs(statistic.evaluate(rows, member) - statistic.evaluate(other, inside)).max() <= most + 1e-12


@pytest.mark.parametrize(
    "statistic",
    [
        group_quantile("round(x, 2)", GROUP, 1 / 3, -2.5, resolution=0.5),
        group_quantile("x", "a AND b", 1, 3),
        group_variance("x", GROUP, 1e-20),
        group_variance("x", "a = 1", 4, resolution=1),
    ],
)
def test_they_come_back_from_text_and_from_a_ledger(statistic: Statistic) -> None:
    assert parse_statistic(statistic.text) == statistic
    assert statistic_from_dict(statistic.to_dict()) == statistic
    assert [row.predicate for row in statistic.row_values] == [False, True]
    assert not statistic.is_mean


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("group_quantile(x, a)", "does not say which quantile"),
        ("group_quantile(x, a, 0.5)", "does not say what counts for an empty group"),
        ("group_quantile(x, a, 2, 0)", "the level of a quantile must be"),
        ("group_variance(x, a)", "does not say what counts for an empty group"),
        ("group_variance(x, a, -1)", "what counts for a group of fewer than two must be at least 0"),
        ("group_variance(x)", "has nothing to compute"),
    ],
)
def test_what_is_wrong_with_one_is_said(text: str, message: str) -> None:
    with pytest.raises(InvalidQuery, match=message):
        parse_statistic(text)


def test_steps_are_those_of_the_smallest_group() -> None:
    assert isinstance(parse_statistic("group_quantile(x, a, 0.5, 1)"), GroupQuantile)
    assert isinstance(parse_statistic("group_variance(x, a, 1)"), GroupVariance)
    rows = np.array([[0.0, 3.0], [3.0, 6.0], [0.0, 6.0]])
    values = group_variance("x", "a", 0).evaluate(rows, np.ones_like(rows))
    (step,) = group_variance("x", "a", 0).steps(100, [3.0, 1.0])
    assert set((values / step).tolist()) == {1.0, 4.0}
