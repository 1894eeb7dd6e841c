import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.normal_laplace import sampled_delta
from tests.guarantees.random_models import random_model
from tests.mechanisms.shared import transformed

import distpriv as dp
from distpriv.guarantees.attack_accuracy import attack_accuracy_upper_bound, undefended_attack_accuracy
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.mechanisms.certified_laplace import certified_laplace
from distpriv.modelling.utility import utility_weights, weighted_rms
from distpriv.noise.laws import LaplaceNoise, SumNoise

TARGET = dp.PrivacyTarget(epsilon=1, delta=1e-3)


def sampled_excess(model: dp.QueryModel, made: AdditiveMechanism, draws: int, seed: int) -> float:
    """How far a sampled divergence of some pair exceeds the certified δ, in standard errors."""
    found = []
    assert isinstance(made.noise, SumNoise)
    axis, scale = made.noise.laplace_axes[:, 0], float(made.noise.laplace_scales[0])
    for pair in model.protected_pairs:
        laws = [model.distributions[name].covariance + made.noise.gaussian.covariance for name in pair]
        shift, epsilon = model.mean_shift(pair), made.certificate.epsilon
        value, error = sampled_delta(shift, laws[0], laws[1], axis, scale, epsilon, draws, seed)
        found.append((value - made.certificate.delta) / max(error, 1e-12))
    return max(found)


@settings(max_examples=3)
@given(st.integers(0, 10**6), st.integers(1, 4), st.floats(0.2, 3))
def test_covariances_may_differ_and_the_target_is_met_as_sampling_confirms(
    seed: int, size: int, epsilon: float
) -> None:
    model = random_model(seed, size, unequal=0.15, distance=3.0)
    made = certified_laplace(model, dp.PrivacyTarget(epsilon=epsilon, delta=1e-2))
    assert made.certificate.holds
    assert made.certificate.assurance == "checked"
    if isinstance(made.noise, SumNoise):
        assert sampled_excess(model, made, 40_000, seed) < 5


@pytest.mark.slow
def test_certificates_hold_and_are_never_contradicted_on_forty_models() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        spread, distance = float(rng.uniform(0.02, 0.4)), float(rng.uniform(1, 5))
        model = random_model(seed, int(rng.integers(1, 7)), unequal=spread, distance=distance, pairs=seed % 2 + 1)
        target = dp.PrivacyTarget(epsilon=float(rng.uniform(0.1, 4)), delta=float(10 ** rng.uniform(-4, -1)))
        made = certified_laplace(model, target)
        assert made.certificate.holds, seed
        if isinstance(made.noise, SumNoise):
            assert sampled_excess(model, made, 40_000, seed) < 5


def test_with_equal_covariances_all_of_epsilon_goes_to_the_shift_and_delta_is_nothing() -> None:
    model = random_model(1, 3, distance=4.0)
    made = certified_laplace(model, dp.PrivacyTarget(epsilon=0.5))
    assert isinstance(made.noise, SumNoise)
    assert made.certificate.delta == 0.0
    assert made.certificate.holds
    length = float(np.linalg.norm(model.mean_shift(("s0", "s1"))))
    assert made.noise.laplace_scales[0] == pytest.approx(length / 0.5, rel=1e-6)
    np.testing.assert_allclose(made.noise.gaussian.covariance, np.diag(model.floor**2), rtol=1e-6, atol=1e-12)


def test_a_lattice_leaves_a_little_less_of_epsilon_and_is_counted() -> None:
    model = dp.gaussian_model(
        means={"a": [0, 0], "b": [9, 3]}, covariances=np.diag([25.0, 16.0]), pairs=[("a", "b")], steps=[1, 1]
    )
    made = certified_laplace(model, dp.PrivacyTarget(epsilon=0.5))
    assert isinstance(made.noise, SumNoise)
    assert made.certificate.holds
    assert made.certificate.assurance == "checked"
    assert made.noise.laplace_scales[0] > np.hypot(9, 3) / 0.5
    assert np.linalg.eigvalsh(made.noise.gaussian.covariance).min() >= 1


@pytest.mark.parametrize("epsilon", [0.1, 0.2, 1.0])
def test_one_line_hides_shifts_that_are_nearly_parallel_however_small_epsilon_is(epsilon: float) -> None:
    means = {"a": [0.0, 0.0], "b": [4.0, 0.0], "c": [0.0, 0.0], "d": [4.0, 0.8]}
    model = dp.gaussian_model(means=means, covariances=np.diag([25.0, 25.0]), pairs=[("a", "b"), ("c", "d")])
    made = certified_laplace(model, dp.PrivacyTarget(epsilon=epsilon, delta=1e-3))
    assert made.certificate.holds
    assert made.noise.laplace_axes.shape == (2, 1)
    alone = dp.mechanisms.certified_gaussian(model, dp.PrivacyTarget(epsilon=epsilon, delta=1e-3))
    assert made.noise.expected_rms < alone.noise.expected_rms


@pytest.mark.slow
def test_units_do_not_matter_and_weights_move_the_error_to_where_it_costs_less() -> None:
    model = random_model(6, 3, unequal=0.2, distance=3.0)
    plain, weighted = certified_laplace(model, TARGET), certified_laplace(model, TARGET, weights=[1, 1, 400])
    scaled = certified_laplace(transformed(model, 100 * np.eye(3)), TARGET)
    assert scaled.noise.expected_rms == pytest.approx(100 * plain.noise.expected_rms, rel=0.02)
    weights = utility_weights(model, [1, 1, 400])
    assert weighted.certificate.holds
    assert weighted_rms(weighted.noise.covariance, weights) <= weighted_rms(plain.noise.covariance, weights) * 1.01


def test_the_attacker_is_right_less_often_than_without_noise_and_no_more_often_than_the_ceiling() -> None:
    model = random_model(5, 3, unequal=0.1, distance=4.0)
    made = certified_laplace(model, TARGET)
    assert isinstance(made.noise, SumNoise)
    assert any(isinstance(part, LaplaceNoise) for part in made.noise.parts)
    found = attack_accuracy_upper_bound(model, made)
    assert 0.5 < found <= TARGET.attack_accuracy_ceiling < undefended_attack_accuracy(model)


INCOME = "income = '>50K'"
TWO = [dp.Share(INCOME, values=(0.25, 0.35)), dp.Share("workclass = 'Private'", values=(0.6, 0.7))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("secret", "epsilon", "most"),
    [
        (dp.Share(INCOME, values=(0.45, 0.55)), 0.2, 25.6),
        (dp.Share(INCOME, values=(0.45, 0.55)), 1, 5.45),
        (dp.Share(INCOME, values=(0.3, 0.7)), 1, 22.6),
        (TWO, 0.2, 26.0),
        (TWO, 1, 5.12),
    ],
    ids=["income, low", "income", "income far apart", "two properties, low", "two properties"],
)
def test_one_line_hides_properties_of_adult_with_less_noise_than_gaussian_noise_needs(
    adult: pa.Table, paper_query: dp.Query, secret: dp.Share | list[dp.Share], epsilon: float, most: float
) -> None:
    model = dp.model(adult, paper_query, secret, records=100, reference="population")
    made = certified_laplace(model, dp.PrivacyTarget(epsilon=epsilon, delta=1e-3))
    assert made.certificate.holds_at("checked")
    assert made.noise.expected_l2 <= most
    assert sampled_excess(model, made, 200_000, 1) < 5
