import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.noise.lattice_oracle import (
    SIGNIFICANCE,
    goodness_of_fit,
    hockey_stick,
    log_masses,
    log_rounded_masses,
    window,
)

from distpriv.errors import InvalidInput
from distpriv.noise.integers import Discrepancy, IntegerGaussian, IntegerLaplace, IntegerNoise, IntegerPiecewise

ROUGH = IntegerPiecewise(edges=np.array([-7.25, -3.5, -0.75, 0.75, 3.5, 7.25]), masses=np.array([1, 2, 3, 2, 1.0]))

pieces = st.lists(st.tuples(st.floats(0.05, 40), st.floats(0.0, 1.0)), min_size=1, max_size=6).filter(
    lambda drawn: max(mass for _, mass in drawn) > 1e-3
)
noises = st.one_of(
    st.floats(1, 200).map(lambda scale: IntegerLaplace(scale=scale)),
    st.floats(1, 200).map(lambda scale: IntegerGaussian(scale=scale)),
    pieces.map(
        lambda drawn: IntegerPiecewise.symmetric(
            np.cumsum([0.0, *(width for width, _ in drawn)]), np.array([mass for _, mass in drawn])
        )
    ),
)


@given(noises, st.floats(0, 4), st.floats(-1, 1))
@settings(max_examples=200)
def test_noise_on_a_shifted_whole_number_is_as_close_to_rounded_noise_as_its_cost_says(
    noise: IntegerNoise, offset: float, side: float
) -> None:
    numbers = window(noise)
    ours = np.exp(log_masses(noise, numbers))
    rounded = np.exp(log_rounded_masses(noise, side * offset, numbers))
    cost = noise.cost(offset)
    for first, second in ((ours, rounded), (rounded, ours)):
        assert hockey_stick(cost.divergence, first, second) <= cost.failure * (1 + 1e-9) + 1e-13


@given(st.sampled_from([IntegerLaplace, IntegerGaussian]), st.floats(1, 200), st.floats(0, 4), st.floats(-1, 1))
def test_the_log_ratio_is_bounded_everywhere_or_within_the_reach_of_gaussian_noise(
    kind: type[IntegerLaplace] | type[IntegerGaussian], scale: float, offset: float, side: float
) -> None:
    noise = kind(scale=scale)
    numbers = window(noise)
    if kind is IntegerGaussian:
        numbers = numbers[np.abs(numbers) <= 12 * scale]
    ratios = log_masses(noise, numbers) - log_rounded_masses(noise, side * offset, numbers)
    assert np.abs(ratios).max() <= noise.cost(offset).divergence + 1e-10


@pytest.mark.parametrize("kind", [IntegerLaplace, IntegerGaussian])
def test_the_bound_on_the_log_ratio_is_no_more_than_twice_what_is_reached(
    kind: type[IntegerLaplace] | type[IntegerGaussian],
) -> None:
    noise = kind(scale=64.0)
    numbers = window(noise)
    numbers = numbers[np.abs(numbers) <= 12 * noise.scale]
    ratios = log_masses(noise, numbers) - log_rounded_masses(noise, 0.5, numbers)
    assert np.abs(ratios).max() >= noise.cost(0.5).divergence / 2.1


@given(noises, st.floats(1e-9, 1e-3), st.floats(-1, 1))
@settings(max_examples=60)
def test_noise_along_an_axis_that_is_too_long_is_as_close_as_its_cost_says(
    noise: IntegerNoise, skew: float, side: float
) -> None:
    longer = 1 + side * skew
    edges = np.linspace(-80, 80, 40_001) * noise.scale
    if isinstance(noise, IntegerPiecewise):
        edges = np.unique(np.concatenate([noise.edges, noise.edges * longer]))
        cumulative = np.concatenate([[0.0], np.cumsum(noise.masses)]) / noise.masses.sum()
        ours, other = (np.diff(np.interp(edges / by, noise.edges, cumulative)) for by in (1.0, longer))
    else:
        law = stats.laplace if isinstance(noise, IntegerLaplace) else stats.norm
        ours, other = (np.diff(law.cdf(edges / by / noise.scale)) for by in (1.0, longer))
    cost = noise.skew_cost(skew)
    for first, second in ((ours, other), (other, ours)):
        assert hockey_stick(cost.divergence, first, second) <= cost.failure + 1e-12


@given(
    st.tuples(st.floats(0, 0.9), st.floats(0, 0.1)),
    st.tuples(st.floats(0, 0.9), st.floats(0, 0.1)),
    st.integers(0, 1000),
)
def test_discrepancies_add_up_over_products(first: tuple[float, float], second: tuple[float, float], seed: int) -> None:
    rng = np.random.default_rng(seed)

    def pair(divergence: float, failure: float) -> tuple[np.ndarray, np.ndarray]:
        law = rng.dirichlet(np.ones(6)) * (1 - failure)
        other = law * np.exp(rng.uniform(-divergence / 2, divergence / 2, 6))
        other *= (1 - failure) / other.sum()
        return np.append(law, [failure, 0.0]), np.append(other, [0.0, failure])

    (p, q), (r, s) = pair(*first), pair(*second)
    total = Discrepancy(divergence=first[0], failure=first[1]) + Discrepancy(divergence=second[0], failure=second[1])
    one, other = np.outer(p, r).ravel(), np.outer(q, s).ravel()
    for ours, theirs in ((one, other), (other, one)):
        assert hockey_stick(total.divergence, ours, theirs) <= total.failure + 1e-12


@pytest.mark.parametrize(
    "noise", [IntegerLaplace(scale=2.5), IntegerGaussian(scale=3.7), ROUGH], ids=lambda noise: type(noise).__name__
)
def test_draws_have_exactly_the_law_they_are_said_to_have(noise: IntegerNoise) -> None:
    counts = Counter(noise.draw() for _ in range(6000))
    cells = np.arange(-300.0, 301.0)
    assert goodness_of_fit(counts, cells, np.exp(log_masses(noise, cells))) > SIGNIFICANCE
    cells_off = np.exp(log_masses(noise, cells - 1))
    assert goodness_of_fit(counts, cells, cells_off) < SIGNIFICANCE


@pytest.mark.parametrize(
    ("noise", "law"), [(IntegerLaplace(scale=2.0**40), stats.laplace), (IntegerGaussian(scale=2.0**40), stats.norm)]
)
def test_draws_at_the_largest_scale_are_not_cut_off(noise: IntegerNoise, law: stats.rv_continuous) -> None:
    drawn = [noise.draw() for _ in range(5_000)]
    assert max(map(abs, drawn)) < 2**46
    assert stats.kstest(np.array(drawn) / 2.0**40, law.cdf).pvalue > SIGNIFICANCE
    bits = Counter(number % 16 for number in drawn)
    assert stats.chisquare([bits[k] for k in range(16)]).pvalue > SIGNIFICANCE


def test_a_piece_with_no_mass_is_never_drawn() -> None:
    noise = IntegerPiecewise(edges=np.array([-9.0, -1.0, 1.0, 9.0]), masses=np.array([0.5, 0.0, 0.5]))
    assert all(abs(noise.draw()) >= 1 for _ in range(2000))


def test_masses_are_weighed_as_they_are_even_if_some_are_tiny() -> None:
    noise = IntegerPiecewise(edges=np.array([0.0, 10.0, 20.0]), masses=np.array([1.0, 5e-324]))
    assert {noise.draw() for _ in range(500)} <= set(range(11))
    assert math.isfinite(noise.cost(0.5).failure)


@pytest.mark.parametrize("scale", [0.0, -1.0, 0.5, 2.0**41, math.inf, math.nan, "wide"])
def test_a_scale_that_the_samplers_would_cut_off_is_refused(scale: object) -> None:
    for kind in (IntegerLaplace, IntegerGaussian):
        with pytest.raises(InvalidInput, match="scale in steps"):
            kind(scale=scale)


@pytest.mark.parametrize(
    ("edges", "masses"),
    [
        ([0.0, 1.0], [0.5, 0.5]),
        ([0.0, 0.0], [1.0]),
        ([1.0, 0.0], [1.0]),
        ([0.0, math.inf], [1.0]),
        ([0.0, 1.0], [math.nan]),
        ([0.0, 1.0, 2.0], [1.5, -0.5]),
        ([0.0, 1.0], [0.0]),
        ([], []),
    ],
)
def test_pieces_that_are_no_law_are_refused(edges: list[float], masses: list[float]) -> None:
    with pytest.raises(InvalidInput, match="piecewise constant noise needs"):
        IntegerPiecewise(edges=np.array(edges), masses=np.array(masses))
