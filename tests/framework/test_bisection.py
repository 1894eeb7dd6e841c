import math

from hypothesis import given
from hypothesis import strategies as st

from distpriv.framework.bisection import least_passing


@given(st.floats(1e-3, 1e6))
def test_the_answer_passes_and_is_close_to_one_that_does_not(least: float) -> None:
    found = least_passing(lambda x: x >= least, 0.0, 1.0, largest=1e9, within=1e-6)
    assert least <= found <= least * (1 + 2e-6)


def test_where_none_passes_up_to_the_largest_it_is_infinite() -> None:
    tried: list[float] = []

    def passes(x: float) -> bool:
        tried.append(x)
        return False

    assert least_passing(passes, 0.0, 1.0, largest=6.0, within=1e-6) == math.inf
    assert tried == [1.0, 2.0, 4.0, 6.0]


def test_a_beginning_that_passes_and_need_not_be_lowered_is_the_answer() -> None:
    assert least_passing(lambda x: x >= 0, 1.0, 1.0, largest=6.0, within=1e-6) == 1.0
