from collections import Counter
from math import comb, factorial, prod

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import distpriv as dp
from distpriv.errors import InvalidModel
from distpriv.modelling.coupling import Pairing, draw_coupled_rows
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
        rows = draw_coupled_rows(np.random.default_rng(1), swap, 30, replacement=replacement)
        for dataset, name in ((rows.first, pair[0]), (rows.second, pair[1])):
            wanted = round(float(name.split(" @ ")[1]) * n)
            assert ((dataset < positives).sum(axis=1) == wanted).all()
            assert dataset.shape == (30, n)
            assert replacement or all(len(set(chosen)) == n for chosen in dataset.tolist())
        assert (rows.first[:, : n - swap.swapped] == rows.second[:, : n - swap.swapped]).all()
        assert rows.first_only.shape[1] == rows.second_only.shape[1] == swap.swapped


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_each_coupled_dataset_is_uniform_among_all_of_its_scenario(pairing: Pairing) -> None:
    model = small_model(4, 5, (1, 3), 5)
    pair = model.protected_pairs[0]
    rows = draw_coupled_rows(
        np.random.default_rng(2), simulator_of(model).swap(pair, pairing), 60_000, replacement=False
    )
    for dataset, count in ((rows.first, 1), (rows.second, 3)):
        seen = Counter(tuple(sorted(chosen)) for chosen in dataset.tolist())
        assert len(seen) == comb(4, count) * comb(5, 5 - count)
        assert stats.chisquare(list(seen.values())).pvalue > 1e-4


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_each_coupled_dataset_of_a_sample_is_of_independent_rows(pairing: Pairing) -> None:
    """Any joint law of the swapped rows is a coupling if each is uniform by itself and independent of all others."""
    table = pl.DataFrame({"x": [0.0, 1.0, 5.0, 2.0, 2.0, 9.0, 4.0], "s": [True] * 3 + [False] * 4})
    model = dp.model(table, QUERY, dp.Share("s", values=(1 / 4, 3 / 4)), records=4)  # more than the rows there are
    pair = model.protected_pairs[0]
    swap = simulator_of(model).swap(pair, pairing)
    rows = draw_coupled_rows(np.random.default_rng(2), swap, 60_000, replacement=True)
    for dataset, count in ((rows.first, 1), (rows.second, 3)):
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


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("replacement", [False, True])
def test_coupled_samples_have_the_moments_of_their_scenarios(pairing: Pairing, replacement: bool) -> None:
    model = small_model(40, 60, (8, 14), 20, replacement=replacement)
    for pair in model.protected_pairs:
        for values, name in zip(model.coupled_samples(pair, 40_000, seed=5, pairing=pairing), pair, strict=True):
            law = model.distributions[name]
            error = np.sqrt(np.diag(law.covariance) / len(values))
            assert (np.abs(values.mean(axis=0) - law.mean) < 4.5 * error).all()
            # The variance of a sample variance is about 2 σ⁴ / B for laws near normal; 3 σ⁴ / B leaves room.
            spread = np.sqrt(3 / len(values)) * np.diag(law.covariance)
            assert (np.abs(values.var(axis=0) - np.diag(law.covariance)) < 4.5 * spread).all()


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


def test_the_same_seed_gives_the_same_coupled_samples() -> None:
    model = small_model(40, 60, (8, 14), 20)
    pair = model.protected_pairs[0]
    for pairing in PAIRINGS:
        one, again, other = (model.coupled_samples(pair, 50, seed=s, pairing=pairing) for s in (1, 1, 2))
        assert np.array_equal(one, again)
        assert not np.array_equal(one, other)


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
