"""Which rows of a large table are held: as many as said, each as likely as any other, whatever the table is."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import distpriv as dp
from distpriv.errors import InvalidSource, MissingValues
from distpriv.modelling.drawing import Missing
from distpriv.modelling.pools.holding import Holding
from distpriv.modelling.reference import ReferenceTable

QUERY = dp.Query(x=dp.mean("x"))
LIKELY = 1e-4


def table(rows: int, satisfied: int) -> pl.DataFrame:
    """Return rows numbered by x, of which the first satisfy s, in an order that has nothing to do with s."""
    x = np.random.default_rng(3).permutation(rows)
    return pl.DataFrame({"x": x, "s": x < satisfied, "id": x - rows // 2, "name": [f"né {k}" for k in x]})


def opened(source: Any, seed: int = 0, missing: Missing = "refuse", **holding: Any) -> ReferenceTable:
    return ReferenceTable.open(source, QUERY, ["s"], missing, Holding(seed=seed, **holding))


def held(source: Any, seed: int = 0, **holding: Any) -> list[list[int]]:
    """Return which rows of either stratum are held, in order, by their x."""
    pool = opened(source, seed, **holding).pool_of("s")
    assert pool.populations is not None
    return [pool.numbers[0][pool.positions("s", side)].astype(int).tolist() for side in (True, False)]


@pytest.mark.parametrize("rows", [1, 2, 11, 25, 39])
def test_so_many_rows_of_each_stratum_are_held_and_all_of_a_smaller_one(rows: int) -> None:
    satisfied, others = held(table(50, 40), rows=rows)
    assert (len(set(satisfied)), len(set(others))) == (rows, min(rows, 10))
    assert max(satisfied) < 40 <= min(others)
    assert opened(table(50, 40), rows=rows).pool_of("s").populations == {True: 40, False: 10}


def test_a_table_that_fits_is_held_as_it_is() -> None:
    pool = opened(table(50, 40), rows=40).pool_of("s")
    assert (pool.size, pool.populations) == (50, None)


def firsts(reference: ReferenceTable, purpose: str, seed: int, many: int) -> list[tuple[int, ...]]:
    """Return the first rows of either stratum in a pool of the table, by their x."""
    pool = reference.holding_for(purpose, seed).pool_of("s")
    return [tuple(pool.numbers[0][pool.positions("s", side)][:many].astype(int).tolist()) for side in (True, False)]


@pytest.mark.slow
@pytest.mark.parametrize("key", [None, "id", "name"])
def test_every_pair_of_rows_is_as_likely_as_any_other_to_come_first(key: str | None) -> None:
    reference = opened(table(9, 6), rows=3, key=key)
    found = Counter(firsts(reference, "calibration", seed, 2)[0] for seed in range(300))
    counts = [found[a, b] for a in range(6) for b in range(6) if a != b]
    assert sum(counts) == 300
    assert stats.chisquare(counts).pvalue > LIKELY


@pytest.mark.slow
def test_the_strata_of_a_pool_are_independent_of_each_other_and_of_other_pools() -> None:
    reference = opened(table(9, 5), rows=3)
    strata, pools = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for seed in range(400):
        one, other = (firsts(reference, purpose, seed, 1) for purpose in ("model", "calibration"))
        strata[one[0][0], one[1][0]] += 1
        pools[one[0][0], other[0][0]] += 1
    assert stats.chisquare([strata[a, b] for a in range(5) for b in range(5, 9)]).pvalue > LIKELY
    assert stats.chisquare([pools[a, b] for a in range(5) for b in range(5)]).pvalue > LIKELY


def sources(folder: Path) -> dict[str, Any]:
    rows = table(3000, 2000)
    rows.write_csv(folder / "rows.csv")
    for part in range(4):
        rows[part * 750 : (part + 1) * 750].write_parquet(folder / f"rows_{part}.parquet", row_group_size=100)
    frame = rows.to_arrow()
    connection = duckdb.connect()
    connection.register("frame", frame)
    connection.execute("CREATE TABLE stored AS SELECT * FROM frame")
    return {
        "csv": folder / "rows.csv",
        "parquet": str(folder / "rows_*.parquet"),
        "relation": connection.table("stored"),
        "arrow": frame,
        "polars": rows,
        "in pieces": pa.concat_tables([frame[:1], frame[1:2000], frame[2000:]]),
    }


@pytest.mark.parametrize("key", [None, "id", "name"])
def test_the_same_rows_are_held_wherever_the_table_is(tmp_path: Path, key: str | None) -> None:
    found = {name: held(source, 5, rows=700, key=key) for name, source in sources(tmp_path).items()}
    assert all(rows == found["polars"] for rows in found.values())
    assert [len(set(rows)) for rows in found["polars"]] == [700, 700]


@pytest.mark.parametrize("key", ["id", "name"])
def test_with_a_key_the_order_of_the_table_does_not_matter(key: str) -> None:
    assert held(table(50, 40), rows=9, key=key) == held(table(50, 40).sort("x"), rows=9, key=key)
    assert held(table(50, 40), rows=9, key=key) != held(table(50, 40), 1, rows=9, key=key)


@pytest.mark.parametrize(
    "key", [[7] * 50, [k // 2 for k in range(50)], [f"k{k % 25}" for k in range(50)]], ids=["one", "pairs", "text"]
)
def test_a_key_that_does_not_tell_rows_apart_is_refused(key: list[Any]) -> None:
    source = table(50, 40).with_columns(key=pl.Series(key))
    with pytest.raises(InvalidSource, match="'key' has the same value in several rows"):
        held(source, rows=15, key="key")


def test_rows_without_a_key_are_refused_or_dropped_and_not_counted() -> None:
    source = table(50, 40).with_columns(id=pl.when(pl.col("x") % 4 != 0).then(pl.col("id")))
    with pytest.raises(MissingValues, match="'id'"):
        held(source, rows=9, key="id")
    pool = opened(source, missing="drop", rows=9, key="id").pool_of("s")
    assert pool.populations == {True: 30, False: 8 - 1}
    assert not (pool.numbers[0] % 4 == 0).any()


def test_rows_of_which_it_is_not_known_whether_they_satisfy_are_in_neither_stratum() -> None:
    source = table(50, 40).with_columns(s=pl.when(pl.col("x") % 10 != 0).then(pl.col("s")))
    with pytest.raises(MissingValues):
        held(source, rows=9)
    pool = opened(source, missing="drop", rows=9).pool_of("s")
    assert pool.populations == {True: 36, False: 9}
    assert pool.size == 18
    assert not (pool.numbers[0] % 10 == 0).any()


@pytest.mark.parametrize("change", ["DELETE FROM t WHERE x >= 45", "INSERT INTO t SELECT x + 100, s FROM t"])
def test_a_table_that_changes_while_it_is_read_is_refused(change: str) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT i AS x, i < 40 AS s FROM range(50) r(i)")
    reference = opened(connection.sql("SELECT * FROM t"), rows=30)
    assert reference.held("s") == 30
    connection.execute(change)
    with pytest.raises(InvalidSource, match="does not change while it is read"):
        reference.pool_of("s")


@pytest.mark.parametrize("make", [dp.mechanisms.coupled_gaussian, dp.mechanisms.coupled_laplace])
def test_where_one_predicate_has_samples_all_have(make: Callable[..., Any]) -> None:
    rows = pl.DataFrame({"x": np.arange(4000.0) % 7, "s": np.arange(4000) % 10 < 9, "u": np.arange(4000) % 2 < 1})
    secrets = [dp.Share("s", values=(0.4, 0.5)), dp.Share("u", values=(0.4, 0.5))]
    model = dp.model(rows, QUERY, secrets, records=20, pool=2500)
    certificate = make(model, dp.PrivacyTarget(epsilon=1, delta=0.1), seed=1).certificate
    said = certificate.assumptions[0].evidence
    for stratum in ("2,500 of 3,600", "400 of 400", "2,000 of 2,000"):
        assert f"{stratum} rows where" in said


def test_several_predicates_do_not_make_a_table_larger() -> None:
    reference = ReferenceTable.open(table(50, 40), QUERY, ["s", "x < 30", "x < 20"], "refuse", Holding(rows=40))
    assert [reference.held(text) for text in ("s", "x < 30", "x < 20")] == [None] * 3


def test_a_key_orders_a_table_that_is_held_whole_too() -> None:
    table = pl.DataFrame({"id": np.arange(200), "x": np.arange(200.0) ** 2, "s": np.arange(200) % 2 == 0})
    query, share = dp.Query(x=dp.quantile("x", 0.5)), dp.Share("s", values=(0.4, 0.6))
    orders = (table, table.sample(fraction=1.0, shuffle=True, seed=3))
    one, other = (dp.model(rows, query, share, records=10, draws=50, key="id") for rows in orders)
    assert one == other
    without = dp.model(orders[1], query, share, records=10, draws=50)
    assert not np.array_equal(without.samples("s @ 0.4", 50), one.samples("s @ 0.4", 50))
