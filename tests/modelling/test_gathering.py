"""Rare levels are gathered until every cell can be expected to have its records, and no further."""

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distpriv as dp
from distpriv.errors import InvalidQuery
from distpriv.framework.arrays import Floats
from distpriv.framework.tables import Table
from distpriv.guarantees.certify import LARGEST_SMOOTHING
from distpriv.guarantees.lattice_floor import never_smooth
from distpriv.modelling.refusals import vary_too_little
from distpriv.modelling.tables import Cells
from distpriv.releasing.private import look_at

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


def test_rare_levels_become_other() -> None:
    assert table_of(model_of(min_expected=2)).labels == (("north", "south", "west", "other"),)
    assert table_of(model_of(min_expected=0.1)).labels == (("isle", "north", "rock", "south", "west"),)


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
    private = {"region": ["north", "isle", "rock", "atlantis"] * 20, "rich": [True, False] * 40}
    values = look_at(pa.table({**private, "age": [30] * 80, "sex": ["F"] * 80, "people": [1] * 80}), model).values
    assert dict(zip(model.names, values.tolist(), strict=True)) == {
        "t[north]": 20, "t[south]": 0, "t[west]": 0, "t[other]": 60,
    }  # fmt: skip


def test_levels_that_are_not_listed_count_as_other_once_there_is_one() -> None:
    listed = {"region": ["south", "north", "isle"]}
    assert table_of(model_of(levels=listed, min_expected=2)).labels == (("south", "north", "other"),)
    assert expected(model_of(levels=listed, min_expected=2)).sum() > 99
    assert table_of(model_of(levels={"region": ["south", "north"]}, min_expected=2)).labels == (("south", "north"),)


def test_a_level_that_is_called_other_is_gathered_with_what_is_rare() -> None:
    named = PUBLIC.set_column(
        0, "region", pa.array(["other" if r == "west" else r for r in PUBLIC["region"].to_pylist()])
    )
    assert table_of(model_of(public=named, min_expected=2)).labels == (("north", "south", "other"),)


def test_means_by_group_are_gathered_by_how_many_records_their_groups_have() -> None:
    model = model_of(what="mean(age)", min_expected=2)
    assert table_of(model).labels == (("north", "south", "west", "other"),)
    assert model.names[3] == "t[other] count"
    assert table_of(model_of(what="median(age)", min_expected=2, draws=50)).otherwise is not None


def test_what_was_gathered_is_a_table_as_anybody_could_have_listed_it() -> None:
    found = table_of(model_of(min_expected=2))
    assert found == dp.table("count", by="region", levels={"region": ["north", "south", "west"]}, other=True, empty=[])
    assert Table.from_dict(found.to_dict()) == found
    asked = dp.table("count", by="region", min_expected=2)
    assert Table.from_dict(asked.to_dict()) == asked
    assert not dp.Query(t=asked).is_labelled


def test_a_table_that_cannot_be_gathered_is_refused() -> None:
    with pytest.raises(InvalidQuery, match="min_expected"):
        model_of(by="sex", min_expected=60)
    with pytest.raises(InvalidQuery, match="min_expected"):
        model_of(by=["region", "sex"], min_expected=90)


@pytest.mark.parametrize("options", [{"min_expected": 0}, {"min_expected": "few"}, {"min_expected": 2, "empty": []}])
def test_what_says_nothing_of_how_rare_a_cell_may_be_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidQuery):
        dp.table("count", by="region", **options)


def test_every_cell_that_varies_too_little_is_named_and_none_is_left_once_they_are_gathered(adult: pa.Table) -> None:
    secret, few = dp.Share("income = '>50K'", values=(0.2, 0.3)), adult.slice(0, 6000)
    model = model_of(secret, few, by=["occupation", "race"], records=2000)
    still = never_smooth(model, LARGEST_SMOOTHING)
    assert len(still) > 3
    assert all(name in vary_too_little(model.query, still) for name in still)
    assert "min_expected" in vary_too_little(model.query, still)
    assert "min_expected" not in vary_too_little(dp.Query(age=dp.mean("age")), ["age"])
    cured = model_of(secret, few, by=["occupation", "race"], records=2000, min_expected=5)
    assert never_smooth(cured, LARGEST_SMOOTHING) == ()


def test_occupation_by_race_of_adult_is_gathered_into_24_cells(adult: pa.Table) -> None:
    secret = dp.Share("income = '>50K'", values=(0.2, 0.3))
    model = model_of(secret, adult, by=["occupation", "race"], records=2000, min_expected=5)
    assert table_of(model).shape == (8, 3)
    assert table_of(model).labels[1] == ("Black", "White", "other")
    assert expected(model).min() >= 5
