"""Private tables as they go wrong: each has a reason for the curator, and one opaque answer for an analyst."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.releasing.shared import plan_with

import distpriv as dp
from distpriv.errors import InvalidInput, PrivateTableRefused
from distpriv.releasing.accepted import Accepted
from distpriv.releasing.check import Kind, PrivateCheck, check_private
from distpriv.releasing.private import look_at

RECORDS = 60
Lines = list[list[str]]
HEADER = ["age", "income", "complaint", "region", "opened"]


def table(rows: int, seed: int) -> Lines:
    rng = np.random.default_rng(seed)
    ages, regions = rng.integers(20, 70, rows), rng.choice(["Nord", "Süd", "West"], rows)
    days = rng.integers(1, 28, rows)
    return [
        [str(age), f"{20000 + 37 * age + 10 * (k % 90)}.5", "nein" if k % 5 else "ja", region, f"2024-03-{day:02d}"]
        for k, (age, region, day) in enumerate(zip(ages, regions, days, strict=True))
    ]


ROWS = table(4000, 0)
PRIVATE = ROWS[100 : 100 + RECORDS]


def write(
    path: Path, rows: Lines, header: list[str] = HEADER, *, separator: str = ",", encoding: str = "utf-8"
) -> Path:
    lines = [separator.join(row) for row in [header, *rows]]
    path.write_bytes(("\n".join(lines) + "\n").encode(encoding))
    return path


def mapped(column: str, change: Callable[[str], str], rows: Lines = PRIVATE) -> Lines:
    place = HEADER.index(column)
    return [[change(value) if k == place else value for k, value in enumerate(row)] for row in rows]


def first(column: str, value: str) -> Lines:
    return mapped(column, lambda _: value, PRIVATE[:1]) + PRIVATE[1:]


SPOILED: dict[str, tuple[Callable[[Path], Any], Kind | None, str]] = {
    "Ja for ja": (
        lambda p: write(p, mapped("complaint", str.title)),
        "levels",
        r"'Nein' \(48 rows; the reference has 'nein'\), 'Ja' \(12 rows; the reference has 'ja'\)",
    ),
    "decimal commas in quotes": (
        lambda p: write(p, mapped("income", lambda x: f'"{x.replace(".", ",")}"')),
        "unreadable",
        "write fractions with a point",
    ),
    "a row with a decimal comma": (
        lambda p: write(p, first("income", "20740,5")),
        "table",
        "line 2 has 6 values, and line 1 names 5 columns: write fractions with a point",
    ),
    "a shifted column": (
        lambda p: write(p, [[*row[1:], row[0]] for row in PRIVATE]),
        "unreadable",
        "`income` has what is not a number in 60 rows, 'nein', 'ja'",
    ),
    "a header twice": (
        lambda p: write(p, PRIVATE, ["age", "age", "complaint", "region", "opened"]),
        "table",
        "names the column 'age' twice",
    ),
    "a column renamed": (
        lambda p: write(p, PRIVATE, ["age", "income", "complaints", "region", "opened"]),
        "column",
        "the column `complaint` is missing: did you rename `complaints`",
    ),
    "swapped columns": (
        lambda p: write(p, [[*row[:2], row[3], row[2], row[4]] for row in PRIVATE]),
        "levels",
        "`complaint` has values that the reference lacks, .* where the reference has 'nein', 'ja'",
    ),
    "another unit": (
        lambda p: write(p, mapped("income", lambda x: f"{float(x) / 1000}")),
        "range",
        "about 1,000 times smaller than the reference's",
    ),
    "dates another way round": (
        lambda p: write(p, mapped("opened", lambda x: "/".join([x[5:7], x[8:], x[:4]]))),
        "unreadable",
        "`opened` has what is not a date",
    ),
    "no bytes": (lambda p: write(p, [], [], encoding="utf-8"), "table", "it is empty"),
    "no rows": (lambda p: write(p, []), "rows", "has no rows, and records = 60"),
    "one row short": (lambda p: write(p, PRIVATE[1:]), "rows", "has 59 rows, and records = 60"),
    "a gap": (lambda p: write(p, first("age", "")), "missing", r"no value in 1 row.*missing.age = \d+"),
    "text among numbers": (lambda p: write(p, first("age", "unbekannt")), "unreadable", "in 1 row, 'unbekannt'"),
    "a new level": (lambda p: write(p, first("region", "Ost")), "levels", r"'Ost' \(1 row\).*the reference has '"),
    "a greater age": (lambda p: write(p, first("age", "103")), "range", "in 1 row, 103"),
    "wrongly separated rows": (
        lambda p: p.write_text(",".join(HEADER) + "\n" + "\n".join(";".join(row) for row in PRIVATE)) and p,
        "table",
        "separated by semicolons, and line 1 by commas",
    ),
    "another table": (
        lambda p: write(p, [["1", "2"]] * RECORDS, ["x", "y"]),
        "column",
        "the column `age` is missing: it has `x`, `y`",
    ),
    "a level that no row has": (lambda p: write(p, mapped("region", lambda _: "Nord")), None, ""),
    "an extra column": (lambda p: write(p, [[*row, "x"] for row in PRIVATE], [*HEADER, "note"]), None, ""),
    "a byte order mark": (lambda p: write(p, PRIVATE, encoding="utf-8-sig"), None, ""),
    "Latin-1": (lambda p: write(p, PRIVATE, encoding="latin-1"), None, ""),
    "semicolons and decimal commas": (
        lambda p: write(p, mapped("income", lambda x: x.replace(".", ",")), separator=";"),
        None,
        "",
    ),
}


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> dp.Plan:
    reference = write(tmp_path_factory.mktemp("reference") / "reference.csv", ROWS)
    query = dp.Query(
        complaints=dp.count("complaint = 'ja'"),
        age=dp.mean("age"),
        income=dp.mean("income"),
        spring=dp.count("day(opened) < 10"),
        by=dp.table("count", by="region"),
    )
    secret = dp.Share("age >= 45", values=(0.4, 0.6))
    model = dp.model(str(reference), query, secret, records=RECORDS, processes=1)
    return plan_with(model, "group_privacy_laplace")


@pytest.fixture
def url(tmp_path: Path) -> str:
    address = f"sqlite:///{tmp_path / 'ledger.db'}"
    dp.Ledger.create(address)
    return address


@pytest.mark.parametrize("kind", SPOILED)
def test_a_curator_gets_a_reason_before_an_access_is_spent(plan: dp.Plan, kind: str, tmp_path: Path, url: str) -> None:
    spoil, expected, words = SPOILED[kind]
    source = spoil(tmp_path / "private.csv")
    found = check_private(source, plan.model)
    assert found.fits is (expected is None)
    if expected is None:
        dp.release(plan, source, ledger=url, dataset="d")
        return
    assert expected in {reason.kind for reason in found.reasons}
    with pytest.raises(PrivateTableRefused, match=words):
        dp.release(plan, source, ledger=url, dataset="d")
    assert dp.Ledger.open(url).history("d").looks == 0


def test_an_analyst_gets_one_opaque_answer_whatever_is_wrong_and_the_access_is_counted(
    plan: dp.Plan, tmp_path: Path, url: str
) -> None:
    said: set[str] = set()
    for number, (spoil, _, _) in enumerate(SPOILED.values()):
        try:
            dp.release(plan, spoil(tmp_path / "private.csv"), ledger=url, dataset=f"d{number}", analyst=True)
        except PrivateTableRefused as refusal:
            said.add(f"{refusal} {refusal.__cause__} {refusal.__context__}")
        assert dp.Ledger.open(url).history(f"d{number}").looks == 1
    (message,) = said
    assert message.endswith(" None None")
    assert not any(word in message for word in ("Ja", "unbekannt", "103", "59", "x, y", "line"))


def checked(plan: dp.Plan, folder: Path, rows: Lines, **accepted: Any) -> PrivateCheck:
    return check_private(write(folder / "private.csv", rows), plan.model, Accepted.of(**accepted), compare=False)


def test_what_a_curator_declares_is_read_so_and_nothing_else_is(plan: dp.Plan, tmp_path: Path) -> None:
    spelled = {"complaint": {"Ja": "ja", "Nein": "nein"}}
    rows = mapped("complaint", str.title)
    rows[0][HEADER.index("age")] = ""
    rows[1][HEADER.index("age")] = "103"
    accepted: dict[str, Any] = {"levels": spelled, "missing": {"Age": 40}, "clip": ["age"]}
    found = checked(plan, tmp_path, rows, **accepted)
    assert found.fits
    assert {finding.kind for finding in found.findings} == {"range"}
    for left_out in accepted:
        assert not checked(plan, tmp_path, rows, **{k: v for k, v in accepted.items() if k != left_out}).fits
    source = str(write(tmp_path / "private.csv", rows))
    seen = dict(
        zip(plan.model.names, look_at(source, plan.model, accepted=Accepted.of(**accepted)).values, strict=True)
    )
    ages = [40, 69, *(int(row[0]) for row in rows[2:])]
    assert seen["complaints"] == sum(row[2] == "Ja" for row in rows)
    assert seen["age"] == pytest.approx(sum(ages) / RECORDS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"missing": {"agee": 40}},
        {"missing": {"age": "old"}},
        {"missing": {"age": 300}},
        {"levels": {"complaint": {"Ja": "yes"}}},
        {"levels": {"complaint": "ja"}},
        {"levels": ["complaint"]},
        {"clip": "age"},
        {"clip": ["name"]},
    ],
)
@pytest.mark.parametrize("analyst", [False, True])
def test_what_the_reference_does_not_have_cannot_be_declared(
    plan: dp.Plan, tmp_path: Path, url: str, wrong: dict[str, Any], analyst: bool
) -> None:
    source = write(tmp_path / "private.csv", PRIVATE)
    with pytest.raises(InvalidInput):
        dp.release(plan, source, ledger=url, dataset="d", analyst=analyst, **wrong)
    assert dp.Ledger.open(url).history("d").looks == 0


def test_another_table_under_the_id_of_an_earlier_one_is_told_by_its_columns(
    plan: dp.Plan, tmp_path: Path, url: str
) -> None:
    dp.release(plan, write(tmp_path / "private.csv", PRIVATE), ledger=url, dataset="d")
    assert plan.model.query is not None
    other = dp.model(
        str(write(tmp_path / "reference.csv", ROWS)),
        dp.Query(age=dp.mean("age")),
        dp.Share("age >= 45", values=(0.4, 0.6)),
        records=RECORDS,
        processes=1,
    )
    changed = write(tmp_path / "changed.csv", mapped("age", lambda age: age[::-1] if age[::-1] < "69" else age))
    asked = plan_with(other, "group_privacy_laplace")
    with pytest.raises(PrivateTableRefused, match=r"earlier releases were made from.* `age`"):
        dp.release(asked, changed, ledger=url, dataset="d", adaptive="assumed")


def test_how_unlike_a_column_is_never_stops_a_release_as_it_depends_on_the_secret(
    plan: dp.Plan, tmp_path: Path
) -> None:
    old = [row for row in ROWS if int(row[0]) >= 65][:RECORDS]
    found = check_private(write(tmp_path / "private.csv", old), plan.model)
    by_name = {column.column: column for column in found.columns}
    assert found.fits
    assert by_name["age"].distance == pytest.approx(0.9, abs=0.05)
    assert by_name["age"].is_unlike
    assert not by_name["region"].is_unlike
