"""The maximal coupling of two weightings: each dataset has its own law, and n · TV records differ."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.modelling.model import as_they_are
from distpriv.modelling.weighted_coupling import WeightedSwap


def weightings(seed: int, rows: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    first, second = rng.random((2, rows)) + 0.02
    return first / first.sum(), second / second.sum()


@pytest.mark.parametrize("order", [None, np.arange(12.0)[::-1]])
def test_both_datasets_have_the_law_of_their_own_weights(order: Floats | None) -> None:
    first, second = weightings(1, 12)
    swap = WeightedSwap.of(np.arange(12), first, second, records=6, order=order)
    one, other = swap.draw(np.random.default_rng(2), 20_000)
    for drawn, weights in ((one, first), (other, second)):
        counts = np.bincount(drawn.ravel(), minlength=12)
        assert chisquare(counts, drawn.size * weights).pvalue > 1e-3
        pairs = np.bincount(drawn[:, 0] * 12 + drawn[:, 1], minlength=144)
        assert chisquare(pairs, len(drawn) * np.outer(weights, weights).ravel()).pvalue > 1e-3


@given(st.integers(0, 2**32), st.integers(2, 40))
def test_the_chance_that_a_record_differs_is_the_total_variation(seed: int, rows: int) -> None:
    first, second = weightings(seed, rows)
    swap = WeightedSwap.of(np.arange(rows), first, second, records=5)
    assert swap.apart == pytest.approx(np.abs(first - second).sum() / 2, abs=1e-12)


def test_so_many_records_differ_as_total_variation_says_on_average() -> None:
    first, second = weightings(5, 30)
    swap = WeightedSwap.of(np.arange(30), first, second, records=50)
    one, other = swap.draw(np.random.default_rng(3), 4000)
    differ = (one != other).sum(axis=1)
    expected = 50 * np.abs(first - second).sum() / 2
    assert abs(differ.mean() - expected) < 5 * differ.std() / np.sqrt(len(differ))


def test_weightings_without_a_row_in_common_differ_in_every_record() -> None:
    swap = WeightedSwap.of(np.array([7, 8]), np.array([1.0, 0.0]), np.array([0.0, 1.0]), records=3)
    one, other = swap.draw(np.random.default_rng(0), 4)
    assert swap.apart == 1
    assert (one == 7).all()
    assert (other == 8).all()


@pytest.fixture(scope="module")
def model() -> dp.QueryModel:
    query = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
    rows = dp.datasets.adult().slice(0, 3000)
    return dp.model(rows, query, dp.Mean("hours_per_week", values=(38, 42)), records=40, reference="population")


@pytest.mark.parametrize("pairing", ["independent", "transport"])
def test_coupled_samples_and_differences_have_the_modelled_moments(model: dp.QueryModel, pairing: str) -> None:
    pair = model.protected_pairs[0]
    one, other = model.coupled_samples(pair, 8000, seed=1, pairing=pairing)  # type: ignore[arg-type]
    for drawn, name in ((one, pair[0]), (other, pair[1])):
        law = model.distributions[name]
        deviations = np.sqrt(np.diag(law.covariance))
        assert (np.abs(drawn.mean(axis=0) - law.mean) < 5 * deviations / np.sqrt(8000)).all()
        assert np.cov(drawn.T) == pytest.approx(law.covariance, rel=0.1, abs=0.1 * deviations.min() ** 2)
    (apart,) = model.rows().measured_differences([pair], 20_000, 3, pairing, as_they_are)  # type: ignore[arg-type]
    assert (np.abs(apart.mean(axis=0) - model.mean_shift(pair)) < 5 * apart.std(axis=0) / np.sqrt(20_000)).all()
    assert np.cov((one - other).T) == pytest.approx(np.cov(apart.T), rel=0.15, abs=0.02)


def test_most_rows_stay_so_that_differences_are_smaller_than_of_independent_datasets(model: dp.QueryModel) -> None:
    pair = model.protected_pairs[0]
    (apart,) = model.rows().measured_differences([pair], 4000, 3, "independent", as_they_are)
    independent = sum(np.diag(model.distributions[name].covariance) for name in pair)
    assert (apart.var(axis=0) < 0.6 * independent).all()


def test_pairs_of_values_are_each_a_group_of_their_own_in_one_order(model: dp.QueryModel) -> None:
    rows = model.rows()
    assert rows.difference_groups(model.protected_pairs) == [(model.protected_pairs[0],)]


def test_noise_is_calibrated_on_coupled_draws_of_weighted_rows(model: dp.QueryModel) -> None:
    mechanism = dp.mechanisms.coupled_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.05), draws=20_000, seed=1)
    assert mechanism.certificate.holds
    assert mechanism.certificate.assurance == "proved"
    assert dp.exact_delta(model, mechanism, epsilon=1) < 0.05
