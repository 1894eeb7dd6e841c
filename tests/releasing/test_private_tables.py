"""Rows that the reference does not know, in tables: nothing of them shows."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import distpriv as dp
from distpriv.releasing.private import look_at, reading_evidence

RNG = np.random.default_rng(3)
SIZE = 400
PUBLIC = pa.table(
    {
        "region": RNG.choice(["north", "south", "west"], SIZE, p=[0.5, 0.3, 0.2]),
        "sex": RNG.choice(["F", "M"], SIZE),
        "age": RNG.integers(20, 60, SIZE),
        "s": RNG.random(SIZE) < 0.4,
    }
)
SECRET = dp.Share("s", values=(0.25, 0.5))
PRIVATE: dict[str, list[Any]] = {
    "region": ["north", "south", "west", "west", "north", "south", "north", "west"],
    "sex": ["F", "M", "M", "F", "M", "F", "F", "M"],
    "age": [30, 40, 50, 25, 35, 45, 55, 30],
}


def model_of(*, public: pa.Table = PUBLIC, **tables: object) -> dp.QueryModel:
    return dp.model(public, dp.Query(tables), SECRET, records=8, processes=1)  # type: ignore[arg-type]


def seen(model: dp.QueryModel, **changed: list[object]) -> dict[str, float]:
    values = look_at(pa.table({**PRIVATE, **changed}), model).values
    return dict(zip(model.names, values.tolist(), strict=True))


def with_region(place: int, region: object) -> list[object]:
    return [region if k == place else own for k, own in enumerate(PRIVATE["region"])]


def test_every_row_is_in_its_cell() -> None:
    model = model_of(t=dp.table("count", by=["region", "sex"]))
    assert seen(model) == {
        "t[north, F]": 2, "t[north, M]": 1, "t[south, F]": 1, "t[south, M]": 1, "t[west, F]": 1, "t[west, M]": 2,
    }  # fmt: skip


def test_a_level_that_only_private_rows_have_counts_as_the_rarest_one_so_that_the_sum_stays() -> None:
    model = model_of(t=dp.table("count", by=["region", "sex"]))
    found = seen(model, region=with_region(0, "atlantis"))
    assert found == seen(model, region=with_region(0, "west"))
    assert sum(found.values()) == 8


@pytest.mark.parametrize("level", ["atlantis", None, ""])
def test_a_level_that_only_private_rows_have_counts_as_other(level: str | None) -> None:
    model = model_of(t=dp.table("count", by="region", levels={"region": ["north", "south"]}, other=True))
    assert seen(model, region=with_region(0, level)) == {"t[north]": 2, "t[south]": 2, "t[other]": 4}


def test_a_level_that_only_private_rows_have_is_in_no_cell_where_rows_of_the_reference_are_in_none() -> None:
    model = model_of(t=dp.table("count", by="region", levels={"region": ["north", "south"]}))
    assert seen(model, region=with_region(0, "atlantis")) == {"t[north]": 2, "t[south]": 2}


def test_a_declared_level_that_the_reference_lacks_is_read_as_any_unknown_one() -> None:
    levels = {"region": ["north", "south", "atlantis"]}
    model = model_of(t=dp.table("count", by="region", levels=levels, other=True))
    assert seen(model, region=with_region(0, "atlantis")) == seen(model, region=with_region(0, "elsewhere"))


def test_a_combination_that_only_private_rows_have_is_read_as_the_nearest_one() -> None:
    no_west_women = PUBLIC.filter(_not_both(PUBLIC))
    model = model_of(public=no_west_women, t=dp.table("count", by=["region", "sex"]))
    found = seen(model)
    assert sum(found.values()) == 8
    assert "t[west, F]" not in found


def _not_both(rows: pa.Table) -> pa.Array:
    pairs = zip(rows["region"].to_pylist(), rows["sex"].to_pylist(), strict=True)
    return pa.array([pair != ("west", "F") for pair in pairs])


def test_tables_with_a_column_in_common_agree_in_what_they_make_of_a_row() -> None:
    model = model_of(t=dp.table("count", by=["region", "sex"]), u=dp.table("count", by="region"))
    found = seen(model, region=with_region(5, "atlantis"))
    for region in ("north", "south", "west"):
        assert found[f"u[{region}]"] == found[f"t[{region}, F]"] + found[f"t[{region}, M]"]


def test_totals_by_group_are_those_of_the_rows_in_it() -> None:
    model = model_of(t=dp.table("mean(age)", by="sex"))
    assert seen(model) == {"t[F] count": 4, "t[M] count": 4, "t[F] total": 155, "t[M] total": 155}


def test_what_is_refused_of_a_private_table_does_not_depend_on_its_levels() -> None:
    model = model_of(t=dp.table("count", by="region"))
    refusals = set()
    for region in (PRIVATE["region"][:-1], with_region(2, "atlantis")[:-1]):
        rows = pa.table({"region": region, "sex": PRIVATE["sex"][:-1], "age": PRIVATE["age"][:-1]})
        with pytest.raises(dp.errors.PrivateTableRefused) as refusal:
            look_at(rows, model)
        refusals.add(str(refusal.value))
    assert len(refusals) == 1


def test_a_certificate_has_how_rows_are_read_once_whatever_the_number_of_cells() -> None:
    model = model_of(t=dp.table("mean(age)", by=["region", "sex"]))
    facts = reading_evidence(model).facts
    assert facts["combined"] == ["region", "sex"]
    assert facts["totals"] == [{"of": "age", "low": 0.0, "high": 59.0, "table": "t"}]
    assert facts["tables"] == ["t"]


def _long_tail(size: int, levels: int) -> pa.Table:
    """A column with one usual level and so many others, of which a sample sees but some, and one of two occupations."""
    rng = np.random.default_rng(8)
    usual = rng.random(size) < 0.5
    return pa.table(
        {
            "country": np.where(usual, "US", rng.integers(levels, size=size).astype(str)),
            "number": np.where(usual, 1, 2 + rng.integers(20 * levels, size=size)),
            "job": rng.choice(["Sales", "Crafts"], size),
            "age": rng.integers(20, 60, size),
            "s": rng.random(size) < 0.4,
        }
    )


@pytest.mark.parametrize("column", ["country", "number"])
def test_of_a_long_tail_every_row_is_in_its_own_cell(column: str) -> None:
    usual: dict[str, str | int] = {"country": "US", "number": 1}
    rows, one = _long_tail(24_000, 40_000), usual[column]
    table = dp.table("count", by=[column, "job"], levels={column: [one]}, other=True)
    model = dp.model(rows.slice(4000), dp.Query(t=table, usual=dp.count(f"{column} = {one!r}")), SECRET, records=4000)
    private = rows.slice(0, 4000)
    answer = dict(zip(model.names, look_at(private, model).values, strict=True))
    for level, job in ((one, "Sales"), ("other", "Crafts")):
        there = (np.array(private[column]) == one) == (level == one)
        assert answer[f"t[{level}, {job}]"] == (there & (np.array(private["job"]) == job)).sum()
    assert answer["usual"] == (np.array(private[column]) == one).sum()


def test_tables_of_different_columns_do_not_move_rows_whose_levels_nobody_has_together() -> None:
    apart = PUBLIC.filter(pa.array(~((np.array(PUBLIC["region"]) == "west") & (np.array(PUBLIC["age"]) > 30))))
    model = model_of(public=apart, t=dp.table("count", by="region"), u=dp.table("count", by="age"))
    found = seen(model)
    assert [found[f"t[{region}]"] for region in ("north", "south", "west")] == [3, 2, 3]
    assert found["u[50]"] == 1


def test_what_is_the_same_for_all_rows_of_the_reference_is_so_for_every_private_row() -> None:
    tied = PUBLIC.append_column("same", PUBLIC["region"])
    model = model_of(public=tied, t=dp.table("count", by="region"), u=dp.table("count", by="same"))
    found = seen(model, same=["south", *PRIVATE["region"][1:]])
    assert [found[f"t[{region}]"] for region in ("north", "south", "west")] == [
        found[f"u[{region}]"] for region in ("north", "south", "west")
    ]


def test_a_row_adds_as_much_to_one_table_as_to_another() -> None:
    young = pa.array((np.array(PUBLIC["region"]) != "west") | (np.array(PUBLIC["age"]) < 30))
    model = model_of(
        public=PUBLIC.filter(young), t=dp.table("total(age * 1)", by="region"), u=dp.table("total(age * 1)", by="sex")
    )
    found = seen(model)
    assert found["t[west]"] == 50 + 25 + 30
    assert sum(found[f"t[{r}]"] for r in ("north", "south", "west")) == found["u[F]"] + found["u[M]"]


def test_medians_and_variances_by_group_are_those_of_the_private_rows(adult: pa.Table) -> None:
    asked = {"hours": dp.table("median(hours_per_week)", by="sex"), "age": dp.table("variance(age)", by=["sex"])}
    secret = dp.Share("income = '>50K'", values=(0.2, 0.4))
    model = dp.model(adult.slice(0, 3000), dp.Query(asked), secret, records=50, draws=100, processes=1)
    private = adult.slice(5000, 50)
    sex, hours, age = (private[name].to_numpy() for name in ("sex", "hours_per_week", "age"))
    groups = [sex == "Female", sex == "Male"]
    expected = [*(np.median(hours[own]) for own in groups), *(age[own].var(ddof=1) for own in groups)]
    assert look_at(private, model).values.tolist() == pytest.approx(expected)
    nobody = private.set_column(private.schema.get_field_index("sex"), "sex", pa.array(["Male"] * 50))
    tables = dict(model.query.tables) if model.query is not None else {}
    found = dict(zip(model.names, look_at(nobody, model).values, strict=True))
    assert (found["hours[Female]"], found["age[Female]"]) == tuple(
        (table.otherwise or ())[0] for table in tables.values()
    )


def test_a_number_that_the_reference_lacks_is_in_no_cell_that_a_table_lists() -> None:
    spent = pa.table({"spend": [0] * 50 + list(range(1, 301, 2)), "s": [True, False] * 100})
    query = dp.Query(t=dp.table("count", by="spend", levels={"spend": [0]}, other=True), mean=dp.mean("spend"))
    model = dp.model(spent, query, dp.Share("s", values=(0.25, 0.5)), records=4, processes=1)
    private = pa.table({"spend": [0, 100, 200, 300], "s": [True, False, True, False]})
    answer = dict(zip(model.names, look_at(private, model).values, strict=True))
    assert (answer["t[0]"], answer["t[other]"], answer["mean"]) == (1, 3, 149.75)


def test_text_of_a_long_tail_stays_what_it_is() -> None:
    """Codes that the reference lacks were read as others that it has, and a count told which rows have such codes."""
    rng = np.random.default_rng(5)
    codes = [f"{'xy'[k % 2]}{k}" if rng.random() < 0.9 else "a" for k in range(4000)]
    rows = pa.table({"code": codes, "s": rng.random(4000) < 0.4})
    model = dp.model(rows, dp.Query(x=dp.count("code LIKE 'x%'")), SECRET, records=8, processes=1)
    private = pa.table({"code": ["x", "xx", "y", "yy", "yyy", "a", "xxx", "z"], "s": [True] * 8})
    assert look_at(private, model).values.tolist() == [3.0]
