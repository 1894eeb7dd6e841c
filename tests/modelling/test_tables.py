"""Rare levels are gathered until every cell can be expected to have its records, and no further."""

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distpriv as dp
from distpriv.errors import DistprivError, InvalidQuery
from distpriv.framework.arrays import Floats
from distpriv.framework.tables import Table
from distpriv.guarantees.certify import LARGEST_SMOOTHING
from distpriv.guarantees.lattice_floor import never_smooth
from distpriv.modelling.tables import Cells, labelled
from distpriv.releasing.private import look_at

ROWS = pa.table(
    {
        "sex": ["F", "M", "M", "M"],
        "grade": [2, 1, 2, 2],
        "rich": [True, False, False, True],
        "age": [31.5, 40.0, 50.0, 20.0],
        "gaps": ["a", None, "b", "b"],
    }
)


def counts_of(by: str | list[str], rows: list[pa.Table], missing: Any = "refuse", **options: Any) -> dp.Query:
    return labelled(dp.Query(t=dp.table("count", by=by, **options)), rows, missing)


@pytest.mark.parametrize(
    ("by", "others", "options", "names"),
    [
        (["grade", "rich"], [], {}, ("t[1, False]", "t[2, False]", "t[2, True]")),
        ("sex", [pa.table({"sex": ["X"]})], {}, ("t[F]", "t[M]", "t[X]")),
        ("sex", [], {"levels": {"sex": ["X", "M", "F"]}}, ("t[M]", "t[F]")),
        ("gaps", [], {"missing": "drop"}, ("t[a]", "t[b]")),
    ],
)
def test_labels_are_those_of_all_public_tables_in_order_and_cells_of_none_are_structural_zeros(
    by: str | list[str], others: list[pa.Table], options: dict[str, Any], names: tuple[str, ...]
) -> None:
    assert counts_of(by, [ROWS, *others], **options).names == names
    assert counts_of(["grade", "rich"], [ROWS]).tables[0][1].empty == ((1, True),)


def test_the_moments_of_a_table_are_those_of_its_cells_by_hand() -> None:
    secret = dp.Share("rich", values=(0.5, 1.0))
    table = dp.model(ROWS, dp.Query(t=dp.table("mean(age)", by="sex")), secret, records=2)
    query = dp.Query(
        a=dp.count("sex = 'F'"),
        b=dp.count("sex = 'M'"),
        c=dp.total("CASE WHEN sex = 'F' THEN age ELSE 0 END"),
        d=dp.total("CASE WHEN sex = 'M' THEN age ELSE 0 END"),
    )
    by_hand = dp.model(ROWS, query, secret, records=2)
    for name, law in table.distributions.items():
        np.testing.assert_allclose(law.mean, by_hand.distributions[name].mean)
        np.testing.assert_allclose(law.covariance, by_hand.distributions[name].covariance)


MANY = pa.table({"a": list(range(100)) * 100, "b": [k // 100 for k in range(10_000)]})
THOUSANDS = pa.table({"a": list(range(2000))})


@pytest.mark.parametrize(
    ("table", "rows", "message"),
    [
        (dp.table("count", by="sexx"), ROWS, "there is no column 'sexx' to make a table by: did you mean 'sex'?"),
        (dp.table("count", by="age"), ROWS, "is of type double: use a column of text"),
        (dp.table("count", by="gaps"), ROWS, "has nulls in column 'gaps'"),
        (dp.table("mean(sex)", by="grade"), ROWS, "'sex' is of type string, not a number, so it has no mean"),
        (dp.table("mean(agee)", by="grade"), ROWS, "there is no column 'agee' in 'agee': did you mean 'age'?"),
        (dp.table("median(sex)", by="grade"), ROWS, "'sex' is of type string, not a number, so it has no quantile"),
        (dp.table("count", by="grade", levels={"grade": ["1"]}), ROWS, "the level '1' is not"),
        (dp.table("count", by=["a", "b"]), MANY, "10,000 cells, and at most 1,000"),
        (dp.table("count", by="a"), THOUSANDS, "2,000 levels in the reference"),
        (dp.table("variance(age)", by="sex"), ROWS, "has 1 rows in the cell ['F']"),
        (dp.table("median(age)", by="sex", levels={"sex": ["F", "X"]}, empty=[]), ROWS, "has 0 rows in the cell ['X']"),
    ],
)
def test_what_cannot_be_a_table_is_refused_in_a_sentence(table: Table, rows: pa.Table, message: str) -> None:
    with pytest.raises(DistprivError) as refusal:
        labelled(dp.Query(t=table), [rows])
    assert message in str(refusal.value)
    assert refusal.value.about == ("statistic", "t")


def test_a_large_table_with_few_rows_has_few_cells() -> None:
    query = counts_of(["a", "b"], [pa.table({"a": list(range(50)), "b": list(range(50))})])
    assert query.dimension == 50
    assert query.names[:2] == ("t[0, 0]", "t[1, 1]")


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3, 0.5, 1.0]))
@settings(max_examples=15)
def test_what_counts_for_a_cell_with_too_few_rows_is_that_of_all_public_rows_of_it(seed: int, level: float) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(4, 30))
    rows = pa.table({"g": ["a", "b"] * size, "h": rng.random(2 * size) < 0.5, "x": rng.integers(0, 9, 2 * size)})
    parts = [rows.slice(0, size), rows.slice(size)]
    tables = {
        "quantile": dp.table(f"quantile(x, {level})", by=["g", "h"]),
        "spread": dp.table("variance(2 * x)", by="g"),
    }
    labels = dict(labelled(dp.Query(tables), parts).tables)
    group, half, x = (rows[name].to_numpy() for name in ("g", "h", "x"))
    quantiles = [np.quantile(x[(group == g) & (half == h)], level) for g, h in labels["quantile"].cells]
    assert labels["quantile"].otherwise == pytest.approx(quantiles, abs=1e-9)
    assert set(labels["quantile"].cells) == set(zip(group.tolist(), half.tolist(), strict=True))
    assert labels["spread"].otherwise == pytest.approx([(2 * x[group == g]).var(ddof=1) for g in "ab"])


def test_sampled_values_of_groups_are_those_of_the_datasets(adult: pa.Table) -> None:
    query = dp.Query(t=dp.table("median(hours_per_week)", by="sex"), people=dp.table("count", by="sex"))
    secret = dp.Share("income = '>50K'", values=(0.2, 0.4))
    model = dp.model(adult.slice(0, 3000), query, secret, records=40, draws=500, processes=1)
    assert model.names == ("t[Female]", "t[Male]", "people[Female]", "people[Male]")
    assert model.provenance.method == "sampling"
    points = next(iter(model.distributions.values())).points
    assert points is not None
    assert set((2 * points[:, :2]).ravel() % 1) == {0.0}
    assert set(points[:, 2:].sum(axis=1)) == {40.0}


RNG = np.random.default_rng(5)
SIZE = 600
PUBLIC = pa.table(
    {
        "region": RNG.choice(["north", "south", "west", "isle", "rock"], SIZE, p=[0.5, 0.3, 0.17, 0.02, 0.01]),
        "sex": RNG.choice(["F", "M"], SIZE),
        "age": RNG.integers(20, 60, SIZE),
        "rich": RNG.random(SIZE) < 0.4,
        "people": RNG.integers(1, 4, SIZE),
    }
)
SECRET = dp.Share("rich", values=(0.3, 0.5))


def model_of(secret: Any = SECRET, public: pa.Table = PUBLIC, records: int = 100, **options: Any) -> dp.QueryModel:
    asked = {key: options.pop(key) for key in ("what", "by", "levels", "other", "min_expected") if key in options}
    query = dp.Query(t=dp.table(asked.pop("what", "count"), by=asked.pop("by", "region"), **asked))
    return dp.model(public, query, secret, records=records, processes=1, **options)


def table_of(model: dp.QueryModel) -> Table:
    assert model.query is not None
    return model.query.tables[0][1]


def expected(model: dp.QueryModel) -> Floats:
    """Return how many records each cell of counts is expected to have in the scenario that expects the most."""
    return np.asarray(np.max([law.mean for law in model.distributions.values()], axis=0))


@pytest.mark.parametrize(
    "secret",
    [
        SECRET,
        dp.Share("rich", between=(0.2, 0.6), within=0.1, step=0.1),
        dp.Mean("age", values=(38, 41)),
        dp.Scenarios({"usual": PUBLIC, "young": PUBLIC.slice(0, 300)}, pairs=[("usual", "young")]),
    ],
)
@pytest.mark.parametrize("weight", [None, "people"])
def test_whatever_is_hidden_every_cell_is_expected_to_have_its_records_by_the_moments_of_the_model(
    secret: Any, weight: str | None
) -> None:
    model = model_of(secret, by=["region", "sex"], min_expected=4, weight=weight)
    plain = model_of(secret, by=["region", "sex"], weight=weight)
    assert expected(model).min() >= 4 > expected(plain).min()
    assert sum(model.distributions[next(iter(model.scenarios))].mean) == pytest.approx(100)
    assert table_of(model).labels[1] == ("F", "M")


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.floats(0.5, 20))
def test_no_cell_is_rare_and_no_level_was_gathered_without_need(seed: int, columns: int, least: float) -> None:
    rng = np.random.default_rng(seed)
    sizes = tuple(rng.integers(1, 6, columns).tolist())
    every = np.array(list(product(*map(range, sizes))))
    kinds = every[rng.random(len(every)) < 0.8]
    if not len(kinds):
        return
    records = rng.gamma(0.3, 20, (2, len(kinds)))
    gone = Cells(sizes=sizes, other=(False,) * columns, kinds=kinds).rare_levels(records, least)
    if gone is None:
        coarsest = [
            set(range(size)) - {int(np.argmax(_of_levels(kinds, records, c, size)))} for c, size in enumerate(sizes)
        ]
        assert _fewest(kinds, records, [rare if len(rare) > 1 else set() for rare in coarsest]) < least
        return
    assert _fewest(kinds, records, gone) >= least * (1 - 1e-6)
    for column, rare in enumerate(gone):
        assert len(rare) != 1
        assert len(rare) < sizes[column]
        for level in rare:
            assert _fewest(kinds, records, [r - {level} if c == column else r for c, r in enumerate(gone)]) < least


def _of_levels(kinds: Any, records: Floats, column: int, size: int) -> list[float]:
    return [float(records[:, kinds[:, column] == level].sum(axis=1).max()) for level in range(size)]


def _fewest(kinds: Any, records: Floats, gone: list[set[int]]) -> float:
    """Return, cell by cell in a loop, how many records the rarest one is expected to have."""
    cells: dict[tuple[int, ...], Floats] = {}
    for kind, of_scenarios in zip(kinds.tolist(), records.T, strict=True):
        cell = tuple(-1 if level in rare else level for level, rare in zip(kind, gone, strict=True))
        cells[cell] = cells.get(cell, np.zeros(len(records))) + of_scenarios
    return min(float(of_scenarios.max()) for of_scenarios in cells.values())


def test_the_order_of_rows_and_what_is_in_the_private_table_do_not_matter() -> None:
    shuffled = PUBLIC.take(pa.array(np.random.default_rng(1).permutation(SIZE)))
    assert table_of(model_of(by=["region", "sex"], min_expected=4)) == table_of(
        model_of(public=shuffled, by=["region", "sex"], min_expected=4)
    )


def test_private_rows_with_a_gathered_level_count_as_other() -> None:
    model = model_of(records=80, min_expected=2)
    regions = {"region": ["north", "isle", "rock", "atlantis"] * 20, "rich": [True, False] * 40}
    values = look_at(pa.table({**regions, "age": [30] * 80, "sex": ["F"] * 80, "people": [1] * 80}), model).values
    assert (model.names, values.tolist()) == (("t[north]", "t[south]", "t[west]", "t[other]"), [20, 0, 0, 60])


NAMED = PUBLIC.set_column(0, "region", pa.array(["other" if r == "west" else r for r in PUBLIC["region"].to_pylist()]))


@pytest.mark.parametrize(
    ("options", "labels"),
    [
        ({"min_expected": 2}, ("north", "south", "west", "other")),
        ({"min_expected": 0.1}, ("isle", "north", "rock", "south", "west")),
        # Levels that are not listed count as other once there is one.
        ({"min_expected": 2, "levels": {"region": ["south", "north", "isle"]}}, ("south", "north", "other")),
        ({"min_expected": 2, "levels": {"region": ["south", "north"]}}, ("south", "north")),
        # A level that is called other is gathered with what is rare.
        ({"min_expected": 2, "public": NAMED}, ("north", "south", "other")),
    ],
)
def test_rare_levels_become_other(options: dict[str, Any], labels: tuple[str, ...]) -> None:
    model = model_of(**options)
    assert table_of(model).labels == (labels,)
    if "other" in labels:
        assert expected(model).sum() > 99


@pytest.mark.parametrize(("by", "least"), [("sex", 60), (["region", "sex"], 90)])
def test_a_table_that_cannot_be_gathered_is_refused(by: Any, least: float) -> None:
    with pytest.raises(InvalidQuery, match="min_expected"):
        model_of(by=by, min_expected=least)


@pytest.mark.parametrize("options", [{"min_expected": 0}, {"min_expected": "few"}, {"min_expected": 2, "empty": []}])
def test_what_says_nothing_of_how_rare_a_cell_may_be_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidQuery):
        dp.table("count", by="region", **options)


def test_every_cell_that_varies_too_little_is_named_and_none_is_left_once_they_are_gathered(adult: pa.Table) -> None:
    secret, by = dp.Share("income = '>50K'", values=(0.2, 0.3)), ["occupation", "race"]
    few = model_of(secret, adult.slice(0, 6000), by=by, records=2000)
    assert len(never_smooth(few, LARGEST_SMOOTHING)) > 3
    cured = model_of(secret, adult.slice(0, 6000), by=by, records=2000, min_expected=5)
    assert never_smooth(cured, LARGEST_SMOOTHING) == ()
    model = model_of(secret, adult, by=by, records=2000, min_expected=5)
    assert table_of(model).shape == (8, 3)
    assert table_of(model).labels[1] == ("Black", "White", "other")
    assert expected(model).min() >= 5
