from collections import Counter
from math import comb, factorial, prod
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import distpriv as dp
from distpriv.errors import InvalidModel
from distpriv.framework.arrays import Floats, Rows
from distpriv.modelling.coupling import MaximalCoupling, Pairing, widest
from distpriv.modelling.model import as_they_are
from distpriv.modelling.simulator import RowSimulator

PAIRINGS: list[Pairing] = ["independent", "transport"]
QUERY = dp.Query(x=dp.mean("x"), big=dp.count("x > 2"))


def small_model(
    positives: int, negatives: int, counts: tuple[int, int], n: int, replacement: bool = False
) -> dp.QueryModel:
    rng = np.random.default_rng(positives * 100 + negatives)
    rows = positives + negatives
    table = pl.DataFrame({"x": rng.normal(size=rows).round(1) + 2, "s": np.arange(rows) < positives})
    secret = dp.Share("s", values=(counts[0] / n, counts[1] / n))
    return dp.model(table, QUERY, secret, records=n, replacement=replacement, reference="population")


def simulator_of(model: dp.QueryModel) -> RowSimulator:
    assert isinstance(model.simulator, RowSimulator)
    return model.simulator


@settings(max_examples=60)
@given(st.data(), st.sampled_from(PAIRINGS), st.booleans())
def test_coupled_datasets_differ_only_in_the_rows_they_must(
    data: st.DataObject, pairing: Pairing, replacement: bool
) -> None:
    n = data.draw(st.integers(2, 12))
    one, other = data.draw(st.lists(st.integers(0, n), min_size=2, max_size=2, unique=True))
    positives = data.draw(st.integers(max(one, other, 1), 15))
    negatives = data.draw(st.integers(max(n - one, n - other, 1), 15))
    model = small_model(positives, negatives, (one, other), n, replacement=replacement)
    simulator = simulator_of(model)
    for pair in model.protected_pairs:
        swap = simulator.swap(pair, pairing)
        assert swap.swapped == abs(one - other)
        first, second = swap.draw(np.random.default_rng(1), 30)
        for dataset, name in ((first, pair[0]), (second, pair[1])):
            wanted = round(float(name.split(" @ ")[1]) * n)
            assert ((dataset < positives).sum(axis=1) == wanted).all()
            assert dataset.shape == (30, n)
            assert replacement or all(len(set(chosen)) == n for chosen in dataset.tolist())
        assert (first[:, : n - swap.swapped] == second[:, : n - swap.swapped]).all()


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_each_coupled_dataset_is_uniform_among_all_of_its_scenario(pairing: Pairing) -> None:
    model = small_model(4, 5, (1, 3), 5)
    pair = model.protected_pairs[0]
    first, second = simulator_of(model).swap(pair, pairing).draw(np.random.default_rng(2), 60_000)
    for dataset, count in ((first, 1), (second, 3)):
        seen = Counter(tuple(sorted(chosen)) for chosen in dataset.tolist())
        assert len(seen) == comb(4, count) * comb(5, 5 - count)
        assert stats.chisquare(list(seen.values())).pvalue > 1e-4


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_each_coupled_dataset_of_a_sample_is_of_independent_rows(pairing: Pairing) -> None:
    """Any joint law of the swapped rows is a coupling if each is uniform by itself and independent of all others."""
    table = pl.DataFrame({"x": [0.0, 1.0, 5.0, 2.0, 2.0, 9.0, 4.0], "s": [True] * 3 + [False] * 4})
    model = dp.model(table, QUERY, dp.Share("s", values=(1 / 4, 3 / 4)), records=4)  # more than the rows there are
    pair = model.protected_pairs[0]
    first, second = simulator_of(model).swap(pair, pairing).draw(np.random.default_rng(2), 60_000)
    for dataset, count in ((first, 1), (second, 3)):
        kinds = [sorted(row) for row in dataset.tolist()]
        seen = Counter(map(tuple, kinds))
        chances = {kind: _chance(kind, count) for kind in seen}
        assert sum(chances.values()) == pytest.approx(1.0)
        expected = 60_000 * np.array(list(chances.values()))
        assert stats.chisquare(list(seen.values()), expected).pvalue > 1e-4


def _chance(kind: tuple[int, ...], positives: int) -> float:
    """How likely rows are, in any order, so many of them draws of rows 0 to 2, the others of 3 to 6."""
    orders = [Counter(row for row in kind if (row < 3) == side) for side in (True, False)]
    assert orders[0].total() == positives
    counted = (factorial(of.total()) / prod(map(factorial, of.values())) for of in orders)
    return float(prod(counted) / 3**positives / 4 ** (len(kind) - positives))


def test_transport_brings_coupled_samples_closer(adult: pa.Table, paper_query: dp.Query) -> None:
    model = dp.model(adult.slice(0, 5000), paper_query, dp.Share("income = '>50K'", values=(0.45, 0.55)), records=100)
    pair = model.protected_pairs[0]
    apart = {
        pairing: float(np.mean([np.square(a - b).sum() for a, b in zip(*samples, strict=True)]))
        for pairing in PAIRINGS
        for samples in [model.coupled_samples(pair, 4000, pairing=pairing)]
    }
    assert apart["transport"] < 0.95 * apart["independent"]


def test_order_is_shuffled_for_functions_with_common_rows_in_common_places() -> None:
    table = pl.DataFrame({"x": np.arange(30.0), "s": np.arange(30) < 15})
    places = dp.Query(at=dp.function(lambda rows: rows["x"], columns=["x"], size=6))
    model = dp.model(table, places, dp.Share("s", values=(1 / 3, 1 / 2)), records=6, draws=10)
    first, second = model.coupled_samples(model.protected_pairs[0], 2000)
    assert ((first != second).sum(axis=1) == 1).all()
    where = np.bincount((first != second).argmax(axis=1))
    assert stats.chisquare(where).pvalue > 1e-4


def test_rows_that_are_all_alike_can_be_paired() -> None:
    table = pl.DataFrame({"c": [3.0] * 20, "s": [True, False] * 10})
    model = dp.model(table, dp.Query(v=dp.variance("c")), dp.Share("s", values=(0.2, 0.6)), records=5, draws=10)
    first, second = model.coupled_samples(model.protected_pairs[0], 10, pairing="transport")
    assert not first.any()
    assert not second.any()


def test_what_cannot_be_coupled_is_refused() -> None:
    model = small_model(40, 60, (8, 14), 20)
    with pytest.raises(InvalidModel, match="pairing must be 'independent' or 'transport', got 'best'"):
        model.coupled_samples(model.protected_pairs[0], 10, pairing="best")  # type: ignore[arg-type]
    with pytest.raises(InvalidModel, match=r"no scenario 's @ 0\.3'"):
        model.coupled_samples(("s @ 0.3", "s @ 0.4"), 10)
    tables = dp.Scenarios({"a": pl.DataFrame({"x": [1.0, 2]}), "b": pl.DataFrame({"x": [3.0, 4]})})
    with pytest.raises(InvalidModel, match="'a' and 'b' are not shares of one predicate"):
        dp.model(None, dp.Query(x=dp.mean("x")), tables, records=1).coupled_samples(("a", "b"), 10)
    text = dp.Query(n=dp.function(lambda rows: len(set(rows["t"])), columns=["t"]))
    table = pl.DataFrame({"t": list("abcd"), "s": [True, True, False, False]})
    model = dp.model(table, text, dp.Share("s", values=(0, 0.5)), records=2, draws=10)
    with pytest.raises(InvalidModel, match="paired by transport over 't', which is not a number"):
        model.coupled_samples(model.protected_pairs[0], 10, pairing="transport")


MEANS = dp.Query(x=dp.mean("x"), big=dp.count("x > 2"))


def model_of_shares(values: tuple[float, ...], query: dp.Query = MEANS, replacement: bool = False) -> dp.QueryModel:
    x = np.random.default_rng(4).normal(size=11).round(1) + 2
    table = pl.DataFrame({"x": x, "s": np.arange(11) < 5})
    options: dict[str, Any] = {"replacement": replacement, "reference": "population", "draws": 50}
    return dp.model(table, query, dp.Share("s", values=values), records=5, **options)


def same_law(first: Floats | Rows, second: Floats | Rows) -> float:
    """The p-value that rows of two arrays are from one law."""
    counts = [Counter(map(tuple, array.round(9).tolist())) for array in (first, second)]
    table = np.array([[count[key] for key in counts[0] | counts[1]] for count in counts])
    return float(stats.chi2_contingency(table[:, table.sum(axis=0) > 10]).pvalue)


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("replacement", [False, True])
def test_differences_have_the_law_of_those_of_whole_datasets(pairing: Pairing, replacement: bool) -> None:
    made = model_of_shares((0.2, 0.6), replacement=replacement)
    for pair in made.protected_pairs:
        first, second = made.coupled_samples(pair, 30_000, seed=1, pairing=pairing)
        found = made.rows().measured_differences([pair], 30_000, 2, pairing, as_they_are)[0]
        assert same_law(first - second, found) > 1e-4


def test_a_query_of_another_kind_is_evaluated_on_whole_datasets() -> None:
    made = model_of_shares((0.2, 0.6), dp.Query(m=dp.quantile("x", 0.5)))
    pair = made.protected_pairs[0]
    first, second = made.coupled_samples(pair, 50, seed=3, pairing="transport")
    found = made.rows().measured_differences([pair], 50, 3, "transport", as_they_are)[0]
    assert np.array_equal(first - second, found)


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_the_first_of_many_swapped_rows_serve_for_scenarios_that_differ_in_few(pairing: Pairing) -> None:
    made = model_of_shares((0.2, 0.4, 0.6))
    simulator = simulator_of(made)
    (group,) = simulator.difference_groups(made.protected_pairs)
    assert len(group) == 3
    found = simulator.measured_differences(group, 40_000, 5, pairing, as_they_are)
    assert len(found) == 2
    for pair in group:
        swapped = simulator.swap(pair, pairing).swapped
        shift = made.mean_shift(pair)
        differences = found[swapped - 1]
        error = differences.std(axis=0) / np.sqrt(len(differences))
        assert (np.abs(differences.mean(axis=0) - shift) < 4.5 * error).all()


def test_strata_too_small_for_all_swaps_at_once_are_taken_pair_by_pair() -> None:
    table = pl.DataFrame({"x": np.arange(9.0), "s": np.arange(9) < 4})
    made = dp.model(table, MEANS, dp.Share("s", values=(0.2, 0.6, 0.8)), records=5, reference="population")
    simulator = simulator_of(made)
    groups = simulator.difference_groups(made.protected_pairs)
    assert [len(group) for group in groups] == [1, 1, 1]
    wide = widest([simulator.swap(group[0], "independent") for group in groups])
    assert wide.swapped > min(len(wide.out) - wide.common_out, len(wide.into) - wide.common_into)


def test_groups_are_by_predicate_for_means_and_by_pair_for_others() -> None:
    table = pl.DataFrame({"x": np.arange(60.0), "s": np.arange(60) % 2 == 0, "t": np.arange(60) % 3 == 0})
    secrets = [dp.Share(name, values=(0.2, 0.4, 0.6)) for name in "st"]
    for query, sizes in ((MEANS, [3, 3]), (dp.Query(m=dp.quantile("x", 0.5)), [1] * 6)):
        made = dp.model(table, query, secrets, records=5, draws=20)
        assert [len(group) for group in simulator_of(made).difference_groups(made.protected_pairs)] == sizes


def weightings(seed: int, rows: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    first, second = rng.random((2, rows)) + 0.02
    return first / first.sum(), second / second.sum()


@pytest.mark.parametrize("order", [None, np.arange(12.0)[::-1]])
def test_both_datasets_have_the_law_of_their_own_weights(order: Floats | None) -> None:
    first, second = weightings(1, 12)
    swap = MaximalCoupling.of(np.arange(12), first, second, records=6, order=order)
    one, other = swap.draw(np.random.default_rng(2), 20_000)
    for drawn, weights in ((one, first), (other, second)):
        counts = np.bincount(drawn.ravel(), minlength=12)
        assert stats.chisquare(counts, drawn.size * weights).pvalue > 1e-3
        pairs = np.bincount(drawn[:, 0] * 12 + drawn[:, 1], minlength=144)
        assert stats.chisquare(pairs, len(drawn) * np.outer(weights, weights).ravel()).pvalue > 1e-3


@given(st.integers(0, 2**32), st.integers(2, 40))
def test_the_chance_that_a_record_differs_is_the_total_variation(seed: int, rows: int) -> None:
    first, second = weightings(seed, rows)
    swap = MaximalCoupling.of(np.arange(rows), first, second, records=5)
    assert swap.apart == pytest.approx(np.abs(first - second).sum() / 2, abs=1e-12)


@pytest.fixture(scope="module")
def weighted() -> dp.QueryModel:
    query = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
    rows = dp.datasets.adult().slice(0, 3000)
    return dp.model(rows, query, dp.Mean("hours_per_week", values=(38, 42)), records=40, reference="population")


@pytest.mark.parametrize("pairing", ["independent", "transport"])
def test_coupled_samples_and_differences_have_the_modelled_moments(weighted: dp.QueryModel, pairing: str) -> None:
    pair = weighted.protected_pairs[0]
    one, other = weighted.coupled_samples(pair, 8000, seed=1, pairing=pairing)  # type: ignore[arg-type]
    for drawn, name in ((one, pair[0]), (other, pair[1])):
        law = weighted.distributions[name]
        deviations = np.sqrt(np.diag(law.covariance))
        assert (np.abs(drawn.mean(axis=0) - law.mean) < 5 * deviations / np.sqrt(8000)).all()
        assert np.cov(drawn.T) == pytest.approx(law.covariance, rel=0.1, abs=0.1 * deviations.min() ** 2)
    (apart,) = weighted.rows().measured_differences([pair], 20_000, 3, pairing, as_they_are)  # type: ignore[arg-type]
    assert (np.abs(apart.mean(axis=0) - weighted.mean_shift(pair)) < 5 * apart.std(axis=0) / np.sqrt(20_000)).all()
    assert np.cov((one - other).T) == pytest.approx(np.cov(apart.T), rel=0.15, abs=0.02)
