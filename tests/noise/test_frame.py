import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from distpriv.noise.dyadic import Dyadic
from distpriv.noise.lattice import Frame


@given(st.integers(1, 6), st.data())
def test_a_frame_begins_with_its_axes_and_is_inverted_far_beyond_floating_point(size: int, data: st.DataObject) -> None:
    count, seed = data.draw(st.integers(0, size)), data.draw(st.integers(0, 1000))
    axes = np.linalg.qr(np.random.default_rng(seed).normal(size=(size, count)))[0]
    frame = Frame.along(axes)
    assert np.array_equal(frame.outward[:, :count], axes)
    np.testing.assert_allclose(frame.outward.T @ frame.outward, np.eye(size), atol=1e-14)
    assert frame.skewness(np.ones(size)) < 1e-44


def test_axes_that_are_orthonormal_to_nine_digits_only_are_inverted_as_they_are() -> None:
    axes = np.eye(3) + 3e-10 * np.random.default_rng(0).normal(size=(3, 3))
    assert np.abs(axes.T @ axes - np.eye(3)).max() > 1e-11
    assert Frame.along(axes).skewness(np.array([1e9, 1.0, 1e-9])) < 1e-20


def test_the_statistics_own_axes_are_no_skew_at_all() -> None:
    frame = Frame.along(np.eye(4))
    assert frame.skewness(np.array([1e300, 1.0, 1e-300, 1.0])) == 0
    assert (frame.inward @ Dyadic.of([0.1, 0.2, 0.3, 0.4])).floats().tolist() == [0.1, 0.2, 0.3, 0.4]


def test_what_is_not_inverted_is_seen_through_the_widest_and_the_narrowest_axis() -> None:
    exact = Frame.along(np.eye(2))
    off = Frame(outward=exact.outward, inward=exact.inward + Dyadic.of([[0.0, 2.0**-30], [0.0, 0.0]]))
    assert off.skewness(np.array([1.0, 2.0**10])) == 2.0**-20
    assert off.skewness(np.array([2.0**-1000, 2.0**1000])) == np.inf


@given(st.permutations(range(14)), st.integers(0, 2**14 - 1))
def test_axes_of_the_statistics_themselves_are_inverted_exactly(order: list[int], signs: int) -> None:
    axes = np.eye(14)[order] * [1.0 if signs >> k & 1 else -1.0 for k in range(14)]
    frame = Frame.along(axes)
    assert np.array_equal(frame.inward.floats(), axes.T)
    assert frame.skewness(np.ones(14)) == 0
