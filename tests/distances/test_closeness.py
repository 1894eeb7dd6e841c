"""The closeness radius of weighted point sets: oracles, laws and refusals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.distances.transport_oracle import Case, radius_by_linear_programming

from distpriv.distances import closeness_profile, closeness_radius, wasserstein_inf
from distpriv.errors import InvalidInput

seeds = st.integers(0, 2**32 - 1)
DELTAS = [0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.9]


def profile(case: Case, deltas: list[float]) -> list[float]:
    radii = closeness_profile(case.x, case.y, deltas, case.x_weights, case.y_weights, case.norm)
    return [float(radius) for radius in radii]


@pytest.mark.parametrize("seed", range(200))
def test_linear_programming_over_all_pairs_finds_the_same_to_the_last_bit(seed: int) -> None:
    case = Case.random(seed)
    delta = float(np.random.default_rng(seed).choice(DELTAS[1:]))
    found = closeness_radius(case.x, case.y, delta, case.x_weights, case.y_weights, case.norm)
    assert found == radius_by_linear_programming(case, delta)


def test_figure_1_of_the_paper() -> None:
    points, p, q = [1, 2, 3, 100], [0.6, 0.2, 0, 0.2], [0.4, 0.3, 0.2, 0.1]
    assert closeness_radius(points, points, 0.1, p, q) == 1
    assert closeness_radius(points, points, 0.0999999999, p, q) == 97


@given(seeds)
def test_it_is_the_wasserstein_distance_where_nothing_is_forgiven(seed: int) -> None:
    case = Case.random(seed)
    distance = wasserstein_inf(case.x, case.y, case.x_weights, case.y_weights, case.norm)
    assert profile(case, [0.0]) == [distance]


@pytest.mark.parametrize("weighted", [True, False])
def test_so_it_is_on_thousands_of_points_on_the_line(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=3000), rng.normal(size=2999)
    weights = rng.dirichlet(np.ones(3000)) if weighted else None
    assert closeness_radius(x, y, 0, weights) == wasserstein_inf(x, y, weights)


@given(seeds)
@settings(max_examples=25)
def test_a_profile_is_what_single_calls_give_and_never_increases(seed: int) -> None:
    case = Case.random(seed)
    radii = profile(case, DELTAS)
    assert radii == [profile(case, [delta])[0] for delta in DELTAS]
    assert radii == sorted(radii, reverse=True)
    assert profile(case, DELTAS[::-1]) == radii[::-1]


@given(seeds)
@settings(max_examples=25)
def test_it_is_symmetric_to_the_last_bit(seed: int) -> None:
    case = Case.random(seed)
    assert profile(case, DELTAS) == profile(Case(case.y, case.x, case.y_weights, case.x_weights, case.norm), DELTAS)


@given(seeds, st.booleans())
@settings(max_examples=25)
def test_the_line_and_the_graph_agree_to_the_last_bit(seed: int, lattice: bool) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=int(rng.integers(1, 60))), rng.normal(size=int(rng.integers(1, 60)))
    if lattice:
        x, y = x.round(1), y.round(1)
    flat_x, flat_y = (np.column_stack([points, np.zeros(len(points))]) for points in (x, y))
    np.testing.assert_array_equal(closeness_profile(x, y, DELTAS), closeness_profile(flat_x, flat_y, DELTAS))


@given(st.lists(st.integers(0, 20), min_size=4, max_size=4), st.lists(st.integers(0, 20), min_size=4, max_size=4))
@settings(max_examples=25)
def test_it_is_zero_exactly_within_delta_in_total_variation(one: list[int], other: list[int]) -> None:
    p, q = ([*counts, 100 - sum(counts)] for counts in (one, other))
    apart = sum(max(0, a - b) for a, b in zip(p, q, strict=True))
    for points in (np.arange(5.0), np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 2.0]])):
        for hundredths in {apart - 1, apart, apart + 1} & set(range(100)):
            x_weights, y_weights = ([float(f"{count / 100:.2f}") for count in counts] for counts in (p, q))
            radius = closeness_radius(points, points, float(f"{hundredths / 100:.2f}"), x_weights, y_weights)
            assert (radius == 0) == (apart <= hundredths)


def test_mass_at_infinity_counts_into_delta() -> None:
    x = np.append(np.arange(99.0), math.inf)
    y = np.arange(100.0)
    assert closeness_radius(x, y, 0.01) == 0
    assert closeness_radius(np.column_stack([x, x]), np.column_stack([y, y]), 0.01) == 0
    assert closeness_radius([0, math.inf], [3, math.inf], 0.5) == 3
    with pytest.raises(InvalidInput, match=r"mass at infinity, 0.01, but is 0.009"):
        closeness_radius(x, y, 0.009)


@pytest.mark.parametrize("delta", [-0.1, 1, 1.5, math.nan, "0.1"])
def test_a_delta_outside_its_range_is_refused(delta: float) -> None:
    with pytest.raises(InvalidInput, match="delta must be at least 0 and below 1"):
        closeness_radius([1], [2], delta)


def test_what_cannot_be_used_is_refused() -> None:
    with pytest.raises(InvalidInput, match="x must be points"):
        closeness_radius([], [1], 0.1)
    with pytest.raises(InvalidInput, match=r"norm must be 1, 2 or math.inf"):
        closeness_radius([1], [1], 0.1, norm=0)
    with pytest.raises(InvalidInput, match="deltas must be a list"):
        closeness_profile([1], [2], 0.1)
    assert closeness_profile([1], [2], []).tolist() == []
