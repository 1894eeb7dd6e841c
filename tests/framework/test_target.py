import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distpriv import PrivacyTarget
from distpriv.distances.gaussian import analytic_radius, gaussian_delta
from distpriv.errors import InvalidTarget


@given(st.floats(0, 30), st.floats(1e-12, 0.999))
def test_the_ceiling_is_that_of_the_best_test_between_epsilon_delta_close_laws(epsilon: float, delta: float) -> None:
    ceiling = PrivacyTarget(epsilon=epsilon, delta=delta).attack_accuracy_ceiling
    assert ceiling == pytest.approx((math.exp(epsilon) + delta) / (1 + math.exp(epsilon)), rel=1e-12)
    assert (1 + delta) / 2 - 1e-15 <= ceiling <= 1


@given(st.floats(0.501, 0.999), st.floats(0, 0.9))
def test_a_target_from_an_accuracy_has_that_accuracy_as_its_ceiling(accuracy: float, share: float) -> None:
    delta = share * (2 * accuracy - 1)
    target = PrivacyTarget.from_attack_accuracy(accuracy, delta=delta)
    assert target.delta == delta
    assert target.attack_accuracy_ceiling == pytest.approx(accuracy, rel=1e-12)
    assert target.attack_accuracy_ceiling <= accuracy * (1 + 1e-15)


def test_without_delta_an_accuracy_is_a_total_variation() -> None:
    assert PrivacyTarget.from_attack_accuracy(0.6) == PrivacyTarget(epsilon=0, delta=0.2)
    assert PrivacyTarget.from_attack_accuracy(0.75) == PrivacyTarget(epsilon=0, delta=0.5)


def test_a_very_large_epsilon_does_not_overflow() -> None:
    assert PrivacyTarget(epsilon=1e6).attack_accuracy_ceiling == 1.0


@pytest.mark.parametrize(
    ("epsilon", "delta", "message"),
    [
        (-1, 0.1, "epsilon must be at least 0, got -1"),
        (math.nan, 0.1, "epsilon must be at least 0, got nan"),
        (math.inf, 0.1, "epsilon must be at least 0, got inf"),
        ("1", 0.1, "epsilon must be at least 0, got '1'"),
        (True, 0.1, "epsilon must be at least 0, got True"),
        (1, 1, "delta must be at least 0 and below 1, got 1"),
        (1, -1e-9, "delta must be at least 0 and below 1, got -1e-09"),
        (0, 0, "give a delta above 0"),
    ],
)
def test_a_target_outside_its_range_is_refused(epsilon: float, delta: float, message: str) -> None:
    with pytest.raises(InvalidTarget, match=message):
        PrivacyTarget(epsilon=epsilon, delta=delta)


@pytest.mark.parametrize("accuracy", [0.5, 1, 0.3, math.nan])
def test_an_accuracy_no_attacker_can_have_or_avoid_is_refused(accuracy: float) -> None:
    with pytest.raises(InvalidTarget, match=r"attack accuracy must be above 0\.5 and below 1"):
        PrivacyTarget.from_attack_accuracy(accuracy)


def test_a_delta_that_alone_breaks_the_accuracy_is_refused() -> None:
    with pytest.raises(InvalidTarget, match=r"give a delta of at most 0\.2"):
        PrivacyTarget.from_attack_accuracy(0.6, delta=0.3)


def test_a_target_is_frozen_and_compared_by_value() -> None:
    target = PrivacyTarget(epsilon=1, delta=0.001)
    assert target == PrivacyTarget(epsilon=1.0, delta=1e-3)
    with pytest.raises(AttributeError):
        target.epsilon = 2  # type: ignore[misc]


@given(accuracy=st.floats(0.501, 0.999))
def test_a_total_variation_comes_with_a_tail_that_gaussian_noise_of_that_variation_meets(accuracy: float) -> None:
    target = PrivacyTarget.from_attack_accuracy(accuracy)
    assert target.points == (target, target.tail)
    assert target.tail is not None
    assert target.tail.epsilon == 2
    assert gaussian_delta(2.0, analytic_radius(0.0, target.delta)) <= target.tail.delta <= target.delta
    assert PrivacyTarget(epsilon=0.1, delta=0.2).points == (PrivacyTarget(epsilon=0.1, delta=0.2),)
