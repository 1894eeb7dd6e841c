import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.guarantees.random_models import random_model

import distpriv as dp
from distpriv.errors import AssumptionViolated
from distpriv.modelling.sensitivity import common_direction, mean_sensitivity, mean_shifts, shift_basis


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 10**6))
def test_the_basis_is_orthonormal_and_spans_every_shift(size: int, pairs: int, seed: int) -> None:
    model = random_model(seed, size, pairs=pairs, parallel=False)
    basis, shifts = shift_basis(model), mean_shifts(model)
    assert basis.shape[1] == np.linalg.matrix_rank(shifts)
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)
    np.testing.assert_allclose(shifts @ basis @ basis.T, shifts, atol=1e-9)


@given(st.integers(1, 6), st.integers(0, 10**6), st.sampled_from([1, 2]))
def test_sensitivity_is_the_longest_shift_of_both_orders(size: int, seed: int, order: int) -> None:
    model = random_model(seed, size, pairs=3, parallel=False)
    longest = max(np.linalg.norm(model.mean_shift(pair), ord=order) for pair in model.protected_pairs)
    assert mean_sensitivity(model, order=order) == pytest.approx(longest)


def test_parallel_shifts_have_one_direction_and_others_none() -> None:
    model = random_model(1, 4, pairs=3)
    direction = common_direction(model, "Theorem 0")
    shifts = mean_shifts(model)
    np.testing.assert_allclose(np.outer(shifts @ direction, direction), shifts, atol=1e-9)
    with pytest.raises(AssumptionViolated, match="Theorem 0 needs mean shifts that are all parallel"):
        common_direction(random_model(1, 4, pairs=3, parallel=False), "Theorem 0")


def test_tiny_shifts_still_have_a_direction() -> None:
    model = dp.gaussian_model(means={"a": [0, 0], "b": [3e-310, 4e-310]}, covariances=np.eye(2), pairs=[("a", "b")])
    assert shift_basis(model).shape == (2, 1)
