import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from distpriv.guarantees.bells import Bell, deciding, hockey_stick


@given(
    shift=st.floats(0.1, 3),
    ratio=st.floats(0.5, 2),
    epsilon=st.floats(-2, 3),
    mass=st.floats(-1, 1),
    other=st.floats(-1, 1),
)
@settings(max_examples=20)
def test_bells_of_any_mass_differ_as_their_integral_says(
    shift: float, ratio: float, epsilon: float, mass: float, other: float
) -> None:
    first = Bell(mean=np.zeros(1), covariance=np.array([[1.0]]), log_mass=mass)
    second = Bell(mean=np.array([shift]), covariance=np.array([[ratio]]), log_mass=other)
    line = np.linspace(-15, 18, 40_001)[:, np.newaxis]
    one, two = (np.exp(bell.log_density(line)) for bell in (first, second))
    expected = np.trapezoid(np.maximum(one - np.exp(epsilon) * two, 0.0), line[:, 0])
    assert hockey_stick(first, second, epsilon) == pytest.approx(expected, abs=1e-6)


@given(shift=st.floats(0.1, 2), epsilon=st.floats(0.2, 3))
@settings(max_examples=20)
def test_what_decides_is_beyond_the_border_and_near_it(shift: float, epsilon: float) -> None:
    first, second = (Bell(mean=np.array([mean]), covariance=np.eye(1)) for mean in (0.0, -shift))
    border = epsilon / shift - shift / 2
    line = np.linspace(-10, max(10, border + 10), 100_001)
    held = np.maximum(norm.pdf(line) - np.exp(epsilon) * norm.pdf(line + shift), 0.0)
    centre = (line * held).sum() / held.sum()
    found = deciding(first, second, epsilon)
    assert abs(found.mean[0] - centre) < 0.6
    assert found.covariance[0, 0] == pytest.approx(1.0)


def test_a_wider_law_decides_on_both_sides() -> None:
    wide, narrow = (Bell(mean=np.zeros(1), covariance=np.array([[v]])) for v in (4.0, 1.0))
    found = deciding(wide, narrow, 2.0)
    assert found.mean[0] == pytest.approx(0.0, abs=1e-9)
    assert found.covariance[0, 0] > 4.0
