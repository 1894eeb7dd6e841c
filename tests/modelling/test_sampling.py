from collections import Counter
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import distpriv as dp
from distpriv.errors import InvalidQuery
from distpriv.modelling import sampling
from distpriv.modelling.sampling import SamplingSettings, Stratum, Stream, distinct, draw_rows, in_blocks

TABLE = pa.table({"x": np.arange(40.0), "s": np.arange(40) < 15})
SHARE = dp.Share("s", values=(0.4, 0.6))


@pytest.mark.parametrize("population", [4, 13])
def test_ordered_draws_without_replacement_are_uniform(population: int) -> None:
    # 13 rows go through redrawing of repeats, 4 through shuffling.
    rng = np.random.default_rng(5)
    drawn = draw_rows(rng, [Stratum(rows=np.arange(population), size=3)], 60_000, replacement=False)
    counts = Counter(map(tuple, drawn.tolist()))
    orders = list(permutations(range(population), 3))
    assert stats.chisquare([counts[order] for order in orders]).pvalue > 1e-4


@pytest.mark.parametrize("population", [6, 20])
def test_repeats_give_way_to_earlier_picks_and_the_rest_stays(population: int) -> None:
    picks = np.array([[0, 1, 0, 2], [3, 4, 5, 1]])
    made = distinct(np.random.default_rng(0), population, picks)
    assert made[0, [0, 1, 3]].tolist() == [0, 1, 2]
    assert len(set(made[0].tolist())) == 4
    assert made[1].tolist() == [3, 4, 5, 1]
    assert picks[0, 2] == 0


def test_repeated_picks_are_redrawn_uniformly_among_the_unused() -> None:
    picks = np.tile([0, 1, 0], (30_000, 1))
    redrawn = Counter(distinct(np.random.default_rng(1), 20, picks)[:, 2].tolist())
    assert set(redrawn) == set(range(2, 20))
    assert stats.chisquare(list(redrawn.values())).pvalue > 1e-4


def query(kind: str) -> dp.Query:
    if kind == "function":
        return dp.Query(top=dp.function(lambda rows: rows["x"].max(), columns=["x"]))
    return dp.Query(mean=dp.mean("x"), median=dp.quantile("x", 0.5))


@pytest.mark.parametrize("kind", ["vectorised", "function"])
def test_the_same_seed_gives_the_same_numbers_on_any_number_of_processes(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "SAMPLING", SamplingSettings(worth_starting=-1.0, block_rows=1000))
    one, two, three, other = (
        dp.model(TABLE, query(kind), SHARE, records=10, draws=333, seed=seed, processes=processes).distributions
        for seed, processes in ((7, 1), (7, 2), (7, 3), (8, None))
    )
    assert one == two == three != other


def test_sampled_laws_are_those_of_a_plain_loop() -> None:
    x = np.arange(40.0)
    rng = np.random.default_rng(3)
    plain = [np.median(np.concatenate([rng.choice(x[:15], 4), rng.choice(x[15:], 6)])) for _ in range(20_000)]
    model = dp.model(TABLE, dp.Query(m=dp.quantile("x", 0.5)), SHARE, records=10, draws=20_000)
    ours = model.samples("s @ 0.4", 20_000, seed=11)[:, 0]
    assert stats.ks_2samp(ours, plain).pvalue > 1e-4


def test_functions_see_the_rows_in_random_order() -> None:
    first = dp.Query(first=dp.function(lambda rows: rows["x"][0], columns=["x"]))
    model = dp.model(TABLE, first, SHARE, records=10, draws=2000)
    positives = (model.samples("s @ 0.4", 4000) < 15).mean()
    assert abs(positives - 0.4) < 5 * (0.24 / 4000) ** 0.5


def test_progress_is_told_until_the_end() -> None:
    told: list[tuple[str, int, int]] = []
    dp.model(
        TABLE, query("function"), SHARE, records=10, draws=100, progress=lambda *step: told.append(step), processes=1
    )
    assert [step for step in told if step[0] == "s @ 0.4"][-1] == ("s @ 0.4", 100, 100)
    assert len(told) == 2 * 4


@pytest.mark.parametrize(
    ("callable_", "message"),
    [
        (lambda _: 1 / 0, "failed on a dataset of 10 rows with ZeroDivisionError: division by zero"),
        (lambda rows: rows["y"], "failed on a dataset of 10 rows with KeyError"),
        (lambda _: [1.0, 2.0], r"returned \[1.0, 2.0\]: it must return one finite number"),
        (lambda _: float("nan"), "returned nan"),
        (lambda _: "much", "it must return one finite number"),
    ],
)
def test_a_function_that_fails_is_named_with_its_failure(callable_, message: str) -> None:  # type: ignore[no-untyped-def]
    bad = dp.Query(bad=dp.function(callable_, columns=["x"]))
    with pytest.raises(InvalidQuery, match=message) as refusal:
        dp.model(TABLE, bad, SHARE, records=10, draws=10)
    assert "statistic 'bad'" in str(refusal.value)


def test_blocks_of_other_streams_are_other_numbers() -> None:
    def draw(rng: np.random.Generator, count: int) -> list[float]:
        return list(rng.random(count))

    one = in_blocks(draw, 5, 2, Stream(seed=1, name="a"))
    assert [len(block) for block in one] == [2, 2, 1]
    assert one == in_blocks(draw, 5, 2, Stream(seed=1, name="a"))
    assert one != in_blocks(draw, 5, 2, Stream(seed=1, name="b"))
    assert one[0] != one[1]
