import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distpriv.noise.dyadic import Dyadic, Wholes, product

wholes = st.one_of(st.integers(-(2**17), 2**17), st.integers(-(2**400), 2**400), st.sampled_from([0, 2**16, -(2**15)]))
shapes = st.tuples(st.integers(1, 4), st.integers(1, 6), st.integers(1, 4))
floats = st.floats(allow_nan=False, allow_infinity=False)


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


@given(st.lists(floats, max_size=8))
def test_doubles_are_taken_as_they_are(numbers: list[float]) -> None:
    found = Dyadic.of(numbers)
    ratios = [number.as_integer_ratio() for number in numbers]
    assert found.exponent == max((denominator.bit_length() - 1 for _, denominator in ratios), default=0)
    assert [int(whole) for whole in found.whole] == [a * 2**found.exponent // b for a, b in ratios]


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_what_is_no_number_is_refused(number: float) -> None:
    with pytest.raises(OverflowError):
        Dyadic.of([number])
