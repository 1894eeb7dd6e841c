"""Claims about releases that were false once, each with what broke it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pytest
from tests.releasing.shared import RECORDS, SECRET, plan_with, population, private

import distpriv as dp
from distpriv.errors import DistprivError, InvalidQuery, MissingValues
from distpriv.framework.queries import Statistic
from distpriv.releasing.private import look_at, reading_evidence

NULL_FOR_THE_RICH = "case when income = '>50K' then null else age end"


def census() -> pa.Table:
    return dp.datasets.adult().slice(0, 4000)


def plan_of(table: pa.Table, statistics: Mapping[str, Statistic], records: int, **options: Any) -> dp.Plan:
    """Plan with the mechanism that takes least time: what these tests look at is the same with any."""
    shares = [round(share * records) / records for share in (0.4, 0.6)]
    secret = dp.Share("sex = 'Female'", values=shares)
    model = dp.model(table, dp.Query(statistics), secret, records=records, draws=300, processes=1, **options)
    return plan_with(model, "group_privacy_laplace")


def asked(plan: dp.Plan, source: Any) -> str:
    """Return what whoever asks for a release can see, apart from the noise."""
    try:
        dp.release(plan, source, ledger=None, analyst=True)
    except DistprivError as refusal:
        return f"{type(refusal).__name__}: {refusal}"
    return "released"


def test_dropping_rows_counts_nobody() -> None:
    """Stepping `records` down until a release came through gave the number of private rows that are not rich."""
    table = census()
    rows = table.slice(2000, 50)
    poor = sum(income != ">50K" for income in rows["income"].to_pylist())
    with pytest.raises(MissingValues, match="COALESCE or ELSE"):
        plan_of(table, {"age": dp.mean(NULL_FOR_THE_RICH)}, poor, missing="drop")
    blank = table.set_column(
        table.column_names.index("age"),
        "age",
        pa.array([None if k % 3 == 0 else age for k, age in enumerate(table["age"].to_pylist())], pa.int64()),
    )
    complete = sum(age is not None for age in blank.slice(2000, 50)["age"].to_pylist())
    said = {
        records: asked(plan_of(blank, {"age": dp.mean("age")}, records, missing="drop"), blank.slice(2000, 50))
        for records in (50, complete, 40)
    }
    assert said[50] == "released"
    assert said[complete].replace(f"exactly {complete} rows", "exactly 40 rows") == said[40]
    assert said[40].startswith("PrivateTableRefused: the private table was rejected")


@pytest.mark.parametrize(
    "expression",
    [
        "case when occupation = 'Armed-Forces' then null else age end",
        "age / (case when occupation = 'Armed-Forces' then 0 else 1 end)",
        "ln(case when occupation = 'Armed-Forces' then 0 else age end)",
        "sqrt(case when occupation = 'Armed-Forces' then -1 else age end)",
        "cast(case when occupation = 'Armed-Forces' then sex else '3' end as integer)",
        "case when occupation = 'Armed-Forces' then 9223372036854775807 else 1 end + age",
        "case when cast(case occupation when 'Armed-Forces' then sex else '3' end as int) in (3, 4) then 1 else 0 end",
    ],
)
def test_a_row_that_the_reference_lacks_is_not_told_by_a_refusal(expression: str) -> None:
    """An expression that fails on one kind of row only told whether the private table has such a row."""
    table = census()
    soldier = [occupation == "Armed-Forces" for occupation in table["occupation"].to_pylist()]
    public = table.filter(pa.array([not is_so for is_so in soldier]))
    rows = public.slice(2000, 49)
    without = pa.concat_tables([rows, public.slice(2100, 1)])
    soldiers = dp.datasets.adult().filter(pc.equal(dp.datasets.adult()["occupation"], "Armed-Forces"))
    with_one = pa.concat_tables([rows, soldiers.slice(0, 1)])
    plan = plan_of(public, {"age": dp.mean(expression)}, 50)
    assert asked(plan, without) == asked(plan, with_one) == "released"


def test_every_refusal_after_the_look_is_the_same_and_lists_no_private_column(tmp_path: Path) -> None:
    """Another number of rows, a missing column and an unreadable file each had a message, some with column names."""
    table = census()
    plan = plan_of(table, {"age": dp.mean("age"), "old": dp.count("age > 60")}, 50)
    rows = table.slice(2000, 50)
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 and nothing more")
    gap = pa.array([None, *rows["sex"].to_pylist()[1:]])
    dates = pa.array([0] * 50, pa.date32())
    tables: list[Any] = [
        rows.slice(0, 49),
        table.slice(2000, 51),
        rows.slice(0, 0),
        rows.drop_columns(["age"]).append_column("diagnosis", pa.array(["x"] * 50)),
        rows.set_column(rows.column_names.index("sex"), "sex", gap),
        rows.set_column(rows.column_names.index("age"), "age", dates),
        broken,
    ]
    said = {asked(plan, source) for source in tables}
    assert len(said) == 1
    (message,) = said
    assert message.startswith("PrivateTableRefused: ")
    assert "50 rows" in message
    assert "diagnosis" not in message
    assert asked(plan, rows.drop_columns(["sex"])) == "released"  # who keeps the table may not know the secret


def test_a_refusal_holds_nothing_that_caused_it() -> None:
    with pytest.raises(DistprivError) as refusal:
        dp.release(plan_of(census(), {"age": dp.mean("age")}, 50), census().slice(0, 3), ledger=None, analyst=True)
    assert refusal.value.__cause__ is None
    assert refusal.value.__context__ is None


def test_functions_see_rows_in_random_order() -> None:
    """The mean of the first 20 rows of a table sorted by the secret was certified 0.02, not 0.126."""
    table = population()
    query = dp.Query(first=dp.function(lambda rows: rows["rich"][:20].mean(), columns=["rich"]))
    model = dp.model(table, query, SECRET, records=RECORDS, draws=200, processes=1)
    sorted_rows = private(table).sort_by([("rich", "descending")])
    found = [float(look_at(sorted_rows, model).values[0]) for _ in range(60)]
    assert len(set(found)) > 1
    assert abs(np.mean(found) - 0.5) < 6 * np.std(found) / 60**0.5


def test_one_enormous_value_does_not_show() -> None:
    """One gain of 10⁹ among the rows was released as 1.0013e6 ± 2e3, and certified."""
    table = census()
    plan = plan_of(table, {"gain": dp.mean("capital_gain")}, 50)
    rows = table.slice(2000, 50)
    gains = pa.array([10**9, *rows["capital_gain"].to_pylist()[1:]])
    edited = rows.set_column(rows.column_names.index("capital_gain"), "capital_gain", gains)
    largest = max(table["capital_gain"].to_pylist())
    assert dp.release(plan, edited, ledger=None, analyst=True).values["gain"] < largest


def test_the_last_row_of_a_file_decides_nothing(tmp_path: Path) -> None:
    """Types are told from the first rows of a CSV file: a word further down made the look fail."""
    table = census()
    many = pa.concat_tables([table] * 6)
    plan = plan_of(many, {"age": dp.mean("age")}, many.num_rows, replacement=True)
    pa.csv.write_csv(many.select(["age"]), tmp_path / "rows.csv")
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    (tmp_path / "odd.csv").write_text("\n".join([*lines[:-1], "unknown"]) + "\n")
    assert asked(plan, tmp_path / "rows.csv") == asked(plan, tmp_path / "odd.csv") == "released"


def test_the_same_number_under_two_names_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    """`a = mean(age), b = mean(AGE)` was written to the ledger, and then nothing could read it."""
    plan = plan_of(census(), {"a": dp.mean("age"), "b": dp.mean("AGE")}, 50)
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    with pytest.raises(InvalidQuery, match="'a' and 'b' are the same"):
        dp.release(plan, census().slice(0, 50), ledger=url, dataset="d")
    assert not (tmp_path / "ledger.db").exists() or not dp.Ledger.open(url).history("d").entries


def numbered(rows: pa.Table, first: int) -> pa.Table:
    return rows.append_column("id", pa.array(np.arange(first, first + rows.num_rows)))


def nulled(rows: pa.Table, column: str) -> pa.Table:
    return rows.set_column(rows.column_names.index(column), column, pa.nulls(rows.num_rows, pa.string()))


RICH = "income = '>50K'"
NEW_IDS: dict[str, tuple[Statistic, str, object]] = {
    "a count": (dp.count(f"id >= 20000 and {RICH}"), "constants", "false"),
    "a count of what is always so": (dp.count(f"not (id >= 20000 and {RICH})"), "constants", "true"),
    "a share": (dp.proportion(f"id >= 20000 and {RICH}"), "constants", "false"),
    "a mean with bounds": (
        dp.mean(f"case when id >= 20000 and {RICH} then 1 else 0 end", bounds=(0, 1)),
        "numbers",
        0.0,
    ),
    "a sum without": (dp.total(f"case when id >= 20000 and {RICH} then 1 else 0 end"), "numbers", 0.0),
}


@pytest.mark.parametrize("kind", NEW_IDS)
def test_rows_that_the_reference_has_none_of_are_not_counted_without_noise(kind: str) -> None:
    """No reference row had such an id, so the count was constant in the model and published without noise."""
    statistic, group, value = NEW_IDS[kind]
    table = numbered(census(), 0)
    model = plan_of(table, {"n": statistic, "age": dp.mean("age")}, 50).model
    secret, usual = numbered(census().slice(2000, 50), 20_000), table.slice(0, 50)
    assert secret["income"].to_pylist().count(">50K") > 0
    assert look_at(secret, model).values[0] == look_at(usual, model).values[0]
    (read,) = (one for one in reading_evidence(model).facts[group] if one["of"] != "age")
    assert {read.get("value", read.get("low")), read.get("value", read.get("high"))} == {value}


def test_a_column_is_read_as_what_the_reference_has_of_it_before_anything_is_computed() -> None:
    """The value was held and the columns were not: ids of the private table alone chose whose incomes were counted."""
    table = numbered(census(), 0)
    private = numbered(census().slice(2000, 50), 20_000)
    chosen = f"case when id between 20000 and 20024 and {RICH} then 1 when id < 2000 then 1 else 0 end"
    statistics = {"n": dp.total(chosen), "b": dp.count(f"{chosen} = 1"), "age": dp.mean("age")}
    assert look_at(private, plan_of(table, statistics, 50).model).values[:2].tolist() == [0.0, 0.0]


def test_nulls_that_the_reference_does_not_have_are_not_counted() -> None:
    """`count(workclass IS NULL)` was constant in a reference without nulls, and published exactly."""
    table = census()
    asked_for = {"n": dp.count("workclass is null"), "m": dp.mean("coalesce(length(workclass), 99)")}
    model = plan_of(table, asked_for, 50).model
    rows = table.slice(2000, 50)
    usual = max(set(table["workclass"].to_pylist()), key=table["workclass"].to_pylist().count)
    assert look_at(nulled(rows, "workclass"), model).values.tolist() == [0.0, len(usual)]
    holed = table.slice(0, 3900).append_column("note", pa.array(["x", None, "y"] * 1300))
    seen = plan_of(holed, {"n": dp.count("note is null")}, 50).model
    private = holed.slice(0, 50).set_column(holed.num_columns - 1, "note", pa.array([None] * 20 + ["z"] * 30))
    assert look_at(private, seen).values.tolist() == [20.0]


def test_text_that_the_reference_does_not_have_is_not_told_from_other_text() -> None:
    """A name that only the private table has told whether its owner is rich."""
    table = census().append_column("name", pa.array([f"n{k % 7}" for k in range(4000)]))
    model = plan_of(table, {"n": dp.mean("length(name)"), "b": dp.count("name > 'n5' and age > 20")}, 50).model
    rows = table.slice(2000, 50)
    place = rows.column_names.index("name")
    found = [
        look_at(rows.set_column(place, "name", pa.array(names)), model).values.tolist()
        for names in (["n0"] * 50, ["zoe"] * 50, [None] * 50)
    ]
    assert found[0] == found[2] == [2.0, 0.0]
    assert found[1] in ([2.0, 0.0], [2.0, 50.0])  # as one of the names that the reference has


def test_a_value_is_held_to_what_the_reference_shows_within_wider_bounds() -> None:
    """Bounds of (0, 10⁶) let one private row of 10⁶ through, and noise was made for values of up to 90."""
    table = census()
    model = plan_of(table, {"age": dp.mean("age", bounds=(0, 10**6))}, 50).model
    rows = table.slice(2000, 50)
    ages = pa.array([10**6, *rows["age"].to_pylist()[1:]])
    edited = rows.set_column(rows.column_names.index("age"), "age", ages)
    assert look_at(edited, model).values[0] < 90
    assert model.record_sensitivities.tolist() == [10**6 / 50]


def test_no_other_statistic_chooses_the_rows_that_the_noise_is_made_from() -> None:
    """Nulls in a column that a dummy count read left ages of 39 to 41 in the model: noise fell from 11.5 to 0.08."""
    table = census()
    noted = table.append_column(
        "note", pa.array(["x" if 39 <= age <= 41 else None for age in table["age"].to_pylist()])
    )
    alone, beside = (
        plan_of(noted, {"age": dp.mean("age"), **more}, 50, missing="drop").model
        for more in ({}, {"n": dp.count("note = 'x'")})
    )
    for name, law in alone.distributions.items():
        assert law.mean[0] == beside.distributions[name].mean[0]
        assert law.covariance[0, 0] == beside.distributions[name].covariance[0, 0]
