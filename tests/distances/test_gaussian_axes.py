import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from distpriv.distances.gaussian.axes import CommonAxes, GaussianPairs, axes_by_rank


def common_axes(shift: ArrayLike, first: ArrayLike, second: ArrayLike) -> CommonAxes | None:
    """Return the axes of one pair, in a single row; None if it has no common range."""
    groups = axes_by_rank(GaussianPairs.checked([shift], [first], [second]))
    return groups[0][1] if groups else None


@given(st.integers(1, 6), st.integers(0, 10**6))
def test_the_axes_whiten_one_covariance_and_diagonalise_the_other(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = (a @ a.T + 0.1 * np.eye(size) for a in rng.normal(size=(2, size, size)))
    shift = rng.normal(size=size)
    axes = common_axes(shift, first, second)
    assert axes is not None
    ratios = np.sort(np.linalg.eigvals(np.linalg.solve(second, first)).real)
    np.testing.assert_allclose(np.sort(1 + axes.excess[0]), ratios, rtol=1e-8)
    np.testing.assert_allclose(np.exp(axes.log_ratio), 1 + axes.excess, rtol=1e-8)
    assert np.sum(axes.shift**2) == pytest.approx(shift @ np.linalg.solve(second, shift), rel=1e-8)
    assert axes.noise[0] < 1e-6


@given(st.integers(2, 5), st.integers(0, 10**6), st.floats(-6, 6))
def test_units_do_not_matter(size: int, seed: int, power: float) -> None:
    rng = np.random.default_rng(seed)
    first, second = (a @ a.T + 0.5 * np.eye(size) for a in rng.normal(size=(2, size, size)))
    shift, units = rng.normal(size=size), 10.0 ** rng.uniform(-abs(power), abs(power), size)
    one = common_axes(shift, first, second)
    other = common_axes(units * shift, first * np.outer(units, units), second * np.outer(units, units))
    assert one is not None
    assert other is not None
    np.testing.assert_allclose(np.sort(one.excess), np.sort(other.excess), rtol=1e-6, atol=1e-9)


def test_laws_without_a_common_range_have_no_axes() -> None:
    flat = np.diag([1.0, 0.0])
    assert common_axes([0.0, 0.0], flat, np.eye(2)) is None
    assert common_axes([0.0, 1.0], flat, flat) is None
    inside = common_axes([2.0, 0.0], 4 * flat, flat)
    assert inside is not None
    assert inside.excess[0].tolist() == pytest.approx([3.0])
