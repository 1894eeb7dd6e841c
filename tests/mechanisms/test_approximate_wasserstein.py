import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mechanisms.hockey_stick_on_a_line import worst_delta
from tests.mechanisms.test_wasserstein import FIGURE_1

import distpriv as dp
from distpriv.distances import analytic_radius, closeness_radius
from distpriv.errors import InvalidInput

M = dp.mechanisms
TARGET = dp.PrivacyTarget(epsilon=1, delta=0.1)


def test_figure_1_needs_a_scale_of_1_at_a_tenth() -> None:
    assert M.approximate_wasserstein(FIGURE_1, TARGET).noise.scales.tolist() == [1.0]  # type: ignore[union-attr]
    mechanism = M.approximate_wasserstein(FIGURE_1, dp.PrivacyTarget(epsilon=0.2, delta=0.1))
    assert mechanism.noise.scales.tolist() == [5.0]  # type: ignore[union-attr]
    assert mechanism.certificate.holds
    assert mechanism.certificate.assurance == "proved"
    assert 0.05 < worst_delta(FIGURE_1, mechanism, 0.2) <= 0.1 + 1e-9


laws = st.lists(st.integers(-20, 20), min_size=2, max_size=8)


@pytest.mark.slow
@settings(max_examples=25)
@given(laws, laws, st.sampled_from([0.01, 0.2, 0.4]), st.sampled_from(["laplace", "gaussian"]))
def test_it_keeps_its_delta_for_any_two_laws_on_the_line(
    one: list[int], other: list[int], delta: float, kind: str
) -> None:
    model = dp.empirical_model(samples={"a": one, "b": other}, pairs=[("a", "b")])
    target = dp.PrivacyTarget(epsilon=0.7, delta=delta)
    mechanism = M.approximate_wasserstein(model, target, noise=kind)  # type: ignore[arg-type]
    assert mechanism.certificate.holds
    assert mechanism.certificate.delta <= delta
    if mechanism.noise.expected_rms > 0:
        assert worst_delta(model, mechanism, 0.7) <= delta + 1e-6


def test_the_split_of_delta_is_at_least_as_good_as_any_that_was_tried() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 1
    model = dp.empirical_model(samples={"a": x, "b": y}, pairs=[("a", "b")])
    best = M.approximate_wasserstein(model, TARGET, noise="gaussian").noise.expected_rms
    for share in (0.0, 0.02, 0.05, 0.09):
        radius = closeness_radius(x, y, share, norm=2)
        assert best <= np.sqrt(2) * radius / analytic_radius(1, 0.1 - share) * (1 + 1e-9)


def test_laws_within_delta_of_each_other_need_no_noise() -> None:
    model = dp.empirical_model(
        samples={"a": [0, 50], "b": [0, 90]}, weights={"a": [0.95, 0.05], "b": [0.95, 0.05]}, pairs=[("a", "b")]
    )
    assert M.approximate_wasserstein(model, TARGET).noise.expected_rms == 0
    assert M.approximate_wasserstein(model, TARGET, noise="gaussian").noise.expected_rms == 0


def test_a_model_of_moments_is_refused() -> None:
    model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    with pytest.raises(InvalidInput, match=r"needs the laws as points, and this model has moments"):
        M.approximate_wasserstein(model, TARGET)
    with pytest.raises(InvalidInput, match="noise must be 'laplace' or 'gaussian', got 'cauchy'"):
        M.approximate_wasserstein(FIGURE_1, TARGET, noise="cauchy")  # type: ignore[arg-type]
