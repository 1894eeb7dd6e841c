from contextlib import suppress
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_model
from tests.mechanisms.shared import TARGET, targets

import distpriv as dp
from distpriv.distances import analytic_radius
from distpriv.errors import AssumptionViolated, InvalidInput, InvalidTarget
from distpriv.framework.arrays import Floats
from distpriv.framework.bisection import least_passing
from distpriv.guarantees.certify import certified
from distpriv.guarantees.evidence_text import combination
from distpriv.guarantees.lattice_floor import covers_floor
from distpriv.guarantees.masked_directions import directions
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.mechanisms.search import gaussian_search
from distpriv.mechanisms.search.gaussian_search import SearchSettings
from distpriv.modelling.utility import OBJECTIVES, Objective, Weights
from distpriv.noise.laws import GaussianNoise

M = dp.mechanisms
seeds, sizes, pairs = st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 4)
spreads = st.sampled_from([0.0, 0.02, 0.2, 0.7])
objectives: Any = st.sampled_from(OBJECTIVES)
either = pytest.mark.parametrize("objective", OBJECTIVES)
LEAST_TOLD = 1.005
"""What noise that stays a number may cost, against noise that is infinite along some axis."""


def changed(model: dp.QueryModel, units: Floats, steps: Floats) -> dp.QueryModel:
    """The same model in other units, on a lattice."""
    return dp.gaussian_model(
        means={name: units * law.mean for name, law in model.distributions.items()},
        covariances={name: law.covariance * np.outer(units, units) for name, law in model.distributions.items()},
        pairs=model.protected_pairs,
        steps=list(units * steps),
    )


def unequal(seed: int, size: int, count: int, spread: float, lattice: bool) -> dp.QueryModel:
    rng = np.random.default_rng(seed)
    parallel, distance = bool(rng.random() < 0.5), float(rng.choice([0.3, 1.0, 3.0, 10.0]))
    model = random_model(seed, size, unequal=spread, pairs=count, parallel=parallel, distance=distance)
    deviations = np.sqrt(np.min([np.diag(law.covariance) for law in model.distributions.values()], axis=0))
    return changed(model, np.ones(size), deviations * rng.uniform(0, 0.5, size)) if lattice else model


def public(model: dp.QueryModel) -> Floats:
    """C: the mean of the covariances and the covariance of the means."""
    laws = model.distributions.values()
    means = np.array([law.mean for law in laws])
    return np.asarray(np.mean([law.covariance for law in laws], axis=0) + np.atleast_2d(np.cov(means.T, bias=True)))


def error(
    model: dp.QueryModel, noise: Floats, objective: Objective = "estimate", weights: Floats | None = None
) -> float:
    """The root of tr Q(C − C(C + N)⁻¹C), or of tr QN."""
    unknown = public(model)
    left = unknown - unknown @ np.linalg.pinv(unknown + noise, hermitian=True) @ unknown
    squares = np.diag(left if objective == "estimate" else noise)
    return float(np.sqrt(squares @ (np.ones(len(left)) if weights is None else weights)))


def made(
    model: dp.QueryModel,
    target: dp.PrivacyTarget = TARGET,
    objective: Objective = "estimate",
    weights: Floats | None = None,
) -> AdditiveMechanism:
    given: Weights = "units" if weights is None else weights.tolist()
    mechanism = M.certified_gaussian(model, target, objective=objective, weights=given)
    assert mechanism.certificate.holds
    assert mechanism.certificate.assurance == "checked"
    assert dp.exact_delta(model, mechanism, epsilon=target.epsilon) <= target.delta
    assert covers_floor(model, mechanism.noise.gaussian)
    return mechanism


def others(model: dp.QueryModel, target: dp.PrivacyTarget) -> list[AdditiveMechanism]:
    """The Gaussian mechanisms of the paper."""
    found = [
        M.expected_value_gaussian(model, target),
        M.eigenvector_gaussian(model, target, covariance="pooled"),
        M.directional_gaussian(model, target, directions="several"),
    ]
    with suppress(AssumptionViolated):  # shifts that are not parallel
        found.append(M.directional_uncertainty(model, target, covariance="pooled"))
    return found


total_variation = st.builds(dp.PrivacyTarget, epsilon=st.just(0.0), delta=st.floats(1e-6, 0.1))


@pytest.mark.parametrize("examples", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_what_is_promised_holds_with_covariances_as_they_are(examples: int) -> None:
    @settings(max_examples=examples)
    @given(seeds, sizes, pairs, spreads, st.booleans(), st.one_of(targets, total_variation), objectives)
    def check(
        seed: int, size: int, count: int, spread: float, lattice: bool, target: dp.PrivacyTarget, objective: Objective
    ) -> None:
        made(unequal(seed, size, count, spread, lattice), target, objective)

    check()


def scaled_until_it_holds(model: dp.QueryModel, covariance: Floats) -> Floats:
    """Noise with the floor added, scaled by as little as it takes."""
    base = covariance + np.diag(model.floor**2)

    def holds(scale: float) -> bool:
        law = GaussianNoise.of(scale * base)
        return certified(model, TARGET, law, name="scaled", theorem="none").certificate.holds_at("checked")

    return np.asarray(least_passing(holds, 1.0, 1.0, largest=2.0**40, within=1e-4) * base)


@either
@pytest.mark.parametrize("seed", [0, 4, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2, 3, 5, 6, 7))])
def test_no_other_mechanism_scaled_until_it_is_private_has_a_smaller_error(seed: int, objective: Objective) -> None:
    model = unequal(seed, 1 + seed % 4, 1, 0.2, seed % 2 == 0)
    least = error(model, made(model, objective=objective).noise.covariance, objective)
    for other in others(model, TARGET):
        scaled = error(model, scaled_until_it_holds(model, other.noise.covariance), objective)
        assert least <= scaled * (LEAST_TOLD if objective == "estimate" else 1 + 1e-4)


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
    found = error(model, made(model, target).noise.covariance) ** 2
    assert best * (1 - 1e-6) <= found <= best * LEAST_TOLD**2


@settings(max_examples=4)
@given(seeds, st.integers(1, 4), st.lists(st.floats(-6, 6), min_size=4, max_size=4), objectives)
def test_other_units_with_weights_along_change_nothing(
    seed: int, size: int, powers: list[float], objective: Objective
) -> None:
    model = unequal(seed, size, 2, 0.1, lattice=True)
    units = 10.0 ** np.array(powers[:size])
    before = made(model, objective=objective).noise.covariance
    scaled = made(changed(model, units, model.steps), objective=objective, weights=units**-2).noise.covariance
    after = error(model, scaled / np.outer(units, units), objective)
    assert after == pytest.approx(error(model, before, objective), rel=1e-3 if objective == "estimate" else 1e-2)


@settings(max_examples=4)
@given(seeds, st.integers(2, 4), st.integers(0, 3))
def test_a_weighted_statistic_is_known_no_worse_and_no_other_weights_serve_it_better(
    seed: int, size: int, which: int
) -> None:
    model = unequal(seed, size, 2, 0.1, lattice=False)
    weights = np.where(np.arange(size) == which % size, 100.0, 1.0)
    plain, weighted = (made(model, weights=given).noise.covariance for given in (None, weights))
    assert error(model, weighted, weights=weights) <= error(model, plain, weights=weights) * LEAST_TOLD
    assert error(model, plain) <= error(model, weighted) * LEAST_TOLD


@settings(max_examples=2)
@given(seeds, st.integers(1, 3), st.integers(1, 2), spreads, st.floats(0.1, 4), st.floats(1.05, 3))
def test_a_larger_epsilon_leaves_no_larger_error(
    seed: int, size: int, count: int, spread: float, epsilon: float, times: float
) -> None:
    model = unequal(seed, size, count, spread, lattice=False)
    near, far = (made(model, dp.PrivacyTarget(epsilon=e, delta=1e-3)) for e in (epsilon, times * epsilon))
    assert error(model, far.noise.covariance) <= error(model, near.noise.covariance) * LEAST_TOLD


@either
def test_it_is_the_same_every_time(objective: Objective) -> None:
    model = unequal(11, 3, 2, 0.1, lattice=True)
    assert made(model, objective=objective) == made(model, objective=objective)


def test_noise_stays_a_number_that_can_be_read() -> None:
    model = random_model(3, 4, distance=2.0)
    unit = np.linalg.inv(np.linalg.cholesky(public(model)))
    widest = np.linalg.eigvalsh(unit @ made(model).noise.covariance @ unit.T)[-1]
    assert 10 < widest < 4000


@pytest.mark.parametrize("delta", [1e-4, 4e-7])
def test_noise_a_million_times_the_floor_still_covers_it(delta: float) -> None:
    made(random_model(60, 5, distance=10.0), dp.PrivacyTarget(epsilon=0, delta=delta), "noise")


@either
def test_noise_at_the_floor_is_taken_if_it_is_enough_and_none_where_there_is_no_floor(objective: Objective) -> None:
    near = dp.gaussian_model(means={"a": [0, 0], "b": [1, 1]}, covariances=1e4 * np.eye(2), pairs=[("a", "b")])
    mechanism = made(near, objective=objective)
    np.testing.assert_allclose(mechanism.noise.covariance, np.diag(near.floor**2), rtol=1e-6, atol=1e-6)
    assert mechanism.certificate.evidence[0].facts["released"] == 2
    alike = dp.gaussian_model(means={"a": [1], "b": [1]}, covariances=[[0]], pairs=[("a", "b")])
    nothing = M.certified_gaussian(alike, TARGET, objective=objective)
    assert nothing.noise.expected_l2 == 0
    assert nothing.certificate.holds


@either
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_a_statistic_that_never_varies_is_no_obstacle(shift: float, objective: Objective) -> None:
    model = dp.gaussian_model(
        means={"a": [0, 5], "b": [3, 5 + shift]},
        covariances={"a": np.diag([9, 0]), "b": np.diag([10, 0])},
        pairs=[("a", "b")],
        steps=[1, 0],
    )
    noise = made(model, objective=objective).noise
    assert (noise.covariance[1, 1] < 1e-6) == (shift == 0)


@either
@pytest.mark.parametrize("distance", [1e-3, 1e3])
def test_shifts_may_be_tiny_or_huge(distance: float, objective: Objective) -> None:
    made(random_model(7, 3, distance=distance, unequal=0.2, pairs=2), objective=objective)


def test_statistics_that_are_functions_of_each_other_are_published_as_such() -> None:
    both = np.array([[9.0, -9.0], [-9.0, 9.0]])
    model = dp.gaussian_model(means={"a": [40, 60], "b": [43, 57]}, covariances=both, pairs=[("a", "b")])
    quiet = made(model, objective="noise").noise.covariance
    assert error(model, made(model).noise.covariance) <= LEAST_TOLD * error(model, quiet)


@pytest.mark.slow
def test_counts_that_are_tied_together_are_covered_across_the_tie() -> None:
    rng = np.random.default_rng(0)
    s = rng.random(8000) < 0.5
    x = rng.integers(0, 101, 8000)
    table = pa.table({"x": x, "y": x + 40 * rng.integers(0, 3, 8000) + 2 * s, "s": s})
    query = dp.Query(x=dp.total("x"), y=dp.total("y"))
    model = dp.model(table, query, dp.Share("s", values=(0.4, 0.6)), records=10, reference="population")
    mechanism = made(model, objective="noise")
    across = np.array([1.0, -1.0]) / np.sqrt(2)
    assert across @ mechanism.noise.covariance @ across > 1.5 * (across**2 @ model.floor**2)


@either
def test_a_law_that_no_noise_smooths_is_certified_for_what_it_is(objective: Objective) -> None:
    model = dp.gaussian_model(means={"a": [0.0], "b": [0.1]}, covariances=[[0.04]], pairs=[("a", "b")], steps=[1.0])
    assert M.certified_gaussian(model, TARGET, objective=objective).certificate.assurance == "assumed"


@either
def test_a_target_finer_than_the_lattice_allows_is_said_not_to_hold(objective: Objective) -> None:
    # The masses of a law as narrow as this sum to 1 only up to 3e-6 on its lattice, with any noise.
    model = dp.gaussian_model(means={"a": [0.0], "b": [0.1]}, covariances=[[0.68]], pairs=[("a", "b")], steps=[1.0])
    mechanism = M.certified_gaussian(model, dp.PrivacyTarget(epsilon=0, delta=1e-7), objective=objective)
    assert not mechanism.certificate.holds


@either
def test_estimated_moments_are_certified_as_such(objective: Objective) -> None:
    rng = np.random.default_rng(0)
    points = {"a": rng.normal(size=(500, 2)), "b": rng.normal(size=(500, 2)) * 1.1 + 1}
    model = dp.empirical_model(samples=points, pairs=[("a", "b")])
    mechanism = M.certified_gaussian(model, TARGET, objective=objective)
    assert mechanism.certificate.holds
    assert mechanism.certificate.assurance == "assumed"


def test_a_prior_is_what_the_estimate_counts_on() -> None:
    model = random_model(5, 2, pairs=2, parallel=False, distance=5.0)
    mechanism = M.certified_gaussian(model, TARGET, prior={"s0": 1.0, "s1": 0.0, "s2": 0.0})
    assert mechanism.certificate.holds
    assert mechanism.noise != made(model).noise
    with pytest.raises(InvalidInput):
        M.certified_gaussian(model, TARGET, prior={"s0": 1.0})


def test_wrong_targets_and_objectives_are_refused() -> None:
    with pytest.raises(InvalidTarget):
        M.certified_gaussian(random_model(0, 2), dp.PrivacyTarget(epsilon=1))
    with pytest.raises(InvalidInput):
        M.certified_gaussian(random_model(0, 2), TARGET, objective="least")  # type: ignore[arg-type]


@either
def test_progress_is_told_to_the_end(objective: Objective) -> None:
    told: list[tuple[int, int]] = []
    model = unequal(1, 2, 1, 0.2, lattice=False)
    M.certified_gaussian(model, TARGET, objective=objective, progress=lambda _, done, total: told.append((done, total)))
    assert told[0][0] == 0
    assert told[-1][0] == told[-1][1]


def test_what_is_withheld_tells_the_scenarios_apart_and_is_named() -> None:
    model = changed(random_model(2, 3, distance=2.0), np.ones(3), np.zeros(3))
    mechanism = made(model)
    masked = directions(model, mechanism.noise.covariance)[0]
    assert masked.released < 0.05
    assert combination(masked.terms[0]) in str(mechanism.certificate.evidence[0])


ADULT = [
    pytest.param("income = '>50K'", (0.45, 0.55), 0.2, 4.05, marks=pytest.mark.slow),
    ("income = '>50K'", (0.45, 0.55), 1.0, 3.12),
    ("income = '>50K'", (0.45, 0.55), 5.0, 1.41),
    ("workclass = 'Private'", (0.48, 0.52), 0.2, 1.92),
    ("workclass = 'Private'", (0.48, 0.52), 1.0, 1.41),
]


@pytest.mark.parametrize(("secret", "values", "epsilon", "most"), ADULT)
def test_on_adult_the_estimate_is_much_better_than_what_is_public(
    adult: pa.Table, paper_query: dp.Query, secret: str, values: tuple[float, float], epsilon: float, most: float
) -> None:
    model = dp.model(adult, paper_query, dp.Share(secret, values=values), records=100, reference="population")
    found = error(model, made(model, dp.PrivacyTarget(epsilon=epsilon, delta=1e-3)).noise.covariance)
    assert found <= most < 0.65 * np.sqrt(np.trace(public(model)))


@pytest.mark.slow
def test_many_shares_and_two_secrets_at_once_cost_little_more(adult: pa.Table, paper_query: dp.Query) -> None:
    income, work = "income = '>50K'", "workclass = 'Private'"
    close = dp.Share(income, between=(0.3, 0.7), within=0.1)
    many = dp.model(adult, paper_query, close, records=100, reference="population")
    assert error(many, made(many).noise.covariance) <= 4.7
    secrets = [dp.Share(income, values=(0.25, 0.35)), dp.Share(work, values=(0.6, 0.7))]
    both = dp.model(adult, paper_query, secrets, records=100, reference="population")
    assert error(both, made(both).noise.covariance) <= 3.1


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
    found = error(model, made(model).noise.covariance)
    with patch.object(gaussian_search, "SETTINGS", SearchSettings(in_turn=24)):
        assert found <= 1.03 * error(model, made(model).noise.covariance)


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
    few = error(model, made(model).noise.covariance)
    with patch.object(gaussian_search, "SETTINGS", SearchSettings(few=12)):
        assert few <= 1.03 * error(model, made(model).noise.covariance)
