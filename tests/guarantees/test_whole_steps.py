import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.guarantees.whole_steps import in_whole_steps, less_a_cell, worst_in_whole_steps
from distpriv.noise.laws import RoundedNoise


def two_counts(rng: np.random.Generator, deviation: float, distance: float, tied: float) -> dp.QueryModel:
    """Two counts whose law in every scenario is a bell curve on whole numbers."""
    stretch = rng.uniform(0.9, 1.1, size=2)
    base = deviation**2 * np.array([[1.0, tied], [tied, 1.3]])
    shift = rng.normal(size=2)
    shift *= distance * deviation / np.linalg.norm(shift)
    return dp.gaussian_model(
        means={"a": rng.uniform(-1, 1, 2), "b": rng.uniform(-1, 1, 2) + shift},
        covariances={"a": base * stretch[0], "b": base * stretch[1]},
        pairs=[("a", "b")],
        steps=[1.0, 1.0],
    )


def on_points(model: dp.QueryModel, epsilon: float) -> float:
    """δ of the worst pair, summed over all points that matter."""
    reach = 16 * math.sqrt(max(np.diag(law.covariance).max() for law in model.distributions.values()))
    axis = np.arange(-math.ceil(reach), math.ceil(reach) + 1.0)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    laws = {name: _profile(points - law.mean, law.covariance) for name, law in model.distributions.items()}
    return max(
        float(np.maximum(laws[one] - math.exp(epsilon) * laws[other], 0).sum()) for one, other in model.protected_pairs
    )


def _profile(places: Floats, covariance: Floats) -> Floats:
    masses = np.exp(-np.einsum("ij,jk,ik->i", places, np.linalg.inv(covariance), places) / 2)
    return np.asarray(masses / masses.sum())


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.floats(3.0, 9.0),
    st.floats(0.1, 1.5),
    st.floats(-0.6, 0.6),
    st.sampled_from([0.0, 0.3, 1.0, 3.0]),
)
def test_sums_over_points_are_never_above_the_bound_and_not_far_below(
    seed: int, deviation: float, distance: float, tied: float, epsilon: float
) -> None:
    model = two_counts(np.random.default_rng(seed), deviation, distance, tied)
    noise = RoundedNoise.of(np.zeros((2, 2)), [0.2, 0.2], model.steps)
    exact = on_points(model, epsilon)
    whole = in_whole_steps(model, noise, max(exact, 1e-9))
    bound = worst_in_whole_steps(model, noise, epsilon, whole)[1]
    assert exact <= bound
    assert bound <= max(exact, 1e-9) * 1.6 + 0.04


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.floats(2.6, 9.0), st.floats(-0.6, 0.6))
def test_points_and_cells_of_a_bell_curve_are_as_near_as_is_said(seed: int, deviation: float, tied: float) -> None:
    rng = np.random.default_rng(seed)
    model = two_counts(rng, deviation, 0.5, tied)
    noise = RoundedNoise.of(np.zeros((2, 2)), [0.2, 0.2], model.steps)
    whole, law = in_whole_steps(model, noise, 1e-3), model.distributions["a"]
    cells = less_a_cell(model, noise).distributions["a"].covariance
    radii = 5.0 * np.sqrt(rng.random((200, 1)))
    points = radii * _of_length_1(rng.normal(size=(200, 2))) @ np.linalg.cholesky(law.covariance).T
    nodes, weights = np.polynomial.legendre.leggauss(8)
    inside = np.stack(np.meshgrid(nodes / 2, nodes / 2, indexing="ij"), axis=-1).reshape(-1, 2)
    evenly = np.outer(weights, weights).ravel() / 4
    means = np.exp(_log_density((points[:, np.newaxis] + inside).reshape(-1, 2), cells)).reshape(200, -1) @ evenly
    ratios = np.exp(_log_density(points, law.covariance)) / means
    assert ratios.max() <= whole.smoothed["a"].most
    assert ratios.min() >= whole.smoothed["a"].least


def _of_length_1(rows: Floats) -> Floats:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _log_density(places: Floats, covariance: Floats) -> Floats:
    squares = np.einsum("ij,jk,ik->i", places, np.linalg.inv(covariance), places)
    return np.asarray(-squares / 2 - np.log(np.linalg.det(covariance)) / 2 - math.log(2 * math.pi))


def test_what_whole_steps_cost_falls_with_the_fourth_power_of_the_deviation() -> None:
    rng = np.random.default_rng(0)
    noise = RoundedNoise.of(np.zeros((2, 2)), [0.2, 0.2], [1.0, 1.0])
    errors = [in_whole_steps(two_counts(rng, spread, 0.5, 0.0), noise, 1e-3).error for spread in (5.0, 10.0, 20.0)]
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.3)
    assert errors[1] / errors[2] == pytest.approx(16, rel=0.3)


def test_statistics_that_vary_by_less_than_two_steps_are_not_fine() -> None:
    rng = np.random.default_rng(0)
    noise = RoundedNoise.of(np.zeros((2, 2)), [0.2, 0.2], [1.0, 1.0])
    assert in_whole_steps(two_counts(rng, 1.5, 0.5, 0.0), noise, 1e-3).error == math.inf
    assert in_whole_steps(two_counts(rng, 2.5, 0.5, 0.99), noise, 1e-3).error == math.inf
