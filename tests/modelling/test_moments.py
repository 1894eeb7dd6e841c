from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.spark import Place

import distpriv as dp
from distpriv.errors import InvalidModel
from distpriv.modelling.from_rows import dataset_moments


@st.composite
def populations(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Two strata of a few rows of two numbers, and how many rows are drawn of each."""
    value = st.integers(-5, 5).map(float)
    rows = st.lists(st.tuples(value, value), min_size=1, max_size=4).map(np.array)
    first, second = draw(rows), draw(rows)
    sizes = draw(st.tuples(st.integers(0, len(first)), st.integers(0, len(second))).filter(any))
    return first, second, *sizes


@settings(max_examples=80)
@given(populations(), st.booleans())
def test_exact_moments_equal_the_enumeration_of_all_datasets(
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

    def choices(rows: np.ndarray, size: int) -> Iterator[tuple[np.ndarray, ...]]:
        return product(rows, repeat=size) if replacement else combinations(rows, size)

    values = np.array(
        [[1.0, n] * np.mean([*some, *others], axis=0) for some in choices(first, n1) for others in choices(second, n0)]
    )
    law = model.distributions[f"s @ {n1 / n:.15g}"]
    np.testing.assert_allclose(law.mean, values.mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(law.covariance, np.cov(values.T, ddof=0).reshape(2, 2), atol=1e-9)


def test_a_dataset_of_no_records_is_refused() -> None:
    with pytest.raises(InvalidModel, match="at least one record"):
        dataset_moments([], np.ones(2), replacement=False)
