"""W∞ and the closeness radius of weighted point sets: oracles, laws, couplings and refusals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.distances.transport_oracle import Case, radius_by_linear_programming

from distpriv.distances import closeness_profile, closeness_radius, wasserstein_inf
from distpriv.distances.transport.flows import GraphTransport
from distpriv.distances.transport.point_sets import PointSets
from distpriv.errors import InvalidInput

seeds, norms = st.integers(0, 2**32 - 1), st.sampled_from([1, 2, math.inf])
DELTAS = [0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.9]


def distance_of(case: Case) -> float:
    return wasserstein_inf(case.x, case.y, case.x_weights, case.y_weights, case.norm)


def profile(case: Case, deltas: list[float]) -> list[float]:
    radii = closeness_profile(case.x, case.y, deltas, case.x_weights, case.y_weights, case.norm)
    return [float(radius) for radius in radii]


@pytest.mark.parametrize("seed", range(300))
def test_linear_programming_over_all_pairs_finds_the_same_to_the_last_bit(seed: int) -> None:
    case = Case.random(seed)
    delta = float(np.random.default_rng(seed).choice(DELTAS[1:]))
    found = closeness_radius(case.x, case.y, delta, case.x_weights, case.y_weights, case.norm)
    assert found == radius_by_linear_programming(case, delta)
    assert distance_of(case) == radius_by_linear_programming(case, 0.0)


@given(seeds)
@settings(max_examples=40)
def test_a_profile_is_what_single_calls_give_symmetric_and_never_increases(seed: int) -> None:
    case = Case.random(seed)
    radii = profile(case, DELTAS)
    assert radii == [profile(case, [delta])[0] for delta in DELTAS] == sorted(radii, reverse=True)
    assert profile(case, DELTAS[::-1]) == radii[::-1]
    assert profile(Case(case.y, case.x, case.y_weights, case.x_weights, case.norm), DELTAS) == radii
    assert radii[0] == distance_of(case)


@given(seeds, st.booleans())
@settings(max_examples=25)
def test_the_line_and_the_graph_agree_to_the_last_bit(seed: int, lattice: bool) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=int(rng.integers(1, 60))), rng.normal(size=int(rng.integers(1, 60)))
    if lattice:
        x, y = x.round(1), y.round(1)
    flat_x, flat_y = (np.column_stack([points, np.zeros(len(points))]) for points in (x, y))
    np.testing.assert_array_equal(closeness_profile(x, y, DELTAS), closeness_profile(flat_x, flat_y, DELTAS))
    for norm in (1, 2, math.inf):
        assert wasserstein_inf(x, y, norm=norm) == wasserstein_inf(flat_x, flat_y, norm=norm)


@given(seeds, norms, st.integers(1, 4))
def test_the_triangle_inequality_holds_and_a_translation_is_as_long_as_its_shift(
    seed: int, norm: float, columns: int
) -> None:
    rng = np.random.default_rng(seed)
    x, y, z = (rng.normal(size=(int(size), columns)) for size in rng.integers(1, 9, size=3))
    around = wasserstein_inf(x, y, norm=norm) + wasserstein_inf(y, z, norm=norm)
    assert wasserstein_inf(x, z, norm=norm) <= around * (1 + 1e-14)
    shift = rng.normal(size=columns)
    assert wasserstein_inf(x, x + shift, norm=norm) == pytest.approx(np.linalg.norm(shift, norm), rel=1e-13)


@given(st.lists(st.integers(0, 20), min_size=4, max_size=4), st.lists(st.integers(0, 20), min_size=4, max_size=4))
@settings(max_examples=25)
def test_closeness_is_zero_exactly_within_delta_in_total_variation(one: list[int], other: list[int]) -> None:
    p, q = ([*counts, 100 - sum(counts)] for counts in (one, other))
    apart = sum(max(0, a - b) for a, b in zip(p, q, strict=True))
    for points in (np.arange(5.0), np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 2.0]])):
        for hundredths in {apart - 1, apart, apart + 1} & set(range(100)):
            x_weights, y_weights = ([float(f"{count / 100:.2f}") for count in counts] for counts in (p, q))
            radius = closeness_radius(points, points, float(f"{hundredths / 100:.2f}"), x_weights, y_weights)
            assert (radius == 0) == (apart <= hundredths)


@given(seeds)
@settings(max_examples=40)
def test_masses_of_a_hundred_bits_flow_exactly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 30, size=2)
    x, y = rng.normal(size=(n, 2)), rng.normal(size=(m, 2))
    p, q = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))
    sets = PointSets.checked(x, y, p, q, 1)
    assume(sets.total > 2**100)  # hardly ever the masses of both laws have the same sum, and then they are short
    radius = wasserstein_inf(x, y, p, q)
    assert GraphTransport(sets).moved(radius, sets.total) == (sets.total, sets.total)
    assert GraphTransport(sets).moved(np.nextafter(radius, 0), sets.total)[1] < sets.total


def test_weights_mean_the_decimals_they_are_written_as() -> None:
    points, even, odd = [[0, 0], [1, 0]], [0.5, 0.5], [0.5000000000000001, 0.4999999999999999]
    assert (wasserstein_inf(points, points, even, even), wasserstein_inf(points, points, even, odd)) == (0, 1)
    assert wasserstein_inf([0, 0, 0, 5], [0, 5], [0.1, 0.1, 0.1, 0.7], [0.3, 0.7]) == 0
    sets = PointSets.checked([0, 1], [0, 1], [0.9, 0.1], [1 / 3, 2 / 3], 1)
    assert Fraction(int(sets.x_masses[0]), sets.total) == Fraction(9, 10)
    thirds = np.full(3, 0.333333333333)  # misses 1 by rounding, which is divided out
    assert wasserstein_inf([[0, 0], [1, 0], [2, 0]], [[0, 0], [1, 0], [2, 0]], thirds) == 0


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-20, 1e150, 1e200, 1e300])
@pytest.mark.parametrize("norm", [1, 2, math.inf])
def test_no_scale_is_too_small_or_too_large(scale: float, norm: float) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 9, size=(2, 30, 3)).astype(float)
    found = wasserstein_inf(x * scale, y * scale, norm=norm)
    assert found == pytest.approx(wasserstein_inf(x, y, norm=norm) * scale, rel=1e-13)


def test_mass_at_infinity_counts_into_delta() -> None:
    x, y = np.append(np.arange(99.0), math.inf), np.arange(100.0)
    assert closeness_radius(x, y, 0.01) == 0
    assert closeness_radius(np.column_stack([x, x]), np.column_stack([y, y]), 0.01) == 0
    assert closeness_radius([0, math.inf], [3, math.inf], 0.5) == 3
    assert wasserstein_inf([1, math.inf], [2], [1, 0]) == 1
    with pytest.raises(InvalidInput, match=r"mass at infinity, 0.01, but is 0.009"):
        closeness_radius(x, y, 0.009)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": [], "y": [1]}, "x must be points .* at least one"),
        ({"x": [1], "y": [[[1]]]}, "y must be points"),
        ({"x": [1, math.nan], "y": [1]}, "x must hold numbers, but has NaN in row 1"),
        ({"x": ["a"], "y": [1]}, "x must be an array of numbers"),
        ({"x": [[1, 2]], "y": [1]}, "same number of columns, but have 2 and 1"),
        ({"x": [1, 2], "y": [1], "x_weights": [1]}, "x_weights must have one weight per point, 2"),
        ({"x": [1, 2], "y": [1], "x_weights": [1.5, -0.5]}, "x_weights must be finite and at least 0, but one is -0.5"),
        ({"x": [1, 2], "y": [1], "x_weights": [1, math.nan]}, "x_weights must be finite .* but one is nan"),
        ({"x": [1], "y": [1, 2], "y_weights": [0.5, 0.4]}, "y_weights must sum to 1, but sum to 0.9"),
        ({"x": [1], "y": [1, 2], "y_weights": [0, 0]}, "y_weights must sum to 1, but sum to 0"),
        ({"x": [1], "y": [1], "norm": 3}, "norm must be 1, 2 or math.inf, but is 3"),
        ({"x": [1, math.inf], "y": [1]}, "closeness_radius"),
        ({"x": [[1e308, 0]], "y": [[-1e308, 0]]}, "overflow"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        wasserstein_inf(**arguments)  # type: ignore[arg-type]


def test_a_delta_outside_its_range_is_refused() -> None:
    for delta in (-0.1, 1, 1.5, math.nan, "0.1"):
        with pytest.raises(InvalidInput, match="delta must be at least 0 and below 1"):
            closeness_radius([1], [2], delta)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="deltas must be a list"):
        closeness_profile([1], [2], 0.1)
    assert closeness_profile([1], [2], []).tolist() == []
