from fractions import Fraction

import numpy as np
import pytest

from distpriv.errors import InvalidInput
from distpriv.framework.domains import as_written, did_you_mean, real, whole


@pytest.mark.parametrize(("value", "expected"), [(3, 3), (3.0, 3), (np.int64(7), 7), (np.float64(7), 7)])
def test_whole_numbers_are_accepted_whatever_their_type(value: object, expected: int) -> None:
    assert whole("records", value, InvalidInput, at_least=1, cure="fix it") == expected


@pytest.mark.parametrize("value", [0, -1, 2.5, "3", True, None, float("nan"), float("inf"), [3]])
def test_everything_else_is_refused_with_name_value_and_cure(value: object) -> None:
    with pytest.raises(InvalidInput, match=r"records must be a whole number, at least 1, got .*: fix it\."):
        whole("records", value, InvalidInput, at_least=1, cure="fix it")


def test_a_number_may_come_as_any_type_that_is_one() -> None:
    assert real("x", Fraction(1, 4), InvalidInput, cure="") == 0.25
    assert real("x", np.float32(0.5), InvalidInput, cure="") == 0.5


def test_a_decimal_means_what_is_written() -> None:
    assert as_written(0.9) == 1 - as_written(0.1)
    assert as_written(1e-3) == Fraction(1, 1000)


def test_the_nearest_name_is_suggested_and_otherwise_all_are_listed() -> None:
    assert did_you_mean("Agee", ["age", "income"]) == "did you mean 'age'?"
    assert did_you_mean("zzz", ["age", "income"]) == "there are: age, income."
    assert did_you_mean("zzz", [f"c{k}" for k in range(30)]).endswith("c19, ….")
