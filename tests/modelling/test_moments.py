from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from distpriv.modelling.from_rows import dataset_moments
from distpriv.modelling.reference import StratumMoments
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.spark import Place

import distpriv as dp
from distpriv.errors import InvalidModel


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


def every_dataset(
    first: np.ndarray, second: np.ndarray, sizes: tuple[int, int], factors: list[float], replacement: bool
) -> np.ndarray:
    """The statistics of every dataset that could be drawn, all of them equally likely."""

    def ways(rows: np.ndarray, size: int) -> Iterator[tuple[np.ndarray, ...]]:
        return product(rows, repeat=size) if replacement else combinations(rows, size)

    return np.array(
        [
            factors * np.mean([*some, *others], axis=0)
            for some in ways(first, sizes[0])
            for others in ways(second, sizes[1])
        ]
    )


@settings(max_examples=150)
@given(populations(), st.booleans())
def test_exact_moments_equal_the_enumeration_of_all_datasets(
    population: tuple[np.ndarray, np.ndarray, int, int], replacement: bool
) -> None:
    first, second, n1, n0 = population
    factors = [1.0, n1 + n0]
    values = every_dataset(first, second, (n1, n0), factors, replacement)
    mean, covariance = dataset_moments(
        [(moments(first), n1), (moments(second), n0)], np.array(factors), replacement=replacement
    )
    np.testing.assert_allclose(mean, values.mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(covariance, np.cov(values.T, ddof=0).reshape(2, 2), atol=1e-9)


@settings(max_examples=40)
@given(populations(), st.booleans())
def test_the_model_of_a_table_equals_the_enumeration_too(
    place: Place, population: tuple[np.ndarray, np.ndarray, int, int], replacement: bool
) -> None:
    first, second, n1, n0 = population
    n = n1 + n0
    other = n1 + 1 if n0 > 0 else n1 - 1
    assume(replacement or (other <= len(first) and n - other <= len(second)))
    rows = np.concatenate([first, second])
    model = dp.model(
        place(pl.DataFrame({"x": rows[:, 0], "y": rows[:, 1], "s": np.arange(len(rows)) < len(first)})),
        dp.Query(x=dp.mean("x"), y=dp.total("y")),
        dp.Share("s", values=(n1 / n, other / n)),
        records=n,
        replacement=replacement,
        reference="population",
    )
    values = every_dataset(first, second, (n1, n0), [1.0, n], replacement)
    law = model.distributions[f"s @ {n1 / n:.15g}"]
    np.testing.assert_allclose(law.mean, values.mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(law.covariance, np.cov(values.T, ddof=0).reshape(2, 2), atol=1e-9)


def test_a_whole_population_drawn_without_replacement_has_no_variance() -> None:
    stratum = moments(np.array([[1.0, 2.0], [3.0, 5.0]]))
    assert dataset_moments([(stratum, 2)], np.ones(2), replacement=False)[1].tolist() == [[0, 0], [0, 0]]


def test_a_dataset_of_no_records_is_refused() -> None:
    with pytest.raises(InvalidModel, match="at least one record"):
        dataset_moments([(moments(np.zeros((2, 2))), 0)], np.ones(2), replacement=False)
