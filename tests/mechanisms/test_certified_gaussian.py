import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_model
from tests.mechanisms.shared import TARGET, targets

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.guarantees.certify import certified
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.utility import weighted_rms
from distpriv.noise.laws import GaussianNoise

M = dp.mechanisms
seeds, sizes, pairs = st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 4)
spreads = st.sampled_from([0.02, 0.2, 0.7])


def stepped(model: dp.QueryModel, steps: Floats, factor: float = 1.0) -> dp.QueryModel:
    """The same model on a lattice, in other units."""
    return dp.gaussian_model(
        means={name: factor * law.mean for name, law in model.distributions.items()},
        covariances={name: factor**2 * law.covariance for name, law in model.distributions.items()},
        pairs=model.protected_pairs,
        steps=list(factor * steps),
    )


def unequal(seed: int, size: int, count: int, spread: float, lattice: bool) -> dp.QueryModel:
    rng = np.random.default_rng(seed)
    parallel, distance = bool(rng.random() < 0.5), float(rng.choice([0.3, 1.0, 3.0, 10.0]))
    model = random_model(seed, size, unequal=spread, pairs=count, parallel=parallel, distance=distance)
    deviations = np.sqrt(np.min([np.diag(law.covariance) for law in model.distributions.values()], axis=0))
    return stepped(model, deviations * rng.uniform(0, 0.5, size)) if lattice else model


def assert_private(model: dp.QueryModel, target: dp.PrivacyTarget) -> AdditiveMechanism:
    mechanism = M.certified_gaussian(model, target)
    assert mechanism.certificate.holds
    assert mechanism.certificate.assurance == "checked"
    assert dp.exact_delta(model, mechanism, epsilon=target.epsilon) <= target.delta
    assert np.linalg.eigvalsh(mechanism.noise.covariance - np.diag(model.floor**2))[0] >= -1e-9 * model.floor.max() ** 2
    return mechanism


@settings(max_examples=5)
@given(seeds, sizes, pairs, spreads, st.booleans(), targets)
def test_what_is_promised_holds_with_covariances_as_they_are(
    seed: int, size: int, count: int, spread: float, lattice: bool, target: dp.PrivacyTarget
) -> None:
    assert_private(unequal(seed, size, count, spread, lattice), target)


@pytest.mark.slow
@settings(max_examples=300)
@given(seeds, sizes, pairs, spreads, st.booleans(), targets)
def test_and_on_hundreds_of_models(
    seed: int, size: int, count: int, spread: float, lattice: bool, target: dp.PrivacyTarget
) -> None:
    assert_private(unequal(seed, size, count, spread, lattice), target)


@settings(max_examples=4)
@given(seeds, st.integers(1, 4), st.integers(1, 3), st.sampled_from([0.0, 1e-4, 0.01]), st.floats(1e-6, 0.1))
def test_so_does_total_variation(seed: int, size: int, count: int, spread: float, delta: float) -> None:
    assert_private(unequal(seed, size, count, spread, True), dp.PrivacyTarget(epsilon=0, delta=delta))


@pytest.mark.slow
@settings(max_examples=5)
@given(seeds, sizes, pairs, targets)
def test_with_equal_covariances_it_is_the_optimal_mechanism_with_the_floor(
    seed: int, size: int, count: int, target: dp.PrivacyTarget
) -> None:
    model = random_model(seed, size, pairs=count, parallel=False, distance=5.0)
    optimal = M.optimal_gaussian(model, target, floor=True).noise.expected_rms
    assert M.certified_gaussian(model, target).noise.expected_rms == pytest.approx(optimal, rel=0.01)


def scaled_until_it_holds(model: dp.QueryModel, target: dp.PrivacyTarget, covariance: Floats) -> float:
    """The error of noise with the floor added, scaled by as little as it takes."""
    base = covariance + np.diag(model.floor**2)

    def holds(scale: float) -> bool:
        made = certified(model, target, GaussianNoise.of(scale * base), name="scaled", theorem="none").certificate
        return made.holds and made.assurance == "checked"

    low, high = 1.0, 1.0
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1e-4 * high:
        low, high = (low, (low + high) / 2) if holds((low + high) / 2) else ((low + high) / 2, high)
    return float(np.sqrt(high * np.trace(base)))


@pytest.mark.parametrize("seed", [0, 4, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2, 3, 5, 6, 7))])
def test_no_other_mechanism_scaled_until_it_is_private_adds_less_noise(seed: int) -> None:
    model = unequal(seed, 1 + seed % 4, 1, 0.2, seed % 2 == 0)
    found = assert_private(model, TARGET).noise.expected_rms
    for other in (
        M.expected_value_gaussian(model, TARGET),
        M.directional_gaussian(model, TARGET),
        M.eigenvector_gaussian(model, TARGET, covariance="pooled"),
        M.directional_uncertainty(model, TARGET, covariance="pooled"),
        M.optimal_gaussian(model, TARGET, covariance="pooled"),
    ):
        assert found <= scaled_until_it_holds(model, TARGET, other.noise.covariance) * (1 + 1e-4)


@settings(max_examples=2)
@given(seeds, st.integers(1, 3), st.floats(1e-6, 1e6))
def test_scaling_everything_scales_the_noise_and_it_is_the_same_every_time(seed: int, size: int, factor: float) -> None:
    model = unequal(seed, size, 2, 0.1, lattice=True)
    before = M.certified_gaussian(model, TARGET)
    after = M.certified_gaussian(stepped(model, model.steps, factor), TARGET)
    assert after.noise.expected_rms == pytest.approx(factor * before.noise.expected_rms, rel=0.01)
    assert M.certified_gaussian(model, TARGET) == before


def test_statistics_in_very_different_units_are_all_covered() -> None:
    model = unequal(4, 3, 2, 0.1, lattice=False)
    units = np.array([1e-6, 1.0, 1e6])
    scaled = dp.gaussian_model(
        means={name: units * law.mean for name, law in model.distributions.items()},
        covariances={name: law.covariance * np.outer(units, units) for name, law in model.distributions.items()},
        pairs=model.protected_pairs,
    )
    mechanism = M.certified_gaussian(scaled, TARGET, weights=list(units**-2))
    assert mechanism.certificate.holds
    assert mechanism.certificate.assurance == "checked"
    plain = weighted_rms(M.certified_gaussian(model, TARGET).noise.covariance, np.ones(3))
    assert weighted_rms(mechanism.noise.covariance, units**-2) == pytest.approx(plain, rel=0.01)


@pytest.mark.parametrize("delta", [1e-4, 1e-6, 4e-7])
def test_noise_a_million_times_the_floor_still_covers_it(delta: float) -> None:
    target = dp.PrivacyTarget(epsilon=0, delta=delta)
    mechanism = M.certified_gaussian(random_model(60, 5, distance=10.0), target)
    assert mechanism.certificate.holds
    assert mechanism.certificate.assurance == "checked"


def test_more_weight_on_a_statistic_leaves_less_error_in_it() -> None:
    model = unequal(9, 3, 2, 0.1, lattice=False)
    plain = M.certified_gaussian(model, TARGET).noise.covariance
    weighted = M.certified_gaussian(model, TARGET, weights={"statistic_3": 100}).noise.covariance
    assert weighted[2, 2] < plain[2, 2]


def test_noise_at_the_floor_is_taken_if_it_is_enough_and_none_where_there_is_no_floor() -> None:
    near = dp.gaussian_model(means={"a": [0, 0], "b": [1, 1]}, covariances=1e4 * np.eye(2), pairs=[("a", "b")])
    mechanism = M.certified_gaussian(near, TARGET)
    np.testing.assert_allclose(mechanism.noise.covariance, np.diag(near.floor**2))
    alike = dp.gaussian_model(means={"a": [1], "b": [1]}, covariances=[[0]], pairs=[("a", "b")])
    nothing = M.certified_gaussian(alike, TARGET)
    assert nothing.noise.expected_l2 == 0
    assert nothing.certificate.holds
    assert nothing.certificate.assurance == "checked"


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_a_statistic_that_never_varies_gets_a_hair_of_noise_or_as_much_as_its_shift_needs(shift: float) -> None:
    model = dp.gaussian_model(
        means={"a": [0, 5], "b": [3, 5 + shift]},
        covariances={"a": np.diag([9, 0]), "b": np.diag([10, 0])},
        pairs=[("a", "b")],
        steps=[1, 0],
    )
    noise = assert_private(model, TARGET).noise
    assert (noise.covariance[1, 1] < 1e-6) == (shift == 0)


@pytest.mark.slow
def test_counts_that_are_tied_together_are_covered_across_the_tie() -> None:
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    s = rng.random(8000) < 0.5
    x = rng.integers(0, 101, 8000)
    table = pl.DataFrame({"x": x, "y": x + 40 * rng.integers(0, 3, 8000) + 2 * s, "s": s})
    query = dp.Query(x=dp.total("x"), y=dp.total("y"))
    model = dp.model(table, query, dp.Share("s", values=(0.4, 0.6)), records=10, reference="population")
    mechanism = assert_private(model, TARGET)
    assert M.optimal_gaussian(model, TARGET, covariance="pooled", floor=True).certificate.assurance == "assumed"
    across = np.array([1.0, -1.0]) / np.sqrt(2)
    assert across @ mechanism.noise.covariance @ across > 1.5 * (across**2 @ model.floor**2)


def test_a_law_that_no_noise_smooths_is_certified_for_what_it_is() -> None:
    model = dp.gaussian_model(means={"a": [0.0], "b": [0.1]}, covariances=[[0.04]], pairs=[("a", "b")], steps=[1.0])
    mechanism = M.certified_gaussian(model, TARGET)
    assert mechanism.certificate.assurance == "assumed"
    assert "lattice attack may read them off" in str(mechanism.certificate)


def test_a_target_finer_than_the_lattice_allows_is_said_not_to_hold() -> None:
    # The masses of a law as narrow as this sum to 1 only up to 3e-6 on its lattice, whatever the noise.
    model = dp.gaussian_model(means={"a": [0.0], "b": [0.1]}, covariances=[[0.68]], pairs=[("a", "b")], steps=[1.0])
    mechanism = M.certified_gaussian(model, dp.PrivacyTarget(epsilon=0, delta=1e-7))
    assert mechanism.certificate.assurance == "checked"
    assert not mechanism.certificate.holds


def test_estimated_moments_are_certified_as_such() -> None:
    rng = np.random.default_rng(0)
    points = {"a": rng.normal(size=(500, 2)), "b": rng.normal(size=(500, 2)) * 1.1 + 1}
    mechanism = M.certified_gaussian(dp.empirical_model(samples=points, pairs=[("a", "b")]), TARGET)
    assert mechanism.certificate.holds
    assert mechanism.certificate.assurance == "assumed"


def test_progress_is_told_to_the_end() -> None:
    told: list[tuple[int, int]] = []
    model = unequal(1, 2, 1, 0.2, lattice=False)
    M.certified_gaussian(model, TARGET, progress=lambda _, done, total: told.append((done, total)))
    assert told[0][0] == 0
    assert told[-1][0] == told[-1][1]
