import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from tests.guarantees.random_models import random_model
from tests.mechanisms.shared import TARGET, decode, income, transformed

import distpriv as dp
from distpriv.distances.gaussian import analytic_radius
from distpriv.framework.arrays import Floats
from distpriv.noise.laws import NoNoise, UnimodalNoise

M = dp.mechanisms
targets = st.builds(dp.PrivacyTarget, epsilon=st.floats(0.05, 8), delta=st.floats(1e-7, 0.2))
shares = st.one_of(st.just(0.0), st.floats(0.02, 0.99))


def on_a_line(target: dp.PrivacyTarget, share: float, shift: float = 1.0) -> tuple[dp.QueryModel, float]:
    """A shift, and a share of the uncertainty with which it would need no noise."""
    deviation = share * shift / analytic_radius(target.epsilon, target.delta)
    model = dp.gaussian_model(means={"a": [0], "b": [shift]}, covariances=[[deviation**2]], pairs=[("a", "b")])
    return model, deviation


def unimodal(model: dp.QueryModel, target: dp.PrivacyTarget, **options: object) -> UnimodalNoise:
    noise = M.optimal_unimodal(model, target, **options).noise  # type: ignore[arg-type]
    assert isinstance(noise, UnimodalNoise)
    return noise


def by_quadrature(noise: UnimodalNoise, shift: float, deviation: float, epsilon: float) -> float:
    """H_ε by midpoints, all over the line; cells are narrow against the blur, or end at every edge."""
    edges = np.concatenate([-noise.edges[::-1], noise.edges[1:]])
    jumps = np.diff(np.concatenate([[0], noise.densities[::-1], noise.densities, [0]]))
    edges, jumps = edges[np.abs(jumps) > 1e-14], jumps[np.abs(jumps) > 1e-14]
    end = noise.edges[-1] + 9 * deviation
    lines = np.linspace(-end, end + shift, 6_001)
    if deviation == 0:
        lines = np.unique(np.concatenate([edges, edges + shift]))
    middles = (lines[1:] + lines[:-1]) / 2

    def density(y: Floats) -> Floats:
        away = y[:, np.newaxis] - edges
        return np.asarray((ndtr(away / deviation) if deviation else away > 0) @ jumps)

    excess = np.maximum(density(middles) - math.exp(epsilon) * density(middles - shift), 0.0)
    return float(excess @ np.diff(lines))


@pytest.mark.slow
@settings(max_examples=8)
@given(targets, shares)
def test_every_shift_up_to_the_largest_is_hidden(target: dp.PrivacyTarget, share: float) -> None:
    model, deviation = on_a_line(target, share)
    mechanism = M.optimal_unimodal(model, target)
    assert mechanism.certificate.holds
    assert isinstance(mechanism.noise, UnimodalNoise)
    for shift in (0.2, 0.5, 0.75, 1.0):
        found = by_quadrature(mechanism.noise, float(shift), deviation, target.epsilon)
        assert found <= target.delta * (1 + 1e-6) + 1e-9


@settings(max_examples=8)
@given(targets, shares)
def test_the_density_falls_and_its_masses_are_exact_fractions_that_sum_to_one(
    target: dp.PrivacyTarget, share: float
) -> None:
    noise = unimodal(on_a_line(target, share)[0], target, cells=60)
    assert sum(map(Fraction, noise.masses.tolist())) == 1
    assert (noise.masses * 2**52 == np.round(noise.masses * 2**52)).all()
    assert (np.diff(noise.densities) <= 1e-15 * noise.densities[:-1]).all()


@pytest.mark.slow
@settings(max_examples=10)
@given(targets, shares)
def test_it_is_never_worse_than_laplace_or_gaussian_noise_along_the_shift(
    target: dp.PrivacyTarget, share: float
) -> None:
    model, _ = on_a_line(target, share)
    ours = unimodal(model, target).expected_l2
    # Cells leave a margin: half a percent, and a thousandth of the reach of Laplace noise.
    margin = 1e-3 * (1 + math.log1p(math.expm1(target.epsilon) / target.delta) / target.epsilon)
    for other in (M.directional_laplace, M.directional_uncertainty):
        assert ours <= other(model, target).noise.expected_l2 * 1.005 + margin


@pytest.mark.slow
@settings(max_examples=5)
@given(targets, shares, st.floats(1.5, 4))
def test_more_is_allowed_less_is_added(target: dp.PrivacyTarget, share: float, factor: float) -> None:
    model, _ = on_a_line(target, share)
    ours = unimodal(model, target).expected_l2
    for weaker in (
        dp.PrivacyTarget(epsilon=target.epsilon * factor, delta=target.delta),
        dp.PrivacyTarget(epsilon=target.epsilon, delta=min(0.5, target.delta * factor)),
    ):
        assert M.optimal_unimodal(model, weaker).noise.expected_l2 <= ours * 1.02 + 2e-3


@settings(max_examples=5)
@given(st.integers(0, 10**6), st.integers(1, 4), st.floats(1e-3, 1e3))
def test_units_and_the_order_of_statistics_do_not_matter(seed: int, size: int, factor: float) -> None:
    model = random_model(seed, size, distance=3.0)
    matrix = factor * np.eye(size)[np.random.default_rng(seed).permutation(size)]
    before, after = (unimodal(m, TARGET, cells=60) for m in (model, transformed(model, matrix)))
    assert after.expected_l2 == pytest.approx(factor * before.expected_l2, rel=1e-3)
    np.testing.assert_allclose(np.abs(after.axes), np.abs(matrix @ before.axes) / factor, atol=1e-6)


@settings(max_examples=6)
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_several_parallel_pairs_are_all_hidden(seed: int, pairs: int) -> None:
    model = random_model(seed, 3, pairs=pairs, distance=3.0)
    mechanism = M.optimal_unimodal(model, TARGET, cells=60)
    assert mechanism.certificate.holds
    assert dp.delta_upper_bound(model, mechanism, epsilon=1.0) <= 1e-3 * (1 + 1e-6)


def test_without_uncertainty_and_with_little_delta_it_is_the_staircase() -> None:
    model, _ = on_a_line(TARGET, 0.5)
    for epsilon in (0.5, 1.0, 2.0):
        target = dp.PrivacyTarget(epsilon=epsilon, delta=1e-7)
        staircase = math.exp(epsilon / 2) / math.expm1(epsilon)
        assert unimodal(model, target, uncertainty=False).expected_l2 == pytest.approx(staircase, rel=2e-3)


@pytest.mark.parametrize("delta", [0.01, 0.1, 0.4])
def test_at_epsilon_zero_it_is_uniform(delta: float) -> None:
    # Total variation is Pr[|Z| < α/2], so no unimodal law is shorter than the one that is flat up to α/2δ.
    target = dp.PrivacyTarget(epsilon=0, delta=delta)
    noise = unimodal(on_a_line(target, 0.5)[0], target, uncertainty=False)
    assert noise.expected_l2 == pytest.approx(1 / (4 * delta), rel=1e-3)
    with_uncertainty = M.optimal_unimodal(on_a_line(target, 0.9)[0], target)
    assert with_uncertainty.certificate.holds
    assert with_uncertainty.noise.expected_l2 < noise.expected_l2


@pytest.mark.parametrize("epsilon", [20.0, 60.0, 1000.0])
def test_a_very_large_epsilon_is_no_obstacle(epsilon: float) -> None:
    model = dp.gaussian_model(means={"a": [0], "b": [100]}, covariances=[[1]], pairs=[("a", "b")])
    mechanism = M.optimal_unimodal(model, dp.PrivacyTarget(epsilon=epsilon, delta=1e-3))
    assert mechanism.certificate.holds
    assert mechanism.noise.expected_l2 < 2


def test_a_direction_without_uncertainty_is_credited_none() -> None:
    model = dp.gaussian_model(means={"a": [0, 0], "b": [1, 0]}, covariances=np.diag([0, 1]), pairs=[("a", "b")])
    ours = unimodal(model, TARGET).expected_l2
    assert ours == pytest.approx(unimodal(model, TARGET, uncertainty=False).expected_l2)


def test_where_nothing_is_to_hide_nothing_is_added() -> None:
    same = dp.gaussian_model(means={"a": [1, 2], "b": [1, 2]}, covariances=np.eye(2), pairs=[("a", "b")])
    private = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[9]], pairs=[("a", "b")])
    for model in (same, private):
        mechanism = M.optimal_unimodal(model, TARGET)
        assert isinstance(mechanism.noise, NoNoise)
        assert mechanism.certificate.holds
    assert "no noise is needed" in str(M.optimal_unimodal(same, TARGET).certificate)
    assert unimodal(private, TARGET, uncertainty=False).expected_l2 > 0.9


def test_what_it_cannot_do_is_refused() -> None:
    model, _ = on_a_line(TARGET, 0.5)
    for delta in (0.0, 1e-12):
        with pytest.raises(dp.errors.InvalidTarget, match="directional_laplace"):
            M.optimal_unimodal(model, dp.PrivacyTarget(epsilon=1, delta=delta))
    with pytest.raises(dp.errors.InvalidTarget, match="cells to hide"):
        M.optimal_unimodal(model, dp.PrivacyTarget(epsilon=0, delta=1e-5), uncertainty=False)
    with pytest.raises(dp.errors.InvalidTarget, match="PrivacyTarget"):
        M.optimal_unimodal(model, (1, 0.001))  # type: ignore[arg-type]
    with pytest.raises(dp.errors.InvalidInput, match="cells"):
        M.optimal_unimodal(model, TARGET, cells=3)
    with pytest.raises(dp.errors.InvalidInput, match="uncertainty"):
        M.optimal_unimodal(model, TARGET, uncertainty="no")  # type: ignore[arg-type]
    bent = dp.gaussian_model(
        means={"0": [0, 0], "x": [1, 0], "y": [0, 1]}, covariances=np.eye(2), pairs=[("0", "x"), ("0", "y")]
    )
    with pytest.raises(dp.errors.AssumptionViolated, match="parallel"):
        M.optimal_unimodal(bent, TARGET)
    unlike = dp.gaussian_model(
        means={"a": [0, 0], "b": [1, 0]}, covariances={"a": np.eye(2), "b": np.diag([1, 9])}, pairs=[("a", "b")]
    )
    for uncertainty in (True, False):
        with pytest.raises(dp.errors.AssumptionViolated, match="pooled"):
            M.optimal_unimodal(unlike, TARGET, uncertainty=uncertainty)
    certificate = M.optimal_unimodal(unlike, TARGET, covariance="pooled").certificate
    assert not certificate.holds
    assert certificate.delta > 0.1


@pytest.mark.parametrize(("epsilon", "most", "least"), [(0.2, 20.37, 20.2), (1, 3.235, 2.94)])
def test_on_adult_it_is_near_the_limit_for_noise_along_the_shift(
    adult: pa.Table, paper_query: dp.Query, epsilon: float, most: float, least: float
) -> None:
    model, target = income(adult, paper_query, 0.1), dp.PrivacyTarget(epsilon=epsilon, delta=1e-3)
    mechanism = M.optimal_unimodal(model, target, covariance="pooled")
    assert least < mechanism.noise.expected_l2 <= most
    # No scenario has the pooled covariance, and with those that they have nothing so small is proven.
    assert not mechanism.certificate.holds
    assert "with one covariance, δ is at most 0.00" in str(mechanism.certificate)
    plain = M.optimal_unimodal(model, target, covariance="pooled", uncertainty=False)
    assert plain.noise.expected_l2 == pytest.approx({0.2: 20.507, 1: 4.085}[epsilon], abs=2e-3)


def test_on_adult_nothing_is_added_at_a_large_epsilon(adult: pa.Table, paper_query: dp.Query) -> None:
    model = income(adult, paper_query, 0.1)
    mechanism = M.optimal_unimodal(model, dp.PrivacyTarget(epsilon=5, delta=1e-3), covariance="pooled")
    assert isinstance(mechanism.noise, NoNoise)


def test_the_decoder_strips_it_off_and_the_certificate_names_the_attack(adult: pa.Table, paper_query: dp.Query) -> None:
    model = income(adult, paper_query, 0.1)
    mechanism = M.optimal_unimodal(model, dp.PrivacyTarget(epsilon=0.2, delta=1e-3), covariance="pooled")
    assert isinstance(mechanism.noise, UnimodalNoise)
    clean = model.samples("income = '>50K' @ 0.45", 500, seed=1)
    released = clean + mechanism.noise.simulate(500, seed=2)
    decoded = [decode(row, mechanism.noise.axes[:, 0], model.steps) for row in released]
    recovered = sum(
        found is not None and np.allclose(found, truth, atol=1e-6) for found, truth in zip(decoded, clean, strict=True)
    )
    assert recovered >= 495
    assert mechanism.certificate.trust == "assumed"
    assert "noise covers 1 of 5 directions" in str(mechanism.certificate)
