from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distpriv as dp
from distpriv.errors import InvalidModel
from distpriv.modelling.exact_moments import StratumMoments, dataset_moments


@st.composite
def populations(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Two strata of a few rows of two numbers, and how many rows are drawn of each."""
    value = st.integers(-5, 5).map(float)
    rows = st.lists(st.tuples(value, value), min_size=1, max_size=4).map(np.array)
    first, second = draw(rows), draw(rows)
    sizes = draw(st.tuples(st.integers(0, len(first)), st.integers(0, len(second))).filter(any))
    return first, second, *sizes


def moments(rows: np.ndarray) -> StratumMoments:
    covariance = np.cov(rows.T, ddof=1) if len(rows) > 1 else np.zeros((2, 2))
    return StratumMoments(
        rows=len(rows), mean=rows.mean(axis=0), covariance=covariance, low=rows.min(axis=0), high=rows.max(axis=0)
    )


@settings(max_examples=150)
@given(populations(), st.booleans())
def test_exact_moments_equal_the_enumeration_of_all_datasets(
    population: tuple[np.ndarray, np.ndarray, int, int], replacement: bool
) -> None:
    first, second, n1, n0 = population
    factors = np.array([1.0, n1 + n0])
    ways = (lambda rows, n: product(rows, repeat=n)) if replacement else (lambda rows, n: combinations(rows, n))
    values = np.array([
        factors * np.mean([*some, *others], axis=0) for some in ways(first, n1) for others in ways(second, n0)
    ])  # fmt: skip
    mean, covariance = dataset_moments([(moments(first), n1), (moments(second), n0)], factors, replacement=replacement)
    np.testing.assert_allclose(mean, values.mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(covariance, np.cov(values.T, ddof=0).reshape(2, 2), atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(populations(), st.booleans())
def test_the_model_of_a_table_equals_the_enumeration_too(
    population: tuple[np.ndarray, np.ndarray, int, int], replacement: bool
) -> None:
    first, second, n1, n0 = population
    other = n1 + 1 if n1 < len(first) and n0 > 0 else n1 - 1
    if not (0 <= other <= len(first) and 0 <= n1 + n0 - other <= len(second)):
        return
    rows = np.concatenate([first, second])
    table = {"x": rows[:, 0], "y": rows[:, 1], "s": np.arange(len(rows)) < len(first)}
    n = n1 + n0
    import polars as pl

    model = dp.model(
        pl.DataFrame(table),
        dp.Query(x=dp.mean("x"), y=dp.total("y")),
        dp.Share("s", values=(n1 / n, other / n)),
        records=n,
        replacement=replacement,
    )
    ways = (lambda rows, n: product(rows, repeat=n)) if replacement else (lambda rows, n: combinations(rows, n))
    values = np.array([
        np.mean([*some, *others], axis=0) * [1, n] for some in ways(first, n1) for others in ways(second, n0)
    ])  # fmt: skip
    law = model.distributions[f"s @ {n1 / n:.15g}"]
    np.testing.assert_allclose(law.mean, values.mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(law.covariance, np.cov(values.T, ddof=0).reshape(2, 2), atol=1e-9)


def test_a_whole_population_drawn_without_replacement_has_no_variance() -> None:
    stratum = moments(np.array([[1.0, 2.0], [3.0, 5.0]]))
    assert dataset_moments([(stratum, 2)], np.ones(2), replacement=False)[1].tolist() == [[0, 0], [0, 0]]


def test_a_dataset_of_no_records_is_refused() -> None:
    with pytest.raises(InvalidModel, match="at least one record"):
        dataset_moments([(moments(np.zeros((2, 2))), 0)], np.ones(2), replacement=False)
