import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mechanisms.shared import worst_delta

import distpriv as dp
from distpriv.distances import analytic_radius, closeness_radius
from distpriv.errors import AssumptionViolated, InvalidInput
from distpriv.mechanisms.hypotheses import unordered

M = dp.mechanisms
TENTH = dp.PrivacyTarget(epsilon=1, delta=0.1)
FIGURE_1 = dp.empirical_model(
    samples={"a": [1, 2, 3, 100], "b": [1, 2, 3, 100]},
    weights={"a": [0.6, 0.2, 0.0, 0.2], "b": [0.4, 0.3, 0.2, 0.1]},
    pairs=[("a", "b")],
)


def test_figure_1_needs_a_scale_of_97_and_has_no_delta() -> None:
    mechanism = M.wasserstein(FIGURE_1, dp.PrivacyTarget(epsilon=0.5))
    assert mechanism.noise.scales.tolist() == [194.0]  # type: ignore[union-attr]
    assert mechanism.certificate.holds
    assert mechanism.certificate.assurance == "proved"
    assert mechanism.certificate.delta == 0
    assert worst_delta(FIGURE_1, mechanism, 0.5) < 1e-9


def test_rows_give_a_proven_distance_at_assurance_proved() -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"x": rng.integers(10, 31, 500), "s": rng.random(500) < 0.4})
    query = dp.Query(x=dp.mean("x"), big=dp.count("x > 20"))
    model = dp.model(table, query, dp.Share("s", values=(0.3, 0.5)), records=20)
    mechanism = M.wasserstein(model, dp.PrivacyTarget(epsilon=1))
    assert mechanism.certificate.assurance == "proved"
    assert mechanism.noise == M.group_privacy_laplace(model, dp.PrivacyTarget(epsilon=1)).noise
    moved = [np.abs(a - b).sum(axis=1).max() for a, b in [model.coupled_samples(model.protected_pairs[0], 5000)]]
    assert max(moved) <= mechanism.noise.scales[0]  # type: ignore[union-attr]


def test_sampled_laws_are_only_assumed_and_it_is_said() -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"x": rng.normal(size=500), "s": rng.random(500) < 0.4})
    share = dp.Share("s", values=(0.3, 0.5))
    model = dp.model(table, dp.Query(m=dp.quantile("x", 0.5)), share, records=20, draws=200)
    certificate = M.wasserstein(model, dp.PrivacyTarget(epsilon=1)).certificate
    assert certificate.assurance == "assumed"
    assert certificate.evidence[0].code == "DP320"
    proven = M.wasserstein(model, dp.PrivacyTarget(epsilon=1), distance="coupling")
    assert proven.certificate.assurance == "proved"
    assert proven.noise.expected_rms > M.wasserstein(model, dp.PrivacyTarget(epsilon=1)).noise.expected_rms


def test_a_distance_that_the_model_does_not_have_is_refused() -> None:
    target = dp.PrivacyTarget(epsilon=1)
    moments = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    with pytest.raises(InvalidInput, match="no bounded rows of a Share"):
        M.wasserstein(moments, target, distance="coupling")
    with pytest.raises(InvalidInput, match="needs the laws as points"):
        M.wasserstein(moments, target, distance="points")
    with pytest.raises(InvalidInput, match="distance must be 'auto' or 'points' or 'coupling', got 'exact'"):
        M.wasserstein(moments, target, distance="exact")  # type: ignore[arg-type]


def test_gaussian_translations_are_as_far_apart_as_their_means_and_others_infinitely() -> None:
    target = dp.PrivacyTarget(epsilon=1)
    model = dp.gaussian_model(means={"a": [0, 0], "b": [1, -2]}, covariances=np.eye(2), pairs=[("a", "b")])
    assert M.wasserstein(model, target).noise == M.expected_value_laplace(model, target).noise
    unlike = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances={"a": [[1]], "b": [[2]]}, pairs=[("a", "b")])
    with pytest.raises(AssumptionViolated, match=r"infinite: use bounded, or approximate_wasserstein"):
        M.wasserstein(unlike, target)


def test_pairs_are_taken_in_one_order() -> None:
    model = dp.gaussian_model(
        means={"a": [0], "b": [1], "c": [2]}, covariances=np.eye(1), pairs=[("a", "b"), ("b", "a"), ("c", "a")]
    )
    assert len(model.protected_pairs) == 4
    assert {frozenset(pair) for pair in unordered(model)} == {frozenset("ab"), frozenset("ac")}
    assert len(unordered(model)) == 2


def test_figure_1_needs_a_scale_of_1_at_a_tenth() -> None:
    assert M.approximate_wasserstein(FIGURE_1, TENTH).noise.scales.tolist() == [1.0]  # type: ignore[union-attr]
    mechanism = M.approximate_wasserstein(FIGURE_1, dp.PrivacyTarget(epsilon=0.2, delta=0.1))
    assert mechanism.noise.scales.tolist() == [5.0]  # type: ignore[union-attr]
    assert mechanism.certificate.holds
    assert mechanism.certificate.assurance == "proved"
    assert 0.05 < worst_delta(FIGURE_1, mechanism, 0.2) <= 0.1 + 1e-9


laws = st.lists(st.integers(-20, 20), min_size=1, max_size=8)


@pytest.mark.slow
@settings(max_examples=40)
@given(laws, laws, st.sampled_from([0.01, 0.2, 0.4]), st.sampled_from(["none", "laplace", "gaussian"]))
def test_they_keep_their_delta_for_any_two_laws_on_the_line(
    one: list[int], other: list[int], delta: float, kind: str
) -> None:
    model = dp.empirical_model(samples={"a": one, "b": other}, pairs=[("a", "b")])
    if kind == "none":
        mechanism, delta = M.wasserstein(model, dp.PrivacyTarget(epsilon=0.7)), 0.0
        assert mechanism.noise.expected_rms > 0 or sorted(set(one)) == sorted(set(other))
    else:
        target = dp.PrivacyTarget(epsilon=0.7, delta=delta)
        mechanism = M.approximate_wasserstein(model, target, noise=kind)  # type: ignore[arg-type]
    assert mechanism.certificate.holds
    assert mechanism.certificate.delta <= delta
    if mechanism.noise.expected_rms > 0:
        assert worst_delta(model, mechanism, 0.7) <= delta + (1e-6 if delta else 1e-9)


def test_the_split_of_delta_is_at_least_as_good_as_any_that_was_tried() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 1
    model = dp.empirical_model(samples={"a": x, "b": y}, pairs=[("a", "b")])
    best = M.approximate_wasserstein(model, TENTH, noise="gaussian").noise.expected_rms
    for share in (0.0, 0.02, 0.05, 0.09):
        radius = closeness_radius(x, y, share, norm=2)
        assert best <= np.sqrt(2) * radius / analytic_radius(1, 0.1 - share) * (1 + 1e-9)


def test_laws_within_delta_of_each_other_need_no_noise() -> None:
    model = dp.empirical_model(
        samples={"a": [0, 50], "b": [0, 90]}, weights={"a": [0.95, 0.05], "b": [0.95, 0.05]}, pairs=[("a", "b")]
    )
    assert M.approximate_wasserstein(model, TENTH).noise.expected_rms == 0
    assert M.approximate_wasserstein(model, TENTH, noise="gaussian").noise.expected_rms == 0


def test_a_model_of_moments_is_refused() -> None:
    model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    with pytest.raises(InvalidInput, match=r"needs the laws as points, and this model has moments"):
        M.approximate_wasserstein(model, TENTH)
    with pytest.raises(InvalidInput, match="noise must be 'laplace' or 'gaussian', got 'cauchy'"):
        M.approximate_wasserstein(FIGURE_1, TENTH, noise="cauchy")  # type: ignore[arg-type]
