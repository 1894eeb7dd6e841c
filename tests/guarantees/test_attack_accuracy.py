import math

import numpy as np
import pytest

import distpriv as dp
from distpriv.guarantees.attack_accuracy import attack_accuracy_upper_bound, undefended_attack_accuracy

TARGET = dp.PrivacyTarget(epsilon=1, delta=1e-3)


def test_adult_income_is_told_in_76_cases_of_100(adult, paper_query) -> None:  # type: ignore[no-untyped-def]
    model = dp.model(
        adult, paper_query, dp.Share("income = '>50K'", values=(0.45, 0.55)), records=100, reference="population"
    )
    assert undefended_attack_accuracy(model) == pytest.approx(0.7615, abs=2e-3)
    protected = attack_accuracy_upper_bound(model, dp.mechanisms.expected_value_gaussian(model, TARGET))
    assert 0.5 < protected < 0.58


def test_an_attacker_never_does_better_than_the_certificate_allows() -> None:
    model = dp.gaussian_model(means={"a": [0, 0], "b": [3, 4]}, covariances=np.eye(2), pairs=[("a", "b")])
    for make in (dp.mechanisms.expected_value_gaussian, dp.mechanisms.directional_uncertainty):
        mechanism = make(model, TARGET)
        found = attack_accuracy_upper_bound(model, mechanism)
        drawn = mechanism.noise.simulate(200_000, seed=1) + np.random.default_rng(2).normal(size=(200_000, 2))
        direction = np.linalg.solve(np.eye(2) + mechanism.noise.covariance, [3.0, 4.0])
        middle = direction @ np.array([1.5, 2.0])
        right = (
            (drawn @ direction < middle).mean() + ((drawn + np.array([3.0, 4.0])) @ direction >= middle).mean()
        ) / 2
        assert found == pytest.approx(right, abs=4.5 * 0.5 / 200_000**0.5)
        assert found <= TARGET.attack_accuracy_ceiling
    unlike = dp.gaussian_model(means={"a": [0], "b": [0.1]}, covariances={"a": [[1]], "b": [[100]]}, pairs=[("a", "b")])
    weak = dp.mechanisms.expected_value_laplace(unlike, dp.PrivacyTarget(epsilon=1))
    assert not weak.certificate.holds
    assert attack_accuracy_upper_bound(unlike, weak) > 0.89
    laplace = dp.mechanisms.expected_value_laplace(model, TARGET)
    assert attack_accuracy_upper_bound(model, laplace) <= (2 - math.exp(-0.5)) / 2 + 1e-9
    assert attack_accuracy_upper_bound(model, laplace) < dp.PrivacyTarget(epsilon=1).attack_accuracy_ceiling


def test_noise_never_helps_an_attacker() -> None:
    close = dp.gaussian_model(means={"a": [0], "b": [0.2]}, covariances=[[1]], pairs=[("a", "b")], steps=[0.5])
    weak = dp.PrivacyTarget(epsilon=3, delta=0.01)
    plan = dp.plan(close, weak, assurance="assumed", all=True, processes=1)
    assert weak.attack_accuracy_ceiling > plan.undefended_attack_accuracy
    assert all(found.attack_accuracy <= plan.undefended_attack_accuracy for found in plan.options)


def test_of_given_points_it_is_their_total_variation() -> None:
    weights = {"a": [0.75, 0.25], "b": [0.25, 0.75]}
    model = dp.empirical_model(samples={"a": [0, 1], "b": [0, 1]}, pairs=[("a", "b")], weights=weights)
    assert undefended_attack_accuracy(model) == pytest.approx(0.75)


def test_of_a_sample_it_is_that_of_the_worst_population(adult, paper_query) -> None:  # type: ignore[no-untyped-def]
    secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    known, estimated = (
        undefended_attack_accuracy(dp.model(adult, paper_query, secret, records=100, reference=reference))
        for reference in ("population", "sample")
    )
    assert known < estimated < known + 0.02
