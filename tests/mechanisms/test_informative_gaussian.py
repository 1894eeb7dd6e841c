from contextlib import suppress
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_model
from tests.mechanisms.shared import TARGET, targets
from tests.mechanisms.test_certified_gaussian import pairs, seeds, sizes, spreads, stepped, unequal

import distpriv as dp
from distpriv.distances import analytic_radius
from distpriv.errors import AssumptionViolated, InvalidInput, InvalidTarget
from distpriv.framework.arrays import Floats
from distpriv.guarantees.lattice_floor import covers_floor
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.withheld_combinations import withheld

M = dp.mechanisms
LEAST_TOLD = 1.005
"""What noise that stays a number may cost, against noise that is infinite along some axis."""


def public(model: dp.QueryModel) -> Floats:
    """C: the mean of the covariances and the covariance of the means."""
    laws = model.distributions.values()
    means = np.array([law.mean for law in laws])
    return np.asarray(np.mean([law.covariance for law in laws], axis=0) + np.atleast_2d(np.cov(means.T, bias=True)))


def missed(model: dp.QueryModel, noise: Floats, weights: Floats | None = None) -> float:
    """The error of the estimate: the root of tr Q(C − C(C + N)⁻¹C)."""
    unknown = public(model)
    left = unknown - unknown @ np.linalg.pinv(unknown + noise, hermitian=True) @ unknown
    return float(np.sqrt(np.diag(left) @ (np.ones(len(left)) if weights is None else weights)))


def error(model: dp.QueryModel, mechanism: AdditiveMechanism) -> float:
    return missed(model, mechanism.noise.covariance)


def made(model: dp.QueryModel, target: dp.PrivacyTarget, weights: list[float] | None = None) -> AdditiveMechanism:
    mechanism = M.informative_gaussian(model, target, weights="units" if weights is None else weights)
    assert mechanism.certificate.holds
    assert mechanism.certificate.assurance == "checked"
    assert dp.exact_delta(model, mechanism, epsilon=target.epsilon) <= target.delta
    assert covers_floor(model, mechanism.noise.gaussian)
    return mechanism


def others(model: dp.QueryModel, target: dp.PrivacyTarget) -> list[AdditiveMechanism]:
    """All other Gaussian mechanisms whose certificate holds at assurance checked."""
    found = [
        M.certified_gaussian(model, target),
        M.optimal_gaussian(model, target, covariance="pooled", floor=True),
        M.optimal_gaussian(model, target, covariance="pooled"),
        M.expected_value_gaussian(model, target),
        M.eigenvector_gaussian(model, target, covariance="pooled"),
        M.directional_gaussian(model, target, directions="several"),
    ]
    with suppress(AssumptionViolated):  # shifts that are not parallel
        found.append(M.directional_uncertainty(model, target, covariance="pooled"))
    return [other for other in found if other.certificate.holds and other.certificate.assurance == "checked"]


def assert_never_loses(model: dp.QueryModel, target: dp.PrivacyTarget) -> None:
    found = error(model, made(model, target))
    assert found <= np.sqrt(np.trace(public(model))) * (1 + 1e-9)
    assert others(model, target)
    for other in others(model, target):
        assert found <= 1.005 * error(model, other)


@pytest.mark.slow
@settings(max_examples=10)
@given(seeds, st.integers(1, 3), pairs, spreads, st.booleans(), targets)
def test_no_other_gaussian_noise_leaves_the_estimate_a_smaller_error(
    seed: int, size: int, count: int, spread: float, lattice: bool, target: dp.PrivacyTarget
) -> None:
    assert_never_loses(unequal(seed, size, count, spread, lattice), target)


@pytest.mark.slow
@settings(max_examples=40)
@given(seeds, sizes, pairs, st.sampled_from([0.0, 0.02, 0.2, 0.7]), st.booleans(), targets)
def test_nor_on_hundreds_of_models(
    seed: int, size: int, count: int, spread: float, lattice: bool, target: dp.PrivacyTarget
) -> None:
    assert_never_loses(unequal(seed, size, count, spread, lattice), target)


@settings(max_examples=5)
@given(seeds, st.integers(1, 4), st.integers(1, 3), st.sampled_from([0.0, 1e-4, 0.01]), st.floats(1e-6, 0.1))
def test_total_variation_is_promised_too(seed: int, size: int, count: int, spread: float, delta: float) -> None:
    made(unequal(seed, size, count, spread, True), dp.PrivacyTarget(epsilon=0, delta=delta))


def told_by_projectors(worth: Floats, shift: Floats, bound: float) -> float:
    """The largest tr WK with 0 ⪯ K ⪯ I and dᵀKd ≤ b: K projects on the positive eigenspace of W − λddᵀ.

    Where an eigenvalue passes 0 the projector jumps, and the two on both sides are mixed.
    """

    def projector(multiple: float) -> Floats:
        values, vectors = np.linalg.eigh(worth - multiple * np.outer(shift, shift))
        return np.asarray(vectors[:, values > 0] @ vectors[:, values > 0].T)

    def leak(multiple: float) -> float:
        return float(shift @ projector(multiple) @ shift)

    low, high = 0.0, 1.0
    if leak(low) <= bound:
        return float(np.trace(worth))
    while leak(high) > bound:
        high *= 2
    for _ in range(200):
        low, high = (low, (low + high) / 2) if leak((low + high) / 2) <= bound else ((low + high) / 2, high)
    share = (bound - leak(high)) / max(leak(low) - leak(high), 1e-300)
    mixed = projector(high) + min(1.0, share) * (projector(low) - projector(high))
    return float(np.sum(worth * mixed))


@settings(max_examples=6)
@given(seeds, sizes, targets, st.sampled_from([0.3, 1.0, 3.0, 10.0]))
def test_for_one_pair_with_one_covariance_it_is_the_closed_form(
    seed: int, size: int, target: dp.PrivacyTarget, distance: float
) -> None:
    model = random_model(seed, size, distance=distance)
    unknown, shift = public(model), model.mean_shift(model.protected_pairs[0])
    factor = np.linalg.cholesky(unknown + np.diag(model.floor**2))
    square = analytic_radius(target.epsilon, target.delta) ** 2
    turned = np.linalg.solve(factor, unknown)
    best = np.trace(unknown) - told_by_projectors(
        turned @ turned.T, np.linalg.solve(factor, shift), square / (1 + square / 4)
    )
    found = error(model, made(model, target)) ** 2
    assert best * (1 - 1e-6) <= found <= best * LEAST_TOLD**2


@settings(max_examples=4)
@given(seeds, st.integers(1, 4), st.lists(st.floats(-6, 6), min_size=4, max_size=4))
def test_other_units_with_weights_along_change_nothing(seed: int, size: int, powers: list[float]) -> None:
    model = unequal(seed, size, 2, 0.1, lattice=True)
    units = 10.0 ** np.array(powers[:size])
    scaled = dp.gaussian_model(
        means={name: units * law.mean for name, law in model.distributions.items()},
        covariances={name: law.covariance * np.outer(units, units) for name, law in model.distributions.items()},
        pairs=model.protected_pairs,
        steps=list(units * model.steps),
    )
    before = made(model, TARGET).noise.covariance
    after = made(scaled, TARGET, weights=list(units**-2)).noise.covariance / np.outer(units, units)
    assert missed(model, after) == pytest.approx(missed(model, before), rel=1e-3)


@settings(max_examples=4)
@given(seeds, st.integers(2, 4), st.integers(0, 3))
def test_a_weighted_statistic_is_known_no_worse_and_no_other_weights_serve_it_better(
    seed: int, size: int, which: int
) -> None:
    model = unequal(seed, size, 2, 0.1, lattice=False)
    weights = np.where(np.arange(size) == which % size, 100.0, 1.0)
    plain, weighted = made(model, TARGET), made(model, TARGET, weights=list(weights))
    first, second = (missed(model, found.noise.covariance, weights) for found in (weighted, plain))
    assert first <= second * LEAST_TOLD
    assert error(model, plain) <= error(model, weighted) * LEAST_TOLD


@settings(max_examples=2)
@given(seeds, st.integers(1, 3), st.integers(1, 2), spreads, st.floats(0.1, 4), st.floats(1.05, 3))
def test_a_larger_epsilon_leaves_no_larger_error(
    seed: int, size: int, count: int, spread: float, epsilon: float, times: float
) -> None:
    model = unequal(seed, size, count, spread, lattice=False)
    near, far = (made(model, dp.PrivacyTarget(epsilon=e, delta=1e-3)) for e in (epsilon, times * epsilon))
    assert error(model, far) <= error(model, near) * LEAST_TOLD


@settings(max_examples=3)
@given(seeds, st.integers(1, 3))
def test_it_is_the_same_every_time(seed: int, size: int) -> None:
    model = unequal(seed, size, 2, 0.1, lattice=True)
    assert M.informative_gaussian(model, TARGET) == M.informative_gaussian(model, TARGET)


def test_noise_stays_a_number_that_can_be_read() -> None:
    model = random_model(3, 4, distance=2.0)
    unit = np.linalg.inv(np.linalg.cholesky(public(model)))
    widest = np.linalg.eigvalsh(unit @ made(model, TARGET).noise.covariance @ unit.T)[-1]
    assert 10 < widest < 4000


def test_noise_at_the_floor_is_taken_if_it_is_enough_and_none_where_there_is_no_floor() -> None:
    near = dp.gaussian_model(means={"a": [0, 0], "b": [1, 1]}, covariances=1e4 * np.eye(2), pairs=[("a", "b")])
    mechanism = made(near, TARGET)
    np.testing.assert_allclose(mechanism.noise.covariance, np.diag(near.floor**2), rtol=1e-6, atol=1e-6)
    assert mechanism.certificate.assumptions[0].statement == "published: every combination of the statistics"
    alike = dp.gaussian_model(means={"a": [1], "b": [1]}, covariances=[[0]], pairs=[("a", "b")])
    assert M.informative_gaussian(alike, TARGET).noise.expected_l2 == 0


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_a_statistic_that_never_varies_is_no_obstacle(shift: float) -> None:
    model = dp.gaussian_model(
        means={"a": [0, 5], "b": [3, 5 + shift]},
        covariances={"a": np.diag([9, 0]), "b": np.diag([10, 0])},
        pairs=[("a", "b")],
        steps=[1, 0],
    )
    assert error(model, made(model, TARGET)) <= 1.005 * error(model, M.certified_gaussian(model, TARGET))


@pytest.mark.parametrize("distance", [1e-3, 1e3])
def test_shifts_may_be_tiny_or_huge(distance: float) -> None:
    made(random_model(7, 3, distance=distance, unequal=0.2, pairs=2), TARGET)


def test_statistics_that_are_functions_of_each_other_are_published_as_such() -> None:
    both = np.array([[9.0, -9.0], [-9.0, 9.0]])
    model = dp.gaussian_model(
        means={"a": [40, 60], "b": [43, 57]}, covariances=both, pairs=[("a", "b")], names=["women", "men"]
    )
    mechanism = made(model, TARGET)
    assert error(model, mechanism) <= 1.005 * error(model, M.certified_gaussian(model, TARGET))


def test_a_law_that_no_noise_smooths_is_certified_for_what_it_is() -> None:
    model = dp.gaussian_model(means={"a": [0.0], "b": [0.1]}, covariances=[[0.04]], pairs=[("a", "b")], steps=[1.0])
    assert M.informative_gaussian(model, TARGET).certificate.assurance == "assumed"


def test_a_target_finer_than_the_lattice_allows_is_said_not_to_hold() -> None:
    model = dp.gaussian_model(means={"a": [0.0], "b": [0.1]}, covariances=[[0.68]], pairs=[("a", "b")], steps=[1.0])
    mechanism = M.informative_gaussian(model, dp.PrivacyTarget(epsilon=0, delta=1e-7))
    assert not mechanism.certificate.holds


def test_estimated_moments_are_certified_as_such() -> None:
    rng = np.random.default_rng(0)
    points = {"a": rng.normal(size=(500, 2)), "b": rng.normal(size=(500, 2)) * 1.1 + 1}
    mechanism = M.informative_gaussian(dp.empirical_model(samples=points, pairs=[("a", "b")]), TARGET)
    assert mechanism.certificate.holds
    assert mechanism.certificate.assurance == "assumed"


def test_a_prior_is_what_the_estimate_counts_on() -> None:
    model = random_model(5, 2, pairs=2, parallel=False, distance=5.0)
    sure = {"s0": 1.0, "s1": 0.0, "s2": 0.0}
    mechanism = M.informative_gaussian(model, TARGET, prior=sure)
    assert mechanism.certificate.holds
    assert mechanism.noise != M.informative_gaussian(model, TARGET).noise
    with pytest.raises(InvalidInput, match="the prior says nothing of scenario 's1'"):
        M.informative_gaussian(model, TARGET, prior={"s0": 1.0})


def test_delta_of_zero_is_refused() -> None:
    with pytest.raises(InvalidTarget, match="Gaussian noise cannot reach delta = 0"):
        M.informative_gaussian(random_model(0, 2), dp.PrivacyTarget(epsilon=1))


def test_progress_is_told_to_the_end() -> None:
    told: list[tuple[int, int]] = []
    M.informative_gaussian(
        unequal(1, 2, 1, 0.2, lattice=False), TARGET, progress=lambda _, done, total: told.append((done, total))
    )
    assert told[0][0] == 0
    assert told[-1][0] == told[-1][1]


def test_what_is_withheld_tells_the_scenarios_apart_and_is_named() -> None:
    model = stepped(random_model(2, 3, distance=2.0), np.zeros(3))
    mechanism = made(model, TARGET)
    combination = withheld(model, mechanism.noise.covariance)[0]
    assert combination.told < 0.05
    assert mechanism.certificate.assumptions[0].statement == f"published: all but {combination}"


ADULT = [
    pytest.param("income = '>50K'", (0.45, 0.55), 0.2, 4.1, marks=pytest.mark.slow),
    ("income = '>50K'", (0.45, 0.55), 1.0, 3.15),
    pytest.param("income = '>50K'", (0.45, 0.55), 5.0, 1.45, marks=pytest.mark.slow),
    pytest.param("workclass = 'Private'", (0.48, 0.52), 0.2, 1.95, marks=pytest.mark.slow),
    ("workclass = 'Private'", (0.48, 0.52), 1.0, 1.45),
]


@pytest.mark.parametrize(("secret", "values", "epsilon", "most"), ADULT)
def test_on_adult_the_estimate_is_much_better_than_what_is_public(
    adult: pa.Table, paper_query: dp.Query, secret: str, values: tuple[float, float], epsilon: float, most: float
) -> None:
    model = dp.model(adult, paper_query, dp.Share(secret, values=values), records=100, reference="population")
    found = error(model, made(model, dp.PrivacyTarget(epsilon=epsilon, delta=1e-3)))
    assert found <= most < 0.65 * np.sqrt(np.trace(public(model)))


@pytest.mark.slow
def test_many_shares_and_two_secrets_at_once_cost_little_more(adult: pa.Table, paper_query: dp.Query) -> None:
    income, work = "income = '>50K'", "workclass = 'Private'"
    close = dp.Share(income, between=(0.3, 0.7), within=0.1)
    many = dp.model(adult, paper_query, close, records=100, reference="population")
    assert error(many, made(many, TARGET)) <= 4.7
    secrets = [dp.Share(income, values=(0.25, 0.35)), dp.Share(work, values=(0.6, 0.7))]
    both = dp.model(adult, paper_query, secrets, records=100, reference="population")
    assert error(both, made(both, TARGET)) <= 3.1


def test_of_many_statistics_pairs_that_bind_are_searched_with_and_hardly_anything_is_lost() -> None:
    rng = np.random.default_rng(7)
    factors, along = rng.normal(size=(12, 12)), rng.normal(size=12)
    first = factors @ factors.T / 12 + 0.1 * np.eye(12)
    uneven = {f"b{k}": first + 0.02 * k * np.outer(along, along) for k in range(12)}
    shifts = {name: 2 * along + 0.3 * rng.normal(size=12) for name in uneven}
    model = dp.gaussian_model(
        means={"a": np.zeros(12), **shifts},
        covariances={"a": first, **uneven},
        pairs=[("a", name) for name in uneven],
    )
    found = made(model, TARGET)
    assert found.certificate.holds
    with patch("distpriv.mechanisms.search.informative_search.IN_TURN", 24):
        assert error(model, found) <= 1.03 * error(model, made(model, TARGET))


@pytest.mark.parametrize("seed", range(3))
def test_of_many_statistics_a_few_combinations_are_searched_and_hardly_anything_is_lost(seed: int) -> None:
    rng = np.random.default_rng(seed)
    units, factors = np.exp(rng.normal(size=12)), rng.normal(size=(12, 12))
    first = (factors @ factors.T / 12 + 0.1 * np.eye(12)) * np.outer(units, units)
    along = rng.normal(size=12) * units * min(seed, 1)
    model = dp.gaussian_model(
        means={"a": np.zeros(12), "b": 2 * rng.normal(size=12) * units},
        covariances={"a": first, "b": first + 0.2 * np.outer(along, along)},
        pairs=[("a", "b")],
    )
    few = error(model, made(model, TARGET))
    with patch("distpriv.mechanisms.search.informative_search.FEW", 12):
        assert few <= 1.03 * error(model, made(model, TARGET))
