"""Coupled datasets have their own scenarios' distributions each, and differ only in the rows they must differ in."""

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
from distpriv.modelling.transport import RowPairing

PAIRINGS: list[Pairing] = ["independent", "transport"]
QUERY = dp.Query(x=dp.mean("x"), big=dp.count("x > 2"))
MEDIAN = dp.Query(m=dp.quantile("x", 0.5))


def model_of(
    rows: tuple[int, int], counts: tuple[int, ...], records: int, query: dp.Query = QUERY, **options: Any
) -> dp.QueryModel:
    """Rows that satisfy s first, and how many of them datasets have."""
    x = np.random.default_rng(rows[0] * 100 + rows[1]).normal(size=sum(rows)).round(1) + 2
    table = pl.DataFrame({"x": x, "s": np.arange(sum(rows)) < rows[0]})
    secret = dp.Share("s", values=[count / records for count in counts])
    return dp.model(table, query, secret, records=records, **{"reference": "population", "draws": 50, **options})


@settings(max_examples=60)
@given(st.data(), st.sampled_from(PAIRINGS), st.booleans())
def test_coupled_datasets_differ_only_in_the_rows_they_must(
    data: st.DataObject, pairing: Pairing, replacement: bool
) -> None:
    n = data.draw(st.integers(2, 12))
    one, other = data.draw(st.lists(st.integers(0, n), min_size=2, max_size=2, unique=True))
    positives = data.draw(st.integers(max(one, other, 1), 15))
    negatives = data.draw(st.integers(max(n - one, n - other, 1), 15))
    model = model_of((positives, negatives), (one, other), n, replacement=replacement)
    for pair in model.protected_pairs:
        swap = model.rows().swap(pair, pairing)
        assert swap.swapped == abs(one - other)
        first, second = swap.draw(np.random.default_rng(1), 30)
        for dataset, name in ((first, pair[0]), (second, pair[1])):
            wanted = round(float(name.split(" @ ")[1]) * n)
            assert ((dataset < positives).sum(axis=1) == wanted).all()
            assert dataset.shape == (30, n)
            assert replacement or all(len(set(chosen)) == n for chosen in dataset.tolist())
        assert (first[:, : n - swap.swapped] == second[:, : n - swap.swapped]).all()


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("reference", ["population", "sample"])
def test_each_coupled_dataset_has_the_law_of_its_scenario(pairing: Pairing, reference: str) -> None:
    """All sets of rows of a population are as likely; rows of a sample are independent, more of them than there are."""
    rows, counts, n = ((4, 5), (1, 3), 5) if reference == "population" else ((3, 4), (1, 3), 4)
    model = model_of(rows, counts, n, reference=reference)
    drawn = model.rows().swap(model.protected_pairs[0], pairing).draw(np.random.default_rng(2), 60_000)
    for dataset, count in zip(drawn, counts, strict=True):
        seen = Counter(tuple(sorted(chosen)) for chosen in dataset.tolist())
        if reference == "population":
            assert len(seen) == comb(4, count) * comb(5, 5 - count)
            chances = [1 / len(seen)] * len(seen)
        else:
            chances = [multinomial_chance(chosen, rows, count) for chosen in seen]
            assert sum(chances) == pytest.approx(1.0)
        assert stats.chisquare(list(seen.values()), 60_000 * np.array(chances)).pvalue > 1e-4


def multinomial_chance(chosen: tuple[int, ...], rows: tuple[int, int], positives: int) -> float:
    """How likely these rows are, in any order, so many of them drawn from the first stratum."""
    sides = [Counter(row for row in chosen if (row < rows[0]) == side) for side in (True, False)]
    assert sides[0].total() == positives
    orders = (factorial(side.total()) / prod(map(factorial, side.values())) for side in sides)
    return float(prod(orders) / rows[0] ** positives / rows[1] ** (len(chosen) - positives))


@pytest.mark.parametrize("names", [("s @ 0.6", "s @ 0.2"), ("s @ 0.2", "s @ 0.6")])
def test_the_dataset_with_more_positives_swaps_them_for_negatives(names: tuple[str, str]) -> None:
    simulator = model_of((4, 6), (1, 3), 5).rows()
    swap, positives_go = simulator.swap(names, "independent"), names[0] == "s @ 0.6"
    assert (swap.common_out, swap.common_into, swap.swapped) == ((1, 2, 2) if positives_go else (2, 1, 2))
    assert swap.out.tolist() == ([0, 1, 2, 3] if positives_go else [4, 5, 6, 7, 8, 9])
    one, other = (simulator.swap(pair, "transport").pairing for pair in (names, names[::-1]))
    assert isinstance(one, RowPairing)
    assert isinstance(other, RowPairing)
    assert one.first.tolist() == other.second.tolist()  # one pairing, the other way round
    assert (one.first.max(), one.second.max()) == ((3, 5) if positives_go else (5, 3))


def test_transport_brings_coupled_samples_closer(adult: pa.Table, paper_query: dp.Query) -> None:
    model = dp.model(adult.slice(0, 5000), paper_query, dp.Share("income = '>50K'", values=(0.45, 0.55)), records=100)
    samples = {pairing: model.coupled_samples(model.protected_pairs[0], 4000, pairing=pairing) for pairing in PAIRINGS}
    apart = {pairing: float(np.square(one - other).sum(axis=1).mean()) for pairing, (one, other) in samples.items()}
    assert apart["transport"] < 0.95 * apart["independent"]


def test_order_is_shuffled_for_functions_with_common_rows_in_common_places() -> None:
    table = pl.DataFrame({"x": np.arange(30.0), "s": np.arange(30) < 15})
    places = dp.Query(at=dp.function(lambda rows: rows["x"], columns=["x"], size=6))
    model = dp.model(table, places, dp.Share("s", values=(1 / 3, 1 / 2)), records=6, draws=10)
    first, second = model.coupled_samples(model.protected_pairs[0], 2000)
    assert ((first != second).sum(axis=1) == 1).all()
    assert stats.chisquare(np.bincount((first != second).argmax(axis=1))).pvalue > 1e-4


def test_rows_that_are_all_alike_can_be_paired() -> None:
    table = pl.DataFrame({"c": [3.0] * 20, "s": [True, False] * 10})
    model = dp.model(table, dp.Query(v=dp.variance("c")), dp.Share("s", values=(0.2, 0.6)), records=5, draws=10)
    assert not np.any(model.coupled_samples(model.protected_pairs[0], 10, pairing="transport"))


def test_what_cannot_be_coupled_is_refused() -> None:
    model = model_of((40, 60), (8, 14), 20)
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


def same_law(first: Floats | Rows, second: Floats | Rows) -> float:
    """The p-value that rows of two arrays are from one law."""
    counts = [Counter(map(tuple, array.round(9).tolist())) for array in (first, second)]
    table = np.array([[count[key] for key in counts[0] | counts[1]] for count in counts])
    return float(stats.chi2_contingency(table[:, table.sum(axis=0) > 10]).pvalue)


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("replacement", [False, True])
def test_differences_have_the_law_of_those_of_whole_datasets(pairing: Pairing, replacement: bool) -> None:
    model = model_of((5, 6), (1, 3), 5, replacement=replacement)
    for pair in model.protected_pairs:
        first, second = model.coupled_samples(pair, 30_000, seed=1, pairing=pairing)
        (differences,) = model.rows().measured_differences([pair], 30_000, 2, pairing, as_they_are)
        assert same_law(first - second, differences) > 1e-4


def test_a_query_of_another_kind_is_evaluated_on_whole_datasets() -> None:
    model = model_of((5, 6), (1, 3), 5, MEDIAN)
    pair = model.protected_pairs[0]
    first, second = model.coupled_samples(pair, 50, seed=3, pairing="transport")
    (differences,) = model.rows().measured_differences([pair], 50, 3, "transport", as_they_are)
    assert np.array_equal(first - second, differences)


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_the_first_of_many_swapped_rows_serve_for_scenarios_that_differ_in_few(pairing: Pairing) -> None:
    model = model_of((5, 6), (1, 2, 3), 5)
    simulator = model.rows()
    (group,) = simulator.difference_groups(model.protected_pairs)
    assert len(group) == 3
    measured = simulator.measured_differences(group, 40_000, 5, pairing, as_they_are)
    assert len(measured) == 2
    for pair in group:
        differences = measured[simulator.swap(pair, pairing).swapped - 1]
        error = differences.std(axis=0) / np.sqrt(len(differences))
        assert (np.abs(differences.mean(axis=0) - model.mean_shift(pair)) < 4.5 * error).all()


def test_strata_too_small_for_all_swaps_at_once_are_taken_pair_by_pair() -> None:
    model = model_of((4, 5), (1, 3, 4), 5)
    groups = model.rows().difference_groups(model.protected_pairs)
    assert [len(group) for group in groups] == [1, 1, 1]
    assert not widest([model.rows().swap(group[0], "independent") for group in groups]).has_room


@pytest.mark.parametrize(("query", "sizes"), [(QUERY, [3, 3]), (MEDIAN, [1] * 6)])
def test_groups_are_by_predicate_for_means_and_by_pair_for_others(query: dp.Query, sizes: list[int]) -> None:
    table = pl.DataFrame({"x": np.arange(60.0), "s": np.arange(60) % 2 == 0, "t": np.arange(60) % 3 == 0})
    secrets = [dp.Share(name, values=(0.2, 0.4, 0.6)) for name in "st"]
    model = dp.model(table, query, secrets, records=5, draws=20)
    assert [len(group) for group in model.rows().difference_groups(model.protected_pairs)] == sizes


def weightings(seed: int, rows: int) -> tuple[Floats, Floats]:
    first, second = np.random.default_rng(seed).random((2, rows)) + 0.02
    return first / first.sum(), second / second.sum()


@pytest.mark.parametrize("order", [None, np.arange(12.0)[::-1]])
def test_both_datasets_have_the_law_of_their_own_weights(order: Floats | None) -> None:
    weights = weightings(1, 12)
    coupling = MaximalCoupling.of(np.arange(12), *weights, records=6, order=order)
    for drawn, own in zip(coupling.draw(np.random.default_rng(2), 20_000), weights, strict=True):
        assert stats.chisquare(np.bincount(drawn.ravel(), minlength=12), drawn.size * own).pvalue > 1e-3
        pairs = np.bincount(drawn[:, 0] * 12 + drawn[:, 1], minlength=144)
        assert stats.chisquare(pairs, len(drawn) * np.outer(own, own).ravel()).pvalue > 1e-3


@given(st.integers(0, 2**32), st.integers(2, 40))
def test_the_chance_that_a_record_differs_is_the_total_variation(seed: int, rows: int) -> None:
    first, second = weightings(seed, rows)
    coupling = MaximalCoupling.of(np.arange(rows), first, second, records=5)
    assert coupling.total_variation == pytest.approx(np.abs(first - second).sum() / 2, abs=1e-12)
