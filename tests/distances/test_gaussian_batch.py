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

Pair = tuple[Floats, Floats, Floats]

KINDS = ("ordinary", "far", "nearly equal", "equal", "points", "flat", "apart", "off the range", "nothing known")


def pair_of(kind: str, rng: np.random.Generator, size: int) -> Pair:
    """A pair of Gaussians, ordinary or degenerate in one of the ways there are."""
    mixing = rng.standard_normal((size, size)) + 2 * math.sqrt(size) * np.eye(size)
    spread = {"far": 2.0, "nearly equal": 1e-9, "equal": 0.0}.get(kind, 0.5)
    ratios = 10.0 ** rng.uniform(-spread, spread, size)
    shift = np.zeros(size) if kind in ("equal", "points") else rng.standard_normal(size) * 10.0 ** rng.uniform(-2, 0.5)
    kept = np.ones(size)
    if kind == "points":
        kept[:] = 0
    if kind in ("flat", "apart", "off the range"):
        kept[0] = 0
    moved = shift if kind == "off the range" else shift * kept
    first, second = (
        mixing @ np.diag(r) @ mixing.T for r in (kept * ratios, np.ones(size) if kind == "apart" else kept)
    )
    if kind == "nothing known" and size > 1:  # the least eigenvalue is just above what counts as rounding
        first = np.ones((size, size)) + 32 * size**2 * np.finfo(float).eps * np.eye(size)
        second = 2 * first
    return mixing @ moved, (first + first.T) / 2, (second + second.T) / 2


def stacked(pairs: list[Pair]) -> tuple[Floats, Floats, Floats]:
    shifts, firsts, seconds = (np.array(each) for each in zip(*pairs, strict=True))
    return shifts, firsts, seconds


@st.composite
def batches(draw: st.DrawFn) -> tuple[Floats, tuple[Floats, Floats, Floats]]:
    """An ε for each of some pairs of one dimension, ordinary and degenerate ones mixed."""
    size = draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=8))
    epsilons = np.array([draw(st.one_of(st.just(0.0), st.floats(1e-6, 20.0))) for _ in kinds])
    return epsilons, stacked([pair_of(kind, rng, size) for kind in kinds])


def same(one: HockeySticks, other: HockeySticks) -> bool:
    """Whether values agree up to the rounding of their last digits, and errors up to the same share of themselves."""
    return np.allclose(one.value, other.value, rtol=1e-12, atol=0) and np.allclose(
        one.error, other.error, rtol=1e-6, atol=1e-300
    )


def one_by_one(epsilons: Floats, laws: tuple[Floats, Floats, Floats]) -> HockeySticks:
    alone = [gaussian_hockey_stick(*given) for given in zip(epsilons, *laws, strict=True)]
    return HockeySticks(value=np.array([one.value for one in alone]), error=np.array([one.error for one in alone]))


@settings(max_examples=60)
@given(batches())
def test_a_batch_is_its_pairs_one_by_one(batch: tuple[Floats, tuple[Floats, Floats, Floats]]) -> None:
    assert same(gaussian_hockey_sticks(batch[0], *batch[1]), one_by_one(*batch))


@settings(max_examples=40)
@given(batches(), st.randoms(use_true_random=False))
def test_the_order_of_pairs_does_not_matter(batch: tuple[Floats, tuple[Floats, Floats, Floats]], random: Any) -> None:
    epsilons, laws = batch
    order = list(range(len(epsilons)))
    random.shuffle(order)
    straight = gaussian_hockey_sticks(epsilons, *laws)
    shuffled = gaussian_hockey_sticks(epsilons[order], *(law[order] for law in laws))
    assert same(shuffled, HockeySticks(value=straight.value[order], error=straight.error[order]))


@settings(max_examples=40)
@given(batches(), st.integers(1, 100))
def test_how_many_are_computed_together_does_not_matter(
    batch: tuple[Floats, tuple[Floats, Floats, Floats]], together: int
) -> None:
    whole = gaussian_hockey_sticks(batch[0], *batch[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(divergence, "TOGETHER", together)
        assert same(gaussian_hockey_sticks(batch[0], *batch[1]), whole)


@settings(max_examples=20)
@given(batches(), st.floats(0.0, 5.0))
def test_one_epsilon_is_that_of_every_pair(batch: tuple[Floats, tuple[Floats, Floats, Floats]], epsilon: float) -> None:
    _, laws = batch
    assert gaussian_hockey_sticks(epsilon, *laws) == gaussian_hockey_sticks(np.full(len(laws[0]), epsilon), *laws)


@given(st.integers(2, 8), st.integers(0, 10**6))
def test_degenerate_pairs_have_their_values_beside_ordinary_ones(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    laws = stacked([pair_of(kind, rng, size) for kind in KINDS])
    found = dict(zip(KINDS, zip(*(row.tolist() for row in _rows(laws)), strict=True), strict=True))
    assert found["points"] == found["equal"] == (0.0, 0.0)
    assert found["apart"] == found["off the range"] == (1.0, 0.0)
    assert found["nothing known"] == (1.0, 1.0)
    assert 0 < found["ordinary"][1] < 1e-6
    assert 0 < found["flat"][1] < 1e-6


def _rows(laws: tuple[Floats, Floats, Floats]) -> tuple[Floats, Floats]:
    found = gaussian_hockey_sticks(0.5, *laws)
    return found.value, found.error


def test_a_bound_never_exceeds_one() -> None:
    found = HockeySticks(value=np.array([0.5, 1.0]), error=np.array([0.1, 1.0]))
    assert found.upper_bound.tolist() == [0.6, 1.0]


@pytest.mark.parametrize(
    ("epsilons", "shifts", "firsts", "seconds", "message"),
    [
        ([1.0, -0.1], [[1.0]] * 2, [[[1.0]]] * 2, [[[1.0]]] * 2, "epsilon must be finite and at least 0, but is -0.1"),
        ([1.0, math.nan], [[1.0]] * 2, [[[1.0]]] * 2, [[[1.0]]] * 2, "epsilon must be"),
        (math.inf, [[1.0]], [[[1.0]]], [[[1.0]]], "epsilon must be"),
        ([1.0] * 3, [[1.0]] * 2, [[[1.0]]] * 2, [[[1.0]]] * 2, "epsilons must be one number or 2"),
        (1.0, [1.0], [[[1.0]]], [[[1.0]]], "mean_differences must have 2 axes"),
        (1.0, np.zeros((0, 1)), np.zeros((0, 1, 1)), np.zeros((0, 1, 1)), "mean_differences must have 2 axes and an"),
        (1.0, [[1.0]] * 2, [[[1.0]]], [[[1.0]]] * 2, r"covariances_1 must have shape \(2, 1, 1\)"),
        (1.0, [[1.0]] * 2, [[[1.0]]] * 2, [[[1.0]], [[-1.0]]], r"covariances_2\[1\] must have no negative variance"),
        (1.0, np.ones((1, 2)), [[[1.0, 0.5], [0.4, 1.0]]], [np.eye(2)], r"covariances_1\[0\] must be symmetric"),
        (1.0, np.ones((1, 2)), [np.eye(2)], [[[1.0, 2.0], [2.0, 1.0]]], r"covariances_2\[0\] must be positive semi"),
        (1.0, [[math.inf]], [[[1.0]]], [[[1.0]]], "mean_differences must be finite, but has an entry inf"),
    ],
)
def test_a_pair_that_is_none_is_refused_by_its_number(
    epsilons: Any, shifts: Any, firsts: Any, seconds: Any, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        gaussian_hockey_sticks(epsilons, shifts, firsts, seconds)
