import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from tests.guarantees.normal_laplace import delta_in_the_plane, sampled_delta
from tests.guarantees.random_models import random_model

from distpriv.guarantees.total_variation import normal_laplace_tail, total_variation_upper_bound
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, SumNoise


@given(st.floats(0, 20), st.floats(0.01, 30), st.floats(0.01, 30))
def test_the_tail_is_the_integral_of_the_mixture(x: float, deviation: float, scale: float) -> None:
    def inner(y: float) -> float:  # Pr[X > x], averaged over both signs of a Laplace number of size y
        tails = [math.erfc((x - sign * y) / deviation / math.sqrt(2)) / 2 for sign in (1, -1)]
        return sum(tails) / 2 * math.exp(-y / scale) / scale

    jump = [v for v in (x - 6 * deviation, x, x + 6 * deviation) if 0 < v < 40 * scale]
    expected = quad(inner, 0, 40 * scale, points=jump or None, limit=500)[0]
    assert normal_laplace_tail(x, deviation, scale) == pytest.approx(expected, abs=1e-7)
    assert normal_laplace_tail(x, deviation, scale) <= 0.5 * (1 + 1e-12)


def test_the_tail_keeps_its_digits_where_terms_nearly_cancel() -> None:
    assert normal_laplace_tail(3.0, 1e-6, 1.0) == pytest.approx(math.exp(-3) / 2, rel=1e-9)
    assert normal_laplace_tail(3.0, 1.0, 1e-6) == pytest.approx(math.erfc(3 / math.sqrt(2)) / 2, rel=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.floats(0, 0.3), st.floats(0.05, 5))
def test_it_is_never_below_the_truth(seed: int, size: int, unequal: float, scale: float) -> None:
    model = random_model(seed, size, unequal=unequal, distance=2.0)
    pair = model.protected_pairs[0]
    shift = model.mean_shift(pair)
    axis = shift / np.linalg.norm(shift)
    first, second = (model.distributions[name].covariance for name in pair)
    noise = LaplaceNoise(axes=axis[:, np.newaxis], scales=np.array([scale]))
    found = total_variation_upper_bound(model, noise)
    value, error = sampled_delta(shift, first, second, axis, scale, 0.0, 20_000, seed)
    assert found >= value - 5 * error
    if unequal == 0:  # nothing but the shift, whose distance is exact
        assert found == pytest.approx(value, abs=5 * error + 1e-4)


def test_it_is_close_to_the_truth_in_the_plane_and_gaussian_noise_lowers_it() -> None:
    model = random_model(5, 2, unequal=0.1, distance=2.0)
    pair = model.protected_pairs[0]
    shift = model.mean_shift(pair)
    axis = shift / np.linalg.norm(shift)
    laplace = LaplaceNoise(axes=axis[:, np.newaxis], scales=np.array([2.0 * np.linalg.norm(shift)]))
    both = SumNoise(parts=(laplace, GaussianNoise.isotropic(2, float(np.linalg.norm(shift)))))
    first, second = (model.distributions[name].covariance for name in pair)
    truth = delta_in_the_plane(shift, first, second, axis, float(laplace.scales[0]), 0.0)
    assert truth <= total_variation_upper_bound(model, laplace) <= truth + 0.15
    assert total_variation_upper_bound(model, both) < total_variation_upper_bound(model, laplace)


def test_along_several_axes_it_is_that_of_the_summed_ratios() -> None:
    model = random_model(1, 3, distance=1.0)
    noise = LaplaceNoise.isotropic(3, 4.0)
    cost = float(np.abs(model.mean_shift(model.protected_pairs[0])).sum()) / 4.0
    assert total_variation_upper_bound(model, noise) == pytest.approx(-math.expm1(-cost / 2), rel=1e-9)
