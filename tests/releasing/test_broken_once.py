"""Claims about releases that were false once, each with what broke it."""

import functools
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pytest
from tests.releasing.shared import RECORDS, SECRET, plan_with, population, private

import distpriv as dp
from distpriv.errors import DistprivError, InvalidQuery, MissingValues
from distpriv.framework.queries import Statistic
from distpriv.releasing.private import look_at
from distpriv.releasing.queries import query_key

NULL_FOR_THE_RICH = "case when income = '>50K' then null else age end"


def census() -> pa.Table:
    return dp.datasets.adult().slice(0, 4000)


def plan_of(table: pa.Table, statistics: Mapping[str, Statistic], records: int, **options: Any) -> dp.Plan:
    shares = [round(share * records) / records for share in (0.4, 0.6)]
    secret = dp.Share("sex = 'Female'", values=shares)
    model = dp.model(table, dp.Query(statistics), secret, records=records, draws=300, processes=1, **options)
    return plan_with(model, "certified_gaussian")


def asked(plan: dp.Plan, source: Any) -> str:
    """Return what whoever asks for a release can see, apart from the noise."""
    try:
        dp.release(plan, source, ledger=None)
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
    assert said[40].startswith("PrivateTableRefused: the private table cannot be used")


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
        dp.release(plan_of(census(), {"age": dp.mean("age")}, 50), census().slice(0, 3), ledger=None)
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
    assert dp.release(plan, edited, ledger=None).values["gain"] < largest


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


def power_mean(rows: Mapping[str, Any], power: float = 1.0, *, shift: float = 0.0) -> float:
    return float(((rows["age"] + shift) ** power).mean())


def captured(power: float) -> Callable[..., float]:
    return lambda rows: float((rows["age"] ** power).mean())


def defaulted(power: float, shift: float = 0.0) -> Callable[..., float]:
    def compute(rows: Mapping[str, Any], power: float = power, *, shift: float = shift) -> float:
        return float(((rows["age"] + shift) ** power).mean())

    return compute


def capturing_helper(helper: Callable[[Any], Any]) -> Callable[..., float]:
    return lambda rows: float(helper(rows["age"]))


@attrs.frozen
class PowerMean:
    power: Any

    def __call__(self, rows: Mapping[str, Any]) -> float:
        return float((rows["age"] ** self.power).mean())

    def method(self, rows: Mapping[str, Any]) -> float:
        return self(rows) + 1


class WithSlots:
    __slots__ = ("power",)

    def __init__(self, power: float) -> None:
        self.power = power

    def __call__(self, rows: Mapping[str, Any]) -> float:
        return float((rows["age"] ** self.power).mean())


OTHERS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "a captured value": captured,
    "a default": defaulted,
    "a default of a keyword": lambda value: defaulted(1.0, value),
    "a partial": lambda value: functools.partial(power_mean, power=value),
    "a partial of a partial": lambda value: functools.partial(functools.partial(power_mean), power=value),
    "an object": PowerMean,
    "a method": lambda value: PowerMean(value).method,
    "an object with slots": WithSlots,
    "an array": lambda value: PowerMean(np.array([value, 1.0])),
    "a captured function": lambda value: capturing_helper(lambda ages: ages.mean() ** value),
    "a captured list": lambda value: captured([value]),  # type: ignore[arg-type]
    "a comprehension": lambda value: lambda rows: sum(age**value for age in rows["age"]),
}


def key_of(function: Callable[..., Any], **options: Any) -> str:
    return query_key(dp.Query(a=dp.function(function, columns=["age"], **options)), 50)


@pytest.mark.parametrize("kind", OTHERS)
def test_functions_that_compute_something_else_are_another_question(kind: str) -> None:
    """Only code was compared: a release of one function answered another one with 0.757, the truth being 0.07."""
    make = OTHERS[kind]
    assert key_of(make(2)) == key_of(make(2))
    assert key_of(make(2)) != key_of(make(3))


def test_a_comprehension_is_the_same_function_in_another_process(tmp_path: Path) -> None:
    """The code of a function within a function has its place in memory in its name."""
    script = tmp_path / "keys.py"
    script.write_text(
        "import distpriv as dp\n"
        "from distpriv.releasing.queries import query_key\n"
        "def half(value):\n"
        "    return value / 2\n"
        "def one(rows):\n"
        "    return sum(half(age) for age in rows['age'] if age in {1, 2, 'a', 'b'}) + (lambda x: x)(3)\n"
        "print(query_key(dp.Query(a=dp.function(one, columns=['age'])), 10))\n"
    )
    ran = [
        subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert ran[0] == ran[1]
    assert len(ran[0].strip()) == 64
