import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distpriv.framework.arrays import Floats
from distpriv.guarantees.box_sums import mean_upper_bound


@given(st.lists(st.floats(0.01, 50), min_size=0, max_size=3), st.integers(1, 100))
def test_the_sum_is_never_below_the_mean(rates: list[float], evaluations: int) -> None:
    def falling(e: Floats) -> Floats:
        return np.asarray(np.exp(-(e @ np.array(rates))))

    truth = math.prod(1 / (1 + rate) for rate in rates)
    bound = mean_upper_bound(falling, len(rates), evaluations=evaluations)
    assert truth * (1 - 1e-12) <= bound <= 1


@pytest.mark.parametrize("rate", [0.1, 1.0, 10.0, 100.0])
def test_on_one_axis_little_is_missed(rate: float) -> None:
    bound = mean_upper_bound(lambda e: np.exp(-rate * e[:, 0]), 1, evaluations=200)
    assert bound <= 1.03 / (1 + rate)


def test_a_bound_that_is_low_enough_is_not_lowered_further() -> None:
    calls: list[Floats] = []

    def falling(e: Floats) -> Floats:
        calls.extend(e)
        return np.asarray(np.exp(-e[:, 0]))

    assert mean_upper_bound(falling, 1, evaluations=200, enough=0.8) <= 0.8
    assert len(calls) < 10
