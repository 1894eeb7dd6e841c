from collections.abc import Callable

import numpy as np
import pytest

import distpriv as dp
from distpriv.errors import AssumptionViolated, InvalidInput, InvalidTarget

M = dp.mechanisms
TARGET = dp.PrivacyTarget(epsilon=1, delta=1e-3)
ONE = dp.gaussian_model(means={"a": [0, 0], "b": [3, 4]}, covariances=np.eye(2), pairs=[("a", "b")])
TWO_WAYS = dp.gaussian_model(
    means={"a": [0, 0], "b": [3, 4], "c": [1, -1]}, covariances=np.eye(2), pairs=[("a", "b"), ("a", "c")]
)
UNEQUAL = dp.gaussian_model(
    means={"a": [0, 0], "b": [3, 4]}, covariances={"a": np.eye(2), "b": 2 * np.eye(2)}, pairs=[("a", "b")]
)
TURNED = dp.gaussian_model(
    means={"a": [0, 0], "b": [1, 0], "c": [5, 5], "d": [6, 5]},
    covariances={"a": np.diag([1, 2]), "b": np.diag([1, 2]), "c": [[2, 1], [1, 2]], "d": [[2, 1], [1, 2]]},
    pairs=[("a", "b"), ("c", "d")],
)
FLAT = dp.gaussian_model(means={"a": [0, 0], "b": [0, 1]}, covariances=np.diag([1, 0]), pairs=[("a", "b")])


@pytest.mark.parametrize("make", [M.directional_laplace, M.directional_gaussian, M.directional_uncertainty])
def test_shifts_that_are_not_parallel_are_refused_by_theorem(make: Callable[..., object]) -> None:
    with pytest.raises(AssumptionViolated, match=r"Theorem \S+ .*needs mean shifts that are all parallel"):
        make(TWO_WAYS, TARGET)


@pytest.mark.parametrize("make", [M.no_noise, M.eigenvector_gaussian, M.directional_uncertainty])
def test_covariances_that_differ_are_refused_by_theorem_unless_pooled(make: Callable[..., object]) -> None:
    with pytest.raises(AssumptionViolated, match=r"Theorem \S+ needs the covariances .* differ by a factor of 2"):
        make(UNEQUAL, TARGET)
    make(UNEQUAL, TARGET, covariance="pooled")


def test_eigenvectors_that_differ_between_pairs_are_refused_by_theorem() -> None:
    with pytest.raises(AssumptionViolated, match=r"Theorem 4\.5 needs eigenvectors that all"):
        M.eigenvector_gaussian(TURNED, TARGET)


def test_a_shift_outside_the_range_of_the_covariance_is_refused_without_noise_and_credited_nothing_with() -> None:
    with pytest.raises(AssumptionViolated, match=r"Theorem 4\.4 needs shifts inside the range"):
        M.no_noise(FLAT, TARGET)
    assert M.directional_uncertainty(FLAT, TARGET).noise.expected_rms == pytest.approx(1 / 0.38840125, rel=1e-6)


@pytest.mark.parametrize("make", [M.group_privacy_laplace, M.group_privacy_gaussian])
def test_statistics_without_bounds_are_refused_by_group_privacy(make: Callable[..., object]) -> None:
    with pytest.raises(InvalidInput, match="nothing bounds how much one record can move 'statistic_1'"):
        make(ONE, TARGET, group=3)


@pytest.mark.parametrize(
    "make",
    [M.expected_value_gaussian, M.directional_gaussian, M.no_noise, M.eigenvector_gaussian, M.directional_uncertainty],
)
def test_gaussian_noise_needs_a_delta_and_a_known_radius(make: Callable[..., object]) -> None:
    with pytest.raises(InvalidTarget, match="Gaussian noise cannot reach delta = 0"):
        make(ONE, dp.PrivacyTarget(epsilon=1))
    with pytest.raises(InvalidInput, match="radius must be 'analytic' or 'classic', got 'best'"):
        make(ONE, TARGET, radius="best")
    with pytest.raises(InvalidTarget, match="the classic radius is 0 at epsilon = 0"):
        make(ONE, dp.PrivacyTarget(epsilon=0, delta=0.1), radius="classic")


@pytest.mark.parametrize("make", [M.expected_value_laplace, M.directional_laplace])
def test_laplace_noise_needs_an_epsilon(make: Callable[..., object]) -> None:
    with pytest.raises(InvalidTarget, match="Laplace noise cannot reach epsilon = 0"):
        make(ONE, dp.PrivacyTarget(epsilon=0, delta=0.1))


@pytest.mark.parametrize("name", M.__all__)
def test_what_is_no_model_or_no_target_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"a model is needed|a target is a PrivacyTarget"):
        getattr(M, name)("adult.csv", TARGET)
    with pytest.raises(
        InvalidInput, match=r"a target is a PrivacyTarget, got 1|nothing bounds|does not know|as points"
    ):
        getattr(M, name)(ONE, 1)
    with pytest.raises(InvalidInput, match="a model is needed"):
        dp.exact_delta(name, np.eye(2), epsilon=1)  # type: ignore[arg-type]


def test_options_that_do_not_exist_are_refused() -> None:
    with pytest.raises(InvalidInput, match="directions must be 'one' or 'several', got 'two'"):
        M.directional_gaussian(ONE, TARGET, directions="two")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="covariance must be 'shared' or 'pooled', got 'mean'"):
        M.no_noise(ONE, TARGET, covariance="mean")  # type: ignore[arg-type]
