"""`distpriv init --from SOURCE` writes a policy that `distpriv plan` can follow, whatever the source is called."""

import os
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from distpriv.errors import InvalidInput
from distpriv.policy import read_policy
from distpriv.policy.draft import draft_policy, initial_policy
from distpriv.policy.survey import Survey
from distpriv.workflow.plan_policy import plan_policy

ROWS = pa.table({"age": [20 + k % 50 for k in range(400)], "income": ["low", "high", "low"] * 133 + ["low"]})

FILES = {
    "a CSV file": ("census.csv", "census.csv"),
    "a Parquet file": ("census.parquet", "census.parquet"),
    "a compressed CSV file by its full path": ("census.csv.gz", "{here}/census.csv.gz"),
    "a file with a dot in front": ("census.csv", "./census.csv"),
    "a file of the folder above": ("../above.csv", "../above.csv"),
    "a file of the home folder": ("census.csv", "~/census.csv"),
    "a pattern": ("part 1.csv", "part*.csv"),
    "a pattern of all folders": ("years/2026/a.parquet", "years/**/*.parquet"),
    "a pattern of Parquet files by a full path": ("years/a.parquet", "{here}/years/*.parquet"),
    "a name with a space in front": (" census.csv", " census.csv"),
    "a name with quotes": ('it\'s "the" census.csv', 'it\'s "the" census.csv'),
    "a name with brackets": ("census [1].csv", "census [1].csv"),
    "a name in Greek, with a # and a %": ("απογραφή #1 50%.parquet", "απογραφή #1 50%.parquet"),
    "a name with an odd space": ("the\u202fcensus.csv", "the\u202fcensus.csv"),
    "a name with a line end": ("the\ncensus.csv", "the\ncensus.csv"),
    "a name that begins as a database does": ("duckdb:census.csv", "./duckdb:census.csv"),
    "a name that begins as a home folder does": ("~census.csv", "{here}/~census.csv"),
    "a name that is a question": ("what?table=.csv", "what?table=.csv"),
}
SEEN_FROM_EVERY_FOLDER = (
    "a CSV file",
    "a compressed CSV file by its full path",
    "a file of the folder above",
    "a file of the home folder",
    "a pattern of all folders",
    "a name that begins as a database does",
    "a name with quotes",
)
"""One name of each kind that is written in another way into a policy of another folder."""
FOLDERS = {"the same folder": ".", "a folder below": "policies", "another folder": "../other [2]/it's"}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that a command is run in, with a name that could be a pattern."""
    folder = tmp_path / "data [1]"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    return folder


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(ROWS, path)
        return
    with pa.output_stream(path, compression="detect") as file:
        pc.write_csv(ROWS, file)


def policy_in(folder: str) -> str:
    Path(folder).mkdir(parents=True, exist_ok=True)
    return os.path.join(folder, "policy.toml")


@pytest.mark.parametrize(
    ("file", "source", "folder"),
    [
        pytest.param(*file, folder, id=f"{name}-{place}")
        for name, file in FILES.items()
        for place, folder in FOLDERS.items()
        if name in SEEN_FROM_EVERY_FOLDER or place == "another folder"
    ],
)
def test_a_policy_from_files_can_be_followed_from_any_folder(file: str, source: str, folder: str, here: Path) -> None:
    write(here / file)
    named = source.format(here=here if "*" not in source else escaped(here))
    policy = read_policy(draft_policy(policy_in(folder), named).path)
    assert policy.model().names == ("age",)


def escaped(path: Path) -> str:
    return str(path).replace("[", "[[]")


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
@pytest.mark.parametrize(
    "name", ["census.duckdb", "./census.duckdb", "../above.db", "~/census.db", "{here}/census.db", "it's [1] über.db"]
)
def test_a_policy_from_a_database_can_be_followed_from_any_folder(name: str, folder: str, here: Path) -> None:
    file = name.format(here=here)
    with duckdb.connect(os.path.expanduser(file)) as connection:
        connection.register("rows", ROWS)
        connection.execute("CREATE SCHEMA s; CREATE TABLE s.persons AS SELECT * FROM rows")
    policy = read_policy(draft_policy(policy_in(folder), f"duckdb:{file}?table=s.persons").path)
    assert policy.model().names == ("age",)


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("spark:local[2]?path=census.parquet", "spark:local[2]?path=../data/census.parquet"),
        ("spark:?path=years/*.parquet", "spark:?path=../data/years/*.parquet"),
        ("spark:local[2]?path=s3://bucket/census.parquet", "spark:local[2]?path=s3://bucket/census.parquet"),
        ("spark:?path=dbfs:/census.parquet", "spark:?path=dbfs:/census.parquet"),
        ("spark:spark://host:7077?table=lake.census", "spark:spark://host:7077?table=lake.census"),
    ],
)
def test_what_spark_reads_is_called_as_it_is_called_from_the_policy(
    source: str, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path / "data")
    monkeypatch.setattr("distpriv.policy.draft.survey", lambda _: Survey(rows=0, columns=()))
    monkeypatch.setattr("distpriv.policy.draft._of_survey", lambda _, reference: reference)
    assert draft_policy(tmp_path / "policy.toml", source).path.read_text(encoding="utf-8") == written.replace("../", "")
    (tmp_path / "other").mkdir()
    assert draft_policy(tmp_path / "other" / "policy.toml", source).path.read_text(encoding="utf-8") == written


def test_a_policy_from_a_table_can_be_planned(here: Path) -> None:
    write(here / "part 1.csv")
    assert plan_policy(str(draft_policy(policy_in("../other"), "part*.csv").path)).plan.chosen is not None


def test_a_name_that_no_text_can_hold_is_refused_and_nothing_is_written(here: Path) -> None:
    source = os.fsdecode(b"caf\xe9.csv")
    (here / source).write_text("age,income\n" + "30,low\n40,high\n" * 100)
    with pytest.raises(InvalidInput, match="is no name in UTF-8: rename it"):
        draft_policy("policy.toml", source)
    assert not os.path.lexists("policy.toml")


@pytest.mark.parametrize(("name", "offered"), [("fnlwgt", True), ("pweight", True), ("wealth", False)])
def test_a_column_that_is_called_like_a_weight_is_offered_as_one(name: str, offered: bool) -> None:
    rows = pa.table({"age": list(range(200)), name: [1.5 + k % 7 for k in range(200)], "sex": ["f", "m"] * 100})
    assert (f'# weight = "{name}"' in initial_policy(rows)) is offered
