"""Many pairs of Gaussians at once: the same numbers as one by one, whatever else is in the batch."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distpriv.distances.gaussian import HockeySticks, divergence, gaussian_hockey_stick, gaussian_hockey_sticks
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats

Laws = tuple[Floats, Floats, Floats]

KINDS = ("ordinary", "far", "nearly equal", "equal", "points", "flat", "apart", "off the range", "nothing known")


def pair_of(kind: str, rng: np.random.Generator, size: int) -> Laws:
    """A pair of Gaussians, ordinary or degenerate in one of the ways there are."""
    mixing = rng.standard_normal((size, size)) + 2 * math.sqrt(size) * np.eye(size)
    spread = {"far": 2.0, "nearly equal": 1e-9, "equal": 0.0}.get(kind, 0.5)
    ratios = 10.0 ** rng.uniform(-spread, spread, size)
    shift = np.zeros(size) if kind in ("equal", "points") else rng.standard_normal(size) * 10.0 ** rng.uniform(-2, 0.5)
    varies = np.ones(size)
    if kind == "points":
        varies[:] = 0
    if kind in ("flat", "apart", "off the range"):
        varies[0] = 0
    moved = shift if kind == "off the range" else shift * varies
    first, second = (
        mixing @ np.diag(r) @ mixing.T for r in (varies * ratios, np.ones(size) if kind == "apart" else varies)
    )
    if kind == "nothing known" and size > 1:  # the least eigenvalue is just above what counts as rounding
        first = np.ones((size, size)) + 32 * size**2 * np.finfo(float).eps * np.eye(size)
        second = 2 * first
    return mixing @ moved, (first + first.T) / 2, (second + second.T) / 2


def stacked(pairs: list[Laws]) -> Laws:
    shifts, firsts, seconds = (np.array(column) for column in zip(*pairs, strict=True))
    return shifts, firsts, seconds


@st.composite
def batches(draw: st.DrawFn) -> tuple[Floats, Laws]:
    """An ε for each of some pairs of one dimension, ordinary and degenerate ones mixed."""
    size = draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=8))
    epsilons = np.array([draw(st.one_of(st.just(0.0), st.floats(1e-6, 20.0))) for _ in kinds])
    return epsilons, stacked([pair_of(kind, rng, size) for kind in kinds])


def require_same(one: HockeySticks, other: HockeySticks) -> None:
    """Values must agree up to the rounding of their last digits, and errors up to the same share of themselves."""
    np.testing.assert_allclose(one.value, other.value, rtol=1e-12, atol=0)
    np.testing.assert_allclose(one.error, other.error, rtol=1e-6, atol=1e-300)


@settings(max_examples=60)
@given(batches(), st.randoms(use_true_random=False), st.integers(1, 100))
def test_a_batch_is_its_pairs_one_by_one_in_any_order_and_however_many_are_computed_together(
    batch: tuple[Floats, Laws], random: Any, together: int
) -> None:
    epsilons, laws = batch
    whole = gaussian_hockey_sticks(epsilons, *laws)
    alone = [gaussian_hockey_stick(*given) for given in zip(epsilons, *laws, strict=True)]
    values, errors = np.array([[one.value, one.error] for one in alone]).T
    require_same(whole, HockeySticks(value=values, error=errors))
    order = list(range(len(epsilons)))
    random.shuffle(order)
    shuffled = gaussian_hockey_sticks(epsilons[order], *(law[order] for law in laws))
    require_same(shuffled, HockeySticks(value=whole.value[order], error=whole.error[order]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(divergence, "TOGETHER", together)
        require_same(gaussian_hockey_sticks(epsilons, *laws), whole)
    one_epsilon = np.full(len(epsilons), epsilons[0])
    assert gaussian_hockey_sticks(epsilons[0], *laws) == gaussian_hockey_sticks(one_epsilon, *laws)


@given(st.integers(2, 8), st.integers(0, 10**6))
def test_degenerate_pairs_have_their_values_beside_ordinary_ones(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sticks = gaussian_hockey_sticks(0.5, *stacked([pair_of(kind, rng, size) for kind in KINDS]))
    by_kind = dict(zip(KINDS, zip(sticks.value.tolist(), sticks.error.tolist(), strict=True), strict=True))
    assert by_kind["points"] == by_kind["equal"] == (0.0, 0.0)
    assert by_kind["apart"] == by_kind["off the range"] == (1.0, 0.0)
    assert by_kind["nothing known"] == (1.0, 1.0)
    assert 0 < by_kind["ordinary"][1] < 1e-6
    assert 0 < by_kind["flat"][1] < 1e-6
    assert (sticks.upper_bound <= 1).all()


@pytest.mark.parametrize(
    ("epsilons", "shifts", "firsts", "seconds", "message"),
    [
        ([1.0, -0.1], [[1.0]] * 2, [[[1.0]]] * 2, [[[1.0]]] * 2, "epsilon must be finite and at least 0, but is -0.1"),
        ([1.0] * 3, [[1.0]] * 2, [[[1.0]]] * 2, [[[1.0]]] * 2, "epsilons must be one number or 2"),
        (
            1.0,
            np.zeros((0, 1)),
            np.zeros((0, 1, 1)),
            np.zeros((0, 1, 1)),
            "mean_difference must be a vector with an entry",
        ),
        (1.0, [[1.0]] * 2, [[[1.0]]], [[[1.0]]] * 2, r"covariance_1 must have the shape \(1, 1\), for each of 2"),
        (1.0, [[1.0]] * 2, [[[1.0]]] * 2, [[[1.0]], [[-1.0]]], "covariance_2 of pair 1 must have no negative variance"),
        (1.0, np.ones((1, 2)), [[[1.0, 0.5], [0.4, 1.0]]], [np.eye(2)], "covariance_1 must be symmetric"),
        (1.0, np.ones((1, 2)), [np.eye(2)], [[[1.0, 2.0], [2.0, 1.0]]], "covariance_2 must be positive semi"),
    ],
)
def test_a_pair_that_is_none_is_refused_by_its_number(
    epsilons: Any, shifts: Any, firsts: Any, seconds: Any, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        gaussian_hockey_sticks(epsilons, shifts, firsts, seconds)
