import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_covariance, random_model

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.guarantees.upper_bound import delta_upper_bound
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, Noise, SumNoise, UnimodalNoise


def true_delta_in_the_plane(shift: Floats, first: Floats, second: Floats, noise: Noise, epsilon: float) -> float:
    """δ with independent noise on both statistics, by the characteristic functions on a grid; the worse order."""
    size, length = 1024, 80.0
    angular = 2 * np.pi * np.fft.fftfreq(size, length / size)
    t = np.stack(np.meshgrid(angular, angular, indexing="ij"), axis=-1)
    hidden, laws = noise.characteristic_function(t), []
    for mean, covariance in ((shift, first), (np.zeros(2), second)):
        transform = np.exp(-1j * t @ mean - np.einsum("ijk,kl,ijl->ij", t, covariance, t) / 2) * hidden
        laws.append(np.maximum(np.fft.ifft2(transform).real, 0.0))
    return max(float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum()) for one, other in (laws, laws[::-1]))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.3, 4), st.floats(0.5, 4), st.floats(0, 2), st.sampled_from([0, 1, 2]))
def test_the_bound_is_never_below_the_truth_in_the_plane(
    seed: int, one: float, other: float, epsilon: float, kind: int
) -> None:
    """Under noise on both statistics, and along a line that carries the shift or not, with Gaussian noise beside it."""
    rng = np.random.default_rng(seed)
    shift, first, second = rng.normal(size=2), random_covariance(rng, 2, 0.3), random_covariance(rng, 2, 0.3)
    noise: Noise = LaplaceNoise(axes=np.eye(2), scales=np.array([one, other]))
    if kind:
        axis = shift if kind == 1 else rng.normal(size=2)
        scale = float(np.linalg.norm(shift)) / one
        noise = sum_noise(axis / np.linalg.norm(axis), scale, random_covariance(rng, 2, 0.3))
    bound = delta_upper_bound(pair_model(shift, first, second), noise, epsilon=epsilon)
    assert true_delta_in_the_plane(shift, first, second, noise, epsilon) <= bound + (2e-4 if kind else 1e-6)


def test_the_total_variation_of_a_shift_along_several_axes_is_at_most_that_of_the_summed_ratios() -> None:
    model = random_model(1, 3, distance=1.0)
    cost = float(np.abs(model.mean_shift(model.protected_pairs[0])).sum()) / 4.0
    bound = delta_upper_bound(model, LaplaceNoise.isotropic(3, 4.0), epsilon=0.0)
    assert 0 < bound <= -math.expm1(-cost / 2) * (1 + 1e-9)


def test_with_equal_covariances_and_enough_noise_nothing_leaks() -> None:
    model = random_model(1, 3)
    d = model.mean_shift(("s0", "s1"))
    exactly = LaplaceNoise.isotropic(3, float(np.abs(d).sum()) / 0.7)
    assert delta_upper_bound(model, exactly, epsilon=0.7) == 0.0
    assert 0 < delta_upper_bound(model, exactly, epsilon=0.6) < 0.1
    along = LaplaceNoise(axes=(d / np.linalg.norm(d))[:, None], scales=np.array([np.linalg.norm(d)]))
    assert delta_upper_bound(model, along, epsilon=1.0) == 0.0


def test_axes_without_noise_hide_nothing() -> None:
    model = dp.gaussian_model(means={"a": [0, 0], "b": [5, 0]}, covariances=np.eye(2), pairs=[("a", "b")])
    for noise in (LaplaceNoise.isotropic(2, 0.0), LaplaceNoise(axes=np.eye(2), scales=np.array([0.0, 9.0]))):
        assert delta_upper_bound(model, noise, epsilon=1) >= dp.distances.gaussian_delta(1, 5) * (1 - 1e-9)


def sum_noise(axis: Floats, scale: float, gaussian: Floats) -> SumNoise:
    return SumNoise(parts=(LaplaceNoise(axes=axis[:, None], scales=np.array([scale])), GaussianNoise.of(gaussian)))


def pair_model(shift: Floats, first: Floats, second: Floats) -> dp.QueryModel:
    return dp.gaussian_model(
        means={"a": shift, "b": np.zeros_like(shift)}, covariances={"a": first, "b": second}, pairs=[("a", "b")]
    )


def test_unimodal_noise_is_bounded_by_a_sum_or_as_if_there_were_none() -> None:
    model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances={"a": [[1]], "b": [[2]]}, pairs=[("a", "b")])
    normal = GaussianNoise.isotropic(1, 3.0)
    quantiles = np.abs(normal.simulate(200_000, seed=1)[:, 0])
    edges = np.linspace(0, 13, 201)
    heights = np.exp(-(edges[:-1] ** 2) / 18)
    stairs = UnimodalNoise.mixed(np.ones(1), edges[1:], -np.diff(np.append(heights, 0.0)) * edges[1:])
    assert stairs.expected_rms == pytest.approx(np.sqrt((quantiles**2).mean()), rel=0.02)
    exact = dp.exact_delta(model, 9 * np.eye(1), epsilon=0.2)
    assert delta_upper_bound(model, stairs, epsilon=0.2) == pytest.approx(exact, rel=0.03)
    several = random_model(1, 2)
    aside = UnimodalNoise(axes=np.eye(2)[:, :1], edges=stairs.edges, masses=stairs.masses)
    assert delta_upper_bound(several, aside, epsilon=1.0) == dp.exact_delta(several, np.zeros((2, 2)), epsilon=1.0)


def test_noise_of_several_laplace_parts_has_a_bound_too() -> None:
    model = random_model(3, 2, unequal=0.1)
    shift = model.mean_shift(("s0", "s1"))
    turned = np.array([[0.6, -0.8], [0.8, 0.6]])
    parts = (LaplaceNoise.isotropic(2, 9.0), LaplaceNoise(axes=turned, scales=np.array([5.0, 7.0])))
    both = delta_upper_bound(model, SumNoise(parts=parts), epsilon=1.0)
    assert 0 < both < dp.exact_delta(model, np.zeros((2, 2)), epsilon=1.0)
    assert delta_upper_bound(model, SumNoise(parts=(GaussianNoise.isotropic(2, 3.0),)), epsilon=1.0) == pytest.approx(
        dp.exact_delta(model, 9 * np.eye(2), epsilon=1.0), rel=1e-5
    )
    assert np.linalg.norm(shift) > 0
