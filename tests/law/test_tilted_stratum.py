import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distpriv.framework.arrays import Floats
from distpriv.law.saddlepoint import TiltedStratum, symmetric

rows = st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=4, max_size=12).map(np.array)
tilts = st.tuples(st.floats(-2, 2), st.floats(-2, 2)).map(lambda tilt: np.array([tilt]))


@given(values=rows, tilt=tilts, replacement=st.booleans())
@settings(max_examples=50)
def test_derivatives_are_those_of_the_value(values: Floats, tilt: Floats, replacement: bool) -> None:
    stratum = TiltedStratum(values=values, counts=np.ones(len(values)), drawn=2, replacement=replacement)
    at, step = stratum.pull(tilt, None), 1e-5
    for axis in np.eye(2):
        above, below = (stratum.pull(tilt + sign * step * axis, at.level) for sign in (1, -1))
        np.testing.assert_allclose((above.value - below.value) / (2 * step), at.mean @ axis, atol=1e-6)
        if not replacement:
            slope = (above.mean - below.mean) / (2 * step)
            np.testing.assert_allclose(slope[0], symmetric(at.square)[0] @ axis, atol=1e-6)


@given(values=rows, tilt=tilts)
@settings(max_examples=50)
def test_few_of_very_many_rows_are_drawn_as_if_with_replacement(values: Floats, tilt: Floats) -> None:
    many = np.full(len(values), 1e7)
    without, replaced = (
        TiltedStratum(values=values, counts=many, drawn=3, replacement=each).pull(tilt, None) for each in (False, True)
    )
    np.testing.assert_allclose(without.value, replaced.value, atol=1e-4)
    np.testing.assert_allclose(without.profile, replaced.profile, atol=1e-4)


def test_a_rare_huge_row_overflows_nothing() -> None:
    values = np.array([[0.0], [0.1], [1e6]])
    for replacement in (True, False):
        stratum = TiltedStratum(values=values, counts=np.array([1e3, 1e3, 1.0]), drawn=10, replacement=replacement)
        pull = stratum.pull(np.array([[5.0], [-5.0]]), None)
        assert np.isfinite(pull.value).all()
        assert np.isfinite(pull.profile).all()


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_the_term_of_the_number_is_that_of_stirlings_formula(share: float) -> None:
    stratum = TiltedStratum(
        values=np.zeros((1, 1)), counts=np.array([4000.0]), drawn=int(4000 * share), replacement=False
    )
    rest = 1 / (12 * 4000) - 1 / (12 * 4000 * share) - 1 / (12 * 4000 * (1 - share))
    assert stratum.number_term == pytest.approx(rest, rel=1e-9)
