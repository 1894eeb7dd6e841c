import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

from distpriv.framework.arrays import Floats
from distpriv.law.fourier import Circle, StratumLaw, projected
from distpriv.modelling.row_laws import RowLaws

populations = st.lists(st.integers(-40, 40).map(lambda v: v / 4), min_size=2, max_size=9)


def exactly(circle: Circle, sums: Floats) -> Floats:
    return np.asarray(np.exp(1j * np.outer(circle.angular, sums)).mean(axis=1))


@given(values=populations, data=st.data())
@settings(max_examples=50)
def test_draws_without_replacement_have_the_law_of_all_subsets(values: list[float], data: st.DataObject) -> None:
    size = data.draw(st.integers(0, len(values)))
    circle = Circle(circumference=64.0, frequencies=40)
    found = StratumLaw.of(circle, np.array(values)).drawn(size, replacement=False)
    sums = np.array([sum(chosen) for chosen in combinations(values, size)])
    np.testing.assert_allclose(found, exactly(circle, sums), atol=1e-9)


@given(values=populations, size=st.integers(0, 4))
@settings(max_examples=50)
def test_draws_with_replacement_have_the_law_of_all_sequences(values: list[float], size: int) -> None:
    circle = Circle(circumference=64.0, frequencies=40)
    found = StratumLaw.of(circle, np.array(values)).drawn(size, replacement=True)
    sums = np.array([sum(chosen) for chosen in product(values, repeat=size)])
    np.testing.assert_allclose(found, exactly(circle, sums), atol=1e-9)


@pytest.mark.parametrize("size", [1, 300, 2999, 3000, 3001, 5999, 6000])
def test_a_count_is_hypergeometric_however_much_of_the_table_is_drawn(size: int) -> None:
    values = (np.arange(6000) < 1800).astype(float)
    circle = Circle(circumference=8192.0, frequencies=4096)
    found = StratumLaw.of(circle, values).drawn(size, replacement=False)
    counts = np.arange(1801)
    law = np.exp(1j * np.outer(circle.angular[::37], counts)) @ hypergeom(6000, 1800, size).pmf(counts)
    np.testing.assert_allclose(found[::37], law, atol=1e-10)


def test_many_rows_that_are_each_a_little_off_their_place_leave_ripples_as_they_are() -> None:
    """On a circle with room for a huge row a fifth of what repeats was lost."""
    rows, low, share, deviation = 200_000, 0.3137, 1e-4, math.sqrt(20)
    reach, noise = 824 * deviation, 0.1 * deviation
    frequencies = math.ceil(8.6 * reach / (2 * math.pi * noise))
    assert frequencies <= Circle.MOST // Circle.points_a_frequency(rows)
    circle = Circle(circumference=reach, frequencies=frequencies, rows=rows)
    t, values = circle.angular, np.where(np.arange(10_000) == 0, low + 1, low)
    hidden = np.exp(-((noise * t) ** 2) / 2)
    exact = (np.exp(1j * t * low) * (1 + share * np.expm1(1j * t))) ** rows * hidden
    found = circle.transform(values)[: frequencies + 1] ** rows * hidden
    assert abs(exact[np.abs(t - 2 * math.pi).argmin()]) > 0.01
    np.testing.assert_allclose(found, exact, atol=1e-5)


@pytest.mark.parametrize(("rows", "within"), [(150, 1e-6), (1000, 1e-3)])
def test_phases_of_few_and_of_many_rows_are_those_of_a_projection(rows: int, within: float) -> None:
    values = np.random.default_rng(rows).normal(size=(rows, 1))
    laws = RowLaws(strata=(values,), drawn={"a": {0: 20}}, replacement=False)
    circle = Circle(circumference=80.0, frequencies=8)
    exact = projected(laws, np.ones(1), circle)["a"]
    for place in range(1, 5):
        found = laws.phases(circle.angular[place : place + 1])["a"]
        assert found == pytest.approx(complex(exact[place]), abs=within)
