import numpy as np
import pytest
from attrs import frozen

from distpriv.framework.arrays import Floats, array_field, frozen_array


@frozen(kw_only=True)
class Holder:
    given: Floats = array_field()
    maybe: Floats | None = array_field(optional=True)


def test_arrays_in_values_are_copies_that_nobody_can_change() -> None:
    original = np.array([1.0, 2.0])
    holder = Holder(given=original)
    original[0] = 9
    assert holder.given.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        holder.given[0] = 9


def test_values_with_arrays_compare_by_content() -> None:
    one, other = np.array([1.0, 2.0]), np.array([1.0, 3.0])
    assert Holder(given=one) == Holder(given=one.copy())
    assert Holder(given=one) != Holder(given=other)
    assert Holder(given=one, maybe=one) != Holder(given=one)
    assert Holder(given=one, maybe=one) == Holder(given=one, maybe=one.copy())


def test_frozen_array_makes_floats() -> None:
    assert frozen_array([1, 2]).dtype == np.float64
