from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import distpriv as dp
from distpriv.errors import InvalidModel
from distpriv.framework.arrays import Floats, Rows
from distpriv.modelling.coupling import Pairing
from distpriv.modelling.differences import avoiding_hidden, sums_of_swapped, widest
from distpriv.modelling.model import as_they_are
from distpriv.modelling.simulator import RowSimulator

PAIRINGS: list[Pairing] = ["independent", "transport"]
MEANS = dp.Query(x=dp.mean("x"), big=dp.count("x > 2"))


def model(values: tuple[float, ...], query: dp.Query = MEANS, replacement: bool = False) -> dp.QueryModel:
    x = np.random.default_rng(4).normal(size=11).round(1) + 2
    table = pl.DataFrame({"x": x, "s": np.arange(11) < 5})
    options: dict[str, Any] = {"replacement": replacement, "reference": "population", "draws": 50}
    return dp.model(table, query, dp.Share("s", values=values), records=5, **options)


def simulator_of(made: dp.QueryModel) -> RowSimulator:
    assert isinstance(made.simulator, RowSimulator)
    return made.simulator


def same_law(first: Floats | Rows, second: Floats | Rows) -> float:
    """The p-value that rows of two arrays are from one law."""
    counts = [Counter(map(tuple, array.round(9).tolist())) for array in (first, second)]
    table = np.array([[count[key] for key in counts[0] | counts[1]] for count in counts])
    return float(stats.chi2_contingency(table[:, table.sum(axis=0) > 10]).pvalue)


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("replacement", [False, True])
def test_differences_have_the_law_of_those_of_whole_datasets(pairing: Pairing, replacement: bool) -> None:
    made = model((0.2, 0.6), replacement=replacement)
    for pair in made.protected_pairs:
        first, second = made.coupled_samples(pair, 30_000, seed=1, pairing=pairing)
        found = made.rows().measured_differences([pair], 30_000, 2, pairing, as_they_are)[0]
        assert same_law(first - second, found) > 1e-4


def test_a_query_of_another_kind_is_evaluated_on_whole_datasets() -> None:
    made = model((0.2, 0.6), dp.Query(m=dp.quantile("x", 0.5)))
    pair = made.protected_pairs[0]
    first, second = made.coupled_samples(pair, 50, seed=3, pairing="transport")
    found = made.rows().measured_differences([pair], 50, 3, "transport", as_they_are)[0]
    assert np.array_equal(first - second, found)


def hidden_in_the_open(rng: np.random.Generator, population: int, hidden: int, picks: Rows) -> tuple[Rows, Rows]:
    """Do what `avoiding_hidden` does, with a set that is drawn."""
    sets = rng.permuted(np.tile(np.arange(population), (len(picks), 1)), axis=1)[:, :hidden]
    picks = picks.copy()
    for row, secret in zip(picks, sets.tolist(), strict=True):
        used = set(secret)
        for k, pick in enumerate(row.tolist()):
            row[k] = pick if pick not in used else rng.choice(sorted(set(range(population)) - used))
            used.add(int(row[k]))
    return picks, sets


def test_a_set_that_is_never_drawn_is_avoided_as_one_that_is() -> None:
    rng = np.random.default_rng(0)
    picks = rng.choice([0, 0, 1, 2, 3, 4, 5], size=(20_000, 2))
    found = avoiding_hidden(rng, 6, 3, picks)
    assert (found[:, 0] != found[:, 1]).all()
    expected, _ = hidden_in_the_open(rng, 6, 3, picks)
    assert same_law(np.hstack([picks, found]), np.hstack([picks, expected])) > 1e-4


def test_uniform_picks_and_the_set_are_together_drawn_without_replacement() -> None:
    rng = np.random.default_rng(1)
    picks, sets = hidden_in_the_open(rng, 5, 2, rng.integers(5, size=(30_000, 2)))
    seen = Counter(map(tuple, np.hstack([sets, picks]).tolist()))
    assert set(seen) == set(permutations(range(5), 4))
    assert stats.chisquare(list(seen.values())).pvalue > 1e-4


def test_when_all_rows_but_the_wanted_are_hidden_the_rest_is_found() -> None:
    rng = np.random.default_rng(2)
    found = avoiding_hidden(rng, 30, 27, np.zeros((500, 3), dtype=np.int64))
    assert all(len(set(row)) == 3 for row in found.tolist())
    assert stats.chisquare(np.bincount(found.ravel(), minlength=30)).pvalue > 1e-4


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_the_first_of_many_swapped_rows_serve_for_scenarios_that_differ_in_few(pairing: Pairing) -> None:
    made = model((0.2, 0.4, 0.6))
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


def test_models_without_rows_or_shares_have_no_differences() -> None:
    moments = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=np.eye(1), pairs=[("a", "b")])
    with pytest.raises(InvalidModel, match="coupled samples need rows"):
        moments.rows().measured_differences([("a", "b")], 10, 0, "independent", as_they_are)
    tables = dp.Scenarios({"a": pl.DataFrame({"x": [1.0, 2]}), "b": pl.DataFrame({"x": [3.0, 4]})})
    made = dp.model(None, dp.Query(x=dp.mean("x")), tables, records=1)
    with pytest.raises(InvalidModel, match="'a' and 'b' are not shares of one predicate"):
        made.rows().measured_differences([("a", "b")], 10, 0, "independent", as_they_are)


@given(
    seed=st.integers(0, 1000),
    cells=st.integers(20, 40),
    swapped=st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True),
)
def test_rows_that_move_few_statistics_add_up_as_all_others_do(seed: int, cells: int, swapped: list[int]) -> None:
    rng = np.random.default_rng(seed)
    out, into = (np.eye(cells)[rng.integers(cells, size=30)] * rng.integers(1, 4, size=(30, 1)) for _ in range(2))
    first, second = (rng.integers(30, size=(7, max(swapped))) for _ in range(2))
    found = sums_of_swapped(out, into, first, second, as_they_are, swapped)
    for count, sums in zip(swapped, found, strict=True):
        assert np.array_equal(sums, out[first[:, :count]].sum(axis=1) - into[second[:, :count]].sum(axis=1))


def settled_one_by_one(rng: np.random.Generator, population: int, hidden: int, picks: Rows) -> Rows:
    """Do what `avoiding_hidden` does, asking about every pick of every dataset in turn."""
    picks, luck = picks.copy(), rng.random(picks.shape)
    asked: list[set[int]] = [set() for _ in picks]
    found = [0] * len(picks)
    for k in range(picks.shape[1]):
        left, tried, chances = list(range(len(picks))), picks[:, k].tolist(), luck[:, k].tolist()
        while left:
            again = []
            for row, pick, chance in zip(left, tried, chances, strict=True):
                inside = chance * (population - len(asked[row])) < hidden - found[row]
                fresh = pick not in asked[row]
                asked[row].add(pick)
                found[row] += fresh and inside
                if fresh and not inside:
                    picks[row, k] = pick
                else:
                    again.append(row)
            left = again
            tried, chances = rng.integers(population, size=len(left)).tolist(), rng.random(len(left)).tolist()
    return picks


@given(st.integers(0, 10**6), st.integers(1, 60), st.floats(0, 1), st.floats(0, 1))
def test_picks_that_nothing_speaks_against_need_not_be_asked_about(
    seed: int, population: int, hidden: float, size: float
) -> None:
    among = round(hidden * (population - 1))
    rng = np.random.default_rng(seed)
    picks = rng.integers(population, size=(40, round(size * (population - among))))
    one, other = np.random.default_rng(seed), np.random.default_rng(seed)
    expected = settled_one_by_one(one, population, among, picks)
    assert np.array_equal(avoiding_hidden(other, population, among, picks), expected)
    assert one.random() == other.random()
