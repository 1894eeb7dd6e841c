import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from tests.guarantees.random_models import random_covariance, random_model

import distpriv as dp
from distpriv.distances import gaussian_delta
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.guarantees.exact_delta import pair_deltas
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoNoise

seeds, sizes = st.integers(0, 10**6), st.integers(1, 6)


@given(seeds, sizes, st.floats(0, 20), st.floats(0.01, 8))
def test_with_equal_covariances_it_is_the_curve_of_one_gaussian(
    seed: int, size: int, epsilon: float, distance: float
) -> None:
    model = random_model(seed, size, distance=distance)
    shift = model.mean_shift(("s0", "s1"))
    noise = random_covariance(np.random.default_rng(seed), size)
    total = model.distributions["s0"].covariance + noise
    r = math.sqrt(shift @ np.linalg.solve(total, shift))
    assert dp.exact_delta(model, noise, epsilon=epsilon) == pytest.approx(
        gaussian_delta(epsilon, r), abs=1e-10, rel=1e-6
    )


@given(seeds, sizes, st.floats(0, 10))
def test_more_noise_never_raises_it(seed: int, size: int, epsilon: float) -> None:
    model = random_model(seed, size, unequal=1.0, pairs=2, parallel=False)
    rng = np.random.default_rng(seed)
    little = 0.1 * random_covariance(rng, size)
    more = little + random_covariance(rng, size)
    assert dp.exact_delta(model, more, epsilon=epsilon) <= dp.exact_delta(model, little, epsilon=epsilon) * (1 + 1e-8)


@pytest.mark.slow
@settings(max_examples=30)
@given(seeds, sizes, st.floats(1e-9, 0.2))
def test_exact_epsilon_is_the_inverse_rounded_up(seed: int, size: int, delta: float) -> None:
    model = random_model(seed, size, unequal=0.3)
    noise = GaussianNoise.isotropic(size, 0.5)
    epsilon = dp.exact_epsilon(model, noise, delta=delta)
    assert dp.exact_delta(model, noise, epsilon=epsilon) <= delta
    if epsilon > 0:
        assert dp.exact_delta(model, noise, epsilon=epsilon * (1 - 1e-6)) > delta


@settings(max_examples=40)
@given(seeds, sizes, st.integers(1, 6), st.booleans())
def test_pairs_together_have_the_deltas_they_have_alone(seed: int, size: int, pairs: int, noisy: bool) -> None:
    model = random_model(seed, size, unequal=0.5, pairs=pairs, parallel=False)
    rng = np.random.default_rng(seed)
    noise = GaussianNoise.of(random_covariance(rng, size)) if noisy else NoNoise(dimension=size).gaussian
    epsilons = rng.uniform(0, 5, len(model.protected_pairs))
    together = pair_deltas(model, model.protected_pairs, noise, epsilons)
    one_by_one = zip(model.protected_pairs, epsilons, strict=True)
    alone = [float(pair_deltas(model, [pair], noise, epsilon)[0]) for pair, epsilon in one_by_one]
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    deltas = pair_deltas(model, model.protected_pairs, noise, 0.5)
    worst = model.protected_pairs[int(deltas.argmax())]
    assert deltas.max() == pytest.approx(dp.exact_delta(model, noise, epsilon=0.5), rel=1e-12)
    assert deltas.max() == pytest.approx(pair_deltas(model, [worst], noise, 0.5)[0], rel=1e-12)


def test_a_scenario_that_is_certain_has_no_finite_epsilon() -> None:
    model = dp.gaussian_model(means={"a": [0, 0], "b": [0, 1]}, covariances=[[1, 0], [0, 0]], pairs=[("a", "b")])
    assert dp.exact_delta(model, NoNoise(dimension=2), epsilon=5) == 1.0
    assert dp.exact_epsilon(model, NoNoise(dimension=2), delta=0.5) == math.inf
    assert dp.exact_delta(model, np.diag([0.0, 1.0]), epsilon=0) == pytest.approx(gaussian_delta(0, 1))


def monte_carlo(model: dp.QueryModel, noise: Floats, epsilon: float, draws: int, seed: int) -> tuple[float, float]:
    """Estimate the worst δ as the mean of (1 − e^{ε−L})₊ under the first law, with its standard error."""
    rng = np.random.default_rng(seed)
    worst = (-1.0, 0.0)
    for first, second in model.protected_pairs:
        p, q = (model.distributions[name] for name in (first, second))
        values = []
        for _ in range(draws // 500_000):
            x = rng.multivariate_normal(p.mean, p.covariance + noise, size=500_000, method="cholesky")
            ratio = multivariate_normal(p.mean, p.covariance + noise).logpdf(x)
            ratio -= multivariate_normal(q.mean, q.covariance + noise).logpdf(x)
            values.append(np.maximum(0.0, -np.expm1(np.minimum(0.0, epsilon - ratio))))
        all_values = np.concatenate(values)
        worst = max(worst, (float(all_values.mean()), float(all_values.std() / math.sqrt(all_values.size))))
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_it_agrees_with_ten_million_samples(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 21))
    model = random_model(seed, size, unequal=[0.0, 0.1, 0.5, 1.5][seed % 4], distance=2.0)
    axes = np.linalg.qr(rng.normal(size=(size, size)))[0]
    rank = size if seed % 3 else max(0, size - 1)
    noise = np.asarray((axes[:, :rank] * rng.uniform(0.1, 2, rank)) @ axes[:, :rank].T)
    epsilon = float(rng.uniform(0, 1.5))
    estimate, error = monte_carlo(model, noise, epsilon, 10_000_000, seed)
    assert dp.exact_delta(model, noise, epsilon=epsilon) == pytest.approx(estimate, abs=4.5 * error + 1e-9)


@pytest.mark.parametrize("scale", [1e4, 1e6, 1e8, 1e9])
def test_strong_noise_along_one_direction_does_not_hide_what_leaks_in_another(scale: float) -> None:
    model = dp.gaussian_model(
        means={"a": [0, 0], "b": [scale, scale]}, covariances={"a": np.eye(2), "b": 100 * np.eye(2)}, pairs=[("a", "b")]
    )
    mechanism = dp.mechanisms.directional_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=1e-3))
    bare = dp.gaussian_model(means={"a": [0], "b": [0]}, covariances={"a": [[1]], "b": [[100]]}, pairs=[("a", "b")])
    leak = dp.exact_delta(bare, NoNoise(dimension=1), epsilon=1)
    assert leak * 0.999 < mechanism.certificate.delta <= 1
    assert not mechanism.certificate.holds


@pytest.mark.parametrize(
    ("noise", "epsilon", "message"),
    [
        (LaplaceNoise.isotropic(2, 1.0), 1, "this is LaplaceNoise: its certificate has a bound"),
        (np.eye(3), 1, r"got shape \(3, 3\)"),
        (np.ones((2, 3)), 1, r"got shape \(2, 3\): give one row and one column for each statistic"),
        ("little", 1, r"got 'little': write \[\[1, 0\], \[0, 1\]\]"),
        (np.eye(2), -1, "epsilon must be at least 0"),
        (-10 * np.eye(2), 1, r"positive semidefinite|negative variance"),
    ],
)
def test_noise_that_does_not_fit_is_refused(noise: object, epsilon: float, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        dp.exact_delta(random_model(1, 2), noise, epsilon=epsilon)
    with pytest.raises(InvalidInput, match="delta must be at least 0 and below 1"):
        dp.exact_epsilon(random_model(1, 2), np.eye(2), delta=1)
