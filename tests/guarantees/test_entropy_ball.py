"""A ball around the model: certificates that hold for every law in it, and noise that is made for that."""

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

import distpriv as dp
from distpriv.errors import InvalidModel, InvalidSource, LawsChanged, NotCertified
from distpriv.guarantees.relaxation import ball_cost, entropy_failure, made_for

TARGET = dp.PrivacyTarget(epsilon=0.5, delta=0.01)
RECORDS = 40
CHANCE = {True: 0.7, False: 0.4}
"""How likely heads are of coins of one kind and of the other."""


def entropy(q: float, p: float) -> float:
    return q * math.log(q / p) + (1 - q) * math.log((1 - q) / (1 - p))


def of_coins(robust: Any = None, **options: Any) -> dp.QueryModel:
    heads, gold = [1] * 7 + [0] * 3 + [1] * 4 + [0] * 6, [True] * 10 + [False] * 10
    coins = pa.table({"heads": heads * 3, "gold": gold * 3})
    secret = dp.Share("gold", values=(0.4, 0.6))
    options = {"records": RECORDS, "reference": "population", "robust": robust, **options}
    return dp.model(coins, dp.Query(heads=dp.count("heads = 1")), secret, **options)


@given(st.floats(1e-10, 2.0), st.floats(0.0, 1.0), st.floats(1e-6, 1 - 1e-6), st.floats(1e-6, 1 - 1e-6))
@settings(max_examples=200, deadline=None)
def test_no_event_is_more_likely_than_the_bound_has_it(scale: float, divergence: float, p: float, q: float) -> None:
    """Whatever two chances are, the bound for their own relative entropy, either way round, is above."""
    for apart in (entropy(p, q), entropy(q, p)):
        within = max(apart, scale * apart)
        assert p - math.exp(divergence) * q <= entropy_failure(within, divergence) + 1e-12


def test_the_bound_is_attained_and_never_above_those_of_pinsker_and_of_bretagnolle_and_huber() -> None:
    chances = np.linspace(0, 1, 1501)[1:-1]
    p, q = np.meshgrid(chances, chances)
    apart = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    for most, divergence in product((0.02, 0.1, 1.0), (0.0, 0.1, 0.5)):
        inside = apart <= most
        found = max(float((a - math.exp(divergence) * b)[inside].max()) for a, b in ((p, q), (q, p)))
        assert found <= entropy_failure(most, divergence) <= found + 2e-3
    for most in np.geomspace(1e-9, 4, 60).tolist():
        assert entropy_failure(most) <= min(math.sqrt(most / 2), math.sqrt(-math.expm1(-most))) * (1 + 1e-5) + 1e-15
        assert entropy_failure(most, 0.1) <= entropy_failure(most)


def of_heads(chances: dict[bool, float], gold: int) -> np.ndarray:
    """Return the law of heads among so many coins of one kind and the rest of the other."""
    ones, others = (
        binom.pmf(np.arange(size + 1), size, chances[kind]) for kind, size in ((True, gold), (False, RECORDS - gold))
    )
    return np.convolve(ones, others)


def true_delta(first: np.ndarray, second: np.ndarray, deviation: float, epsilon: float) -> float:
    """Return δ of two laws of heads with Gaussian noise, by a fine sum over answers."""
    at = np.linspace(-8 * deviation, RECORDS + 8 * deviation, 4001)
    bells = norm.pdf(at[:, np.newaxis] - np.arange(RECORDS + 1), scale=deviation)
    gap = bells @ (first - math.exp(epsilon) * second)
    return float(np.maximum(gap, 0).sum() * (at[1] - at[0]))


def farthest(p: float, radius: float, sign: int) -> float:
    """Return the chance that is farthest from another one within a relative entropy of it, either way round."""
    low, high = p, 1 - 1e-9 if sign > 0 else 1e-9
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if min(entropy(middle, p), entropy(p, middle)) <= radius else (low, middle)
    return low


def worst_in_the_ball(noise: Any, radius: float, epsilon: float) -> float:
    """Return the largest δ when coins of each kind are as far off as they may be, in each scenario for itself."""
    deviation = float(np.sqrt(noise.covariance[0, 0]))
    around = [
        {kind: farthest(p, radius, sign) for (kind, p), sign in zip(CHANCE.items(), signs, strict=True)}
        for signs in product((-1, 1), repeat=2)
    ]
    laws = [[of_heads(chances, gold) for chances in [CHANCE, *around]] for gold in (16, 24)]
    return max(true_delta(one, other, deviation, epsilon) for a, b in (laws, laws[::-1]) for one in a for other in b)


@pytest.mark.parametrize("radius", [1e-8, 1e-6, 1e-5])
@pytest.mark.parametrize("name", ["certified_gaussian", "group_privacy_gaussian"])
def test_a_shift_inside_the_ball_never_exceeds_the_certified_delta(name: str, radius: float) -> None:
    made = getattr(dp.mechanisms, name)(of_coins(radius), TARGET)
    assert made.certificate.holds
    assert made.certificate.epsilon == TARGET.epsilon
    assert worst_in_the_ball(made.noise, radius, TARGET.epsilon) <= made.certificate.delta


def test_without_the_ball_such_a_shift_does_exceed_it() -> None:
    made = dp.mechanisms.certified_gaussian(of_coins(replacement=True), TARGET)
    assert worst_in_the_ball(made.noise, 0.0, TARGET.epsilon) <= made.certificate.delta
    assert worst_in_the_ball(made.noise, 1e-5, TARGET.epsilon) > TARGET.delta


@pytest.mark.slow
@given(st.floats(0.05, 3.0), st.floats(1e-4, 0.2), st.floats(1e-10, 1e-4))
@settings(max_examples=20, deadline=None)
def test_what_noise_is_made_for_becomes_the_target_in_the_ball(epsilon: float, delta: float, radius: float) -> None:
    target, model = dp.PrivacyTarget(epsilon=epsilon, delta=delta), of_coins(radius)
    try:
        left, cost = made_for(model, target), ball_cost(model, target)
    except NotCertified:
        return
    assert cost is not None
    odds = math.exp(left.epsilon + cost.divergence)
    assert left.epsilon + 2 * cost.divergence <= target.epsilon
    assert (1 + odds) * cost.failure + math.exp(cost.divergence) * left.delta <= target.delta


def test_a_ball_that_leaves_nothing_is_refused_with_the_largest_that_fits() -> None:
    with pytest.raises(NotCertified, match="state at most") as refused:
        dp.plan(of_coins(0.01), TARGET)
    most = float(str(refused.value).split("state at most ")[1].split(",")[0])
    assert made_for(of_coins(most), TARGET).delta > 0
    with pytest.raises(NotCertified):
        made_for(of_coins(1.1 * most), TARGET)
    with pytest.raises(NotCertified, match="give a delta above 0"):
        dp.mechanisms.expected_value_laplace(of_coins(1e-9), dp.PrivacyTarget(epsilon=1))


def test_a_question_has_no_ball_that_it_did_not_have_before(tmp_path: Path) -> None:
    """Noise that was made for the reference alone was kept, with its certificate, for whatever ball."""
    private = pa.table({"heads": [1, 0] * 20, "gold": [True] * 20 + [False] * 20})
    plain, ball = (
        dp.plan(of_coins(r, replacement=True), TARGET, mechanisms=["certified_gaussian"]) for r in (None, 4e-5)
    )
    for how in ("released", "declared"):
        ledger = f"sqlite:///{tmp_path / how}.db"
        dp.Ledger.create(ledger)
        if how == "released":
            dp.release(plain, private, ledger=ledger, dataset="coins", total=TARGET)
        else:
            dp.declare({"heads": plain}, ledger=ledger, dataset="coins", total=TARGET)
        with pytest.raises(LawsChanged, match="robust = None, not 4e-05"):
            dp.release(ball, private, ledger=ledger, dataset="coins", total=TARGET)


def test_records_of_a_ball_are_drawn_independently() -> None:
    assert of_coins(1e-7).provenance.replacement
    assert not of_coins().provenance.replacement
    with pytest.raises(InvalidModel, match="a ball around the reference"):
        of_coins(1e-7, replacement=False)
    for wrong in (0, -1e-9, math.inf, math.nan, 10**400, [1e-7, 1e-8]):
        with pytest.raises(InvalidModel, match="robust"):
            of_coins(wrong)
    with pytest.raises(InvalidSource, match="type bool"):
        of_coins([1e-7, True])


def test_a_plan_says_what_the_ball_costs_and_certifies_the_whole_of_it() -> None:
    plan = dp.plan(of_coins(1e-6), TARGET)
    left = plan.made_for
    assert left.epsilon < TARGET.epsilon
    assert left.delta < TARGET.delta
    assert all(number in str(plan) for number in ("1e-06", f"{left.epsilon:.4g}", f"{left.delta:.3g}"))
    assert plan.to_dict()["robust"]["wider"] > 1
    certificate = plan.mechanism.certificate
    assert (certificate.epsilon, certificate.target) == (TARGET.epsilon, TARGET)
    assert left.delta < certificate.delta <= TARGET.delta
    assert [one.facts["radius"] for one in certificate.evidence if one.code == "DP317"] == [1e-6]
    bare = dp.plan(of_coins(replacement=True), TARGET)
    assert bare.made_for == TARGET
    assert "robust" not in bare.to_dict()
    assert bare.chosen is not None
    assert plan.chosen is not None
    assert bare.chosen.estimate_error < plan.chosen.estimate_error


def test_what_an_attacker_can_see_grows_with_the_ball() -> None:
    made = dp.mechanisms.certified_gaussian(of_coins(1e-6), TARGET)
    within = dp.plan(of_coins(1e-6), TARGET, mechanisms=["certified_gaussian"]).options[0]
    assert within.attack_accuracy <= TARGET.attack_accuracy_ceiling
    seen = worst_in_the_ball(made.noise, 1e-6, 0.0)
    assert (1 + seen) / 2 <= within.attack_accuracy
