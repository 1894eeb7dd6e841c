import numpy as np
import pyarrow as pa
import pytest
from scripts.true_delta import true_delta_estimate
from tests.auditing.shared import TOY

import distpriv as dp
from distpriv.errors import InvalidInput
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, SumNoise


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_on_gaussian_laws_the_interval_holds_the_exact_delta(epsilon: float) -> None:
    noise = GaussianNoise.of(np.array([[2.0, 0.5], [0.5, 1.0]]))
    found = true_delta_estimate(TOY, noise, epsilon=epsilon, batch=400)
    exact = dp.exact_delta(TOY, noise, epsilon=epsilon)
    low, high = found.interval
    assert low <= exact <= high
    assert high - low < 0.5 * exact + 0.01
    assert low <= found.delta_estimate <= high


def test_intervals_hold_the_exact_delta_as_often_as_stated() -> None:
    noise = GaussianNoise.isotropic(2, 1.5)
    exact = dp.exact_delta(TOY, noise, epsilon=0.3)
    found = [
        true_delta_estimate(TOY, noise, epsilon=0.3, batch=60, batches=10, seed=seed).interval for seed in range(60)
    ]
    assert sum(low <= exact <= high for low, high in found) >= 54


def test_laws_that_no_gaussian_describes_are_told_as_they_are() -> None:
    # Both laws have mean 0 and variance 1: as Gaussians they are the same, and the release would have δ = 0.
    points = {"a": [-1.0, 1.0], "b": [-2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0]}
    model = dp.empirical_model(samples=points, pairs=[("a", "b")])
    noise = GaussianNoise.isotropic(1, 0.3)
    assert dp.exact_delta(model, noise, epsilon=0.5) == pytest.approx(0.0, abs=1e-9)
    found = true_delta_estimate(model, noise, epsilon=0.5, batch=300)
    assert found.interval[0] > 0.5


def test_laplace_noise_around_two_points_has_the_delta_of_its_formula() -> None:
    # H_ε of Lap(b) shifted by d is 1 − e^{(ε − d/b)/2}.
    model = dp.empirical_model(samples={"a": [0.0, 0.0], "b": [1.0, 1.0]}, pairs=[("a", "b")])
    exact = 1 - np.exp((0.4 - 1.0) / 2)
    for noise in (
        LaplaceNoise.isotropic(1, 1.0),
        SumNoise(parts=(LaplaceNoise.isotropic(1, 1.0), GaussianNoise.isotropic(1, 1e-3))),
    ):
        low, high = true_delta_estimate(model, noise, epsilon=0.4, batch=100).interval
        assert low - 0.005 <= exact <= high + 0.005
        assert high - low < 0.1


@pytest.mark.slow
def test_on_adult_the_gaussian_model_costs_less_than_can_be_seen(adult: pa.Table, paper_query: dp.Query) -> None:
    model = dp.model(adult, paper_query, dp.Share("income = '>50K'", values=(0.45, 0.55)), records=100)
    for epsilon in (0.2, 1.0):
        mechanism = dp.mechanisms.expected_value_gaussian(model, dp.PrivacyTarget(epsilon=epsilon, delta=1e-3))
        found = true_delta_estimate(model, mechanism, epsilon=epsilon)
        assert found.interval[0] <= dp.exact_delta(model, mechanism, epsilon=epsilon) <= found.interval[1] < 0.002


def test_the_estimate_prints_and_repeats() -> None:
    noise = GaussianNoise.isotropic(2, 2.0)
    told: list[tuple[str, int, int]] = []
    one = true_delta_estimate(
        TOY, noise, epsilon=0.1, batch=50, batches=3, seed=1, progress=lambda *step: told.append(step)
    )
    assert one == true_delta_estimate(TOY, noise, epsilon=0.1, batch=50, batches=3, seed=1)
    assert str(one).startswith("δ at ε = 0.1 is about ")
    assert told[-1] == ("true δ", 3, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": -1.0}, "epsilon must be at least 0"),
        ({"batch": 1}, "batch must be a whole number, at least 2"),
        ({"batches": 1}, "batches must be a whole number, at least 2"),
        ({"confidence": 0.0}, "confidence must be above 0"),
    ],
)
def test_numbers_outside_their_range_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        true_delta_estimate(TOY, GaussianNoise.isotropic(2, 1.0), **({"epsilon": 1.0} | options))  # type: ignore[arg-type]


def test_noise_without_a_density_is_refused() -> None:
    bare = GaussianNoise(axes=np.array([[1.0], [0.0]]), variances=np.array([1.0]))
    with pytest.raises(InvalidInput, match="leaves a direction without noise"):
        true_delta_estimate(TOY, bare, epsilon=1.0)
