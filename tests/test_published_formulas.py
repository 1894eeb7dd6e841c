"""Laws of the formulas that published mechanisms are measured by."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scripts import published_formulas as formulas
from scripts.published_formulas import ORDERS, Passes

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.guarantees.upper_bound import delta_upper_bound
from distpriv.modelling.public_knowledge import PublicKnowledge

BOUNDS = (formulas.renyi_passes, formulas.averaged_renyi_passes, formulas.near_passes)
SEEDS = st.integers(0, 10_000)
EPSILONS = st.sampled_from([0.2, 1.0, 5.0])


def covariance(rng: np.random.Generator, size: int) -> Floats:
    factor = rng.normal(size=(size, size))
    return np.asarray(factor @ factor.T + 0.5 * np.eye(size))


def model_of(seed: int, size: int = 3, *, shared: bool = False, apart: float = 0.05) -> dp.QueryModel:
    """Return two scenarios whose covariances differ a little, or not at all."""
    rng = np.random.default_rng(seed)
    first = covariance(rng, size)
    second = first if shared else first + apart * covariance(rng, size)
    means = {"a": np.zeros(size), "b": rng.normal(size=size)}
    return dp.gaussian_model(means=means, covariances={"a": first, "b": second}, pairs=[("a", "b")])


def least(model: dp.QueryModel, passes: Passes) -> Floats:
    noise = formulas.least_gaussian(formulas.isotropic(model), passes)
    assert noise is not None
    return noise.covariance


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS)
def test_with_one_covariance_the_renyi_divergence_is_half_the_order_times_the_squared_distance(seed: int) -> None:
    model = model_of(seed, shared=True)
    shift, first, second = next(formulas.laws(model))
    expected = ORDERS / 2 * (shift @ np.linalg.solve(first, shift))
    assert formulas.gaussian_renyi(shift, first, second) == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_the_renyi_divergence_of_two_widths_is_that_of_a_numerical_integral() -> None:
    x = np.linspace(-60, 60, 200_001)
    p, q = -((x - 1) ** 2) / 2 - math.log(2 * math.pi) / 2, -(x**2) / 3 - math.log(3 * math.pi) / 2
    found = formulas.gaussian_renyi(np.array([1.0]), np.array([[1.0]]), np.array([[1.5]]))
    for order, value in zip(ORDERS[300:1200:300], found[300:1200:300], strict=True):
        integral = (logsumexp(order * p + (1 - order) * q) + math.log(x[1] - x[0])) / (order - 1)
        assert value == pytest.approx(integral, rel=1e-6)


@pytest.mark.parametrize("bound", BOUNDS)
@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, epsilon=EPSILONS, shared=st.booleans())
def test_noise_by_a_sound_bound_passes_the_exact_check(
    bound: formulas.Bound, seed: int, epsilon: float, shared: bool
) -> None:
    model = model_of(seed, shared=shared)
    noise = least(model, bound(model, epsilon, 1e-3))
    assert dp.exact_delta(model, noise, epsilon=epsilon) <= 1e-3


@pytest.mark.parametrize("bound", BOUNDS)
@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_a_larger_epsilon_takes_no_more_noise(bound: formulas.Bound, seed: int) -> None:
    model = model_of(seed)
    small, large = (np.trace(least(model, bound(model, epsilon, 1e-3))) for epsilon in (0.5, 1.0))
    assert large <= small * (1 + 1e-6)


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_averaging_over_a_coupling_never_beats_the_divergence_itself(seed: int) -> None:
    model = model_of(seed)
    itself, averaged = (np.trace(least(model, bound(model, 1.0, 1e-3))) for bound in BOUNDS[:2])
    assert itself <= averaged * (1 + 1e-6)


@given(seed=SEEDS)
def test_the_optimal_transport_takes_one_covariance_to_the_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = covariance(rng, 3), covariance(rng, 3)
    cross = np.trace(first + second - formulas.monge_moves(first, second)) / 2
    variances = np.linalg.eigvals(first @ second).real
    assert cross == pytest.approx(np.sqrt(variances).sum(), rel=1e-6)  # the distance of Bures
    one = formulas.monge_moves(np.array([[4.0]]), np.array([[9.0]]))
    assert one == pytest.approx(np.array([[1.0]]))  # (3 - 2)²


@given(seed=SEEDS)
def test_the_bound_on_far_moves_is_above_what_is_drawn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shift, spread, scales = rng.normal(size=3), covariance(rng, 3), rng.uniform(0.5, 2, 3)
    drawn = rng.multivariate_normal(shift, spread, 4000)
    frequency = np.mean((np.abs(drawn) / scales).sum(axis=1) > 4.0)
    assert frequency <= formulas.far_mass(shift, spread, scales, 4.0) + 0.04


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS, epsilon=EPSILONS)
def test_laplace_noise_for_translations_is_the_theorem_s_own(seed: int, epsilon: float) -> None:
    model = model_of(seed, shared=True)
    noise = formulas.monge_laplace_isotropic(model, epsilon, 1e-3)
    assert noise is not None
    shift = model.mean_shift(("a", "b"))
    assert noise.scales == pytest.approx(np.abs(shift).sum() / epsilon, rel=1e-5)
    assert delta_upper_bound(model, noise, epsilon=epsilon) <= 1e-3


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_attribute_privacy_of_one_statistic_is_theorem_4_5(seed: int) -> None:
    model = model_of(seed, 1, shared=True)
    target = dp.PrivacyTarget(epsilon=1.0, delta=1e-3)
    theirs = formulas.attribute_variances(model, target.epsilon, target.delta)
    assert theirs == pytest.approx(dp.mechanisms.eigenvector_gaussian(model, target).noise.covariance.ravel(), abs=1e-9)


@given(seed=SEEDS)
def test_the_best_split_is_the_best_of_all(seed: int) -> None:
    costs = np.sort(np.random.default_rng(seed).random((3, 6)))[:, ::-1]
    found = formulas.best_split(costs)
    everything = [shares for shares in product(range(1, 7), repeat=3) if sum(shares) == 6]
    least_cost = min(sum(costs[k, share - 1] for k, share in enumerate(shares)) for shares in everything)
    assert sum(found) == 6
    assert sum(costs[k, share - 1] for k, share in enumerate(found)) == pytest.approx(least_cost)


@given(seed=SEEDS, information=st.floats(1e-4, 1.0))
def test_noise_of_pac_privacy_spends_its_budget_and_is_never_more_than_by_the_published_formula(
    seed: int, information: float
) -> None:
    spread = covariance(np.random.default_rng(seed), 4)
    noise = formulas.pac_noise(spread, information).covariance
    spent = np.linalg.slogdet(np.eye(4) + spread @ np.linalg.inv(noise))[1] / 2
    assert spent == pytest.approx(information, rel=1e-4)
    roots = np.sqrt(np.linalg.eigvalsh(spread))
    assert np.trace(noise) <= roots.sum() ** 2 / (2 * information) * (1 + 1e-6)


@pytest.mark.parametrize(("accuracy", "nats"), [(0.5, 0.0), (1.0, math.log(2)), (0.6, 0.0201355)])
def test_the_information_that_an_accuracy_takes(accuracy: float, nats: float) -> None:
    assert formulas.information_for(accuracy) == pytest.approx(nats, abs=1e-6)


def test_what_a_release_tells_of_the_secret_is_that_of_a_numerical_integral() -> None:
    x = np.linspace(-15, 15, 60_001)
    p, q = np.exp(-((x - 1) ** 2) / 2) / math.sqrt(2 * math.pi), np.exp(-(x**2) / 3) / math.sqrt(3 * math.pi)
    mixed = (p + q) / 2
    integral = float((p * np.log(p / mixed) + q * np.log(q / mixed)).sum()) / 2 * (x[1] - x[0])
    found = formulas.secret_information(np.array([1.0]), np.array([[1.0]]), np.array([[1.5]]))
    assert found == pytest.approx(integral, rel=1e-5)


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_bounds_on_the_information_are_above_it_and_fano_s_below(seed: int) -> None:
    model = model_of(seed, apart=0.5)
    shift, first, second = next(formulas.laws(model))
    told = formulas.secret_information(shift, first, second)
    tiny = 1e-9 * np.eye(3)
    assert formulas.entropy_bound_passes(model, 10.0)(tiny)
    assert not formulas.entropy_bound_passes(model, told * (1 - 1e-6))(tiny)
    assert not formulas.variance_bound_passes(model, told)(tiny)
    accuracy = (1 + dp.exact_delta(model, tiny, epsilon=0.0)) / 2
    assert formulas.information_for(accuracy) <= told * (1 + 1e-6)


@pytest.mark.parametrize("seed", [1, 2])
def test_noise_along_and_across_is_no_worse_than_isotropic_noise(seed: int) -> None:
    model = model_of(seed)
    passes = formulas.renyi_passes(model, 1.0, 1e-3)
    noise = formulas.least_across(model, passes, "noise")
    estimate = formulas.least_across(model, passes, "estimate")
    even = least(model, passes)
    assert noise is not None
    assert estimate is not None
    known = PublicKnowledge.of(model)
    missed = [np.trace(known.error_covariance(each)) for each in (estimate.covariance, even)]
    assert np.trace(noise.covariance) <= np.trace(even) * (1 + 1e-5)
    assert missed[0] <= missed[1] * (1 + 1e-5)


def test_noise_along_the_shift_cannot_hide_covariances_that_differ_across_it() -> None:
    covariances = {"a": np.eye(2), "b": np.diag([1.0, 4.0])}
    model = dp.gaussian_model(means={"a": [0, 0], "b": [1, 0]}, covariances=covariances, pairs=[("a", "b")])
    passes = formulas.renyi_passes(model, 0.2, 1e-3)
    assert formulas.least_gaussian(formulas.along_shift(model), passes) is None
    assert formulas.least_across(model, passes, "noise") is not None


def test_where_the_statistics_hide_the_secret_by_themselves_there_is_no_noise() -> None:
    model = dp.gaussian_model(means={"a": [0], "b": [0.01]}, covariances=[[1]], pairs=[("a", "b")])
    assert least(model, formulas.renyi_passes(model, 1.0, 1e-3)) == pytest.approx(0.0)
