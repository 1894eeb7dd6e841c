"""The curve δ_G and the radii it allows."""

import json
import math
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from distpriv.distances.gaussian import analytic_radius, classic_radius, gaussian_delta, gaussian_deltas_upper_bound

RECORDED = json.loads((Path(__file__).parent / "dp_accounting_sigma.json").read_text(encoding="utf-8"))

epsilons = st.one_of(st.just(0.0), st.floats(1e-6, 20.0))
deltas = st.floats(-15.0, math.log10(0.9)).map(lambda exponent: 10.0**exponent)


def exact_delta(epsilon: float, distance: float) -> Any:
    with mpmath.workdps(60 + round(2 * abs(math.log10(distance)))):
        e, r = mpmath.mpf(epsilon), mpmath.mpf(distance)
        return mpmath.ncdf(r / 2 - e / r) - mpmath.exp(e) * mpmath.ncdf(-r / 2 - e / r)


class TestGaussianDelta:
    @given(epsilons, st.floats(1e-3, 30.0), st.floats(1.0, 2.0))
    def test_it_increases_with_the_distance(self, epsilon: float, distance: float, factor: float) -> None:
        assert gaussian_delta(epsilon, distance) <= gaussian_delta(epsilon, distance * factor) * (1 + 1e-12)

    @given(epsilons, st.floats(0.0, 1.0), st.floats(1e-3, 30.0))
    def test_it_decreases_with_epsilon(self, epsilon: float, more: float, distance: float) -> None:
        assert gaussian_delta(epsilon + more, distance) <= gaussian_delta(epsilon, distance) * (1 + 1e-12)

    @settings(max_examples=200)
    @given(st.one_of(epsilons, st.floats(0.0, 300.0)), st.floats(-10.0, 37.0), st.floats(-15.0, 1.5))
    def test_it_has_twelve_digits_down_to_1e_300(self, epsilon: float, quantile: float, exponent: float) -> None:
        distance = math.sqrt(quantile**2 + 2 * epsilon) - quantile if epsilon > 0 else 10.0**exponent
        assume(distance > 1e-12)
        truth = exact_delta(epsilon, distance)
        assume(truth > 1e-300)
        assert abs(gaussian_delta(epsilon, distance) - truth) <= 1e-12 * truth

    def test_it_is_zero_at_no_distance_and_one_at_infinite_distance(self) -> None:
        assert gaussian_delta(1.0, 0.0) == 0.0
        assert gaussian_delta(1.0, 1e-320) == 0.0
        assert gaussian_delta(1.0, math.inf) == 1.0
        assert gaussian_delta(1.0, 1e300) == 1.0

    def test_at_epsilon_zero_it_is_the_total_variation(self) -> None:
        assert gaussian_delta(0.0, 1e-9) == pytest.approx(math.erf(1e-9 / math.sqrt(8)), rel=1e-14)


class TestRadii:
    @pytest.mark.parametrize(("epsilon", "delta", "sigma"), RECORDED["rows"])
    def test_the_analytic_radius_is_that_of_dp_accounting(self, epsilon: float, delta: float, sigma: float) -> None:
        assert 1 / analytic_radius(epsilon, delta) == pytest.approx(sigma, rel=1e-5)

    def test_the_golden_numbers_come_out(self) -> None:
        assert analytic_radius(1.0, 1e-3) == pytest.approx(0.38840125, abs=5e-9)
        assert 1 / analytic_radius(1.0, 1e-6) == pytest.approx(4.2247, abs=5e-5)
        assert (1.0 / classic_radius(1.0, 1e-3)) ** 2 * 2 == pytest.approx(28.52, abs=5e-3)  # the paper's section 4.3

    @given(st.one_of(epsilons, st.floats(0.0, 100.0)), deltas)
    def test_the_analytic_radius_is_the_largest_safe_one_rounded_down(self, epsilon: float, delta: float) -> None:
        radius = analytic_radius(epsilon, delta)
        assert gaussian_delta(epsilon, radius) <= delta
        assert exact_delta(epsilon, radius) <= delta < exact_delta(epsilon, radius * (1 + 2e-11))

    @given(st.floats(1e-3, 1.0), st.floats(-12.0, -1.0))
    def test_the_classic_radius_is_smaller_where_it_is_proven(self, epsilon: float, exponent: float) -> None:
        assert classic_radius(epsilon, 10.0**exponent) <= analytic_radius(epsilon, 10.0**exponent)

    @given(epsilons, deltas)
    def test_the_classic_radius_is_rounded_down(self, epsilon: float, delta: float) -> None:
        with mpmath.workdps(40):
            truth = epsilon / mpmath.sqrt(2 * mpmath.log(mpmath.mpf("1.25") / mpmath.mpf(delta)))
            assert truth * (1 - mpmath.mpf("1e-14")) <= classic_radius(epsilon, delta) <= truth

    def test_the_classic_radius_is_unsafe_at_epsilon_ten(self) -> None:
        assert gaussian_delta(10.0, classic_radius(10.0, 1e-3)) == pytest.approx(3.4e-3, rel=0.02)

    def test_without_delta_no_distance_is_safe(self) -> None:
        assert analytic_radius(5.0, 0.0) == classic_radius(5.0, 0.0) == 0.0


@given(st.floats(0, 60), st.lists(st.floats(1e-9, 1e6), min_size=1, max_size=20))
def test_many_deltas_at_once_are_never_below_the_exact_ones_and_hardly_above(
    epsilon: float, distances: list[float]
) -> None:
    found = gaussian_deltas_upper_bound(epsilon, np.array([0.0, *distances, np.inf]))
    exact = np.array([gaussian_delta(epsilon, r) for r in (0.0, *distances, math.inf)])
    error = 1e-12 * (1 + math.sqrt(epsilon))
    room = np.array([0.0, *(ndtr(r / 2 - epsilon / r) for r in distances), 0.0])
    assert (found >= exact * (1 - error) - 1e-300).all()  # numbers below are not held to all digits
    assert (found <= exact * (1 + 4 * error) + 4 * error * room).all()
    assert (found[0], found[-1]) == (0.0, 1.0)
