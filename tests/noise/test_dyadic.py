from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distpriv.noise.dyadic import Dyadic, Wholes, nearest, product

numbers = st.floats(allow_nan=False, allow_infinity=False)
triples = st.lists(numbers, min_size=3, max_size=3)


def fractions(values: Dyadic) -> list[Fraction]:
    return [Fraction(whole, 1 << values.exponent) for whole in np.ravel(values.whole).tolist()]


@given(triples)
def test_floats_go_in_and_out_unchanged(values: list[float]) -> None:
    assert fractions(Dyadic.of(values)) == [Fraction(value) for value in values]
    assert Dyadic.of(values).floats().tolist() == values
    assert Dyadic.of(values).exponent == max(Fraction(value).denominator.bit_length() - 1 for value in values)


@given(triples, triples)
def test_sums_differences_and_products_are_exact(first: list[float], second: list[float]) -> None:
    one, other = Dyadic.of(first), Dyadic.of(second)
    exact = [(Fraction(a), Fraction(b)) for a, b in zip(first, second, strict=True)]
    assert fractions(one + other) == [a + b for a, b in exact]
    assert fractions(one - other) == [a - b for a, b in exact]
    product = one @ other
    assert fractions(product) == [sum(a * b for a, b in exact)]


@given(triples, st.lists(st.integers(-1000, 1000), min_size=3, max_size=3))
def test_every_number_can_be_taken_some_times(values: list[float], counts: list[int]) -> None:
    times = Dyadic.of(values).times(np.array(counts, dtype=object))
    assert fractions(times) == [count * Fraction(value) for count, value in zip(counts, values, strict=True)]


@given(triples, st.integers(-300, 300))
def test_rounding_to_a_step_is_never_off_by_more_than_half_of_it(values: list[float], exponent: int) -> None:
    step = Fraction(2) ** exponent
    counts = nearest(Dyadic.of(values), Dyadic.of([float(step)] * 3))
    for value, count in zip(values, counts.tolist(), strict=True):
        assert -step / 2 < count * step - Fraction(value) <= step / 2


@given(triples, st.integers(0, 60))
def test_cutting_off_places_changes_less_than_the_last_of_them(values: list[float], places: int) -> None:
    exact = fractions(Dyadic.of(values))
    cut = fractions(Dyadic.of(values).shortened(places))
    assert all(0 <= a - b < Fraction(1, 1 << places) for a, b in zip(exact, cut, strict=True))


def test_what_is_no_number_is_not_passed_off_as_one() -> None:
    with pytest.raises(OverflowError):
        Dyadic.of([1.7e308]).times(np.array([2], dtype=object)).floats()
    for number in (np.nan, np.inf):
        with pytest.raises(OverflowError):
            Dyadic.of([number])


wholes = st.one_of(st.integers(-(2**17), 2**17), st.integers(-(2**400), 2**400), st.sampled_from([0, 2**16, -(2**15)]))
shapes = st.tuples(st.integers(1, 4), st.integers(1, 6), st.integers(1, 4))


def matrix(numbers: list[int], shape: tuple[int, int]) -> Wholes:
    found = np.empty(shape, dtype=object)
    found.ravel()[:] = numbers
    return found


@given(st.data(), shapes)
def test_products_are_those_of_whole_numbers(data: st.DataObject, shape: tuple[int, int, int]) -> None:
    rows, inner, columns = shape
    first, second = (
        matrix(data.draw(st.lists(wholes, min_size=a * b, max_size=a * b)), (a, b))
        for a, b in ((rows, inner), (inner, columns))
    )
    assert np.array_equal(product(first, second), first @ second)


@pytest.mark.parametrize("most", [2**16 - 1, 2**160 - 1, -(2**159), -(2**160)])
def test_sums_of_the_largest_limbs_are_exact(most: int) -> None:
    full = np.full((2, 3000), most, dtype=object)
    assert set(product(full, full.T).ravel().tolist()) == {3000 * most**2}
