"""Max-divergence of discrete laws, by brute force over all events."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distpriv.distances import approximate_max_divergence, max_divergence
from distpriv.errors import InvalidInput


def law(counts: list[int]) -> list[float]:
    return [float(f"{count / 100:.2f}") for count in [*counts, 100 - sum(counts)]]


laws = st.lists(st.integers(0, 20), min_size=5, max_size=5).map(law)
deltas = st.integers(0, 99).map(lambda hundredths: float(f"{hundredths / 100:.2f}"))


def ratio_by_brute_force(p: list[float], q: list[float], delta: float) -> Fraction | None:
    """The largest (p(S) - δ)/q(S) over all events; None where it is infinite."""
    a, b = ([Fraction(str(value)) for value in weights] for weights in (p, q))
    forgiven = Fraction(str(delta))
    best = Fraction(0)
    for event in product([False, True], repeat=len(p)):
        mass = sum((x for x, inside in zip(a, event, strict=True) if inside), Fraction(0)) - forgiven
        other = sum((y for y, inside in zip(b, event, strict=True) if inside), Fraction(0))
        if mass > 0 and other == 0:
            return None
        if mass >= 0 and other > 0:
            best = max(best, mass / other)
    return best


@given(laws, laws, deltas)
def test_the_first_atoms_by_ratio_beat_every_event(p: list[float], q: list[float], delta: float) -> None:
    best = ratio_by_brute_force(p, q, delta)
    expected = math.inf if best is None else math.log(best)
    assert approximate_max_divergence(p, q, delta) == pytest.approx(expected, rel=1e-14, abs=1e-300)


@given(laws, laws, st.integers(1, 99).map(lambda hundredths: hundredths / 100))
def test_the_hockey_stick_there_is_delta(p: list[float], q: list[float], delta: float) -> None:
    exponent = approximate_max_divergence(p, q, delta)
    if math.isinf(exponent):
        assert sum(a for a, b in zip(p, q, strict=True) if b == 0) > delta - 1e-12
    else:
        assert np.maximum(np.array(p) - math.exp(exponent) * np.array(q), 0).sum() == pytest.approx(delta, abs=1e-12)


@given(laws, laws, deltas)
def test_without_delta_it_is_the_largest_log_ratio_it_never_increases_and_equal_laws_have_that_of_what_is_left(
    p: list[float], q: list[float], delta: float
) -> None:
    ratios = [math.inf if b == 0 else math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0]
    assert max_divergence(p, q) == approximate_max_divergence(p, q, 0)
    assert max_divergence(p, q) == pytest.approx(max(ratios), rel=1e-14, abs=1e-15)
    values = [approximate_max_divergence(p, q, forgiven) for forgiven in (0, 0.01, 0.1, 0.5, 0.9)]
    assert values == sorted(values, reverse=True)
    assert approximate_max_divergence(p, p, delta) == pytest.approx(math.log1p(-delta), rel=1e-14)


def test_tiny_and_huge_ratios_have_logarithms() -> None:
    assert max_divergence([1, 0], [1e-320, 1]) == pytest.approx(320 * math.log(10), rel=1e-14)


@pytest.mark.parametrize(
    ("p", "q", "delta", "message"),
    [
        ([1], [0.5, 0.5], 0, "same atoms"),
        ([], [], 0, "same atoms"),
        ([0.5, 0.6], [0.5, 0.5], 0, "p must sum to 1"),
        ([0.5, 0.5], [math.nan, 0.5], 0, "q must be finite"),
        ([0.5, 0.5], [1.5, -0.5], 0, "q must be finite and at least 0"),
        ([1], [1], 1, "delta must be at least 0 and below 1"),
    ],
)
def test_what_is_no_law_is_refused(p: list[float], q: list[float], delta: float, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        approximate_max_divergence(p, q, delta)
